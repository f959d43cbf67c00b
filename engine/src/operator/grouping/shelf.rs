//! Groups in order of time, then key.
//!
//! The time is what decides when a group leaves: a window's end, or a time that is a key itself. Groups
//! are found by time and key and leave from the front, whole times at once.
//!
//! Invariant: no time is without groups, and `len` counts them.

use super::Key;
use crate::time::EventTime;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The groups.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Shelf<T> {
    times: BTreeMap<EventTime, BTreeMap<Key, T>>,
    len: u64,
}

impl<T> Shelf<T> {
    /// No groups.
    pub(crate) const fn new() -> Self {
        Self { times: BTreeMap::new(), len: 0 }
    }

    /// How many groups.
    pub(crate) const fn len(&self) -> u64 {
        self.len
    }

    /// A group.
    pub(crate) fn get_mut(&mut self, time: EventTime, key: &Key) -> Option<&mut T> {
        self.times.get_mut(&time)?.get_mut(key)
    }

    /// Puts a group in; one of this time and key is replaced.
    pub(crate) fn insert(&mut self, time: EventTime, key: Key, group: T) {
        let replaced = self.times.entry(time).or_default().insert(key, group);
        self.len += u64::from(replaced.is_none());
    }

    /// Takes a group out.
    pub(crate) fn take(&mut self, time: EventTime, key: &Key) -> Option<T> {
        let groups = self.times.get_mut(&time)?;
        let group = groups.remove(key)?;
        if groups.is_empty() {
            self.times.remove(&time);
        }
        self.len -= 1;
        Some(group)
    }

    /// Takes out all groups of the earliest time, if it is one that leaves.
    pub(crate) fn pop_if(
        &mut self,
        leaves: impl FnOnce(EventTime) -> bool,
    ) -> Option<(EventTime, BTreeMap<Key, T>)> {
        let first = self.times.first_entry()?;
        if !leaves(*first.key()) {
            return None;
        }
        let (time, groups) = first.remove_entry();
        self.len -= groups.len() as u64;
        Some((time, groups))
    }

    /// All groups in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (EventTime, &Key, &T)> {
        self.times.iter().flat_map(|(time, groups)| groups.iter().map(|(key, it)| (*time, key, it)))
    }

    /// Whether the invariant holds; what was read from a snapshot may break it.
    pub(crate) fn is_sound(&self) -> bool {
        let len: u64 = self.times.values().map(|it| it.len() as u64).sum();
        len == self.len && self.times.values().all(|it| !it.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_leave_from_the_front_and_are_counted() {
        let mut shelf = Shelf::new();
        for (time, key) in [(20, 1), (10, 2), (10, 1), (10, 2)] {
            shelf.insert(EventTime(time), Key::One(Some(key)), key);
        }
        assert!(shelf.is_sound());
        let order: Vec<_> = shelf.iter().map(|it| (it.0.0, *it.2)).collect();
        assert_eq!(order, [(10, 1), (10, 2), (20, 1)]);
        assert_eq!(shelf.take(EventTime(10), &Key::One(Some(1))), Some(1));
        assert_eq!(shelf.pop_if(|it| it <= EventTime(10)).map(|it| it.1.len()), Some(1));
        assert!(shelf.pop_if(|it| it <= EventTime(10)).is_none());
        assert_eq!((shelf.len(), shelf.is_sound()), (1, true));
    }
}
