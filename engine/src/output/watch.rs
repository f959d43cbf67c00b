//! Watching one stage of a flow: what it was handed, what it said of it and what it wrote, pass by pass.
//!
//! What comes out of a flow is what its last stage writes, and fates are what its first stateful stage
//! says. Everything in between is seen by nobody, unless somebody asks: an explanation names a stage in
//! [`Output::watch`](super::Output::watch) and reads its passes there.
//!
//! Invariant: watching changes nothing of what comes out.

use super::EmissionNote;
use crate::late::InForce;
use crate::operator::stage::{Judged, Pass, StageOutput};
use crate::row::{ItemId, RowBatch};
use crate::time::EventTime;

/// A stage that is watched.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// Which one, by its position in the flow.
    pub stage: usize,
    /// Its passes since the last [`clear`](super::Output::clear), in order.
    pub passes: Vec<WatchedPass>,
}

/// One pass of a watched stage.
#[derive(Clone, Debug)]
pub struct WatchedPass {
    /// The step.
    pub step: u64,
    /// The item to which belongs what no single row caused.
    pub cause: ItemId,
    /// What judges in this pass at the first stage, per side, with where it comes from.
    pub judging: [InForce; 2],
    /// What removes in this pass at the first stage, per line, with where it comes from.
    pub removing: [InForce; 2],
    /// What of that judges at this stage, per side.
    pub late: [EventTime; 2],
    /// What removes at this stage, per side.
    pub evict: [EventTime; 2],
    /// The rows handed to it, per side; without columns where a side has none.
    pub rows: [RowBatch; 2],
    /// What it said of those that it did not simply take.
    pub judged: Vec<Judged>,
    /// What it wrote.
    pub written: RowBatch,
    /// One note per row written.
    pub notes: Vec<EmissionNote>,
}

impl Watch {
    /// Remembers a pass.
    pub(crate) fn observe(
        &mut self,
        pass: &Pass<'_>,
        judging: [InForce; 2],
        removing: [InForce; 2],
        output: &StageOutput,
    ) {
        self.passes.push(WatchedPass {
            step: pass.step,
            cause: pass.cause,
            judging,
            removing,
            late: pass.late,
            evict: pass.evict,
            rows: pass.sides.map(|it| it.cloned().unwrap_or_default()),
            judged: output.judged.clone(),
            written: output.rows.clone(),
            notes: output.notes.clone(),
        });
    }
}
