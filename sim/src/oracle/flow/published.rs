//! What was published or forgotten, kept to say what contradicts it later.
//!
//! Reading: hindsight is counted from what removed it: what left at w is remembered while what
//! removes is below w + hindsight. Where the law leaves room (the entry's own time instead of w, the
//! bound itself), a contradiction may be remarked or not: it is certain only where every reading
//! remembers, so never without hindsight.
//!
//! Invariant: nothing is ever forgotten here; only the certainty ends.

use plimsoll_engine::time::{EventTime, Span};

/// Something that left, and when.
#[derive(Clone, Debug)]
pub(super) struct Left<T> {
    pub(super) what: T,
    /// The least of the values that could be said to have removed it.
    at: EventTime,
}

impl<T> Left<T> {
    /// By its own times it could have left at `due`; it did at `evict`.
    pub(super) fn new(what: T, due: EventTime, evict: EventTime) -> Self {
        Self { what, at: due.min(evict) }
    }

    /// Whether it is certainly remembered while this value removes.
    pub(super) fn is_certain(&self, evict: EventTime, hindsight: Span) -> bool {
        Span::ZERO < hindsight && evict < self.at + hindsight
    }
}
