//! The future guard: one clock that runs ahead must not close every window of everybody.
//!
//! A row whose event time lies more than `ahead` after its own arrival is from the future. It is
//! rejected, or counted without moving the watermark, or taken at its word (semantics 2.6).
//! The engines that were looked at have no such guard: a single year-9999 row stops them for good.
//!
//! Invariant: a guarded row never raises a candidate (I38).

use crate::plan::{Guard, GuardAction};
use crate::time::{EventTime, ProcTime};

/// What the guard says of one row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GuardVerdict {
    /// Nothing: it is not from the future, or it is taken at its word.
    Pass,
    /// It is counted and does not move the watermark.
    CountOnly,
    /// It is not counted either.
    Reject,
}

/// Judges a time that arrived at `at`.
#[inline]
pub fn judge(guard: Option<Guard>, time: EventTime, at: ProcTime) -> GuardVerdict {
    let Some(guard) = guard else { return GuardVerdict::Pass };
    let limit = at.0.saturating_add(guard.ahead.0);
    if time.0 <= limit {
        return GuardVerdict::Pass;
    }
    match guard.action {
        GuardAction::Accept => GuardVerdict::Pass,
        GuardAction::CountButNotAdvance => GuardVerdict::CountOnly,
        GuardAction::Reject => GuardVerdict::Reject,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;

    #[test]
    fn only_strictly_more_than_the_limit_is_from_the_future() {
        let guard = Some(Guard { ahead: Span(10), action: GuardAction::Reject });
        assert_eq!(judge(guard, EventTime(110), ProcTime(100)), GuardVerdict::Pass);
        assert_eq!(judge(guard, EventTime(111), ProcTime(100)), GuardVerdict::Reject);
        assert_eq!(judge(None, EventTime::MAX, ProcTime(0)), GuardVerdict::Pass);
    }
}
