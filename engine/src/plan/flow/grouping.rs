//! Stages that group: fixed windows, sessions, count windows, global groups.
//!
//! Invariant: data only.

use crate::plan::{Aggregate, LatePolicy, LateRule, WindowSpec};
use crate::row::ColumnIx;
use crate::time::Span;
use serde::{Deserialize, Serialize};

/// Fixed windows as a stage: tumbling or sliding, with allowed lateness and panes.
///
/// A (window, key) exists from its first row until end + lateness <= evict. Panes (append mode only):
/// early ones while it is open, one on time in the pass in which end <= evict holds first and rows
/// came since it fired on time last (so once, unless a restart forgot the watermark), late ones at
/// the end of each pass in which a row was counted after end <= the late bound of that pass. A pass
/// writes one pane per (window, key): on time before late before early.
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
    /// What a row in the hole between two windows is.
    pub hole: HoleRule,
}

/// What a row in the hole between two windows is (slide > size). Matched in `operator/panes.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum HoleRule {
    /// In no window, whatever its time.
    NoWindow,
    /// Late where t + lateness < w, with no window lost; else in no window (Flink).
    LateBehind,
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
    /// t + gap + l <= w, before merging; in complete mode too (Spark).
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
