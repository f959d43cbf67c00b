//! Slices of keys: M18 (a slice of the keys, of plain queries and of flows) and M24 (the state in
//! several shards, I31).
//!
//! A row that is taken out still moves time: it becomes a heartbeat of its partition. A row without a
//! legal time moves nothing and stays.
//!
//! Invariant: both runs see the same times from the same partitions at the same places.

use super::case::{Draw, check, check_needed, plain};
use super::flows::terms::{flow_terms, settle};
use super::flows::{self, KEY};
use super::outcome::{Emitted, Key, Outcome, first};
use super::{Held, Law, No, claim, need};
use plimsoll_engine::plan::{Effective, OutputMode, Trigger};
use plimsoll_engine::time::EventTime;
use plimsoll_sim::trace::{Item, RowItem, Trace};
use std::collections::BTreeSet;

/// In which of `n` slices a key is.
fn slice_of(key: &[Option<i64>], n: u64) -> u64 {
    let mixed = key.iter().fold(7u64, |sum, it| {
        let cell = it.map_or(u64::MAX, |it| it as u64);
        (sum ^ cell).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
    });
    mixed % n
}

/// A trace in which the rows that are not kept are heartbeats.
fn quieted(trace: &Trace, keeps: impl Fn(RowItem) -> bool) -> Trace {
    let mut other = trace.clone();
    for item in &mut other.items {
        if let Item::Row(row) = *item
            && let Some(time) = trace.time(row).filter(|it| it.is_legal())
            && !keeps(row)
        {
            *item = Item::Heartbeat { partition: row.partition, time };
        }
    }
    other
}

/// A heartbeat begins and ends a step as a row does, as far as anything shows.
fn alike(trace: &Trace) -> Result<(), No> {
    // A row's own step is one with data, at which complete mode writes, and at which no probe is made.
    let by_row = trace.plan.trigger == Trigger::Row;
    let complete = trace.plan.output == OutputMode::Complete;
    need(!by_row || !complete, "a mode that does not ask for steps with data")?;
    let probed = trace.plan.watermark.as_ref().is_some_and(|it| it.effective == Effective::Probe);
    need(!probed, "a watermark that needs no probe")
}

pub(super) const M18: Law = Law {
    name: "M18 key slice",
    world: plain,
    prepare: |_, _| {},
    holds: m18,
    covered: 77,
    telling: 20,
};

#[test]
fn m18_the_results_of_some_keys_are_the_same_where_all_other_rows_are_heartbeats() {
    check(&M18);
}

/// The key of a row under the plan's operator.
fn key_of(trace: &Trace, row: RowItem) -> Key {
    let operator = trace.plan.operator.as_ref().expect("asked for");
    operator.keys.iter().map(|it| trace.cells(row)[it.0]).collect()
}

fn m18(trace: &Trace, draw: &mut Draw) -> Held {
    let keyed = trace.plan.operator.as_ref().is_some_and(|it| !it.keys.is_empty());
    need(keyed, "keys")?;
    alike(trace)?;
    // Batches of so many rows are other batches.
    let bounded = matches!(trace.plan.trigger, Trigger::AvailableNow(_));
    need(!bounded, "batches that rows do not cut")?;
    let (n, at) = (2 + draw.below(3) as u64, draw.below(2) as u64);
    let kept = |key: &[Option<i64>]| slice_of(key, n) == at;
    let slice = quieted(trace, |row| kept(&key_of(trace, row)));
    plain_says(trace, &slice, kept)
}

/// What comes out of the kept keys is the same.
fn plain_says(trace: &Trace, slice: &Trace, kept: impl Fn(&[Option<i64>]) -> bool) -> Held {
    let (whole, part) = (Outcome::of(trace)?, Outcome::of(slice)?);
    claim(whole.steps.len() == part.steps.len(), || "another number of steps".to_owned())?;
    // The notes count rows of all keys.
    let figures = |it: &Outcome| -> Vec<_> {
        let of_keys = it.writes.iter().filter(|it| kept(&it.key));
        of_keys.map(|it| (it.step, it.window, it.key.clone(), it.values.clone())).collect()
    };
    let figure = first(&figures(&whole), &figures(&part), "figure");
    claim(figure.is_none(), || figure.unwrap_or_default())?;
    let of_keys = |row| kept(&key_of(trace, row));
    let late = same_fates((&whole, &part), trace, of_keys)?;
    Ok(late && whole.rows.len() != part.rows.len())
}

/// Rows that are kept have the same fates. Whether one of them is late.
fn same_fates(
    (whole, part): (&Outcome, &Outcome),
    trace: &Trace,
    kept: impl Fn(RowItem) -> bool,
) -> Result<bool, No> {
    let rows = trace.items.iter().filter_map(|it| match it {
        Item::Row(row) if kept(*row) => Some(row.cells),
        _ => None,
    });
    let names: BTreeSet<u32> = rows.collect();
    let mut late = whole.late.clone();
    late.retain(|name, _| names.contains(name));
    let lost: Vec<_> = late.iter().map(|(name, it)| (*name, it.windows_lost)).collect();
    let mut found = part.lost();
    found.retain(|name, _| names.contains(name));
    let found: Vec<_> = found.into_iter().collect();
    let differs = first(&lost, &found, "late row");
    claim(differs.is_none(), || differs.unwrap_or_default())?;
    let mut other = whole.other.clone();
    other.retain(|name, _| names.contains(name));
    let mut found = part.other.clone();
    found.retain(|name, _| names.contains(name));
    claim(other == found, || format!("{other:?}\n{found:?}"))?;
    Ok(!late.is_empty())
}

#[test]
fn taking_the_rows_of_other_keys_out_altogether_changes_what_is_left() {
    let says = |trace: &Trace, _: &mut Draw| {
        let keyed = trace.plan.operator.as_ref().is_some_and(|it| !it.keys.is_empty());
        need(keyed, "keys")?;
        let kept = |key: &[Option<i64>]| slice_of(key, 2) == 0;
        let mut slice = trace.clone();
        slice.items.retain(|it| !matches!(it, Item::Row(row) if !kept(&key_of(trace, *row))));
        plain_says(trace, &slice, kept)
    };
    check_needed(plain, |_, _| {}, says, 20);
}

pub(super) const M18_FLOWS: Law = Law {
    name: "M18 key slice of a flow",
    world: flows::any,
    prepare: prepare_flow,
    holds: m18_flows,
    covered: 60,
    telling: 24,
};

#[test]
fn m18_a_flow_treats_every_key_alone() {
    check(&M18_FLOWS);
}

fn prepare_flow(trace: &mut Trace, draw: &mut Draw) {
    let (output, rules) = (trace.plan.output, trace.plan.watermark.clone());
    settle(trace);
    if draw.one_in(2) {
        (trace.plan.output, trace.plan.watermark) = (output, rules);
    }
}

/// What a slice of a flow needs; where the key stands in what comes out.
fn gate(trace: &Trace) -> Result<Vec<usize>, No> {
    let terms = flow_terms(trace)?;
    alike(trace)?;
    terms.nothing_filtered_before()?;
    terms.keys_out()
}

fn key_out(it: &Emitted, keys: &[usize]) -> Option<i64> {
    keys.iter().find_map(|at| it.cells[*at])
}

/// In order within each step.
fn by_step(all: impl Iterator<Item = Emitted>) -> Vec<Emitted> {
    let mut all: Vec<Emitted> = all.collect();
    all.sort();
    all
}

fn m18_flows(trace: &Trace, draw: &mut Draw) -> Held {
    let keys = gate(trace)?;
    let (n, at) = (2 + draw.below(2) as u64, draw.below(2) as u64);
    let kept = |key: Option<i64>| slice_of(&[key], n) == at;
    let slice = quieted(trace, |row| kept(trace.cells(row)[KEY.0]));
    let (whole, part) = (Outcome::of(trace)?, Outcome::of(&slice)?);
    claim(whole.steps.len() == part.steps.len(), || "another number of steps".to_owned())?;
    let of_keys =
        |it: &Outcome| by_step(it.emitted.iter().filter(|it| kept(key_out(it, &keys))).cloned());
    let emitted = first(&of_keys(&whole), &of_keys(&part), "emission");
    claim(emitted.is_none(), || emitted.unwrap_or_default())?;
    let of_key = |row| kept(trace.cells(row)[KEY.0]);
    let late = same_fates((&whole, &part), trace, of_key)?;
    Ok(late && whole.rows.len() != part.rows.len())
}

pub(super) const M24: Law = Law {
    name: "M24 shards of state",
    world: flows::any,
    prepare: |trace, draw| {
        prepare_flow(trace, draw);
        // A row without a legal time would stay in every shard.
        let mut before = 0;
        for item in 0..trace.items.len() {
            if let Item::Row(row) = trace.items[item] {
                let time = &mut trace.cells[row.cells as usize];
                let legal = time.filter(|it| EventTime(*it).is_legal());
                before = legal.unwrap_or(before);
                *time = Some(before);
            }
        }
    },
    holds: m24,
    covered: 59,
    telling: 48,
};

#[test]
fn m24_the_number_of_shards_of_the_state_changes_nothing() {
    check(&M24);
}

fn m24(trace: &Trace, draw: &mut Draw) -> Held {
    gate(trace)?;
    let legal = |it: &Item| match it {
        Item::Row(row) => trace.time(*row).is_some_and(EventTime::is_legal),
        _ => true,
    };
    need(trace.items.iter().all(legal), "rows with a legal time")?;
    m24_says(trace, draw)
}

/// M24 without asking whether stages work key by key.
fn m24_says(trace: &Trace, draw: &mut Draw) -> Held {
    let shards = 2 + draw.below(3) as u64;
    let whole = Outcome::of(trace)?;
    let mut parts = Vec::new();
    for shard in 0..shards {
        let of = |row: RowItem| slice_of(&[trace.cells(row)[KEY.0]], shards) == shard;
        let part = quieted(trace, of);
        let outcome = Outcome::of(&part)?;
        same_fates((&whole, &outcome), trace, of)?;
        parts.push(outcome);
    }
    let all = by_step(parts.iter().flat_map(|it| it.emitted.iter().cloned()));
    let emitted = first(&by_step(whole.emitted.iter().cloned()), &all, "emission");
    claim(emitted.is_none(), || emitted.unwrap_or_default())?;
    for (at, it) in whole.stages.iter().enumerate() {
        let sum: Option<u64> = parts.iter().map(|part| Some(part.stages.get(at)?.state_rows)).sum();
        claim(sum == Some(it.state_rows), || {
            format!("step {} stage {}: {} and {sum:?} kept", it.step, it.stage, it.state_rows)
        })?;
    }
    let used = parts.iter().filter(|it| !it.emitted.is_empty()).count();
    Ok(1 < used)
}

#[test]
fn a_stage_that_looks_at_several_keys_together_cannot_be_sharded_by_key() {
    let unmeet = |trace: &mut Trace, _: &mut Draw| {
        settle(trace);
        flows::terms::each_session(trace, |it| it.keys.clear());
    };
    check_needed(|seed| flows::world(seed, &[flows::Shape::Session]), unmeet, m24_says, 40);
}
