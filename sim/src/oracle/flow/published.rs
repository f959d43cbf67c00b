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
    /// The highest value that removed so far, since what removes began.
    highest: EventTime,
    left: Vec<Left<T>>,
}

#[derive(Debug)]
struct Left<T> {
    what: T,
    at: EventTime,
    /// Whether it was remembered for certain when what removes last began anew.
    certain: bool,
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
        self.left.push(Left { what, at: due.min(self.highest), certain: true });
    }

    /// What removes begins anew, below what it has been.
    pub(super) fn begins_anew(&mut self) {
        let still: Vec<_> = self.iter().map(|it| it.1).collect();
        self.left.iter_mut().zip(still).for_each(|(it, still)| it.certain = still);
        self.highest = EventTime::MIN;
    }

    /// All that left, and whether it is certainly remembered.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (&T, bool)> {
        let certain =
            |at: EventTime| Span::ZERO < self.hindsight && self.highest < at + self.hindsight;
        self.left.iter().map(move |it| (&it.what, it.certain && certain(it.at)))
    }
}
