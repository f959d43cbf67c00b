//! All times at once: nearer to zero, shorter, in whole seconds.
//!
//! Rows, heartbeats, ticks and the spans of the plan hang together; whoever changes one of them alone
//! at a boundary loses the failure. Scaled together they keep their order, and most failures.
//!
//! Invariant: no span becomes shorter than makes sense where it stands.

use super::place::Place;
use super::{Edit, Edits, Pass};
use crate::trace::Trace;
use plimsoll_engine::time::EventTime;

pub(super) const PASS: Pass = Pass { name: "times", edits, run: |search| search.sweep(edits) };

/// By how much everything is divided, the most first.
const FACTORS: [i64; 7] = [3_600, 1_000, 60, 10, 5, 3, 2];
/// The longest time, in seconds, that milliseconds are taken up to.
const LONGEST: u64 = 100 * 3_600;

fn edits(trace: &Trace) -> Edits<'_> {
    Box::new(moved(trace).chain(scaled(trace)).chain(seconds(trace)))
}

/// The event times that a trace can live without: the reserved ends and what no row may carry stay.
fn event_times(trace: &Trace) -> impl Iterator<Item = (Place, i64)> + '_ {
    Place::all(trace).filter(|it| it.is_event_time(trace)).filter_map(|it| {
        let time = it.get(trace)?;
        EventTime(time).is_legal().then_some((it, time))
    })
}

/// Event time towards zero: whole windows first, which moves no row to another place in its window.
fn moved(trace: &Trace) -> Edits<'_> {
    let Some(least) = event_times(trace).map(|it| it.1).min() else {
        return Box::new(std::iter::empty());
    };
    let slide = trace.plan.operator.as_ref().map_or(1, |it| it.window.slide.0.max(1));
    let clock = trace.clock.0;
    let whole = least.div_euclid(slide) * slide;
    let by = move |event: i64, clock: i64| -> Edit<'_> {
        Box::new(move || {
            let mut changed = trace.clone();
            for (place, time) in event_times(trace) {
                place.set(&mut changed, time.saturating_sub(event));
            }
            Place::Clock.set(&mut changed, trace.clock.0.saturating_sub(clock));
            changed
        })
    };
    // Less than all of it by halves, so that a part of the way does not take a step per second.
    let halves = |it: i64| std::iter::successors(Some(it / 2), |it| (*it != 0).then_some(it / 2));
    let windows = halves(whole / slide).map(move |it| it * slide);
    let seconds = halves(least / 1_000).map(|it| it * 1_000);
    let parts = windows.chain(seconds).filter(|it| *it != 0);
    let all = [by(whole, clock), by(whole, whole), by(clock, clock), by(whole, 0)];
    let exact = [by(least, clock), by(least, least), by(least, 0), by(0, clock)];
    Box::new(all.into_iter().chain(exact).chain(parts.map(move |it| by(it, 0))))
}

/// Everything divided by a factor: to whole seconds, down or up, then exactly; and only rounded.
fn scaled(trace: &Trace) -> Edits<'_> {
    let all = move |factor: i64, round: fn(i64) -> i64| -> Edit<'_> {
        Box::new(move || each(trace, |it| round(it.div_euclid(factor))))
    };
    let divided = FACTORS
        .into_iter()
        .flat_map(move |factor| ROUNDS.into_iter().map(move |round| all(factor, round)));
    Box::new(divided.chain(ROUNDS[..3].iter().map(move |round| all(1, *round))))
}

/// Ways of rounding what was divided.
const ROUNDS: [fn(i64) -> i64; 4] = [down, down_to_one, up, |it| it];

/// To a whole second, or to zero.
fn down(ms: i64) -> i64 {
    ms.div_euclid(1_000) * 1_000
}

/// To a whole second, but what is not zero stays so.
fn down_to_one(ms: i64) -> i64 {
    if down(ms) == 0 { 1_000 * ms.signum() } else { down(ms) }
}

fn up(ms: i64) -> i64 {
    ms.saturating_add(999).div_euclid(1_000) * 1_000
}

/// Milliseconds taken for seconds.
fn seconds(trace: &Trace) -> Edits<'_> {
    let times = || Place::all(trace).filter(|it| it.is_time(trace)).filter_map(|it| it.get(trace));
    if times().all(|it| it % 1_000 == 0) || !times().all(|it| it.unsigned_abs() < LONGEST) {
        return Box::new(std::iter::empty());
    }
    let edit: Edit<'_> = Box::new(|| each(trace, |it| it * 1_000));
    Box::new(std::iter::once(edit))
}

/// Every time and span, changed.
fn each(trace: &Trace, change: impl Fn(i64) -> i64) -> Trace {
    let mut changed = trace.clone();
    for place in Place::all(trace).filter(|it| it.is_time(trace)) {
        let Some(time) = place.get(trace) else { continue };
        if EventTime(time).is_legal() {
            place.set(&mut changed, change(time).max(place.least()));
        }
    }
    changed
}
