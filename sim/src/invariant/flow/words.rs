//! How evidence of flows prints cells.
//!
//! Invariant: cells are printed in the order of their columns.

use crate::trace::time_text::TimeText;
use plimsoll_engine::row::{ColumnKind, ColumnSpec};
use plimsoll_engine::time::EventTime;
use std::fmt::Write;

/// Cells under their columns' names.
pub(super) fn row(cells: &[Option<i64>], columns: &[ColumnSpec]) -> String {
    let mut text = String::from("(");
    for (cell, column) in cells.iter().zip(columns) {
        let space = if text.len() > 1 { " " } else { "" };
        _ = match (*cell, column.kind) {
            (None, _) => write!(text, "{space}{}=-", column.name),
            (Some(it), ColumnKind::Time) => {
                write!(text, "{space}{}={}", column.name, TimeText(EventTime(it)))
            }
            (Some(it), _) => write!(text, "{space}{}={it}", column.name),
        };
    }
    text + ")"
}
