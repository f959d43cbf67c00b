//! The columns of a query by the names that the vector gives them.
//!
//! An average is two columns of ours and one of Spark's; the time of a window is a column that Spark
//! computes when asked. So names are kept beside the plan, stage by stage.
//!
//! Invariant: a name finds at most one column, the last one that was given it.

use super::super::EmittedRow;
use super::super::cell::Cell;
use super::super::run::NULL_KEY;
use super::{COLUMNS, Unmapped, foreign};
use plimsoll_engine::plan::flow::DedupExpiry;
use plimsoll_engine::row::{ColumnIx, ColumnKind, Dictionary, RowBatch, Schema};
use plimsoll_engine::time::{EventTime, Span};

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

    /// Those of an input, with the kinds that the vector knows.
    pub(super) fn of(schema: &Schema) -> Self {
        let mut columns = Self::none();
        for it in &schema.columns {
            let known = COLUMNS.iter().find(|known| known.0 == it.name);
            columns.push(&it.name, known.map_or(it.kind, |it| it.1));
        }
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

    /// What a column is called.
    pub(super) fn name(&self, at: ColumnIx) -> Option<&str> {
        let stands = |slot: &Slot| matches!(slot, Slot::Plain(it, _) if *it == at);
        self.named.iter().rev().find(|it| stands(&it.1)).map(|it| it.0.as_str())
    }

    /// Where several stand; `window` is all columns of a window.
    pub(super) fn find_all(&self, names: &[String]) -> Result<Vec<ColumnIx>, Unmapped> {
        self.spelled_out(names).iter().map(|it| self.find(it).map(|it| it.0)).collect()
    }

    /// Where the values stand that a count counts: those of an average are as many as sums.
    pub(super) fn counted(&self, name: &str) -> Result<ColumnIx, Unmapped> {
        match self.named.iter().rev().find(|it| it.0 == name) {
            Some((_, Slot::Mean(at), _)) => Ok(*at),
            _ => self.find(name).map(|it| it.0),
        }
    }

    /// Names with `window` as the columns that it is here.
    pub(super) fn spelled_out(&self, names: &[String]) -> Vec<String> {
        let window = ["window_start", "window_end", WINDOW_TIME].map(str::to_owned);
        let spelled = |it: &String| match it.as_str() {
            "window" if self.find(WINDOW_TIME).is_ok() => window.to_vec(),
            _ => vec![it.clone()],
        };
        names.iter().flat_map(spelled).collect()
    }

    /// Gives a column another name.
    pub(super) fn rename(&mut self, from: &str, to: &str) {
        for it in self.named.iter_mut().filter(|it| it.0 == from) {
            to.clone_into(&mut it.0);
        }
    }

    /// Keeps some, in this order: their places, and what is left. `window` is all columns of a window.
    pub(super) fn project(&self, names: &[String]) -> Result<(Vec<ColumnIx>, Self), Unmapped> {
        let (mut places, mut left) = (Vec::new(), Self::none());
        for name in self.spelled_out(names) {
            if let Some((_, Slot::Mean(at), _)) = self.named.iter().rev().find(|it| it.0 == name) {
                places.extend([*at, ColumnIx(at.0 + 1)]);
                left.push_mean(&name);
                continue;
            }
            let (at, kind) = self.find(&name)?;
            places.push(at);
            left.push_as(&name, kind);
        }
        Ok((places, left))
    }

    /// When a dedup within a delay forgets rows of windows: Spark takes the column for a number, and what
    /// it reads of a window is where in the row its two times stand and how long they are, in
    /// microseconds (DeduplicateWithinWatermarkExec, `getLong` of a struct): the same for all rows.
    pub(super) fn read_as_a_number(&self, delay: Span) -> DedupExpiry {
        let hidden = |it: &&(String, Slot, bool)| it.0 == WINDOW_TIME || it.0 == "window_start";
        let fields = self.named.len() - self.named.iter().filter(hidden).count();
        let fixed = 8 * (fields.div_ceil(64) + fields) as i64;
        let micros = (fixed << 32) | 16;
        DedupExpiry::At(EventTime((micros + 999) / 1_000) + delay)
    }

    /// One more column; the time of a window is not written.
    pub(super) fn push_as(&mut self, name: &str, kind: ColumnKind) {
        if name == WINDOW_TIME {
            self.push_hidden(name, kind);
        } else {
            self.push(name, kind);
        }
    }

    /// A written row under its names.
    pub fn row(&self, rows: &RowBatch, row: usize, texts: &Dictionary) -> EmittedRow {
        let get = |it: ColumnIx| rows.columns[it.0].get(row);
        let cell = |slot: &Slot| match *slot {
            Slot::Plain(at, kind) => match (get(at), kind) {
                (None, _) => Cell::Null,
                (Some(code), ColumnKind::Text) => match texts.text(code).unwrap_or("?") {
                    NULL_KEY => Cell::Null,
                    text => Cell::Text(text.to_owned()),
                },
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
