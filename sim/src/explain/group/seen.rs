//! What a stage of a flow was seen doing: rows handed to it, verdicts, writings, pass by pass.
//!
//! Invariant: facts only, in the order in which they happened.

use crate::explain::ExplainError;
use crate::explain::history::History;
use crate::trace::{Item, Trace};
use plimsoll_engine::late::InForce;
use plimsoll_engine::output::watch::{WatchedLate, WatchedPass};
use plimsoll_engine::output::{EmissionNote, RemarkKind};
use plimsoll_engine::plan::restore::Memory;
use plimsoll_engine::row::{ItemId, PartitionId, RowBatch};
use plimsoll_engine::time::EventTime;
use plimsoll_engine::window::Window;
use std::collections::BTreeSet;
use std::ops::Range;

/// Cells of a row as a stage has them.
pub(super) type Cells = Vec<Option<i64>>;

/// All that was seen.
pub(super) struct Seen {
    /// The passes, in order.
    pub(super) passes: Vec<PassOf>,
    /// The rows handed over, in order.
    pub(super) rows: Vec<Handed>,
    /// The numbers of those rows.
    pub(super) handed: BTreeSet<ItemId>,
    /// What was written, in order.
    pub(super) written: Vec<Written>,
    /// Restarts that lost what stages held: how many passes stand before each.
    pub(super) restarts: Vec<(usize, ItemId)>,
    /// Rows that made a session overlap one that had been written before.
    pub(super) splits: Vec<(ItemId, Window)>,
    /// What the whole run did.
    pub(super) history: History,
}

/// One pass.
pub(super) struct PassOf {
    /// The item at hand.
    pub(super) item: ItemId,
    /// What judges at the first stage, per side.
    pub(super) judging: [InForce; 2],
    /// What removes at the first stage, per line; one and the same unless the sides of a join have
    /// watermarks of their own.
    pub(super) removing: [InForce; 2],
    /// What removes at this stage, per side.
    pub(super) evict: [EventTime; 2],
}

/// A row that was handed to the stage.
pub(super) struct Handed {
    /// In which pass.
    pub(super) pass: usize,
    /// On which side.
    pub(super) side: usize,
    /// The row of the trace, or who caused what a stage before wrote.
    pub(super) id: ItemId,
    /// Where it came from.
    pub(super) partition: PartitionId,
    /// Its cells.
    pub(super) cells: Cells,
    /// What it missed, where the stage took it for late.
    pub(super) late: Option<WatchedLate>,
}

/// A row that the stage wrote.
pub(super) struct Written {
    /// In which pass.
    pub(super) pass: usize,
    /// The kind of writing.
    pub(super) note: EmissionNote,
    /// Its cells.
    pub(super) cells: Cells,
}

impl Seen {
    /// Runs a trace and watches one of its stages.
    pub(super) fn of(trace: &Trace, stage: usize) -> Result<Self, ExplainError> {
        let (mut passes, mut rows, mut written) = (Vec::new(), Vec::new(), Vec::new());
        let (mut splits, mut restarts) = (Vec::new(), Vec::new());
        let history = History::watching(trace, stage, &mut |seen| {
            if matches!(seen.item, Item::Restart(rules) if rules.windows == Memory::Lost) {
                restarts.push((passes.len(), seen.id));
            }
            let of_stage = seen.output.remarks.iter().filter(|it| it.stage == stage);
            splits.extend(of_stage.filter_map(|it| match it.kind {
                RemarkKind::SessionSplit { start, end } => Some((it.id, Window { start, end })),
                _ => None,
            }));
            for it in seen.output.watch.iter().flat_map(|it| &it.passes) {
                let pass = passes.len();
                handed(it, pass, &mut rows);
                written.extend((0..it.written.len()).map(|row| Written {
                    pass,
                    note: it.notes[row],
                    cells: cells(&it.written, row),
                }));
                passes.push(PassOf {
                    item: seen.id,
                    judging: it.judging,
                    removing: it.removing,
                    evict: it.evict,
                });
            }
        });
        let history = history.map_err(ExplainError::Plan)?;
        let handed = rows.iter().map(|it| it.id).collect();
        Ok(Self { passes, rows, handed, written, restarts, splits, history })
    }

    /// Of the two lines that remove in a pass the one that decides: the only one that has moved since the
    /// pass before, else the lower one.
    pub(super) fn deciding(&self, pass: usize) -> InForce {
        let [one, other] = self.passes[pass].removing;
        let before = pass.checked_sub(1).map(|it| self.passes[it].removing);
        let lower = if one.watermark <= other.watermark { one } else { other };
        let Some([one_before, other_before]) = before else { return lower };
        match (one_before.watermark < one.watermark, other_before.watermark < other.watermark) {
            (true, false) => one,
            (false, true) => other,
            _ => lower,
        }
    }

    /// Whether some pass of these removes what ends here.
    pub(super) fn removes(&self, sides: usize, end: EventTime, passes: Range<usize>) -> bool {
        let removes = |it: &PassOf| it.evict[..sides].iter().all(|it| end <= *it);
        self.passes[passes].iter().any(removes)
    }

    /// The first pass from `from` on that removes what ends here, on all of these sides.
    pub(super) fn removing(&self, sides: usize, end: EventTime, from: usize) -> Option<usize> {
        let removes = |it: &PassOf| it.evict[..sides].iter().all(|it| end <= *it);
        let passes = self.passes.iter().enumerate().skip(from);
        passes.filter(|it| removes(it.1)).map(|it| it.0).next()
    }
}

fn handed(pass: &WatchedPass, at: usize, rows: &mut Vec<Handed>) {
    for (side, batch) in pass.rows.iter().enumerate() {
        for row in 0..batch.len() {
            let late = pass.lost.iter().find(|it| (it.side, it.row) == (side, row));
            rows.push(Handed {
                pass: at,
                side,
                id: batch.ids[row],
                partition: batch.partitions[row],
                cells: cells(batch, row),
                late: late.copied(),
            });
        }
    }
}

fn cells(batch: &RowBatch, row: usize) -> Cells {
    batch.columns.iter().map(|it| it.get(row)).collect()
}

impl Handed {
    /// Whether it was lost to lateness, wholly or in part.
    pub(super) const fn is_late(&self) -> bool {
        self.late.is_some()
    }
}
