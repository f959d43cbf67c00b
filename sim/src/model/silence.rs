//! A silence: one partition, from an instant to another.
//!
//! Three causes share it: a source that has nothing to say, a network that loses what is said, and a
//! source that is held up. The first two cannot be told apart by what arrives (S7), so their models
//! must draw the same silence from the same stream.
//!
//! Invariant: a silence begins and ends inside the world, unless the file asks for a longer one.

use crate::model::{Arrival, Draft};
use crate::scenario::reader::Reader;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SilenceSpec {
    length: [i64; 2],
    /// The whole input is silent, not one partition.
    everybody: bool,
}

/// One silence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Silence {
    /// Who; `None` is everybody.
    pub(super) partition: Option<u32>,
    /// First instant of silence.
    pub(super) from: i64,
    /// First instant after it.
    pub(super) to: i64,
}

impl SilenceSpec {
    pub(super) fn read(table: &mut Reader<'_>) -> Self {
        Self { length: table.spans("length", [40 * 60_000; 2]), everybody: table.flag("everybody") }
    }

    pub(super) fn draw(&self, draft: &Draft<'_>) -> Silence {
        let mut own = draft.entropy.stream("silence");
        let partition = draft.partition(&mut own);
        let from = draft.instant(&mut own, 120, 550);
        let to = from + draft.span_of(&mut own, self.length).max(1);
        Silence { partition: (!self.everybody).then_some(partition), from, to }
    }
}

impl Silence {
    /// Whether an arrival falls into it.
    pub(super) fn covers(&self, it: &Arrival) -> bool {
        self.partition.is_none_or(|p| p == it.partition) && (self.from..self.to).contains(&it.at)
    }
}
