//! Ranges of a join in normal form: closed bounds on r.t - l.t.
//!
//! Times are whole milliseconds, so an open end is a closed one a millisecond further in. Of several
//! ranges all must hold: the tightest bounds decide who matches. When a row leaves may be judged by
//! the loosest of them instead, which keeps rows longer than needed and loses nothing (Spark).
//!
//! Invariant: l and r match iff lower <= r.t - l.t <= upper. Source: semantics section 6.

use crate::plan::flow::Range;
use crate::time::{EventTime, Span};
use serde::{Deserialize, Serialize};

/// Closed bounds on r.t - l.t; a missing one is infinite.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Bounds {
    /// The smallest distance, a'.
    pub lower: Option<Span>,
    /// The largest distance, b'.
    pub upper: Option<Span>,
}

/// The bounds that ranges name, as closed ones.
fn closed(ranges: &[Range]) -> impl Iterator<Item = Bounds> {
    ranges.iter().map(|it| Bounds {
        lower: it.lower.map(|it| it.at + Span(i64::from(it.open))),
        upper: it.upper.map(|it| it.at - Span(i64::from(it.open))),
    })
}

impl Bounds {
    /// What all of them allow.
    pub fn tightest(ranges: &[Range]) -> Self {
        Self {
            lower: closed(ranges).filter_map(|it| it.lower).max(),
            upper: closed(ranges).filter_map(|it| it.upper).min(),
        }
    }

    /// The loosest of the bounds that are named at all.
    pub fn loosest(ranges: &[Range]) -> Self {
        Self {
            lower: closed(ranges).filter_map(|it| it.lower).min(),
            upper: closed(ranges).filter_map(|it| it.upper).max(),
        }
    }

    /// Whether no two rows can match.
    pub fn never_match(&self) -> bool {
        self.lower.zip(self.upper).is_some_and(|(lower, upper)| upper < lower)
    }

    /// The first and the last time of the other side's rows that match a row of `side` at `time`.
    pub fn partners(&self, side: usize, time: EventTime) -> (EventTime, EventTime) {
        if side == 0 {
            (
                self.lower.map_or(EventTime::MIN, |it| time + it),
                self.upper.map_or(EventTime::MAX, |it| time + it),
            )
        } else {
            (
                self.upper.map_or(EventTime::MIN, |it| time - it),
                self.lower.map_or(EventTime::MAX, |it| time - it),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::flow::Edge;

    fn edge(at: i64, open: bool) -> Option<Edge> {
        Some(Edge { at: Span(at), open })
    }

    fn bounds(lower: Option<i64>, upper: Option<i64>) -> Bounds {
        Bounds { lower: lower.map(Span), upper: upper.map(Span) }
    }

    #[test]
    fn an_open_end_is_a_closed_one_a_millisecond_further_in() {
        let range = Range { lower: edge(-5, true), upper: edge(5, true) };
        assert_eq!(Bounds::tightest(&[range]), bounds(Some(-4), Some(4)));
        let point = Range { lower: edge(3, false), upper: edge(4, true) };
        assert!(!Bounds::tightest(&[point]).never_match());
        let empty = Range { lower: edge(3, true), upper: edge(4, true) };
        assert!(Bounds::tightest(&[empty]).never_match());
    }

    #[test]
    fn several_ranges_match_by_the_tightest_and_may_leave_by_the_loosest_that_is_named() {
        let ranges = [
            Range { lower: edge(-5, false), upper: None },
            Range { lower: edge(-9, false), upper: edge(8, false) },
            Range { lower: None, upper: edge(7, true) },
        ];
        assert_eq!(Bounds::tightest(&ranges), bounds(Some(-5), Some(6)));
        assert_eq!(Bounds::loosest(&ranges), bounds(Some(-9), Some(8)));
        assert_eq!(Bounds::loosest(&[]), bounds(None, None));
    }

    #[test]
    fn partners_of_either_side_are_each_other() {
        for it in [bounds(Some(-2), Some(5)), bounds(None, Some(-1)), bounds(Some(3), None)] {
            for (left, right) in (-9..9).flat_map(|l| (-9..9).map(move |r| (l, r))) {
                let of_left = it.partners(0, EventTime(left));
                let of_right = it.partners(1, EventTime(right));
                let meets = |(from, to), at| from <= EventTime(at) && EventTime(at) <= to;
                let matches = it.lower.is_none_or(|it| it.0 <= right - left)
                    && it.upper.is_none_or(|it| right - left <= it.0);
                assert_eq!(meets(of_left, right), matches, "{left} {right}");
                assert_eq!(meets(of_right, left), matches, "{left} {right}");
            }
        }
    }
}
