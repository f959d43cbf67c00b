//! Windows with panes, sessions, groups by keys, count windows.

use super::*;
use plimsoll_engine::output::RemarkKind;
use plimsoll_engine::plan::flow::{Carry, CountPlan, GlobalPlan};

fn panes(carry: Carry, lateness: i64) -> Plan {
    let mut stage = windows(T, 10);
    stage.lateness = Span(lateness);
    stage.panes = PanePlan { early_rows: Some(2), carry };
    flow(&[0], vec![StagePlan::Window(stage)])
}

/// Two rows make an early pane, a third is on time, a fourth is late.
fn told(carry: Carry) -> [Vec<String>; 4] {
    let mut story = Story::new(panes(carry, 20));
    story.row(0, 1);
    let early = story.row(0, 2);
    story.row(0, 3);
    let on_time = story.row(0, 10);
    let late = story.row(0, 4);
    story.row(0, 29);
    let after = story.row(0, 30);
    assert_eq!(after.steps[0].stages[0].removed, 1, "end + lateness <= w");
    let too_late = story.row(0, 5);
    assert_eq!(fates(&too_late), "L");
    [early, on_time, late, too_late].map(|it| written(&it))
}

#[test]
fn panes_carry_totals_or_what_came_since_or_take_back() {
    let [early, on_time, late, none] = told(Carry::Accumulating);
    assert_eq!(early, ["early 0 10 9 2"]);
    assert_eq!(on_time, ["on_time 0 10 9 3"]);
    assert_eq!(late, ["late 0 10 9 4"]);
    assert_eq!(none, nothing());
    let [early, on_time, late, _] = told(Carry::Discarding);
    assert_eq!(
        [&early[..], &on_time, &late].concat(),
        ["early 0 10 9 2", "on_time 0 10 9 1", "late 0 10 9 1"]
    );
    let [early, on_time, late, _] = told(Carry::Retracting);
    assert_eq!(early, ["early 0 10 9 2"]);
    assert_eq!(on_time, ["on_time 0 10 9 3", "retraction 0 10 9 2"]);
    assert_eq!(late, ["late 0 10 9 4", "retraction 0 10 9 3"]);
}

#[test]
fn a_first_row_for_a_passed_window_fires_on_the_spot_in_flink() {
    let mut plan = panes(Carry::Accumulating, 20);
    watermark(&mut plan).effective = Effective::Probe;
    let mut story = Story::new(plan);
    story.row(0, 12);
    assert_eq!(story.w(), NEVER, "a row never moves the watermark");
    assert_eq!(written(&story.item(Item::Probe)), nothing());
    assert_eq!(story.w(), 12);
    assert_eq!(written(&story.row(0, 3)), ["late 0 10 9 1"]);
}

#[test]
fn update_writes_what_a_pass_changed_and_complete_everything_at_every_trigger() {
    let with = |mode| {
        let mut plan = flow(&[0], vec![StagePlan::Window(windows(T, 10))]);
        plan.output = mode;
        let mut story = Story::new(plan);
        story.row(0, 1);
        story.row(0, 12);
        let probe = story.item(Item::Probe);
        [written(&story.row(0, 2)), written(&probe), written(&story.end())]
    };
    // The window [0, 10) has closed under update.
    let [late, probe, end] = with(OutputMode::Update);
    assert_eq!([late, probe, end], [vec![], vec![], vec![]] as [Vec<String>; 3]);
    let [counted, probe, end] = with(OutputMode::Complete);
    assert_eq!(counted, ["complete 0 10 9 2", "complete 10 20 19 1"]);
    assert_eq!(probe, nothing());
    assert_eq!(end, ["complete 0 10 9 2", "complete 10 20 19 1"]);
}

fn session(late: SessionLate, touching: Touching) -> Story {
    let mut plan = sessions();
    (plan.late, plan.touching) = (late, touching);
    let mut plan = flow(&[0], vec![StagePlan::Session(plan)]);
    plan.flow.as_mut().expect("a flow").hindsight = Span(1_000);
    Story::new(plan)
}

#[test]
fn touching_sessions_are_one_or_two() {
    let closed = |touching| {
        let mut story = session(SessionLate::Event, touching);
        story.row(0, 0);
        story.row(0, 10);
        let end = written(&story.end());
        end
    };
    assert_eq!(closed(Touching::Merge), ["on_time 0 20 19 1 2"]);
    // At 10 the first has closed: w = 10 = its end.
    assert_eq!(closed(Touching::Apart), ["on_time 10 20 19 1 1"]);
}

#[test]
fn a_row_behind_the_watermark_is_late_or_rescued_or_splits_a_session() {
    let told = |late| {
        let mut story = session(late, Touching::Apart);
        story.row(0, 0);
        // Another key moves the watermark to 12 and closes [0, 10).
        story.cells(0, &[Some(12), Some(2), Some(1)]);
        let out = story.row(0, 5);
        (fates(&out), out.remarks.iter().map(|it| it.kind).collect::<Vec<_>>())
    };
    let split = RemarkKind::SessionSplit { start: EventTime(0), end: EventTime(10) };
    assert_eq!(told(SessionLate::Event), ("L".to_owned(), vec![]));
    assert_eq!(told(SessionLate::Proto), ("+".to_owned(), vec![split]));
    assert_eq!(told(SessionLate::Merged), ("+".to_owned(), vec![split]));
}

#[test]
fn a_live_session_rescues_a_late_row_under_merged_alone() {
    let told = |late| {
        let mut story = session(late, Touching::Apart);
        story.row(0, 9);
        story.cells(0, &[Some(15), Some(2), Some(1)]);
        // [4, 14) has passed at w = 15; [9, 19) has not.
        let out = story.row(0, 4);
        (fates(&out), written(&story.end()))
    };
    let other = "on_time 15 25 24 2 1".to_owned();
    assert_eq!(told(SessionLate::Proto).0, "L");
    let (fate, end) = told(SessionLate::Merged);
    assert_eq!((fate.as_str(), end), ("+", vec![other, "on_time 4 19 18 1 2".to_owned()]));
}

#[test]
fn a_session_that_is_too_long_is_closed_and_its_gap_may_be_the_rows_own() {
    let mut plan = sessions();
    plan.max_span = Some(Span(25));
    plan.gap = Gap::Column(V);
    let mut story = Story::new(flow(&[100], vec![StagePlan::Session(plan)]));
    story.cells(0, &[Some(0), Some(1), Some(20)]);
    let fate = |it: &ExpectedFlow| it.verdicts[0].fate;
    assert_eq!(fate(&story.cells(0, &[Some(0), Some(1), Some(0)])), FlowFate::NoGap);
    assert_eq!(fate(&story.cells(0, &[Some(0), Some(1), None])), FlowFate::NoGap);
    assert_eq!(written(&story.cells(0, &[Some(18), Some(1), Some(7)])), ["span 0 25 24 1 2"]);
}

#[test]
fn groups_by_a_time_leave_with_the_watermark_and_others_at_the_end() {
    let plan = |time| {
        let keys = vec![K, T];
        let stage = GlobalPlan { keys, aggregates: vec![Aggregate::Count], time };
        flow(&[0], vec![StagePlan::Global(stage)])
    };
    let mut story = Story::new(plan(Some((T, LateRule::Event))));
    assert_eq!(written(&story.row(0, 5)), nothing());
    assert_eq!(fates(&story.row(0, 5)), "+");
    assert_eq!(written(&story.row(0, 6)), ["on_time 1 5 2"]);
    assert_eq!(fates(&story.row(0, 5)), "L");
    let mut story = Story::new(plan(None));
    story.row(0, 5);
    assert_eq!(written(&story.row(0, 6)), nothing());
    assert_eq!(written(&story.end()), ["on_time 1 5 1", "on_time 1 6 1"]);
}

#[test]
fn a_count_window_is_written_with_its_last_row_and_the_rest_at_the_end() {
    let stage = CountPlan { time: T, keys: vec![K], aggregates: vec![Aggregate::Sum(V)], rows: 2 };
    let mut story = Story::new(flow(&[0], vec![StagePlan::Count(stage)]));
    story.row(0, 50);
    assert_eq!(written(&story.row(0, 3)), ["on_time 1 2 50"]);
    story.row(0, 4);
    assert_eq!(written(&story.end()), ["on_time 1 1 4"]);
}

#[test]
fn a_row_in_a_hole_is_in_no_window_or_late_where_flink_says_so() {
    let told = |hole| {
        let mut stage = windows(T, 4);
        (stage.window.slide, stage.hole) = (Span(10), hole);
        let mut story = Story::new(flow(&[0], vec![StagePlan::Window(stage)]));
        story.row(0, 20);
        story.row(0, 5).verdicts[0].fate
    };
    assert_eq!(told(HoleRule::NoWindow), FlowFate::NoWindow);
    let (time, bound) = (EventTime(5), EventTime(20));
    assert_eq!(told(HoleRule::LateBehind), FlowFate::Late { time, bound, lost: 0, kept: 0 });
}
