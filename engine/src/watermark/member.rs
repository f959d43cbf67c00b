//! Members of a combination: what one partition has shown so far.
//!
//! Invariant: a member's maximum never falls, except where the partition moves without its
//! watermark, which is why that is a change with a name. Source: semantics 2.2 and 12.

use crate::row::{ItemId, PartitionId};
use crate::time::{EventTime, ProcTime};
use serde::{Deserialize, Serialize};

/// One partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Member {
    /// Who.
    pub partition: PartitionId,
    /// The largest event time seen; `MIN` before any.
    pub max: EventTime,
    /// The item that showed it.
    pub max_set_by: Option<ItemId>,
    /// Whether it counts.
    pub state: MemberState,
    /// Whether it has caught up since it was idle or new; an unaligned one does not count.
    pub aligned: bool,
    /// When it was last heard.
    pub last_activity: ProcTime,
    /// Rows taken from it: the offset to read on from.
    pub rows: u64,
}

/// Whether a partition counts in the minimum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum MemberState {
    /// It does.
    Active,
    /// It has been silent for too long.
    Idle,
    /// It will send nothing more.
    Finished,
}

/// What a partition brings to its owner.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Adoption {
    /// Its maximum, state and silence travel with it.
    WithWatermark,
    /// It starts anew, with nothing.
    WithoutWatermark,
    /// It is taken to be as far as the others: unsafe, its rows may be late at once.
    AtGroup,
}

/// A change of partitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Change {
    /// One appears.
    Add(PartitionId, Adoption),
    /// One is taken away.
    Remove(PartitionId),
    /// One moves.
    Move(PartitionId, Adoption),
    /// One will send nothing more.
    Finish(PartitionId),
}

impl Change {
    /// The partition that changes.
    pub const fn partition(self) -> PartitionId {
        match self {
            Self::Add(it, _) | Self::Remove(it) | Self::Move(it, _) | Self::Finish(it) => it,
        }
    }
}

impl Member {
    /// A partition that has just appeared: active, with nothing shown.
    pub const fn new(partition: PartitionId, at: ProcTime) -> Self {
        Self {
            partition,
            max: EventTime::MIN,
            max_set_by: None,
            state: MemberState::Active,
            aligned: true,
            last_activity: at,
            rows: 0,
        }
    }

    /// Takes notice of an event time. True where the maximum rose.
    #[inline]
    pub fn observe(&mut self, time: EventTime, id: ItemId) -> bool {
        let rises = self.max < time;
        if rises {
            self.max = time;
            self.max_set_by = Some(id);
        }
        rises
    }

    /// Whether it counts in the minimum.
    #[inline]
    pub fn counts(&self) -> bool {
        self.state == MemberState::Active && self.aligned
    }
}
