//! Which step takes which items.
//!
//! Rows, heartbeats and changes of partitions wait in a queue. The trigger says when a step takes
//! them, and how many steps there are. Only rows make a step a `Data` step.
//!
//! Reading: under `row` a `batch` item begins no step; it is ignored and counted, as under
//! `interval`.
//!
//! Invariant: every queued item is taken by exactly one step, in order. Source: `trace`, section 10
//! of semantics.

use crate::trace::Item;
use plimsoll_engine::output::StepKind;
use plimsoll_engine::plan::Trigger;
use plimsoll_engine::row::ItemId;
use plimsoll_engine::time::ProcTime;
use std::ops::Range;

/// An item that waits, with its arrival.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    pub(super) id: ItemId,
    pub(super) item: Item,
    pub(super) arrival: ProcTime,
}

impl Queued {
    pub(super) const fn is_row(&self) -> bool {
        matches!(self.item, Item::Row(_))
    }
}

/// What an item begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Begin {
    /// No step.
    Nothing,
    /// No step, and the item makes no sense under this trigger.
    Ignored,
    /// One step of what is queued; without rows it has this kind.
    Step(StepKind),
    /// Steps of at most so many rows, then the query stops.
    Stop(u64),
    /// One step of what is queued, if anything is, then the end of input.
    End,
}

/// The trigger and how far it is.
#[derive(Debug)]
pub(super) struct Schedule {
    trigger: Trigger,
    start: ProcTime,
    periods: i64,
}

impl Schedule {
    pub(super) const fn new(trigger: Trigger, start: ProcTime) -> Self {
        Self { trigger, start, periods: 0 }
    }

    /// What an item begins, at this instant.
    pub(super) fn begin(&mut self, item: &Item, now: ProcTime) -> Begin {
        match (self.trigger, item) {
            (_, Item::Checkpoint | Item::Crash { .. } | Item::Restart(_)) => Begin::Nothing,
            (Trigger::Once, Item::Batch | Item::End) => Begin::Stop(u64::MAX),
            (Trigger::AvailableNow(rows), Item::Batch | Item::End) => Begin::Stop(rows.max(1)),
            (_, Item::End) => Begin::End,
            (Trigger::Row | Trigger::Interval(_), Item::Batch) => Begin::Ignored,
            (Trigger::Row, _) => Begin::Step(StepKind::Probe),
            (Trigger::Batch, Item::Batch) => Begin::Step(StepKind::Empty),
            (Trigger::Interval(period), Item::Tick(_) | Item::Probe) => {
                let periods = now.since(self.start).0 / period.0.max(1);
                let grown = self.periods < periods;
                self.periods = periods;
                if grown { Begin::Step(StepKind::Empty) } else { Begin::Nothing }
            }
            _ => Begin::Nothing,
        }
    }
}

/// The kind of a step over these items.
pub(super) fn kind(items: &[Queued], without_rows: StepKind) -> StepKind {
    if items.iter().any(Queued::is_row) { StepKind::Data } else { without_rows }
}

/// Cuts a queue into steps of at most `rows` rows, each ending after its last row, except that what
/// stands behind the very last row belongs to the last step. There is always one.
pub(super) fn pieces(items: &[Queued], rows: u64) -> Vec<Range<usize>> {
    let mut left = items.iter().filter(|it| it.is_row()).count() as u64;
    let (mut pieces, mut from, mut taken) = (Vec::new(), 0, 0);
    for (at, it) in items.iter().enumerate() {
        if !it.is_row() {
            continue;
        }
        taken += 1;
        left -= 1;
        if taken == rows && left > 0 {
            pieces.push(from..at + 1);
            (from, taken) = (at + 1, 0);
        }
    }
    pieces.push(from..items.len());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::RowItem;
    use plimsoll_engine::row::PartitionId;
    use plimsoll_engine::time::Span;

    fn queue(text: &str) -> Vec<Queued> {
        let item = |it| match it {
            'r' => Item::Row(RowItem { partition: PartitionId(0), cells: 0 }),
            _ => Item::Finish(PartitionId(0)),
        };
        let queued = |it| Queued { id: ItemId(0), item: item(it), arrival: ProcTime(0) };
        text.chars().map(queued).collect()
    }

    #[test]
    fn available_now_ends_a_step_after_its_last_row_and_the_rest_goes_with_the_last() {
        let cuts = |text| {
            let pieces = pieces(&queue(text), 2).into_iter();
            pieces.map(|it| (it.start, it.end)).collect::<Vec<_>>()
        };
        assert_eq!(cuts("rrfrf"), [(0, 2), (2, 5)]);
        assert_eq!(cuts("frrff"), [(0, 5)]);
        assert_eq!(cuts("rrrrr"), [(0, 2), (2, 4), (4, 5)]);
        assert_eq!(cuts("ff"), [(0, 2)]);
        assert_eq!(cuts(""), [(0, 0)]);
    }

    #[test]
    fn an_interval_begins_one_step_however_many_periods_have_passed() {
        let mut schedule = Schedule::new(Trigger::Interval(Span(60)), ProcTime(1_000));
        let tick = Item::Tick(Span(0));
        let mut at = |now| schedule.begin(&tick, ProcTime(now));
        assert_eq!(at(1_059), Begin::Nothing);
        assert_eq!(at(1_060), Begin::Step(StepKind::Empty));
        assert_eq!(at(1_119), Begin::Nothing);
        assert_eq!(at(1_300), Begin::Step(StepKind::Empty));
        assert_eq!(at(1_300), Begin::Nothing);
        assert_eq!(schedule.begin(&Item::Batch, ProcTime(1_400)), Begin::Ignored);
    }
}
