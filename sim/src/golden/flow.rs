//! What comes out of a flow, as lines.
//!
//! Rows come out as the columns of the last stage, a window's three as the one interval that they are.
//! A kind that is not the plain one stands before them, with the number of the pane where there was
//! one before. What contradicts an earlier line names it.
//!
//! Invariant: every row that comes out, every remark and every row lost between two stages is in a
//! line, and the lines of one step are in order of their text.

use super::{figure, other_item};
use crate::trace::Trace;
use crate::trace::time_text::TimeText;
use plimsoll_engine::output::{
    EmissionKind, EmissionNote, Emissions, Remark, RemarkKind, StageRecord,
};
use plimsoll_engine::row::{ItemId, Schema};
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_engine::window::Window;

/// The columns that stand for a window.
const WINDOW: [&str; 3] = ["window_start", "window_end", "window_time"];

/// The rows that came out, each with its step; within a step in order of their text.
pub(super) fn emissions(trace: &Trace, emissions: &Emissions) -> Vec<(u64, String)> {
    let Some(flow) = &trace.plan.flow else { return Vec::new() };
    if emissions.notes.is_empty() {
        return Vec::new();
    }
    let schema = flow.schemas(&trace.plan.schema).pop().unwrap_or_default();
    let cell = |row: usize, column: usize| emissions.rows.columns.get(column)?.get(row);
    let line = |(row, note): (usize, &EmissionNote)| {
        (note.step, format!("emit{}{}", kind(note), cells(trace, &schema, |it| cell(row, it))))
    };
    let mut lines: Vec<(u64, String)> = emissions.notes.iter().enumerate().map(line).collect();
    lines.sort();
    lines
}

fn kind(note: &EmissionNote) -> String {
    let word = match note.kind {
        EmissionKind::Row | EmissionKind::OnTime => String::new(),
        other => format!(" {}", other.word()),
    };
    if note.pane == 0 { word } else { format!("{word} pane={}", note.pane) }
}

/// ` k=a v=1`: every column, each with a blank before it.
pub(crate) fn cells(trace: &Trace, schema: &Schema, cell: impl Fn(usize) -> Option<i64>) -> String {
    let columns = &schema.columns;
    let mut text = String::new();
    let mut at = 0;
    while let Some(column) = columns.get(at) {
        let named = columns[at..].iter().map(|it| it.name.as_str()).take(3).eq(WINDOW);
        let window = window(cell(at), cell(at + 1), cell(at + 2)).filter(|_| named);
        match window {
            Some(it) => {
                text.push_str(&format!(" {}", figure::window(it)));
                at += 3;
            }
            None => {
                let value = figure::cell(trace, column.kind, cell(at));
                text.push_str(&format!(" {}={value}", column.name));
                at += 1;
            }
        }
    }
    text
}

/// The window of which these are start, end and time; `None` where they do not belong together.
fn window(start: Option<i64>, end: Option<i64>, time: Option<i64>) -> Option<Window> {
    let (start, end) = (EventTime(start?), EventTime(end?));
    (EventTime(time?) == end - Span(1)).then_some(Window { start, end })
}

/// What contradicts what came out or was forgotten before.
pub(super) fn remark(id: ItemId, remark: &Remark) -> String {
    let who = other_item(id, remark.id);
    match remark.kind {
        RemarkKind::SessionSplit { start, end } => {
            let published = figure::window(Window { start, end });
            format!("split{who}: overlaps the session {published}, which was written before")
        }
        RemarkKind::DuplicateAfterExpiry { first } => {
            format!("duplicate_after_expiry{who} of item {}, which was forgotten", first.0)
        }
        RemarkKind::Refuted { unmatched } => {
            format!(
                "refuted{who}: matches item {}, which was written without a partner",
                unmatched.0
            )
        }
    }
}

/// Rows that a stage behind the first stateful one took for late: nobody else tells of them.
pub(super) fn lost_between(trace: &Trace, stages: &[StageRecord]) -> Vec<(u64, String)> {
    let Some(flow) = &trace.plan.flow else { return Vec::new() };
    let first = flow.stages.iter().position(|it| !it.is_stateless()).unwrap_or(usize::MAX);
    let lost = stages.iter().filter(|it| first < it.stage && 0 < it.rows_dropped);
    let line = |it: &StageRecord| {
        let (rows, w) = (it.rows_dropped, TimeText(it.late[0]));
        let rows = if rows == 1 { "a row".to_owned() } else { format!("{rows} rows") };
        (it.step, format!("late at stage {}: {rows} behind {w}", it.stage + 1))
    };
    lost.map(line).collect()
}
