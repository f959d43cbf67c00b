//! Rows that must leave no trace: a row from the future never raises a candidate (I38), and a row that
//! was dropped as late changes no state, no output and no maximum (I29).
//!
//! I29 is asserted for steps that took nothing but rows dropped whole, under a global maximum, rules
//! E and W, w_0 = -inf, no wall clock. Not after all had finished: then w is +inf, and a late row of
//! somebody new may well be the largest so far.
//!
//! Invariant: whether a row is from the future is decided here from its arrival, not by its record.

use super::past::{Past, Scope};
use super::words::time;
use super::{Invariant, Observation};
use plimsoll_engine::output::{Fate, StepKind};
use plimsoll_engine::plan::{LateRule, OutputMode};
use plimsoll_engine::time::EventTime;

/// I38.
pub const GUARDED: &str = "I38 guarded_raises_nothing";
/// I29.
pub const DROPPED: &str = "I29 dropped_leaves_nothing";

pub(super) fn guarded(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    if scope.guard.is_none() {
        return Err("a guard that rejects or does not advance");
    }
    Ok(Box::new(Guarded))
}

#[derive(Debug)]
struct Guarded;

impl Invariant for Guarded {
    fn name(&self) -> &'static str {
        GUARDED
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        let candidate = seen.view.candidate;
        if past.seen < candidate && candidate != EventTime::MAX && candidate <= past.guarded {
            return Err(format!(
                "a time from the future raised the candidate to {}; the largest other time is {}",
                time(candidate),
                time(past.seen)
            ));
        }
        for row in &past.rows {
            let Some(future) = row.time.filter(|it| past.scope.from_the_future(*it, row.at)) else {
                continue;
            };
            let members = seen.view.members.iter();
            let mut raised = members.filter(|it| past.seen < it.max && it.max == future);
            if let Some(it) = raised.find(|it| it.partition == row.partition) {
                return Err(format!(
                    "row {} is from the future ({}) and raised the maximum of partition {}",
                    row.id.0,
                    time(future),
                    it.partition.0
                ));
            }
        }
        Ok(())
    }
}

pub(super) fn dropped(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    if !scope.watermark || scope.by_partition {
        return Err("a global maximum");
    }
    if !matches!(scope.late, Some(LateRule::Event | LateRule::WindowEnd)) {
        return Err("late rule E or W");
    }
    if scope.initial != EventTime::MIN || scope.fallback.is_some() {
        return Err("a watermark that starts at -inf and comes from data alone");
    }
    let least = EventTime::MIN;
    Ok(Box::new(Dropped { candidate: least, watermark: least, groups: None }))
}

#[derive(Debug)]
struct Dropped {
    candidate: EventTime,
    watermark: EventTime,
    groups: Option<u64>,
}

impl Invariant for Dropped {
    fn name(&self) -> &'static str {
        DROPPED
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        // Only a step can change the state.
        if seen.output.steps.is_empty() {
            return Ok(());
        }
        let groups = std::mem::replace(&mut self.groups, seen.view.groups);
        let alone = seen.output.steps.len() == 1;
        for (record, facts) in seen.output.steps.iter().zip(&past.steps) {
            let candidate = std::mem::replace(&mut self.candidate, record.candidate);
            let watermark = std::mem::replace(&mut self.watermark, record.watermark);
            let rows = past.rows_of(facts);
            let lost = |fate: &Fate| matches!(fate, Fate::Late(it) if it.windows_kept == 0);
            let fate = |it: u32| &seen.output.records[it as usize].fate;
            if rows.is_empty()
                || 0 < facts.others
                || record.kind == StepKind::End
                || watermark == EventTime::MAX
                || !rows.iter().all(|it| it.record.is_some_and(|it| lost(fate(it))))
            {
                continue;
            }
            let step = record.step;
            if (candidate, watermark) != (record.candidate, record.watermark) {
                return Err(format!(
                    "all rows of step {step} were dropped: expected candidate {} and watermark {} as \
                     before, found {} and {}",
                    time(candidate),
                    time(watermark),
                    time(record.candidate),
                    time(record.watermark)
                ));
            }
            // What a step writes may be due to the step before, except where all is at once.
            let silent = past.scope.mode == OutputMode::Update
                || past.scope.mode == OutputMode::Append && past.scope.per_item;
            if silent && alone && !seen.output.firings.is_empty() {
                let windows = seen.output.firings.len();
                return Err(format!(
                    "all rows of step {step} were dropped: expected no output, found {windows} windows"
                ));
            }
            if let (true, Some(before), Some(after)) = (alone, groups, seen.view.groups) {
                let expected = before.saturating_sub(record.groups_removed);
                if expected != after {
                    return Err(format!(
                        "all rows of step {step} were dropped: expected {expected} groups of state, \
                         found {after}"
                    ));
                }
            }
        }
        Ok(())
    }
}
