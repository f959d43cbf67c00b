//! Figures as lines: one per window and key.
//!
//! The engine writes groups in the order in which their keys first arrived, which is deterministic and
//! says nothing to a reader; here they are sorted by the window's end, its start and the key's text.
//!
//! Invariant: numbers are exact. An average is not divided; a sum that left 64 bits is all there.

use crate::trace::Trace;
use crate::trace::plan_text::aggregate_text;
use crate::trace::time_text::TimeText;
use crate::trace::words::quoted;
use plimsoll_engine::output::{Completeness, FigureNote, Firing, FiringKind, FiringReason};
use plimsoll_engine::plan::{Aggregate, WindowPlan};
use plimsoll_engine::row::{ColumnIx, ColumnKind};
use plimsoll_engine::state::layout::Value;
use plimsoll_engine::time::EventTime;
use plimsoll_engine::window::Window;

/// The lines of the firings of one step, sorted.
pub(super) fn lines(trace: &Trace, firings: &[&Firing]) -> Vec<String> {
    let Some(plan) = &trace.plan.operator else { return Vec::new() };
    let mut lines = Vec::new();
    for firing in firings {
        for group in 0..firing.groups.len() {
            let key = key(trace, &plan.keys, |i| firing.groups.key(group, i));
            let values = (0..plan.aggregates.len()).map(|i| firing.groups.value(group, i));
            let line = line(trace, plan, firing, &key, values);
            lines.push((firing.window.end, firing.window.start, key, line));
        }
    }
    lines.sort();
    lines.into_iter().map(|it| it.3).collect()
}

fn line(
    trace: &Trace,
    plan: &WindowPlan,
    firing: &Firing,
    key: &str,
    values: impl Iterator<Item = Value>,
) -> String {
    let word = match firing.kind {
        FiringKind::OnTime => "emit",
        FiringKind::Update => "update",
        FiringKind::Complete => "total",
    };
    let mut line = format!("{word} {}{key}", window(firing.window));
    for (aggregate, value) in plan.aggregates.iter().zip(values) {
        let name = aggregate_text(&trace.plan.schema, *aggregate);
        line.push_str(&format!(" {name}={}", self::value(trace, *aggregate, value)));
    }
    line + &note(firing.note)
}

/// `[start,end)`.
pub(super) fn window(window: Window) -> String {
    format!("[{},{})", TimeText(window.start), TimeText(window.end))
}

/// ` k=a j=b`: the key, each part with a blank before it.
pub(super) fn key(
    trace: &Trace,
    columns: &[ColumnIx],
    value: impl Fn(usize) -> Option<i64>,
) -> String {
    let part = |(i, column): (usize, &ColumnIx)| {
        let name = &trace.plan.schema.column(*column).name;
        format!(" {name}={}", cell(trace, trace.plan.schema.column(*column).kind, value(i)))
    };
    columns.iter().enumerate().map(part).collect()
}

/// A value of a column of this kind. A code without a text is the mistake of a system under test, and is shown.
pub(crate) fn cell(trace: &Trace, kind: ColumnKind, value: Option<i64>) -> String {
    let Some(value) = value else { return "-".to_owned() };
    match kind {
        ColumnKind::Integer => value.to_string(),
        ColumnKind::Time => TimeText(EventTime(value)).to_string(),
        ColumnKind::Text => match trace.dictionary.text(value) {
            Some(text) => quoted(text).into_owned(),
            None => format!("?{value}"),
        },
    }
}

fn value(trace: &Trace, aggregate: Aggregate, value: Value) -> String {
    let time = |it: ColumnIx| trace.plan.schema.column(it).kind == ColumnKind::Time;
    match (aggregate, value) {
        (_, Value::Null) => "-".to_owned(),
        (Aggregate::Min(it) | Aggregate::Max(it), Value::Int(value)) if time(it) => {
            TimeText(EventTime(value)).to_string()
        }
        (_, Value::Int(value)) => value.to_string(),
        (_, Value::Wide(value)) => value.to_string(),
        (_, Value::Avg { sum, count }) => format!("{sum}/{count}"),
    }
}

/// What closed the window, where it was not plain data, and whether the figure is known.
fn note(note: FigureNote) -> String {
    let reason = match note.reason {
        FiringReason::Watermark | FiringReason::Trigger => None,
        FiringReason::Idle => Some("idle"),
        FiringReason::WallClock => Some("wall clock"),
        FiringReason::EndOfInput => Some("end of input"),
    };
    let known = (note.completeness == Completeness::Known).then_some("known");
    match (reason, known) {
        (None, None) => String::new(),
        (Some(it), None) | (None, Some(it)) => format!(" ({it})"),
        (Some(reason), Some(known)) => format!(" ({reason}; {known})"),
    }
}
