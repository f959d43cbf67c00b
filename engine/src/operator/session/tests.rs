//! Invariant: every expected row was worked out by hand from the law, or by a plainer definition.

mod random;

use super::*;
use crate::operator::grouping::drive::{CAUSE, KEY, Made, TIME, VALUE, pass, rows};
use crate::output::{EmissionKind, EmissionNote};
use crate::plan::flow::Touching;
use crate::plan::{Aggregate, LatePolicy};
use crate::row::{ItemId, PartitionId};
use crate::time::ProcTime;
use EmissionKind::{Complete, Late, OnTime, Update};
use OutputMode::Append;

const NEVER: i64 = i64::MIN;
const END: i64 = i64::MAX;

/// A gap of 10, the sum of the values; what only touches is apart.
fn plan(late: SessionLate) -> SessionPlan {
    SessionPlan {
        time: TIME,
        gap: Gap::Fixed(Span(10)),
        keys: vec![KEY],
        aggregates: vec![Aggregate::Sum(VALUE)],
        late,
        late_policy: LatePolicy::Drop,
        touching: Touching::Apart,
        max_span: None,
        lateness: Span(0),
    }
}

fn sessions(late: SessionLate) -> Sessions {
    Sessions::new(&plan(late), Span(0))
}

fn flink(lateness: i64) -> Sessions {
    let touching = Touching::Merge;
    let plan = SessionPlan { touching, lateness: Span(lateness), ..plan(SessionLate::Merged) };
    Sessions::new(&plan, Span(0))
}

/// A pass with these late and evict bounds; rows are (number, time, key, value).
fn run(
    it: &mut Sessions,
    of: &[(u64, i64, i64, i64)],
    late: i64,
    evict: i64,
    mode: OutputMode,
) -> Made {
    let made = pass(&rows(of), late, evict, mode, |pass, out| it.step(pass, out), 5);
    assert_eq!(it.fit(&it.plan, it.hindsight), Ok(()));
    made
}

/// Kind, pane, start, end and sum of each row.
fn short(made: &Made) -> Vec<(EmissionKind, u32, i64, i64, i64)> {
    let cell = |it: Option<i64>| it.unwrap_or(-1);
    made.rows.iter().map(|it| (it.1, it.2, cell(it.3[0]), cell(it.3[1]), cell(it.3[4]))).collect()
}

#[test]
fn silence_of_a_gap_ends_a_session_and_the_watermark_writes_it() {
    let mut it = sessions(SessionLate::Event);
    let of = [(1, 0, 5, 1), (2, 9, 5, 2), (3, 30, 5, 4), (4, 3, 4, 8)];
    assert!(run(&mut it, &of, NEVER, 12, Append).rows.is_empty());
    let made = run(&mut it, &[], 12, 19, Append);
    assert_eq!(short(&made), [(OnTime, 0, 3, 13, 8), (OnTime, 0, 0, 19, 3)]);
    let note = EmissionNote { step: 3, kind: OnTime, time: EventTime(18), pane: 0 };
    assert_eq!((made.out.notes[1], made.rows[1].0), (note, CAUSE.0));
    assert_eq!((made.out.tally.removed, it.state_rows()), (2, 1));
}

#[test]
fn touching_is_apart_or_one_as_the_plan_says() {
    for (touching, expected) in [(Touching::Apart, vec![10, 20]), (Touching::Merge, vec![20])] {
        let plan = SessionPlan { touching, ..plan(SessionLate::Event) };
        let mut it = Sessions::new(&plan, Span(0));
        let made = run(&mut it, &[(1, 10, 1, 1), (2, 0, 1, 2)], NEVER, END, Append);
        let ends: Vec<_> = short(&made).iter().map(|it| it.3).collect();
        assert_eq!(ends, expected, "{touching:?}");
    }
}

#[test]
fn a_row_between_two_sessions_makes_them_one() {
    let mut it = sessions(SessionLate::Event);
    run(&mut it, &[(1, 0, 1, 1), (2, 15, 1, 2), (3, 40, 1, 4)], NEVER, NEVER, Append);
    let made = run(&mut it, &[(4, 7, 1, 8)], NEVER, NEVER, Append);
    // The session from 15 is gone from the store, that from 0 has grown.
    assert_eq!((made.out.tally.updated, made.out.tally.removed, it.state_rows()), (1, 1, 2));
    let made = run(&mut it, &[], NEVER, END, Append);
    assert_eq!(short(&made), [(OnTime, 0, 0, 25, 11), (OnTime, 0, 40, 50, 4)]);
}

#[test]
fn an_earlier_start_removes_what_was_there_and_what_this_pass_made_was_not() {
    let mut it = sessions(SessionLate::Event);
    run(&mut it, &[(1, 20, 1, 1)], NEVER, NEVER, Append);
    let made = run(&mut it, &[(2, 15, 1, 1)], NEVER, NEVER, Append);
    assert_eq!((made.out.tally.removed, it.state_rows()), (1, 1));
    let of = [(3, 50, 1, 1), (4, 45, 1, 1), (5, 40, 1, 1), (6, 12, 1, 1)];
    let tally = run(&mut it, &of, NEVER, NEVER, Append).out.tally;
    assert_eq!((tally.updated, tally.removed, it.state_rows()), (2, 1, 2));
}

#[test]
fn the_longest_gap_reaches_furthest_and_rows_without_one_are_not_taken() {
    let plan = SessionPlan { gap: Gap::Column(VALUE), ..plan(SessionLate::Event) };
    let mut it = Sessions::new(&plan, Span(0));
    let mut batch = rows(&[(1, 0, 1, 30), (2, 5, 1, 2), (3, 6, 1, 0), (4, 6, 1, -5)]);
    batch.push(ItemId(5), PartitionId(0), ProcTime(0), &[Some(6), Some(1), None]);
    batch.push(ItemId(6), PartitionId(0), ProcTime(0), &[None, Some(1), None]);
    let made = pass(&batch, NEVER, END, Append, |pass, out| it.step(pass, out), 5);
    assert_eq!(short(&made), [(OnTime, 0, 0, 30, 32)]);
    let verdicts: Vec<_> = made.judged().iter().map(|it| (it.row, it.verdict)).collect();
    let no = StageVerdict::NoGap;
    assert_eq!(verdicts, [(2, no), (3, no), (4, no), (5, StageVerdict::NoTime)]);
}

#[test]
fn the_three_rules_differ_in_what_they_compare_and_say_what_would_have_kept() {
    // A live session [20, 30), and a row at 12: its own stretch is [12, 22).
    let rules = [(SessionLate::Event, 12), (SessionLate::Proto, 21), (SessionLate::Merged, 29)];
    for (rule, keeps) in rules {
        for lateness in [0, 4] {
            let of = |late| {
                let plan = SessionPlan { lateness: Span(lateness), ..plan(rule) };
                let mut it = Sessions::new(&plan, Span(0));
                run(&mut it, &[(1, 20, 1, 1)], NEVER, NEVER, Append);
                run(&mut it, &[(2, 12, 1, 1), (3, 12, 1, 1)], late, NEVER, Append)
            };
            assert!(of(keeps + lateness).judged().is_empty(), "{rule:?}");
            let made = of(keeps + lateness + 1);
            let (bound, keeps) = (EventTime(keeps + lateness + 1), EventTime(keeps + lateness));
            let late = StageVerdict::Late { bound, lost: 1, kept: 0, one: keeps, all: keeps };
            assert_eq!(made.judged()[0].verdict, late, "{rule:?}");
            assert_eq!((made.out.tally.rows_dropped, made.out.tally.groups_dropped), (2, 1));
        }
    }
}

#[test]
fn a_chain_of_late_rows_is_rescued_row_by_row_after_merging() {
    let mut it = flink(0);
    run(&mut it, &[(1, 30, 1, 1)], 5, 35, Append);
    // [20, 30) and then [10, 20) are past, but touch what lives.
    let made = run(&mut it, &[(2, 20, 1, 1), (3, 10, 1, 1)], 35, 35, Append);
    assert_eq!((made.judged().len(), it.state_rows()), (0, 1));
    assert_eq!(short(&run(&mut it, &[], 35, 40, Append)), [(OnTime, 0, 10, 40, 3)]);
}

#[test]
fn without_lateness_a_fired_session_is_forgotten_and_a_row_opens_an_overlapping_one() {
    let mut it = flink(0);
    run(&mut it, &[(1, 0, 1, 1)], NEVER, 11, Append);
    let made = run(&mut it, &[(2, 5, 1, 2)], 11, 11, Append);
    assert!(made.judged().is_empty());
    assert_eq!(short(&run(&mut it, &[], 11, 15, Append)), [(OnTime, 0, 5, 15, 2)]);
}

#[test]
fn with_lateness_a_row_in_a_fired_session_writes_it_again() {
    let mut it = flink(100);
    assert_eq!(short(&run(&mut it, &[(1, 0, 1, 1)], NEVER, 20, Append)), [(OnTime, 0, 0, 10, 1)]);
    let made = run(&mut it, &[(2, 5, 1, 2), (3, 3, 1, 4)], 20, 20, Append);
    assert_eq!((short(&made), made.rows[0].0), (vec![(Late, 1, 0, 15, 7)], 3));
    assert_eq!(run(&mut it, &[], 20, 115, Append).out.tally.removed, 1);
}

#[test]
fn a_late_row_between_fired_and_open_makes_one_that_fires_later_with_everything() {
    let mut it = flink(100);
    run(&mut it, &[(1, 0, 1, 1), (2, 18, 1, 2)], NEVER, 12, Append);
    assert!(run(&mut it, &[(3, 9, 1, 4)], 12, 12, Append).rows.is_empty());
    assert_eq!(short(&run(&mut it, &[], 12, 28, Append)), [(OnTime, 1, 0, 28, 7)]);
}

#[test]
fn a_late_row_between_two_fired_ones_is_written_at_once() {
    let mut it = flink(100);
    let made = run(&mut it, &[(1, 0, 1, 1), (2, 18, 1, 2)], NEVER, 30, Append);
    assert_eq!(made.rows.len(), 2);
    assert_eq!(short(&run(&mut it, &[(3, 9, 1, 4)], 30, 30, Append)), [(Late, 1, 0, 28, 7)]);
}

#[test]
fn after_a_restart_that_forgot_the_watermark_only_a_row_makes_a_session_fire_again() {
    let mut it = flink(100);
    run(&mut it, &[(1, 0, 1, 1), (2, 0, 2, 1)], NEVER, 12, Append);
    assert!(run(&mut it, &[(3, 1, 1, 2)], NEVER, NEVER, Append).rows.is_empty());
    assert_eq!(short(&run(&mut it, &[], NEVER, 11, Append)), [(OnTime, 1, 0, 11, 3)]);
}

#[test]
fn a_session_that_is_too_long_is_written_with_the_row_that_made_it_so() {
    let plan = SessionPlan { max_span: Some(Span(18)), ..plan(SessionLate::Event) };
    let mut it = Sessions::new(&plan, Span(0));
    let made = run(&mut it, &[(1, 0, 1, 1), (2, 7, 1, 2)], NEVER, NEVER, Append);
    assert_eq!((made.rows.len(), it.state_rows()), (0, 1));
    let made = run(&mut it, &[(3, 8, 1, 4), (4, 50, 1, 8)], NEVER, NEVER, Append);
    assert_eq!((short(&made), made.rows[0].0), (vec![(EmissionKind::Span, 0, 0, 18, 7)], 3));
    assert_eq!((made.out.tally.removed, it.state_rows()), (1, 1));
}

#[test]
fn a_row_that_overlaps_a_published_session_is_remarked_once_as_far_as_hindsight_reaches() {
    let split = |id, start, end| {
        let (start, end) = (EventTime(start), EventTime(end));
        (ItemId(id), RemarkKind::SessionSplit { start, end })
    };
    let mut it = Sessions::new(&plan(SessionLate::Merged), Span(15));
    run(&mut it, &[(1, 0, 1, 1), (2, 12, 1, 1), (3, 0, 2, 1)], NEVER, 22, Append);
    // 22 only touches [12, 22); 21 overlaps it, 20 does so no more than 21 did; 9 overlaps both and
    // one of them anew.
    let of = [(4, 22, 1, 1), (5, 21, 1, 1), (6, 20, 1, 1), (7, 12, 1, 1), (8, 9, 1, 1)];
    let made = run(&mut it, &of, 22, 22, Append);
    assert_eq!(made.remarks(), [split(5, 12, 22), split(8, 0, 10)]);
    run(&mut it, &[], 22, 25, Append);
    // Now [0, 10) is out of reach, and all is as if it had never been.
    let made = run(&mut it, &[(9, 5, 2, 1), (10, 17, 2, 1)], NEVER, NEVER, Append);
    assert!(made.remarks().is_empty());
}

#[test]
fn update_writes_what_the_pass_changed_once_and_complete_everything() {
    let mut it = sessions(SessionLate::Event);
    let of = [(1, 0, 1, 1), (2, 5, 1, 2), (3, 40, 1, 4)];
    let made = run(&mut it, &of, NEVER, 15, OutputMode::Update);
    assert_eq!(short(&made), [(Update, 0, 0, 15, 3), (Update, 0, 40, 50, 4)]);
    assert_eq!((made.rows[0].0, made.out.tally.removed, it.state_rows()), (2, 1, 1));
    let made = run(&mut it, &[], 15, END, OutputMode::Update);
    assert_eq!((made.rows.len(), made.out.tally.removed), (0, 1));

    let mut it = sessions(SessionLate::Event);
    run(&mut it, &[(1, 40, 1, 1)], 100, 100, OutputMode::Complete);
    let made = run(&mut it, &[(2, 0, 1, 2)], 100, END, OutputMode::Complete);
    assert_eq!(short(&made), [(Complete, 0, 0, 10, 2), (Complete, 0, 40, 50, 1)]);
    assert_eq!((made.judged().len(), it.state_rows()), (0, 2));
}

#[test]
fn in_complete_mode_a_row_is_late_only_where_it_is_judged_before_it_is_merged() {
    for (late, counted) in
        [(SessionLate::Event, 3), (SessionLate::Merged, 3), (SessionLate::Proto, 2)]
    {
        let mut it = sessions(late);
        let of = [(1, 0, 1, 1), (2, 95, 1, 2), (3, 93, 1, 4)];
        let made = run(&mut it, &of, 100, 100, OutputMode::Complete);
        assert_eq!(made.judged().len(), 3 - counted, "{late:?}");
        assert_eq!(made.out.tally.removed, 0, "nothing leaves");
    }
}

#[test]
fn times_and_gaps_at_the_ends_of_their_ranges_are_taken() {
    for late in [SessionLate::Event, SessionLate::Proto, SessionLate::Merged] {
        let gap = Gap::Column(VALUE);
        let lateness = Span(Span::LEGAL);
        let plan = SessionPlan { gap, lateness, max_span: Some(Span(END)), ..plan(late) };
        let mut it = Sessions::new(&plan, Span(END));
        let far = 2 * EventTime::LEGAL;
        let of = [(1, -far, 1, END), (2, far, 1, END), (3, -far, 2, 1), (4, i64::MIN, 2, 1)];
        let made = run(&mut it, &of, NEVER + 1, NEVER + 1, Append);
        assert_eq!((made.judged().len(), made.rows.len(), it.state_rows()), (1, 1, 2), "{late:?}");
        let made = run(&mut it, &of, END, END, Append);
        assert_eq!((made.judged().len(), it.state_rows()), (4, 0), "{late:?}");
    }
}

#[test]
fn a_saved_state_fits_its_own_plan_only() {
    let mut it = sessions(SessionLate::Event);
    run(&mut it, &[(1, 0, 1, 1)], NEVER, NEVER, Append);
    assert!(it.fit(&plan(SessionLate::Proto), Span(0)).is_err());
    assert!(it.fit(&plan(SessionLate::Event), Span(1)).is_err());
    let mut saved = it.save();
    let read = |it: &saved::Saved| {
        postcard::from_bytes::<Sessions>(&postcard::to_allocvec(it).expect("plain data"))
    };
    assert_eq!(read(&saved), Ok(it));
    saved.due.clear();
    assert!(read(&saved).is_err(), "a session without its place");
}
