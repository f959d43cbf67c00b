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
//! late = W in force, evict = W in force for a row, the new W in a step of kind Probe. A later
//! stage sees each value as its predecessor lets it through ([`Chain`]); `Previous`: its late
//! bound is what its predecessor let through of the value that evicted last before this pass.
//! What lets through less: a join min(w_L, w_R, w_R - b', w_L + a'), a stage with allowed lateness l
//! w - l, count and global windows nothing (-inf); everything else lets w through. +inf always passes.
//! At the end of input every stage evicts with +inf and nothing is judged in that pass.
//!
//! *Follow-up steps.* With [`FollowUp::WhenMoved`] a step of kind Data or Empty is followed by further
//! Empty steps while W is ahead of the evict bound of the last step and a stage asks for one: a stage
//! that ever evicts under this plan (windows, sessions and times in a key, unless output=complete;
//! dedup; a join with an expiry on at least one side).
//!
//! *Fates.* A row that reaches no stateful stage is counted. First match: query stopped, partition
//! finished, a time column out of range, from the future (guard), filtered, then what the first
//! stateful stage says: no time, no gap, in no window, late, duplicate, counted. All but the first four
//! kinds show their time to the marks of their input, filtered ones unless the filter stands before the
//! watermark. A null time shows nothing or 0 ([`NullTime`]).
//!
//! *Writing.* Append: a group once, when it leaves. Update: at the end of a pass the groups that were
//! changed in it. Complete: all groups at every Data, Empty and End step; nothing is late or evicted.
//! Joins and dedup write at once and know no modes.
//!
//! *Output columns.* Windows and sessions: `window_start`, `window_end`, `window_time` (= end - 1), then
//! keys, then aggregates (an average is two columns, its sum and its count). Count windows: keys,
//! aggregates, `window_time` (the largest time counted). Global windows: keys, aggregates. Joins and
//! as-of joins: the left columns with `l_`, then (not for semi and anti) the right ones with `r_`.
//! Dedup and stateless stages keep their columns.
//!
//! Invariant: data only; [`super::check`] judges flows too.

use super::levels::LevelsPlan;
use super::{Aggregate, LatePolicy, LateRule, WindowSpec};
use crate::row::{ColumnIx, ColumnKind, ColumnSpec, Schema};
use crate::time::Span;
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

/// What a null event time is. Matched in `flow/source.rs` and `operator/dedup.rs`, `operator/join.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum NullTime {
    /// It shows nothing to the watermark, and a stage that needs the time does not take the row.
    Nowhere,
    /// It shows 0 to the watermark. Windows and sessions do not take it; dedup by time keeps it for
    /// ever, dedup within a delay takes it for time 0; a join stores it for ever and never matches it
    /// (spark-rules 1 and 3).
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

/// Fixed windows as a stage: tumbling or sliding, with allowed lateness and panes.
///
/// A (window, key) exists from its first row until end + lateness <= evict. Panes (append mode only):
/// early ones while it is open, one on time in the pass in which end <= evict holds first and rows
/// came since it fired on time last (so once, unless a restart forgot the watermark), late ones at
/// the end of each pass in which a row was counted after end <= the late bound of that pass.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WindowStage {
    /// The column that windows are cut on.
    pub time: ColumnIx,
    /// The windows.
    pub window: WindowSpec,
    /// Grouping columns.
    pub keys: Vec<ColumnIx>,
    /// What is computed.
    pub aggregates: Vec<Aggregate>,
    /// Who is late.
    pub late: LateRule,
    /// What becomes of who is late.
    pub late_policy: LatePolicy,
    /// Allowed lateness l: lateness and removal are judged by w - l, firing on time is not.
    pub lateness: Span,
    /// Early panes and what panes carry.
    pub panes: PanePlan,
}

/// Early panes, and what panes carry. Matched in `operator/panes.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PanePlan {
    /// An early pane at the end of a pass once this many rows were counted since the last pane.
    pub early_rows: Option<u64>,
    /// What a pane carries.
    pub carry: Carry,
}

impl PanePlan {
    /// No early panes; panes carry totals.
    pub const TOTALS: Self = Self { early_rows: None, carry: Carry::Accumulating };
}

/// What a pane carries (semantics 8).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Carry {
    /// The total so far.
    Accumulating,
    /// What came since the last pane.
    Discarding,
    /// The last pane's total taken back (-1), then the new total (+1).
    Retracting,
}

/// Sessions per key (semantics 5). A row is [t, t + gap); sessions of a key that overlap are one.
///
/// Within a pass: each row in order is judged (rule), merged with what it overlaps; then sessions of at
/// least `max_span` are written and leave (reason span); then those with end + lateness <= evict leave.
/// With allowed lateness: fired when end <= evict holds first and rows came since; a row that is
/// counted into a session whose end after merging is <= the late bound fires it again (late pane) at
/// the end of the pass.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SessionPlan {
    /// The time column.
    pub time: ColumnIx,
    /// How long silence ends a session.
    pub gap: Gap,
    /// Grouping columns.
    pub keys: Vec<ColumnIx>,
    /// What is computed.
    pub aggregates: Vec<Aggregate>,
    /// Who is late.
    pub late: SessionLate,
    /// What becomes of who is late.
    pub late_policy: LatePolicy,
    /// Whether [a, b) and [b, c) are one session.
    pub touching: Touching,
    /// A session of at least this length is closed.
    pub max_span: Option<Span>,
    /// Allowed lateness.
    pub lateness: Span,
}

/// How long silence ends a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Gap {
    /// Always the same.
    Fixed(Span),
    /// Each row says its own, in milliseconds; null, zero and negative ones are not taken.
    Column(ColumnIx),
}

/// Who is late in a session (semantics 5), with w the late bound and l the allowed lateness. Matched in
/// `operator/session.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SessionLate {
    /// t + l < w.
    Event,
    /// t + gap + l <= w, before merging (Spark).
    Proto,
    /// end + l <= w, after merging (Flink, Kafka).
    Merged,
}

/// Whether touching sessions are one. Matched in `operator/session.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Touching {
    /// They are two.
    Apart,
    /// They are one (Spark, Flink, Kafka).
    Merge,
}

/// Groups by keys alone. Where one key is the event time, its groups leave with the watermark.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GlobalPlan {
    /// Grouping columns.
    pub keys: Vec<ColumnIx>,
    /// What is computed.
    pub aggregates: Vec<Aggregate>,
    /// The grouping column that is the event time, and who is late there (`Event`: late iff t < w,
    /// leaves iff t < evict; `EventInclusive`: <=). Others: nothing is late, all leaves at the end.
    pub time: Option<(ColumnIx, LateRule)>,
}

/// Windows of a number of rows per key, in order of arrival. Nothing is late. The rest of a key is
/// written at the end of input.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CountPlan {
    /// The time column, for the time of what is written.
    pub time: ColumnIx,
    /// Grouping columns.
    pub keys: Vec<ColumnIx>,
    /// What is computed.
    pub aggregates: Vec<Aggregate>,
    /// How many rows make a window; at least one. The window is written with its last row.
    pub rows: u64,
}

/// Drops rows whose columns were seen before (semantics 7).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DedupPlan {
    /// What makes two rows equal.
    pub columns: Vec<ColumnIx>,
    /// The time column; `None`: there is no time, nothing is late and nothing expires.
    pub time: Option<ColumnIx>,
    /// `Event` or `EventInclusive`.
    pub late: LateRule,
    /// When an entry is forgotten.
    pub expiry: DedupExpiry,
    /// What becomes of who is late.
    pub late_policy: LatePolicy,
}

/// When an entry of a dedup is forgotten. Matched in `operator/dedup.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum DedupExpiry {
    /// The time is one of the columns (D1): when a row of that time would be late (t < evict under
    /// `Event`, t <= evict under `EventInclusive`).
    WithItsTime,
    /// Within a delay (D2): when the time of the first row + this <= evict.
    After(Span),
    /// Never: grows without bound.
    Never,
}

/// A join of two inputs (semantics 6): r.t - l.t within all of `ranges`, equal `on`, same window.
///
/// In a pass left rows are judged, probe the stored right rows and are stored, in order; then right
/// rows, which so meet this pass's left rows too. A right row that is evictable already is not stored,
/// except where it has found nobody and is owed a null row. Null rows, and anti rows, are written when
/// the row leaves. Semi: a left row is written at its first match and leaves.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct JoinPlan {
    /// Which rows are written.
    pub kind: JoinKind,
    /// Pairs of columns (left, right) that must be equal; null equals nothing.
    pub on: Vec<(ColumnIx, ColumnIx)>,
    /// The time columns, left and right.
    pub time: [ColumnIx; 2],
    /// Bounds on r.t - l.t; all must hold. None: no bound.
    pub ranges: Vec<Range>,
    /// Both rows in the same tumbling window of this grid (`slide` = `size`); a side's expiry is then end <= w.
    pub window: Option<WindowSpec>,
    /// A condition on left rows alone, and one on right rows alone: who fails it matches nobody, is
    /// not stored, and gets its null row at once where it is owed one.
    pub only_if: [Option<Filter>; 2],
    /// Who is late: `Event` (t + grace < w), `EventInclusive` (t + grace <= w), `WindowEnd` (end <= w, with `window`).
    pub late: LateRule,
    /// How long a row may be behind before it is late.
    pub grace: Span,
    /// When a stored row leaves.
    pub expiry: Expiry,
    /// Whose watermark judges and removes.
    pub sides: Sides,
    /// What becomes of who is late.
    pub late_policy: LatePolicy,
}

/// Which rows a join writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum JoinKind {
    /// Pairs.
    Inner,
    /// Pairs, and left rows without a partner.
    Left,
    /// Pairs, and right rows without a partner.
    Right,
    /// Pairs, and rows of either side without a partner.
    Full,
    /// Left rows with a partner, once.
    Semi,
    /// Left rows without a partner.
    Anti,
}

/// Bounds on r.t - l.t; a missing one is infinite.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Range {
    /// At least (or, open, more than) this.
    pub lower: Option<Edge>,
    /// At most (or, open, less than) this.
    pub upper: Option<Edge>,
}

/// One end of a [`Range`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Edge {
    /// Where; may be negative.
    pub at: Span,
    /// Whether the end itself is outside.
    pub open: bool,
}

/// When a stored row of a join leaves, with w the watermark that removes its side, [a', b'] the
/// range in normal form and g the grace: a left row when `l.t + b' + g < w`, a right one when
/// `r.t - a' + g < w` (semantics 6). Matched in `operator/join/expiry.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Expiry {
    /// `<= w` instead of `< w` (right under `EventInclusive`).
    pub at_bound: bool,
    /// Whether g counts here too. Where it does not, a row may be admitted whose partner has left.
    pub with_grace: bool,
    /// Never before the row's own time: max(b', 0) and max(-a', 0) (Flink).
    pub own_time: bool,
    /// Of several ranges the tightest counts, or (Spark) the loosest.
    pub loosest: bool,
}

impl Expiry {
    /// Semantics 6.
    pub const EXACT: Self =
        Self { at_bound: false, with_grace: true, own_time: false, loosest: false };
}

/// Whose watermark judges and removes in a join. Matched in `flow/bounds.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Sides {
    /// A row is judged by its own input's w and removed by the other's.
    Own,
    /// Both by the one W of the policy.
    Combined,
}

/// The latest right row at or before each left row, within a tolerance.
///
/// A left row waits until evict > l.t (or the end), then is written with the right row of the largest
/// time in [l.t - tolerance, l.t] and equal `on`; of equal times the one that arrived last. Without
/// one it is written with nulls where `outer`, else not at all. Both bounds are the combined W. Late:
/// t < w. A right row leaves when another of its key with a later time (or the same, arrived later) is
/// <= min(evict, oldest waiting left row of the key), or r.t + tolerance < that minimum.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AsOfPlan {
    /// Pairs of columns (left, right) that must be equal; null equals nothing.
    pub on: Vec<(ColumnIx, ColumnIx)>,
    /// The time columns, left and right.
    pub time: [ColumnIx; 2],
    /// How old the right row may be.
    pub tolerance: Span,
    /// Whether a left row without a partner is written.
    pub outer: bool,
    /// What becomes of who is late.
    pub late_policy: LatePolicy,
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
    /// Whether it keeps nothing between rows.
    pub const fn is_stateless(&self) -> bool {
        matches!(self, Self::Filter(_) | Self::Project(_) | Self::Rename(..) | Self::Compute(_))
    }

    /// The columns that come out of it.
    pub fn output(&self, input: &Schema) -> Schema {
        let named = |name: &str, kind| ColumnSpec { name: name.to_owned(), kind };
        let mut columns = Vec::new();
        let take = |ix: &ColumnIx, columns: &mut Vec<ColumnSpec>| {
            columns.extend(input.columns.get(ix.0).cloned());
        };
        match self {
            Self::Filter(_) | Self::Compute(_) | Self::Dedup(_) => return input.clone(),
            Self::Project(kept) => kept.iter().for_each(|it| take(it, &mut columns)),
            Self::Rename(at, name) => {
                columns.clone_from(&input.columns);
                if let Some(it) = columns.get_mut(at.0) {
                    it.name.clone_from(name);
                }
            }
            Self::Window(WindowStage { keys, aggregates, .. })
            | Self::Session(SessionPlan { keys, aggregates, .. }) => {
                for name in ["window_start", "window_end", "window_time"] {
                    columns.push(named(name, ColumnKind::Time));
                }
                keys.iter().for_each(|it| take(it, &mut columns));
                aggregates.iter().for_each(|it| it.output(input, &mut columns));
            }
            Self::Global(GlobalPlan { keys, aggregates, .. }) => {
                keys.iter().for_each(|it| take(it, &mut columns));
                aggregates.iter().for_each(|it| it.output(input, &mut columns));
            }
            Self::Count(CountPlan { keys, aggregates, .. }) => {
                keys.iter().for_each(|it| take(it, &mut columns));
                aggregates.iter().for_each(|it| it.output(input, &mut columns));
                columns.push(named("window_time", ColumnKind::Time));
            }
            Self::Join(JoinPlan { kind, .. }) => {
                let both = !matches!(kind, JoinKind::Semi | JoinKind::Anti);
                joined(input, both, &mut columns);
            }
            Self::AsOf(_) => joined(input, true, &mut columns),
        }
        Schema { columns }
    }
}

fn joined(input: &Schema, both: bool, columns: &mut Vec<ColumnSpec>) {
    for prefix in if both { &["l_", "r_"][..] } else { &["l_"] } {
        columns.extend(
            input
                .columns
                .iter()
                .map(|it| ColumnSpec { name: format!("{prefix}{}", it.name), kind: it.kind }),
        );
    }
}

impl Aggregate {
    /// The columns that it writes.
    pub fn output(self, input: &Schema, columns: &mut Vec<ColumnSpec>) {
        let of = |it: ColumnIx| input.columns.get(it.0).cloned();
        let spec = |word: &str, column: ColumnIx, kind: Option<ColumnKind>| {
            let column = of(column);
            let name = column.as_ref().map_or("?", |it| it.name.as_str());
            let kind = kind.or(column.as_ref().map(|it| it.kind)).unwrap_or(ColumnKind::Integer);
            ColumnSpec { name: format!("{word}({name})"), kind }
        };
        let integer = Some(ColumnKind::Integer);
        match self {
            Self::Count => {
                columns.push(ColumnSpec { name: "count".to_owned(), kind: ColumnKind::Integer });
            }
            Self::CountOf(it) => columns.push(spec("count", it, integer)),
            Self::Sum(it) => columns.push(spec("sum", it, integer)),
            Self::Min(it) => columns.push(spec("min", it, None)),
            Self::Max(it) => columns.push(spec("max", it, None)),
            Self::Avg(it) => {
                columns.push(spec("avg_sum", it, integer));
                columns.push(spec("avg_count", it, integer));
            }
        }
    }
}
