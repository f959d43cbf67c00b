//! What the stages that group rows share: a row's key and time, and to which row an output is ascribed.
//!
//! A key is the values of the grouping columns, null being a value like others, smaller than all. A
//! row that is written because a row was counted carries that row's number, partition and arrival. One
//! that the watermark made due carries the number of the pass's cause, with that row's partition and
//! arrival if it is a row of the pass, else with those of nobody (0).
//!
//! A legal time is within 2^61 of zero, but behind a stage of enormous windows a window's time may lie
//! beyond. Up to 2^62 all arithmetic of windows and sessions is exact; what lies further out counts as
//! no time.
//!
//! Invariant: equal keys are equal values in equal order, and keys are ordered by value.

#[cfg(test)]
pub(crate) mod drive;
pub(crate) mod shelf;

pub(crate) use super::keyed::Key;
use super::stage::{Pass, StageOutput};
use crate::output::EmissionNote;
use crate::row::{ColumnIx, ItemId, PartitionId, RowBatch};
use crate::time::{EventTime, ProcTime, Span};
use crate::window::Window;

/// The furthest from zero that a time may be.
const FURTHEST: i64 = 1 << 62;

/// The key of a row.
pub(crate) fn key_of(batch: &RowBatch, columns: &[ColumnIx], row: usize) -> Key {
    Key::of(batch, row, columns.iter().copied())
}

/// The cells of a key.
pub(crate) fn cells_of(key: &Key) -> &[Option<i64>] {
    match key {
        Key::One(cell) => std::slice::from_ref(cell),
        Key::Many(cells) => cells,
    }
}

/// The time of a row; `None` where there is none to work with.
pub(crate) fn time_of(batch: &RowBatch, column: ColumnIx, row: usize) -> Option<EventTime> {
    let time = batch.columns[column.0].get(row)?;
    (-FURTHEST..=FURTHEST).contains(&time).then_some(EventTime(time))
}

/// How the output row of a window or session begins: start, end, output time, key.
pub(crate) fn window_cells(window: Window, key: &Key) -> Vec<Option<i64>> {
    let times = [window.start, window.end, window.end - Span(1)];
    times.iter().map(|it| Some(it.0)).chain(cells_of(key).iter().copied()).collect()
}

/// To which row an output is ascribed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    id: ItemId,
    partition: PartitionId,
    arrival: ProcTime,
}

impl Origin {
    /// To this row.
    pub(crate) fn row(batch: &RowBatch, row: usize) -> Self {
        let (partition, arrival) = (batch.partitions[row], batch.arrivals[row]);
        Self { id: batch.ids[row], partition, arrival }
    }

    /// To what caused the pass.
    pub(crate) fn cause(pass: &Pass<'_>) -> Self {
        let row = pass.sides.iter().flatten().find_map(|it| {
            let row = it.rows().rev().find(|row| it.batch.ids[*row] == pass.cause)?;
            Some(Self::row(it.batch, row))
        });
        let (partition, arrival) = (PartitionId::default(), ProcTime::default());
        row.unwrap_or(Self { id: pass.cause, partition, arrival })
    }

    /// Writes a row.
    pub(crate) fn emit(self, cells: &[Option<i64>], note: EmissionNote, out: &mut StageOutput) {
        out.rows.push(self.id, self.partition, self.arrival, cells);
        out.notes.push(note);
    }

    /// Writes the row whose cells stand ready in the output.
    pub(crate) fn emit_cells(self, note: EmissionNote, out: &mut StageOutput) {
        out.rows.push(self.id, self.partition, self.arrival, &out.cells);
        out.notes.push(note);
    }
}
