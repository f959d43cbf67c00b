//! Ranges of joins in normal form, against their definition.
//!
//! Invariant: all distances that a drawn range speaks of are tried, one by one.

use super::law;
use plimsoll_engine::operator::join::range::Bounds;
use plimsoll_engine::plan::flow::{Edge, Range};
use plimsoll_engine::time::{EventTime, Span};

/// An end as quickcheck draws it: where, whether it is open, and whether it is there.
type Drawn = (i8, bool, u8);

fn edge((at, open, there): Drawn) -> Option<Edge> {
    (there % 4 != 0).then_some(Edge { at: Span(i64::from(at % 20)), open })
}

fn ranges(drawn: &[(Drawn, Drawn)]) -> Vec<Range> {
    drawn.iter().map(|it| Range { lower: edge(it.0), upper: edge(it.1) }).collect()
}

/// By definition: the distance is within every one of the ranges.
fn matches(ranges: &[Range], distance: i64) -> bool {
    ranges.iter().all(|it| {
        let above = |it: Edge| if it.open { it.at.0 < distance } else { it.at.0 <= distance };
        let below = |it: Edge| if it.open { distance < it.at.0 } else { distance <= it.at.0 };
        it.lower.is_none_or(above) && it.upper.is_none_or(below)
    })
}

/// Whether closed bounds hold a distance.
fn holds(bounds: Bounds, distance: i64) -> bool {
    bounds.lower.is_none_or(|it| it.0 <= distance) && bounds.upper.is_none_or(|it| distance <= it.0)
}

/// All distances that a drawn range can tell apart.
fn all() -> std::ops::RangeInclusive<i64> {
    -22..=22
}

#[test]
fn the_normal_form_of_ranges_holds_what_all_of_them_hold() {
    fn same(drawn: Vec<(Drawn, Drawn)>) -> bool {
        let ranges = ranges(&drawn);
        let normal = Bounds::tightest(&ranges);
        all().all(|it| holds(normal, it) == matches(&ranges, it))
            && normal.never_match() != all().any(|it| matches(&ranges, it))
    }
    law(same as fn(Vec<(Drawn, Drawn)>) -> bool);
}

#[test]
fn the_loosest_bounds_hold_whatever_any_of_the_ranges_holds() {
    fn looser(drawn: Vec<(Drawn, Drawn)>) -> bool {
        let ranges = ranges(&drawn);
        let (loose, tight) = (Bounds::loosest(&ranges), Bounds::tightest(&ranges));
        let one = |it: &Range| Bounds::tightest(&[*it]);
        // A range that leaves an end open does not loosen the other's.
        let closed = ranges.iter().all(|it| it.lower.is_some() && it.upper.is_some());
        all().all(|it| {
            let any = ranges.iter().any(|range| holds(one(range), it));
            (!holds(tight, it) || holds(loose, it)) && (!closed || !any || holds(loose, it))
        })
    }
    law(looser as fn(Vec<(Drawn, Drawn)>) -> bool);
}

#[test]
fn partners_see_each_other_from_both_sides() {
    fn seen(drawn: Vec<(Drawn, Drawn)>, left: i32, distance: i8) -> bool {
        let ranges = ranges(&drawn);
        let bounds = Bounds::tightest(&ranges);
        let (l, r) = (i64::from(left), i64::from(left) + i64::from(distance));
        let meets = |side, own, other: i64| {
            let (from, to) = bounds.partners(side, EventTime(own));
            from <= EventTime(other) && EventTime(other) <= to
        };
        let definition = matches(&ranges, r - l);
        meets(0, l, r) == definition && meets(1, r, l) == definition
    }
    law(seen as fn(Vec<(Drawn, Drawn)>, i32, i8) -> bool);
}
