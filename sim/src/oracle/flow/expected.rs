//! What must come out of a flow because of one item, as plain data.
//!
//! What the definition leaves open is `None` and is not to be compared.
//!
//! Invariant: every row that a step took has exactly one verdict here.

use super::stage::{Happening, Pass, Stage, Verdict};
use plimsoll_engine::output::{EmissionKind, Ignored, RemarkKind, StepKind};
use plimsoll_engine::row::{ItemId, PartitionId};
use plimsoll_engine::time::{EventTime, ProcTime};

/// Everything that one item causes.
#[derive(Clone, Debug, Default)]
pub struct ExpectedFlow {
    /// The steps, in order, with their stages.
    pub steps: Vec<FlowStep>,
    /// The rows that these steps took, and a row that came after the stop.
    pub verdicts: Vec<FlowVerdict>,
    /// Items that made no sense where they stood.
    pub ignored: Vec<Ignored>,
    /// What the last stage writes, in no order within a step.
    pub emissions: Vec<EmissionExpected>,
    /// What contradicts what was published or forgotten.
    pub remarks: Vec<RemarkExpected>,
}

/// One step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowStep {
    /// Its number, from 0.
    pub step: u64,
    /// What kind.
    pub kind: StepKind,
    /// The clock.
    pub now: ProcTime,
    /// The W that removed state at the first stage; `None` where a side has a value of its own.
    pub evict: Option<EventTime>,
    /// c of the first mark after the step; `None` where the law leaves it open.
    pub candidate: Option<EventTime>,
    /// W after the step.
    pub watermark: EventTime,
    /// (c, w) of every mark after the step, in the order of inputs and their marks.
    pub marks: Vec<(EventTime, EventTime)>,
    /// Rows taken.
    pub rows_in: u64,
    /// Rows that the first stateful stage dropped as late.
    pub rows_dropped: u64,
    /// Windows, sessions or join rows lost there.
    pub windows_missed: u64,
    /// What each stage does.
    pub stages: Vec<StageExpected>,
    /// Whether the pass that follows is the step's last.
    pub(super) last_pass: bool,
}

/// What one stage does in a step.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StageExpected {
    /// What judges the rows of each side; `None` where nothing does, or no row was handed over in
    /// the last pass.
    pub late: [Option<EventTime>; 2],
    /// What removes state of each side; `None` where the watermark has no say.
    pub evict: [Option<EventTime>; 2],
    /// Rows handed to it.
    pub rows_in: u64,
    /// Rows that it writes.
    pub rows_out: u64,
    /// What leaves.
    pub removed: u64,
    /// Rows late for all that they could have been counted into.
    pub rows_dropped: u64,
    /// Groups of late rows, pass by pass.
    pub groups_dropped: u64,
    /// Duplicates.
    pub duplicates: u64,
    /// What is held after the step.
    pub state_rows: u64,
}

/// What becomes of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowVerdict {
    /// Its item.
    pub id: ItemId,
    /// Where it came from.
    pub partition: PartitionId,
    /// The step that took it; the number of steps done for one that came after the stop.
    pub step: u64,
    /// Its fate.
    pub fate: FlowFate,
}

/// The fates of a row in a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowFate {
    /// Taken by the first stateful stage, for all that it could be counted into.
    Counted,
    /// The same, but its future time does not move the watermark.
    CountedNotAdvancing,
    /// Late for some or all that it could be counted into.
    Late {
        /// The row's time there.
        time: EventTime,
        /// What judged it.
        bound: EventTime,
        /// How much it missed.
        lost: u64,
        /// What it was counted into.
        kept: u64,
    },
    /// From the future and rejected.
    Guarded,
    /// It needs a time and has none.
    NoTime,
    /// One of its times is outside the legal range.
    TimeOutOfRange,
    /// In a hole between windows.
    NoWindow,
    /// Its own gap is null, zero or negative.
    NoGap,
    /// Seen before.
    Duplicate {
        /// The row that was let through.
        of: ItemId,
    },
    /// A filter did not keep it.
    Filtered,
    /// Its partition is finished.
    AfterFinish,
    /// The query has stopped.
    NotApplicable,
}

/// A row that the last stage writes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct EmissionExpected {
    /// The step.
    pub step: u64,
    /// What kind of writing.
    pub kind: EmissionKind,
    /// Its output time.
    pub time: EventTime,
    /// Its pane.
    pub pane: u32,
    /// Its cells.
    pub cells: Vec<Option<i64>>,
}

/// What contradicts what was published or forgotten.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RemarkExpected {
    /// The step.
    pub step: u64,
    /// The stage.
    pub stage: usize,
    /// The row.
    pub id: ItemId,
    /// What.
    pub kind: RemarkKind,
    /// Whether the ids are those of input rows; a row between stages has the id of whoever caused it.
    pub known: bool,
    /// Whether it is within hindsight; one that is not may be remarked, or not.
    pub certain: bool,
}

impl ExpectedFlow {
    pub(super) fn clear(&mut self) {
        self.steps.clear();
        self.verdicts.clear();
        self.ignored.clear();
        self.emissions.clear();
        self.remarks.clear();
    }

    /// The first stateful stage, or a filter before it, says what becomes of a row.
    pub(super) fn fate(&mut self, id: ItemId, verdict: Verdict) {
        let own = self.verdicts.iter_mut().rev().find(|it| it.id == id);
        own.expect("a row that reached a stage was taken").fate = match verdict {
            Verdict::Late { time, bound, lost, kept } => FlowFate::Late { time, bound, lost, kept },
            Verdict::NoTime => FlowFate::NoTime,
            Verdict::NoWindow => FlowFate::NoWindow,
            Verdict::NoGap => FlowFate::NoGap,
            Verdict::Duplicate(of) => FlowFate::Duplicate { of },
            Verdict::Filtered => FlowFate::Filtered,
        };
    }
}

impl FlowStep {
    pub(super) fn new(step: u64, kind: StepKind, now: ProcTime, stages: usize) -> Self {
        Self {
            step,
            kind,
            now,
            evict: None,
            candidate: None,
            watermark: EventTime::MIN,
            marks: Vec::new(),
            rows_in: 0,
            rows_dropped: 0,
            windows_missed: 0,
            stages: vec![StageExpected::default(); stages],
            last_pass: true,
        }
    }

    pub(super) const fn judge(&mut self, verdict: Verdict) {
        if let Verdict::Late { lost, kept, .. } = verdict {
            self.windows_missed += lost;
            if kept == 0 {
                self.rows_dropped += 1;
            }
        }
    }

    pub(super) fn state(&mut self, stages: &[Box<dyn Stage>]) {
        for (record, stage) in self.stages.iter_mut().zip(stages) {
            record.state_rows = stage.state_rows();
        }
    }
}

impl StageExpected {
    pub(super) fn observe(&mut self, given: &Pass<'_>, out: &Happening, acts: [[bool; 2]; 2]) {
        let [judges, removes] = acts;
        for (side, (judges, removes)) in judges.into_iter().zip(removes).enumerate() {
            let judged = !given.sides[side].is_empty() && !given.ends && judges;
            self.late[side] = judged.then_some(given.late[side]);
            self.evict[side] = removes.then_some(given.evict[side]);
        }
        self.rows_in += given.sides.iter().map(|it| it.len() as u64).sum::<u64>();
        self.rows_out += out.rows.len() as u64;
        self.removed += out.removed;
        self.rows_dropped += out.rows_dropped();
        self.groups_dropped += out.groups_dropped;
        self.duplicates += out.duplicates();
    }
}
