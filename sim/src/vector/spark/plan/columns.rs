//! The columns of a query by the names that the vector gives them.
//!
//! An average is two columns of ours and one of Spark's; the time of a window is a column that Spark
//! computes when asked. So names are kept beside the plan, stage by stage.
//!
//! Invariant: a name finds at most one column, the last one that was given it.

use super::super::EmittedRow;
use super::super::cell::Cell;
use super::{Unmapped, foreign};
use plimsoll_engine::row::{ColumnIx, ColumnKind, Dictionary, RowBatch, Schema};

/// A column, or the pair that is an average.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    Plain(ColumnIx, ColumnKind),
    Mean(ColumnIx),
}

/// Named columns in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Columns {
    /// Name, place, and whether it is written.
    named: Vec<(String, Slot, bool)>,
    /// How many columns of ours there are.
    count: usize,
}

/// The hidden time of a window.
pub(super) const WINDOW_TIME: &str = "window_time";

impl Columns {
    /// None yet.
    pub(super) const fn none() -> Self {
        Self { named: Vec::new(), count: 0 }
    }

    /// Those of an input.
    pub(super) fn of(schema: &Schema) -> Self {
        let mut columns = Self::none();
        schema.columns.iter().for_each(|it| columns.push(&it.name, it.kind));
        columns
    }

    /// One more column.
    pub(super) fn push(&mut self, name: &str, kind: ColumnKind) {
        self.named.push((name.to_owned(), Slot::Plain(ColumnIx(self.count), kind), true));
        self.count += 1;
    }

    /// One more column, which is not written.
    pub(super) fn push_hidden(&mut self, name: &str, kind: ColumnKind) {
        self.push(name, kind);
        self.named.last_mut().expect("just pushed").2 = false;
    }

    /// One more average: a sum and a count.
    pub(super) fn push_mean(&mut self, name: &str) {
        self.named.push((name.to_owned(), Slot::Mean(ColumnIx(self.count)), true));
        self.count += 2;
    }

    /// The columns of both sides of a join, or of the left one.
    pub(super) fn joined(&self, both: bool) -> Self {
        let mut joined = Self::none();
        for prefix in if both { &["l_", "r_"][..] } else { &["l_"] } {
            for (name, slot, _) in &self.named {
                let Slot::Plain(_, kind) = slot else { continue };
                joined.push(&format!("{prefix}{name}"), *kind);
            }
        }
        joined
    }

    /// Where a column of this name stands, and its kind.
    pub(super) fn find(&self, name: &str) -> Result<(ColumnIx, ColumnKind), Unmapped> {
        match self.named.iter().rev().find(|it| it.0 == name) {
            Some((_, Slot::Plain(at, kind), _)) => Ok((*at, *kind)),
            Some((_, Slot::Mean(_), _)) => Err(foreign(format!("an average, `{name}`, as input"))),
            None => Err(foreign(format!("a column `{name}` that is not there"))),
        }
    }

    /// Where several stand.
    pub(super) fn find_all(&self, names: &[String]) -> Result<Vec<ColumnIx>, Unmapped> {
        names.iter().map(|it| self.find(it).map(|it| it.0)).collect()
    }

    /// Gives a column another name.
    pub(super) fn rename(&mut self, from: &str, to: &str) {
        for it in self.named.iter_mut().filter(|it| it.0 == from) {
            to.clone_into(&mut it.0);
        }
    }

    /// Keeps some, in this order: their places, and what is left. `window` is all columns of a window.
    pub(super) fn project(&self, names: &[String]) -> Result<(Vec<ColumnIx>, Self), Unmapped> {
        let window = ["window_start", "window_end", WINDOW_TIME].map(str::to_owned);
        let (mut places, mut left) = (Vec::new(), Self::none());
        let names = names.iter().flat_map(|it| match it.as_str() {
            "window" => window.to_vec(),
            _ => vec![it.clone()],
        });
        for name in names {
            let (at, kind) = self.find(&name)?;
            places.push(at);
            if name == WINDOW_TIME {
                left.push_hidden(&name, kind);
            } else {
                left.push(&name, kind);
            }
        }
        Ok((places, left))
    }

    /// A written row under its names.
    pub fn row(&self, rows: &RowBatch, row: usize, texts: &Dictionary) -> EmittedRow {
        let get = |it: ColumnIx| rows.columns[it.0].get(row);
        let cell = |slot: &Slot| match *slot {
            Slot::Plain(at, kind) => match (get(at), kind) {
                (None, _) => Cell::Null,
                (Some(code), ColumnKind::Text) => {
                    Cell::Text(texts.text(code).unwrap_or("?").to_owned())
                }
                (Some(it), ColumnKind::Integer | ColumnKind::Time) => Cell::Integer(it),
            },
            Slot::Mean(at) => {
                let count = get(ColumnIx(at.0 + 1)).and_then(|it| u64::try_from(it).ok());
                match (get(at), count) {
                    (Some(sum), Some(count)) if 0 < count => {
                        Cell::Mean { sum: i128::from(sum), count }
                    }
                    _ => Cell::Null,
                }
            }
        };
        let written = self.named.iter().filter(|it| it.2);
        written.map(|(name, slot, _)| (name.clone(), cell(slot))).collect()
    }
}
