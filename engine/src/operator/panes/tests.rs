//! Invariant: every expected row was worked out by hand from the law, not taken from a run.

use super::*;
use crate::operator::grouping::drive::{CAUSE, KEY, Made, TIME, VALUE, pass, rows};
use crate::plan::flow::{HoleRule, PanePlan};
use crate::plan::{LatePolicy, WindowSpec};
use crate::row::{ItemId, PartitionId};
use crate::time::ProcTime;
use EmissionKind::{Complete, Early, Late, OnTime, Retraction, Update};
use OutputMode::Append;

const NEVER: i64 = i64::MIN;
const END: i64 = i64::MAX;

/// Windows [0, 10), [10, 20).. with the sum of the values.
fn plan() -> WindowStage {
    WindowStage {
        time: TIME,
        window: WindowSpec { size: Span(10), slide: Span(10), offset: Span(0) },
        keys: vec![KEY],
        aggregates: vec![Aggregate::Sum(VALUE)],
        late: LateRule::WindowEnd,
        late_policy: LatePolicy::Drop,
        lateness: Span(0),
        panes: PanePlan::TOTALS,
        hole: HoleRule::NoWindow,
    }
}

fn tumbling(lateness: i64) -> Panes {
    Panes::new(&WindowStage { lateness: Span(lateness), ..plan() })
}

fn with_panes(early_rows: Option<u64>, carry: Carry) -> Panes {
    let panes = PanePlan { early_rows, carry };
    Panes::new(&WindowStage { lateness: Span(100), panes, ..plan() })
}

fn sliding(late: LateRule, lateness: i64) -> Panes {
    let window = WindowSpec { size: Span(10), slide: Span(5), offset: Span(0) };
    Panes::new(&WindowStage { window, late, lateness: Span(lateness), ..plan() })
}

/// A pass with these late and evict bounds; rows are (number, time, key, value).
fn run(
    it: &mut Panes,
    of: &[(u64, i64, i64, i64)],
    late: i64,
    evict: i64,
    mode: OutputMode,
) -> Made {
    pass(&rows(of), late, evict, mode, |pass, out| it.step(pass, out), 5)
}

/// Kind, pane, window start, key and sum of each row.
fn short(made: &Made) -> Vec<(EmissionKind, u32, i64, i64, i64)> {
    let cell = |it: Option<i64>| it.unwrap_or(-1);
    made.rows.iter().map(|it| (it.1, it.2, cell(it.3[0]), cell(it.3[3]), cell(it.3[4]))).collect()
}

#[test]
fn a_window_is_written_once_when_the_watermark_reaches_its_end() {
    let mut it = tumbling(0);
    let made = run(&mut it, &[(1, 0, 5, 1), (2, 9, 5, 2), (3, 10, 5, 4)], NEVER, 9, Append);
    assert_eq!((made.rows.len(), made.out.tally.updated, it.state_rows()), (0, 2, 2));
    let made = run(&mut it, &[], 9, 10, Append);
    let expected = (CAUSE.0, OnTime, 0, vec![Some(0), Some(10), Some(9), Some(5), Some(3)]);
    assert_eq!(made.rows, [expected]);
    let note = EmissionNote { step: 3, kind: OnTime, time: EventTime(9), pane: 0 };
    assert_eq!((made.out.notes[0], made.out.tally.removed, it.state_rows()), (note, 1, 1));
    assert!(run(&mut it, &[], 10, 10, Append).rows.is_empty());
}

#[test]
fn windows_come_in_order_of_end_and_then_of_key() {
    let mut it = sliding(LateRule::WindowEnd, 0);
    let made = run(&mut it, &[(1, 7, 2, 1), (2, 3, 9, 1), (3, 7, 1, 1)], NEVER, END, Append);
    let order: Vec<_> = short(&made).iter().map(|it| (it.2, it.3)).collect();
    assert_eq!(order, [(-5, 9), (0, 1), (0, 2), (0, 9), (5, 1), (5, 2)]);
    assert_eq!((made.out.tally.removed, it.state_rows()), (6, 0));
}

#[test]
fn a_row_is_lost_for_its_closed_windows_only_and_they_are_counted_by_group() {
    let mut it = sliding(LateRule::WindowEnd, 0);
    // Windows of 7: [0, 10) is closed at 12, [5, 15) is not; of 3: [-5, 5) and [0, 10).
    let of = [(1, 7, 1, 1), (2, 7, 1, 1), (3, 7, 2, 1), (4, 3, 2, 1)];
    let made = run(&mut it, &of, 12, 12, Append);
    let late = |lost, kept, one, all| StageVerdict::Late {
        bound: EventTime(12),
        lost,
        kept,
        one: EventTime(one),
        all: EventTime(all),
    };
    let verdicts: Vec<_> = made.judged().iter().map(|it| it.verdict).collect();
    assert_eq!(verdicts, [late(1, 1, 9, 9), late(1, 1, 9, 9), late(1, 1, 9, 9), late(2, 0, 9, 4)]);
    // ([0, 10), 1), ([0, 10), 2), ([-5, 5), 2).
    assert_eq!((made.out.tally.rows_dropped, made.out.tally.groups_dropped), (1, 3));
    assert_eq!(it.state_rows(), 2);
}

#[test]
fn the_bounds_of_a_late_verdict_are_the_largest_that_keep() {
    let rules = [LateRule::Event, LateRule::EventInclusive, LateRule::WindowEnd, LateRule::Frame];
    for rule in rules {
        for lateness in [0, 3] {
            let lost_at = |late: i64| {
                let mut it = sliding(rule, lateness);
                let made = run(&mut it, &[(1, 7, 1, 1)], late, late, Append);
                made.judged().first().map(|it| it.verdict)
            };
            let Some(StageVerdict::Late { lost: 2, kept: 0, one, all, bound }) = lost_at(60) else {
                panic!("{rule:?}: late for both windows at 60");
            };
            assert_eq!(bound, EventTime(60));
            let lost = |it: Option<StageVerdict>| match it {
                Some(StageVerdict::Late { lost, .. }) => lost,
                _ => 0,
            };
            assert_eq!(lost(lost_at(all.0)), 0, "{rule:?}: all are kept at {all:?}");
            assert!(0 < lost(lost_at(all.0 + 1)), "{rule:?}: not all are at one more");
            assert!(lost(lost_at(one.0)) < 2, "{rule:?}: one is kept at {one:?}");
            assert_eq!(lost(lost_at(one.0 + 1)), 2, "{rule:?}: none is at one more");
        }
    }
}

#[test]
fn a_row_in_a_hole_is_in_no_window_and_one_without_a_time_neither() {
    let window = WindowSpec { size: Span(4), slide: Span(10), offset: Span(0) };
    let mut it = Panes::new(&WindowStage { window, ..plan() });
    let mut batch = rows(&[(1, 4, 5, 1), (2, 13, 5, 1)]);
    batch.push(ItemId(3), PartitionId(0), ProcTime(0), &[None, Some(5), Some(1)]);
    let made = pass(&batch, 0, 0, Append, |pass, out| it.step(pass, out), 5);
    let judged = |row, verdict| Judged { side: 0, row, verdict };
    let expected = [judged(0, StageVerdict::NoWindow), judged(2, StageVerdict::NoTime)];
    assert_eq!((made.judged(), it.state_rows()), (&expected[..], 1));
}

#[test]
fn a_row_in_a_hole_may_be_late_behind_the_watermark() {
    let window = WindowSpec { size: Span(4), slide: Span(10), offset: Span(0) };
    let hole = HoleRule::LateBehind;
    let mut it = Panes::new(&WindowStage { window, hole, lateness: Span(2), ..plan() });
    let made = run(&mut it, &[(1, 5, 1, 1), (2, 6, 1, 1)], 8, 8, Append);
    let kept = EventTime(7);
    let late = StageVerdict::Late { bound: EventTime(8), lost: 0, kept: 0, one: kept, all: kept };
    let verdicts: Vec<_> = made.judged().iter().map(|it| it.verdict).collect();
    assert_eq!(verdicts, [late, StageVerdict::NoWindow]);
    assert_eq!((made.out.tally.rows_dropped, made.out.tally.groups_dropped), (1, 0));
}

#[test]
fn with_lateness_a_fired_window_waits_and_each_pass_with_a_late_row_writes_it_again() {
    let mut it = tumbling(5);
    run(&mut it, &[(1, 3, 1, 1)], NEVER, 9, Append);
    let made = run(&mut it, &[], 9, 12, Append);
    assert_eq!((short(&made), it.state_rows()), (vec![(OnTime, 0, 0, 1, 1)], 1));
    let made = run(&mut it, &[(2, 4, 1, 2), (3, 4, 1, 4)], 12, 12, Append);
    assert_eq!((short(&made), made.rows[0].0), (vec![(Late, 1, 0, 1, 7)], 3));
    // A key whose first row is that late is written at once, too.
    assert_eq!(short(&run(&mut it, &[(4, 4, 2, 9)], 12, 14, Append)), [(Late, 0, 0, 2, 9)]);
    let made = run(&mut it, &[], 14, 15, Append);
    assert_eq!((made.rows.len(), made.out.tally.removed, it.state_rows()), (0, 2, 0));
    let made = run(&mut it, &[(5, 4, 1, 1)], 15, 15, Append);
    assert_eq!((made.judged().len(), it.state_rows()), (1, 0));
}

#[test]
fn a_late_row_of_a_pass_that_removes_its_window_is_still_written() {
    let mut it = tumbling(5);
    let made = run(&mut it, &[(1, 3, 1, 1)], 12, 50, Append);
    assert_eq!((short(&made), it.state_rows()), (vec![(Late, 0, 0, 1, 1)], 0));
}

#[test]
fn a_late_row_in_the_pass_that_fires_its_window_on_time_is_in_that_pane() {
    let mut it = tumbling(5);
    run(&mut it, &[(1, 3, 1, 1)], 8, 8, Append);
    let made = run(&mut it, &[(2, 4, 1, 2)], 12, 12, Append);
    assert_eq!(short(&made), [(OnTime, 0, 0, 1, 3)]);
    assert_eq!(short(&run(&mut it, &[(3, 4, 1, 4)], 12, 12, Append)), [(Late, 1, 0, 1, 7)]);
}

#[test]
fn after_a_restart_that_forgot_the_watermark_only_a_row_makes_a_window_fire_again() {
    let mut it = tumbling(5);
    run(&mut it, &[(1, 3, 1, 1), (2, 3, 2, 1)], NEVER, 12, Append);
    assert!(run(&mut it, &[(3, 4, 1, 2)], NEVER, NEVER, Append).rows.is_empty());
    let made = run(&mut it, &[], NEVER, 10, Append);
    assert_eq!((short(&made), it.state_rows()), (vec![(OnTime, 1, 0, 1, 3)], 2));
    assert_eq!(run(&mut it, &[], 10, 15, Append).out.tally.removed, 2);
}

#[test]
fn early_panes_come_after_so_many_rows_and_carry_totals() {
    let mut it = with_panes(Some(2), Carry::Accumulating);
    assert!(run(&mut it, &[(1, 1, 1, 1)], 0, 0, Append).rows.is_empty());
    assert_eq!(short(&run(&mut it, &[(2, 1, 1, 2)], 0, 0, Append)), [(Early, 0, 0, 1, 3)]);
    assert!(run(&mut it, &[(3, 1, 1, 4)], 0, 0, Append).rows.is_empty());
    assert!(run(&mut it, &[], 0, 0, Append).rows.is_empty());
    let of = [(4, 1, 1, 8), (5, 1, 1, 16)];
    assert_eq!(short(&run(&mut it, &of, 0, 0, Append)), [(Early, 1, 0, 1, 31)]);
    // On time also without news; late panes need no two rows.
    assert_eq!(short(&run(&mut it, &[], 0, 10, Append)), [(OnTime, 2, 0, 1, 31)]);
    assert_eq!(short(&run(&mut it, &[(6, 1, 1, 32)], 10, 10, Append)), [(Late, 3, 0, 1, 63)]);
}

#[test]
fn discarding_panes_add_up_to_the_total() {
    let mut it = with_panes(Some(1), Carry::Discarding);
    assert_eq!(short(&run(&mut it, &[(1, 1, 1, 1)], 0, 0, Append)), [(Early, 0, 0, 1, 1)]);
    assert_eq!(short(&run(&mut it, &[(2, 1, 1, 2)], 0, 10, Append)), [(OnTime, 1, 0, 1, 2)]);
    assert_eq!(short(&run(&mut it, &[(3, 1, 1, 4)], 10, 10, Append)), [(Late, 2, 0, 1, 4)]);
    // Nothing since: the sum of nothing is null.
    let mut it = with_panes(Some(1), Carry::Discarding);
    run(&mut it, &[(1, 1, 1, 1)], 0, 0, Append);
    assert_eq!(short(&run(&mut it, &[], 0, 10, Append)), [(OnTime, 1, 0, 1, -1)]);
}

#[test]
fn retracting_takes_back_exactly_what_the_last_pane_said() {
    let mut it = with_panes(Some(1), Carry::Retracting);
    assert_eq!(short(&run(&mut it, &[(1, 1, 1, 1)], 0, 0, Append)), [(Early, 0, 0, 1, 1)]);
    let made = run(&mut it, &[(2, 1, 1, 2)], 0, 10, Append);
    assert_eq!(short(&made), [(Retraction, 0, 0, 1, 1), (OnTime, 1, 0, 1, 3)]);
    let made = run(&mut it, &[(3, 1, 1, 4)], 10, 10, Append);
    assert_eq!(short(&made), [(Retraction, 1, 0, 1, 3), (Late, 2, 0, 1, 7)]);
    assert_eq!((made.rows[0].0, made.rows[1].0), (3, 3));
}

#[test]
fn update_writes_what_the_pass_changed_once_and_eviction_writes_nothing() {
    let mut it = tumbling(0);
    let of = [(1, 3, 1, 1), (2, 3, 1, 2), (3, 13, 1, 4)];
    let made = run(&mut it, &of, 5, 10, OutputMode::Update);
    assert_eq!(short(&made), [(Update, 0, 0, 1, 3), (Update, 0, 10, 1, 4)]);
    assert_eq!((made.rows[0].0, made.out.tally.removed, it.state_rows()), (2, 1, 1));
    let made = run(&mut it, &[], 10, 20, OutputMode::Update);
    assert_eq!((made.rows.len(), made.out.tally.removed, it.state_rows()), (0, 1, 0));
}

#[test]
fn complete_writes_everything_and_nothing_is_late_or_leaves() {
    let mut it = tumbling(0);
    run(&mut it, &[(1, 13, 1, 1)], 50, 50, OutputMode::Complete);
    let made = run(&mut it, &[(2, 3, 1, 2)], 50, END, OutputMode::Complete);
    assert_eq!(short(&made), [(Complete, 0, 0, 1, 2), (Complete, 0, 10, 1, 1)]);
    assert_eq!((made.judged().len(), made.out.tally.removed, it.state_rows()), (0, 0, 2));
    assert_eq!((it.asks(OutputMode::Complete), it.asks(Append)), (false, true));
}

#[test]
fn the_end_of_input_closes_all_and_what_passes_is_the_watermark_less_the_lateness() {
    let mut it = tumbling(5);
    run(&mut it, &[(1, 3, 1, 1)], 0, 0, Append);
    assert_eq!(short(&run(&mut it, &[], NEVER, END, Append)), [(OnTime, 0, 0, 1, 1)]);
    assert_eq!((it.state_rows(), it.passes(EventTime(12))), (0, EventTime(7)));
    assert_eq!(it.passes(EventTime::MAX), EventTime::MAX);
}

#[test]
fn times_and_bounds_at_the_ends_of_their_ranges_are_judged() {
    let far = EventTime::LEGAL;
    let window = WindowSpec { size: Span(far), slide: Span(far), offset: Span(far - 1) };
    let rules = [LateRule::Event, LateRule::EventInclusive, LateRule::WindowEnd, LateRule::Frame];
    for late in rules {
        let plan = WindowStage { window, late, lateness: Span(far), ..plan() };
        let mut it = Panes::new(&plan);
        let of =
            [(1, -2 * far, 1, 1), (2, 2 * far, 1, 1), (3, i64::MIN, 1, 1), (4, i64::MAX, 1, 1)];
        let made = run(&mut it, &of, NEVER + 1, NEVER + 1, Append);
        assert_eq!((made.judged().len(), it.state_rows()), (2, 2), "{late:?}: no time");
        run(&mut it, &of, END - 1, NEVER + 1, Append);
        let made = run(&mut it, &of, END, END - 1, Append);
        assert_eq!((made.judged().len(), made.rows.len()), (4, 2), "{late:?}: all late");
        assert_eq!(it.fit(&plan), Ok(()));
    }
}

#[test]
fn a_saved_state_fits_its_own_plan_only() {
    let mut it = with_panes(Some(1), Carry::Retracting);
    run(&mut it, &[(1, 1, 1, 1)], 0, 0, Append);
    let own = it.plan.clone();
    assert_eq!(it.fit(&own), Ok(()));
    assert!(it.fit(&plan()).is_err());
    it.shelves.find(EventTime(10), &Key::One(Some(1))).carried.clear();
    assert!(it.fit(&own).is_err(), "a pane without what it carried");
}
