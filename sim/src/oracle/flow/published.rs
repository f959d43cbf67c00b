//! What was published or forgotten, kept to say what contradicts it later.
//!
//! Reading: hindsight is counted from what removed it: what left at w is remembered while what
//! removes is below w + hindsight. Where the law leaves room (the entry's own time instead of w, the
//! bound itself), a contradiction may be remarked or not: it is certain only where every reading
//! remembers, so never without hindsight.
//!
//! Invariant: nothing is ever forgotten here; only the certainty ends.

use plimsoll_engine::time::{EventTime, Span};

/// What left, in order.
#[derive(Debug)]
pub(super) struct Memory<T> {
    hindsight: Span,
    /// The highest value that removed so far.
    highest: EventTime,
    left: Vec<(T, EventTime)>,
}

impl<T> Memory<T> {
    pub(super) const fn new(hindsight: Span) -> Self {
        Self { hindsight, highest: EventTime::MIN, left: Vec::new() }
    }

    /// A pass removes by this value.
    pub(super) fn removes(&mut self, evict: EventTime) {
        self.highest = self.highest.max(evict);
    }

    /// Something leaves; by its own times it could have left at `due`.
    pub(super) fn leaves(&mut self, what: T, due: EventTime) {
        self.left.push((what, due.min(self.highest)));
    }

    /// All that left, and whether it is certainly remembered.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (&T, bool)> {
        let certain =
            |at: EventTime| Span::ZERO < self.hindsight && self.highest < at + self.hindsight;
        self.left.iter().map(move |(what, at)| (what, certain(*at)))
    }
}
