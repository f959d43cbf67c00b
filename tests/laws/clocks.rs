//! Processing time: M2 (replay speed) and M15 (idle timeouts).
//!
//! Clocks move at ticks only, and idleness is judged at each; so it is evaluated as finely as arrivals
//! where a step computes the watermark at every tick, and coarsely where a batch does.
//!
//! Invariant: the items and their order are the same in both runs.

use super::case::{Draw, check, check_needed, plain};
use super::flows;
use super::flows::terms::{flow_terms, judges_alone, settle};
use super::outcome::Outcome;
use super::shape::{Rules, base, rules, terms, watermark, without_clock};
use super::{Held, Law, No, claim, need};
use plimsoll_engine::plan::{AllIdle, Effective, GeneratorPlan, IdlePlan, Rejoin, Trigger};
use plimsoll_engine::time::{ProcTime, Span};
use plimsoll_sim::trace::{Item, Trace};

pub(super) const M2: Law = Law {
    name: "M2 replay speed",
    world: plain,
    prepare: |trace, draw| {
        let output = trace.plan.output;
        base(trace, draw);
        trace.plan.output = output;
        timeless(trace);
    },
    holds: m2,
    covered: 88,
    telling: 32,
};

#[test]
fn m2_a_replay_at_another_speed_is_the_same_where_no_clock_has_a_say() {
    check(&M2);
}

pub(super) const M2_FLOWS: Law = Law {
    name: "M2 replay speed of a flow",
    world: flows::any,
    prepare: |trace, _| timeless(trace),
    holds: m2,
    covered: 69,
    telling: 37,
};

#[test]
fn m2_a_flow_is_the_same_at_another_speed() {
    check(&M2_FLOWS);
}

/// No clock cuts batches, moves the watermark or judges rows.
fn timeless(trace: &mut Trace) {
    without_clock(trace);
    if matches!(trace.plan.trigger, Trigger::Interval(_)) {
        trace.plan.trigger = Trigger::Batch;
    }
}

fn m2(trace: &Trace, draw: &mut Draw) -> Held {
    let rules = rules(trace)?;
    rules.no_fallback()?;
    rules.no_guard()?;
    rules.no_idleness()?;
    rules.trigger(|it| !matches!(it, Trigger::Interval(_)))?;
    need(rules.watermark.effective != Effective::Probe, "no periodic probes")?;
    stretched(trace, draw)
}

/// M2 without asking for clocks.
fn stretched(trace: &Trace, draw: &mut Draw) -> Held {
    let factor = draw.pick(&[0, 2, 3, 1_000]);
    let mut slower = trace.clone();
    let mut ticks = 0;
    for item in &mut slower.items {
        if let Item::Tick(span) = item {
            ticks += 1;
            *span = Span(span.0.saturating_mul(factor));
        }
    }
    let of = |trace| -> Result<Outcome, No> {
        let mut outcome = Outcome::of(trace)?;
        outcome.steps.iter_mut().for_each(|it| it.now = ProcTime(0));
        Ok(outcome)
    };
    let (one, two) = (of(trace)?, of(&slower)?);
    let difference = one.difference(&two);
    claim(difference.is_none(), || {
        format!("at {factor} times the length: {}", difference.unwrap_or_default())
    })?;
    Ok(0 < ticks && !one.late.is_empty())
}

#[test]
fn with_an_idle_timeout_a_replay_at_another_speed_is_another_run() {
    let unmeet = |trace: &mut Trace, draw: &mut Draw| {
        base(trace, draw);
        timeless(trace);
        let all_idle = AllIdle::Flush;
        let idle = IdlePlan { timeout: Span::minutes(2), rejoin: Rejoin::Hold, all_idle };
        watermark(&mut trace.plan).generator = GeneratorPlan::PartitionMin { idle: Some(idle) };
    };
    check_needed(plain, unmeet, stretched, 10);
}

fn with_timeout(trace: &mut Trace, draw: &mut Draw, any_of: &[(AllIdle, Rejoin)]) {
    base(trace, draw);
    let (all_idle, rejoin) = draw.pick(any_of);
    let timeout = Span::minutes(draw.pick(&[0, 1, 2, 5, 10]));
    let watermark = watermark(&mut trace.plan);
    let idle = IdlePlan { timeout, rejoin, all_idle };
    watermark.generator = GeneratorPlan::PartitionMin { idle: Some(idle) };
    watermark.fallback = None;
}

pub(super) const M15: Law = Law {
    name: "M15 idle timeouts",
    world: plain,
    prepare: |trace, draw| {
        if draw.one_in(2) {
            with_timeout(trace, draw, &[(AllIdle::Flush, Rejoin::Hold)]);
        } else {
            let all = [
                (AllIdle::Flush, Rejoin::Hold),
                (AllIdle::Flush, Rejoin::CatchUp),
                (AllIdle::Hold, Rejoin::Hold),
                (AllIdle::Hold, Rejoin::CatchUp),
            ];
            with_timeout(trace, draw, &all);
            watermark(&mut trace.plan).effective = Effective::Row;
            trace.plan.trigger = Trigger::Row;
            tick_finely(trace, FINE);
        }
    },
    holds: m15,
    covered: 88,
    telling: 34,
};

#[test]
fn m15_a_longer_idle_timeout_never_raises_the_watermark_and_admits_no_less() {
    check(&M15);
}

fn idle(rules: &Rules<'_>) -> Result<IdlePlan, No> {
    match rules.watermark.generator {
        GeneratorPlan::PartitionMin { idle: Some(it) } => Ok(it),
        _ => Err(No::Uncovered("an idle timeout")),
    }
}

fn m15(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = terms(trace)?;
    terms.append()?;
    terms.no_fallback()?;
    if flushes_and_holds(&terms)? {
        return waiting(trace, draw, &[1, 30_000, 300_000, 3_600_000]);
    }
    need(
        is_fine(&terms, trace, FINE)?,
        "idleness that is judged as finely as it begins, or flush and hold",
    )?;
    waiting(trace, draw, &[1, 2, 5, 100].map(|it| it * FINE.0))
}

/// Under these two it does not matter when silence is noticed.
fn flushes_and_holds(rules: &Rules<'_>) -> Result<bool, No> {
    let idle = idle(rules)?;
    Ok(idle.all_idle == AllIdle::Flush && idle.rejoin == Rejoin::Hold)
}

/// Whether whoever falls silent is noticed at that very instant, not together with others at the next
/// arrival.
fn is_fine(rules: &Rules<'_>, trace: &Trace, fine: Span) -> Result<bool, No> {
    let by_item = rules.watermark.effective == Effective::Row && trace.plan.trigger == Trigger::Row;
    let is_fine =
        |it: &Item| !matches!(it, Item::Tick(span) if !(*span == fine || *span == Span(0)));
    Ok(by_item && trace.items.iter().all(is_fine) && idle(rules)?.timeout.0 % fine.0 == 0)
}

pub(super) const M15_FLOWS: Law = Law {
    name: "M15 idle timeouts of a flow",
    world: flows::any,
    prepare: prepare_flow,
    holds: m15_flows,
    covered: 88,
    telling: 33,
};

#[test]
fn m15_a_longer_idle_timeout_never_raises_the_watermark_of_a_flow_and_admits_no_less() {
    check(&M15_FLOWS);
}

fn prepare_flow(trace: &mut Trace, draw: &mut Draw) {
    settle(trace);
    let fine = draw.one_in(2);
    let idle = IdlePlan {
        timeout: Span(draw.below(20) as i64),
        rejoin: if fine { draw.pick(&[Rejoin::Hold, Rejoin::CatchUp]) } else { Rejoin::Hold },
        all_idle: if fine { draw.pick(&[AllIdle::Flush, AllIdle::Hold]) } else { AllIdle::Flush },
    };
    watermark(&mut trace.plan).generator = GeneratorPlan::PartitionMin { idle: Some(idle) };
    if fine {
        watermark(&mut trace.plan).effective = Effective::Row;
        trace.plan.trigger = Trigger::Row;
        tick_finely(trace, FINEST);
    }
}

/// Every input's watermark is never higher, so neither is the smallest or the largest of them; and
/// whoever judges rows by that alone drops no more.
fn m15_flows(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = flow_terms(trace)?;
    terms.append()?;
    terms.no_fallback()?;
    terms.never_follows()?;
    need(judges_alone(terms.first()?), "rows that are judged one by one")?;
    if !flushes_and_holds(&terms)? {
        let fine = is_fine(&terms, trace, FINEST)?;
        need(fine, "idleness that is judged as finely as it begins, or flush and hold")?;
    }
    waiting(trace, draw, &[1, 2, 5, 30])
}

/// The clock of fine plain worlds: instants and timeouts are multiples of it, and each has its tick.
const FINE: Span = Span::seconds(30);
/// That of fine flows.
const FINEST: Span = Span(1);

/// Ticks of this length only, as many as it takes, though not more than an hour of them at once.
fn tick_finely(trace: &mut Trace, fine: Span) {
    let items = std::mem::take(&mut trace.items);
    for item in items {
        match item {
            Item::Tick(span) => {
                let ticks = span
                    .0
                    .clamp(0, Span::hours(1).0)
                    .unsigned_abs()
                    .div_ceil(fine.0.unsigned_abs());
                trace.items.extend((0..ticks).map(|_| Item::Tick(fine)));
            }
            other => trace.items.push(other),
        }
    }
}

/// M15 without asking how finely idleness is judged.
fn waiting(trace: &Trace, draw: &mut Draw, longer_by: &[i64]) -> Held {
    let terms = rules(trace)?;
    let idle = idle(&terms)?;
    let more = Span(draw.pick(longer_by));
    let mut patient = trace.clone();
    let longer = IdlePlan { timeout: idle.timeout + more, ..idle };
    watermark(&mut patient.plan).generator = GeneratorPlan::PartitionMin { idle: Some(longer) };
    let (soon, late) = (Outcome::of(trace)?, Outcome::of(&patient)?);
    claim(soon.steps.len() == late.steps.len(), || "another number of steps".to_owned())?;
    for (soon, late) in soon.steps.iter().zip(&late.steps) {
        claim(late.watermark <= soon.watermark, || format!("{soon:?}\n{late:?}"))?;
    }
    let beyond = late.drops_beyond(&soon);
    claim(beyond.is_none(), || beyond.unwrap_or_default())?;
    Ok(soon.steps != late.steps)
}

#[test]
fn on_coarse_ticks_with_hold_a_longer_timeout_may_raise_the_watermark() {
    let unmeet = |trace: &mut Trace, draw: &mut Draw| {
        with_timeout(trace, draw, &[(AllIdle::Hold, Rejoin::Hold)]);
        super::shape::batched(trace, draw, &[Effective::NextBatch]);
    };
    let says = |trace: &Trace, draw: &mut Draw| waiting(trace, draw, &[1, 30_000, 300_000]);
    check_needed(plain, unmeet, says, 1);
}
