//! What comes out: firings, the fate of rows, and records of steps.
//!
//! A *firing* is one window's groups, written together. In append mode it is the window's only one;
//! in update mode it holds the groups that changed; in complete mode all of them. Groups stand in
//! the order in which their keys first arrived: deterministic and unsorted, the edge sorts what it
//! prints. A row without a record of its own was counted into all of its windows.
//!
//! Invariant: firings of one step are in ascending order of window end.

pub mod watch;

use crate::late::LateRow;
use crate::plan::Plan;
use crate::row::{ItemId, PartitionId, RowBatch};
use crate::state::layout::Groups;
use crate::time::{EventTime, ProcTime};
use crate::window::Window;
use serde::{Deserialize, Serialize};

/// Everything that came out since the last [`clear`](Output::clear). Reused by the caller.
#[derive(Debug, Default)]
pub struct Output {
    /// Windows written.
    pub firings: Vec<Firing>,
    /// Every row that was not simply counted into all of its windows.
    pub records: Vec<RowRecord>,
    /// Items that made no sense where they stood.
    pub ignored: Vec<Ignored>,
    /// Late rows with their payload, where the plan asks for a side output.
    pub side: RowBatch,
    /// One record per step.
    pub steps: Vec<StepRecord>,
    /// What the last stage of a flow wrote; empty for the plain query.
    pub emissions: Emissions,
    /// One record per step and stage of a flow.
    pub stages: Vec<StageRecord>,
    /// What contradicts what a flow published or forgot before.
    pub remarks: Vec<Remark>,
    /// A stage that the caller wants to watch; `None` costs nothing.
    pub watch: Option<Box<watch::Watch>>,
    /// Memory of groups that were written, to be used again.
    pub(crate) spare: Vec<Groups>,
}

impl Output {
    /// An empty output for a plan.
    pub fn new(plan: &Plan) -> Self {
        Self { side: RowBatch::new(plan.schema.columns.len()), ..Self::default() }
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.spare.extend(self.firings.drain(..).map(|it| it.groups));
        self.spare.truncate(64);
        self.records.clear();
        self.ignored.clear();
        self.side.clear();
        self.steps.clear();
        self.emissions.rows.clear();
        self.emissions.notes.clear();
        self.stages.clear();
        self.remarks.clear();
        if let Some(it) = &mut self.watch {
            it.passes.clear();
        }
    }
}

/// What the last stage of a flow wrote.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Emissions {
    /// The rows, in the columns of the flow's last stage.
    pub rows: RowBatch,
    /// One note per row.
    pub notes: Vec<EmissionNote>,
}

/// What is known of a row that a flow wrote.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct EmissionNote {
    /// The step that wrote it.
    pub step: u64,
    /// What kind of writing this is.
    pub kind: EmissionKind,
    /// Its output time: end - 1 of a window or session, the time of a row, the larger one of a pair.
    /// `MIN` where there is none.
    pub time: EventTime,
    /// Its pane, from 0, where a window has several; 0 elsewhere.
    pub pane: u32,
}

/// What kind of writing a row of a flow is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum EmissionKind {
    /// A row that went through: stateless, not a duplicate, a pair, a semi row.
    Row,
    /// A group that is written on time, or leaves.
    OnTime,
    /// A pane before the end of its window.
    Early,
    /// A pane after it.
    Late,
    /// A session that had become too long.
    Span,
    /// Update mode: what changed.
    Update,
    /// Complete mode: everything.
    Complete,
    /// Takes an earlier pane back.
    Retraction,
    /// A row of a join that found no partner.
    Unmatched,
}

impl EmissionKind {
    /// The word that traces and reports use.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::OnTime => "on_time",
            Self::Early => "early",
            Self::Late => "late",
            Self::Span => "span",
            Self::Update => "update",
            Self::Complete => "complete",
            Self::Retraction => "retraction",
            Self::Unmatched => "unmatched",
        }
    }
}

/// What one stage of a flow did in one step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StageRecord {
    /// The step.
    pub step: u64,
    /// The stage, by its position in the flow.
    pub stage: usize,
    /// What judged the last rows of each side.
    pub late: [EventTime; 2],
    /// What removed state of each side.
    pub evict: [EventTime; 2],
    /// Rows handed to it.
    pub rows_in: u64,
    /// Rows that it wrote.
    pub rows_out: u64,
    /// Groups, entries or stored rows that were added or changed.
    pub updated: u64,
    /// Those that left.
    pub removed: u64,
    /// Rows late for all that they could have been counted into.
    pub rows_dropped: u64,
    /// (window, key) groups of late rows, as its operator counts them.
    pub groups_dropped: u64,
    /// Duplicates.
    pub duplicates: u64,
    /// Groups, entries or stored rows held after the step.
    pub state_rows: u64,
}

/// What contradicts what a flow published or forgot before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Remark {
    /// The step.
    pub step: u64,
    /// The stage.
    pub stage: usize,
    /// The row that contradicts.
    pub id: ItemId,
    /// What.
    pub kind: RemarkKind,
}

/// What contradicts what was published or forgotten before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum RemarkKind {
    /// The row opened (or extended to) a session that overlaps the published session [start, end).
    SessionSplit {
        /// Start of the published session.
        start: EventTime,
        /// Its end.
        end: EventTime,
    },
    /// The row was let through though an equal one had been let through before and was forgotten.
    DuplicateAfterExpiry {
        /// The first one.
        first: ItemId,
    },
    /// The dropped row would have matched this row, whose null (or anti) row was published.
    Refuted {
        /// The row that was published without a partner.
        unmatched: ItemId,
    },
}

/// One window's groups, written together.
#[derive(Clone, Debug)]
pub struct Firing {
    /// The step that wrote it.
    pub step: u64,
    /// The window.
    pub window: Window,
    /// What kind of writing this is.
    pub kind: FiringKind,
    /// Its groups.
    pub groups: Groups,
    /// What is known about the figure (semantics 15).
    pub note: FigureNote,
}

/// What kind of writing a firing is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum FiringKind {
    /// Append mode: once, when the window closes.
    OnTime,
    /// Update mode: what changed since the last trigger.
    Update,
    /// Complete mode: everything.
    Complete,
}

/// What moved the watermark past the window's end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum FiringReason {
    /// Data.
    Watermark,
    /// Data of the others, after a silent partition was left out.
    Idle,
    /// The wall clock.
    WallClock,
    /// The input ended.
    EndOfInput,
    /// A trigger; the window is still open.
    Trigger,
}

/// How much the figure can be trusted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Completeness {
    /// The input ended, no row was dropped for the window, and no partition was left out as idle
    /// while it was open.
    Known,
    /// The watermark decided; nothing that was observed says that the window is finished. A row
    /// that is dropped for the window later refutes the figure.
    Guessed,
}

/// The note on a figure (semantics 15).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FigureNote {
    /// What closed the window.
    pub reason: FiringReason,
    /// The watermark at the writing.
    pub watermark: EventTime,
    /// The candidate at the writing.
    pub candidate: EventTime,
    /// Rows dropped for this window so far: the number of late records that name it.
    pub rows_dropped: u64,
    /// Whether a partition was left out as idle while the window was open.
    pub idle_excluded: bool,
    /// Known or guessed.
    pub completeness: Completeness,
}

/// A row that was not simply counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RowRecord {
    /// The caller's number of the row.
    pub id: ItemId,
    /// Where it came from.
    pub partition: PartitionId,
    /// The step that judged it.
    pub step: u64,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a row (semantics I14). Rows without a record were counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Fate {
    /// Late for some or all of its windows.
    Late(LateRow),
    /// Counted, but its future time did not move the watermark.
    CountedNotAdvancing,
    /// From the future and rejected.
    Guarded,
    /// Its event time is null: in no window.
    NoTime,
    /// Its event time is outside the legal range.
    TimeOutOfRange,
    /// In the hole between windows whose slide is larger than their size.
    NoWindow,
    /// Its partition had declared itself finished.
    AfterFinish,
    /// The query had ended or stopped.
    NotApplicable,
    /// A filter of a flow did not keep it.
    Filtered,
    /// Seen before.
    Duplicate {
        /// The row that was let through.
        of: ItemId,
    },
    /// The gap that it asks for is null, zero or negative.
    NoGap,
}

/// An item other than a row that made no sense where it stood.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Ignored {
    /// The caller's number of the item.
    pub id: ItemId,
    /// Why.
    pub why: IgnoredWhy,
}

/// Why an item was ignored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum IgnoredWhy {
    /// The partition does not exist.
    NoSuchPartition,
    /// The partition exists already.
    PartitionExists,
    /// The partition is finished.
    PartitionFinished,
    /// This trigger does not take its batches from outside.
    TriggerDecides,
    /// A heartbeat outside the legal range, or from the future.
    HeartbeatGuarded,
    /// The query had ended or stopped.
    QueryStopped,
    /// The plan has no input of this number.
    NoSuchInput,
    /// The input has no task of this number.
    NoSuchTask,
    /// The plan has no levels of combination that could be steered.
    NoLevels,
}

impl IgnoredWhy {
    /// The sentence that reports use.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::NoSuchPartition => "no such partition here",
            Self::PartitionExists => "the partition exists already",
            Self::PartitionFinished => "the partition is finished",
            Self::TriggerDecides => "under this trigger a batch does not end here",
            Self::HeartbeatGuarded => "the heartbeat's time is out of range or from the future",
            Self::QueryStopped => "the query has ended or stopped",
            Self::NoSuchInput => "the plan has no such input",
            Self::NoSuchTask => "the input has no such task",
            Self::NoLevels => "the plan has no levels of combination",
        }
    }
}

/// What kind of step it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum StepKind {
    /// With rows.
    Data,
    /// A trigger without rows.
    Empty,
    /// No trigger: the watermark was evaluated again (a tick, a heartbeat, a change of partitions).
    Probe,
    /// The end of input.
    End,
}

/// What a step did, cheaply: everything that costs more is computed when asked
/// ([`crate::progress`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StepRecord {
    /// Number of the step, from 0.
    pub step: u64,
    /// What kind of step.
    pub kind: StepKind,
    /// The clock.
    pub now: ProcTime,
    /// The watermark that judged the last row of the step (all of its rows, unless it takes effect
    /// per row).
    pub late: EventTime,
    /// The watermark that closed windows.
    pub evict: EventTime,
    /// The candidate c after the step, before the delay, not clamped.
    pub candidate: EventTime,
    /// The watermark after the step; when it counts is the plan's business.
    pub watermark: EventTime,
    /// Rows handed to the step, whatever became of them.
    pub rows_in: u64,
    /// Rows counted into at least one window.
    pub rows_counted: u64,
    /// Rows counted into none because they were late.
    pub rows_dropped: u64,
    /// (row, window) pairs lost to lateness; a partly late row has some of these.
    pub windows_missed: u64,
    /// (window, key) groups removed.
    pub groups_removed: u64,
    /// Smallest event time among the rows, `MAX` where none has one.
    pub event_time_min: EventTime,
    /// Largest event time among the rows, `MIN` where none has one.
    pub event_time_max: EventTime,
    /// Sum of the event times, for their average.
    pub event_time_sum: i128,
    /// How many rows carried an event time.
    pub event_time_rows: u64,
}

impl StepRecord {
    /// The record of a step that has done nothing yet.
    pub const fn empty(step: u64, kind: StepKind, now: ProcTime) -> Self {
        Self {
            step,
            kind,
            now,
            late: EventTime::MIN,
            evict: EventTime::MIN,
            candidate: EventTime::MIN,
            watermark: EventTime::MIN,
            rows_in: 0,
            rows_counted: 0,
            rows_dropped: 0,
            windows_missed: 0,
            groups_removed: 0,
            event_time_min: EventTime::MAX,
            event_time_max: EventTime::MIN,
            event_time_sum: 0,
            event_time_rows: 0,
        }
    }
}
