//! Output modes, keys, aggregates, and plans without windows or watermark.

use super::*;
use FiringKind::{Complete, OnTime, Update};
use plimsoll_engine::plan::LineageStep;

/// Windows of 10, delay 0, by batches, each effective in the next.
fn batched(output: OutputMode) -> Plan {
    let mut plan = plan();
    operator(&mut plan).window = tumbling(Span(10));
    watermark(&mut plan).delay = Span(0);
    watermark(&mut plan).effective = Effective::NextBatch;
    plan.trigger = Trigger::Batch;
    plan.output = output;
    plan
}

fn keyed(story: &mut Story, time: i64, key: Option<i64>, value: Option<i64>) {
    story.cells(0, &[Some(time), key, value]);
}

#[test]
fn append_writes_a_window_once_when_it_closes() {
    let mut story = Story::new(batched(OutputMode::Append));
    keyed(&mut story, 1, Some(7), Some(1));
    keyed(&mut story, 2, None, Some(1));
    keyed(&mut story, 3, Some(7), None);
    keyed(&mut story, 12, Some(7), None);
    assert_eq!(written(&story.batch()), []);
    let want = [(1, 0, Some(7), Value::Int(2), OnTime), (1, 0, None, Value::Int(1), OnTime)];
    assert_eq!(written(&story.batch()), want);
    assert_eq!(story.oracle.groups(), 1);
    assert_eq!(written(&story.batch()), []);
}

#[test]
fn update_writes_what_changed_also_what_is_evicted_in_that_very_step() {
    let mut story = Story::new(batched(OutputMode::Update));
    keyed(&mut story, 1, Some(7), Some(1));
    keyed(&mut story, 2, Some(8), Some(1));
    let both = [(0, 0, Some(7), Value::Int(1), Update), (0, 0, Some(8), Value::Int(1), Update)];
    assert_eq!(written(&story.batch()), both);
    keyed(&mut story, 11, Some(7), Some(1));
    keyed(&mut story, 3, Some(7), Some(1));
    let changed = [(1, 0, Some(7), Value::Int(2), Update), (1, 10, Some(7), Value::Int(1), Update)];
    assert_eq!(written(&story.batch()), changed, "k=8 did not change");
    let evicting = story.batch();
    assert_eq!((written(&evicting), evicting.steps[0].groups_removed), (vec![], 2));

    let mut plan = batched(OutputMode::Update);
    watermark(&mut plan).effective = Effective::Row;
    let mut story = Story::new(plan);
    keyed(&mut story, 1, Some(7), Some(1));
    keyed(&mut story, 25, Some(8), Some(1));
    let step = story.batch();
    let want = [(0, 0, Some(7), Value::Int(1), Update), (0, 20, Some(8), Value::Int(1), Update)];
    assert_eq!((written(&step), step.steps[0].groups_removed), (want.to_vec(), 1));
}

#[test]
fn complete_writes_everything_evicts_nothing_and_nobody_is_late() {
    let mut story = Story::new(batched(OutputMode::Complete));
    keyed(&mut story, 25, Some(7), Some(1));
    story.batch();
    keyed(&mut story, 1, Some(7), Some(1));
    let all = [(1, 0, Some(7), Value::Int(1), Complete), (1, 20, Some(7), Value::Int(1), Complete)];
    assert_eq!(written(&story.batch()), all);
    assert_eq!(written(&story.batch()).len(), 2, "an empty batch writes them again");
    let end = story.item(Item::End);
    assert_eq!((kinds(&end), written(&end).len()), (vec![StepKind::End], 2));
    assert_eq!((story.oracle.groups(), story.w()), (2, i64::MAX));
}

#[test]
fn complete_does_not_write_at_probes() {
    let mut plan = plan();
    plan.output = OutputMode::Complete;
    let mut story = Story::new(plan);
    assert_eq!(written(&story.row(0, 1)).len(), 1);
    assert_eq!(written(&story.tick(Span(1))), []);
    assert_eq!(written(&story.heartbeat(0, 5)), []);
}

#[test]
fn all_aggregates_over_nulls_and_extremes() {
    let mut plan = batched(OutputMode::Append);
    let v = ColumnIx(2);
    operator(&mut plan).aggregates = vec![
        Aggregate::Count,
        Aggregate::CountOf(v),
        Aggregate::Sum(v),
        Aggregate::Min(v),
        Aggregate::Max(v),
        Aggregate::Avg(v),
    ];
    let mut story = Story::new(plan);
    for value in [None, Some(i64::MAX), Some(i64::MAX), Some(-3)] {
        keyed(&mut story, 1, None, value);
    }
    keyed(&mut story, 2, Some(1), None);
    let end = story.item(Item::End);
    let sum = 2 * i128::from(i64::MAX) - 3;
    let (int, null) = (Value::Int, Value::Null);
    let want = [int(4), int(3), Value::Wide(sum), int(-3), int(i64::MAX)];
    assert_eq!(end.values(0)[..5], want);
    assert_eq!(end.values(0)[5], Value::Avg { sum, count: 3 });
    assert_eq!(end.values(1), [int(1), int(0), null, null, null, null]);
    assert_eq!((end.key(0), end.key(1)), (&[None][..], &[Some(1)][..]));
}

#[test]
fn no_key_is_one_group_and_two_keys_are_pairs() {
    for (keys, groups) in [(vec![], 1), (vec![ColumnIx(1), ColumnIx(2)], 3)] {
        let mut plan = batched(OutputMode::Append);
        operator(&mut plan).keys = keys;
        let mut story = Story::new(plan);
        for (k, v) in [(1, 1), (1, 2), (2, 1), (1, 1)] {
            keyed(&mut story, 1, Some(k), Some(v));
        }
        assert_eq!(written(&story.item(Item::End)).len(), groups);
    }
}

#[test]
fn without_a_watermark_nothing_is_late_and_only_the_end_evicts() {
    let mut plan = batched(OutputMode::Update);
    plan.watermark = None;
    let mut story = Story::new(plan);
    keyed(&mut story, 1_000, Some(1), Some(1));
    story.batch();
    keyed(&mut story, 1, Some(1), Some(1));
    let batch = story.batch();
    assert_eq!((fates(&batch), batch.steps[0].late), ("+".to_owned(), Some(EventTime::MIN)));
    assert_eq!((story.c(), story.w(), story.oracle.groups()), (i64::MIN, i64::MIN, 2));
    let end = story.item(Item::End);
    assert_eq!((written(&end), story.oracle.groups()), (vec![], 0));
}

#[test]
fn without_an_operator_rows_pass_and_the_watermark_moves_without_effect() {
    let mut plan = plan();
    plan.operator = None;
    let mut story = Story::new(plan);
    story.row(0, clock("10:12:00"));
    assert_eq!(fate(&story.row(0, 1)), ExpectedFate::Counted);
    assert_eq!(fate(&story.cells(0, &[None, None, None])), ExpectedFate::NoTime);
    assert_eq!((story.w(), story.oracle.groups()), (clock("10:10:00"), 0));
}

#[test]
fn a_broken_link_between_watermark_and_window_leaves_the_watermark_without_effect() {
    let late = |lineage: Vec<LineageStep>, time: &str| {
        let mut plan = batched(OutputMode::Update);
        plan.lineage = lineage;
        operator(&mut plan).time = time.to_owned();
        watermark(&mut plan).effective = Effective::Row;
        let mut story = Story::new(plan);
        keyed(&mut story, 1_000, Some(1), Some(1));
        keyed(&mut story, 1, Some(1), Some(1));
        fates(&story.batch())
    };
    let rename = |to: &str| LineageStep::Rename { from: "t".to_owned(), to: to.to_owned() };
    let project = |name: &str| LineageStep::Project(vec![name.to_owned()]);
    assert_eq!(late(vec![rename("u"), project("u")], "u"), "+L", "a rename holds");
    assert_eq!(late(vec![LineageStep::Compute("t".to_owned())], "t"), "++");
    assert_eq!(late(vec![project("k")], "t"), "++");
}

#[test]
fn negative_times_are_in_the_windows_below_zero() {
    let mut story = Story::new(batched(OutputMode::Append));
    keyed(&mut story, -1, Some(1), Some(1));
    keyed(&mut story, -10, Some(1), Some(1));
    keyed(&mut story, -11, Some(1), Some(1));
    let want = [(1, -20, Some(1), Value::Int(1), OnTime), (1, -10, Some(1), Value::Int(2), OnTime)];
    assert_eq!(written(&story.item(Item::End)), want);
}
