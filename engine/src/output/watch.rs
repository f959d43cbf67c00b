//! Watching one stage of a flow: what it was handed, what it said of it and what it wrote, pass by pass.
//!
//! What comes out of a flow is what its last stage writes, and fates are what its first stateful stage
//! says. Everything in between is seen by nobody, unless somebody asks: an explanation names a stage in
//! [`Output::watch`](super::Output::watch) and reads its passes there.
//!
//! Invariant: watching changes nothing of what comes out.

use super::EmissionNote;
use crate::late::InForce;
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
    /// Those of them that it took for late.
    pub lost: Vec<WatchedLate>,
    /// What it wrote.
    pub written: RowBatch,
    /// One note per row written.
    pub notes: Vec<EmissionNote>,
}

/// A row that a watched stage took for late, for all or some of what it could be counted into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WatchedLate {
    /// Which side.
    pub side: usize,
    /// Its number among the rows of that side.
    pub row: usize,
    /// The bound that judged it.
    pub bound: EventTime,
    /// Windows (sessions, join rows: one) lost, the earliest ones.
    pub lost: u32,
    /// Windows that it was counted into all the same.
    pub kept: u32,
    /// The largest bound at which one more window would have taken it.
    pub one: EventTime,
    /// The same for all of them.
    pub all: EventTime,
}
