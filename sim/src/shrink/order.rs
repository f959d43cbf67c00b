//! Plainer kinds of items, and neighbours in order.
//!
//! Two failures of one cause should end as one text. What order does not matter is brought into one
//! order; batch lines wander to the end.
//!
//! Invariant: the number of items stays.

use super::{Edit, Edits, Pass};
use crate::trace::restart;
use crate::trace::{Item, RowItem, Trace};
use plimsoll_engine::row::PartitionId;
use plimsoll_engine::watermark::member::Adoption;

pub(super) const PASS: Pass = Pass { name: "order", edits, run: |search| search.sweep(edits) };

/// Longer traces are not sorted: their reader looks for other things first.
const MOST: usize = 64;

fn edits(trace: &Trace) -> Edits<'_> {
    if MOST < trace.items.len() {
        return Box::new(std::iter::empty());
    }
    let kinds = (0..trace.items.len()).flat_map(move |at| {
        plainer(trace, at).into_iter().map(move |it| -> Edit<'_> { Box::new(move || it) })
    });
    let swaps = (1..trace.items.len()).map(move |at| -> Edit<'_> {
        Box::new(move || {
            let mut changed = trace.clone();
            changed.items.swap(at - 1, at);
            changed
        })
    });
    Box::new(kinds.chain(swaps))
}

/// The trace with a plainer item at a place: a row, where one does, or less of what stands there.
fn plainer(trace: &Trace, at: usize) -> Vec<Trace> {
    let with = |item: Item| {
        let mut changed = trace.clone();
        changed.items[at] = item;
        changed
    };
    let row = |partition, time: i64| with_row(trace, at, partition, time);
    let nobody = PartitionId(0);
    match trace.items[at] {
        Item::Heartbeat { partition, time } => vec![row(partition, time.0)],
        Item::Probe => vec![row(nobody, 0)],
        Item::Tick(_) => vec![with(Item::Probe)],
        Item::Remove(partition) | Item::Finish(partition) => vec![row(partition, 0)],
        Item::Crash { stale: true } => vec![with(Item::Crash { stale: false })],
        Item::Restart(rules) => {
            restart::kept_one_more(rules).map(|it| with(Item::Restart(it))).collect()
        }
        Item::Add { partition, .. } => {
            let adoption = Adoption::WithoutWatermark;
            vec![row(partition, 0), with(Item::Add { partition, adoption })]
        }
        Item::Move { partition, .. } => {
            let moved = |adoption| with(Item::Move { partition, adoption });
            let (travels, stays) = (Adoption::WithWatermark, Adoption::WithoutWatermark);
            vec![row(partition, 0), moved(travels), moved(stays)]
        }
        Item::Row(_)
        | Item::Batch
        | Item::Steer(_)
        | Item::Checkpoint
        | Item::Crash { stale: false }
        | Item::End => Vec::new(),
    }
}

/// The trace with a plain row at a place.
fn with_row(trace: &Trace, at: usize, partition: PartitionId, time: i64) -> Trace {
    let mut changed = trace.clone();
    if changed.dictionary.is_empty() {
        changed.dictionary.code("a"); // The code 0 of a text column must have its text.
    }
    let cells = u32::try_from(changed.cells.len()).expect("fewer than 2^32 cells");
    let (columns, on) = (trace.plan.schema.columns.len(), trace.time_column());
    changed.cells.extend((0..columns).map(|it| Some(if it == on { time } else { 0 })));
    changed.items[at] = Item::Row(RowItem { partition, cells });
    changed
}
