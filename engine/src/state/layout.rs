//! How a group's words are laid out: the key, a null mask, then one accumulator per aggregate.
//!
//! Invariant: equal plans give equal layouts, so that words can be written to a snapshot as they are.

use crate::plan::Aggregate;
use std::sync::Arc;

/// A computed aggregate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Value {
    /// No value that is not null went in.
    Null,
    /// An integer.
    Int(i64),
    /// A sum that has left i64.
    Wide(i128),
    /// An average, as sum and count.
    Avg {
        /// Sum of the values.
        sum: i128,
        /// How many.
        count: u64,
    },
}

/// The layout for a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    keys: usize,
    aggregates: Vec<Aggregate>,
}

/// Groups of one window, in the order in which their keys first arrived.
#[derive(Clone, Debug)]
pub struct Groups {
    layout: Arc<Layout>,
    words: Vec<i64>,
}

impl Groups {
    /// How many groups.
    pub fn len(&self) -> usize {
        todo!()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Key column `column` (position in the plan's `keys`) of group `group`; `None` is null.
    pub fn key(&self, group: usize, column: usize) -> Option<i64> {
        todo!("{group} {column}")
    }

    /// Aggregate `aggregate` (position in the plan's `aggregates`) of group `group`.
    pub fn value(&self, group: usize, aggregate: usize) -> Value {
        todo!("{group} {aggregate}")
    }
}
