//! When a step begins.
//!
//! A trigger never decides who is admitted, except through where it cuts batches: rows of one batch
//! do not make one another late (semantics 10). `once` and `available_now` work off what is there
//! and stop; nothing fires at the stop, because stopping is not the end of the input.
//!
//! Invariant: an interval begins at most one step per tick, however many intervals have passed.

use crate::plan::Trigger as Plan;
use crate::time::ProcTime;
use serde::{Deserialize, Serialize};

/// The trigger of a query, with what it remembers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Trigger {
    plan: Plan,
    start: ProcTime,
    intervals_done: i64,
}

/// What a batch or the end of input makes of the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// One step with everything.
    Whole,
    /// Steps of at most this many rows, then the query stops.
    Bounded(u64),
    /// One step with everything, then the query stops.
    WholeAndStop,
    /// Nothing: this trigger does not listen.
    Ignored,
}

impl Trigger {
    /// A trigger whose intervals count from `start`.
    pub const fn new(plan: Plan, start: ProcTime) -> Self {
        Self { plan, start, intervals_done: 0 }
    }

    /// Whether everything is a step at once.
    pub const fn per_row(&self) -> bool {
        matches!(self.plan, Plan::Row)
    }

    /// Whether the clock, which stands at `now`, begins a step.
    pub fn tick(&mut self, now: ProcTime) -> bool {
        let Plan::Interval(span) = self.plan else { return false };
        let passed = now.since(self.start).0.div_euclid(span.0.max(1));
        let fires = self.intervals_done < passed;
        self.intervals_done = passed.max(self.intervals_done);
        fires
    }

    /// What a batch item does.
    pub const fn batch(&self) -> Cut {
        match self.plan {
            Plan::Batch => Cut::Whole,
            Plan::Once => Cut::WholeAndStop,
            Plan::AvailableNow(rows) => Cut::Bounded(rows),
            Plan::Row | Plan::Interval(_) => Cut::Ignored,
        }
    }

    /// What the end of input does with what is queued. True: the input really ends there.
    pub const fn end(&self) -> (Cut, bool) {
        match self.plan {
            Plan::Once => (Cut::WholeAndStop, false),
            Plan::AvailableNow(rows) => (Cut::Bounded(rows), false),
            Plan::Row | Plan::Batch | Plan::Interval(_) => (Cut::Whole, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;

    #[test]
    fn many_intervals_in_one_tick_are_one_step() {
        let mut trigger = Trigger::new(Plan::Interval(Span(60)), ProcTime(10));
        assert!(!trigger.tick(ProcTime(69)));
        assert!(trigger.tick(ProcTime(70)));
        assert!(!trigger.tick(ProcTime(129)));
        assert!(trigger.tick(ProcTime(500)));
        assert!(!trigger.tick(ProcTime(500)));
    }
}
