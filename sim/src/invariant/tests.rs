//! Each check: a run of the engine that is right, and the same run with one thing changed.

mod doctored;
mod restart;

use super::*;
use crate::run::Run;
use crate::trace::parse::parse;
use doctored::{Doctor, Doctored, Shown};
use plimsoll_engine::output::{Completeness, Fate, Firing, StepKind};
use plimsoll_engine::time::EventTime;
use plimsoll_engine::watermark::member::MemberState;

/// The first violation of one check, or of all where none is named.
fn first(trace: &Trace, only: Option<&str>, doctor: Doctor<'_>) -> Option<Violation> {
    let mut checks = for_trace(trace);
    if let Some(name) = only {
        let skipped = checks.skipped.iter().find(|it| it.name == name);
        assert_eq!(skipped, None, "the plan should allow the check");
        checks.active.retain(|it| it.name() == name);
        assert_eq!(checks.active.len(), 1, "{name}");
    }
    let mut system = Doctored::new(trace, doctor);
    let mut run = Run::new(trace, &mut system, false);
    while let Some(seen) = run.step() {
        let looked = checks.observe(&seen.expect("no crash here"));
        if looked.is_err() {
            return looked.err();
        }
    }
    None
}

/// The run is right as it is, and breaks this check at this item once the doctor has been there.
fn trips(name: &str, at: u64, text: &str, mut doctor: impl FnMut(&mut Output, &mut Shown)) {
    let trace = parse(text).expect(text).trace;
    assert_eq!(first(&trace, None, &mut |_, _| {}), None, "{text}");
    let broken = first(&trace, Some(name), &mut doctor).unwrap_or_else(|| panic!("{name}: {text}"));
    assert_eq!((broken.name, broken.at.0), (name, at), "{}", broken.evidence);
    assert!(!broken.evidence.is_empty());
}

/// The check does not run under this plan.
fn skipped(name: &str, plan: &str) {
    let trace = parse(plan).expect(plan).trace;
    let checks = for_trace(&trace);
    assert!(checks.skipped.iter().any(|it| it.name == name), "{name} runs under {plan}");
}

/// Item 2 closes a window with one row, item 3 is late for it, item 4 closes the next.
const ROWS: &str = "plan delay=2min effective=row trigger=row
row p0 10:08:30 k=a v=1
row p0 10:12:00 k=a v=1
row p1 10:09:55 k=a v=1
row p0 10:22:00 k=b v=1
end";

/// The same in batches; windows close one batch later.
const BATCHES: &str = "plan delay=2min
row p0 10:08:30 k=a v=1
row p0 10:12:00 k=b v=1
batch
row p1 10:09:55 k=a v=1
row p0 10:22:00 k=b v=1
batch
batch
end";

/// Two windows of ten minutes hold each row.
const SLIDING: &str = "plan window=sliding(10min,5min) delay=0s effective=row trigger=row
row p0 10:03:00 k=a v=1
row p0 10:07:00 k=a v=1
row p0 10:12:00 k=a v=1
row p0 10:06:00 k=a v=1
end";

const PARTITIONS: &str = "plan delay=0s watermark=partition idle=1min effective=row trigger=row
row p0 10:00:00 k=a v=1
row p1 10:05:00 k=a v=1
tick +61s
row p1 10:20:00 k=a v=1
row p0 10:21:00 k=a v=1";

#[test]
fn every_check_has_one_name_and_one_place() {
    let names: std::collections::BTreeSet<_> = names().collect();
    assert_eq!(names.len(), ALL.len() + FLOWS.len());
    assert_eq!(names.len(), 33);
    assert!(OF_FLOWS_TOO.iter().all(|it| names.contains(it)));
}

#[test]
fn i1_sees_a_watermark_that_falls() {
    trips(watermark::MONOTONE, 4, ROWS, |_, shown| {
        if shown.call == 4 {
            shown.view.watermark = EventTime(0);
        }
    });
}

#[test]
fn i2_sees_a_watermark_that_nothing_justifies() {
    trips(watermark::JUSTIFIED, 2, ROWS, |out, shown| {
        if shown.call == 2 {
            out.steps[0].watermark.0 += 1;
        }
    });
    skipped(watermark::JUSTIFIED, "plan watermark=none output=update");
}

#[test]
fn i3_sees_a_window_that_is_not_written_and_one_that_is_written_early() {
    trips(closing::FIRES, 2, ROWS, |out, shown| {
        if shown.call == 2 {
            out.firings.clear();
        }
    });
    let mut kept: Option<Firing> = None;
    trips(closing::FIRES, 3, ROWS, |out, shown| match shown.call {
        2 => kept = out.firings.first().cloned(),
        3 => {
            let mut early = kept.take().expect("the second row closed a window");
            early.window.start.0 += 600_000;
            early.window.end.0 += 600_000;
            out.firings.push(early);
        }
        _ => {}
    });
    trips(closing::FIRES, 2, ROWS, |_, shown| {
        if shown.call == 2 {
            shown.view.oldest_end = Some(EventTime(36_000_000));
        }
    });
    skipped(closing::FIRES, "plan output=complete");
}

#[test]
fn i4_sees_a_window_that_is_written_again_and_a_row_for_one_that_has_closed() {
    let mut kept = None;
    trips(closing::RESURRECTION, 4, ROWS, |out, shown| {
        if shown.call == 4 {
            out.firings.extend(kept.take());
        } else if shown.call == 2 {
            kept = out.firings.first().cloned();
        }
    });
    trips(closing::RESURRECTION, 3, ROWS, |out, _| out.records.clear());
}

#[test]
fn i5_sees_a_row_that_is_admitted_into_a_window_that_was_evicted() {
    let text = SLIDING.replace("sliding(10min,5min)", "sliding(10min,5min) late=window_end");
    trips(closing::LIVE, 4, &text, |out, _| out.records.clear());
}

#[test]
fn i6_sees_rows_judged_by_less_than_what_closed_and_by_more_than_is_in_force() {
    trips(watermark::INTERLOCK, 6, BATCHES, |out, shown| {
        if shown.call == 6 {
            out.steps[0].evict.0 += 1;
        }
    });
    trips(watermark::INTERLOCK, 4, ROWS, |out, shown| {
        if shown.call == 4 {
            out.steps[0].late.0 -= 1;
        }
    });
    trips(watermark::INTERLOCK, 3, ROWS, |out, _| {
        for record in &mut out.records {
            if let Fate::Late(late) = &mut record.fate {
                late.in_force.watermark.0 += 1;
            }
        }
    });
}

#[test]
fn i7_and_i8_see_a_candidate_that_is_not_the_minimum() {
    trips(combined::MINIMUM, 2, PARTITIONS, |_, shown| {
        if shown.call == 2 {
            shown.view.candidate.0 += 1;
        }
    });
    trips(combined::LOWERS, 4, PARTITIONS, |_, shown| {
        if shown.call == 4 {
            shown.view.candidate.0 -= 1;
        }
    });
    trips(combined::LOWERS, 3, PARTITIONS, |_, shown| {
        if shown.call == 3 {
            shown.view.candidate.0 -= 1;
        }
    });
    trips(combined::LOWERS, 3, PARTITIONS, |out, shown| {
        if shown.call == 3 {
            out.steps[0].candidate = EventTime::MAX;
        }
    });
    trips(combined::LOWERS, 4, ROWS, |out, shown| {
        if shown.call == 4 {
            out.steps[0].candidate = EventTime(0);
        }
    });
    skipped(combined::MINIMUM, ROWS);
}

#[test]
fn i12_sees_a_row_that_is_in_too_few_windows() {
    let mut kept = None;
    trips(conservation::SLIDING, 5, SLIDING, |out, shown| {
        if shown.call == 2 {
            kept = out.firings.first().map(|it| it.groups.clone());
        } else if shown.call == 5 {
            out.firings[0].groups = kept.take().expect("the second row closed a window");
            out.firings[1].groups = out.firings[0].groups.clone();
        }
    });
    trips(conservation::SLIDING, 4, SLIDING, |out, _| {
        for record in &mut out.records {
            if let Fate::Late(late) = &mut record.fate {
                (late.windows_lost, late.windows_kept) = (1, 1);
            }
        }
    });
    skipped(conservation::SLIDING, ROWS);
}

#[test]
fn i13_sees_a_window_that_is_written_twice_in_a_step() {
    trips(writing::ONCE, 2, ROWS, |out, _| {
        let again = out.firings.first().cloned();
        out.firings.extend(again);
    });
}

#[test]
fn i14_sees_a_row_without_a_fate_one_with_two_and_a_figure_that_lost_one() {
    let text = ROWS.replace("row p1 10:09:55", "row p1 -");
    trips(conservation::CONSERVATION, 3, &text, |out, _| out.records.clear());
    trips(conservation::CONSERVATION, 3, ROWS, |out, _| {
        let again = out.records.first().copied();
        out.records.extend(again);
    });
    let mut kept = None;
    let text = ROWS.replace("row p1 10:09:55", "row p0 10:11:00");
    trips(conservation::CONSERVATION, 4, &text, |out, shown| {
        if shown.call == 2 {
            kept = out.firings.first().map(|it| it.groups.clone());
        } else if shown.call == 4 {
            out.firings[0].groups = kept.take().expect("the second row closed a window");
        }
    });
}

#[test]
fn i19_sees_an_update_that_is_lost_and_one_that_is_none() {
    let text = ROWS.replace("plan ", "plan output=update ");
    trips(writing::UPDATE, 2, &text, |out, shown| {
        if shown.call == 2 {
            out.firings.clear();
        }
    });
    let mut kept = None;
    let rows = text.replace("10:12:00", "10:08:31");
    trips(writing::UPDATE, 2, &rows, |out, shown| {
        if shown.call == 1 {
            kept = out.firings.first().map(|it| it.groups.clone());
        } else if let Some(groups) = kept.take() {
            out.firings[0].groups = groups;
        }
    });
}

#[test]
fn i20_sees_what_complete_mode_lets_go() {
    let text = BATCHES.replace("plan ", "plan output=complete ");
    trips(writing::COMPLETE, 3, &text, |out, shown| {
        if shown.call == 3 {
            out.firings.pop();
        }
    });
    trips(writing::COMPLETE, 6, &text, |out, shown| {
        if shown.call == 6 {
            out.steps[0].groups_removed = 1;
        }
    });
    trips(writing::COMPLETE, 7, &text, |_, shown| {
        if shown.call == 7 {
            shown.view.groups = Some(1);
        }
    });
}

#[test]
fn i29_sees_a_dropped_row_that_leaves_something() {
    trips(inert::DROPPED, 3, ROWS, |out, shown| {
        if shown.call == 3 {
            out.steps[0].candidate.0 += 1;
        }
    });
    trips(inert::DROPPED, 3, ROWS, |_, shown| {
        if shown.call == 3 {
            shown.view.groups = Some(9);
        }
    });
    let mut kept = None;
    trips(inert::DROPPED, 3, ROWS, |out, shown| {
        if shown.call == 2 {
            kept = out.firings.first().cloned();
        } else {
            out.firings.extend(kept.take());
        }
    });
    skipped(inert::DROPPED, PARTITIONS);
}

#[test]
fn i32_sees_an_end_that_leaves_state_and_a_row_that_is_judged_after_its_last_word() {
    trips(ending::ENDS, 5, ROWS, |out, shown| {
        if shown.call == 5 {
            out.steps.retain(|it| it.kind != StepKind::End);
        }
    });
    trips(ending::ENDS, 5, ROWS, |_, shown| {
        if shown.call == 5 {
            shown.view.groups = Some(1);
        }
    });
    let text = ROWS.replace("row p1 10:09:55", "finish p0\nrow p0 10:09:55");
    trips(ending::ENDS, 4, &text, |out, shown| {
        if shown.call == 4 {
            out.records.clear();
        }
    });
    let text = format!("{ROWS}\nrow p0 10:30:00 k=a v=1");
    trips(ending::ENDS, 6, &text, |out, shown| {
        if shown.call == 6 {
            out.records.clear();
        }
    });
}

#[test]
fn i33_sees_a_figure_that_hides_its_dropped_rows() {
    // The row of 10:11 is late at 10:12, in a window that is still open.
    let text = ROWS.replace("delay=2min", "delay=0s").replace("10:09:55", "10:11:00");
    trips(note::DROPPED, 4, &text, |out, _| {
        for firing in &mut out.firings {
            firing.note.rows_dropped = 0;
        }
    });
}

#[test]
fn i34_sees_a_figure_that_calls_itself_complete_too_soon() {
    trips(note::KNOWN, 2, ROWS, |out, _| {
        for firing in &mut out.firings {
            firing.note.completeness = Completeness::Known;
        }
    });
    let idle = format!("{PARTITIONS}\nend");
    trips(note::KNOWN, 6, &idle, |out, _| {
        for firing in &mut out.firings {
            firing.note.idle_excluded = false;
            if firing.note.watermark == EventTime::MAX {
                firing.note.completeness = Completeness::Known;
            }
        }
    });
}

#[test]
fn i37_sees_a_partition_that_is_idle_too_soon_and_one_that_is_not() {
    trips(silence::IDLE, 2, PARTITIONS, |_, shown| {
        if shown.call == 2 {
            shown.members[1].state = MemberState::Idle;
        }
    });
    trips(silence::IDLE, 3, PARTITIONS, |_, shown| {
        if shown.call == 3 {
            shown.members[0].state = MemberState::Active;
        }
    });
    skipped(silence::IDLE, ROWS);
}

#[test]
fn i38_sees_a_row_from_the_future_that_moves_something() {
    let text = "plan delay=0s guard=count(1h) clock=10:00:00 effective=row trigger=row
row p0 10:00:00 k=a v=1
row p0 12:00:00 k=a v=1";
    trips(inert::GUARDED, 2, text, |_, shown| {
        if shown.call == 2 {
            shown.view.candidate = EventTime(12 * 3_600_000);
        }
    });
    trips(inert::GUARDED, 2, text, |_, shown| {
        if shown.call == 2 {
            shown.members[0].max = EventTime(12 * 3_600_000);
        }
    });
    skipped(inert::GUARDED, ROWS);
}

#[test]
fn i40_sees_counters_and_gauges_that_are_wrong() {
    type Change = fn(&mut plimsoll_engine::output::StepRecord);
    let changes: [Change; 7] = [
        |it| it.rows_in += 1,
        |it| it.rows_counted += 1,
        |it| it.rows_dropped = 0,
        |it| it.windows_missed = 0,
        |it| it.event_time_rows = 0,
        |it| it.event_time_sum += 1,
        |it| it.groups_removed += 1,
    ];
    for change in changes {
        trips(counters::COUNTERS, 3, ROWS, |out, shown| {
            if shown.call == 3 {
                out.steps.iter_mut().for_each(change);
            }
        });
    }
    trips(counters::COUNTERS, 1, ROWS, |_, shown| shown.view.groups = Some(2));
}
