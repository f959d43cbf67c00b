//! Sessions that left: what a later row may contradict.
//!
//! A session is remembered while its end + hindsight > evict. Published sessions of one key may
//! overlap: that is the contradiction that is reported.
//!
//! Invariant: both sides hold the same sessions.

use super::{Place, span};
use crate::operator::grouping::Key;
use crate::time::{EventTime, Span};
use crate::window::Window;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The sessions that are remembered.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Published {
    /// Of each key, by end, then start.
    keys: BTreeMap<Key, BTreeSet<(EventTime, EventTime)>>,
    /// All of them in the order in which they are forgotten.
    order: BTreeSet<Place>,
}

impl Published {
    /// Adds one that left.
    pub(super) fn remember(&mut self, key: Key, it: Window) {
        self.keys.entry(key.clone()).or_default().insert((it.end, it.start));
        self.order.insert((it.end, it.start, key));
    }

    /// Forgets those out of reach.
    pub(super) fn forget(&mut self, hindsight: Span, evict: EventTime) {
        while self.order.first().is_some_and(|it| it.0 + hindsight <= evict) {
            let Some((end, start, key)) = self.order.pop_first() else { return };
            if let Some(of_key) = self.keys.get_mut(&key) {
                of_key.remove(&(end, start));
                if of_key.is_empty() {
                    self.keys.remove(&key);
                }
            }
        }
    }

    /// Those of a key that share an instant with a stretch of time.
    pub(super) fn overlapping(&self, key: &Key, own: Window) -> impl Iterator<Item = Window> {
        let after = (own.start, EventTime::MAX);
        let of_key = self.keys.get(key).into_iter();
        let ends = of_key.flat_map(move |it| it.range(after..));
        let windows = ends.map(|(end, start)| Window { start: *start, end: *end });
        windows.filter(move |it| span::overlap(*it, own))
    }

    /// Whether the invariant holds; what was read from a snapshot may break it.
    pub(super) fn is_sound(&self) -> bool {
        let all = self.keys.iter().flat_map(|(key, of)| of.iter().map(move |it| (it.0, it.1, key)));
        let all: BTreeSet<Place> = all.map(|it| (it.0, it.1, it.2.clone())).collect();
        all == self.order && self.keys.values().all(|it| !it.is_empty())
    }
}
