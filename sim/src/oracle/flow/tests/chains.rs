//! Chains, follow-up steps, and what stages between do.

use super::*;
use plimsoll_engine::plan::flow::{Chain, Compare, Filter, FollowUp};

/// Windows of 10, then windows of 20 over them, by the time of the windows.
fn twice(chain: Chain) -> Plan {
    let first = StagePlan::Window(windows(T, 10));
    let mut second = windows(ColumnIx(2), 20);
    second.aggregates = vec![Aggregate::Sum(ColumnIx(3))];
    let mut plan = flow(&[0], vec![first, StagePlan::Window(second)]);
    plan.flow.as_mut().expect("a flow").chain = chain;
    plan
}

#[test]
fn what_a_stage_writes_is_on_time_at_the_next_if_that_judges_by_the_value_before() {
    let told = |chain| {
        let mut story = Story::new(batched(twice(chain), Effective::NextBatch));
        story.row(0, 1);
        story.row(0, 11);
        story.row(0, 25);
        story.batch();
        // W = 25 removes [0, 10) and [10, 20); the figures have the times 9 and 19.
        story.row(0, 26);
        let out = story.batch();
        (written(&out), out.steps[0].stages[1].rows_dropped)
    };
    assert_eq!(told(Chain::Previous), (vec!["on_time 0 20 19 2".to_owned()], 0));
    assert_eq!(told(Chain::Same), (vec![], 2));
}

#[test]
fn an_allowed_lateness_holds_the_next_stage_back_and_count_windows_stop_it() {
    let evicts = |stage: StagePlan| {
        let second = StagePlan::Window(windows(ColumnIx(2), 20));
        let mut story = Story::new(flow(&[0], vec![stage, second]));
        story.row(0, 50).steps[0].stages[1].evict[0].map(|it| it.0)
    };
    let mut late = windows(T, 10);
    late.lateness = Span(7);
    assert_eq!(evicts(StagePlan::Window(windows(T, 10))), Some(50));
    assert_eq!(evicts(StagePlan::Window(late)), Some(43));
}

#[test]
fn a_join_holds_the_next_stage_back_by_its_reach() {
    let evicts = |lower, upper| {
        let mut second = windows(T, 20);
        second.keys = vec![];
        let stages =
            vec![StagePlan::Join(join(JoinKind::Full, lower, upper)), StagePlan::Window(second)];
        let mut story = Story::new(flow(&[0, 0], stages));
        story.row(0, 50);
        story.row(1, 60).steps[0].stages[1].evict[0].map(|it| it.0)
    };
    // w_L = 50, w_R = 60: min(w_L, w_R, w_R - b', w_L + a').
    assert_eq!(evicts(0, 10), Some(50));
    assert_eq!(evicts(0, 25), Some(35));
    assert_eq!(evicts(-7, 5), Some(43));
}

#[test]
fn batches_without_data_follow_while_the_watermark_is_ahead_of_what_removed() {
    let told = |follow_up, effective| {
        let mut plan = batched(flow(&[0], vec![StagePlan::Window(windows(T, 10))]), effective);
        plan.flow.as_mut().expect("a flow").follow_up = follow_up;
        let mut story = Story::new(plan);
        story.row(0, 5);
        story.row(0, 15);
        let out = story.batch();
        (out.steps.len(), written(&out))
    };
    let figure = vec!["on_time 0 10 9 1".to_owned()];
    for effective in [Effective::NextBatch, Effective::BatchAfterNext] {
        assert_eq!(told(FollowUp::Never, effective), (1, vec![]));
        assert_eq!(told(FollowUp::WhenMoved, effective), (2, figure.clone()));
    }
    assert_eq!(told(FollowUp::WhenMoved, Effective::Row), (1, figure));
}

#[test]
fn without_batches_without_data_sparks_filter_lags_a_batch_behind_what_removes() {
    let plan = flow(&[0], vec![StagePlan::Window(windows(T, 10))]);
    let mut story = Story::new(batched(plan, Effective::BatchAfterNext));
    story.row(0, 25);
    story.batch();
    // Removed by 25, judged by the first value: it counts and leaves in one batch.
    story.row(0, 3);
    let out = story.batch();
    assert_eq!((fates(&out).as_str(), written(&out)), ("+", vec!["on_time 0 10 9 1".to_owned()]));
    story.row(0, 4);
    assert_eq!(fates(&story.batch()), "L");
}

#[test]
fn filters_before_the_first_stage_are_a_fate_and_behind_it_nothing() {
    let filter =
        |column, value| StagePlan::Filter(Filter { column, compare: Compare::AtLeast, value });
    let stages = vec![filter(V, 1), StagePlan::Window(windows(T, 10)), filter(ColumnIx(3), 2)];
    let mut story = Story::new(flow(&[0], stages));
    assert_eq!(fates(&story.cells(0, &[Some(5), Some(1), Some(0)])), "F");
    assert_eq!(story.w(), 5, "a filtered row moves the watermark");
    story.row(0, 5);
    let out = story.row(0, 10);
    assert_eq!((fates(&out).as_str(), written(&out)), ("+", vec![]));
    assert_eq!(out.steps[0].stages.iter().map(|it| it.rows_out).collect::<Vec<_>>(), [1, 1, 0]);
}

#[test]
fn a_computed_time_is_nobodys_and_a_renamed_one_is_the_same() {
    let told = |stage| {
        let stages = vec![stage, StagePlan::Window(windows(T, 10))];
        let mut plan = flow(&[0], stages);
        plan.output = OutputMode::Update;
        let mut story = Story::new(plan);
        story.row(0, 50);
        fates(&story.row(0, 1))
    };
    assert_eq!(told(StagePlan::Rename(T, "ts".to_owned())), "L");
    assert_eq!(told(StagePlan::Compute(T)), "+");
}
