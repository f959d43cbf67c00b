//! The watermark: it never falls (I1), data and clock justify it (I2), and rows are judged by no less
//! than what closed before and by no more than what is in force (I6).
//!
//! I2 is read for all plans at once: w <= max(initial, largest event time that may move it - d, and
//! with a fallback the clock - f); +inf only after the end of input, or once all had finished. I6 is
//! not compared where no row was judged: then no bound was used.
//!
//! A restart that loses the watermark begins anew: nothing is remembered of what was before it. I2 goes
//! on, since what was seen once justifies the less.
//!
//! Invariant: one value of each kind is remembered, nothing else.

use super::past::{Past, Scope};
use super::words::time;
use super::{Invariant, Observation};
use plimsoll_engine::output::{Fate, StepKind};
use plimsoll_engine::plan::OutputMode;
use plimsoll_engine::plan::restore::Memory;
use plimsoll_engine::time::EventTime;

/// I1.
pub const MONOTONE: &str = "I1 watermark_monotone";
/// I2.
pub const JUSTIFIED: &str = "I2 watermark_justified";
/// I6.
pub const INTERLOCK: &str = "I6 bounds_interlock";

pub(super) fn monotone(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    let bounds = scope.linked && scope.mode != OutputMode::Complete;
    let least = EventTime::MIN;
    let highest = [least; 5];
    // Over levels there is no one candidate: that of the lines differ by their delays.
    let candidate = scope.flow.as_ref().is_none_or(|it| it.flow.levels.is_none());
    Ok(Box::new(Monotone { bounds, candidate, highest }))
}

#[derive(Debug)]
struct Monotone {
    bounds: bool,
    candidate: bool,
    highest: [EventTime; 5],
}

const WHAT: [&str; 5] = [
    "the watermark after a step",
    "the watermark in force",
    "the running maximum of the candidate",
    "the watermark that judges rows",
    "the watermark that closes windows",
];

impl Monotone {
    #[inline]
    fn rises(&mut self, which: usize, to: EventTime) -> Result<(), String> {
        let from = std::mem::replace(&mut self.highest[which], to);
        if from <= to { Ok(()) } else { Err(fell(which, from, to)) }
    }
}

#[cold]
fn fell(which: usize, from: EventTime, to: EventTime) -> String {
    let what = WHAT[which];
    format!("{what} never falls: expected at least {}, found {}", time(from), time(to))
}

impl Invariant for Monotone {
    fn name(&self) -> &'static str {
        MONOTONE
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        if past.watermark_lost() {
            self.highest = [EventTime::MIN; 5];
        }
        // The marks of a flow begin anew with what they have seen.
        if past.scope.flow.is_some() && past.lost.maxima == Memory::Lost {
            self.highest[2] = EventTime::MIN;
        }
        for record in &seen.output.steps {
            self.rises(0, record.watermark)?;
            if self.bounds {
                if 0 < record.rows_in {
                    self.rises(3, record.late)?;
                }
                self.rises(4, record.evict)?;
            }
        }
        self.rises(1, seen.view.watermark)?;
        if self.candidate { self.rises(2, seen.view.candidate_max) } else { Ok(()) }
    }
}

pub(super) fn justified(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    if !scope.watermark {
        return Err("a watermark");
    }
    let clock = EventTime::MIN;
    Ok(Box::new(Justified { clock, finished: false }))
}

#[derive(Debug)]
struct Justified {
    /// The most that the wall clock has allowed so far.
    clock: EventTime,
    /// Whether all had finished at some evaluation, or the input has ended.
    finished: bool,
}

impl Invariant for Justified {
    fn name(&self) -> &'static str {
        JUSTIFIED
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        let scope = &past.scope;
        for (record, facts) in seen.output.steps.iter().zip(&past.steps) {
            self.finished |= facts.all_finished;
            if let Some(fallback) = scope.fallback {
                self.clock = self.clock.max(EventTime(record.now.0) - fallback.behind);
            }
            if self.finished {
                continue;
            }
            let most = scope.initial.max(facts.seen - scope.delay).max(self.clock);
            if most < record.watermark {
                return Err(format!(
                    "nothing justifies the watermark: expected at most {} (largest event time {}), \
                     found {} after step {}",
                    time(most),
                    time(facts.seen),
                    time(record.watermark),
                    record.step
                ));
            }
        }
        Ok(())
    }
}

pub(super) fn interlock(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    if !scope.linked || scope.mode == OutputMode::Complete {
        return Err("a watermark that judges rows and closes windows");
    }
    Ok(Box::new(Interlock { watermark: scope.initial, evict: EventTime::MIN }))
}

#[derive(Debug)]
struct Interlock {
    /// Of the step before.
    watermark: EventTime,
    evict: EventTime,
}

impl Invariant for Interlock {
    fn name(&self) -> &'static str {
        INTERLOCK
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        let per_item = past.scope.per_item;
        if past.watermark_lost() {
            (self.watermark, self.evict) = (past.scope.initial, EventTime::MIN);
        }
        for record in &seen.output.steps {
            let in_force = if per_item { record.watermark } else { self.watermark };
            let (step, judged) = (record.step, 0 < record.rows_in);
            if judged && record.late < self.evict {
                let (late, evict) = (time(record.late), time(self.evict));
                return Err(format!(
                    "step {step} judged rows by {late}, less than the {evict} by which windows had \
                     closed before"
                ));
            }
            let ends = record.kind == StepKind::End;
            let most = if judged { record.late.max(record.evict) } else { record.evict };
            if in_force < most && !ends {
                let (in_force, most) = (time(in_force), time(most));
                return Err(format!(
                    "step {step} used a watermark ahead of what is in force: expected at most \
                     {in_force}, found {most}"
                ));
            }
            (self.watermark, self.evict) = (record.watermark, record.evict);
        }
        if seen.output.records.is_empty() {
            return Ok(());
        }
        for record in &seen.output.records {
            let Fate::Late(late) = record.fate else { continue };
            let step = seen.output.steps.iter().find(|it| it.step == record.step);
            let used = late.in_force.watermark;
            let agrees = |it: EventTime| if per_item { used <= it } else { used == it };
            if let Some(step) = step.filter(|it| !agrees(it.late)) {
                let (used, late) = (time(used), time(step.late));
                let id = record.id.0;
                return Err(format!(
                    "row {id} was judged by {used}, its step {} by {late}",
                    step.step
                ));
            }
        }
        Ok(())
    }
}
