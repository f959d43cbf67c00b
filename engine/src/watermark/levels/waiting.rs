//! Rows that wait because their partition is paused.
//!
//! They stay in the source, in order, and are read in the step that resumes the partition: they are
//! judged then, not when they arrived. So is the end of a partition that comes behind such rows.
//!
//! Invariant: rows of a partition are read in the order in which they arrived.

use crate::row::{PartitionId, RowBatch};
use serde::{Deserialize, Serialize};

/// Rows that wait, in order of arrival.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Waiting {
    rows: RowBatch,
    /// Partitions that end behind their rows.
    ends: Vec<PartitionId>,
}

impl Waiting {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows that wait.
    pub const fn rows(&self) -> &RowBatch {
        &self.rows
    }

    /// Whether rows of this partition wait.
    pub fn has(&self, partition: PartitionId) -> bool {
        self.rows.partitions.contains(&partition)
    }

    /// One row of a batch has to wait.
    pub fn push(&mut self, from: &RowBatch, row: usize) {
        if self.rows.columns.len() != from.columns.len() {
            self.rows = RowBatch::new(from.columns.len());
        }
        self.rows.extend_from(from, row..row + 1);
    }

    /// A partition ends behind its rows. True where that has to wait.
    pub fn end(&mut self, partition: PartitionId) -> bool {
        let waits = self.has(partition);
        if waits && !self.ends.contains(&partition) {
            self.ends.push(partition);
        }
        waits
    }

    /// Takes out the rows of partitions that may be read again, and the partitions that end with them.
    pub fn release(
        &mut self,
        mut may_read: impl FnMut(PartitionId) -> bool,
    ) -> (RowBatch, Vec<PartitionId>) {
        let columns = self.rows.columns.len();
        let (mut read, mut kept) = (RowBatch::new(columns), RowBatch::new(columns));
        for (row, partition) in self.rows.partitions.iter().enumerate() {
            let to = if may_read(*partition) { &mut read } else { &mut kept };
            to.extend_from(&self.rows, row..row + 1);
        }
        self.rows = kept;
        let (ended, kept) = self.ends.iter().partition(|it| !self.has(**it));
        self.ends = kept;
        (read, ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::ItemId;
    use crate::time::ProcTime;

    #[test]
    fn rows_wait_in_order_and_the_end_behind_them() {
        let mut batch = RowBatch::new(1);
        for (id, partition) in [(1, 0), (2, 1), (3, 0)] {
            batch.push(ItemId(id), PartitionId(partition), ProcTime(0), &[Some(id as i64)]);
        }
        let mut waiting = Waiting::default();
        (0..3).for_each(|row| waiting.push(&batch, row));
        assert!(waiting.end(PartitionId(0)));
        assert!(!waiting.end(PartitionId(7)));
        let (read, ended) = waiting.release(|it| it == PartitionId(1));
        assert_eq!((read.ids, ended), (vec![ItemId(2)], vec![]));
        let (read, ended) = waiting.release(|_| true);
        assert_eq!((read.ids, ended), (vec![ItemId(1), ItemId(3)], vec![PartitionId(0)]));
        assert!(waiting.is_empty());
    }
}
