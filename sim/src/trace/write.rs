//! From a trace to its text, in one way only.
//!
//! The text begins with the version, then what is known about the origin as comments, then the plan,
//! then the items, one per line. Null columns are left out. [`parse`](super::parse::parse) reads it
//! back as the same trace; only where cells stand in memory and which codes texts have may differ,
//! and [`normalized`] brings both into the one order that reading gives.
//!
//! Invariant: `parse(write(t))` is `normalized(t)`, and equal traces have equal texts. A trace that is
//! written has columns whose names [can be written](super::plan_text::is_name), a time column, a
//! text for every code, and no tick that goes back.

use super::parse::VERSION;
use super::partition::TaskText;
use super::plan_text::pairs_of;
use super::restart;
use super::time_text::{SpanText, TimeText};
use super::words::quoted;
use super::{Item, RowItem, Trace};
use plimsoll_engine::row::{ColumnKind, Dictionary, PartitionId};
use plimsoll_engine::time::EventTime;
use plimsoll_engine::watermark::levels::Steer;
use plimsoll_engine::watermark::member::Adoption;
use std::fmt::Write as _;

/// The text of a trace, with comments at its head.
pub fn write(trace: &Trace, head: &[String]) -> String {
    let mut text = format!("plimsoll-trace {VERSION}\n");
    for line in head.iter().flat_map(|it| it.split('\n')) {
        let line: String = line.chars().filter(|it| !it.is_control()).collect();
        text.push_str(format!("# {line}").trim_end());
        text.push('\n');
    }
    text.push_str(&plan_line(trace));
    text.push('\n');
    for item in &trace.items {
        item_line(&mut text, trace, item).expect("a string takes all text");
        text.push('\n');
    }
    text
}

/// The plan on one line.
pub fn plan_line(trace: &Trace) -> String {
    let mut text = "plan".to_owned();
    for (key, value) in pairs_of(&trace.plan, trace.clock) {
        write!(text, " {key}={value}").expect("a string takes all text");
    }
    text
}

/// One item on one line, without the line end.
pub fn item_text(trace: &Trace, item: &Item) -> String {
    let mut text = String::new();
    item_line(&mut text, trace, item).expect("a string takes all text");
    text
}

fn item_line(text: &mut String, trace: &Trace, item: &Item) -> std::fmt::Result {
    let whose = |it: PartitionId| trace.partition_text(it);
    match item {
        Item::Row(row) => row_line(text, trace, *row),
        Item::Heartbeat { partition, time } => {
            write!(text, "heartbeat {} {}", whose(*partition), TimeText(*time))
        }
        Item::Tick(span) => write!(text, "tick +{}", SpanText(*span)),
        Item::Probe => write!(text, "probe"),
        Item::Batch => write!(text, "batch"),
        Item::Add { partition, adoption: Adoption::WithoutWatermark } => {
            write!(text, "add {}", whose(*partition))
        }
        Item::Add { partition, adoption } => {
            write!(text, "add {} {}", whose(*partition), adoption_word(*adoption))
        }
        Item::Remove(partition) => write!(text, "remove {}", whose(*partition)),
        Item::Move { partition, adoption } => {
            write!(text, "move {} {}", whose(*partition), adoption_word(*adoption))
        }
        Item::Finish(partition) => write!(text, "finish {}", whose(*partition)),
        Item::Steer(Steer::Limit(EventTime::MAX)) => write!(text, "limit none"),
        Item::Steer(Steer::Limit(limit)) => write!(text, "limit {}", TimeText(*limit)),
        Item::Steer(Steer::Press { input, task, on }) => {
            let off = if *on { "" } else { " off" };
            write!(text, "pressure {}{off}", TaskText::new(&trace.plan, *input, *task))
        }
        Item::Checkpoint => write!(text, "checkpoint"),
        Item::Crash { stale: false } => write!(text, "crash"),
        Item::Crash { stale: true } => write!(text, "crash stale"),
        Item::Restart(rules) => write!(text, "restart{}", restart::words(*rules)),
        Item::End => write!(text, "end"),
    }
}

const fn adoption_word(adoption: Adoption) -> &'static str {
    match adoption {
        Adoption::WithWatermark => "with_watermark",
        Adoption::WithoutWatermark => "without_watermark",
        Adoption::AtGroup => "at_group",
    }
}

fn row_line(text: &mut String, trace: &Trace, row: RowItem) -> std::fmt::Result {
    write!(text, "row {} ", trace.partition_text(row.partition))?;
    let cells = trace.cells(row);
    let time = trace.time_column();
    match cells[time] {
        Some(it) => write!(text, "{}", TimeText(EventTime(it)))?,
        None => text.push('-'),
    }
    for (i, (column, cell)) in trace.plan.schema.columns.iter().zip(cells).enumerate() {
        if i != time && cell.is_some() {
            write!(text, " {}={}", column.name, cell_text(trace, i, *cell))?;
        }
    }
    Ok(())
}

/// The value of a cell as a word; `-` is null.
pub(crate) fn cell_text(trace: &Trace, column: usize, cell: Option<i64>) -> String {
    let Some(value) = cell else { return "-".to_owned() };
    match trace.plan.schema.columns[column].kind {
        ColumnKind::Integer => value.to_string(),
        ColumnKind::Time => TimeText(EventTime(value)).to_string(),
        ColumnKind::Text => {
            let text = trace.dictionary.text(value);
            quoted(text.expect("every code in a trace has its text")).into_owned()
        }
    }
}

/// The same trace with its cells in the order of its rows and its texts in the order of first sight.
pub fn normalized(trace: &Trace) -> Trace {
    let mut normal = Trace {
        dictionary: Dictionary::default(),
        items: Vec::with_capacity(trace.items.len()),
        cells: Vec::with_capacity(trace.cells.len()),
        ..trace.clone()
    };
    let time = trace.time_column();
    let columns = &trace.plan.schema.columns;
    for item in &trace.items {
        let Item::Row(row) = item else {
            normal.items.push(*item);
            continue;
        };
        let mut cells = trace.cells(*row).to_vec();
        for (i, cell) in cells.iter_mut().enumerate() {
            if let Some(code) = cell
                && i != time
                && columns[i].kind == ColumnKind::Text
            {
                let text = trace.dictionary.text(*code);
                let text = text.expect("every code in a trace has its text");
                *code = normal.dictionary.code(text);
            }
        }
        normal.push_row(row.partition, &cells);
    }
    normal
}

#[cfg(test)]
mod tests;
