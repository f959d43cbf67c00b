//! When a watermark takes effect: lags 0, 1 and 2, and which step takes which items.

use super::*;
use plimsoll_engine::output::IgnoredWhy;

fn batched(effective: Effective) -> Plan {
    let mut plan = plan();
    operator(&mut plan).window = tumbling(Span(10));
    watermark(&mut plan).delay = Span(0);
    watermark(&mut plan).effective = effective;
    plan.trigger = Trigger::Batch;
    plan
}

/// Three batches: 20; 12, 19, 25; 22, 24, 31. Fates of each, and the starts closed in each.
fn three_batches(effective: Effective) -> Vec<(String, Vec<i64>)> {
    let mut story = Story::new(batched(effective));
    let batches: [&[i64]; 4] = [&[20], &[12, 19, 25], &[22, 24, 31], &[]];
    let mut seen = vec![];
    for rows in batches {
        for time in rows {
            assert_eq!(story.row(0, *time).steps.len(), 0, "rows wait for their batch");
        }
        let batch = story.batch();
        seen.push((fates(&batch), starts(&batch)));
    }
    seen
}

fn told(of: &[(&str, &[i64])]) -> Vec<(String, Vec<i64>)> {
    of.iter().map(|(fates, starts)| ((*fates).to_owned(), starts.to_vec())).collect()
}

#[test]
fn lag_0_judges_by_the_row_before_and_closes_by_the_row_itself() {
    // 25 makes w = 25, so 22 and 24 are late; 31 closes [20, 30) at once.
    let want = told(&[("+", &[]), ("LL+", &[]), ("LL+", &[20]), ("", &[])]);
    assert_eq!(three_batches(Effective::Row), want);
}

#[test]
fn lag_1_judges_and_closes_by_the_batch_before() {
    // Batch 1 is judged and closed by 20, batch 2 by 25, batch 3 by 31.
    let want = told(&[("+", &[]), ("LL+", &[]), ("LL+", &[]), ("", &[20])]);
    assert_eq!(three_batches(Effective::NextBatch), want);
}

#[test]
fn lag_2_judges_by_the_batch_before_that_and_may_close_what_it_just_counted() {
    // Batch 1: late by -inf, closed by 20: 12 and 19 are counted and their window closes at once.
    // Batch 2: late by 20, closed by 25. Batch 3: closed by 31.
    let want = told(&[("+", &[]), ("+++", &[10]), ("+++", &[]), ("", &[20])]);
    assert_eq!(three_batches(Effective::BatchAfterNext), want);
}

#[test]
fn step_records_carry_the_bounds_of_their_lag() {
    let mut story = Story::new(batched(Effective::BatchAfterNext));
    let mut bounds = vec![];
    for time in [20, 30, 40] {
        story.row(0, time);
        let batch = story.batch();
        let step = &batch.steps[0];
        bounds.push((step.late, step.evict, step.watermark.0));
    }
    let (none, at) = (Some(EventTime::MIN), |ms| Some(EventTime(ms)));
    assert_eq!(bounds, [(none, none, 20), (none, at(20), 30), (at(20), at(30), 40)]);
}

#[test]
fn an_empty_batch_is_a_step_and_counts_for_the_lag() {
    let mut story = Story::new(batched(Effective::BatchAfterNext));
    story.row(0, 20);
    story.batch();
    assert_eq!(kinds(&story.batch()), [StepKind::Empty]);
    story.row(0, 12);
    assert_eq!(fates(&story.batch()), "L");
}

#[test]
fn heartbeats_alone_make_an_empty_step_that_moves_the_watermark() {
    let mut story = Story::new(batched(Effective::NextBatch));
    story.heartbeat(0, 50);
    assert_eq!((story.w(), story.oracle.arrivals_queued()), (i64::MIN, 1));
    assert_eq!(kinds(&story.batch()), [StepKind::Empty]);
    assert_eq!((story.w(), story.oracle.arrivals_queued()), (50, 0));
}

#[test]
fn per_row_every_item_is_a_step_and_only_rows_are_data() {
    let mut story = Story::new(plan());
    assert_eq!(kinds(&story.row(0, 0)), [StepKind::Data]);
    assert_eq!(kinds(&story.heartbeat(0, 1)), [StepKind::Probe]);
    assert_eq!(kinds(&story.tick(Span(1))), [StepKind::Probe]);
    assert_eq!(kinds(&story.item(Item::Probe)), [StepKind::Probe]);
    assert_eq!(kinds(&story.item(Item::Finish(PartitionId(0)))), [StepKind::Probe]);
    let batch = story.batch();
    assert_eq!((kinds(&batch), batch.ignored[0].why), (vec![], IgnoredWhy::TriggerDecides));
    assert_eq!(kinds(&story.item(Item::Checkpoint)), []);
    assert_eq!(kinds(&story.item(Item::Crash { stale: true })), []);
    assert_eq!(kinds(&story.item(Item::End)), [StepKind::End]);
}

#[test]
fn after_the_end_rows_are_not_applicable_and_other_items_are_ignored() {
    let mut story = Story::new(plan());
    story.item(Item::End);
    assert_eq!(fate(&story.row(0, 0)), ExpectedFate::NotApplicable);
    let tick = story.tick(Span(1));
    assert_eq!((tick.ignored[0].why, tick.steps.len()), (IgnoredWhy::QueryStopped, 0));
    assert_eq!(story.item(Item::Checkpoint).ignored, []);
}

#[test]
fn the_end_takes_what_is_queued_first_and_that_step_has_its_usual_bounds() {
    let mut story = Story::new(batched(Effective::NextBatch));
    story.row(0, 5);
    let end = story.item(Item::End);
    assert_eq!(kinds(&end), [StepKind::Data, StepKind::End]);
    assert_eq!(end.steps[0].watermark, EventTime(5));
    assert_eq!(end.steps[1].evict, Some(EventTime::MAX));
    assert_eq!(written(&end), [(1, 0, Some(1), Value::Int(1), FiringKind::OnTime)]);
}

#[test]
fn once_is_one_step_and_nothing_fires_at_the_stop() {
    let mut plan = batched(Effective::NextBatch);
    plan.trigger = Trigger::Once;
    let mut story = Story::new(plan);
    story.row(0, 5);
    story.row(0, 500);
    let end = story.item(Item::End);
    assert_eq!((kinds(&end), starts(&end)), (vec![StepKind::Data], vec![]));
    assert!(story.oracle.stopped());
    assert_eq!((story.w(), story.oracle.groups()), (500, 2));
    assert_eq!(fate(&story.row(0, 6)), ExpectedFate::NotApplicable);
}

#[test]
fn available_now_takes_as_many_steps_as_its_rows_need() {
    let mut plan = batched(Effective::NextBatch);
    plan.trigger = Trigger::AvailableNow(2);
    let mut story = Story::new(plan);
    for time in [20, 5, 21, 6, 30] {
        story.row(0, time);
    }
    let batch = story.batch();
    assert_eq!(kinds(&batch), [StepKind::Data; 3]);
    assert_eq!(fates(&batch), "+++L+");
    let steps: Vec<_> = batch.verdicts.iter().map(|it| it.step).collect();
    assert_eq!(steps, [0, 0, 1, 1, 2]);
    assert_eq!(starts(&batch), [0], "5 is counted in the first step and closed in the second");
}

#[test]
fn per_row_inside_a_batch_every_row_moves_the_watermark_for_the_next() {
    let mut story = Story::new(batched(Effective::Row));
    story.row(0, 20);
    story.row(0, 19);
    story.heartbeat(0, 40);
    let batch = story.batch();
    assert_eq!((fates(&batch), batch.steps.len()), ("+L".to_owned(), 1));
    let step = &batch.steps[0];
    assert_eq!((step.late, step.evict), (Some(EventTime(20)), Some(EventTime(40))));
    assert_eq!(starts(&batch), [20], "closed by the heartbeat of the same step");
    let set_by = batch.verdicts[1].fate;
    let ExpectedFate::Late(it) = set_by else { panic!("{set_by:?}") };
    assert_eq!(it.set_by, Some(ItemId(1)), "the row, not the batch");
}
