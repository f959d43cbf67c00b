//! Fewer partitions, with the smallest numbers, in the order in which they appear.
//!
//! In a flow a partition stays with its input, and is read by the input's first task in the end.
//!
//! Invariant: items keep their places; only whose they are changes.

use super::{Edit, Edits, Pass};
use crate::trace::{Item, Trace};
use plimsoll_engine::row::PartitionId;
use std::collections::BTreeMap;

pub(super) const PASS: Pass = Pass { name: "partitions", edits, run: |search| search.sweep(edits) };

/// The most partitions that are merged two by two.
const MOST: usize = 12;

fn edits(trace: &Trace) -> Edits<'_> {
    let mut seen: Vec<PartitionId> = Vec::new();
    for partition in trace.items.iter().filter_map(Item::partition) {
        if !seen.contains(&partition) {
            seen.push(partition);
        }
    }
    // The smallest number that a partition may have and still be one of its input.
    let base = move |it: PartitionId| match trace.plan.flow {
        Some(_) => it.0 - PartitionId::of(0, it.task(), it.number()).0,
        None => 0,
    };
    let all_one: BTreeMap<_, _> = seen.iter().map(|it| (*it, PartitionId(base(*it)))).collect();
    let nth = |at: usize| {
        let before = seen[..at].iter().filter(|it| base(**it) == base(seen[at]));
        PartitionId(base(seen[at]) + before.count() as u32)
    };
    let renumbered: BTreeMap<_, _> =
        seen.iter().enumerate().map(|(at, it)| (*it, nth(at))).collect();
    let most = if seen.len() <= MOST { seen.len() } else { 0 };
    let pairs: Vec<BTreeMap<PartitionId, PartitionId>> = (0..most)
        .flat_map(|a| (0..a).rev().map(move |b| (a, b)))
        .filter(|(a, b)| base(seen[*a]) == base(seen[*b]))
        .map(|(a, b)| BTreeMap::from([(seen[a], seen[b])]))
        .collect();
    // Numbers change hands only as a whole; single ones go down to free numbers and beyond.
    let lower = seen.iter().flat_map(|it| {
        let free = (base(*it)..it.0).map(PartitionId).find(|it| !seen.contains(it));
        free.map(|free| BTreeMap::from([(*it, free)]))
    });
    let lower: Vec<_> = lower.collect();
    let names = [all_one, renumbered].into_iter().chain(pairs).chain(lower);
    Box::new(names.map(move |names| -> Edit<'_> { Box::new(move || renamed(trace, &names)) }))
}

fn renamed(trace: &Trace, names: &BTreeMap<PartitionId, PartitionId>) -> Trace {
    let mut changed = trace.clone();
    for partition in changed.items.iter_mut().filter_map(Item::partition_mut) {
        if let Some(name) = names.get(partition) {
            *partition = *name;
        }
    }
    changed
}
