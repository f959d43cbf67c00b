//! Plainer kinds of items, and neighbours in order.
//!
//! Two failures of one cause should end as one text. What order does not matter is brought into one
//! order; batch lines wander to the end.
//!
//! Invariant: the number of items stays.

use super::{Edit, Edits, Pass};
use crate::trace::{Item, RowItem, Trace};
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

/// The trace with a plainer item at a place.
fn plainer(trace: &Trace, at: usize) -> Vec<Trace> {
    let with = |item: Item| {
        let mut changed = trace.clone();
        changed.items[at] = item;
        changed
    };
    let adoptions = [Adoption::WithWatermark, Adoption::WithoutWatermark];
    match trace.items[at] {
        Item::Heartbeat { partition, time } => {
            let mut changed = trace.clone();
            let cells = u32::try_from(changed.cells.len()).expect("fewer than 2^32 cells");
            let columns = trace.plan.schema.columns.len();
            let time_column = trace.time_column();
            let value = |column| if column == time_column { time.0 } else { 0 };
            changed.cells.extend((0..columns).map(|it| Some(value(it))));
            changed.items[at] = Item::Row(RowItem { partition, cells });
            vec![changed]
        }
        Item::Crash { stale: true } => vec![with(Item::Crash { stale: false })],
        Item::Add { partition, .. } => {
            vec![with(Item::Add { partition, adoption: Adoption::WithoutWatermark })]
        }
        Item::Move { partition, .. } => {
            adoptions.map(|adoption| with(Item::Move { partition, adoption })).to_vec()
        }
        _ => Vec::new(),
    }
}
