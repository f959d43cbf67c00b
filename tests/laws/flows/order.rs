//! Dropped rows of a flow leave no trace: M9.
//!
//! Invariant: rows are taken out, never changed.

use super::super::case::{Draw, check, check_needed};
use super::super::order::moves_nobody;
use super::super::outcome::{Outcome, first, row_name};
use super::super::shape::{any_lag, watermark, without_changes, without_clock};
use super::super::{Held, Law, claim, need};
use super::terms::{flow, flow_terms, settle};
use super::{Shape, any, world};
use plimsoll_engine::plan::flow::Policy;
use plimsoll_engine::plan::{AllIdle, GeneratorPlan, IdlePlan, Rejoin};
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
