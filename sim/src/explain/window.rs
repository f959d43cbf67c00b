//! What a window of the plain query holds: the rows that are in it, those that it lost, what closed it,
//! and what is known about its figure.
//!
//! A figure that a watermark closed is a guess: a row that is dropped for the window later refutes
//! it, and the figure does not change (semantics 15).
//!
//! Invariant: each row of the trace whose time is in the window is listed once.

use super::history::History;
use super::{ExplainError, Quoted, WindowText};
use crate::invariant::Observation;
use crate::trace::plan_text::aggregate_text;
use crate::trace::time_text::TimeText;
use crate::trace::write::cell_text;
use crate::trace::{Item, RowItem, Trace};
use plimsoll_engine::late::Saving;
use plimsoll_engine::output::{Completeness, Fate, Firing, FiringKind, FiringReason};
use plimsoll_engine::plan::check::CheckedPlan;
use plimsoll_engine::plan::{LateRule, WindowPlan};
use plimsoll_engine::row::ItemId;
use plimsoll_engine::state::layout::Value;
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_engine::window::Window;
use plimsoll_engine::window::assign::Assigner;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// What a window holds, or one key of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WindowStory {
    /// Which.
    pub window: Window,
    /// Only this key.
    pub key: Option<String>,
    /// Its rows, in order of arrival.
    pub rows: Vec<RowOfWindow>,
    /// The item that closed it; `None` while it is open.
    pub closed_by: Option<Quoted>,
    /// The item that set the watermark which closed it.
    pub set_by: Option<Quoted>,
    /// That watermark.
    pub closed_at: Option<EventTime>,
    /// What moved that watermark.
    pub reason: Option<&'static str>,
    /// What was written, in order.
    pub figures: Vec<Figure>,
}

/// A row whose time is in the window.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RowOfWindow {
    /// The row.
    pub row: Quoted,
    /// What became of it for this window: `counted`, `lost`, `waits`, or a reason of its own.
    pub fate: &'static str,
    /// The watermark that it was behind, where it was lost.
    pub behind: Option<EventTime>,
    /// The smallest delay that would have kept it in this window, where one would.
    pub needs: Option<Span>,
    /// Whether it was lost after the last figure of the window had been written.
    pub refutes: bool,
}

/// A figure that was written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Figure {
    /// The item that brought it out.
    pub written_by: Quoted,
    /// `emit`, `update` or `total`.
    pub word: &'static str,
    /// The key.
    pub key: String,
    /// The aggregates.
    pub values: String,
    /// Whether it was known to be whole when it was written.
    pub known: bool,
    /// Whether a partition was left out as idle while the window was open.
    pub idle_excluded: bool,
}

/// What the window that starts there holds; of one key only, if one is named (its parts as in the
/// trace, with commas between, `-` is null).
///
/// # Errors
/// Where no such window or key is, or the plan is refused.
pub fn window(
    trace: &Trace,
    start: EventTime,
    key: Option<&str>,
) -> Result<WindowStory, ExplainError> {
    let (plan, _) = CheckedPlan::new(trace.plan.clone()).map_err(ExplainError::Plan)?;
    let operator = trace.plan.operator.as_ref().ok_or(ExplainError::NoWindows)?;
    let column = plan.window_column().ok_or(ExplainError::NoWindows)?;
    let window = window_at(operator, start)?;
    let mut rows: Vec<(ItemId, RowItem, EventTime)> = Vec::new();
    let mut keys = BTreeSet::new();
    for (item, id) in trace.items.iter().zip(1..) {
        let Item::Row(row) = item else { continue };
        let Some(time) = trace.cells(*row)[column.0].map(EventTime) else { continue };
        if !time.is_legal() || !window.contains(time) {
            continue;
        }
        let of_row = key_of_row(trace, operator, *row);
        rows.push((ItemId(id), *row, time));
        keys.insert(of_row);
    }
    if let Some(key) = key
        && !keys.contains(key)
    {
        let keys = keys.into_iter().take(10).collect();
        return Err(ExplainError::NoSuchKey { found: key.to_owned(), keys });
    }
    let mut figures = Vec::new();
    let mut written = |seen: &Observation<'_>| {
        for firing in seen.output.firings.iter().filter(|it| it.window == window) {
            figures.extend(figures_of(trace, operator, seen.id, firing, key));
        }
    };
    let history = History::of_engine(trace, &mut written).map_err(ExplainError::Plan)?;
    let closing = history.closing(window);
    let rise = closing.and_then(|it| {
        history.rises.iter().find(|rise| window.closes_at(rise.watermark) && rise.item <= it.0)
    });
    let mut written = history.written.iter().filter(|it| it.window == window);
    let (first, last) = (written.clone().next(), written.next_back());
    let mut rows: Vec<(String, RowOfWindow)> = rows
        .into_iter()
        .map(|(id, row, time)| {
            let fate = row_of_window(trace, &history, operator, window, id, time);
            (key_of_row(trace, operator, row), fate)
        })
        .collect();
    // The figure says how many had been dropped when it was written; those behind refute it.
    let lost = rows.iter_mut().filter(|it| it.1.fate == "lost");
    for (_, row) in lost.skip(last.map_or(usize::MAX, |it| it.rows_dropped as usize)) {
        row.refutes = true;
    }
    let rows = rows.into_iter().filter(|it| key.is_none_or(|key| key == it.0)).map(|it| it.1);
    Ok(WindowStory {
        window,
        key: key.map(str::to_owned),
        rows: rows.collect(),
        closed_by: closing.and_then(|it| Quoted::of(trace, it.0)),
        set_by: rise.and_then(|it| Quoted::of(trace, it.shown_by.unwrap_or(it.item))),
        closed_at: closing.map(|it| it.1.evict),
        reason: closing.and(first).map(|it| reason(it.reason)),
        figures,
    })
}

fn window_at(operator: &WindowPlan, start: EventTime) -> Result<Window, ExplainError> {
    let grid = Assigner::new(operator.window);
    let legal = EventTime(start.0.clamp(-EventTime::LEGAL, EventTime::LEGAL));
    let before = grid.frame(legal);
    if before == start {
        return Ok(grid.window_from(start));
    }
    let after = before + operator.window.slide;
    Err(ExplainError::NoSuchWindow { found: start, before, after })
}

fn row_of_window(
    trace: &Trace,
    history: &History,
    operator: &WindowPlan,
    window: Window,
    id: ItemId,
    time: EventTime,
) -> RowOfWindow {
    let row = Quoted::of(trace, id).expect("the row is in the trace");
    let simple =
        |fate| RowOfWindow { row: row.clone(), fate, behind: None, needs: None, refutes: false };
    let taken = history.step_of_row(trace, id);
    match history.fates.get(&id).map(|it| it.fate) {
        None if taken.is_none() => simple("waits"),
        None | Some(Fate::CountedNotAdvancing) => simple("counted"),
        Some(Fate::Guarded) => simple("rejected by the guard"),
        Some(Fate::NoTime) => simple("without a time"),
        Some(Fate::TimeOutOfRange) => simple("out of range"),
        Some(Fate::NoWindow) => simple("in no window"),
        Some(Fate::AfterFinish) => simple("after its partition had finished"),
        Some(Fate::NotApplicable) => simple("after the query had stopped"),
        Some(Fate::Filtered) => simple("filtered"),
        Some(Fate::Duplicate { .. }) => simple("a duplicate"),
        Some(Fate::NoGap) => simple("without a gap"),
        Some(Fate::Late(late)) => {
            let grid = Assigner::new(operator.window);
            let position = grid.windows(time).position(|it| it == window).unwrap_or(0);
            if late.windows_lost as usize <= position {
                return simple("counted");
            }
            let needs = match (late.saving, late.rule) {
                (Saving::Delay { .. }, LateRule::WindowEnd) => {
                    Some(late.in_force.candidate.since(window.end) + Span(1))
                }
                (Saving::Delay { largest, .. }, _) => Some(largest),
                _ => None,
            };
            RowOfWindow { behind: Some(late.in_force.watermark), needs, ..simple("lost") }
        }
    }
}

fn key_of_row(trace: &Trace, operator: &WindowPlan, row: RowItem) -> String {
    let cells = trace.cells(row);
    let parts = operator.keys.iter().map(|it| cell_text(trace, it.0, cells[it.0]));
    parts.collect::<Vec<_>>().join(",")
}

fn figures_of(
    trace: &Trace,
    operator: &WindowPlan,
    id: ItemId,
    firing: &Firing,
    only: Option<&str>,
) -> Vec<Figure> {
    let groups = 0..firing.groups.len();
    let figures = groups.filter_map(|group| {
        let parts = operator.keys.iter().enumerate();
        let parts = parts.map(|(n, it)| cell_text(trace, it.0, firing.groups.key(group, n)));
        let key = parts.collect::<Vec<_>>().join(",");
        if only.is_some_and(|it| it != key) {
            return None;
        }
        let values = operator.aggregates.iter().enumerate().map(|(n, it)| {
            let value = value_text(firing.groups.value(group, n));
            format!("{}={value}", aggregate_text(&trace.plan.schema, *it))
        });
        Some(Figure {
            written_by: Quoted::of(trace, id)?,
            word: match firing.kind {
                FiringKind::OnTime => "emit",
                FiringKind::Update => "update",
                FiringKind::Complete => "total",
            },
            key,
            values: values.collect::<Vec<_>>().join(" "),
            known: firing.note.completeness == Completeness::Known,
            idle_excluded: firing.note.idle_excluded,
        })
    });
    let mut figures: Vec<Figure> = figures.collect();
    figures.sort_by(|a, b| a.key.cmp(&b.key));
    figures
}

fn value_text(value: Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Int(it) => it.to_string(),
        Value::Wide(it) => it.to_string(),
        Value::Avg { sum, count } => format!("{sum}/{count}"),
    }
}

const fn reason(reason: FiringReason) -> &'static str {
    match reason {
        FiringReason::Watermark => "data moved the watermark past its end",
        FiringReason::Idle => {
            "data moved the watermark past its end, with a silent partition left out"
        }
        FiringReason::WallClock => "the wall clock moved the watermark past its end",
        FiringReason::EndOfInput => "the input ended",
        FiringReason::Trigger => "a trigger wrote it",
    }
}

/// More rows, and more figures, are counted, not listed.
const LISTED: usize = 24;

impl fmt::Display for WindowStory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Window {}", WindowText(self.window))?;
        match &self.key {
            Some(it) => writeln!(f, ", key {it}:")?,
            None => writeln!(f, ":")?,
        }
        for it in self.rows.iter().take(LISTED) {
            writeln!(f, "  {it}")?;
        }
        let lost = self.rows.iter().filter(|it| it.fate == "lost").count();
        let counted = self.rows.iter().filter(|it| it.fate == "counted").count();
        if LISTED < self.rows.len() {
            writeln!(f, "  .. and {} more", self.rows.len() - LISTED)?;
        }
        writeln!(f, "{} rows: {counted} counted, {lost} lost.", self.rows.len())?;
        match (&self.closed_by, self.closed_at) {
            (Some(by), Some(at)) => {
                let why = self.reason.unwrap_or("nothing was written");
                writeln!(f, "It closed at {by}, with the watermark at {}: {why}.", TimeText(at))?;
            }
            _ => writeln!(f, "It is open at the end of the trace.")?,
        }
        if let Some(it) = &self.set_by
            && Some(it) != self.closed_by.as_ref()
        {
            writeln!(f, "{it} set that watermark.")?;
        }
        for it in self.figures.iter().take(LISTED) {
            writeln!(f, "{it}")?;
        }
        if LISTED < self.figures.len() {
            writeln!(f, ".. and {} more figures", self.figures.len() - LISTED)?;
        }
        self.trust_text(f)
    }
}

impl WindowStory {
    /// What is known of the figure.
    fn trust_text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(last) = self.figures.last() else {
            return writeln!(f, "No figure of it has been written.");
        };
        let lost = self.rows.iter().filter(|it| it.fate == "lost");
        let (after, before): (Vec<&RowOfWindow>, _) = lost.partition(|it| it.refutes);
        if !before.is_empty() {
            writeln!(f, "It was short when it was written: {} had been dropped.", items(&before))?;
        }
        if !after.is_empty() {
            writeln!(f, "It is refuted: {} came after it was written.", items(&after))
        } else if !before.is_empty() {
            Ok(())
        } else if last.known {
            writeln!(
                f,
                "The figure is known: the input ended and no row was dropped for the window."
            )
        } else if last.idle_excluded {
            writeln!(
                f,
                "The figure is a guess: a partition was left out as idle while it was open."
            )
        } else {
            writeln!(f, "The figure is a guess that no row in this trace refutes.")
        }
    }
}

/// `item 3`, or `items 3, 5`.
fn items(rows: &[&RowOfWindow]) -> String {
    let numbers = rows.iter().map(|it| it.row.item.to_string()).collect::<Vec<_>>().join(", ");
    format!("item{} {numbers}", if rows.len() == 1 { "" } else { "s" })
}

impl fmt::Display for RowOfWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.row, self.fate)?;
        if let Some(it) = self.behind {
            write!(f, ", behind the watermark {}", TimeText(it))?;
        }
        if let Some(it) = self.needs {
            let span = crate::trace::time_text::SpanText(it);
            write!(f, "; a delay of {span} would have kept it")?;
        }
        Ok(())
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = if self.key.is_empty() { String::new() } else { format!("{}: ", self.key) };
        write!(f, "{} {key}{} at {}", self.word, self.values, self.written_by)
    }
}
