//! Fewer items: the tail, whole groups, runs from long to short, ticks into one another.
//!
//! Every subsequence of a trace is a trace, so an item can always be left out; what makes no sense
//! without it is ignored. A tick that is deleted moves all that follows to an earlier instant; one
//! that is merged into the next does not, which is why both are tried.
//!
//! Invariant: what stays keeps its order.

use super::search::Search;
use super::{Edit, Edits, Pass};
use crate::trace::{Item, Trace};
use plimsoll_engine::row::{ColumnKind, PartitionId};
use std::collections::BTreeSet;
use std::mem::discriminant;
use std::ops::Range;

pub(super) const TAIL: Pass = Pass {
    name: "tail",
    edits: |_| Box::new(std::iter::empty()),
    run: |search| {
        let at = search.seen_at();
        if at < search.len() {
            let cut = search.best().without(at..search.len());
            search.consider(cut);
        }
    },
};

pub(super) const GROUPS: Pass =
    Pass { name: "groups", edits: groups, run: |search| search.sweep(groups) };

pub(super) const RUNS: Pass = Pass { name: "runs", edits: runs, run: delete_runs };

pub(super) const TICKS: Pass =
    Pass { name: "ticks", edits: ticks, run: |search| search.sweep(ticks) };

/// Below this many items, groups are not worth their tries: runs do the same.
const FEW: usize = 12;
/// The most partitions, and the most values of a column, that are dropped one by one.
const MOST_GROUPS: usize = 16;

/// Everything of a partition, of a kind, of a value.
fn groups(trace: &Trace) -> Edits<'_> {
    if trace.items.len() < FEW {
        return Box::new(std::iter::empty());
    }
    let partitions: BTreeSet<PartitionId> =
        trace.items.iter().filter_map(Item::partition).collect();
    let by_partition =
        partitions.into_iter().rev().take(MOST_GROUPS).map(move |partition| -> Edit<'_> {
            Box::new(move || trace.retaining(|it| it.partition() != Some(partition)))
        });
    let mut kinds = Vec::new();
    for item in &trace.items {
        let kind = discriminant(item);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let by_kind = kinds.into_iter().map(move |kind| -> Edit<'_> {
        Box::new(move || trace.retaining(|it| discriminant(it) != kind))
    });
    let columns = trace.plan.schema.columns.iter().enumerate();
    let plain = columns.filter(|(_, it)| it.kind != ColumnKind::Time).map(|(column, _)| column);
    let by_value = plain.flat_map(move |column| {
        let cell = move |it: &Item| match it {
            Item::Row(row) => Some(trace.cells(*row)[column]),
            _ => None,
        };
        let values: BTreeSet<Option<i64>> = trace.items.iter().filter_map(cell).collect();
        let some = if values.len() <= MOST_GROUPS { values } else { BTreeSet::new() };
        some.into_iter().map(move |value| -> Edit<'_> {
            Box::new(move || trace.retaining(|it| cell(it) != Some(value)))
        })
    });
    Box::new(by_partition.chain(by_kind).chain(by_value))
}

/// Runs of half the items, of a quarter, and so on to single ones; from the back, because what comes
/// late depends on what came early.
fn runs(trace: &Trace) -> Edits<'_> {
    let count = trace.items.len();
    let sizes = std::iter::successors(Some(count.div_ceil(2)), |it| (1 < *it).then_some(it / 2));
    let ranges = sizes.filter(|it| 0 < *it).flat_map(move |size| {
        (0..count.div_ceil(size)).map(move |n| {
            let end = count - n * size;
            end.saturating_sub(size)..end
        })
    });
    Box::new(ranges.map(move |range| -> Edit<'_> { Box::new(move || trace.without(range)) }))
}

/// The same, going on behind a success instead of starting anew.
fn delete_runs(search: &mut Search<'_>) {
    let mut size = search.len().div_ceil(2);
    while 0 < size && !search.spent() {
        let mut end = search.len();
        while 0 < end && !search.spent() {
            let start = end.saturating_sub(size);
            let candidate = search.best().without(start..end);
            search.consider(candidate);
            end = start.min(search.len());
        }
        size /= 2;
    }
}

/// Shows that no single item can be taken away; false where the limit comes first.
pub(super) fn cannot_lose_one(search: &mut Search<'_>) -> bool {
    let before = search.kept();
    for at in (0..search.len()).rev() {
        if search.spent() {
            return false;
        }
        let candidate = search.best().without(at..at + 1);
        if search.consider(candidate) {
            break;
        }
    }
    search.kept() == before
}

/// Each tick into the next one, and into the one before.
fn ticks(trace: &Trace) -> Edits<'_> {
    let at: Vec<usize> =
        (0..trace.items.len()).filter(|it| matches!(trace.items[*it], Item::Tick(_))).collect();
    let neighbours: Vec<(usize, usize)> =
        at.windows(2).flat_map(|it| [(it[0], it[1]), (it[1], it[0])]).collect();
    let merged = neighbours.into_iter().map(move |(gone, stays)| -> Edit<'_> {
        Box::new(move || {
            let mut changed = trace.clone();
            if let (Item::Tick(a), Item::Tick(b)) = (trace.items[gone], trace.items[stays]) {
                changed.items[stays] = Item::Tick(a + b);
            }
            changed.without(gone..gone + 1)
        })
    });
    Box::new(merged)
}

impl Trace {
    /// The trace without these items. Their cells stay in the arena until it is
    /// [compacted](Self::compacted).
    pub fn without(&self, range: Range<usize>) -> Self {
        let items = [&self.items[..range.start], &self.items[range.end..]].concat();
        self.of_items(items)
    }

    fn retaining(&self, keep: impl Fn(&Item) -> bool) -> Self {
        self.of_items(self.items.iter().copied().filter(keep).collect())
    }

    /// The same plan, with other items over the same cells.
    fn of_items(&self, items: Vec<Item>) -> Self {
        let kept = Self {
            plan: self.plan.clone(),
            clock: self.clock,
            dictionary: self.dictionary.clone(),
            items,
            cells: Vec::new(),
        };
        kept.with_cells_of(self)
    }

    /// The same trace with no unused cells in its arena.
    pub fn compacted(&self) -> Self {
        self.of_items(self.items.clone())
    }

    /// Copies the cells of its rows from the arena of another trace.
    fn with_cells_of(mut self, from: &Self) -> Self {
        let columns = self.plan.schema.columns.len();
        let mut cells = Vec::new();
        for item in &mut self.items {
            if let Item::Row(row) = item {
                let at = row.cells as usize;
                row.cells = u32::try_from(cells.len()).expect("fewer than 2^32 cells");
                cells.extend_from_slice(&from.cells[at..at + columns]);
            }
        }
        self.cells = cells;
        self
    }
}
