//! The call that every stage of a flow answers.
//!
//! A stage is handed the rows of one pass, one batch per side, and its bounds; it fills a
//! [`StageOutput`]. Within the call the order is fixed: judge and apply the left rows, then the right
//! ones; evict; write. The law is in [`crate::plan::flow`].
//!
//! Invariant: a stage is a function of its calls; what it keeps is plain data, so that a snapshot is
//! that data and nothing else.

use crate::output::{EmissionNote, RemarkKind};
use crate::plan::OutputMode;
use crate::row::{ItemId, RowBatch};
use crate::time::EventTime;
use std::ops::Range;

/// What one pass hands to a stage.
#[derive(Clone, Copy, Debug)]
pub struct Pass<'a> {
    /// The step's number.
    pub step: u64,
    /// The rows of each side; one side only, unless the stage is a join.
    pub sides: [Option<Handed<'a>>; 2],
    /// By what rows of each side are judged; `MIN` judges nobody.
    pub late: [EventTime; 2],
    /// What removes the state of each side.
    pub evict: [EventTime; 2],
    /// What is written.
    pub mode: OutputMode,
    /// Whether complete mode writes in this pass (Data, Empty and End steps).
    pub triggered: bool,
    /// The item to which rows belong that no single row caused.
    pub cause: ItemId,
}

/// Rows that a stage is handed: some of a batch, side by side.
#[derive(Clone, Copy, Debug)]
pub struct Handed<'a> {
    /// The batch; rows go by their numbers in it.
    pub batch: &'a RowBatch,
    /// The first of them.
    pub from: usize,
    /// The one behind the last.
    pub to: usize,
}

impl<'a> Handed<'a> {
    /// A whole batch.
    pub fn all(batch: &'a RowBatch) -> Self {
        Self { batch, from: 0, to: batch.len() }
    }

    /// Their numbers.
    #[inline]
    pub const fn rows(self) -> Range<usize> {
        self.from..self.to
    }
}

/// What a stage makes of a pass. Reused by the caller, which clears it.
#[derive(Debug, Default)]
pub struct StageOutput {
    /// What it writes, in its output columns. The id of a row is that of the row which caused it
    /// (the later one of a pair), else the pass's cause; partition and arrival are those of that row.
    pub rows: RowBatch,
    /// One note per row written.
    pub notes: Vec<EmissionNote>,
    /// Rows handed to it that were not simply taken.
    pub judged: Vec<Judged>,
    /// What contradicts what was published or forgotten before, as far as hindsight reaches.
    pub remarks: Vec<(ItemId, RemarkKind)>,
    /// What it did since somebody took the numbers.
    pub tally: Tally,
    /// Memory of a row that is being written.
    pub(crate) cells: Vec<Option<i64>>,
}

impl StageOutput {
    /// Nothing yet, for this many output columns.
    pub fn new(columns: usize) -> Self {
        Self { rows: RowBatch::new(columns), ..Self::default() }
    }

    /// Forgets what it makes of a pass, but for the tally and, where they are `kept`, the rows
    /// written.
    #[inline]
    pub fn begin(&mut self, kept: bool) {
        if !kept {
            self.rows.clear();
            self.notes.clear();
        }
        self.judged.clear();
        self.remarks.clear();
    }
}

/// A row that was not simply taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Judged {
    /// Which side.
    pub side: usize,
    /// Its number in the side's batch.
    pub row: usize,
    /// What became of it.
    pub verdict: StageVerdict,
}

/// What became of such a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StageVerdict {
    /// Late.
    Late {
        /// The bound that judged it.
        bound: EventTime,
        /// Windows (sessions, join rows: one) lost.
        lost: u32,
        /// Windows that it was counted into all the same.
        kept: u32,
        /// The largest watermark at which the first (of the kept order: latest) lost window would
        /// still have taken it: what a delay must reach to save one.
        one: EventTime,
        /// The same for the last of them: what saves all.
        all: EventTime,
    },
    /// Seen before; by this row.
    Duplicate(ItemId),
    /// It needs a time and has none.
    NoTime,
    /// In the hole between windows.
    NoWindow,
    /// Its own gap is null, zero or negative.
    NoGap,
}

/// What a stage did in a pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Groups, entries or stored rows that were added or changed.
    pub updated: u64,
    /// Groups, entries or stored rows that left.
    pub removed: u64,
    /// Rows late for all that they could have been counted into.
    pub rows_dropped: u64,
    /// (window, key) groups of late rows in this pass: rows of one group count once. For sessions
    /// (input, key, time) triples, for dedup and joins rows.
    pub groups_dropped: u64,
    /// Duplicates.
    pub duplicates: u64,
}
