//! The rows (or sessions) of one key, by place: time and arrival, or start.
//!
//! Most keys have a row or two, some have very many. One row needs no memory of its own, a few stand
//! in a list, and more in a tree, so that no arrival makes a key walk over all its rows.
//!
//! Invariant: rows stand in the order of their places, and each place holds one; a list and a tree
//! are not empty.

use std::collections::BTreeMap;
use std::ops::Range;

/// A longer list becomes a tree.
const FEW: usize = 16;

/// The rows of one key.
#[derive(Clone, Debug)]
pub(crate) enum Rows<P, T> {
    /// One, or none.
    One(Option<(P, T)>),
    /// A list.
    Few(Vec<(P, T)>),
    /// A tree.
    Many(BTreeMap<P, T>),
}

impl<P, T> Default for Rows<P, T> {
    fn default() -> Self {
        Self::One(None)
    }
}

/// Where in a list the rows from one place to another stand.
#[inline]
fn stretch<P: Copy + Ord, T>(list: &[(P, T)], (from, to): (P, P)) -> Range<usize> {
    let first = list.partition_point(|it| it.0 < from);
    first..list.partition_point(|it| it.0 <= to).max(first)
}

impl<P: Copy + Ord, T> Rows<P, T> {
    /// Whether there are none.
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        matches!(self, Self::One(None))
    }

    /// Puts a row where none stands.
    #[inline]
    pub(crate) fn insert(&mut self, at: P, row: T) {
        match self {
            Self::One(one @ None) => *one = Some((at, row)),
            Self::One(one) => {
                let mut few: Vec<_> = one.take().into_iter().collect();
                insert_into(&mut few, at, row);
                *self = Self::Few(few);
            }
            Self::Few(few) if few.len() < FEW => insert_into(few, at, row),
            Self::Few(few) => {
                let mut many: BTreeMap<_, _> = few.drain(..).collect();
                many.insert(at, row);
                *self = Self::Many(many);
            }
            Self::Many(many) => {
                many.insert(at, row);
            }
        }
    }

    /// The rows from one place to another.
    #[inline]
    pub(crate) fn between(
        &self,
        places: (P, P),
    ) -> impl DoubleEndedIterator<Item = (P, &T)> + use<'_, P, T> {
        let (list, many) = match self {
            Self::One(one) => (one.as_slice(), None),
            Self::Few(few) => (&few[..], None),
            Self::Many(many) => (&[][..], Some(many.range(places.0..=places.1))),
        };
        let list = list[stretch(list, places)].iter().map(|it| (it.0, &it.1));
        list.chain(many.into_iter().flatten().map(|it| (*it.0, it.1)))
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn between_mut(
        &mut self,
        places: (P, P),
    ) -> impl Iterator<Item = (P, &mut T)> + use<'_, P, T> {
        let (list, many) = match self {
            Self::One(one) => (one.as_mut_slice(), None),
            Self::Few(few) => (&mut few[..], None),
            Self::Many(many) => (&mut [][..], Some(many.range_mut(places.0..=places.1))),
        };
        let stretch = stretch(list, places);
        let list = list[stretch].iter_mut().map(|it| (it.0, &mut it.1));
        list.chain(many.into_iter().flatten().map(|it| (*it.0, it.1)))
    }

    /// Those of them that are `wanted`, taken out.
    pub(crate) fn take_between(
        &mut self,
        places: (P, P),
        wanted: impl Fn(&T) -> bool,
    ) -> Vec<(P, T)> {
        let (taken, left): (Vec<_>, _) = match self {
            Self::One(one) => {
                let taken = one.take_if(|it| places.0 <= it.0 && it.0 <= places.1 && wanted(&it.1));
                return taken.into_iter().collect();
            }
            Self::Few(few) => {
                let stretch = stretch(few, places);
                (few.extract_if(stretch, |it| wanted(&it.1)).collect(), few.len())
            }
            Self::Many(many) => {
                let taken = many.extract_if(places.0..=places.1, |_, it| wanted(it));
                (taken.collect(), many.len())
            }
        };
        self.settle(left);
        taken
    }

    /// The row of a place.
    #[inline]
    pub(crate) fn get(&self, at: P) -> Option<&T> {
        match self {
            Self::One(one) => one.as_ref().filter(|it| it.0 == at).map(|it| &it.1),
            Self::Few(few) => few.iter().rfind(|it| it.0 == at).map(|it| &it.1),
            Self::Many(many) => many.get(&at),
        }
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn get_mut(&mut self, at: P) -> Option<&mut T> {
        match self {
            Self::One(one) => one.as_mut().filter(|it| it.0 == at).map(|it| &mut it.1),
            Self::Few(few) => few.iter_mut().rfind(|it| it.0 == at).map(|it| &mut it.1),
            Self::Many(many) => many.get_mut(&at),
        }
    }

    /// The row of a place, taken out.
    #[inline]
    pub(crate) fn take(&mut self, at: P) -> Option<T> {
        let (row, left) = match self {
            Self::One(one) => return one.take_if(|it| it.0 == at).map(|it| it.1),
            Self::Few(few) => {
                let place = few.iter().position(|it| it.0 == at);
                (place.map(|it| few.remove(it).1), few.len())
            }
            Self::Many(many) => (many.remove(&at), many.len()),
        };
        self.settle(left);
        row
    }

    fn settle(&mut self, left: usize) {
        if left == 0 {
            *self = Self::One(None);
        }
    }
}

fn insert_into<P: Copy + Ord, T>(few: &mut Vec<(P, T)>, at: P, row: T) {
    let place = few.iter().rposition(|it| it.0 < at).map_or(0, |it| it + 1);
    few.insert(place, (at, row));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::drive::Draw;
    use crate::operator::keyed::At;
    use crate::time::EventTime;

    fn at(time: i64, number: u64) -> At {
        At { time: EventTime(time), number }
    }

    #[test]
    fn one_a_few_and_many_rows_are_found_and_taken_as_a_tree_would_have_them() {
        let mut draw = Draw(5);
        for most in [1, 3, 17, 60] {
            let (mut rows, mut model) = (Rows::default(), BTreeMap::new());
            for number in 0..600 {
                let new = at(draw.within(0, 20), number);
                if (model.len() as i64) < most {
                    rows.insert(new, number);
                    model.insert(new, number);
                }
                let from = at(draw.within(0, 20), 0);
                let to = at(from.time.0 + draw.within(-1, 2), u64::MAX);
                let stretch = (from, to.max(from));
                let of_model: Vec<_> =
                    model.range(stretch.0..=stretch.1).map(|it| (*it.0, *it.1)).collect();
                let found: Vec<_> = rows.between(stretch).map(|it| (it.0, *it.1)).collect();
                assert_eq!(found, of_model);
                let found: Vec<_> = rows.between_mut(stretch).map(|it| (it.0, *it.1)).collect();
                assert_eq!(found, of_model);
                let last = rows.between(stretch).next_back().map(|it| it.0);
                assert_eq!(last, of_model.last().map(|it| it.0));
                if draw.once_in(4) {
                    assert_eq!(rows.take_between(stretch, |_| true), of_model);
                    of_model.iter().for_each(|it| assert!(model.remove(&it.0).is_some()));
                } else if draw.once_in(4) {
                    assert_eq!(rows.take(from), model.remove(&from));
                    let first = model.pop_first();
                    assert_eq!(first.and_then(|it| rows.take(it.0)), first.map(|it| it.1));
                }
                assert_eq!(rows.is_empty(), model.is_empty());
                assert_eq!(rows.get(from), model.get(&from));
                assert_eq!(rows.get_mut(new), model.get_mut(&new));
            }
        }
    }
}
