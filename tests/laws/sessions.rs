//! Sessions under two delays: M11.
//!
//! Not among what it says: how many sessions there are, what a session of some start counts, which
//! session is which. All of that changes with the delay (semantics M11).
//!
//! Invariant: the candidate does not depend on the delay.

use super::case::{Draw, check, check_needed};
use super::flows::terms::{each_session, flow_terms, settle, waiting_longer};
use super::flows::{self, Shape};
use super::outcome::{Emitted, Outcome};
use super::{Held, Law, claim, need};
use plimsoll_engine::plan::flow::{Gap, SessionLate};
use plimsoll_engine::time::Span;
use plimsoll_sim::trace::Trace;

fn sessions(seed: u64) -> Trace {
    flows::world(seed, &[Shape::Session])
}

pub(super) const M11: Law = Law {
    name: "M11 sessions under a longer delay",
    world: sessions,
    prepare: |trace, _| {
        settle(trace);
        each_session(trace, |it| (it.lateness, it.max_span) = (Span::ZERO, None));
    },
    holds: m11,
    covered: 88,
    telling: 40,
};

#[test]
fn m11_a_longer_delay_admits_no_less_and_every_session_is_inside_one_of_the_longer_delay() {
    check(&M11);
}

fn m11(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = flow_terms(trace)?;
    terms.append()?;
    // Idleness may be there: it does not know d.
    terms.no_fallback()?;
    terms.never_follows()?;
    let session = terms.session()?;
    need(session.lateness == Span::ZERO, "sessions that leave when they are written")?;
    need(session.max_span.is_none(), "sessions that silence alone ends")?;
    // A row that is late and taken all the same opens a session beside one that was written. With a
    // gap of its own it may be around that one.
    let own_gaps = matches!(session.gap, Gap::Column(_)) && session.late != SessionLate::Event;
    if own_gaps {
        return inside(trace, draw, |around| 0 < around);
    }
    says(trace, draw)
}

/// M11 without asking.
fn says(trace: &Trace, draw: &mut Draw) -> Held {
    inside(trace, draw, |around| around == 1)
}

/// Every session is inside so many of the longer delay.
fn inside(trace: &Trace, draw: &mut Draw, fits: fn(usize) -> bool) -> Held {
    let inputs = flow_terms(trace)?.flow.inputs.len();
    let by = Span(draw.pick(&[1, 2, 5, 20]));
    let longer = waiting_longer(trace, draw.below(inputs), by);
    let (short, long) = (Outcome::of(trace)?, Outcome::of(&longer)?);
    let beyond = long.drops_beyond(&short);
    claim(beyond.is_none(), || format!("{by:?} more: {}", beyond.unwrap_or_default()))?;
    for it in &short.emitted {
        let around = long.emitted.iter().filter(|other| is_inside(it, other)).count();
        claim(fits(around), || format!("{it:?} is inside {around} sessions of {by:?} more"))?;
    }
    Ok(short.late != long.late)
}

/// Whether a session is inside another of its key.
fn is_inside(one: &Emitted, other: &Emitted) -> bool {
    let key = 3;
    let [a, b] = [one, other].map(|it| (it.cells[0], it.cells[1]));
    one.cells[key] == other.cells[key] && b.0 <= a.0 && a.1 <= b.1
}

#[test]
fn sessions_that_are_written_again_are_inside_several() {
    // With allowed lateness a session is written, grows and is written again.
    let unmeet = |trace: &mut Trace, _: &mut Draw| {
        settle(trace);
        each_session(trace, |it| {
            (it.lateness, it.max_span, it.late) = (Span(15), None, SessionLate::Merged);
        });
    };
    check_needed(sessions, unmeet, says, 3);
}

#[test]
fn sessions_that_their_length_closes_are_not_inside_those_of_a_longer_delay() {
    let unmeet = |trace: &mut Trace, _: &mut Draw| {
        settle(trace);
        each_session(trace, |it| (it.lateness, it.max_span) = (Span::ZERO, Some(Span(9))));
    };
    check_needed(sessions, unmeet, says, 3);
}
