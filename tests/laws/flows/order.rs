//! What the order of a flow's rows does: M9 (dropped rows leave no trace) and M16 (repairing the order).
//!
//! Invariant: rows are taken out or exchanged, never changed.

use super::super::case::{Draw, check, check_needed};
use super::super::order::{moves_nobody, repaired};
use super::super::outcome::{Outcome, first, row_name};
use super::super::shape::{
    any_lag, global, row_by_row, watermark, without_changes, without_clock, without_heartbeats,
};
use super::super::{Held, Law, claim, need};
use super::terms::{by_event, each_window, flow, flow_terms, judges_by_event, settle};
use super::{Shape, any, world};
use plimsoll_engine::plan::flow::{NullTime, Policy};
use plimsoll_engine::plan::{AllIdle, Effective, GeneratorPlan, IdlePlan, LateRule, Rejoin};
use plimsoll_engine::time::Span;
use plimsoll_sim::trace::Trace;

fn prepare(trace: &mut Trace, draw: &mut Draw) {
    settle(trace);
    without_clock(trace);
    without_changes(trace);
    any_lag(trace, draw);
    flow(trace).inputs.iter_mut().for_each(|it| it.before.clear());
}

pub(in crate::laws) const M9: Law = Law {
    name: "M9 deleting the dropped rows of a flow",
    world: any,
    prepare,
    holds: m9,
    covered: 83,
    telling: 39,
};

#[test]
fn m9_taking_the_dropped_rows_out_of_the_input_of_a_flow_changes_nothing() {
    check(&M9);
}

fn m9(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = flow_terms(trace)?;
    terms.append()?;
    terms.nothing_in_force_first()?;
    terms.no_fallback()?;
    terms.no_guard()?;
    terms.no_idleness()?;
    terms.no_changes()?;
    terms.nothing_filtered_before()?;
    terms.steps_are_kept()?;
    let marks = terms.flow.inputs.iter().flat_map(|it| &it.marks);
    need(marks.into_iter().all(|it| Span::ZERO <= it.delay), "delays that are not negative")?;
    says(trace, draw)
}

/// M9 without asking for clocks.
fn says(trace: &Trace, _: &mut Draw) -> Held {
    let whole = Outcome::of(trace)?;
    let dropped = whole.dropped();
    if flow_terms(trace)?.watermark.generator != GeneratorPlan::GlobalMax {
        need(moves_nobody(trace, &dropped), "dropped rows that move no minimum")?;
    }
    let mut fewer = trace.clone();
    fewer.items.retain(|it| row_name(*it).is_none_or(|it| !dropped.contains(&it)));
    let without = Outcome::of(&fewer)?;
    let mut expected = whole.late.clone();
    expected.retain(|name, _| !dropped.contains(name));
    let lost: Vec<_> = expected.iter().map(|(name, it)| (*name, it.windows_lost)).collect();
    let found: Vec<_> = without.lost().into_iter().collect();
    let late = first(&lost, &found, "late row");
    claim(late.is_none(), || late.unwrap_or_default())?;
    claim(whole.other == without.other, || format!("{:?}\n{:?}", whole.other, without.other))?;
    let emitted = first(&whole.published(), &without.published(), "emission");
    claim(emitted.is_none(), || emitted.unwrap_or_default())?;
    Ok(!dropped.is_empty())
}

#[test]
fn with_an_idle_timeout_a_dropped_row_keeps_its_partition_awake() {
    let unmeet = |trace: &mut Trace, draw: &mut Draw| {
        prepare(trace, draw);
        let flow = flow(trace);
        flow.policy = Policy::Max;
        flow.inputs.iter_mut().flat_map(|it| &mut it.marks).for_each(|it| it.delay = Span::ZERO);
        watermark(&mut trace.plan).delay = Span::ZERO;
        let all_idle = AllIdle::Flush;
        let idle = IdlePlan { timeout: Span(8), rejoin: Rejoin::Hold, all_idle };
        watermark(&mut trace.plan).generator = GeneratorPlan::PartitionMin { idle: Some(idle) };
    };
    check_needed(|seed| world(seed, &[Shape::Window, Shape::Session]), unmeet, says, 1);
}

pub(in crate::laws) const M16: Law = Law {
    name: "M16 order repair of a flow",
    world: any,
    prepare: |trace, draw| {
        in_order(trace, draw);
        by_event(trace);
    },
    holds: m16,
    covered: 90,
    telling: 63,
};

#[test]
fn m16_exchanging_two_neighbours_never_makes_a_flow_drop_more_and_sorted_rows_of_all_inputs_drop_nothing()
 {
    check(&M16);
}

/// Row by row, under one maximum for each input, and nothing but times of rows moves a watermark.
fn in_order(trace: &mut Trace, draw: &mut Draw) {
    settle(trace);
    without_clock(trace);
    global(trace);
    without_changes(trace);
    without_heartbeats(trace);
    row_by_row(trace, draw);
    flow(trace).null_time = NullTime::Nowhere;
}

/// The earlier of two neighbours raises no watermark beyond itself, whichever input it is of and
/// whichever of their watermarks counts; so the later one is not late because of it.
fn m16(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = flow_terms(trace)?;
    terms.append()?;
    terms.nothing_in_force_first()?;
    terms.no_fallback()?;
    terms.no_guard()?;
    terms.global()?;
    terms.no_changes()?;
    terms.no_heartbeats()?;
    terms.null_is_nowhere()?;
    terms.never_follows()?;
    terms.chained()?;
    terms.all(judges_by_event, "stages that judge rows by their own time")?;
    terms.effective(&[Effective::Row])?;
    let marks = terms.flow.inputs.iter().flat_map(|it| &it.marks);
    need(marks.into_iter().all(|it| Span::ZERO <= it.delay), "delays that are not negative")?;
    repaired(trace, draw)
}

#[test]
fn where_a_time_that_equals_the_bound_is_late_sorted_rows_of_a_flow_may_be_dropped() {
    let unmeet = |trace: &mut Trace, draw: &mut Draw| {
        in_order(trace, draw);
        each_window(trace, |it| it.late = LateRule::EventInclusive);
        flow(trace)
            .inputs
            .iter_mut()
            .flat_map(|it| &mut it.marks)
            .for_each(|it| it.delay = Span::ZERO);
        watermark(&mut trace.plan).delay = Span::ZERO;
    };
    check_needed(|seed| world(seed, &[Shape::Window]), unmeet, repaired, 10);
}
