//! What must come out because of one item, as plain data.
//!
//! Rows, figures and steps stand in the order in which the definition produces them: rows in the
//! order of their items, figures by window. What the definition leaves open is `None` and is not
//! to be compared.
//!
//! Invariant: every row that a step took has exactly one verdict here. Source: semantics I14.

use plimsoll_engine::late::Saving;
use plimsoll_engine::output::{Completeness, FiringKind, Ignored, StepKind};
use plimsoll_engine::row::{ItemId, PartitionId};
use plimsoll_engine::state::layout::Value;
use plimsoll_engine::time::{EventTime, ProcTime};
use plimsoll_engine::window::Window;
use std::ops::Range;

/// Everything that one item causes.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// The steps, in order.
    pub steps: Vec<ExpectedStep>,
    /// The rows that these steps took, and a row that came after the stop.
    pub verdicts: Vec<Verdict>,
    /// Items that made no sense where they stood.
    pub ignored: Vec<Ignored>,
    /// What is written, one entry per step and window.
    pub firings: Vec<ExpectedFiring>,
    pub(super) keys: Vec<Option<i64>>,
    pub(super) values: Vec<Value>,
    pub(super) key_columns: usize,
    pub(super) aggregates: usize,
    pub(super) figures: usize,
}

impl Expected {
    /// Key cells of a figure, in the order of the plan's `keys`.
    pub fn key(&self, figure: usize) -> &[Option<i64>] {
        &self.keys[figure * self.key_columns..(figure + 1) * self.key_columns]
    }

    /// Values of a figure, in the order of the plan's `aggregates`.
    pub fn values(&self, figure: usize) -> &[Value] {
        &self.values[figure * self.aggregates..(figure + 1) * self.aggregates]
    }

    pub(super) fn clear(&mut self) {
        self.steps.clear();
        self.verdicts.clear();
        self.ignored.clear();
        self.firings.clear();
        self.keys.clear();
        self.values.clear();
        self.figures = 0;
    }
}

/// One step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExpectedStep {
    /// Its number, from 0.
    pub step: u64,
    /// What kind.
    pub kind: StepKind,
    /// The clock.
    pub now: ProcTime,
    /// The watermark that judged the last row. `None` where nothing was judged by one: per row in
    /// a step whose last row was not judged, in complete mode, and in an `End` step.
    pub late: Option<EventTime>,
    /// The watermark that closed windows; `None` where it has no effect (complete mode).
    pub evict: Option<EventTime>,
    /// The candidate c after the step.
    pub candidate: EventTime,
    /// Its running maximum c*.
    pub candidate_max: EventTime,
    /// The watermark w after the step.
    pub watermark: EventTime,
    /// Rows taken.
    pub rows_in: u64,
    /// Rows counted into at least one window (or passed on, where there is no operator).
    pub rows_counted: u64,
    /// Rows counted into none because they were late.
    pub rows_dropped: u64,
    /// (row, window) pairs lost to lateness.
    pub windows_missed: u64,
    /// (window, key) groups removed.
    pub groups_removed: u64,
    /// Its verdicts, as positions in [`Expected::verdicts`].
    pub verdicts: Range<usize>,
    /// Its firings, as positions in [`Expected::firings`].
    pub firings: Range<usize>,
}

/// What becomes of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// Its item.
    pub id: ItemId,
    /// Where it came from.
    pub partition: PartitionId,
    /// The step that took it; the number of steps done for one that came after the stop.
    pub step: u64,
    /// Its fate.
    pub fate: ExpectedFate,
}

/// The fates of semantics I14.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExpectedFate {
    /// Counted into all of its windows.
    Counted,
    /// Counted, but its future time does not move the watermark.
    CountedNotAdvancing,
    /// Late for some or all of its windows.
    Late(Lateness),
    /// From the future and rejected.
    Guarded,
    /// Its event time is null.
    NoTime,
    /// Its event time is outside the legal range.
    TimeOutOfRange,
    /// In a hole between windows.
    NoWindow,
    /// Its partition is finished.
    AfterFinish,
    /// The query has stopped.
    NotApplicable,
}

/// How late, and what would have helped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lateness {
    /// The row's event time.
    pub time: EventTime,
    /// Windows that it missed: its earliest ones.
    pub lost: u64,
    /// Windows that it was counted into.
    pub kept: u64,
    /// The watermark that judged it.
    pub watermark: EventTime,
    /// The candidate c* in force.
    pub candidate: EventTime,
    /// The item that raised c* to this value.
    pub set_by: Option<ItemId>,
    /// What would have saved it; `None` where semantics 3.3 does not say (a start value that is
    /// ahead of all data, or a wall clock and data that both close the window).
    pub saving: Option<Saving>,
}

/// One window's figures, written together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExpectedFiring {
    /// The step that writes it.
    pub step: u64,
    /// The window.
    pub window: Window,
    /// What kind of writing.
    pub kind: FiringKind,
    /// Its figures; see [`Expected::key`] and [`Expected::values`].
    pub figures: Range<usize>,
    /// Rows counted into the window so far, over all keys.
    pub rows_counted: u64,
    /// Rows dropped for the window so far.
    pub rows_dropped: u64,
    /// Whether a candidate was computed without an idle partition while the window was open.
    pub idle_excluded: bool,
    /// Known or guessed.
    pub completeness: Completeness,
}
