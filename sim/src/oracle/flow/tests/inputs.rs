//! Several inputs: policies, delays, an input that never speaks, the end.

use super::*;
use plimsoll_engine::output::{IgnoredWhy, StepKind};
use plimsoll_engine::plan::flow::{NullTime, Policy};

fn union(policy: Policy) -> Story {
    let mut plan = flow(&[0, 5], vec![StagePlan::Window(windows(T, 10))]);
    plan.flow.as_mut().expect("a flow").policy = policy;
    Story::new(plan)
}

#[test]
fn the_smallest_waits_for_an_input_that_never_spoke_and_the_largest_does_not() {
    let mut story = union(Policy::Min);
    story.row(0, 100);
    assert_eq!(story.w(), NEVER);
    story.row(1, 50);
    assert_eq!(story.w(), 45, "its delay is 5");
    let mut story = union(Policy::Max);
    story.row(0, 100);
    assert_eq!(story.w(), 100);
    assert_eq!(fates(&story.row(1, 50)), "L");
}

#[test]
fn an_input_that_has_finished_leaves_the_smallest_and_the_last_one_closes_all() {
    let mut story = union(Policy::Min);
    story.row(0, 12);
    story.row(1, 1);
    assert_eq!(story.w(), -4);
    let out = story.item(Item::Finish(PartitionId::of(1, 0, 0)));
    assert_eq!((story.w(), written(&out)), (12, vec!["on_time 0 10 9 1".to_owned()]));
    let out = story.item(Item::Finish(PartitionId::of(0, 0, 0)));
    assert_eq!(written(&out), ["on_time 10 20 19 1"]);
    assert_eq!(story.row(0, 90).verdicts[0].fate, FlowFate::AfterFinish);
}

#[test]
fn an_input_without_a_mark_has_no_say() {
    let mut plan = flow(&[0, 0], vec![StagePlan::Window(windows(T, 10))]);
    plan.flow.as_mut().expect("a flow").inputs[1].marks.clear();
    let mut story = Story::new(plan);
    story.row(1, 500);
    assert_eq!(story.w(), NEVER);
    story.row(0, 20);
    assert_eq!((story.w(), fates(&story.row(1, 5))), (20, "L".to_owned()));
}

#[test]
fn a_null_time_shows_nothing_or_zero() {
    let told = |null| {
        let mut plan = flow(&[0], vec![StagePlan::Window(windows(T, 10))]);
        plan.flow.as_mut().expect("a flow").null_time = null;
        let mut story = Story::new(plan);
        story.row(0, -50);
        let fate = story.cells(0, &[None, Some(1), Some(1)]).verdicts[0].fate;
        (fate, story.w())
    };
    assert_eq!(told(NullTime::Nowhere), (FlowFate::NoTime, -50));
    assert_eq!(told(NullTime::Epoch), (FlowFate::NoTime, 0));
}

#[test]
fn rows_that_fail_before_the_watermark_do_not_move_it() {
    use plimsoll_engine::plan::flow::{Compare, Filter};
    let mut plan = flow(&[0], vec![StagePlan::Window(windows(T, 10))]);
    let filter = Filter { column: V, compare: Compare::Equal, value: 7 };
    plan.flow.as_mut().expect("a flow").inputs[0].before = vec![filter];
    let mut story = Story::new(plan);
    assert_eq!((fates(&story.row(0, 50)).as_str(), story.w()), ("F", NEVER));
    story.cells(0, &[Some(9), Some(1), Some(7)]);
    assert_eq!(story.w(), 9);
}

#[test]
fn the_end_removes_everything_and_judges_nobody() {
    let mut story = union(Policy::Min);
    story.row(0, 3);
    let out = story.end();
    assert_eq!(out.steps.iter().map(|it| it.kind).collect::<Vec<_>>(), [StepKind::End]);
    assert_eq!(written(&out), ["on_time 0 10 9 1"]);
    assert_eq!(out.steps[0].stages[0].state_rows, 0);
    assert_eq!(story.item(Item::Probe).ignored[0].why, IgnoredWhy::QueryStopped);
}

#[test]
fn an_input_that_is_not_there_takes_nothing() {
    let mut story = union(Policy::Min);
    assert_eq!(story.row(3, 5).verdicts[0].fate, FlowFate::NotApplicable);
    let out = story.item(Item::Finish(PartitionId::of(3, 0, 0)));
    assert_eq!(out.ignored[0].why, IgnoredWhy::NoSuchInput);
}
