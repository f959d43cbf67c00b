//! For the tests of grouping stages: passes of a few rows, and what was written in short.
//!
//! Invariant: nothing here decides anything.

use crate::operator::stage::{Handed, Judged, Pass, StageOutput};
use crate::output::{EmissionKind, RemarkKind};
use crate::plan::OutputMode;
use crate::row::{ColumnIx, ItemId, PartitionId, RowBatch};
use crate::time::{EventTime, ProcTime};

/// The column of times in the rows made here.
pub(crate) const TIME: ColumnIx = ColumnIx(0);
/// The column of keys.
pub(crate) const KEY: ColumnIx = ColumnIx(1);
/// The column of values.
pub(crate) const VALUE: ColumnIx = ColumnIx(2);

/// What caused a pass that no row caused.
pub(crate) const CAUSE: ItemId = ItemId(1_000);

/// Rows (number, time, key, value).
pub(crate) fn rows(of: &[(u64, i64, i64, i64)]) -> RowBatch {
    let mut batch = RowBatch::new(3);
    for (id, time, key, value) in of {
        let cells = [Some(*time), Some(*key), Some(*value)];
        batch.push(ItemId(*id), PartitionId(7), ProcTime(*id as i64), &cells);
    }
    batch
}

/// What a pass made: rows without their notes' step and time, and the rest.
#[derive(Debug)]
pub(crate) struct Made {
    /// The rows: number, kind, pane, cells.
    pub(crate) rows: Vec<(u64, EmissionKind, u32, Vec<Option<i64>>)>,
    /// As it is.
    pub(crate) out: StageOutput,
}

impl Made {
    /// Kind and cells of each row; null is -1.
    pub(crate) fn cells(&self) -> Vec<(EmissionKind, Vec<i64>)> {
        let plain = |it: &Vec<Option<i64>>| it.iter().map(|it| it.unwrap_or(-1)).collect();
        self.rows.iter().map(|it| (it.1, plain(&it.3))).collect()
    }

    /// What was judged, by row.
    pub(crate) fn judged(&self) -> &[Judged] {
        &self.out.judged
    }

    /// What was remarked.
    pub(crate) fn remarks(&self) -> &[(ItemId, RemarkKind)] {
        &self.out.remarks
    }
}

/// A pass in which late and evict bound are given.
pub(crate) fn pass(
    batch: &RowBatch,
    late: i64,
    evict: i64,
    mode: OutputMode,
    stage: impl FnOnce(&Pass<'_>, &mut StageOutput),
    columns: usize,
) -> Made {
    let both = |it| [EventTime(it), EventTime::MIN];
    let pass = Pass {
        step: 3,
        sides: [Some(Handed::all(batch)), None],
        late: both(late),
        evict: both(evict),
        mode,
        triggered: true,
        cause: CAUSE,
    };
    let mut out = StageOutput::new(columns);
    stage(&pass, &mut out);
    assert_eq!(out.rows.len(), out.notes.len(), "one note per row");
    let row = |it: usize| {
        let note = out.notes[it];
        let cells = out.rows.columns.iter().map(|column| column.get(it)).collect();
        (out.rows.ids[it].0, note.kind, note.pane, cells)
    };
    Made { rows: (0..out.rows.len()).map(row).collect(), out }
}
