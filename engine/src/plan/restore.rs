//! What a restart forgets.
//!
//! Invariant: data only; [`crate::snapshot`] obeys it.

use serde::{Deserialize, Serialize};

/// What a restart brings back: engines differ in what they forget, so that is a knob too.
///
/// `Kept` everywhere is exact resumption. Spark keeps the global watermark and forgets what each
/// input had shown; Flink forgets every watermark and all idleness (spark-rules 7, flink-rules 8).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RestoreRules {
    /// w, c, c* and what is in force for lateness and eviction.
    pub watermark: Memory,
    /// The largest event time of each partition, and of all.
    pub maxima: Memory,
    /// Which partitions are idle or unaligned, and for how long they have been silent.
    pub idleness: Memory,
    /// The content of open windows.
    pub windows: Memory,
    /// Rows lost per open window.
    pub ledger: Memory,
}

/// Whether a restart brings something back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Memory {
    /// It does.
    Kept,
    /// It does not: as before the first row.
    Lost,
}

impl RestoreRules {
    /// Exact resumption.
    pub const EXACT: Self = Self {
        watermark: Memory::Kept,
        maxima: Memory::Kept,
        idleness: Memory::Kept,
        windows: Memory::Kept,
        ledger: Memory::Kept,
    };
    /// Spark: the global watermark is kept, what each input has shown is not (spark-rules 7).
    pub const GLOBAL_ONLY: Self =
        Self { maxima: Memory::Lost, idleness: Memory::Lost, ..Self::EXACT };
    /// Flink's DataStream windows: every watermark, maximum and idle status is lost (flink-rules 8).
    pub const NO_WATERMARK: Self = Self { watermark: Memory::Lost, ..Self::GLOBAL_ONLY };

    /// What both bring back.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            watermark: self.watermark.max(other.watermark),
            maxima: self.maxima.max(other.maxima),
            idleness: self.idleness.max(other.idleness),
            windows: self.windows.max(other.windows),
            ledger: self.ledger.max(other.ledger),
        }
    }
}
