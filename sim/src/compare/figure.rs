//! Figures: what a flow wrote, by what it is about.
//!
//! A window or a session is known by its start, its end and its key; a group without a window by its
//! key; a pair, a row that was let through and everything behind a last stage that only passes rows
//! on by all of its columns. What is written of a figure in append mode is all of it, in order: a
//! second writing is a fact of its own. In the other modes readers keep the last values.
//!
//! Invariant: figures stand in order of their windows, then of their names.

use super::Written;
use crate::trace::Trace;
use crate::trace::time_text::TimeText;
use crate::trace::words::quoted;
use plimsoll_engine::output::{EmissionKind, Output};
use plimsoll_engine::plan::flow::StagePlan;
use plimsoll_engine::plan::{OutputMode, Plan};
use plimsoll_engine::row::{ColumnKind, Schema};
use plimsoll_engine::time::EventTime;
use std::collections::BTreeMap;
use std::ops::Range;

/// What a figure is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct FigureId {
    /// End and start of its window; of figures without one the reserved beginning.
    window: (EventTime, EventTime),
    /// As reports name it.
    pub(super) name: String,
}

/// One writing.
struct Writing {
    item: u64,
    text: String,
    /// What stands behind the values, where that is not obvious.
    kind: EmissionKind,
}

/// Collects what is written.
pub(super) struct Figures<'a> {
    trace: &'a Trace,
    schema: Schema,
    mode: OutputMode,
    windowed: bool,
    /// The columns that say what a figure is about, behind those of the window.
    key: Range<usize>,
    writings: BTreeMap<FigureId, Vec<Writing>>,
}

impl<'a> Figures<'a> {
    /// For a trace whose plan is a flow.
    pub(super) fn new(trace: &'a Trace) -> Self {
        let (windowed, key, schema) = shape(&trace.plan);
        let mode = trace.plan.output;
        Self { trace, schema, mode, windowed, key, writings: BTreeMap::new() }
    }

    /// What came out at an item of the original trace.
    pub(super) fn observe(&mut self, item: u64, output: &Output) {
        let rows = &output.emissions.rows;
        for (row, note) in output.emissions.notes.iter().enumerate() {
            let cell = |at: usize| rows.columns.get(at).and_then(|it| it.get(row));
            let time = |at: usize| cell(at).map_or(EventTime::MIN, EventTime);
            let (window, head) = if self.windowed {
                let (start, end) = (time(0), time(1));
                ((end, start), format!("[{},{})", TimeText(start), TimeText(end)))
            } else {
                ((EventTime::MIN, EventTime::MIN), String::new())
            };
            let named =
                |at: usize| format!("{}={}", self.schema.columns[at].name, self.text(at, cell(at)));
            let mut name: Vec<String> = Vec::new();
            if !head.is_empty() {
                name.push(head);
            }
            name.extend(self.key.clone().map(named));
            if name.is_empty() {
                name.push("all rows".to_owned());
            }
            let text = (self.key.end..self.schema.columns.len()).filter(|it| !self.is_time(*it));
            let text: Vec<String> = text.map(named).collect();
            let id = FigureId { window, name: name.join(" ") };
            let writing = Writing { item, text: text.join(" "), kind: note.kind };
            self.writings.entry(id).or_default().push(writing);
        }
    }

    /// The time of a count window is about its rows, not about the figure.
    fn is_time(&self, at: usize) -> bool {
        self.schema.columns[at].name == "window_time"
    }

    fn text(&self, column: usize, cell: Option<i64>) -> String {
        let Some(value) = cell else { return "-".to_owned() };
        match self.schema.columns[column].kind {
            ColumnKind::Integer => value.to_string(),
            ColumnKind::Time => TimeText(EventTime(value)).to_string(),
            ColumnKind::Text => match self.trace.dictionary.text(value) {
                Some(text) => quoted(text).into_owned(),
                None => format!("?{value}"),
            },
        }
    }

    /// What was written of each.
    pub(super) fn finish(self) -> BTreeMap<FigureId, Written> {
        let mode = self.mode;
        let written = |(id, all): (FigureId, Vec<Writing>)| (id, written(mode, &all));
        self.writings.into_iter().map(written).collect()
    }
}

/// Whether figures have windows, which columns are their key, and all columns.
fn shape(plan: &Plan) -> (bool, Range<usize>, Schema) {
    let flow = plan.flow.as_ref().expect("a plan that is a flow");
    let schema = flow.schemas(&plan.schema).pop().expect("at least the input's columns");
    let (windowed, key) = match flow.stages.last() {
        Some(StagePlan::Window(it)) => (true, 3..3 + it.keys.len()),
        Some(StagePlan::Session(it)) => (true, 3..3 + it.keys.len()),
        Some(StagePlan::Global(it)) => (false, 0..it.keys.len()),
        Some(StagePlan::Count(it)) => (false, 0..it.keys.len()),
        _ => (false, 0..schema.columns.len()),
    };
    (windowed, key, schema)
}

/// The words of one writing.
fn words(it: &Writing) -> String {
    let text = match (it.text.as_str(), it.kind) {
        ("", EmissionKind::Unmatched) => return "without a partner".to_owned(),
        ("", _) => "written",
        (text, _) => text,
    };
    match it.kind {
        EmissionKind::Early => format!("{text} (early)"),
        EmissionKind::Late => format!("{text} (late pane)"),
        EmissionKind::Span => format!("{text} (too long)"),
        EmissionKind::Retraction => format!("{text} taken back"),
        _ => text.to_owned(),
    }
}

fn written(mode: OutputMode, all: &[Writing]) -> Written {
    if mode == OutputMode::Append || all.iter().all(|it| it.text.is_empty()) {
        let texts: Vec<String> = all.iter().map(words).collect();
        let same = texts.iter().all(|it| *it == texts[0]);
        let values = match texts.len() {
            1 => texts[0].clone(),
            many if same => format!("{} {many} times", texts[0]),
            _ => texts.join(", then "),
        };
        return Written { values, items: all.iter().map(|it| it.item).collect() };
    }
    let last = all.last().expect("a figure was written");
    let held = all.iter().rev().take_while(|it| it.text == last.text);
    let first = held.last().expect("the last one itself");
    Written { values: words(last), items: vec![first.item] }
}
