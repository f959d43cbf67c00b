//! From a pass to what is shown to somebody who watches a stage.
//!
//! Invariant: a watched pass is a copy; nothing reads it back.

use crate::late::InForce;
use crate::operator::stage::{Pass, StageOutput, StageVerdict};
use crate::output::watch::{WatchedLate, WatchedPass};

/// One pass of a stage, as it is shown.
pub(super) fn watched(
    pass: &Pass<'_>,
    judging: [InForce; 2],
    removing: [InForce; 2],
    output: &StageOutput,
) -> WatchedPass {
    let lost = output.judged.iter().filter_map(|it| match it.verdict {
        StageVerdict::Late { bound, lost, kept, one, all } => {
            Some(WatchedLate { side: it.side, row: it.row, bound, lost, kept, one, all })
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
        rows: pass.sides.map(|it| it.cloned().unwrap_or_default()),
        lost: lost.collect(),
        written: output.rows.clone(),
        notes: output.notes.clone(),
    }
}
