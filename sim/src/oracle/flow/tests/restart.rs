//! Restarts that forget, in flows.

use super::*;
use plimsoll_engine::plan::flow::{AsOfPlan, DedupExpiry, DedupPlan, FollowUp};
use plimsoll_engine::plan::restore::{Memory, RestoreRules};

const SPARK: Item = Item::Restart(RestoreRules::GLOBAL_ONLY);
const FLINK: Item = Item::Restart(RestoreRules::NO_WATERMARK);
const MAXIMA: Item = Item::Restart(RestoreRules { maxima: Memory::Lost, ..RestoreRules::EXACT });
const WINDOWS: Item = Item::Restart(RestoreRules { windows: Memory::Lost, ..RestoreRules::EXACT });
const EVERYTHING: Item = Item::Restart(RestoreRules {
    windows: Memory::Lost,
    ledger: Memory::Lost,
    ..RestoreRules::NO_WATERMARK
});

fn union() -> Plan {
    flow(&[0, 5], vec![StagePlan::Window(windows(T, 10))])
}

fn joined(sides: Sides) -> JoinPlan {
    JoinPlan { sides, ..join(JoinKind::Left, 0, 10) }
}

#[test]
fn sparks_keeps_the_smallest_and_waits_until_every_input_has_spoken_again() {
    let mut story = Story::new(union());
    story.row(0, 12);
    story.row(1, 17);
    assert_eq!(story.w(), 12, "of 12 and 17 - 5");
    story.item(SPARK);
    assert_eq!((story.oracle.candidate().expect("one mark").0, story.w()), (NEVER, 12));
    story.row(0, 30);
    assert_eq!(story.w(), 12, "the second input has not spoken");
    assert_eq!(fates(&story.row(0, 9)), "L");
    let out = story.row(1, 25);
    assert_eq!((story.w(), written(&out)), (20, vec!["on_time 10 20 19 2".to_owned()]));
}

#[test]
fn flinks_takes_what_was_late_and_writes_a_window_twice() {
    let mut story = Story::new(union());
    story.row(0, 3);
    story.row(0, 12);
    assert_eq!(written(&story.row(1, 17)), ["on_time 0 10 9 1"]);
    assert_eq!(fates(&story.row(0, 4)), "L");
    story.item(FLINK);
    assert_eq!((story.oracle.candidate().expect("one mark").0, story.w()), (NEVER, NEVER));
    assert_eq!(fates(&story.row(0, 4)), "+");
    assert_eq!(written(&story.row(0, 19)), nothing());
    assert_eq!(written(&story.row(1, 16)), ["on_time 0 10 9 1"], "W = 11");
    assert_eq!(written(&story.end()), ["on_time 10 20 19 4"]);
}

#[test]
fn a_window_that_was_kept_for_lateness_is_written_on_time_again_with_its_old_rows() {
    let late = WindowStage { lateness: Span(10), ..windows(T, 10) };
    let mut story = Story::new(flow(&[0], vec![StagePlan::Window(late)]));
    story.row(0, 5);
    assert_eq!(written(&story.row(0, 12)), ["on_time 0 10 9 1"]);
    assert_eq!(written(&story.row(0, 6)), ["late 0 10 9 2"], "at once");
    story.item(FLINK);
    assert_eq!(written(&story.row(0, 7)), nothing(), "W = 7: its end is ahead again");
    assert_eq!(written(&story.row(0, 13)), ["on_time 0 10 9 3"]);
    let out = story.row(0, 20);
    assert_eq!(written(&out), ["on_time 10 20 19 2"], "[0,10) leaves, and owes nothing");
}

#[test]
fn lost_windows_are_open_groups_waiting_rows_and_remembered_ids() {
    let mut story = Story::new(flow(&[0], vec![StagePlan::Window(windows(T, 10))]));
    story.row(0, 3);
    assert_eq!(written(&story.item(WINDOWS)), nothing());
    story.row(0, 4);
    assert_eq!(written(&story.row(0, 12)), ["on_time 0 10 9 1"]);

    let mut story = Story::new(flow(&[0, 0], vec![StagePlan::Join(joined(Sides::Combined))]));
    story.row(0, 3);
    story.item(WINDOWS);
    assert_eq!(written(&story.row(1, 3)), nothing());
    assert_eq!(written(&story.end()), nothing(), "the left row has left nothing behind");

    let ids = DedupPlan {
        columns: vec![K],
        time: Some(T),
        expiry: DedupExpiry::After(Span(100)),
        late: LateRule::Event,
        late_policy: LatePolicy::Drop,
    };
    let mut story = Story::new(flow(&[0], vec![StagePlan::Dedup(ids)]));
    assert_eq!(fates(&story.row(0, 3)), "+");
    assert_eq!(fates(&story.row(0, 3)), "D");
    story.item(WINDOWS);
    let again = story.row(0, 3);
    assert_eq!((fates(&again).as_str(), again.remarks.len()), ("+", 0));
}

#[test]
fn a_published_session_that_was_lost_cannot_be_split() {
    let told = |item| {
        let mut plan = flow(&[0], vec![StagePlan::Session(sessions())]);
        plan.flow.as_mut().expect("a flow").hindsight = Span(1_000);
        let mut story = Story::new(plan);
        story.row(0, 5);
        assert_eq!(written(&story.row(0, 20)), ["on_time 5 15 14 1 1"]);
        story.item(FLINK);
        story.item(item);
        let out = story.row(0, 6);
        (fates(&out), out.remarks.iter().map(|it| it.certain).collect::<Vec<_>>())
    };
    assert_eq!(told(FLINK), ("+".to_owned(), vec![true]), "[6,16) overlaps [5,15)");
    assert_eq!(told(WINDOWS), ("+".to_owned(), vec![]));
}

#[test]
fn a_right_row_that_had_left_does_not_come_back_with_the_watermark() {
    let plan = AsOfPlan {
        on: vec![(K, K)],
        time: [T, T],
        tolerance: Span(5),
        outer: true,
        late_policy: LatePolicy::Drop,
    };
    let mut story = Story::new(flow(&[0, 0], vec![StagePlan::AsOf(plan)]));
    story.row(1, 0);
    story.row(0, 20);
    let out = story.row(1, 20);
    assert_eq!(out.steps[0].stages[0].removed, 1, "0 + 5 < 20");
    story.item(FLINK);
    assert_eq!(fates(&story.row(0, 3)), "+");
    story.row(1, 50);
    let out = story.row(0, 50);
    assert_eq!(written(&out), ["row 20 1 1 20 1 1", "unmatched 3 1 1 - - -"]);
}

#[test]
fn a_side_is_judged_by_what_its_mark_said_last_until_the_next_step_and_then_anew() {
    let mut story = Story::new(flow(&[0, 0], vec![StagePlan::Join(joined(Sides::Own))]));
    story.row(0, 10);
    story.row(1, 10);
    story.item(MAXIMA);
    assert_eq!((story.oracle.candidate().expect("one mark").0, story.w()), (NEVER, 10), "W stays");
    let out = story.row(0, 5);
    assert_eq!(fates(&out), "L", "10 is in force");
    assert_eq!(
        out.steps[0].marks,
        [(EventTime(5), EventTime(5)), (EventTime::MIN, EventTime::MIN)]
    );
    assert_eq!(out.steps[0].stages[0].evict, [Some(EventTime::MIN), Some(EventTime(5))]);
    assert_eq!(fates(&story.row(0, 5)), "+", "and now 5");
    assert_eq!(fates(&story.row(1, 3)), "+", "its own mark has said nothing");
    assert_eq!(story.w(), 10);
}

#[test]
fn a_line_that_fell_is_followed_up_once_it_is_back() {
    let mut plan = flow(&[0, 0], vec![StagePlan::Join(joined(Sides::Own))]);
    plan.flow.as_mut().expect("a flow").follow_up = FollowUp::WhenMoved;
    let mut story = Story::new(batched(plan, Effective::NextBatch));
    let steps = |story: &mut Story, input| {
        story.row(input, 10);
        story.batch().steps.len()
    };
    assert_eq!((steps(&mut story, 0), steps(&mut story, 1)), (2, 2));
    story.item(MAXIMA);
    // What was in force removes; then both lines have fallen, that of the left to where it was.
    assert_eq!(steps(&mut story, 0), 1);
    // The right one, at -inf in the step before, is back and so ahead of what removed there.
    assert_eq!(steps(&mut story, 1), 2);
}

#[test]
fn what_waits_is_read_again_after_everything_was_lost() {
    let mut story = Story::new(batched(union(), Effective::NextBatch));
    story.row(0, 3);
    story.batch();
    story.row(0, 4);
    story.item(EVERYTHING);
    assert_eq!(story.oracle.arrivals_queued(), 1);
    let out = story.batch();
    assert_eq!((fates(&out).as_str(), out.steps[0].step), ("+", 1));
    assert_eq!(written(&story.end()), ["on_time 0 10 9 1"]);
}

#[test]
fn a_flow_that_has_stopped_stays_so() {
    let mut story = Story::new(union());
    story.row(0, 3);
    story.end();
    let out = story.item(EVERYTHING);
    assert_eq!((out.ignored.len(), out.steps.len(), story.w()), (0, 0, EventTime::MAX.0));
    assert_eq!(story.row(0, 3).verdicts[0].fate, FlowFate::NotApplicable);
}

#[test]
fn restarts_before_any_row_and_one_after_the_other_lose_nothing_more() {
    let mut plan = union();
    watermark(&mut plan).initial = EventTime(0);
    let mut story = Story::new(plan);
    story.item(EVERYTHING);
    assert_eq!(story.w(), 0);
    assert_eq!(fates(&story.row(0, -5)), "L");
    story.row(0, 12);
    story.row(1, 17);
    assert_eq!(story.w(), 12);
    story.item(FLINK);
    story.item(FLINK);
    assert_eq!((story.w(), fates(&story.row(0, 4)).as_str()), (0, "+"));
}
