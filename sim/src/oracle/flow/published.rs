//! What was published or forgotten, kept to say what contradicts it later.
//!
//! Reading: hindsight is counted from the value that removed it: what left at w is remembered while
//! what removes is below w + hindsight. Where the law leaves room (an entry's own time instead of w, the
//! bound itself), a contradiction may be remarked or not: it is certain only where every reading
//! remembers.
//!
//! Invariant: nothing is ever forgotten here; only the certainty ends.

use plimsoll_engine::time::{EventTime, Span};

/// Something that left, and when.
#[derive(Clone, Debug)]
pub(super) struct Left<T> {
    pub(super) what: T,
    /// By its own times it could have left at this value already.
    due: EventTime,
}

impl<T> Left<T> {
    pub(super) const fn new(what: T, due: EventTime) -> Self {
        Self { what, due }
    }

    /// Whether it is certainly remembered while this value removes.
    pub(super) fn is_certain(&self, evict: EventTime, hindsight: Span) -> bool {
        evict.is_finite() && evict < self.due + hindsight || evict == EventTime::MIN
    }
}
