//! Rows that wait because their partition is paused.
//!
//! They stay in the source, in order, and are read in the step that resumes the partition: they are
//! judged then, not when they arrived. So is what came behind them: heartbeats, and the end of the
//! partition. Nothing moves the watermark between the rows that one step reads, so it is enough that
//! what stands behind comes after all rows of its partition.
//!
//! Invariant: rows of a partition are read in the order in which they arrived, before its end.

use crate::row::{ItemId, PartitionId, RowBatch};
use crate::time::EventTime;
use serde::{Deserialize, Serialize};

/// Rows that wait, in order of arrival.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Waiting {
    rows: RowBatch,
    behind: Vec<Behind>,
}

/// What waits behind rows, or alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Behind {
    /// Whose.
    pub partition: PartitionId,
    /// The item that said so.
    pub id: ItemId,
    /// What it said.
    pub what: Said,
}

/// What an item other than a row said.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Said {
    /// A heartbeat.
    Time(EventTime),
    /// Nothing more will come.
    End,
}

impl Waiting {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.behind.is_empty()
    }

    /// The rows that wait.
    pub const fn rows(&self) -> &RowBatch {
        &self.rows
    }

    /// Whether something of this partition waits.
    pub fn has(&self, partition: PartitionId) -> bool {
        self.rows.partitions.contains(&partition)
            || self.behind.iter().any(|it| it.partition == partition)
    }

    /// Whether the end of this partition waits: nothing comes behind it.
    pub fn ends(&self, partition: PartitionId) -> bool {
        self.behind.iter().any(|it| it.partition == partition && it.what == Said::End)
    }

    /// The partition is taken away: its end was none.
    pub fn take_back_end(&mut self, partition: PartitionId) {
        self.behind.retain(|it| it.partition != partition || it.what != Said::End);
    }

    /// One row of a batch has to wait.
    pub fn push(&mut self, from: &RowBatch, row: usize) {
        self.rows.columns.resize_with(from.columns.len(), Default::default);
        self.rows.extend_from(from, row..row + 1);
    }

    /// Something else has to.
    pub fn push_behind(&mut self, behind: Behind) {
        self.behind.push(behind);
    }

    /// Takes out what belongs to partitions that may be read again.
    pub fn release(
        &mut self,
        mut may_read: impl FnMut(PartitionId) -> bool,
    ) -> (RowBatch, Vec<Behind>) {
        let columns = self.rows.columns.len();
        let (mut read, mut kept) = (RowBatch::new(columns), RowBatch::new(columns));
        for (row, partition) in self.rows.partitions.iter().enumerate() {
            let to = if may_read(*partition) { &mut read } else { &mut kept };
            to.extend_from(&self.rows, row..row + 1);
        }
        self.rows = kept;
        let (free, kept) = self.behind.iter().partition(|it| may_read(it.partition));
        self.behind = kept;
        (read, free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::ProcTime;

    #[test]
    fn rows_wait_in_order_and_the_end_behind_them() {
        let mut batch = RowBatch::new(1);
        for (id, partition) in [(1, 0), (2, 1), (3, 0)] {
            batch.push(ItemId(id), PartitionId(partition), ProcTime(0), &[Some(id as i64)]);
        }
        let mut waiting = Waiting::default();
        (0..3).for_each(|row| waiting.push(&batch, row));
        let end = Behind { partition: PartitionId(0), id: ItemId(4), what: Said::End };
        waiting.push_behind(end);
        assert!(waiting.has(PartitionId(0)) && !waiting.has(PartitionId(7)));
        let (read, behind) = waiting.release(|it| it == PartitionId(1));
        assert_eq!((read.ids, behind), (vec![ItemId(2)], vec![]));
        let (read, behind) = waiting.release(|_| true);
        assert_eq!((read.ids, behind), (vec![ItemId(1), ItemId(3)], vec![end]));
        assert!(waiting.is_empty());
    }
}
