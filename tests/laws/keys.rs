//! Names of keys: M8. Keys are names; which name a key has changes nothing but the name.
//!
//! The order of groups inside one firing is that of first arrival or of the keys themselves, so
//! firings are compared as multisets.
//!
//! Invariant: no rule of the query looks at a key as at a number, and null stays null.

use super::case::{Draw, check, check_needed, plain};
use super::flows::terms::flow_terms;
use super::flows::{self, KEY};
use super::outcome::{Outcome, Write, first};
use super::{Held, Law, No, claim, need};
use plimsoll_engine::row::{ColumnIx, ColumnKind};
use plimsoll_sim::trace::{Item, Trace};
use std::collections::BTreeMap;

/// New names of the values of a column.
type Names = BTreeMap<i64, i64>;

/// The values of a column under each other's names.
fn exchanged(trace: &Trace, column: ColumnIx, draw: &mut Draw) -> Names {
    let cell = |it: &Item| match it {
        Item::Row(row) => trace.cells(*row)[column.0],
        _ => None,
    };
    let mut old: Vec<i64> = trace.items.iter().filter_map(cell).collect();
    old.sort_unstable();
    old.dedup();
    let mut new = old.clone();
    draw.shuffle(&mut new);
    old.into_iter().zip(new).collect()
}

fn rename(trace: &mut Trace, column: ColumnIx, names: &Names) {
    for item in &trace.items {
        if let Item::Row(row) = item {
            let cell = &mut trace.cells[row.cells as usize + column.0];
            *cell = cell.map(|it| names[&it]);
        }
    }
}

fn is_telling(names: &Names) -> bool {
    names.iter().any(|(old, new)| old != new)
}

pub(super) const M8: Law = Law {
    name: "M8 key permutation",
    world: plain,
    prepare: |_, _| {},
    holds: m8,
    covered: 77,
    telling: 55,
};

#[test]
fn m8_keys_under_other_names_make_the_same_figures_under_these_names() {
    check(&M8);
}

fn m8(trace: &Trace, draw: &mut Draw) -> Held {
    let operator = trace.plan.operator.as_ref().ok_or(No::Uncovered("windows"))?;
    let keys = &operator.keys;
    need(!keys.is_empty(), "keys")?;
    let reads = |it: &ColumnIx| operator.aggregates.iter().any(|of| of.column() == Some(*it));
    let is_time = |it: &ColumnIx| trace.plan.schema.columns[it.0].kind == ColumnKind::Time;
    let only_names = !keys.iter().any(is_time) && !keys.iter().any(reads);
    need(only_names, "keys that are only keys")?;
    let mut other = trace.clone();
    let names: Vec<Names> = keys.iter().map(|it| exchanged(trace, *it, draw)).collect();
    for (column, names) in keys.iter().zip(&names) {
        rename(&mut other, *column, names);
    }
    let mut expected = Outcome::of(trace)?;
    for it in &mut expected.writes {
        for (cell, names) in it.key.iter_mut().zip(&names) {
            *cell = cell.map(|it| names[&it]);
        }
    }
    let (one, two) = (in_firings(expected), in_firings(Outcome::of(&other)?));
    let difference = one.difference(&two);
    claim(difference.is_none(), || difference.unwrap_or_default())?;
    Ok(names.iter().any(is_telling) && !one.writes.is_empty())
}

/// The writes of each firing in order of key.
fn in_firings(outcome: Outcome) -> Outcome {
    let same = |one: &Write, two: &Write| one.step == two.step && one.window == two.window;
    let mut sorted = outcome;
    for firing in sorted.writes.chunk_by_mut(same) {
        firing.sort_by(|one, two| one.key.cmp(&two.key));
    }
    sorted
}

pub(super) const M8_FLOWS: Law = Law {
    name: "M8 key permutation of a flow",
    world: flows::any,
    prepare: |_, _| {},
    holds: m8_flows,
    covered: 85,
    telling: 56,
};

#[test]
fn m8_a_flow_takes_keys_for_names() {
    check(&M8_FLOWS);
}

fn m8_flows(trace: &Trace, draw: &mut Draw) -> Held {
    flow_terms(trace)?.keys_out()?;
    m8_flows_says(trace, draw)
}

/// M8 without asking what is done with the key.
fn m8_flows_says(trace: &Trace, draw: &mut Draw) -> Held {
    let schemas = flow_terms(trace)?.flow.schemas(&trace.plan.schema);
    let columns = schemas.last().expect("at least the input's").columns.iter().enumerate();
    let keys = columns.filter(|it| ["k", "l_k", "r_k"].contains(&it.1.name.as_str()));
    let keys: Vec<usize> = keys.map(|it| it.0).collect();
    let names = exchanged(trace, KEY, draw);
    let mut other = trace.clone();
    rename(&mut other, KEY, &names);
    let mut expected = Outcome::of(trace)?;
    for it in &mut expected.emitted {
        for at in &keys {
            it.cells[*at] = it.cells[*at].map(|it| names[&it]);
        }
    }
    let (one, two) = (expected.sorted(), Outcome::of(&other)?.sorted());
    let steps = first(&one.steps, &two.steps, "step");
    claim(steps.is_none(), || steps.unwrap_or_default())?;
    claim(one.late == two.late, || format!("{:?}\n{:?}", one.late, two.late))?;
    claim(one.other == two.other, || format!("{:?}\n{:?}", one.other, two.other))?;
    let emitted = first(&one.emitted, &two.emitted, "emission");
    claim(emitted.is_none(), || emitted.unwrap_or_default())?;
    Ok(is_telling(&names) && !one.emitted.is_empty())
}

#[test]
fn a_filter_on_the_key_looks_at_it_as_at_a_number() {
    use plimsoll_engine::plan::flow::{Compare, Filter, StagePlan};
    let unmeet = |trace: &mut Trace, _: &mut Draw| {
        let filter = Filter { column: KEY, compare: Compare::AtLeast, value: 1 };
        flows::terms::flow(trace).stages.insert(0, StagePlan::Filter(filter));
    };
    check_needed(|seed| flows::world(seed, &[flows::Shape::Window]), unmeet, m8_flows_says, 40);
}
