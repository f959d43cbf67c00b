//! Allowed lateness: M22. What waits for rows is the sum of delay and lateness; what the two differ
//! in is when a window is written for the first time.
//!
//! Invariant: w = c - d, whatever d is: no clock moves it, and it begins at minus infinity.

use super::case::{Draw, check, check_needed};
use super::flows::terms::{each_window, flow_terms, settle, waiting_longer};
use super::flows::{self, Shape};
use super::outcome::Outcome;
use super::shape::watermark;
use super::{Held, Law, claim, need};
use plimsoll_engine::plan::flow::PanePlan;
use plimsoll_engine::plan::{Fallback, LateRule};
use plimsoll_engine::time::Span;
use plimsoll_sim::trace::Trace;

fn windows(seed: u64) -> Trace {
    flows::world(seed, &[Shape::Window])
}

fn with_lateness(trace: &mut Trace, draw: &mut Draw) {
    let lateness = Span(draw.pick(&[1, 3, 8, 20]));
    let late = draw.pick(&[LateRule::WindowEnd, LateRule::WindowEnd, LateRule::Event]);
    each_window(trace, |it| {
        (it.late, it.lateness, it.panes) = (late, lateness, PanePlan::TOTALS);
    });
}

pub(super) const M22: Law = Law {
    name: "M22 allowed lateness",
    world: windows,
    prepare: |trace, draw| {
        settle(trace);
        with_lateness(trace, draw);
    },
    holds: m22,
    covered: 88,
    telling: 17,
};

#[test]
fn m22_lateness_and_delay_are_the_same_wait_for_final_counts() {
    check(&M22);
}

fn m22(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = flow_terms(trace)?;
    terms.append()?;
    terms.nothing_in_force_first()?;
    terms.no_fallback()?;
    terms.never_follows()?;
    let stage = terms.window()?;
    // Under E too both are t + l < c - d; semantics says it of W.
    need(matches!(stage.late, LateRule::WindowEnd | LateRule::Event), "rule W or E")?;
    need(stage.panes == PanePlan::TOTALS, "panes that carry totals")?;
    says(trace, draw)
}

/// M22 without asking what moves w.
fn says(trace: &Trace, _: &mut Draw) -> Held {
    let stage = flow_terms(trace)?.window()?;
    let mut patient = trace.clone();
    each_window(&mut patient, |it| it.lateness = Span::ZERO);
    for input in 0..trace.plan.flow.as_ref().map_or(0, |it| it.inputs.len()) {
        patient = waiting_longer(&patient, input, stage.lateness);
    }
    let (late, patient) = (Outcome::of(trace)?, Outcome::of(&patient)?);
    claim(late.lost() == patient.lost(), || format!("{:?}\n{:?}", late.lost(), patient.lost()))?;
    let keys = stage.keys.len();
    let (one, two) = (late.flow_finals(keys), patient.flow_finals(keys));
    claim(one == two, || format!("{one:?}\n{two:?}"))?;
    Ok(late.emitted.len() != patient.emitted.len())
}

#[test]
fn where_a_clock_moves_the_watermark_a_delay_does_not_wait_and_lateness_does() {
    let unmeet = |trace: &mut Trace, draw: &mut Draw| {
        settle(trace);
        with_lateness(trace, draw);
        let fallback = Fallback { behind: Span(0), always: true };
        watermark(&mut trace.plan).fallback = Some(fallback);
    };
    check_needed(windows, unmeet, says, 10);
}
