//! Flows: what goes beyond one input and one window aggregation.
//!
//! The plain query runs in [`crate::pipeline`]; a plan with a [`Flow`] runs in [`crate::flow`]: several
//! inputs with a watermark each, then stages in order, each of which takes the rows of the one before.
//! The inputs are united row by row, unless the first stage is a join: that takes exactly two inputs,
//! the left one first. All inputs share the columns of the plan's schema.
//!
//! # The law on flows
//!
//! *Watermarks.* `Plan.watermark` says who computes a candidate, when a value takes effect, the first
//! value, the guard and the fallback; each input says from which column and with which delay
//! ([`Mark`]). A mark computes its own w_i = max(w_i, c_i - d_i) over the rows of its input (semantics
//! 2), starting at `initial`. W = max(W, policy over all marks). An input without marks has no say.
//!
//! *A pass.* Stages run in order: a stage judges and applies the rows handed to it with its late bound,
//! in the order (left rows, then right rows), then evicts with its evict bound, then writes (update,
//! complete), and what it wrote goes to the next stage in the same pass. Bounds of the first stateful
//! stage: `row`: late = W before the item, evict = W after it, one pass per item; `next_batch`: late =
//! evict = W of the step before; `batch_after_next`: late = the evict bound of the step before; `probe`:
//! late = W in force, evict = the new W in a step of kind Probe and -inf for a row, since nothing
//! leaves between two probes. A later stage sees each value as its predecessor lets it through
//! ([`Chain`]); `Previous`: its late bound is what its predecessor let through of the value that evicted
//! last before this pass.
//! What lets through less: a join min(w_L, w_R, w_R - b', w_L + a') (the last two one less under
//! `EventInclusive`, where rows stay at their bound and t <= w is late; a side that keeps its rows for
//! ever lets nothing through, or holds nothing back: [`Sides`]), a stage with allowed lateness l
//! w - l, count and global windows nothing (-inf); everything else lets w through. +inf always passes.
//! From what a join lets through its grace is taken off too; its a' and b' are those of its expiry; a
//! window join lets through the start of the window that holds w. Within a pass groups are written by
//! (end, start, key), partners, null rows and as-of rows by time.
//! At the end of input every stage evicts with +inf and nothing is judged in that pass.
//!
//! *Follow-up steps.* With [`FollowUp::WhenMoved`] a step of kind Data or Empty is followed by further
//! Empty steps while W is ahead of the evict bound of the last step and a stage asks for one: windows,
//! sessions and groups by keys alone (with a time among them or not) unless output=complete; dedup; a
//! join where the watermark removes rows of at least one side; an as-of join with a link on both. With `sides=own` either side's line counts. None follows a
//! probe, or a piece of `available_now` but the last.
//!
//! *Fates.* A row that reaches no stateful stage is counted. First match: query stopped, partition
//! finished, a time column out of range, from the future (guard), filtered, then what the first
//! stateful stage says: no time, no gap, in no window, late, duplicate, counted. All but the first four
//! kinds show their time to the marks of their input, filtered ones unless the filter stands before the
//! watermark. A null time shows nothing or 0 ([`NullTime`]); as 0, dedup and a group by the time never
//! take it for late, and a group and a join let it go at +inf only, a join with its null row. Count
//! windows take rows without a time. Windows, sessions and groups by a time take a time further than
//! 2^62 ms from zero, which only a stage before them can write, for no time. A row of an input that the
//! plan does not have is not applicable. The watermark has a say in what a stage judges and removes only
//! where it speaks of the time that counts there ([`Flow::says`]).
//!
//! *Writing.* Append: a group once, when it leaves. Update: at the end of a pass the groups that were
//! changed in it. Complete: all groups at every Data, Empty and End step; no group is evicted and no row
//! late for one, except for a session under `proto`, which judges in each mode. Joins and dedup write at
//! once and know no modes: they judge and forget in each.
//!
//! *Output columns.* Windows and sessions: `window_start`, `window_end`, `window_time` (= end - 1), then
//! keys, then aggregates (an average is two columns, its sum and its count). Count windows: keys,
//! aggregates, `window_time` (the largest time counted). Global windows: keys, aggregates. Joins and
//! as-of joins: the left columns with `l_`, then (not for semi and anti) the right ones with `r_`.
//! Dedup and stateless stages keep their columns.
//!
//! Invariant: data only; [`super::check`] judges flows too.

mod columns;
mod from_plain;
mod grouping;
mod link;
mod matching;

use super::levels::LevelsPlan;
use crate::row::{ColumnIx, Schema};
use crate::time::Span;
pub use grouping::{
    Carry, CountPlan, Gap, GlobalPlan, HoleRule, PanePlan, SessionLate, SessionPlan, Touching,
    WindowStage,
};
pub use link::Says;
pub use matching::{
    AsOfPlan, DedupExpiry, DedupPlan, Edge, Expiry, JoinKind, JoinPlan, Range, Sides,
};
use serde::{Deserialize, Serialize};

/// Several inputs, several stages.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Flow {
    /// At least one; position = [`crate::row::PartitionId::input`].
    pub inputs: Vec<InputPlan>,
    /// How the watermarks of the marks become one.
    pub policy: Policy,
    /// Combination over several levels with probes; only where the watermark takes effect at probes.
    pub levels: Option<LevelsPlan>,
    /// In order.
    pub stages: Vec<StagePlan>,
    /// Which value judges rows that a stage hands to the next.
    pub chain: Chain,
    /// Whether batches without data follow a batch that moved the watermark.
    pub follow_up: FollowUp,
    /// What a null event time is.
    pub null_time: NullTime,
    /// How long what was published or forgotten is remembered, in event time behind its removal, only
    /// to report what contradicts it (split sessions, late duplicates, refuted null rows).
    pub hindsight: Span,
    /// What a left and a right row of the join must be to one another besides. Where it asks for
    /// something, nothing says which null rows a late row refutes.
    pub pairs: Vec<PairFilter>,
}

/// A comparison of a column of a left row with one of a right row. Null fails every one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PairFilter {
    /// The column on the left.
    pub left: ColumnIx,
    /// How.
    pub compare: Compare,
    /// The column on the right.
    pub right: ColumnIx,
}

impl PairFilter {
    /// Whether rows with these values in the two columns may be a pair.
    pub fn keeps(&self, left: Option<i64>, right: Option<i64>) -> bool {
        let Some(value) = right else { return false };
        Filter { column: self.left, compare: self.compare, value }.keeps(left)
    }
}

/// One input.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InputPlan {
    /// The name that traces and reports use.
    pub name: String,
    /// Its watermarks, usually one; none: the input has no watermark.
    pub marks: Vec<Mark>,
    /// Rows that fail one of these are gone before the watermark sees them.
    pub before: Vec<Filter>,
    /// Rows that fail one of these have shown their time, and go no further.
    pub behind: Vec<Filter>,
    /// By which time the rows of this input are judged late, where the first stage is a join.
    pub judged: Judged,
}

/// By which time rows of a join are judged late. Matched in `operator/join.rs` and `plan/flow/link.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Judged {
    /// By the time that the join works on (semantics 6).
    #[default]
    ItsTime,
    /// By this column, whatever the join works on; null is never late (Spark: the column of the mark).
    /// Under `WindowEnd` it is late iff t + grace <= w, since no window is cut on it.
    Column(ColumnIx),
    /// Nobody is late (Spark, where nothing uses the column of the mark, so that it is not read).
    Nobody,
}

impl InputPlan {
    /// An input without filters.
    pub const fn of(name: String, marks: Vec<Mark>) -> Self {
        Self { name, marks, before: Vec::new(), behind: Vec::new(), judged: Judged::ItsTime }
    }
}

/// One watermark of an input: w = m - delay over a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Mark {
    /// The time column.
    pub column: ColumnIx,
    /// The allowance d.
    pub delay: Span,
}

/// How watermarks of several marks become one (semantics 2.7). Matched in `flow/source.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Policy {
    /// The smallest: nobody's rows are given up for another's.
    Min,
    /// The largest: the slow ones lose rows.
    Max,
}

/// Which value judges rows that a stage hands to the next. Matched in `flow/bounds.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Chain {
    /// What evicted in the pass before: nothing that a stage writes is late at the next (semantics 9).
    Previous,
    /// The same late and evict bounds at every stage (S56; Spark with one stateful operator only).
    Same,
}

/// Whether batches without data follow. Matched in `flow.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum FollowUp {
    /// Never.
    Never,
    /// While the watermark is ahead of what evicted last and a stage asks for it (spark-rules 2).
    WhenMoved,
}

/// What a null event time is. Matched in `flow/source.rs` and `operator/dedup.rs`, `operator/global.rs`,
/// `operator/join.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum NullTime {
    /// It shows nothing to the watermark, and a stage that needs the time does not take the row.
    #[default]
    Nowhere,
    /// It shows 0 to the watermark. Windows and sessions do not take it; dedup by time keeps it for
    /// ever, as does a group by it; dedup within a delay takes it for time 0; a join stores it for ever
    /// and matches it only where it asks nothing of times, or, where the time is a key
    /// ([`Sides::Either`]), with another (spark-rules 1 and 3).
    Epoch,
}

/// One stage.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum StagePlan {
    /// Keeps rows whose column compares so; null fails.
    Filter(Filter),
    /// Keeps only these columns, in this order.
    Project(Vec<ColumnIx>),
    /// Renames a column; a link to the watermark holds.
    Rename(ColumnIx, String),
    /// Replaces a column by a computed one with the same values; a link to the watermark breaks.
    Compute(ColumnIx),
    /// Fixed windows.
    Window(WindowStage),
    /// Sessions.
    Session(SessionPlan),
    /// Groups by keys alone, in one global window.
    Global(GlobalPlan),
    /// Windows of a number of rows per key.
    Count(CountPlan),
    /// Drops what was seen before.
    Dedup(DedupPlan),
    /// An interval or window join of two inputs; only as the first stage.
    Join(JoinPlan),
    /// The latest right row at or before each left row; only as the first stage.
    AsOf(AsOfPlan),
}

/// A comparison of a column with a number. Null fails every one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Filter {
    /// The column.
    pub column: ColumnIx,
    /// How.
    pub compare: Compare,
    /// With what.
    pub value: i64,
}

/// How a [`Filter`] compares.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Compare {
    /// Less.
    Less,
    /// Less or equal.
    AtMost,
    /// Equal.
    Equal,
    /// Not equal.
    Unequal,
    /// Greater or equal.
    AtLeast,
    /// Greater.
    Greater,
}

impl Filter {
    /// Whether a row with this value in the column stays.
    pub fn keeps(&self, value: Option<i64>) -> bool {
        value.is_some_and(|it| match self.compare {
            Compare::Less => it < self.value,
            Compare::AtMost => it <= self.value,
            Compare::Equal => it == self.value,
            Compare::Unequal => it != self.value,
            Compare::AtLeast => self.value <= it,
            Compare::Greater => self.value < it,
        })
    }
}

impl Flow {
    /// A flow of one input, as the plain query has it, under these stages.
    pub fn of(inputs: Vec<InputPlan>, stages: Vec<StagePlan>) -> Self {
        Self {
            inputs,
            policy: Policy::Min,
            levels: None,
            stages,
            chain: Chain::Previous,
            follow_up: FollowUp::Never,
            null_time: NullTime::Nowhere,
            hindsight: Span::ZERO,
            pairs: Vec::new(),
        }
    }

    /// Whether the first stage takes two inputs apart.
    pub fn joins(&self) -> bool {
        matches!(self.stages.first(), Some(StagePlan::Join(_) | StagePlan::AsOf(_)))
    }

    /// The columns that each stage is handed, and last those that come out: one more than stages.
    ///
    /// A stage that names a column which is not there gets what there is; the check refuses it.
    pub fn schemas(&self, input: &Schema) -> Vec<Schema> {
        let mut all = vec![input.clone()];
        for stage in &self.stages {
            let next = stage.output(all.last().expect("the input's columns"));
            all.push(next);
        }
        all
    }
}

impl StagePlan {
    /// Whether it keeps groups, and so knows output modes.
    pub const fn is_grouping(&self) -> bool {
        matches!(self, Self::Window(_) | Self::Session(_) | Self::Global(_) | Self::Count(_))
    }

    /// Whether rows are late for its groups in complete mode too: where sessions judge a row before
    /// they look at what they keep (Spark).
    pub const fn judges_in_complete(&self) -> bool {
        matches!(self, Self::Session(SessionPlan { late: SessionLate::Proto, .. }))
    }

    /// Whether it keeps nothing between rows.
    pub const fn is_stateless(&self) -> bool {
        matches!(self, Self::Filter(_) | Self::Project(_) | Self::Rename(..) | Self::Compute(_))
    }
}
