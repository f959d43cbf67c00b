//! Alignment: who is far ahead of the others waits for them.
//!
//! A partition is paused while its watermark is above the limit, and so is a task as a whole while
//! what was made of its partitions is; at the limit both go on. What is compared is the newest
//! watermark or the oldest of some samples, one per update interval, so that a partition that runs
//! away reads on for a while (flink-rules 4). Pausing is noticed whenever a watermark moves, resuming
//! with a new limit or sample only.
//!
//! Invariant: without a limit nobody is paused.

use crate::plan::levels::{AlignmentPlan, PausedIdle, Sampling};
use crate::time::EventTime;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The past watermarks of a partition or of a task, and whether it waits.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Alignment {
    samples: VecDeque<EventTime>,
    waits: bool,
}

impl Alignment {
    /// Whether it waits for others.
    pub const fn waits(&self) -> bool {
        self.waits
    }

    /// An update interval has passed.
    pub fn sample(&mut self, plan: &AlignmentPlan, watermark: EventTime) {
        let Sampling::OldestOf(count) = plan.sampling else { return };
        self.samples.push_back(watermark);
        while (count as usize) < self.samples.len() {
            self.samples.pop_front();
        }
    }

    fn is_ahead(&self, plan: &AlignmentPlan, limit: EventTime, newest: EventTime) -> bool {
        let compared = match plan.sampling {
            Sampling::Newest => newest,
            Sampling::OldestOf(count) if (count as usize) <= self.samples.len() => {
                self.samples.front().copied().unwrap_or(newest)
            }
            Sampling::OldestOf(_) => EventTime::MIN,
        };
        limit < compared
    }

    /// Its watermark has moved.
    pub fn pause(&mut self, plan: &AlignmentPlan, limit: EventTime, newest: EventTime) {
        self.waits |= self.is_ahead(plan, limit, newest);
    }

    /// There is a new limit or a new sample.
    pub fn judge(&mut self, plan: &AlignmentPlan, limit: EventTime, newest: EventTime) {
        self.waits = self.is_ahead(plan, limit, newest);
    }

    /// There is one, and it is idle.
    pub fn judge_idle(&mut self, paused_idle: PausedIdle) {
        self.waits = match paused_idle {
            PausedIdle::Stays => self.waits,
            PausedIdle::Resumes => false,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::levels::Limit;
    use crate::time::Span;

    fn plan(sampling: Sampling) -> AlignmentPlan {
        AlignmentPlan { update: Span(10), sampling, limit: Limit::Announced }
    }

    #[test]
    fn who_is_at_the_limit_goes_on() {
        let mut alignment = Alignment::default();
        let plan = plan(Sampling::Newest);
        alignment.pause(&plan, EventTime(5), EventTime(5));
        assert!(!alignment.waits());
        alignment.pause(&plan, EventTime(5), EventTime(6));
        assert!(alignment.waits());
        alignment.pause(&plan, EventTime(6), EventTime(6));
        assert!(alignment.waits(), "only a new limit or sample ends it");
        alignment.judge_idle(PausedIdle::Stays);
        assert!(alignment.waits(), "an idle one is not looked at");
        let mut other = alignment.clone();
        other.judge_idle(PausedIdle::Resumes);
        assert!(!other.waits());
        alignment.judge(&plan, EventTime(6), EventTime(6));
        assert!(!alignment.waits());
    }

    #[test]
    fn the_oldest_of_some_samples_is_compared_once_there_are_as_many() {
        let mut alignment = Alignment::default();
        let plan = plan(Sampling::OldestOf(2));
        let mut waits = Vec::new();
        for watermark in [9, 9, 3, 3] {
            alignment.sample(&plan, EventTime(watermark));
            alignment.judge(&plan, EventTime(5), EventTime(watermark));
            waits.push(alignment.waits());
        }
        assert_eq!(waits, [false, true, true, false]);
    }
}
