//! Each integer alone, as near to zero as the failure lets it come.
//!
//! First zero, then the round values below, then steps that double from zero upwards and a bisection
//! between the last two: cheap where the smallest value that fails is small, as it mostly is. In
//! whole seconds first.
//!
//! Codes of texts are not numbers; [`cells`](super::cells) has them.
//!
//! Invariant: each try is simpler than what stands there.

use super::place::Place;
use super::search::Search;
use super::simplicity::time_cost;
use super::{Edit, Edits, Pass};
use crate::trace::Trace;

pub(super) const PASS: Pass = Pass { name: "integers", edits, run };

/// What people round times to, in milliseconds.
const ROUND: [i64; 6] = [86_400_000, 3_600_000, 600_000, 60_000, 10_000, 1_000];
/// More places than this are lowered one by one in drivers only that have a loop of their own.
const MOST: usize = 400;

fn edits(trace: &Trace) -> Edits<'_> {
    Box::new(places(trace).flat_map(move |place| {
        let targets = targets(place, trace).into_iter().chain(halves(place, trace));
        targets.map(move |it| -> Edit<'_> { Box::new(move || place.with(trace, it)) })
    }))
}

fn places(trace: &Trace) -> impl Iterator<Item = Place> + '_ {
    Place::all(trace).filter(|it| !it.is_text(trace))
}

/// Values that are simple in themselves.
fn targets(place: Place, trace: &Trace) -> Vec<i64> {
    let Some(value) = place.get(trace) else { return vec![0] };
    let mut targets = vec![0.max(place.least())];
    if place.is_time(trace) {
        let slide = trace.plan.operator.as_ref().map_or(1_000, |it| it.window.slide.0.max(1));
        targets.extend([1_000, value % slide, value - value % slide, value.saturating_sub(slide)]);
        targets.extend(ROUND.iter().map(|unit| value - value % unit));
        targets.push((value - value % 1_000).saturating_add(1_000 * value.signum()));
        targets.retain(|it| time_cost(*it) < time_cost(value));
    } else {
        targets.push(1);
        targets.push(value.saturating_neg());
        targets.retain(|it| it.unsigned_abs() < value.unsigned_abs() || value < 0 && 0 < *it);
    }
    let mut seen = Vec::new();
    targets.retain(|it| {
        let first = place.least() <= *it && !seen.contains(it);
        seen.push(*it);
        first
    });
    targets
}

/// Towards zero by halves of the way: a bisection in drivers that begin anew after each success.
fn halves(place: Place, trace: &Trace) -> impl Iterator<Item = i64> + use<> {
    let value = place.get(trace).unwrap_or(0);
    let unit = unit_of(place, trace, value);
    let halves = std::iter::successors(Some(value / unit / 2), |it| (*it != 0).then_some(it / 2));
    halves.filter(|it| *it != 0).map(move |it| value - it * unit)
}

fn unit_of(place: Place, trace: &Trace, value: i64) -> i64 {
    if place.is_time(trace) && value % 1_000 == 0 { 1_000 } else { 1 }
}

fn run(search: &mut Search<'_>) {
    let places: Vec<Place> = places(&search.best()).take(MOST).collect();
    for place in places {
        if search.spent() {
            return;
        }
        for target in targets(place, &search.best()) {
            let candidate = place.with(&search.best(), target);
            search.consider(candidate);
        }
        bisect(search, place);
    }
}

fn bisect(search: &mut Search<'_>, place: Place) {
    let best = search.best();
    let Some(value) = place.get(&best) else { return };
    let unit = unit_of(place, &best, value);
    let (sign, high) = (value.signum(), (value / unit).unsigned_abs() as i64);
    let mut try_at = |at: i64| {
        let candidate = place.with(&search.best(), sign * at * unit);
        search.consider(candidate)
    };
    // What is below `low` does not fail, as far as was seen; `high` does.
    let (mut low, mut high) = (0, high);
    let mut step = 1;
    while low + step < high {
        if try_at(low + step) {
            high = low + step;
        } else {
            low += step;
            step *= 2;
        }
    }
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if try_at(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
}
