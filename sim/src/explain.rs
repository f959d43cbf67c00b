//! Explanations: why a row was lost, what a window, session or group lacks, why a watermark stands
//! still and which input holds it, and what of a failing trace matters.
//!
//! The engine records what it decides and by what; an explanation runs the trace through it once,
//! follows the records back to the items that caused them, and quotes those items as they stand in
//! the trace. Where it says what would have helped it has tried it: the trace is run again with the
//! change, and with a little less than the change.
//!
//! ```
//! let trace = plimsoll_sim::trace::parse::parse(
//!     "plan window=tumbling(10min) delay=2min effective=row\n\
//!      row p0 10:08:30 k=a\n\
//!      row p0 10:12:00 k=a\n\
//!      row p1 10:09:55 k=a\n",
//! )?
//! .trace;
//! let row = plimsoll_sim::explain::row(&trace, plimsoll_engine::row::ItemId(3)).unwrap();
//! assert!(row.to_string().contains("with a delay of 2min5s it is counted into 1 of 1 windows"));
//! # Ok::<(), plimsoll_sim::trace::parse::Broken>(())
//! ```
//!
//! Invariant: an explanation says nothing that is not in the records or was tried.

mod failure;
mod group;
mod history;
mod lines;
mod matters;
mod push;
mod row;
mod watermark;
mod window;

pub use failure::{FailureStory, Moment, failure};
pub use group::{
    Asked, Closing, GroupRow, GroupStory, GroupsStory, LineText, Lost, Opening, Tried, groups,
};
pub use history::{History, Rise};
pub use lines::{LineOf, LineState};
pub use matters::{Finding, Matter, Matters, matters};
pub use row::{RowStory, Trial, row};
pub use watermark::{LineStanding, Remedy, StageStanding, Standing, WatermarkStory, watermark};
pub use window::{RowOfWindow, WindowStory, window};

use crate::trace::time_text::TimeText;
use crate::trace::write::item_text;
use crate::trace::{Item, Trace};
use plimsoll_engine::plan::problem::Problem;
use plimsoll_engine::row::ItemId;
use plimsoll_engine::time::{EventTime, ProcTime};
use plimsoll_engine::window::Window;
use serde::Serialize;
use std::fmt;

/// What cannot be explained.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ExplainError {
    /// The plan is refused.
    #[error("the plan is refused: {}", .0.iter().map(|it| it.cause.as_str()).collect::<Vec<_>>().join("; "))]
    Plan(Vec<Problem>),
    /// The trace is shorter.
    #[error("expected an item from 1 to {items}, found {item}")]
    NoSuchItem {
        /// What was asked for.
        item: u64,
        /// How many there are.
        items: usize,
    },
    /// It is something else.
    #[error("expected a row, found `{text}` as item {item}")]
    NotARow {
        /// What was asked for.
        item: u64,
        /// What stands there.
        text: String,
    },
    /// A stage is named, and the query has none.
    #[error("the plan is one window aggregation without stages; leave --stage out")]
    NoStages,
    /// There are fewer stages.
    #[error("expected a stage from 1 to {}, found {found}; the stages are {}", .stages.len(), numbered(.stages))]
    NoSuchStage {
        /// What was asked for.
        found: usize,
        /// What there is.
        stages: Vec<String>,
    },
    /// The stage has no windows, sessions or groups.
    #[error("stage {stage}, `{text}`, has no windows: {instead}")]
    NotGrouped {
        /// The stage, from 1.
        stage: usize,
        /// What it does.
        text: String,
        /// What to ask instead.
        instead: &'static str,
    },
    /// Nothing of this key is there.
    #[error("stage {stage} held nothing of the key `{found}` there; the keys are {}", .keys.join(", "))]
    NoSuchKeyThere {
        /// The stage, from 1.
        stage: usize,
        /// What was asked for.
        found: String,
        /// What there is, at most ten.
        keys: Vec<String>,
    },
    /// Nothing of the stage is there.
    #[error("{}", no_such_group(*.stage, *.at, .groups))]
    NoSuchGroup {
        /// The stage, from 1.
        stage: usize,
        /// What was asked for.
        at: Option<EventTime>,
        /// What there is, at most ten.
        groups: Vec<String>,
    },
    /// The query does not aggregate.
    #[error("the query has no windows")]
    NoWindows,
    /// Windows start elsewhere.
    #[error("no window starts at {found}; the nearest starts are {before} and {after}", found = TimeText(*.found), before = TimeText(*.before), after = TimeText(*.after))]
    NoSuchWindow {
        /// What was asked for.
        found: EventTime,
        /// The start before it.
        before: EventTime,
        /// The start after it.
        after: EventTime,
    },
    /// No row has this key.
    #[error("no row of this window has the key `{found}`; its keys are {}", .keys.join(", "))]
    NoSuchKey {
        /// What was asked for.
        found: String,
        /// What there is, at most ten.
        keys: Vec<String>,
    },
}

/// `1 filter(v<5), 2 session(5min)`.
fn numbered(stages: &[String]) -> String {
    let one = |(number, text): (usize, &String)| format!("{number} {text}");
    (1..).zip(stages).map(one).collect::<Vec<_>>().join(", ")
}

fn no_such_group(stage: usize, at: Option<EventTime>, groups: &[String]) -> String {
    let at = at.map_or_else(String::new, |it| format!(" at {}", TimeText(it)));
    if groups.is_empty() {
        return format!("no row ever reached stage {stage}, so nothing is there{at}");
    }
    format!("stage {stage} held nothing{at}; it held {}", groups.join(", "))
}

/// An item, quoted.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Quoted {
    /// Its number, from 1.
    pub item: u64,
    /// Its line.
    pub text: String,
}

impl Quoted {
    /// The item of this number; `None` where the trace is shorter.
    pub fn of(trace: &Trace, id: ItemId) -> Option<Self> {
        let at = usize::try_from(id.0.checked_sub(1)?).ok()?;
        trace.items.get(at).map(|it| Self { item: id.0, text: item_text(trace, it) })
    }
}

impl fmt::Display for Quoted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "item {} (`{}`)", self.item, self.text)
    }
}

/// `[start,end)`.
pub(crate) struct WindowText(pub(crate) Window);

impl fmt::Display for WindowText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{},{})", TimeText(self.0.start), TimeText(self.0.end))
    }
}

/// Where the clock stands after an item; before a row and after it are the same.
pub fn clock_at(trace: &Trace, id: ItemId) -> ProcTime {
    let until = usize::try_from(id.0).unwrap_or(usize::MAX).min(trace.items.len());
    trace.items[..until].iter().fold(trace.clock, |now, it| match it {
        Item::Tick(span) => now.max(now + *span),
        _ => now,
    })
}

/// The name that plans use for a late rule.
const fn rule_name(rule: plimsoll_engine::plan::LateRule) -> &'static str {
    use plimsoll_engine::plan::LateRule;
    match rule {
        LateRule::Event => "event",
        LateRule::EventInclusive => "event_inclusive",
        LateRule::WindowEnd => "window_end",
        LateRule::Frame => "frame",
    }
}

#[cfg(test)]
mod tests;
