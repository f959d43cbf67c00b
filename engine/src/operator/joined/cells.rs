//! The cells of a row that is kept.
//!
//! Invariant: in a snapshot they are a sequence of cells, however they are kept.

use crate::row::RowBatch;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// So many need no memory of their own.
const FEW: usize = 4;

/// Cells in the order of their columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Cells {
    /// A few: the values, 0 at a null and behind the last; bit i of `nulls`: cell i is null.
    Few { values: [i64; FEW], len: u8, nulls: u8 },
    /// More.
    Many(Box<[Option<i64>]>),
}

impl Cells {
    /// Those of a row of a batch.
    #[inline]
    pub(crate) fn of(rows: &RowBatch, row: usize) -> Self {
        rows.columns.iter().map(|it| it.get(row)).collect()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Few { len, .. } => usize::from(*len),
            Self::Many(cells) => cells.len(),
        }
    }

    /// One of them.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<i64> {
        match self {
            Self::Few { values, nulls, .. } => (nulls >> at & 1 == 0).then_some(values[at]),
            Self::Many(cells) => cells[at],
        }
    }

    /// All of them.
    #[inline]
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = Option<i64>> {
        (0..self.len()).map(|it| self.get(it))
    }
}

impl FromIterator<Option<i64>> for Cells {
    #[inline]
    fn from_iter<I: IntoIterator<Item = Option<i64>>>(cells: I) -> Self {
        let mut cells = cells.into_iter();
        let (mut values, mut nulls) = ([0; FEW], 0);
        for at in 0..=FEW {
            let Some(cell) = cells.next() else {
                return Self::Few { values, len: at as u8, nulls };
            };
            if at == FEW {
                let few = Self::Few { values, len: FEW as u8, nulls };
                return Self::Many(few.iter().chain([cell]).chain(cells).collect());
            }
            values[at] = cell.unwrap_or(0);
            nulls |= u8::from(cell.is_none()) << at;
        }
        unreachable!("one more than a few are many")
    }
}

impl Serialize for Cells {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Cells {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Vec::<Option<i64>>::deserialize(from)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_cells_comes_back_as_it_was_and_is_written_as_a_sequence() {
        for len in 0..9 {
            let plain: Vec<_> = (0..len).map(|it| (it % 3 != 1).then_some(it - 1)).collect();
            let cells: Cells = plain.iter().copied().collect();
            assert_eq!(
                (cells.len(), cells.iter().collect::<Vec<_>>()),
                (plain.len(), plain.clone())
            );
            let bytes = postcard::to_allocvec(&cells).expect("plain data");
            assert_eq!(bytes, postcard::to_allocvec(&plain).expect("plain data"));
            assert_eq!(postcard::from_bytes::<Cells>(&bytes), Ok(cells));
        }
    }
}
