//! The loss at every delay: a sorted list of the smallest delay that saves each row.
//!
//! Under rule E a row is lost iff its slack c* - t is larger than the delay, so the slack itself saves it.
//! Under E2, W and F equality loses too, and it takes one millisecond more (semantics 3.3). Under W a row
//! counts as lost when it misses all of its windows.
//!
//! Invariant: the loss never grows with the delay.

use plimsoll_engine::plan::LateRule;
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_engine::window::assign::Assigner;

/// The smallest delay in milliseconds that saves a row judged by `candidate`; `None` where nothing can
/// lose it.
pub(super) fn need(
    rule: LateRule,
    of: &Assigner,
    candidate: EventTime,
    time: EventTime,
) -> Option<i64> {
    if candidate == EventTime::MIN || of.window_count(time) == 0 {
        return None;
    }
    Some(match rule {
        LateRule::Event => candidate.since(time).0,
        LateRule::EventInclusive => candidate.since(time).0.saturating_add(1),
        LateRule::Frame => candidate.since(of.frame(time) + of.slide()).0.saturating_add(1),
        LateRule::WindowEnd => {
            let last = of.windows(time).next_back()?;
            window_need(candidate, last.end)
        }
    })
}

/// The smallest delay that keeps a window with this end open for a row judged by `candidate`.
pub(super) fn window_need(candidate: EventTime, end: EventTime) -> i64 {
    candidate.since(end).0.saturating_add(1)
}

/// Loss as a function of the delay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Curve {
    /// Ascending; rows that no delay loses are left out.
    needs: Vec<i64>,
    rows: u64,
}

impl Curve {
    /// From the smallest saving delays of the rows that have a positive one, among `rows` rows.
    pub(super) fn new(mut needs: Vec<i64>, rows: u64) -> Self {
        needs.sort_unstable();
        Self { needs, rows }
    }

    /// Rows that have been judged.
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// Rows that a run with this delay drops.
    pub fn lost(&self, delay: Span) -> u64 {
        (self.needs.len() - self.needs.partition_point(|it| *it <= delay.0)) as u64
    }

    /// The largest delay that saves a row; rows that none saves have the largest number there is.
    pub(super) fn largest_finite(&self) -> Option<i64> {
        self.needs.iter().rev().find(|it| **it != i64::MAX).copied()
    }

    /// The smallest delay that loses at most so many rows.
    pub fn smallest_delay(&self, lost: u64) -> Span {
        let lost = usize::try_from(lost).unwrap_or(usize::MAX);
        let last_lost = self.needs.len().checked_sub(1 + lost);
        Span(last_lost.map_or(0, |it| self.needs[it]))
    }

    /// The smallest delay that loses at most this share of the rows, per 100,000.
    pub fn smallest_delay_for(&self, share: u64) -> Span {
        self.smallest_delay(allowed(self.rows, share))
    }
}

/// How many rows a share per 100,000 of `rows` is, rounded down.
pub(super) fn allowed(rows: u64, share: u64) -> u64 {
    (u128::from(rows) * u128::from(share) / 100_000) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_engine::plan::WindowSpec;

    #[test]
    fn the_curve_is_exact_at_and_around_each_step() {
        let curve = Curve::new(vec![30, 10, 30, 20], 8);
        let lost = |it| curve.lost(Span(it));
        assert_eq!([lost(0), lost(9), lost(10), lost(29), lost(30)], [4, 4, 3, 2, 0]);
        let delay = |it| curve.smallest_delay(it).0;
        assert_eq!([delay(0), delay(1), delay(2), delay(3), delay(4)], [30, 30, 20, 10, 0]);
        assert_eq!(curve.smallest_delay_for(25_000).0, 20);
        assert_eq!(curve.smallest_delay_for(24_999).0, 30);
    }

    #[test]
    fn each_rule_has_its_own_smallest_saving_delay() {
        let windows = WindowSpec { size: Span(10), slide: Span(5), offset: Span(0) };
        let windows = Assigner::new(windows);
        let need = |rule| need(rule, &windows, EventTime(25), EventTime(12));
        assert_eq!(need(LateRule::Event), Some(13));
        assert_eq!(need(LateRule::EventInclusive), Some(14));
        assert_eq!(need(LateRule::WindowEnd), Some(6));
        assert_eq!(need(LateRule::Frame), Some(11));
    }
}
