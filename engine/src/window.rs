//! Windows: half-open stretches of event time.
//!
//! A window [start, end) holds the times start <= t < end, so a row at a boundary belongs to the
//! window that starts there. It closes when the watermark reaches its end (w >= end; semantics 0,
//! founding text S2 read as both of its worked examples need it).
//!
//! Invariant: start < end.

pub mod assign;

use crate::time::EventTime;
use serde::{Deserialize, Serialize};

/// A half-open window of event time. Ordered by start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Window {
    /// First instant inside.
    pub start: EventTime,
    /// First instant after.
    pub end: EventTime,
}

impl Window {
    /// Whether `time` is inside.
    #[inline]
    pub fn contains(self, time: EventTime) -> bool {
        self.start <= time && time < self.end
    }

    /// Whether a watermark closes it.
    #[inline]
    pub fn closes_at(self, watermark: EventTime) -> bool {
        self.end <= watermark
    }
}
