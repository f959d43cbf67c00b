//! Late rules, partly late rows, and the delay that would have saved a row, tried out.

use super::*;
use plimsoll_engine::late::Saving;

/// Windows of 30 every 10, delay 5, per row.
fn sliding(rule: LateRule) -> Plan {
    let mut plan = plan();
    operator(&mut plan).window = WindowSpec { size: Span(30), slide: Span(10), offset: Span::ZERO };
    operator(&mut plan).late = rule;
    watermark(&mut plan).delay = Span(5);
    plan
}

/// The fate of a row at `time` after one at 105 (c* = 105, w = 100).
fn at(rule: LateRule, time: i64) -> ExpectedFate {
    let mut story = Story::new(sliding(rule));
    story.row(0, 105);
    fate(&story.row(0, time))
}

fn delays(fate: ExpectedFate) -> (i64, i64) {
    let ExpectedFate::Late(it) = fate else { panic!("late expected, found {fate:?}") };
    let Some(Saving::Delay { smallest, largest }) = it.saving else { panic!("{it:?}") };
    (smallest.0, largest.0)
}

fn lost_and_kept(fate: ExpectedFate) -> (u64, u64) {
    let ExpectedFate::Late(it) = fate else { panic!("late expected, found {fate:?}") };
    (it.lost, it.kept)
}

#[test]
fn rule_e_drops_below_the_watermark_and_the_slack_itself_saves() {
    assert_eq!(at(LateRule::Event, 100), ExpectedFate::Counted);
    assert_eq!(lost_and_kept(at(LateRule::Event, 99)), (3, 0));
    assert_eq!(delays(at(LateRule::Event, 99)), (6, 6));
}

#[test]
fn rule_e2_drops_at_the_watermark_too_and_needs_a_millisecond_more() {
    assert_eq!(at(LateRule::EventInclusive, 101), ExpectedFate::Counted);
    assert_eq!(delays(at(LateRule::EventInclusive, 100)), (6, 6));
}

#[test]
fn rule_w_loses_the_windows_that_have_ended_and_counts_into_the_others() {
    // 85 is in [60, 90), [70, 100), [80, 110); w = 100.
    let partly = at(LateRule::WindowEnd, 85);
    assert_eq!(lost_and_kept(partly), (2, 1));
    assert_eq!(delays(partly), (105 - 100 + 1, 105 - 90 + 1));
    assert_eq!(at(LateRule::WindowEnd, 100), ExpectedFate::Counted);
    let whole = at(LateRule::WindowEnd, 69);
    assert_eq!((lost_and_kept(whole), delays(whole)), ((3, 0), (16, 36)));
}

#[test]
fn rule_f_loses_all_windows_of_an_earlier_frame() {
    assert_eq!(at(LateRule::Frame, 100), ExpectedFate::Counted);
    assert_eq!((lost_and_kept(at(LateRule::Frame, 99))), (3, 0));
    assert_eq!(delays(at(LateRule::Frame, 99)), (6, 6));
    assert_eq!(delays(at(LateRule::Frame, 80)), (105 - 90 + 1, 105 - 90 + 1));
}

#[test]
fn a_partly_late_row_is_in_the_ledger_of_the_windows_it_missed_and_in_the_figure_of_the_others() {
    let mut story = Story::new(sliding(LateRule::WindowEnd));
    story.row(0, 105);
    story.row(0, 85);
    let totals = |start| {
        let it = story.oracle.window(EventTime(start)).expect("windows");
        (it.rows_counted, it.rows_dropped)
    };
    assert_eq!([totals(60), totals(70), totals(80)], [(0, 1), (0, 1), (2, 0)]);
}

#[test]
fn times_that_are_no_times_have_fates_of_their_own_and_move_nothing() {
    let mut story = Story::new(sliding(LateRule::Event));
    assert_eq!(fate(&story.cells(0, &[None, Some(1), None])), ExpectedFate::NoTime);
    let beyond = EventTime::LEGAL + 1;
    for time in [beyond, -beyond, i64::MAX, i64::MIN] {
        assert_eq!(fate(&story.row(0, time)), ExpectedFate::TimeOutOfRange);
    }
    assert_eq!((story.c(), story.oracle.members().len()), (i64::MIN, 1));
    assert_eq!(fate(&story.row(0, -EventTime::LEGAL)), ExpectedFate::Counted);
    assert_eq!(fate(&story.row(0, EventTime::LEGAL)), ExpectedFate::Counted);
    assert_eq!(story.w(), EventTime::LEGAL - 5);
    assert_eq!(delays(fate(&story.row(0, -EventTime::LEGAL))).0, EventTime::LEGAL * 2);
}

#[test]
fn a_row_in_a_hole_is_in_no_window_and_moves_the_watermark_all_the_same() {
    let mut plan = sliding(LateRule::Event);
    operator(&mut plan).window = WindowSpec { size: Span(10), slide: Span(30), offset: Span(-5) };
    let mut story = Story::new(plan);
    assert_eq!(fate(&story.row(0, 4)), ExpectedFate::Counted);
    assert_eq!(fate(&story.row(0, 5)), ExpectedFate::NoWindow);
    assert_eq!(fate(&story.row(0, 24)), ExpectedFate::NoWindow);
    assert_eq!(fate(&story.row(0, 25)), ExpectedFate::Counted);
    assert_eq!(story.w(), 20);
    assert_eq!(fate(&story.row(0, 5)), ExpectedFate::NoWindow, "not late: it is in no window");
}

#[test]
fn a_start_value_ahead_of_all_data_is_late_without_a_saving() {
    let mut plan = sliding(LateRule::Event);
    watermark(&mut plan).initial = EventTime(0);
    let mut story = Story::new(plan);
    assert_eq!(lateness(&story.row(0, -1)).saving, Some(Saving::Nothing));
    assert_eq!(fate(&story.row(0, 0)), ExpectedFate::Counted);
}

#[test]
fn a_late_row_moves_its_partition_all_the_same() {
    let mut plan = sliding(LateRule::Event);
    watermark(&mut plan).generator = GeneratorPlan::PartitionMin { idle: None };
    let mut story = Story::new(plan);
    story.row(0, 105);
    assert!(matches!(fate(&story.row(1, 50)), ExpectedFate::Late(_)));
    assert_eq!((story.oracle.members()[1].max.0, story.c()), (50, 50));
}
