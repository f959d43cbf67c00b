//! Two times together, lowered by the same amount; two rows exchanged for their difference.
//!
//! A failure at a boundary needs a sum to be exact: the time of a row less the delay is the end of a
//! window. Neither can be lowered alone.
//!
//! Invariant: the difference of the two stays what it was.

use super::place::Place;
use super::search::Search;
use super::{Edit, Edits, Pass};
use crate::trace::Trace;
use plimsoll_engine::time::EventTime;

pub(super) const PASS: Pass = Pass { name: "pairs of times", edits, run };

/// More times than this are not tried two by two.
const MOST: usize = 14;

/// The pairs of times that are not zero.
fn pairs(trace: &Trace) -> Vec<(Place, Place)> {
    let times = Place::all(trace)
        .filter(|it| it.is_time(trace))
        .filter(|it| it.get(trace).is_some_and(|value| value != 0 && EventTime(value).is_legal()));
    let times: Vec<Place> = times.collect();
    if MOST < times.len() {
        return Vec::new();
    }
    (0..times.len())
        .flat_map(|a| (0..a).map(move |b| (b, a)))
        .map(|(b, a)| (times[b], times[a]))
        .collect()
}

/// The step to begin with: seconds, where both are whole ones.
fn unit(trace: &Trace, a: Place, b: Place) -> i64 {
    let whole = |it: Place| it.get(trace).is_some_and(|it| it % 1_000 == 0);
    if whole(a) && whole(b) { 1_000 } else { 1 }
}

fn lowered(trace: &Trace, a: Place, b: Place, by: i64) -> Trace {
    let mut changed = trace.clone();
    for place in [a, b] {
        if let Some(value) = place.get(trace) {
            place.set(&mut changed, value.saturating_sub(by).max(place.least()));
        }
    }
    changed
}

fn edits(trace: &Trace) -> Edits<'_> {
    Box::new(pairs(trace).into_iter().flat_map(move |(a, b)| {
        let unit = unit(trace, a, b);
        [100, 10, 1].map(|many| -> Edit<'_> { Box::new(move || lowered(trace, a, b, many * unit)) })
    }))
}

fn run(search: &mut Search<'_>) {
    for (a, b) in pairs(&search.best()) {
        let mut by = unit(&search.best(), a, b);
        // As long as it works, twice as much each time.
        while !search.spent() {
            let candidate = lowered(&search.best(), a, b, by);
            if !search.consider(candidate) {
                break;
            }
            by = by.saturating_mul(2);
        }
    }
}
