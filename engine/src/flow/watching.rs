//! From a pass to what is shown to somebody who watches a stage.
//!
//! Invariant: a watched pass is a copy; nothing reads it back.

use crate::late::InForce;
use crate::operator::stage::{Pass, StageOutput, StageVerdict};
use crate::output::watch::{WatchedLate, WatchedPass};
use crate::row::RowBatch;
use std::ops::Range;

/// One pass of a stage, as it is shown; of what it has written the rows from `before` on are new.
pub(super) fn watched(
    pass: &Pass<'_>,
    judging: [InForce; 2],
    removing: [InForce; 2],
    output: &StageOutput,
    before: usize,
) -> WatchedPass {
    let part = |batch: &RowBatch, rows: Range<usize>| {
        let mut part = RowBatch::new(batch.columns.len());
        part.extend_from(batch, rows);
        part
    };
    let from = pass.sides.map(|it| it.map_or(0, |it| it.from));
    let lost = output.judged.iter().filter_map(|it| match it.verdict {
        StageVerdict::Late { bound, lost, kept, one, all } => {
            let row = it.row - from[it.side];
            Some(WatchedLate { side: it.side, row, bound, lost, kept, one, all })
        }
        _ => None,
    });
    WatchedPass {
        step: pass.step,
        cause: pass.cause,
        judging,
        removing,
        late: pass.late,
        evict: pass.evict,
        rows: pass.sides.map(|it| it.map(|it| part(it.batch, it.rows())).unwrap_or_default()),
        lost: lost.collect(),
        written: part(&output.rows, before..output.rows.len()),
        notes: output.notes[before..].to_vec(),
    }
}
