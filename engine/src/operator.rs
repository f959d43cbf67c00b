//! Operators: what keeps state between rows.
//!
//! An operator takes a step's rows with [`Bounds`], never a profile: which rows are late is decided by
//! one value of the watermark, which state leaves by another, and where the two come from is not its
//! business. Within a step the order is fixed (semantics 4): rows are judged and applied, then state
//! is evicted, then the watermark goes on downstream.
//!
//! Invariant: a bound never falls, and rows are never judged by less than what was evicted before.

pub mod accumulate;
pub mod aggregate;
pub mod asof;
pub mod count;
pub mod dedup;
#[cfg(test)]
mod drive;
pub mod global;
mod grouping;
pub mod join;
mod joined;
mod keyed;
pub mod panes;
pub mod session;
pub mod stage;

use crate::time::EventTime;

/// The values of the watermark that a step works with.
#[derive(Clone, Copy, Debug)]
pub struct Bounds<'a> {
    /// By what rows are judged.
    pub late: LateBound<'a>,
    /// What state leaves: windows with end <= this.
    pub evict: EventTime,
}

/// By what rows are judged.
#[derive(Clone, Copy, Debug)]
pub enum LateBound<'a> {
    /// All by the same value.
    Same(EventTime),
    /// Each by its own, under the row's number in its batch.
    PerRow(&'a [EventTime]),
}

impl LateBound<'_> {
    /// The bound of row `row`.
    #[inline]
    pub fn of(self, row: usize) -> EventTime {
        match self {
            Self::Same(bound) => bound,
            Self::PerRow(bounds) => bounds[row],
        }
    }
}
