//! Running totals of one aggregate: how many values went in, and their sum or extreme.
//!
//! Invariant: the value depends on the multiset of cells alone, never on their order.

use plimsoll_engine::plan::Aggregate;
use plimsoll_engine::state::layout::Value;

/// One aggregate of one (window, key).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Total {
    count: u64,
    value: i128,
}

impl Total {
    /// One row goes in; `cell` is what the aggregate reads, and not null for a plain count.
    #[inline]
    pub(super) fn observe(&mut self, aggregate: Aggregate, cell: Option<i64>) {
        let Some(cell) = cell else { return };
        let cell = i128::from(cell);
        match aggregate {
            Aggregate::Count | Aggregate::CountOf(_) => {}
            Aggregate::Sum(_) | Aggregate::Avg(_) => self.value += cell,
            Aggregate::Min(_) if self.count == 0 || cell < self.value => self.value = cell,
            Aggregate::Max(_) if self.count == 0 || self.value < cell => self.value = cell,
            Aggregate::Min(_) | Aggregate::Max(_) => {}
        }
        self.count += 1;
    }

    /// What is written.
    pub(super) fn value(self, aggregate: Aggregate) -> Value {
        let Self { count, value } = self;
        match aggregate {
            Aggregate::Count | Aggregate::CountOf(_) => Value::Int(count as i64),
            _ if count == 0 => Value::Null,
            Aggregate::Avg(_) => Value::Avg { sum: value, count },
            Aggregate::Sum(_) | Aggregate::Min(_) | Aggregate::Max(_) => {
                i64::try_from(value).map_or(Value::Wide(value), Value::Int)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_engine::row::ColumnIx;

    fn total(aggregate: Aggregate, cells: &[Option<i64>]) -> Value {
        let mut total = Total::default();
        cells.iter().for_each(|it| total.observe(aggregate, *it));
        total.value(aggregate)
    }

    #[test]
    fn nulls_do_not_go_in_and_nothing_is_null() {
        let v = ColumnIx(0);
        let cells = [None, Some(4), None, Some(-6)];
        assert_eq!(total(Aggregate::CountOf(v), &cells), Value::Int(2));
        assert_eq!(total(Aggregate::Sum(v), &cells), Value::Int(-2));
        assert_eq!(total(Aggregate::Min(v), &cells), Value::Int(-6));
        assert_eq!(total(Aggregate::Max(v), &cells), Value::Int(4));
        assert_eq!(total(Aggregate::Avg(v), &cells), Value::Avg { sum: -2, count: 2 });
        assert_eq!(total(Aggregate::CountOf(v), &[None]), Value::Int(0));
        assert_eq!(total(Aggregate::Sum(v), &[None]), Value::Null);
        assert_eq!(total(Aggregate::Avg(v), &[]), Value::Null);
        assert_eq!(total(Aggregate::Max(v), &[None]), Value::Null);
    }

    #[test]
    fn a_sum_that_leaves_64_bits_is_wide() {
        let v = ColumnIx(0);
        let twice = [Some(i64::MIN), Some(i64::MIN)];
        assert_eq!(total(Aggregate::Sum(v), &twice), Value::Wide(2 * i128::from(i64::MIN)));
        assert_eq!(total(Aggregate::Min(v), &twice), Value::Int(i64::MIN));
        let back = [Some(i64::MAX), Some(1), Some(-1)];
        assert_eq!(total(Aggregate::Sum(v), &back), Value::Int(i64::MAX));
    }
}
