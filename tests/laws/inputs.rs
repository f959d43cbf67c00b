//! Several inputs: M14 over policies (the smallest watermark admits no less than the largest) and M23
//! (an input that is split in two and united again).
//!
//! Invariant: all inputs of M23 have the same delay, and each partition stays whole.

use super::case::{Draw, check, check_needed};
use super::flows::terms::{flow, flow_terms, judges_alone, settle};
use super::flows::{self, Shape};
use super::outcome::{Outcome, first};
use super::shape::{batched, global, watermark, without_changes};
use super::{Held, Law, claim, need};
use plimsoll_engine::late::LateRow;
use plimsoll_engine::output::StepRecord;
use plimsoll_engine::plan::flow::Policy;
use plimsoll_engine::plan::{Effective, GeneratorPlan};
use plimsoll_engine::row::PartitionId;
use plimsoll_engine::time::EventTime;
use plimsoll_sim::trace::{Item, Trace};

/// Shapes whose first stage judges every row by the one W, whatever rows came before.
const BY_W: [Shape; 5] =
    [Shape::Window, Shape::Session, Shape::DedupByTime, Shape::DedupOther, Shape::Cleaned];

pub(super) const M14_POLICIES: Law = Law {
    name: "M14 policies",
    world: |seed| flows::united(seed, &BY_W),
    prepare: |trace, _| settle(trace),
    holds: m14,
    covered: 79,
    telling: 53,
};

#[test]
fn m14_the_smallest_watermark_of_all_inputs_is_never_ahead_of_the_largest_and_admits_no_less() {
    check(&M14_POLICIES);
}

fn m14(trace: &Trace, _: &mut Draw) -> Held {
    let terms = flow_terms(trace)?;
    terms.append()?;
    terms.no_fallback()?;
    terms.never_follows()?;
    need(1 < terms.flow.inputs.len(), "several inputs")?;
    need(judges_alone(terms.first()?), "rows that are judged one by one")?;
    let effective = terms.watermark.effective;
    policies(trace, [effective; 2])
}

/// M14 without asking; when the smallest and when the largest watermark takes effect.
fn policies(trace: &Trace, effective: [Effective; 2]) -> Held {
    let of = |policy, effective| {
        let mut other = trace.clone();
        flow(&mut other).policy = policy;
        watermark(&mut other.plan).effective = effective;
        Outcome::of(&other)
    };
    let (min, max) = (of(Policy::Min, effective[0])?, of(Policy::Max, effective[1])?);
    claim(min.steps.len() == max.steps.len(), || "another number of steps".to_owned())?;
    for (min, max) in min.steps.iter().zip(&max.steps) {
        claim(min.watermark <= max.watermark, || format!("{min:?}\n{max:?}"))?;
    }
    let beyond = min.drops_beyond(&max);
    claim(beyond.is_none(), || beyond.unwrap_or_default())?;
    Ok(min.late != max.late)
}

#[test]
fn with_a_longer_lag_the_largest_watermark_may_admit_more_than_the_smallest() {
    let unmeet = |trace: &mut Trace, draw: &mut Draw| {
        settle(trace);
        batched(trace, draw, &[Effective::NextBatch]);
    };
    let says = |trace: &Trace, _: &mut Draw| {
        policies(trace, [Effective::NextBatch, Effective::BatchAfterNext])
    };
    check_needed(M14_POLICIES.world, unmeet, says, 5);
}

pub(super) const M23: Law = Law {
    name: "M23 union",
    world: |seed| flows::single(seed, &Shape::ONE_SIDE),
    prepare: |trace, _| {
        settle(trace);
        global(trace);
        without_changes(trace);
    },
    holds: m23,
    covered: 53,
    telling: 46,
};

#[test]
fn m23_an_input_that_is_split_in_two_is_the_same_under_max_and_admits_no_less_under_min() {
    check(&M23);
}

fn m23(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = flow_terms(trace)?;
    terms.append()?;
    terms.no_fallback()?;
    terms.never_follows()?;
    terms.no_changes()?;
    terms.global()?;
    m23_says(trace, draw)
}

/// Every second partition of the first input, as one of the second.
fn split_off(partition: PartitionId) -> PartitionId {
    let input = partition.number() % 2;
    PartitionId::of(input, partition.task(), partition.number())
}

/// M23 without asking who computes the candidates.
fn m23_says(trace: &Trace, _: &mut Draw) -> Held {
    let terms = flow_terms(trace)?;
    terms.one_input()?;
    let of = |policy| {
        let mut split = trace.clone();
        let flow = flow(&mut split);
        flow.policy = policy;
        flow.inputs.push(flow.inputs[0].clone());
        flow.inputs[1].name = "second".to_owned();
        let mut both = [false; 2];
        for item in &mut split.items {
            if let Item::Row(it) = item {
                it.partition = split_off(it.partition);
                both[it.partition.input()] = true;
            } else if let Item::Heartbeat { partition, .. } = item {
                *partition = split_off(*partition);
            }
        }
        need(both == [true; 2], "rows of two partitions")?;
        Outcome::of(&split)
    };
    let whole = Outcome::of(trace)?.renumbered(split_off);
    let (min, max) = (of(Policy::Min)?, of(Policy::Max)?);
    // What a step says of c is about the first input alone.
    let steps = |it: &Outcome| -> Vec<StepRecord> {
        let blind = |it: &StepRecord| StepRecord { candidate: EventTime::MIN, ..*it };
        it.steps.iter().map(blind).collect()
    };
    let step = first(&steps(&whole), &steps(&max), "step");
    claim(step.is_none(), || step.unwrap_or_default())?;
    let late = |it: &Outcome| -> Vec<(u32, LateRow)> {
        it.late.iter().map(|(name, it)| (*name, *it)).collect()
    };
    let differs = first(&late(&whole), &late(&max), "late row");
    claim(differs.is_none(), || differs.unwrap_or_default())?;
    claim(whole.other == max.other, || format!("{:?}\n{:?}", whole.other, max.other))?;
    let emitted = first(&whole.emitted, &max.emitted, "emission");
    claim(emitted.is_none(), || emitted.unwrap_or_default())?;
    for (min, whole) in min.steps.iter().zip(&whole.steps) {
        claim(min.watermark <= whole.watermark, || format!("{min:?}\n{whole:?}"))?;
    }
    if judges_alone(terms.first()?) {
        let beyond = min.drops_beyond(&whole);
        claim(beyond.is_none(), || beyond.unwrap_or_default())?;
    }
    Ok(min.steps != max.steps)
}

#[test]
fn where_each_partition_has_a_watermark_of_its_own_splitting_an_input_changes_it() {
    let unmeet = |trace: &mut Trace, _: &mut Draw| {
        settle(trace);
        without_changes(trace);
        watermark(&mut trace.plan).generator = GeneratorPlan::PartitionMin { idle: None };
    };
    check_needed(M23.world, unmeet, m23_says, 10);
}
