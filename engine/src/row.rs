//! Rows: batches of named, nullable columns of i64.
//!
//! The engine knows integers only. Text becomes a number through a [`Dictionary`], which is part of
//! every snapshot; decimals are scaled at the edge. Event time is a nullable time column. A row also
//! says from which partition it came, when it arrived, and under which number its caller knows it
//! ([`ItemId`]: a line of a trace, a line of a recording); the engine only repeats that number.
//!
//! Invariant: all columns of a batch have the same length, and the order of rows is arrival order.

use crate::time::ProcTime;
use serde::{Deserialize, Serialize};

/// A partition of an input, numbered by the caller.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct PartitionId(pub u32);

impl PartitionId {
    /// The largest number of a partition within its task.
    pub const NUMBER_MAX: u32 = (1 << 20) - 1;
    /// The largest number of a task within its input.
    pub const TASK_MAX: u32 = (1 << 8) - 1;
    /// The largest number of an input.
    pub const INPUT_MAX: u32 = (1 << 4) - 1;

    /// The partition of this number, read by a task of an input. A plan of one input and one task
    /// may use all numbers as they are. Panics beyond the limits: readers check them.
    pub fn of(input: u32, task: u32, number: u32) -> Self {
        assert!(
            input <= Self::INPUT_MAX && task <= Self::TASK_MAX && number <= Self::NUMBER_MAX,
            "input {input}, task {task}, partition {number} within their limits"
        );
        Self(input << 28 | task << 20 | number)
    }

    /// The input, by its position in the plan.
    #[inline]
    pub const fn input(self) -> usize {
        (self.0 >> 28) as usize
    }

    /// The task that reads it, within the input.
    #[inline]
    pub const fn task(self) -> u32 {
        self.0 >> 20 & Self::TASK_MAX
    }

    /// Its number within the task.
    #[inline]
    pub const fn number(self) -> u32 {
        self.0 & Self::NUMBER_MAX
    }
}

/// The caller's number for a row or another item: opaque here, repeated in every record.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct ItemId(pub u64);

/// Position of a column in a [`Schema`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ColumnIx(pub usize);

/// What the integers of a column mean.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ColumnKind {
    /// A plain integer.
    Integer,
    /// Event time in milliseconds.
    Time,
    /// A code of the [`Dictionary`].
    Text,
}

/// A named column.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ColumnSpec {
    /// The name users know.
    pub name: String,
    /// What its integers mean.
    pub kind: ColumnKind,
}

/// The columns of an input, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Schema {
    /// All columns.
    pub columns: Vec<ColumnSpec>,
}

impl Schema {
    /// Where the column of this name stands.
    pub fn position(&self, name: &str) -> Option<ColumnIx> {
        self.columns.iter().position(|it| it.name == name).map(ColumnIx)
    }

    /// The column at a position.
    pub fn column(&self, ix: ColumnIx) -> &ColumnSpec {
        &self.columns[ix.0]
    }
}

/// One nullable column of a batch. `nulls` is empty while no value is null.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Column {
    /// The values; what stands at a null position is 0 and means nothing.
    pub values: Vec<i64>,
    /// Empty, or as long as `values`: true where the value is null.
    pub nulls: Vec<bool>,
}

impl Column {
    /// A column without nulls.
    pub const fn new(values: Vec<i64>) -> Self {
        Self { values, nulls: Vec::new() }
    }

    /// The value at `row`, or `None` where it is null.
    #[inline]
    pub fn get(&self, row: usize) -> Option<i64> {
        if self.has_nulls() && self.nulls[row] { None } else { Some(self.values[row]) }
    }

    /// Whether any value is null.
    #[inline]
    pub fn has_nulls(&self) -> bool {
        !self.nulls.is_empty()
    }

    /// Appends one value.
    #[inline]
    pub fn push(&mut self, value: Option<i64>) {
        if value.is_none() && self.nulls.is_empty() {
            self.nulls.resize(self.values.len(), false);
        }
        self.values.push(value.unwrap_or(0));
        if value.is_none() || self.has_nulls() {
            self.nulls.push(value.is_none());
        }
    }

    fn extend_from(&mut self, other: &Self, rows: std::ops::Range<usize>) {
        if other.has_nulls() || self.has_nulls() {
            for row in rows {
                self.push(other.get(row));
            }
        } else {
            self.values.extend_from_slice(&other.values[rows]);
        }
    }

    /// Forgets all values, keeps the memory.
    pub fn clear(&mut self) {
        self.values.clear();
        self.nulls.clear();
    }
}

/// Rows in arrival order. Row at a time is a batch of one.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RowBatch {
    /// The caller's number of each row.
    pub ids: Vec<ItemId>,
    /// Where each row came from.
    pub partitions: Vec<PartitionId>,
    /// When each row arrived.
    pub arrivals: Vec<ProcTime>,
    /// One column per column of the schema.
    pub columns: Vec<Column>,
}

impl RowBatch {
    /// An empty batch with `columns` columns.
    pub fn new(columns: usize) -> Self {
        Self { columns: vec![Column::default(); columns], ..Self::default() }
    }

    /// How many rows there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Appends one row. Panics where `cells` does not have one cell per column.
    #[inline]
    pub fn push(
        &mut self,
        id: ItemId,
        partition: PartitionId,
        arrival: ProcTime,
        cells: &[Option<i64>],
    ) {
        assert_eq!(cells.len(), self.columns.len(), "a row has one cell per column");
        self.ids.push(id);
        self.partitions.push(partition);
        self.arrivals.push(arrival);
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.push(*cell);
        }
    }

    /// Appends one row of another batch with the same columns.
    #[inline]
    pub fn push_from(&mut self, other: &Self, row: usize) {
        assert_eq!(self.columns.len(), other.columns.len(), "batches of one input");
        self.ids.push(other.ids[row]);
        self.partitions.push(other.partitions[row]);
        self.arrivals.push(other.arrivals[row]);
        for (column, from) in self.columns.iter_mut().zip(&other.columns) {
            if column.has_nulls() || from.has_nulls() {
                column.push(from.get(row));
            } else {
                column.values.push(from.values[row]);
            }
        }
    }

    /// Appends some rows of another batch with the same columns.
    pub fn extend_from(&mut self, other: &Self, rows: std::ops::Range<usize>) {
        if rows.len() == 1 {
            return self.push_from(other, rows.start);
        }
        assert_eq!(self.columns.len(), other.columns.len(), "batches of one input");
        self.ids.extend_from_slice(&other.ids[rows.clone()]);
        self.partitions.extend_from_slice(&other.partitions[rows.clone()]);
        self.arrivals.extend_from_slice(&other.arrivals[rows.clone()]);
        for (column, from) in self.columns.iter_mut().zip(&other.columns) {
            column.extend_from(from, rows.clone());
        }
    }

    /// Forgets all rows, keeps the memory.
    pub fn clear(&mut self) {
        self.ids.clear();
        self.partitions.clear();
        self.arrivals.clear();
        self.columns.iter_mut().for_each(Column::clear);
    }
}

/// Text values and their codes, in the order of first sight.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Dictionary {
    texts: Vec<String>,
    #[serde(skip)]
    codes: std::collections::BTreeMap<String, i64>,
}

impl Dictionary {
    /// The code of `text`, given out now if it is new.
    pub fn code(&mut self, text: &str) -> i64 {
        if self.codes.len() != self.texts.len() {
            self.codes = (0..).zip(&self.texts).map(|(i, it)| (it.clone(), i)).collect();
        }
        if let Some(code) = self.codes.get(text) {
            return *code;
        }
        let code = self.texts.len() as i64;
        self.texts.push(text.to_owned());
        self.codes.insert(text.to_owned(), code);
        code
    }

    /// The text of a code; `None` where no such code was given out.
    pub fn text(&self, code: i64) -> Option<&str> {
        usize::try_from(code).ok().and_then(|it| self.texts.get(it)).map(String::as_str)
    }

    /// How many texts there are.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_cost_nothing_until_the_first_one() {
        let mut column = Column::default();
        column.push(Some(7));
        assert!(!column.has_nulls());
        column.push(None);
        column.push(Some(9));
        assert_eq!((column.get(0), column.get(1), column.get(2)), (Some(7), None, Some(9)));
    }

    #[test]
    fn a_null_in_the_first_row_is_kept() {
        let mut column = Column::default();
        column.push(None);
        column.push(Some(0));
        assert_eq!((column.get(0), column.get(1)), (None, Some(0)));
    }

    #[test]
    fn a_text_keeps_its_code() {
        let mut dictionary = Dictionary::default();
        assert_eq!((dictionary.code("a"), dictionary.code("b"), dictionary.code("a")), (0, 1, 0));
        assert_eq!(dictionary.text(1), Some("b"));
        assert_eq!(dictionary.text(-1), None);
    }
}
