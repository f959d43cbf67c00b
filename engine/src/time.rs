//! Event time, processing time and spans: three distinct types over i64 milliseconds.
//!
//! Event time is when something happened, processing time is when we heard of it; the distance
//! between the two is the subject of this project, so they never mix by accident.
//! The two ends of i64 are reserved: `MIN` means "nothing is known yet" and `MAX` "nothing more
//! will come". They stick: no delay brings them back into the finite line. Everything else
//! saturates. Times that a row may carry are within [`EventTime::LEGAL`] of zero.
//!
//! Invariant: arithmetic on times never wraps and never panics. Source: semantics section 0.

use serde::{Deserialize, Serialize};
use std::ops::{Add, Sub};

/// A point in event time, in milliseconds since 1970-01-01 (or any other zero of the data's own).
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct EventTime(pub i64);

/// A point in processing time, in milliseconds since 1970-01-01.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct ProcTime(pub i64);

/// A length of time in milliseconds; the same type measures both clocks.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct Span(pub i64);

impl EventTime {
    /// Minus infinity: nothing is known.
    pub const MIN: Self = Self(i64::MIN);
    /// Plus infinity: nothing more will come.
    pub const MAX: Self = Self(i64::MAX);
    /// The largest distance from zero that a row's time may have.
    pub const LEGAL: i64 = 1 << 61;

    /// Whether a row may carry this time.
    #[inline]
    pub const fn is_legal(self) -> bool {
        -Self::LEGAL <= self.0 && self.0 <= Self::LEGAL
    }

    /// Whether this is neither of the two reserved ends.
    #[inline]
    pub const fn is_finite(self) -> bool {
        self.0 != i64::MIN && self.0 != i64::MAX
    }

    /// The distance from `earlier` to this time, saturating.
    #[inline]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl ProcTime {
    /// The distance from `earlier` to this instant, saturating.
    #[inline]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span that a plan may name.
    pub const LEGAL: i64 = 1 << 61;

    /// `n` seconds.
    pub const fn seconds(n: i64) -> Self {
        Self(n.saturating_mul(1_000))
    }

    /// `n` minutes.
    pub const fn minutes(n: i64) -> Self {
        Self(n.saturating_mul(60_000))
    }

    /// `n` hours.
    pub const fn hours(n: i64) -> Self {
        Self(n.saturating_mul(3_600_000))
    }
}

/// Finite + span, kept away from the reserved ends.
#[inline]
const fn shift(time: i64, by: i64) -> i64 {
    if time == i64::MIN || time == i64::MAX {
        return time;
    }
    let moved = time.saturating_add(by);
    if moved == i64::MIN {
        i64::MIN + 1
    } else if moved == i64::MAX {
        i64::MAX - 1
    } else {
        moved
    }
}

impl Add<Span> for EventTime {
    type Output = Self;
    #[inline]
    fn add(self, span: Span) -> Self {
        Self(shift(self.0, span.0))
    }
}

impl Sub<Span> for EventTime {
    type Output = Self;
    #[inline]
    fn sub(self, span: Span) -> Self {
        Self(shift(self.0, span.0.saturating_neg()))
    }
}

impl Add<Span> for ProcTime {
    type Output = Self;
    #[inline]
    fn add(self, span: Span) -> Self {
        Self(shift(self.0, span.0))
    }
}

impl Sub<Span> for ProcTime {
    type Output = Self;
    #[inline]
    fn sub(self, span: Span) -> Self {
        Self(shift(self.0, span.0.saturating_neg()))
    }
}

impl Add for Span {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserved_ends_stick() {
        assert_eq!(EventTime::MIN - Span(5), EventTime::MIN);
        assert_eq!(EventTime::MIN + Span(5), EventTime::MIN);
        assert_eq!(EventTime::MAX - Span::hours(1), EventTime::MAX);
    }

    #[test]
    fn finite_times_never_reach_the_reserved_ends() {
        assert_eq!(EventTime(i64::MAX - 1) + Span(10), EventTime(i64::MAX - 1));
        assert_eq!(EventTime(i64::MIN + 1) - Span(i64::MAX), EventTime(i64::MIN + 1));
        assert!((EventTime(-5) - Span(i64::MIN)).is_finite());
    }
}
