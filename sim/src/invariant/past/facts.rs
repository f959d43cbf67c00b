//! What is known of a row that was taken, of a step, and of a firing.
//!
//! Invariant: plain data; nothing here decides.

use super::open::Closed;
use plimsoll_engine::row::{ItemId, PartitionId};
use plimsoll_engine::time::{EventTime, ProcTime};

/// A row that a step took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TakenRow {
    /// Its item.
    pub id: ItemId,
    /// Where it came from.
    pub partition: PartitionId,
    /// When it arrived.
    pub at: ProcTime,
    /// Its event time.
    pub time: Option<EventTime>,
    /// Whether its partition had finished.
    pub finished: bool,
    /// Position of its record in the output; without one it was counted into all of its windows.
    pub record: Option<u32>,
    /// How many of its earliest windows it lost.
    pub lost: u32,
    /// Whether it was counted into the others.
    pub counts: bool,
    /// How many windows hold its time.
    pub windows: u32,
    /// End of the earliest window that it was counted into; `MAX` where there is none.
    pub first_end: EventTime,
    /// End of the latest one.
    pub last_end: EventTime,
}

impl TakenRow {
    /// Without a record, in no window yet.
    pub(super) const fn new(
        id: ItemId,
        partition: PartitionId,
        at: ProcTime,
        time: Option<EventTime>,
        finished: bool,
    ) -> Self {
        Self {
            id,
            partition,
            at,
            time,
            finished,
            record: None,
            lost: 0,
            counts: true,
            windows: 0,
            first_end: EventTime::MAX,
            last_end: EventTime::MAX,
        }
    }
}

/// A step, beside its record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepFacts {
    /// Its rows, as positions in [`rows`](super::Past::rows), from and to.
    pub rows: (u32, u32),
    /// Heartbeats and changes of partitions that it took.
    pub others: u64,
    /// Whether somebody was idle when it ended.
    pub idle: bool,
    /// Whether everybody had finished when a candidate was computed in it.
    pub all_finished: bool,
    /// Largest event time, up to its end, that may move a watermark.
    pub seen: EventTime,
    /// The highest value that evicted in any step before.
    pub frontier: EventTime,
    /// How many windows with state it closed.
    pub closed: u64,
    /// The first of them that it did not write.
    pub unwritten: Option<Closed>,
}

impl Default for StepFacts {
    fn default() -> Self {
        Self {
            rows: (0, 0),
            others: 0,
            idle: false,
            all_finished: false,
            seen: EventTime::MIN,
            frontier: EventTime::MIN,
            closed: 0,
            unwritten: None,
        }
    }
}

/// A firing, beside what was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FiringFacts {
    /// Position of its step; `usize::MAX` where no step ran.
    pub step: usize,
    /// Rows in it, by its count of rows; `None` where nothing counts rows.
    pub rows: Option<u64>,
    /// Its window is none of the plan's.
    pub off_grid: bool,
    /// Rows that the records counted into its window so far; 0 where it has no state.
    pub counted: u64,
    /// Rows that the records lost for it so far.
    pub dropped: u64,
    /// The step that counted its first row.
    pub opened: Option<u64>,
    /// It was written in this very step before.
    pub again: bool,
    /// The last step before this one at whose end somebody was idle.
    pub last_idle: Option<u64>,
}
