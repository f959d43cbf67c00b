//! Rows by key and time.
//!
//! A join asks for the rows of one key within a stretch of time, and rows leave in the order of their
//! times whatever their keys. So a key is found by its hash and has its rows by time ([`rows`]), and a
//! queue names every row by time and number: a probe looks at what it asks for, eviction at what
//! leaves, and nothing ever walks over all. Numbers follow arrival, so that rows of one time keep its
//! order. A row that was taken out otherwise stays named in the queue until its time comes, or until
//! most of the queue is of that kind.
//!
//! Invariant: the queue names every row; no key without rows has a slot.

pub(crate) mod queue;
pub(crate) mod rows;
mod saved;
pub(crate) mod slots;

use crate::row::{ColumnIx, RowBatch};
use crate::time::{EventTime, Span};
use queue::Queue;
use rows::Rows;
use serde::{Deserialize, Serialize};
use slots::Slots;

/// The cells that make rows equal. Null is a cell like others; a join asks [`Key::has_null`] first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(crate) enum Key {
    /// The one cell: the usual case needs no memory of its own.
    One(Option<i64>),
    /// Any other number of cells.
    Many(Box<[Option<i64>]>),
}

impl Key {
    /// The smallest one there is.
    pub(crate) const LEAST: Self = Self::One(None);

    /// The key of a row.
    pub(crate) fn of(
        rows: &RowBatch,
        row: usize,
        mut columns: impl Iterator<Item = ColumnIx>,
    ) -> Self {
        let cell = |it: ColumnIx| rows.columns[it.0].get(row);
        match (columns.next(), columns.next()) {
            (None, _) => Self::Many(Box::default()),
            (Some(only), None) => Self::One(cell(only)),
            (Some(first), Some(second)) => {
                Self::Many([first, second].into_iter().chain(columns).map(cell).collect())
            }
        }
    }

    /// Whether a cell is null: then it equals nothing in a join.
    pub(crate) fn has_null(&self) -> bool {
        match self {
            Self::One(cell) => cell.is_none(),
            Self::Many(cells) => cells.iter().any(Option::is_none),
        }
    }
}

/// Where a row stands.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(crate) struct Place {
    /// Its key.
    pub(crate) key: Key,
    /// Its time.
    pub(crate) time: EventTime,
    /// Its number in the order of arrival.
    pub(crate) number: u64,
}

/// Where a row stands among those of its key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct At {
    /// Its time.
    pub(crate) time: EventTime,
    /// Its number in the order of arrival.
    pub(crate) number: u64,
}

/// Rows, or what is known of them, by key and time.
#[derive(Clone, Debug)]
pub(crate) struct Keyed<T> {
    keys: Slots<Rows<At, T>>,
    /// Every row with the slot of its key, and some that are gone.
    order: Queue<(u64, u32)>,
    /// How many rows there are.
    len: usize,
}

impl<T> Default for Keyed<T> {
    fn default() -> Self {
        Self { keys: Slots::default(), order: Queue::default(), len: 0 }
    }
}

/// All places within a stretch of time.
const fn places((from, to): (EventTime, EventTime)) -> (At, At) {
    (At { time: from, number: 0 }, At { time: to, number: u64::MAX })
}

impl<T> Keyed<T> {
    /// How many rows there are.
    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Puts a row where none stands.
    pub(crate) fn insert(&mut self, place: Place, row: T) {
        let Place { key, time, number } = place;
        let (slot, at) = (self.keys.find_or_take(key), At { time, number });
        self.keys.of_mut(slot).insert(at, row);
        self.order.push(time, (number, slot));
        self.len += 1;
    }

    /// Puts a row where none stands, unless its key has one with a time within `times`; that one.
    #[inline]
    pub(crate) fn insert_unless(
        &mut self,
        place: Place,
        times: (EventTime, EventTime),
        row: T,
    ) -> Option<&T> {
        let Place { key, time, number } = place;
        let slot = self.keys.find_or_take(key);
        let rows = self.keys.of_mut(slot);
        if rows.is_empty() || rows.between(places(times)).next().is_none() {
            rows.insert(At { time, number }, row);
            self.order.push(time, (number, slot));
            self.len += 1;
            return None;
        }
        self.keys.of(slot).between(places(times)).next().map(|it| it.1)
    }

    /// The rows of a key with times within `times`, by time and arrival.
    #[inline]
    pub(crate) fn between(
        &self,
        key: &Key,
        times: (EventTime, EventTime),
    ) -> impl DoubleEndedIterator<Item = (At, &T)> + use<'_, T> {
        let slot = if times.0 <= times.1 { self.keys.find(key) } else { None };
        let rows = slot.map(|it| self.keys.of(it).between(places(times)));
        rows.into_iter().flatten()
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn between_mut(
        &mut self,
        key: &Key,
        times: (EventTime, EventTime),
    ) -> impl Iterator<Item = (At, &mut T)> + use<'_, T> {
        let slot = if times.0 <= times.1 { self.keys.find(key) } else { None };
        let rows = slot.map(|it| self.keys.of_mut(it).between_mut(places(times)));
        rows.into_iter().flatten()
    }

    /// Those of them that are `wanted`, taken out.
    pub(crate) fn take_between(
        &mut self,
        key: &Key,
        times: (EventTime, EventTime),
        wanted: impl Fn(&T) -> bool,
    ) -> Vec<(At, T)> {
        self.take_places(key, places(times), wanted)
    }

    /// Removes the rows of a key that stand before `end`, and says how many.
    pub(crate) fn remove_before(&mut self, key: &Key, end: At) -> u64 {
        let last = match end.number.checked_sub(1) {
            Some(number) => At { number, ..end },
            None => At { time: end.time - Span(1), number: u64::MAX },
        };
        let first = At { time: EventTime::MIN, number: 0 };
        self.take_places(key, (first, last), |_| true).len() as u64
    }

    fn take_places(
        &mut self,
        key: &Key,
        places: (At, At),
        wanted: impl Fn(&T) -> bool,
    ) -> Vec<(At, T)> {
        let slot = if places.0 <= places.1 { self.keys.find(key) } else { None };
        let Some(slot) = slot else { return Vec::new() };
        let rows = self.keys.of_mut(slot);
        let taken = rows.take_between(places, wanted);
        if rows.is_empty() {
            self.keys.give_back(slot);
        }
        self.len -= taken.len();
        // Otherwise what never comes due would be named for ever.
        if 2 * self.len + 64 < self.order.len() {
            let keys = &self.keys;
            self.order
                .retain(|time, (number, slot)| keys.of(slot).get(At { time, number }).is_some());
        }
        taken
    }

    /// The oldest row, taken out if it is `gone`; what is older than something gone is gone.
    #[inline]
    pub(crate) fn pop_oldest_if(&mut self, gone: impl Fn(EventTime) -> bool) -> Option<(Place, T)> {
        while let Some((time, (number, slot))) = self.order.pop_if(&gone) {
            let rows = self.keys.of_mut(slot);
            let Some(row) = rows.take(At { time, number }) else { continue };
            let last = rows.is_empty();
            self.len -= 1;
            let key = if last { self.keys.give_back(slot) } else { self.keys.key(slot).clone() };
            return Some((Place { key, time, number }, row));
        }
        None
    }

    /// All rows, in no order that means anything.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Place, &T)> {
        self.keys.iter().flat_map(|(key, rows)| {
            let all = rows.between(places((EventTime::MIN, EventTime::MAX)));
            all.map(|(At { time, number }, row)| (Place { key: key.clone(), time, number }, row))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(key: i64, time: i64, number: u64) -> Place {
        Place { key: Key::One(Some(key)), time: EventTime(time), number }
    }

    fn some_rows() -> Keyed<char> {
        let mut rows = Keyed::default();
        let all = [(1, 10, 'a'), (2, 5, 'b'), (1, 7, 'c'), (1, 10, 'd'), (1, 12, 'e')];
        for (number, (key, time, row)) in (0..).zip(all) {
            rows.insert(place(key, time, number), row);
        }
        rows
    }

    #[test]
    fn a_probe_finds_one_key_within_a_closed_stretch_by_time_then_arrival() {
        let rows = some_rows();
        let find = |from, to| {
            let times = (EventTime(from), EventTime(to));
            rows.between(&Key::One(Some(1)), times).map(|it| *it.1).collect::<String>()
        };
        assert_eq!(find(7, 10), "cad");
        assert_eq!(find(8, 9), "");
        assert_eq!(find(12, 7), "", "a stretch that is turned around is empty");
        assert_eq!(find(i64::MIN, i64::MAX), "cade");
    }

    #[test]
    fn rows_leave_by_time_whatever_their_key_and_not_before_they_are_gone() {
        let mut rows = some_rows();
        let taken: Vec<_> = rows
            .take_between(&Key::One(Some(1)), (EventTime(10), EventTime(10)), |_| true)
            .into_iter()
            .map(|it| it.1)
            .collect();
        assert_eq!(taken, ['a', 'd']);
        let mut left = String::new();
        while let Some((_, row)) = rows.pop_oldest_if(|it| it < EventTime(12)) {
            left.push(row);
        }
        assert_eq!(left, "bc");
        assert_eq!((rows.len(), rows.order.len()), (1, 1));
    }

    #[test]
    fn no_columns_are_one_key_for_all_and_null_is_a_cell() {
        let mut rows = RowBatch::new(2);
        rows.push(Default::default(), Default::default(), Default::default(), &[None, Some(3)]);
        let key = |columns: &[usize]| Key::of(&rows, 0, columns.iter().map(|it| ColumnIx(*it)));
        assert!(!key(&[]).has_null());
        assert!(key(&[0]).has_null() && key(&[1, 0]).has_null() && !key(&[1]).has_null());
        assert_eq!(key(&[1, 0]), Key::Many([Some(3), None].into()));
        assert!(Key::LEAST <= key(&[0]) && Key::LEAST < key(&[]));
    }
}
