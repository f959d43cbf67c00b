//! Rows by key and time.
//!
//! A join asks for the rows of one key within a stretch of time, and rows leave in the order of their
//! times whatever their keys. So they stand in one map by (key, time, number), and a second one finds
//! them by (time, number): a probe walks over what it asks for, eviction over what leaves, and nothing
//! ever walks over all. Numbers follow arrival, so that rows of one time keep its order.
//!
//! Invariant: both maps hold the same rows.

use crate::row::{ColumnIx, RowBatch};
use crate::time::EventTime;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

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

/// Rows, or what is known of them, by key and time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Keyed<T> {
    rows: BTreeMap<Place, T>,
    by_time: BTreeMap<(EventTime, u64), Key>,
}

impl<T> Default for Keyed<T> {
    fn default() -> Self {
        Self { rows: BTreeMap::new(), by_time: BTreeMap::new() }
    }
}

/// All places of a key within a stretch of time that is not empty.
fn places(key: &Key, from: EventTime, to: EventTime) -> RangeInclusive<Place> {
    let first = Place { key: key.clone(), time: from, number: 0 };
    first..=Place { key: key.clone(), time: to, number: u64::MAX }
}

impl<T> Keyed<T> {
    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Where rows stand, by key, time and arrival.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Place> {
        self.rows.keys()
    }

    /// Puts a row where none stands.
    pub(crate) fn insert(&mut self, place: Place, row: T) {
        self.by_time.insert((place.time, place.number), place.key.clone());
        let before = self.rows.insert(place, row);
        assert!(before.is_none(), "each arrival has a number of its own");
    }

    /// The rows of a key with times within `times`, by time and arrival.
    pub(crate) fn between(
        &self,
        key: &Key,
        (from, to): (EventTime, EventTime),
    ) -> impl DoubleEndedIterator<Item = (&Place, &T)> {
        (from <= to).then(|| self.rows.range(places(key, from, to))).into_iter().flatten()
    }

    /// The same, to be changed.
    pub(crate) fn between_mut(
        &mut self,
        key: &Key,
        (from, to): (EventTime, EventTime),
    ) -> impl Iterator<Item = (&Place, &mut T)> {
        (from <= to).then(|| self.rows.range_mut(places(key, from, to))).into_iter().flatten()
    }

    /// The same, taken out.
    pub(crate) fn take_between(
        &mut self,
        key: &Key,
        (from, to): (EventTime, EventTime),
    ) -> impl Iterator<Item = (Place, T)> {
        let Self { rows, by_time } = self;
        (from <= to)
            .then(|| rows.extract_if(places(key, from, to), |_, _| true))
            .into_iter()
            .flatten()
            .inspect(|(it, _)| {
                by_time.remove(&(it.time, it.number));
            })
    }

    /// Removes the rows of its key that stand before `place`, and says how many.
    pub(crate) fn remove_before(&mut self, place: &Place) -> u64 {
        let Self { rows, by_time } = self;
        let first = Place { key: place.key.clone(), time: EventTime::MIN, number: 0 };
        let mut count = 0;
        for (it, _) in rows.extract_if(&first..place, |_, _| true) {
            by_time.remove(&(it.time, it.number));
            count += 1;
        }
        count
    }

    /// The oldest row, taken out if it is `gone`.
    pub(crate) fn pop_oldest_if(
        &mut self,
        gone: impl FnOnce(EventTime) -> bool,
    ) -> Option<(Place, T)> {
        let oldest = self.by_time.first_entry()?;
        if !gone(oldest.key().0) {
            return None;
        }
        let ((time, number), key) = oldest.remove_entry();
        let place = Place { key, time, number };
        let row = self.rows.remove(&place).expect("both maps hold the same rows");
        Some((place, row))
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
            .take_between(&Key::One(Some(1)), (EventTime(10), EventTime(10)))
            .map(|it| it.1)
            .collect();
        assert_eq!(taken, ['a', 'd']);
        let mut left = String::new();
        while let Some((_, row)) = rows.pop_oldest_if(|it| it < EventTime(12)) {
            left.push(row);
        }
        assert_eq!(left, "bc");
        assert_eq!((rows.len(), rows.by_time.len()), (1, 1));
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
