//! Counters (I40): every counter of a step record is the count over the records that it summarises,
//! and the gauge of state is what is there.
//!
//! What is there is recomputed from the rows that the records admitted. In long traces with keys that
//! would cost more than the run, so there only the removed groups are compared with those written.
//!
//! Invariant: a counter is compared with records of its own step only.

use super::past::{Past, Scope, StepFacts};
use super::words::time;
use super::{Invariant, Observation};
use plimsoll_engine::output::{Fate, FiringKind, StepRecord};
use plimsoll_engine::plan::OutputMode;
use plimsoll_engine::time::EventTime;

/// I40.
pub const COUNTERS: &str = "I40 counters_agree";

pub(super) fn counters(_: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    Ok(Box::new(Counters))
}

#[derive(Debug)]
struct Counters;

impl Invariant for Counters {
    fn name(&self) -> &'static str {
        COUNTERS
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        for (position, (record, facts)) in seen.output.steps.iter().zip(&past.steps).enumerate() {
            let counted = Counted::of(facts, seen, past);
            counted.compare(record)?;
            if past.scope.mode == OutputMode::Append {
                let firings = seen.output.firings.iter().zip(&past.firings);
                let of_step = firings.filter(|it| it.1.step == position);
                let on_time = of_step.filter(|it| it.0.kind == FiringKind::OnTime);
                let written = on_time.map(|it| it.0.groups.len() as u64).sum();
                same(
                    "groups removed, all of them written,",
                    record,
                    written,
                    record.groups_removed,
                )?;
            }
        }
        match (past.groups(), seen.view.groups) {
            (Some(ours), Some(theirs)) if ours != theirs => Err(format!(
                "the gauge says {theirs} groups of state; the admitted rows make {ours}"
            )),
            _ => Ok(()),
        }
    }
}

/// Counts over the rows of one step.
#[derive(Debug)]
struct Counted {
    rows: u64,
    counted: u64,
    dropped: u64,
    missed: u64,
    timed: u64,
    sum: i128,
    least: EventTime,
    most: EventTime,
}

impl Counted {
    fn of(facts: &StepFacts, seen: &Observation<'_>, past: &Past) -> Self {
        let mut it = Self {
            rows: 0,
            counted: 0,
            dropped: 0,
            missed: 0,
            timed: 0,
            sum: 0,
            least: EventTime::MAX,
            most: EventTime::MIN,
        };
        for row in past.rows_of(facts) {
            it.rows += 1;
            it.counted += u64::from(row.counts);
            it.missed += u64::from(row.lost);
            let fate = row.record.map(|it| &seen.output.records[it as usize].fate);
            it.dropped += u64::from(matches!(fate, Some(Fate::Late(it)) if it.windows_kept == 0));
            let unread =
                matches!(fate, Some(Fate::NoTime | Fate::TimeOutOfRange | Fate::AfterFinish));
            let Some(at) = row.time.filter(|it| it.is_legal() && !unread) else { continue };
            it.timed += 1;
            it.sum += i128::from(at.0);
            it.least = it.least.min(at);
            it.most = it.most.max(at);
        }
        it
    }

    #[inline]
    fn compare(&self, record: &StepRecord) -> Result<(), String> {
        same("rows in", record, self.rows, record.rows_in)?;
        same("rows counted", record, self.counted, record.rows_counted)?;
        same("rows dropped", record, self.dropped, record.rows_dropped)?;
        same("windows missed", record, self.missed, record.windows_missed)?;
        same("rows with an event time", record, self.timed, record.event_time_rows)?;
        let found = (record.event_time_min, record.event_time_max);
        if found != (self.least, self.most) || record.event_time_sum != self.sum {
            return Err(format!(
                "event times of step {}: expected {} to {}, found {} to {}, sums {} and {}",
                record.step,
                time(self.least),
                time(self.most),
                time(found.0),
                time(found.1),
                self.sum,
                record.event_time_sum
            ));
        }
        Ok(())
    }
}

#[inline]
fn same(what: &str, record: &StepRecord, expected: u64, found: u64) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    Err(format!("{what} in step {}: expected {expected}, found {found}", record.step))
}
