//! Who decides: M14 (one maximum is never behind the minimum over partitions) and M21 (windows that
//! are cut finer see the same rows, in a plain query and at the end of a flow).
//!
//! Invariant: both runs have the same delay and the same lag.

use super::case::{Draw, check, check_needed, plain};
use super::flows::terms::{flow, flow_terms, settle};
use super::flows::{self, Shape};
use super::outcome::{Key, Outcome, first};
use super::shape::{any_lag, base, late_rule, terms, watermark};
use super::{Held, Law, No, claim, need};
use plimsoll_engine::plan::flow::{Carry, StagePlan, WindowStage};
use plimsoll_engine::plan::{
    Aggregate, AllIdle, GeneratorPlan, IdlePlan, LateRule, Rejoin, WindowSpec,
};
use plimsoll_engine::state::layout::Value;
use plimsoll_engine::time::Span;
use plimsoll_sim::trace::Trace;
use std::collections::BTreeMap;

pub(super) const M14: Law = Law {
    name: "M14 generators",
    world: plain,
    prepare: |trace, draw| {
        base(trace, draw);
        let rules =
            [LateRule::Event, LateRule::EventInclusive, LateRule::WindowEnd, LateRule::Frame];
        late_rule(trace, draw, &rules);
        if draw.below(2) == 0 {
            any_lag(trace, draw);
        }
        let watermark = watermark(&mut trace.plan);
        watermark.fallback = None;
        let timeout = Span::minutes(1 + draw.below(20) as i64);
        let rejoin = draw.pick(&[Rejoin::Hold, Rejoin::CatchUp]);
        let idle = IdlePlan { timeout, rejoin, all_idle: AllIdle::Flush };
        let idle = draw.pick(&[None, Some(idle)]);
        watermark.generator = GeneratorPlan::PartitionMin { idle };
    },
    holds: m14,
    covered: 90,
    telling: 40,
};

#[test]
fn m14_the_minimum_over_partitions_is_never_ahead_of_the_one_maximum_and_admits_no_less() {
    check(&M14);
}

fn m14(trace: &Trace, _: &mut Draw) -> Held {
    let terms = terms(trace)?;
    terms.append()?;
    terms.no_fallback()?;
    let GeneratorPlan::PartitionMin { idle } = terms.watermark.generator else {
        return need(false, "a minimum over partitions").map(|()| false);
    };
    need(idle.is_none_or(|it| it.all_idle == AllIdle::Flush), "flush when all are idle")?;
    let minimum = Outcome::of(trace)?;
    let mut other = trace.clone();
    watermark(&mut other.plan).generator = GeneratorPlan::GlobalMax;
    let maximum = Outcome::of(&other)?;
    claim(minimum.steps.len() == maximum.steps.len(), || "another number of steps".to_owned())?;
    for (min, max) in minimum.steps.iter().zip(&maximum.steps) {
        claim(min.watermark <= max.watermark, || {
            format!(
                "step {}: the minimum makes {:?}, the maximum {:?}",
                min.step, min.watermark, max.watermark
            )
        })?;
    }
    let beyond = maximum.admits_beyond(&minimum);
    claim(beyond.is_none(), || beyond.unwrap_or_default())?;
    Ok(maximum.lost() != minimum.lost())
}

pub(super) const M21: Law = Law {
    name: "M21 window refinement",
    world: plain,
    prepare: |trace, draw| {
        base(trace, draw);
        late_rule(trace, draw, &[LateRule::Event]);
        if draw.below(2) == 0 {
            any_lag(trace, draw);
        }
        if let Some(operator) = &mut trace.plan.operator {
            operator.window.slide = operator.window.size;
        }
    },
    holds: m21,
    covered: 80,
    telling: 50,
};

#[test]
fn m21_counts_of_a_tumbling_window_are_the_sums_of_its_parts_under_the_event_rule() {
    check(&M21);
}

/// Final counts by start of window and key.
fn counts(outcome: &Outcome, start: impl Fn(i64) -> i64) -> BTreeMap<(i64, Key), i64> {
    let mut counts = BTreeMap::new();
    for ((window, key), values) in outcome.finals() {
        let Value::Int(count) = values[0] else { panic!("a count is an integer: {values:?}") };
        *counts.entry((start(window.start.0), key)).or_default() += count;
    }
    counts
}

fn m21(trace: &Trace, draw: &mut Draw) -> Held {
    terms(trace)?.late_rule(&[LateRule::Event])?;
    refined(trace, draw)
}

/// A length that divides that of tumbling windows.
fn part(spec: WindowSpec, draw: &mut Draw) -> Result<Span, No> {
    need(spec.size == spec.slide, "tumbling windows")?;
    let parts: Vec<i64> = [2, 3, 4, 5, 10].into_iter().filter(|it| spec.size.0 % it == 0).collect();
    need(!parts.is_empty(), "a length that divides")?;
    Ok(Span(spec.size.0 / draw.pick(&parts)))
}

/// Where the whole window starts that a part is in.
const fn start(spec: WindowSpec, part: i64) -> i64 {
    part - (part - spec.offset.0).rem_euclid(spec.size.0)
}

/// M21 without asking for the late rule.
fn refined(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = terms(trace)?;
    terms.append()?;
    terms.counts()?;
    let spec = terms.operator.window;
    let part = part(spec, draw)?;
    let mut fine = trace.clone();
    if let Some(operator) = &mut fine.plan.operator {
        (operator.window.size, operator.window.slide) = (part, part);
    }
    let (coarse, fine) = (Outcome::of(trace)?, Outcome::of(&fine)?);
    let lost = |it: &Outcome| it.late.keys().copied().collect::<Vec<_>>();
    claim(lost(&coarse) == lost(&fine), || "other rows are late".to_owned())?;
    let (whole, sums) = (counts(&coarse, |it| it), counts(&fine, |it| start(spec, it)));
    claim(whole == sums, || format!("whole {whole:?}\nsums {sums:?}"))?;
    Ok(!coarse.late.is_empty())
}

#[test]
fn under_the_window_end_rule_refinement_does_not_hold() {
    // Smaller windows close earlier (semantics M21): the precondition is needed, and the check sees
    // it when it is missing.
    let mut broken = 0;
    for seed in 0..60 {
        let mut draw = Draw::from(seed);
        let mut trace = plimsoll_sim::scenario::default_world(seed).trace;
        base(&mut trace, &mut draw);
        late_rule(&mut trace, &mut draw, &[LateRule::WindowEnd]);
        if let Some(operator) = &mut trace.plan.operator {
            operator.window.slide = operator.window.size;
        }
        broken += u32::from(matches!(refined(&trace, &mut draw), Err(No::Broken(_))));
    }
    assert!(5 < broken, "only {broken} of 60 traces show it");
}

pub(super) const M21_FLOWS: Law = Law {
    name: "M21 window refinement of a flow",
    world: |seed| {
        flows::world(seed, &[Shape::Window, Shape::Cleaned, Shape::Nested, Shape::Joined])
    },
    prepare: |trace, _| {
        settle(trace);
        tumbling(trace, LateRule::Event);
    },
    holds: m21_flows,
    covered: 57,
    telling: 38,
};

#[test]
fn m21_counts_of_tumbling_windows_at_the_end_of_a_flow_are_the_sums_of_their_parts() {
    check(&M21_FLOWS);
}

/// Windows at the end tumble, carry totals and judge by this rule.
fn tumbling(trace: &mut Trace, late: LateRule) {
    if let Some(it) = last(trace) {
        (it.late, it.window.slide, it.panes.carry) = (late, it.window.size, Carry::Accumulating);
    }
}

/// The windows at the end of a flow.
fn last(trace: &mut Trace) -> Option<&mut WindowStage> {
    match flow(trace).stages.last_mut() {
        Some(StagePlan::Window(it)) => Some(it),
        _ => None,
    }
}

fn m21_flows(trace: &Trace, draw: &mut Draw) -> Held {
    let rule = match flow_terms(trace)?.flow.stages.last() {
        Some(StagePlan::Window(it)) => it.late,
        _ => return need(false, "windows, last").map(|()| false),
    };
    need(rule == LateRule::Event, "another late rule")?;
    refined_flow(trace, draw)
}

/// M21 of a flow without asking for the late rule: who is admitted into the windows at its end, and
/// what stages before them hand over, does not depend on how they are cut.
fn refined_flow(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = flow_terms(trace)?;
    terms.append()?;
    terms.never_follows()?;
    let mut fine = trace.clone();
    let windows = last(&mut fine).ok_or(No::Uncovered("windows, last"))?;
    need(windows.aggregates.first() == Some(&Aggregate::Count), "a count, first")?;
    need(windows.panes.carry != Carry::Discarding, "panes that carry totals")?;
    let (spec, keys) = (windows.window, windows.keys.len());
    let part = part(spec, draw)?;
    (windows.window.size, windows.window.slide) = (part, part);
    let (coarse, fine) = (Outcome::of(trace)?, Outcome::of(&fine)?);
    let at = terms.flow.stages.len() - 1;
    // Of every step: rows that the last stage was handed, and those that were late there.
    let judged = |it: &Outcome| -> Vec<(u64, u64, u64)> {
        let last = it.stages.iter().filter(|it| it.stage == at);
        last.map(|it| (it.step, it.rows_in, it.rows_dropped)).collect()
    };
    let differs = first(&judged(&coarse), &judged(&fine), "record of the last stage");
    claim(differs.is_none(), || differs.unwrap_or_default())?;
    claim(coarse.lost().len() == fine.lost().len(), || "other rows are late".to_owned())?;
    let sums = |it: &Outcome, start: &dyn Fn(i64) -> i64| {
        let mut sums = BTreeMap::<(i64, Key), i64>::new();
        for (name, values) in it.flow_finals(keys) {
            let window = name[0].expect("a window has a start");
            let count = values[0].expect("a count is a number");
            *sums.entry((start(window), name[3..].to_vec())).or_default() += count;
        }
        sums
    };
    let (whole, sums) = (sums(&coarse, &|it| it), sums(&fine, &|it| start(spec, it)));
    claim(whole == sums, || format!("whole {whole:?}\nsums {sums:?}"))?;
    Ok(!coarse.late.is_empty())
}

#[test]
fn under_the_window_end_rule_refinement_of_a_flow_does_not_hold() {
    let unmeet = |trace: &mut Trace, _: &mut Draw| {
        settle(trace);
        tumbling(trace, LateRule::WindowEnd);
    };
    check_needed(|seed| flows::world(seed, &[Shape::Window]), unmeet, refined_flow, 20);
}
