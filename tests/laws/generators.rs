//! Who decides: M14 (one maximum is never behind the minimum over partitions) and M21 (windows that
//! are cut finer see the same rows).
//!
//! Invariant: both runs have the same delay and the same lag.

use super::case::{Draw, check, plain};
use super::outcome::{Key, Outcome};
use super::shape::{any_lag, base, late_rule, terms, watermark};
use super::{Held, Law, No, claim, need};
use plimsoll_engine::plan::{AllIdle, GeneratorPlan, IdlePlan, LateRule, Rejoin};
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

/// M21 without asking for the late rule.
fn refined(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = terms(trace)?;
    terms.append()?;
    terms.counts()?;
    let spec = terms.operator.window;
    need(spec.size == spec.slide, "tumbling windows")?;
    let parts: Vec<i64> = [2, 3, 4, 5, 10].into_iter().filter(|it| spec.size.0 % it == 0).collect();
    need(!parts.is_empty(), "a length that divides")?;
    let part = spec.size.0 / draw.pick(&parts);
    let mut fine = trace.clone();
    if let Some(operator) = &mut fine.plan.operator {
        (operator.window.size, operator.window.slide) = (Span(part), Span(part));
    }
    let (coarse, fine) = (Outcome::of(trace)?, Outcome::of(&fine)?);
    let lost = |it: &Outcome| it.late.keys().copied().collect::<Vec<_>>();
    claim(lost(&coarse) == lost(&fine), || "other rows are late".to_owned())?;
    let grid = |start: i64| start - (start - spec.offset.0).rem_euclid(spec.size.0);
    let (whole, sums) = (counts(&coarse, |it| it), counts(&fine, grid));
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
