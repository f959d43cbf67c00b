//! When a watermark takes effect.
//!
//! Lag 0 (`row`): the row after the one that moved it is judged by it, and windows close at that very
//! row. Lag 1 (`next_batch`; founding text S40): the value computed at the end of a batch judges and
//! closes in the next. Lag 2 (`batch_after_next`; Spark 4): it closes in the next batch and judges
//! in the one after, so that late_{N+1} = evict_N and an admitted row always finds live state (I5).
//!
//! Invariant: late_{N+1} >= evict_N (I6).

use crate::late::InForce;
use crate::plan::Effective;
use serde::{Deserialize, Serialize};

/// The last two values and the rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Schedule {
    effective: Effective,
    last: InForce,
    before_last: InForce,
}

impl Schedule {
    /// Before any step, `initial` is in force for everything.
    pub const fn new(effective: Effective, initial: InForce) -> Self {
        Self { effective, last: initial, before_last: initial }
    }

    /// Whether it counts within a step, from row to row.
    pub const fn per_row(&self) -> bool {
        matches!(self.effective, Effective::Row)
    }

    /// What judges the rows of the step that begins now.
    #[inline]
    pub const fn late(&self) -> InForce {
        match self.effective {
            Effective::Row | Effective::NextBatch | Effective::Probe => self.last,
            Effective::BatchAfterNext => self.before_last,
        }
    }

    /// What closes windows in the step that begins now; under `row`, before its first row.
    #[inline]
    pub const fn evict(&self) -> InForce {
        self.last
    }

    /// The step ended with the value of the one before.
    #[inline]
    pub const fn hold(&mut self) {
        self.before_last = self.last;
    }

    /// The step `step` ended with this value; it counts from the step after at the earliest.
    #[inline]
    pub fn advance(&mut self, value: InForce, step: u64) {
        self.before_last = self.last;
        if self.last.watermark != value.watermark || self.last.candidate != value.candidate {
            let lag = u64::from(matches!(self.effective, Effective::BatchAfterNext));
            self.last = InForce { since_step: step + 1 + lag, ..value };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::EventTime;

    fn late_and_evict(effective: Effective) -> Vec<(i64, i64)> {
        let mut schedule = Schedule::new(effective, InForce::initial(EventTime(0)));
        (1..=3)
            .map(|step| {
                let now = (schedule.late().watermark.0, schedule.evict().watermark.0);
                schedule.advance(InForce::initial(EventTime(step * 10)), step as u64);
                now
            })
            .collect()
    }

    #[test]
    fn lag_one_judges_and_closes_with_the_value_of_the_batch_before() {
        assert_eq!(late_and_evict(Effective::NextBatch), [(0, 0), (10, 10), (20, 20)]);
    }

    #[test]
    fn lag_two_judges_with_the_value_that_closed_in_the_batch_before() {
        assert_eq!(late_and_evict(Effective::BatchAfterNext), [(0, 0), (0, 10), (10, 20)]);
    }
}
