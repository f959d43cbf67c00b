//! Aggregates over a list of rows, all at once.
//!
//! Reading: a sum that leaves 64 bits is cut to the nearer end; the law has no cell for it.
//!
//! Invariant: the cells depend on the multiset of rows alone, never on their order.

use super::stage::Cells;
use plimsoll_engine::plan::Aggregate;

/// The cells that these aggregates write over these rows.
pub(super) fn over(rows: &[&Cells], aggregates: &[Aggregate], out: &mut Cells) {
    for aggregate in aggregates {
        let column = aggregate.column().map_or(usize::MAX, |it| it.0);
        let values: Vec<i64> =
            rows.iter().filter_map(|it| it.get(column).copied().flatten()).collect();
        let sum: i128 = values.iter().map(|it| i128::from(*it)).sum();
        let sum = sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        let sum = (!values.is_empty()).then_some(sum);
        match aggregate {
            Aggregate::Count => out.push(Some(rows.len() as i64)),
            Aggregate::CountOf(_) => out.push(Some(values.len() as i64)),
            Aggregate::Sum(_) => out.push(sum),
            Aggregate::Min(_) => out.push(values.iter().min().copied()),
            Aggregate::Max(_) => out.push(values.iter().max().copied()),
            Aggregate::Avg(_) => out.extend([sum, Some(values.len() as i64)]),
        }
    }
}

/// The key of a row.
pub(super) fn key(cells: &[Option<i64>], columns: &[plimsoll_engine::row::ColumnIx]) -> Cells {
    columns.iter().map(|it| cells[it.0]).collect()
}
