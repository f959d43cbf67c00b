//! What a stage is to the oracle: rows in, rows out, and what became of those that were not taken.
//!
//! Invariant: a stage keeps rows, never totals.

use super::as_of::AsOf;
use super::count::Count;
use super::dedup::Dedup;
use super::global::Global;
use super::join::Join;
use super::session::Sessions;
use super::stateless::Stateless;
use super::window::Windows;
use plimsoll_engine::output::{EmissionKind, RemarkKind};
use plimsoll_engine::plan::OutputMode;
use plimsoll_engine::plan::flow::{NullTime, StagePlan};
use plimsoll_engine::row::{ItemId, PartitionId};
use plimsoll_engine::time::{EventTime, Span};

/// The cells of a row.
pub(super) type Cells = Vec<Option<i64>>;

/// Times further from zero than this are no times to a stage that groups.
const FURTHEST: i64 = 1 << 62;

/// The time by which a row is grouped.
pub(super) fn grouped_by(cell: Option<i64>) -> Option<EventTime> {
    cell.filter(|it| (-FURTHEST..=FURTHEST).contains(it)).map(EventTime)
}

/// A row on its way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Row {
    pub(super) id: ItemId,
    pub(super) partition: PartitionId,
    pub(super) kind: EmissionKind,
    pub(super) time: EventTime,
    pub(super) pane: u32,
    pub(super) cells: Cells,
}

/// What a pass hands to a stage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass<'a> {
    pub(super) sides: &'a [Vec<Row>; 2],
    pub(super) late: [EventTime; 2],
    pub(super) evict: [EventTime; 2],
    pub(super) mode: OutputMode,
    /// Whether complete mode writes.
    pub(super) triggered: bool,
    /// Whether this is the end of input.
    pub(super) ends: bool,
    pub(super) cause: ItemId,
}

/// What became of a row that was not simply taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Late { time: EventTime, bound: EventTime, lost: u64, kept: u64 },
    NoTime,
    NoWindow,
    NoGap,
    Duplicate(ItemId),
    Filtered,
}

/// What a stage makes of a pass.
#[derive(Debug, Default)]
pub(super) struct Happening {
    pub(super) rows: Vec<Row>,
    /// Side, number in it, verdict.
    pub(super) judged: Vec<(usize, usize, Verdict)>,
    /// Row, what it contradicts, whether that is within hindsight.
    pub(super) remarks: Vec<(ItemId, RemarkKind, bool)>,
    pub(super) removed: u64,
    pub(super) groups_dropped: u64,
}

impl Happening {
    pub(super) fn rows_dropped(&self) -> u64 {
        let dropped = |it: &&(usize, usize, Verdict)| matches!(it.2, Verdict::Late { kept: 0, .. });
        self.judged.iter().filter(dropped).count() as u64
    }

    pub(super) fn duplicates(&self) -> u64 {
        let again = |it: &&(usize, usize, Verdict)| matches!(it.2, Verdict::Duplicate(_));
        self.judged.iter().filter(again).count() as u64
    }
}

/// A stage of the oracle.
pub(super) trait Stage: std::fmt::Debug {
    fn pass(&mut self, given: &Pass<'_>, out: &mut Happening);
    /// Groups, entries or stored rows.
    fn state_rows(&self) -> u64;
    /// Whether the watermark has a say in what each side judges, and in what it removes.
    fn acts(&self) -> [[bool; 2]; 2];
    /// Whether it asks for steps without data after the watermark has moved.
    fn asks(&self) -> bool;
    /// What judges and removes begins anew: what had left before does not come back with it.
    fn bounds_begin_anew(&mut self) {}
}

/// The stage of a plan. `acts` says whether the watermark has a say in it.
pub(super) fn build(
    plan: &StagePlan,
    acts: [bool; 2],
    mode: OutputMode,
    null: NullTime,
    hindsight: Span,
) -> Box<dyn Stage> {
    let leaves = mode != OutputMode::Complete;
    let evicts = acts[0] && leaves;
    match plan {
        StagePlan::Filter(_)
        | StagePlan::Project(_)
        | StagePlan::Rename(..)
        | StagePlan::Compute(_) => Box::new(Stateless::new(plan)),
        StagePlan::Window(it) => Box::new(Windows::new(it, evicts, leaves)),
        StagePlan::Session(it) => Box::new(Sessions::new(it, evicts, leaves, hindsight)),
        StagePlan::Global(it) => Box::new(Global::new(it, evicts, leaves)),
        StagePlan::Count(it) => Box::new(Count::new(it)),
        StagePlan::Dedup(it) => Box::new(Dedup::new(it, acts[0], null, hindsight)),
        StagePlan::Join(it) => Box::new(Join::new(it, acts, null, hindsight)),
        StagePlan::AsOf(it) => Box::new(AsOf::new(it, acts, null)),
    }
}

impl Pass<'_> {
    /// A bound where the watermark has a say, and where it has none: nothing before the end.
    pub(super) fn bound(&self, acts: bool, bound: EventTime) -> EventTime {
        if acts || self.ends { bound } else { EventTime::MIN }
    }
}
