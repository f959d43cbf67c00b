//! Rows that a join keeps, and what it writes of them.
//!
//! What is written belongs to a row: a pair to the one that arrived later and found the other, a row
//! without a partner to itself, an answer of an as-of join to the left row that asked. That row gives
//! its id, its partition and its arrival.
//!
//! Invariant: one note per row written.

mod cells;

use crate::operator::stage::StageOutput;
use crate::output::{EmissionKind, EmissionNote};
use crate::row::{ItemId, PartitionId, RowBatch};
use crate::time::{EventTime, ProcTime};
pub(crate) use cells::Cells;
use serde::{Deserialize, Serialize};

/// A row that waits for partners.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Stored {
    /// Its id.
    pub(crate) id: ItemId,
    /// Where it came from.
    pub(crate) partition: PartitionId,
    /// When it arrived.
    pub(crate) arrival: ProcTime,
    /// Whether it has found a partner.
    pub(crate) matched: bool,
    /// All its cells.
    pub(crate) cells: Cells,
}

impl Stored {
    /// A row of a batch.
    pub(crate) fn of(rows: &RowBatch, row: usize) -> Self {
        Self {
            id: rows.ids[row],
            partition: rows.partitions[row],
            arrival: rows.arrivals[row],
            matched: false,
            cells: Cells::of(rows, row),
        }
    }
}

/// Where a pass writes.
pub(crate) struct Writer<'a> {
    /// What the stage makes of the pass.
    pub(crate) out: &'a mut StageOutput,
    /// The step.
    step: u64,
    /// Whether the right columns are written too.
    both: bool,
}

impl<'a> Writer<'a> {
    /// For one pass.
    pub(crate) const fn new(out: &'a mut StageOutput, step: u64, both: bool) -> Self {
        Self { out, step, both }
    }

    /// Writes `sides`, left and right, with nulls for one that is missing.
    pub(crate) fn write(
        &mut self,
        kind: EmissionKind,
        time: EventTime,
        cause: &Stored,
        sides: [Option<&Stored>; 2],
    ) {
        let cells = &mut self.out.cells;
        cells.clear();
        for side in &sides[..if self.both { 2 } else { 1 }] {
            match side {
                Some(row) => cells.extend(row.cells.iter()),
                // The inputs share their columns.
                None => cells.resize(cells.len() + cause.cells.len(), None),
            }
        }
        self.out.rows.push(cause.id, cause.partition, cause.arrival, cells);
        self.out.notes.push(EmissionNote { step: self.step, kind, time, pane: 0 });
    }

    /// Writes a row of one side that has found nobody.
    pub(crate) fn unmatched(&mut self, time: EventTime, side: usize, row: &Stored) {
        let sides = if side == 0 { [Some(row), None] } else { [None, Some(row)] };
        self.write(EmissionKind::Unmatched, time, row, sides);
    }
}
