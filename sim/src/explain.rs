//! Explanations: why a row was lost, what a window lacks, why a watermark stands still, and what
//! of a failing trace matters.
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
mod history;
mod matters;
mod row;
mod watermark;
mod window;

pub use failure::{FailureStory, Moment, failure};
pub use history::{History, Rise};
pub use matters::{Finding, Matter, Matters, matters};
pub use row::{RowStory, Trial, row};
pub use watermark::{Remedy, Standing, WatermarkStory, watermark};
pub use window::{RowOfWindow, WindowStory, window};

use crate::trace::time_text::TimeText;
use crate::trace::write::item_text;
use crate::trace::{Item, Trace};
use plimsoll_engine::plan::problem::Problem;
use plimsoll_engine::row::ItemId;
use plimsoll_engine::time::ProcTime;
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
    /// The query has stages, and windows are only one kind of them.
    #[error(
        "windows of a plan with stages are not explained one by one yet; `plimsoll replay` shows what \
         every item made it write, and `explain --row` why a row was late"
    )]
    Stages,
    /// The query does not aggregate.
    #[error("the query has no windows")]
    NoWindows,
    /// Windows start elsewhere.
    #[error("no window starts at {found}; the nearest starts are {before} and {after}", found = TimeText(*.found), before = TimeText(*.before), after = TimeText(*.after))]
    NoSuchWindow {
        /// What was asked for.
        found: plimsoll_engine::time::EventTime,
        /// The start before it.
        before: plimsoll_engine::time::EventTime,
        /// The start after it.
        after: plimsoll_engine::time::EventTime,
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

/// An item, quoted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
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
