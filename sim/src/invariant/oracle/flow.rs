//! I41, I42, I43 for flows: the system agrees with the oracle of flows, after every item.
//!
//! I43: steps, the value that removes, c of the first mark and W. I42: fates, ignored items, counters
//! of steps and stages, remarks. I41: what the last stage writes, as a multiset per step. Not compared
//! are bounds that judged nobody, bounds of stateless stages, how much state was touched, and ids of
//! rows that no single row caused.
//!
//! Invariant: only what the law on flows fixes is compared.

use super::super::Observation;
use super::text;
use crate::oracle::flow::{
    EmissionExpected, FlowFate, FlowOracle, FlowStep, FlowVerdict, RemarkExpected, StageExpected,
};
use crate::trace::Trace;
use plimsoll_engine::output::{
    EmissionKind, Fate, Output, Remark, RemarkKind, RowRecord, StageRecord, StepRecord,
};
use plimsoll_engine::row::{ColumnKind, ColumnSpec, Schema};
use plimsoll_engine::time::EventTime;

/// I43: the first thing that differs.
pub(super) fn candidate(oracle: &FlowOracle, seen: &Observation<'_>) -> Option<String> {
    let (expected, found) = (&oracle.expected().steps, &seen.output.steps);
    let view = &seen.view;
    let after = [
        ("candidate", oracle.candidate(), view.candidate),
        ("watermark", Some(oracle.watermark()), view.watermark),
    ];
    expected
        .iter()
        .zip(found)
        .find_map(|(ours, theirs)| step(ours, theirs))
        .or_else(|| differ("steps of this item", expected.len() as u64, found.len() as u64))
        .or_else(|| {
            after.into_iter().find_map(|(what, ours, theirs)| {
                times(&format!("{what} after the item"), ours?, theirs)
            })
        })
        .or_else(|| {
            let (ours, theirs) = (oracle.stopped(), view.stopped);
            (ours != theirs).then(|| format!("query stopped: expected {ours}, found {theirs}"))
        })
}

fn step(ours: &FlowStep, theirs: &StepRecord) -> Option<String> {
    let at = ours.step;
    if ours.kind != theirs.kind {
        return Some(format!(
            "kind of step {at}: expected {:?}, found {:?}",
            ours.kind, theirs.kind
        ));
    }
    differ("step number", at, theirs.step)
        .or_else(|| {
            let (ours, theirs) = (ours.now.0, theirs.now.0);
            (ours != theirs).then(|| {
                format!("clock of step {at}: expected {ours}, found {theirs} milliseconds")
            })
        })
        .or_else(|| times(&format!("what removes in step {at}"), ours.evict?, theirs.evict))
        .or_else(|| times(&format!("watermark after step {at}"), ours.watermark, theirs.watermark))
        .or_else(|| times(&format!("candidate after step {at}"), ours.candidate?, theirs.candidate))
        .map(|it| {
            let marks = ours.marks.iter();
            let marks = marks.map(|(c, w)| format!("c {} w {}", text::time(*c), text::time(*w)));
            format!("{it}; marks expected: {}", marks.collect::<Vec<_>>().join(", "))
        })
}

/// I42: the first thing that differs.
pub(super) fn verdict(oracle: &FlowOracle, seen: &Observation<'_>) -> Option<String> {
    let expected = oracle.expected();
    let output = seen.output;
    let mut records = output.records.clone();
    records.sort_by_key(|it| it.id);
    rows(&expected.verdicts, &records)
        .or_else(|| super::verdict::ignored(&expected.ignored, &output.ignored))
        .or_else(|| {
            let (ours, theirs) = (oracle.arrivals_queued(), seen.view.arrivals_queued);
            differ("rows and heartbeats that wait", ours, theirs)
        })
        .or_else(|| {
            expected
                .steps
                .iter()
                .zip(&output.steps)
                .find_map(|(ours, theirs)| counts(ours, theirs).or_else(|| stages(ours, output)))
        })
        .or_else(|| remarks(&expected.remarks, &output.remarks))
}

fn rows(verdicts: &[FlowVerdict], records: &[RowRecord]) -> Option<String> {
    let mut verdicts = verdicts.to_vec();
    verdicts.sort_by_key(|it| it.id);
    let unexpected = |it: &RowRecord| {
        let RowRecord { id, step, fate, .. } = it;
        format!("row {}: no step of this item takes it, found {fate:?} in step {step}", id.0)
    };
    let mut left = records;
    for verdict in &verdicts {
        let own = match left.first() {
            Some(it) if it.id < verdict.id => return Some(unexpected(it)),
            Some(it) if it.id == verdict.id => {
                left = &left[1..];
                Some(it)
            }
            _ => None,
        };
        if let Some(different) = row(verdict, own) {
            return Some(different);
        }
    }
    left.first().map(unexpected)
}

fn row(verdict: &FlowVerdict, record: Option<&RowRecord>) -> Option<String> {
    let agrees = match (verdict.fate, record.map(|it| it.fate)) {
        (FlowFate::Counted, None)
        | (FlowFate::CountedNotAdvancing, Some(Fate::CountedNotAdvancing))
        | (FlowFate::Guarded, Some(Fate::Guarded))
        | (FlowFate::NoTime, Some(Fate::NoTime))
        | (FlowFate::TimeOutOfRange, Some(Fate::TimeOutOfRange))
        | (FlowFate::NoWindow, Some(Fate::NoWindow))
        | (FlowFate::NoGap, Some(Fate::NoGap))
        | (FlowFate::Filtered, Some(Fate::Filtered))
        | (FlowFate::AfterFinish, Some(Fate::AfterFinish))
        | (FlowFate::NotApplicable, Some(Fate::NotApplicable)) => true,
        (FlowFate::Duplicate { of: ours }, Some(Fate::Duplicate { of: theirs })) => ours == theirs,
        (FlowFate::Late { time, bound, lost, kept }, Some(Fate::Late(it))) => {
            time == it.time
                && bound == it.in_force.watermark
                && (lost, kept) == (it.windows_lost.into(), it.windows_kept.into())
        }
        _ => false,
    };
    let stopped = verdict.fate == FlowFate::NotApplicable;
    let place = record
        .is_none_or(|it| it.partition == verdict.partition && (it.step == verdict.step || stopped));
    if agrees && place {
        return None;
    }
    let theirs = record.map_or_else(
        || "counted (no record)".to_owned(),
        |it| format!("step {}: {:?}", it.step, it.fate),
    );
    let FlowVerdict { id, step, fate, .. } = verdict;
    Some(format!("row {}: expected step {step}: {fate:?}; found {theirs}", id.0))
}

fn counts(ours: &FlowStep, theirs: &StepRecord) -> Option<String> {
    let at = ours.step;
    differ(&format!("rows handed to step {at}"), ours.rows_in, theirs.rows_in)
        .or_else(|| {
            differ(&format!("rows dropped in step {at}"), ours.rows_dropped, theirs.rows_dropped)
        })
        .or_else(|| {
            let what = format!("windows missed in step {at}");
            differ(&what, ours.windows_missed, theirs.windows_missed)
        })
}

fn stages(ours: &FlowStep, output: &Output) -> Option<String> {
    let theirs: Vec<_> = output.stages.iter().filter(|it| it.step == ours.step).collect();
    let at = ours.step;
    let expected = ours.stages.len() as u64;
    differ(&format!("records of stages of step {at}"), expected, theirs.len() as u64).or_else(
        || {
            let mut pairs = ours.stages.iter().zip(theirs).enumerate();
            pairs.find_map(|(n, (ours, theirs))| {
                let found = stage(ours, theirs)
                    .or_else(|| differ("position", n as u64, theirs.stage as u64));
                found.map(|it| format!("step {at}, stage {n}: {it}"))
            })
        },
    )
}

fn stage(ours: &StageExpected, theirs: &StageRecord) -> Option<String> {
    let bound = |what: &str, ours: [Option<EventTime>; 2], theirs: [EventTime; 2]| {
        let mut sides = ours.iter().zip(theirs).enumerate();
        sides.find_map(|(side, (ours, theirs))| {
            times(&format!("{what} on side {side}"), (*ours)?, theirs)
        })
    };
    let bounds = || {
        bound("what judges", ours.late, theirs.late)
            .or_else(|| bound("what removes", ours.evict, theirs.evict))
    };
    let counts = [
        ("rows in", ours.rows_in, theirs.rows_in),
        ("rows out", ours.rows_out, theirs.rows_out),
        ("removed", ours.removed, theirs.removed),
        ("rows dropped", ours.rows_dropped, theirs.rows_dropped),
        ("groups dropped", ours.groups_dropped, theirs.groups_dropped),
        ("duplicates", ours.duplicates, theirs.duplicates),
        ("state rows", ours.state_rows, theirs.state_rows),
    ];
    bounds().or_else(|| counts.into_iter().find_map(|(what, a, b)| differ(what, a, b)))
}

/// Every certain remark was made, and none that is not true.
fn remarks(ours: &[RemarkExpected], theirs: &[Remark]) -> Option<String> {
    let mut left = ours.to_vec();
    for it in theirs {
        // Between stages ids may differ: what is certain comes first.
        let same = left.iter().enumerate().filter(|ours| is_same(ours.1, it));
        let same = same.min_by_key(|(_, ours)| (ours.kind != it.kind, !ours.certain));
        match same.map(|it| it.0) {
            Some(at) => _ = left.remove(at),
            None => return Some(format!("nothing is contradicted: {it:?}; expected {ours:?}")),
        }
    }
    let missing = left.iter().find(|it| it.certain)?;
    Some(format!("not remarked: {missing:?}; found {theirs:?}"))
}

fn is_same(ours: &RemarkExpected, theirs: &Remark) -> bool {
    if (ours.step, ours.stage) != (theirs.step, theirs.stage) {
        return false;
    }
    if ours.known {
        return ours.id == theirs.id && ours.kind == theirs.kind;
    }
    match (ours.kind, theirs.kind) {
        (RemarkKind::SessionSplit { .. }, _) => ours.kind == theirs.kind,
        (a, b) => std::mem::discriminant(&a) == std::mem::discriminant(&b),
    }
}

/// I41: the first thing that differs.
pub(super) fn emissions(
    oracle: &FlowOracle,
    schema: &Schema,
    seen: &Observation<'_>,
) -> Option<String> {
    let mut ours = oracle.expected().emissions.clone();
    let written = &seen.output.emissions;
    if written.rows.len() != written.notes.len() {
        let (rows, notes) = (written.rows.len(), written.notes.len());
        return Some(format!("{rows} rows written, with {notes} notes"));
    }
    let theirs = written.notes.iter().enumerate().map(|(at, note)| EmissionExpected {
        step: note.step,
        kind: note.kind,
        time: note.time,
        pane: note.pane,
        cells: written.rows.columns.iter().map(|it| it.get(at)).collect(),
    });
    let mut theirs: Vec<_> = theirs.collect();
    ours.sort_unstable();
    theirs.sort_unstable();
    let common = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
    let show = |it: &EmissionExpected| emission(it, schema, seen.trace);
    match (ours.get(common), theirs.get(common)) {
        (None, None) => None,
        (Some(a), None) => Some(format!("expected {}, found nothing", show(a))),
        (None, Some(b)) => Some(format!("expected nothing, found {}", show(b))),
        (Some(a), Some(b)) => Some(format!("expected {}, found {}", show(a), show(b))),
    }
}

fn emission(it: &EmissionExpected, schema: &Schema, trace: &Trace) -> String {
    let cell = |(cell, column): (&Option<i64>, _)| {
        let column: &ColumnSpec = column;
        let value = match (*cell, column.kind) {
            (None, _) => "-".to_owned(),
            (Some(it), ColumnKind::Time) => text::time(EventTime(it)),
            (Some(it), ColumnKind::Integer) => it.to_string(),
            (Some(it), ColumnKind::Text) => {
                trace.dictionary.text(it).map_or_else(|| format!("#{it}"), str::to_owned)
            }
        };
        format!("{}={value}", column.name)
    };
    let cells: Vec<_> = it.cells.iter().zip(&schema.columns).map(cell).collect();
    let EmissionExpected { step, kind, time, pane, .. } = it;
    let (cells, time) = (cells.join(" "), text::time(*time));
    let pane =
        if matches!(kind, EmissionKind::Row) { String::new() } else { format!(" pane {pane}") };
    format!("{} {cells} ({}{pane} at {time})", format_args!("step {step}:"), kind.word())
}

fn differ(what: &str, ours: u64, theirs: u64) -> Option<String> {
    (ours != theirs).then(|| format!("{what}: expected {ours}, found {theirs}"))
}

fn times(what: &str, ours: EventTime, theirs: EventTime) -> Option<String> {
    let (a, b) = (text::time(ours), text::time(theirs));
    (ours != theirs).then(|| format!("{what}: expected {a}, found {b}"))
}
