//! What a window, session or group of a stage of a flow holds: its rows, those that it lost and by which
//! number, what closed it and which input held the watermark until then, and what was written of it.
//!
//! The stage is run as it stands in the flow, and watched. Behind the first stage that keeps something
//! the rows are what an earlier stage wrote; what such a stage had lost before is listed apart, since it
//! is missing here too. A delay is said to keep a row only of rows of the trace, and is tried; between
//! two stages it moves what is written as well, and helps nobody.
//!
//! A figure that a watermark closed is a guess: a row that is lost for it later refutes it, and the
//! figure does not change (semantics 15).
//!
//! Invariant: each row that was handed to the stage, with a time and key of what was asked for, is listed
//! once for each window that it is in.

mod close;
mod cut;
mod lost;
mod seen;
mod stage;
#[cfg(test)]
mod tests;
mod text;

use self::seen::Seen;
use self::stage::Stage;
use super::{ExplainError, Quoted};
use crate::trace::Trace;
use crate::trace::plan_text::stage_texts;
use plimsoll_engine::plan::check::CheckedPlan;
use plimsoll_engine::plan::flow::{Flow, StagePlan};
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_engine::window::Window;
use serde::Serialize;

/// Which windows, sessions or groups are meant.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// Fixed windows: their start. Sessions: an instant in them. `None`: all.
    pub at: Option<EventTime>,
    /// Of this key only (its parts as in the trace, with commas between, `-` is null).
    pub key: Option<&'a str>,
    /// The stage, from 1; `None`: the last one with windows, sessions or groups.
    pub stage: Option<usize>,
}

/// What a stage holds there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct GroupsStory {
    /// The stage, from 1.
    pub stage: usize,
    /// What it does, as the plan has it.
    pub does: String,
    /// Other stages with windows, sessions or groups.
    pub other_stages: Vec<usize>,
    /// What was found: windows and groups in order of time and key, sessions as they began.
    pub groups: Vec<GroupStory>,
}

/// One window, session or group.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct GroupStory {
    /// `window`, `session`, `count window` or `group`.
    pub kind: &'static str,
    /// The number of a count window of its key, from 1.
    pub number: Option<u64>,
    /// Where it stands in event time.
    pub window: Option<Window>,
    /// Its key; `None` where several are shown together.
    pub key: Option<String>,
    /// Its rows, in order of arrival.
    pub rows: Vec<GroupRow>,
    /// Rows with a time in it that an earlier stage had lost.
    pub lost_before: Vec<Quoted>,
    /// What closed it.
    pub closing: Option<Closing>,
    /// What it waits for.
    pub opening: Option<Opening>,
    /// What was written, in order.
    pub figures: Vec<Figure>,
    /// The restart that lost what it held.
    pub forgotten_by: Option<Quoted>,
    /// Whether a partition was left out as idle before it closed.
    pub idle_excluded: bool,
    /// Settings that were tried to keep the lost rows.
    pub tried: Vec<Tried>,
}

/// A row of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct GroupRow {
    /// The row; or the item at which an earlier stage wrote it.
    pub row: Quoted,
    /// What the earlier stage wrote.
    pub wrote: Option<String>,
    /// `counted`, `lost`, `forgotten` by a restart, `waits`, or a reason of its own.
    pub fate: &'static str,
    /// What it did to a session, such as `began it`; may be empty.
    pub how: String,
    /// Why it was lost.
    pub lost: Option<Lost>,
    /// Whether it was lost after the last figure had been written.
    pub refutes: bool,
}

/// Why a row was lost.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Lost {
    /// The bound that it was behind.
    pub behind: EventTime,
    /// What was compared, such as `behind 10:10:00`.
    pub compared: String,
    /// The item that set the watermark.
    pub set_by: Option<Quoted>,
    /// `delay` or `fallback`.
    pub setting: &'static str,
    /// The input (and column) whose delay it is, where the plan has several.
    pub of: String,
    /// The smallest value that would have kept it, where one would.
    pub needs: Option<Span>,
}

/// What closed it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Closing {
    /// The item at hand.
    pub by: Quoted,
    /// Why, in a few words.
    pub reason: &'static str,
    /// What the stage had of the watermark.
    pub at: EventTime,
    /// The watermark before it went through the stages.
    pub watermark: EventTime,
    /// How it came about: the line that gave it.
    pub line: Option<LineText>,
    /// The item at which it was computed, where that is an earlier one.
    pub computed_at: Option<Quoted>,
    /// The other lines at that moment.
    pub others: Vec<LineText>,
    /// Until when late rows were taken: the item at which its state left.
    pub gone_at: Option<Quoted>,
}

/// A line: how far an input is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LineText {
    /// The input (and column); empty in a plan of one line.
    pub name: String,
    /// Its watermark.
    pub watermark: EventTime,
    /// The time that it was computed from.
    pub candidate: EventTime,
    /// What was taken off.
    pub delay: Span,
    /// How far behind the wall clock, where that gave it.
    pub fallback: Option<Span>,
    /// The item that showed the time.
    pub set_by: Option<Quoted>,
}

/// What it waits for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Opening {
    /// What the stage's share of the watermark must reach; `None`: no watermark closes it.
    pub needs: Option<EventTime>,
    /// Where that share is.
    pub has: EventTime,
    /// Why no watermark closes it, or another sentence.
    pub because: String,
    /// Who holds the watermark.
    pub holder: String,
    /// Rows that would close it, tried.
    pub tried: Option<String>,
}

/// A figure that was written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Figure {
    /// The item that brought it out.
    pub written_by: Quoted,
    /// The kind of writing, as traces name it.
    pub kind: &'static str,
    /// The number of its pane, from 0.
    pub pane: u32,
    /// What was written.
    pub text: String,
}

/// A setting that was tried.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Tried {
    /// What was changed.
    pub change: String,
    /// How many of the rows lost here were not lost then.
    pub kept: usize,
    /// Of how many.
    pub of: usize,
}

/// What a stage of a flow holds there.
///
/// # Errors
/// Where there is no such stage, window or key, or the plan is refused.
pub fn groups(trace: &Trace, asked: Asked<'_>) -> Result<GroupsStory, ExplainError> {
    CheckedPlan::new(trace.plan.clone()).map_err(ExplainError::Plan)?;
    let Some(flow) = &trace.plan.flow else { return Err(ExplainError::NoStages) };
    let texts = stage_texts(&trace.plan);
    let grouped: Vec<usize> =
        (0..flow.stages.len()).filter(|it| has_groups(&flow.stages[*it])).collect();
    let at = match asked.stage {
        None => *grouped.last().ok_or_else(|| no_groups(flow, &texts, flow.stages.len()))?,
        Some(number) => {
            let at = number.checked_sub(1).filter(|it| *it < flow.stages.len());
            at.ok_or(ExplainError::NoSuchStage { found: number, stages: texts.clone() })?
        }
    };
    if !grouped.contains(&at) {
        return Err(no_groups(flow, &texts, at));
    }
    let seen = Seen::of(trace, at)?;
    let stage = Stage { trace, flow, at, plan: &flow.stages[at], seen: &seen };
    let held = stage.asked(asked)?;
    Ok(GroupsStory {
        stage: at + 1,
        does: texts[at].clone(),
        other_stages: grouped.iter().filter(|it| **it != at).map(|it| it + 1).collect(),
        groups: held.iter().map(|it| stage.story(it, asked)).collect(),
    })
}

const fn has_groups(stage: &StagePlan) -> bool {
    match stage {
        StagePlan::Join(it) => it.window.is_some(),
        it => it.is_grouping(),
    }
}

/// Why a stage (or, behind the last, the whole flow) has no windows, and what to ask instead.
fn no_groups(flow: &Flow, texts: &[String], at: usize) -> ExplainError {
    let stateful = flow.stages.iter().position(|it| !it.is_stateless());
    let at = if at < flow.stages.len() { at } else { stateful.unwrap_or(0) };
    let instead = match flow.stages.get(at) {
        Some(StagePlan::Join(_) | StagePlan::AsOf(_)) => {
            "it matches row with row; `plimsoll explain --row N` says what became of a row, `plimsoll \
             replay` which pairs every item made it write"
        }
        Some(StagePlan::Dedup(_)) => {
            "it remembers rows; `plimsoll explain --row N` says which row a \
             duplicate repeats, `plimsoll replay` what came through at every item"
        }
        _ => {
            "it keeps nothing; `plimsoll explain --row N` says what became of a row, `plimsoll replay` \
             what came through at every item"
        }
    };
    ExplainError::NotGrouped {
        stage: at + 1,
        text: texts.get(at).cloned().unwrap_or_default(),
        instead,
    }
}
