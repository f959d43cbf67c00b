//! Heartbeats more: M17.
//!
//! A heartbeat is put right behind a row of its partition, at the same instant: so the partition is
//! active and not about to time out.
//!
//! Invariant: a heartbeat is no step of its own.

use super::case::{Draw, check, check_needed, plain};
use super::flows;
use super::outcome::Outcome;
use super::shape::{base, rules, watermark};
use super::{Held, Law, No, claim, need};
use plimsoll_engine::plan::{Effective, Trigger};
use plimsoll_engine::state::layout::Value;
use plimsoll_engine::time::Span;
use plimsoll_sim::trace::{Item, Trace};

fn in_batches(trace: &mut Trace) {
    if trace.plan.trigger == Trigger::Row {
        trace.plan.trigger = Trigger::Batch;
    }
    let watermark = watermark(&mut trace.plan);
    watermark.guard = None;
    if watermark.effective == Effective::Probe {
        watermark.effective = Effective::Row;
    }
}

pub(super) const M17: Law = Law {
    name: "M17 heartbeats that say nothing new",
    world: plain,
    prepare: |trace, draw| {
        let output = trace.plan.output;
        base(trace, draw);
        trace.plan.output = output;
        in_batches(trace);
    },
    holds: m17,
    covered: 87,
    telling: 36,
};

#[test]
fn m17_a_heartbeat_at_or_behind_the_front_of_its_partition_changes_nothing() {
    check(&M17);
}

pub(super) const M17_FLOWS: Law = Law {
    name: "M17 heartbeats of a flow",
    world: flows::any,
    prepare: |trace, _| {
        in_batches(trace);
        flows::terms::flow(trace).inputs.iter_mut().for_each(|it| it.before.clear());
    },
    holds: m17,
    covered: 86,
    telling: 44,
};

#[test]
fn m17_a_flow_does_not_notice_a_heartbeat_that_says_nothing_new() {
    check(&M17_FLOWS);
}

/// What both halves need.
fn gate(trace: &Trace) -> Result<(), No> {
    let rules = rules(trace)?;
    rules.trigger(|it| it != Trigger::Row)?;
    need(rules.watermark.effective != Effective::Probe, "a watermark that needs no probe")?;
    // A guarded row has not moved its partition.
    rules.no_guard()?;
    let inputs = trace.plan.flow.iter().flat_map(|it| &it.inputs);
    let filtered = inputs.into_iter().any(|it| !it.before.is_empty());
    need(!filtered, "no filter at the source")
}

/// The trace with heartbeats behind some rows, each `by` ahead of its row, or behind it.
fn with_heartbeats(trace: &Trace, by: &[i64], draw: &mut Draw) -> Result<Trace, No> {
    let mut other = trace.clone();
    let mut put_in = 0;
    let legal = |it: &Item| match it {
        Item::Row(row) => trace.time(*row).filter(|it| it.is_legal()).map(|it| (*row, it)),
        _ => None,
    };
    for at in (0..trace.items.len()).rev() {
        let Some((row, time)) = legal(&trace.items[at]) else { continue };
        let time = time + Span(draw.pick(by));
        if draw.one_in(8) && time.is_legal() {
            put_in += 1;
            other.items.insert(at + 1, Item::Heartbeat { partition: row.partition, time });
        }
    }
    need(0 < put_in, "a row to put a heartbeat behind")?;
    Ok(other)
}

fn m17(trace: &Trace, draw: &mut Draw) -> Held {
    gate(trace)?;
    let other = with_heartbeats(trace, &[0, 0, -1, -1_000, -100_000], draw)?;
    let (one, two) = (Outcome::of(trace)?, Outcome::of(&other)?);
    let difference = one.difference(&two);
    claim(difference.is_none(), || difference.unwrap_or_default())?;
    Ok(!one.late.is_empty())
}

pub(super) const M17_AHEAD: Law = Law {
    name: "M17 heartbeats that go ahead",
    world: plain,
    prepare: |trace, draw| {
        base(trace, draw);
        in_batches(trace);
        super::shape::without_clock(trace);
    },
    holds: ahead,
    covered: 87,
    telling: 16,
};

#[test]
fn m17_a_heartbeat_that_goes_ahead_admits_no_more_and_counts_nothing() {
    check(&M17_AHEAD);
}

fn ahead(trace: &Trace, draw: &mut Draw) -> Held {
    gate(trace)?;
    let terms = super::shape::terms(trace)?;
    terms.append()?;
    terms.counts()?;
    terms.no_fallback()?;
    terms.no_idleness()?;
    let other = with_heartbeats(trace, &[0, 1, 30_000, 600_000], draw)?;
    let (without, with) = (Outcome::of(trace)?, Outcome::of(&other)?);
    let beyond = without.drops_beyond(&with);
    claim(beyond.is_none(), || beyond.unwrap_or_default())?;
    let count = |it: &Vec<Value>| match it[0] {
        Value::Int(it) => it,
        other => panic!("a count is an integer: {other:?}"),
    };
    let before = without.finals();
    for (name, values) in with.finals() {
        let most = before.get(&name).map_or(0, count);
        claim(count(&values) <= most, || format!("{name:?}: {values:?}, without {most}"))?;
    }
    Ok(without.late != with.late)
}

#[test]
fn a_heartbeat_of_a_partition_that_has_fallen_silent_is_news() {
    // Put at the end of the silence, not behind a row: it is activity.
    let says = |trace: &Trace, _: &mut Draw| {
        let mut other = trace.clone();
        let first = trace.items.iter().find_map(|it| match it {
            Item::Row(row) => trace.time(*row).filter(|it| it.is_legal()).map(|it| (*row, it)),
            _ => None,
        });
        let (row, time) = first.ok_or(No::Uncovered("a row"))?;
        let ticks = (0..trace.items.len()).rev();
        for at in ticks.filter(|it| matches!(trace.items[*it], Item::Tick(_))) {
            other.items.insert(at + 1, Item::Heartbeat { partition: row.partition, time });
        }
        let difference = Outcome::of(trace)?.difference(&Outcome::of(&other)?);
        claim(difference.is_none(), || difference.unwrap_or_default())?;
        Ok(true)
    };
    let unmeet = |trace: &mut Trace, draw: &mut Draw| {
        use plimsoll_engine::plan::{AllIdle, GeneratorPlan, IdlePlan, Rejoin};
        base(trace, draw);
        in_batches(trace);
        let all_idle = AllIdle::Flush;
        let idle = IdlePlan { timeout: Span::minutes(2), rejoin: Rejoin::Hold, all_idle };
        watermark(&mut trace.plan).generator = GeneratorPlan::PartitionMin { idle: Some(idle) };
    };
    check_needed(plain, unmeet, says, 10);
}
