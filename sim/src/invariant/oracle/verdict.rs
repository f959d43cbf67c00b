//! I42: every row has the fate that the definition gives it, boundary values included.
//!
//! A row without a record was counted into all of its windows; the counts of the step vouch for it.
//! `set_by` is compared only where every row takes effect at once, since the definition fixes it
//! there alone.
//!
//! Invariant: a row is compared once, in the item whose step took it.

use super::text;
use crate::invariant::Observation;
use crate::oracle::{ExpectedFate, ExpectedStep, Lateness, Oracle, Verdict};
use crate::trace::Trace;
use plimsoll_engine::late::LateRow;
use plimsoll_engine::output::{Fate, Ignored, RowRecord, StepRecord};
use plimsoll_engine::plan::Effective;
use std::fmt::Write;

/// The first thing that differs.
pub(super) fn disagreement(oracle: &Oracle, seen: &Observation<'_>) -> Option<String> {
    let expected = oracle.expected();
    let records = &seen.output.records;
    let different = if records.is_sorted_by_key(|it| it.id) {
        rows(seen.trace, &expected.verdicts, records)
    } else {
        let mut records = records.clone();
        records.sort_by_key(|it| it.id);
        rows(seen.trace, &expected.verdicts, &records)
    };
    different
        .or_else(|| ignored(&expected.ignored, &seen.output.ignored))
        .or_else(|| {
            let with_windows = seen.trace.plan.operator.is_some();
            let mut steps = expected.steps.iter().zip(&seen.output.steps);
            steps.find_map(|(ours, theirs)| counts(ours, theirs, with_windows))
        })
        .or_else(|| {
            let (ours, theirs) = (oracle.arrivals_queued(), seen.view.arrivals_queued);
            (ours != theirs)
                .then(|| format!("rows and heartbeats that wait: expected {ours}, found {theirs}"))
        })
}

fn rows(trace: &Trace, verdicts: &[Verdict], records: &[RowRecord]) -> Option<String> {
    let mut left = records;
    for verdict in verdicts {
        let own = match left.first() {
            Some(it) if it.id < verdict.id => return Some(unexpected(it)),
            Some(it) if it.id == verdict.id => {
                left = &left[1..];
                Some(it)
            }
            _ => None,
        };
        if let Some(different) = row(trace, verdict, own) {
            return Some(different);
        }
    }
    left.first().map(unexpected)
}

fn unexpected(record: &RowRecord) -> String {
    let RowRecord { id, step, fate, .. } = record;
    format!("row {}: no step of this item takes it, found {} in step {step}", id.0, found(fate))
}

fn row(trace: &Trace, verdict: &Verdict, record: Option<&RowRecord>) -> Option<String> {
    let agrees = match (&verdict.fate, record.map(|it| &it.fate)) {
        (ExpectedFate::Counted, None)
        | (ExpectedFate::CountedNotAdvancing, Some(Fate::CountedNotAdvancing))
        | (ExpectedFate::Guarded, Some(Fate::Guarded))
        | (ExpectedFate::NoTime, Some(Fate::NoTime))
        | (ExpectedFate::TimeOutOfRange, Some(Fate::TimeOutOfRange))
        | (ExpectedFate::NoWindow, Some(Fate::NoWindow))
        | (ExpectedFate::AfterFinish, Some(Fate::AfterFinish))
        | (ExpectedFate::NotApplicable, Some(Fate::NotApplicable)) => true,
        (ExpectedFate::Late(ours), Some(Fate::Late(theirs))) => late(trace, ours, theirs),
        _ => false,
    };
    let place = record.is_none_or(|it| {
        it.partition == verdict.partition
            && (it.step == verdict.step || verdict.fate == ExpectedFate::NotApplicable)
    });
    if agrees && place {
        return None;
    }
    let whose = |it| trace.partition_text(it);
    let theirs = record.map_or_else(
        || "counted (no record)".to_owned(),
        |it| format!("{} step {}: {}", whose(it.partition), it.step, found(&it.fate)),
    );
    let Verdict { id, partition, step, fate } = verdict;
    let ours = wanted(fate);
    let (id, whose) = (id.0, whose(*partition));
    Some(format!("row {id}: expected {whose} step {step}: {ours}; found {theirs}"))
}

fn late(trace: &Trace, ours: &Lateness, theirs: &LateRow) -> bool {
    let (watermark, operator) = (trace.plan.watermark.as_ref(), trace.plan.operator.as_ref());
    let per_row = watermark.is_some_and(|it| it.effective == Effective::Row);
    let rules =
        operator.is_some_and(|it| it.late == theirs.rule && it.late_policy == theirs.destination);
    rules
        && ours.time == theirs.time
        && ours.lost == u64::from(theirs.windows_lost)
        && ours.kept == u64::from(theirs.windows_kept)
        && ours.watermark == theirs.in_force.watermark
        && ours.candidate == theirs.in_force.candidate
        && (!per_row || ours.set_by == theirs.in_force.set_by)
        && ours.saving.is_none_or(|it| it == theirs.saving)
}

fn counts(ours: &ExpectedStep, theirs: &StepRecord, with_windows: bool) -> Option<String> {
    let pairs = [
        ("rows handed to", ours.rows_in, theirs.rows_in, true),
        ("rows counted in", ours.rows_counted, theirs.rows_counted, with_windows),
        ("rows dropped in", ours.rows_dropped, theirs.rows_dropped, true),
        ("windows missed in", ours.windows_missed, theirs.windows_missed, true),
    ];
    let different = |it: &(&str, u64, u64, bool)| it.3 && it.1 != it.2;
    let (what, ours_n, theirs_n, _) = pairs.into_iter().find(different)?;
    Some(format!("{what} step {}: expected {ours_n}, found {theirs_n}", ours.step))
}

pub(super) fn ignored(ours: &[Ignored], theirs: &[Ignored]) -> Option<String> {
    if ours == theirs {
        return None;
    }
    let (mut ours, mut theirs) = (ours.to_vec(), theirs.to_vec());
    ours.sort_by_key(|it| it.id);
    theirs.sort_by_key(|it| it.id);
    let text = |all: &[Ignored]| {
        let mut text = String::new();
        for it in all {
            _ = write!(text, " item {} ({})", it.id.0, it.why.sentence());
        }
        if text.is_empty() { " none".to_owned() } else { text }
    };
    let differ = || format!("ignored: expected{}; found{}", text(&ours), text(&theirs));
    (ours != theirs).then(differ)
}

fn wanted(fate: &ExpectedFate) -> String {
    let ExpectedFate::Late(it) = fate else { return format!("{fate:?}") };
    let mut text = format!(
        "late, {} behind {} (candidate {}, set by item {}), {} windows lost, {} kept",
        text::time(it.time),
        text::time(it.watermark),
        text::time(it.candidate),
        it.set_by.map_or(0, |it| it.0),
        it.lost,
        it.kept,
    );
    if let Some(saving) = it.saving {
        _ = write!(text, ", {}", text::saving(saving));
    }
    text
}

fn found(fate: &Fate) -> String {
    let Fate::Late(it) = fate else { return format!("{fate:?}") };
    let mut text = format!(
        "late, {} behind {} (candidate {}, set by item {}), {} windows lost, {} kept",
        text::time(it.time),
        text::time(it.in_force.watermark),
        text::time(it.in_force.candidate),
        it.in_force.set_by.map_or(0, |it| it.0),
        it.windows_lost,
        it.windows_kept,
    );
    let saving = text::saving(it.saving);
    _ = write!(text, ", {saving} ({:?}, {:?})", it.rule, it.destination);
    text
}
