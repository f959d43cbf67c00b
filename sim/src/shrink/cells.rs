//! Simpler values: a whole column at once, fewer different ones, no nulls, short texts.
//!
//! Codes of texts are numbered by first appearance, so that the dictionary has no text that is not
//! used and its texts are `a`, `b`, `c`.
//!
//! Invariant: event times are not touched here, and no code without a text comes to be.

use super::{Edit, Edits, Pass};
use crate::trace::{Item, Trace};
use plimsoll_engine::row::{ColumnKind, Dictionary};
use std::collections::BTreeMap;

pub(super) const PASS: Pass = Pass { name: "values", edits, run: |search| search.sweep(edits) };

/// The most values of a column that are changed one into another.
const MOST: usize = 8;

type Names = BTreeMap<Option<i64>, Option<i64>>;

fn edits(trace: &Trace) -> Edits<'_> {
    let columns = trace.plan.schema.columns.iter().enumerate();
    let plain = columns.filter(|(_, it)| it.kind != ColumnKind::Time).map(|(column, _)| column);
    let by_column = plain.flat_map(move |column| {
        column_names(trace, column)
            .into_iter()
            .map(move |names| -> Edit<'_> { Box::new(move || renamed(trace, column, &names)) })
    });
    let texts: Edit<'_> = Box::new(|| plain_texts(trace));
    Box::new(by_column.chain([texts]))
}

fn column_names(trace: &Trace, column: usize) -> Vec<Names> {
    let mut seen: Vec<Option<i64>> = Vec::new();
    for item in &trace.items {
        if let Item::Row(row) = item {
            let cell = trace.cells(*row)[column];
            if !seen.contains(&cell) {
                seen.push(cell);
            }
            if MOST < seen.len() {
                break;
            }
        }
    }
    let many = MOST < seen.len();
    let all_zero: Names = if many {
        rows_of(trace, column)
    } else {
        seen.iter().copied().map(|it| (it, Some(0))).collect()
    };
    let numbered: Names = seen.iter().copied().zip((0..).map(Some)).collect();
    let mut names = vec![all_zero];
    if !many {
        names.push(numbered);
        for a in 0..seen.len() {
            for b in 0..seen.len() {
                if a != b {
                    names.push(Names::from([(seen[a], seen[b])]));
                }
            }
            names.push(Names::from([(seen[a], Some(0))]));
            names.push(Names::from([(seen[a], Some(1))]));
        }
    }
    for it in &mut names {
        it.retain(|_, name| can_be_written(trace, column, *name));
    }
    names
}

/// A code must have its text.
fn can_be_written(trace: &Trace, column: usize, value: Option<i64>) -> bool {
    let text = trace.plan.schema.columns[column].kind == ColumnKind::Text;
    let first = value == Some(0); // Has one, or is given one.
    !text || first || value.is_none_or(|it| trace.dictionary.text(it).is_some())
}

/// Every value of a column that has many of them, as zero.
fn rows_of(trace: &Trace, column: usize) -> Names {
    let rows = trace.items.iter().filter_map(|it| match it {
        Item::Row(row) => Some((trace.cells(*row)[column], Some(0))),
        _ => None,
    });
    rows.collect()
}

fn renamed(trace: &Trace, column: usize, names: &Names) -> Trace {
    let mut changed = trace.compacted();
    if changed.dictionary.is_empty() && trace.plan.schema.columns[column].kind == ColumnKind::Text {
        changed.dictionary.code("a");
    }
    let rows: Vec<usize> = changed.rows().map(|it| it + column).collect();
    for at in rows {
        if let Some(name) = names.get(&changed.cells[at]) {
            changed.cells[at] = *name;
        }
    }
    changed
}

/// The texts that are used, numbered by first appearance and called `a`, `b`, `c`.
fn plain_texts(trace: &Trace) -> Trace {
    let mut changed = trace.compacted();
    let columns: Vec<usize> = (0..trace.plan.schema.columns.len())
        .filter(|it| trace.plan.schema.columns[*it].kind == ColumnKind::Text)
        .collect();
    let rows: Vec<usize> = changed.rows().collect();
    let mut codes: BTreeMap<i64, i64> = BTreeMap::new();
    let mut dictionary = Dictionary::default();
    for at in rows.iter().flat_map(|row| columns.iter().map(move |column| row + column)) {
        let Some(code) = changed.cells[at].filter(|it| trace.dictionary.text(*it).is_some()) else {
            continue;
        };
        let next = codes.len();
        let code = *codes.entry(code).or_insert_with(|| dictionary.code(&plain_name(next)));
        changed.cells[at] = Some(code);
    }
    changed.dictionary = dictionary;
    changed
}

/// `a` to `z`, then `a1` and so on.
fn plain_name(number: usize) -> String {
    let letter = char::from(b'a' + (number % 26) as u8);
    match number / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}

impl Trace {
    /// Where the cells of each row begin.
    fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        self.items.iter().filter_map(|it| match it {
            Item::Row(row) => Some(row.cells as usize),
            _ => None,
        })
    }
}
