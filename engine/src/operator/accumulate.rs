//! What is computed of the rows of one group.
//!
//! A value that is null does not count in sums, minima, maxima, averages and counts of a column. A sum
//! is 128 bits wide, so that no order of rows overflows it; a cell of the output is an i64, so that a
//! sum which has left i64 is written as the nearest i64, and [`Accumulators::saturate`] says so. An
//! average is two cells, its sum (null without any value) and its count; dividing is the edge's.
//!
//! Invariant: observing rows one after the other equals observing any two parts of them and merging.

use crate::plan::Aggregate;
use crate::row::RowBatch;
use serde::{Deserialize, Serialize};

/// The accumulators of one group, one per aggregate of the plan.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Accumulators(Vec<Accumulator>);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Accumulator {
    /// Rows, or values.
    Count(i64),
    /// The sum, once a value came.
    Sum(Option<i128>),
    /// The smallest value.
    Min(Option<i64>),
    /// The largest value.
    Max(Option<i64>),
    /// Sum and count of the values.
    Avg(i128, i64),
}

impl Accumulators {
    /// Before any row.
    pub fn new(aggregates: &[Aggregate]) -> Self {
        Self(aggregates.iter().map(|it| Accumulator::new(*it)).collect())
    }

    /// Counts a row in. `aggregates` are those of [`new`](Self::new).
    pub fn observe(&mut self, aggregates: &[Aggregate], batch: &RowBatch, row: usize) {
        for (it, aggregate) in self.0.iter_mut().zip(aggregates) {
            match aggregate.column() {
                None => it.observe(0),
                Some(column) => {
                    if let Some(value) = batch.columns[column.0].get(row) {
                        it.observe(value);
                    }
                }
            }
        }
    }

    /// Adds what another group of the same plan has.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.0.len(), other.0.len(), "both groups have the plan's aggregates");
        for (ours, theirs) in self.0.iter_mut().zip(&other.0) {
            ours.merge(*theirs);
        }
    }

    /// Appends the output cells, in the order of [`Aggregate::output`].
    pub fn cells(&self, cells: &mut Vec<Option<i64>>) {
        for it in &self.0 {
            match *it {
                Accumulator::Count(count) => cells.push(Some(count)),
                Accumulator::Sum(sum) => cells.push(sum.map(nearest)),
                Accumulator::Min(value) | Accumulator::Max(value) => cells.push(value),
                Accumulator::Avg(sum, count) => {
                    cells.extend([(count != 0).then(|| nearest(sum)), Some(count)]);
                }
            }
        }
    }

    /// How many output cells there are.
    pub fn width(&self) -> usize {
        let cells = |it: &Accumulator| if matches!(it, Accumulator::Avg(..)) { 2 } else { 1 };
        self.0.iter().map(cells).sum()
    }

    /// Whether a sum has left i64, so that its cell is not the true sum.
    pub fn saturate(&self) -> bool {
        self.0.iter().any(|it| match *it {
            Accumulator::Sum(Some(sum)) | Accumulator::Avg(sum, _) => i64::try_from(sum).is_err(),
            _ => false,
        })
    }

    /// Whether these are accumulators of such a plan; what was read from a snapshot may be others.
    pub fn fit(&self, aggregates: &[Aggregate]) -> bool {
        let kind = std::mem::discriminant::<Accumulator>;
        self.0.len() == aggregates.len()
            && self.0.iter().zip(aggregates).all(|it| kind(it.0) == kind(&Accumulator::new(*it.1)))
    }
}

impl Accumulator {
    const fn new(aggregate: Aggregate) -> Self {
        match aggregate {
            Aggregate::Count | Aggregate::CountOf(_) => Self::Count(0),
            Aggregate::Sum(_) => Self::Sum(None),
            Aggregate::Min(_) => Self::Min(None),
            Aggregate::Max(_) => Self::Max(None),
            Aggregate::Avg(_) => Self::Avg(0, 0),
        }
    }

    fn observe(&mut self, value: i64) {
        self.merge(match self {
            Self::Count(_) => Self::Count(1),
            Self::Sum(_) => Self::Sum(Some(i128::from(value))),
            Self::Min(_) => Self::Min(Some(value)),
            Self::Max(_) => Self::Max(Some(value)),
            Self::Avg(..) => Self::Avg(i128::from(value), 1),
        });
    }

    fn merge(&mut self, other: Self) {
        match (self, other) {
            (Self::Count(ours), Self::Count(theirs)) => *ours = ours.saturating_add(theirs),
            (Self::Sum(ours), Self::Sum(theirs)) => {
                *ours = both(*ours, theirs, i128::saturating_add)
            }
            (Self::Min(ours), Self::Min(theirs)) => *ours = both(*ours, theirs, i64::min),
            (Self::Max(ours), Self::Max(theirs)) => *ours = both(*ours, theirs, i64::max),
            (Self::Avg(sum, count), Self::Avg(more, rows)) => {
                *sum = sum.saturating_add(more);
                *count = count.saturating_add(rows);
            }
            (ours, theirs) => unreachable!("{ours:?} and {theirs:?} are of two plans"),
        }
    }
}

/// The two values combined; of a null and a value, the value.
fn both<T>(ours: Option<T>, theirs: Option<T>, combine: fn(T, T) -> T) -> Option<T> {
    match (ours, theirs) {
        (Some(one), Some(two)) => Some(combine(one, two)),
        (one, two) => one.or(two),
    }
}

fn nearest(sum: i128) -> i64 {
    sum.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{ColumnIx, ItemId, PartitionId};
    use crate::time::ProcTime;

    const V: ColumnIx = ColumnIx(0);
    const ALL: [Aggregate; 6] = [
        Aggregate::Count,
        Aggregate::CountOf(V),
        Aggregate::Sum(V),
        Aggregate::Min(V),
        Aggregate::Max(V),
        Aggregate::Avg(V),
    ];

    fn of(values: &[Option<i64>]) -> Accumulators {
        let mut batch = RowBatch::new(1);
        let mut it = Accumulators::new(&ALL);
        for (row, value) in values.iter().enumerate() {
            batch.push(ItemId(row as u64), PartitionId(0), ProcTime(0), &[*value]);
            it.observe(&ALL, &batch, row);
        }
        it
    }

    fn cells(it: &Accumulators) -> Vec<Option<i64>> {
        let mut cells = Vec::new();
        it.cells(&mut cells);
        cells
    }

    #[test]
    fn nulls_count_as_rows_and_as_nothing_else() {
        let some = of(&[Some(4), None, Some(-6)]);
        let expected = [Some(3), Some(2), Some(-2), Some(-6), Some(4), Some(-2), Some(2)];
        assert_eq!(cells(&some), expected);
        let none = [Some(1), Some(0), None, None, None, None, Some(0)];
        assert_eq!(cells(&of(&[None])), none);
    }

    #[test]
    fn parts_merge_to_the_whole_wherever_the_rows_are_cut() {
        let values =
            [Some(i64::MAX), None, Some(7), Some(i64::MAX), Some(i64::MIN), None, Some(-1)];
        for cut in 0..=values.len() {
            let (mut left, right) = (of(&values[..cut]), of(&values[cut..]));
            left.merge(&right);
            assert_eq!(left, of(&values), "cut at {cut}");
        }
    }

    #[test]
    fn a_sum_that_leaves_i64_is_written_as_the_nearest_and_comes_back_exact() {
        let beyond = of(&[Some(i64::MAX), Some(1)]);
        assert!(beyond.saturate());
        assert_eq!((cells(&beyond)[2], cells(&beyond)[5]), (Some(i64::MAX), Some(i64::MAX)));
        let back = of(&[Some(i64::MAX), Some(1), Some(-2)]);
        assert!(!back.saturate());
        assert_eq!(cells(&back)[2], Some(i64::MAX - 1));
    }

    #[test]
    fn accumulators_of_other_aggregates_do_not_fit() {
        let it = of(&[Some(1)]);
        assert!(it.fit(&ALL));
        assert!(!it.fit(&ALL[1..]));
        assert!(!it.fit(&[&ALL[2..], &ALL[..2]].concat()));
    }
}
