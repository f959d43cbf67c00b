//! What came out of a run over a recording, as text and as data.
//!
//! Figures are sorted by window and key, since the engine writes them in order of first arrival. Late rows
//! are named by their line in the recording, and so is the row that set the watermark which judged them.
//!
//! Invariant: numbers are exact: an average is a sum and a count, a wide sum is all there.

use crate::trace::plan_text::aggregate_text;
use crate::trace::time_text::{SpanText, TimeText};
use crate::trace::words::quoted;
use plimsoll_engine::late::{LateRow, Saving};
use plimsoll_engine::output::{
    Completeness, EmissionNote, Emissions, Firing, FiringKind, FiringReason,
};
use plimsoll_engine::plan::{Aggregate, Plan, WindowPlan};
use plimsoll_engine::row::{ColumnIx, ColumnKind, Dictionary, ItemId, PartitionId};
use plimsoll_engine::state::layout::Value;
use plimsoll_engine::time::{EventTime, Span};
use serde::Serialize;
use std::borrow::Cow;

/// What is needed to say in words what came out.
#[derive(Debug)]
pub struct Report<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The texts behind codes.
    pub texts: &'a Dictionary,
    /// The names of partitions.
    pub partitions: &'a Dictionary,
}

/// One (window, key) group that was written.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Figure {
    /// First instant inside, in milliseconds.
    pub start_ms: i64,
    /// First instant after, in milliseconds.
    pub end_ms: i64,
    /// Key columns with their values; null is absent.
    pub key: Vec<(String, Option<String>)>,
    /// Aggregates with their values; null is absent.
    pub values: Vec<(String, Option<String>)>,
    /// `emit` once at its close, `update` or `total` before.
    pub kind: &'static str,
    /// What closed the window, where it was not a row.
    pub reason: Option<&'static str>,
    /// Whether nothing can be missing.
    pub known: bool,
    /// Rows that had been dropped for the window by then.
    pub rows_dropped: u64,
}

/// One row that a flow wrote.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Emission {
    /// What kind of writing it is: `row`, `on_time`, `late`, `unmatched` ..
    pub kind: &'static str,
    /// Its pane, from 0.
    pub pane: u32,
    /// Columns with their values; null is absent.
    pub cells: Vec<(String, Option<String>)>,
}

/// A row that was late for some or all of its windows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LateLine {
    /// Its line in the recording.
    pub line: u64,
    /// The partition that it came from.
    pub partition: String,
    /// Its event time, in milliseconds.
    pub time_ms: i64,
    /// The watermark that judged it, in milliseconds.
    pub watermark_ms: i64,
    /// The line of the row that set it.
    pub set_by_line: Option<u64>,
    /// The delay that would have kept it for one more window.
    pub saving_delay_ms: Option<i64>,
    /// The wall-clock fallback that would have.
    pub saving_fallback_ms: Option<i64>,
    /// Windows that it missed.
    pub windows_lost: u32,
    /// Windows that it was still counted into.
    pub windows_kept: u32,
    /// What kind of lateness it is.
    pub cause: &'static str,
}

impl Report<'_> {
    /// The figures of some firings, sorted.
    pub fn figures(&self, firings: &[Firing]) -> Vec<Figure> {
        let Some(operator) = &self.plan.operator else { return Vec::new() };
        let mut figures: Vec<_> = firings
            .iter()
            .flat_map(|firing| {
                (0..firing.groups.len()).map(move |it| self.figure(operator, firing, it))
            })
            .collect();
        figures.sort_by(|a, b| (a.end_ms, a.start_ms, &a.key).cmp(&(b.end_ms, b.start_ms, &b.key)));
        figures
    }

    fn figure(&self, operator: &WindowPlan, firing: &Firing, group: usize) -> Figure {
        let schema = &self.plan.schema;
        let keys = operator.keys.iter().enumerate();
        let key = keys.map(|(at, column)| {
            let value = firing.groups.key(group, at).map(|it| self.cell(*column, it));
            (schema.column(*column).name.clone(), value)
        });
        let values = operator.aggregates.iter().enumerate().map(|(at, aggregate)| {
            let value = self.value(*aggregate, firing.groups.value(group, at));
            (aggregate_text(schema, *aggregate), value)
        });
        Figure {
            start_ms: firing.window.start.0,
            end_ms: firing.window.end.0,
            key: key.collect(),
            values: values.collect(),
            kind: match firing.kind {
                FiringKind::OnTime => "emit",
                FiringKind::Update => "update",
                FiringKind::Complete => "total",
            },
            reason: match firing.note.reason {
                FiringReason::Watermark | FiringReason::Trigger => None,
                FiringReason::Idle => Some("idle"),
                FiringReason::WallClock => Some("wall clock"),
                FiringReason::EndOfInput => Some("end of input"),
            },
            known: firing.note.completeness == Completeness::Known,
            rows_dropped: firing.note.rows_dropped,
        }
    }

    /// The rows that a flow wrote, step by step, within a step in order of their text.
    pub fn emissions(&self, emissions: &Emissions) -> Vec<Emission> {
        let Some(flow) = &self.plan.flow else { return Vec::new() };
        let schema = flow.schemas(&self.plan.schema).pop().unwrap_or_default();
        let emission = |(row, note): (usize, &EmissionNote)| {
            let cells = schema.columns.iter().zip(&emissions.rows.columns);
            let cells = cells.map(|(column, cells)| {
                let value = cells.get(row).map(|it| self.text_of(column.kind, it));
                (column.name.clone(), value)
            });
            let kind = note.kind.word();
            (note.step, Emission { kind, pane: note.pane, cells: cells.collect() })
        };
        let mut all: Vec<_> = emissions.notes.iter().enumerate().map(emission).collect();
        all.sort();
        all.into_iter().map(|it| it.1).collect()
    }

    fn cell(&self, column: ColumnIx, value: i64) -> String {
        self.text_of(self.plan.schema.column(column).kind, value)
    }

    fn text_of(&self, kind: ColumnKind, value: i64) -> String {
        match kind {
            ColumnKind::Integer => value.to_string(),
            ColumnKind::Time => TimeText(EventTime(value)).to_string(),
            ColumnKind::Text => match self.texts.text(value) {
                Some(text) => text.to_owned(),
                None => format!("?{value}"),
            },
        }
    }

    fn value(&self, aggregate: Aggregate, value: Value) -> Option<String> {
        let extreme = matches!(aggregate, Aggregate::Min(_) | Aggregate::Max(_));
        match (value, aggregate.column()) {
            (Value::Null, _) => None,
            (Value::Int(value), Some(column)) if extreme => Some(self.cell(column, value)),
            (Value::Int(value), _) => Some(value.to_string()),
            (Value::Wide(value), _) => Some(value.to_string()),
            (Value::Avg { sum, count }, _) => Some(format!("{sum}/{count}")),
        }
    }

    /// A partition by the name that the recording gives it; of several inputs with its input.
    fn partition(&self, it: PartitionId) -> String {
        let inputs = self.plan.flow.as_ref().map_or(&[][..], |it| &it.inputs);
        if inputs.len() < 2 {
            return self.partitions.text(i64::from(it.0)).unwrap_or_default().to_owned();
        }
        let input = inputs.get(it.input()).map_or("?", |it| it.name.as_str());
        match self.partitions.text(i64::from(it.number())) {
            Some(name) if 1 < self.partitions.len() => format!("{input}/{name}"),
            _ => input.to_owned(),
        }
    }

    /// A late row. `line` leads from an item to its line.
    pub fn late(&self, late: &LateRow, line: impl Fn(ItemId) -> u64) -> LateLine {
        let (delay, fallback) = match late.saving {
            Saving::Delay { smallest, .. } => (Some(smallest.0), None),
            Saving::Fallback { smallest, .. } => (None, Some(smallest.0)),
            Saving::Nothing => (None, None),
        };
        LateLine {
            line: line(late.id),
            partition: self.partition(late.partition),
            time_ms: late.time.0,
            watermark_ms: late.in_force.watermark.0,
            set_by_line: late.in_force.set_by.map(line),
            saving_delay_ms: delay,
            saving_fallback_ms: fallback,
            windows_lost: late.windows_lost,
            windows_kept: late.windows_kept,
            cause: late.cause.name(),
        }
    }
}

impl Figure {
    /// The figure on one line.
    pub fn text(&self) -> String {
        let (start, end) = (TimeText(EventTime(self.start_ms)), TimeText(EventTime(self.end_ms)));
        let mut line = format!("{} [{start},{end})", self.kind);
        for (name, value) in self.key.iter().chain(&self.values) {
            // As in a trace: null is `-`, and a text cannot look like null or like another line.
            let value = value.as_deref().map_or(Cow::Borrowed("-"), quoted);
            line.push_str(&format!(" {name}={value}"));
        }
        let dropped = match self.rows_dropped {
            0 => None,
            1 => Some("1 row was late for it".to_owned()),
            many => Some(format!("{many} rows were late for it")),
        };
        let notes: Vec<_> = self.reason.map(str::to_owned).into_iter().chain(dropped).collect();
        if !notes.is_empty() {
            line.push_str(&format!(" ({})", notes.join("; ")));
        }
        line
    }
}

impl Emission {
    /// The row on one line.
    pub fn text(&self) -> String {
        let mut line = "emit".to_owned();
        if !["row", "on_time"].contains(&self.kind) {
            line.push_str(&format!(" {}", self.kind));
        }
        if self.pane != 0 {
            line.push_str(&format!(" pane={}", self.pane));
        }
        let shown = |at: usize, name: &str| match self.cells.get(at) {
            Some((it, Some(text))) if it == name => Some(text.clone()),
            _ => None,
        };
        let window = (shown(0, "window_start"), shown(1, "window_end"), shown(2, "window_time"));
        let mut rest = &self.cells[..];
        if let (Some(start), Some(end), Some(_)) = window {
            line.push_str(&format!(" [{start},{end})"));
            rest = &rest[3..];
        }
        for (name, value) in rest {
            let value = value.as_deref().map_or(Cow::Borrowed("-"), quoted);
            line.push_str(&format!(" {name}={value}"));
        }
        line
    }
}

impl LateLine {
    /// The names of the columns of [`cells`](Self::cells).
    pub const HEADINGS: [&'static str; 8] = [
        "line",
        "partition",
        "time",
        "watermark",
        "set by line",
        "windows missed",
        "would have kept it",
        "cause",
    ];

    /// The row as cells of a table.
    pub fn cells(&self) -> [String; 8] {
        let all = self.windows_lost.saturating_add(self.windows_kept);
        let saving = match (self.saving_delay_ms, self.saving_fallback_ms) {
            (Some(delay), _) => format!("delay {}", SpanText(Span(delay))),
            (None, Some(fallback)) => format!("fallback {}", SpanText(Span(fallback))),
            (None, None) => "nothing".to_owned(),
        };
        [
            self.line.to_string(),
            quoted(&self.partition).into_owned(),
            TimeText(EventTime(self.time_ms)).to_string(),
            TimeText(EventTime(self.watermark_ms)).to_string(),
            self.set_by_line.map_or_else(|| "-".to_owned(), |it| it.to_string()),
            format!("{} of {all}", self.windows_lost),
            saving,
            self.cause.to_owned(),
        ]
    }
}
