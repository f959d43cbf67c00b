//! How evidence prints times, windows and values.
//!
//! Invariant: every time in evidence is printed by [`time`].

use crate::trace::Trace;
use crate::trace::time_text::{SpanText, TimeText};
use plimsoll_engine::late::Saving;
use plimsoll_engine::row::ColumnKind;
use plimsoll_engine::state::layout::Value;
use plimsoll_engine::time::EventTime;
use plimsoll_engine::watermark::member::Member;
use plimsoll_engine::window::Window;

/// A point in event time.
pub(super) fn time(it: EventTime) -> String {
    TimeText(it).to_string()
}

/// What would have saved a row.
pub(super) fn saving(it: Saving) -> String {
    let between = |what: &str, smallest, largest| {
        let (smallest, largest) = (SpanText(smallest), SpanText(largest));
        format!("saved by {what} of {smallest} (all windows: {largest})")
    };
    match it {
        Saving::Delay { smallest, largest } => between("a delay", smallest, largest),
        Saving::Fallback { smallest, largest } => between("a fallback", smallest, largest),
        Saving::Nothing => "saved by nothing".to_owned(),
    }
}

pub(super) fn window(it: Window) -> String {
    format!("[{},{})", time(it.start), time(it.end))
}

pub(super) fn members(trace: &Trace, all: &[Member]) -> String {
    let one = |it: &Member| {
        let aligned = if it.aligned { "" } else { " unaligned" };
        let (who, state) = (trace.partition_text(it.partition), format!("{:?}", it.state));
        format!("{who} {} {}{aligned}", time(it.max), state.to_lowercase())
    };
    if all.is_empty() {
        return "none".to_owned();
    }
    all.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Key cells under their columns' names.
pub(super) fn key(trace: &Trace, cells: &[Option<i64>]) -> String {
    let columns = trace.plan.operator.iter().flat_map(|it| &it.keys);
    let one = |(cell, column): (&Option<i64>, _)| {
        let column = trace.plan.schema.column(column);
        let text = match (*cell, column.kind) {
            (None, _) => "-".to_owned(),
            (Some(it), ColumnKind::Time) => time(EventTime(it)),
            (Some(it), ColumnKind::Integer) => it.to_string(),
            (Some(it), ColumnKind::Text) => {
                trace.dictionary.text(it).map_or_else(|| format!("#{it}"), str::to_owned)
            }
        };
        format!("{}={text}", column.name)
    };
    let cells: Vec<_> = cells.iter().zip(columns.copied()).map(one).collect();
    if cells.is_empty() { "(no key)".to_owned() } else { cells.join(" ") }
}

pub(super) fn values(all: &[Value]) -> String {
    let one = |it: &Value| match it {
        Value::Null => "-".to_owned(),
        Value::Int(it) => it.to_string(),
        Value::Wide(it) => it.to_string(),
        Value::Avg { sum, count } => format!("{sum}/{count}"),
    };
    format!("({})", all.iter().map(one).collect::<Vec<_>>().join(", "))
}
