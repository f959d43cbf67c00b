//! The plan: a query and all its rules as plain data.
//!
//! Every rule that engines differ in is a named knob here, an enum or a span; an engine is a set of
//! values for these knobs ([`crate::profile`]), never a code path. Each knob is matched in exactly
//! one file, which its documentation names.
//!
//! Invariant: a plan is data only. [`check`] says what is wrong with one; nothing else judges plans.

pub mod check;
pub mod flow;
pub mod levels;
pub mod problem;
pub mod restore;

use crate::row::{ColumnIx, Schema};
use crate::time::{EventTime, Span};
use serde::{Deserialize, Serialize};

/// A whole query over one input.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// The columns of the input.
    pub schema: Schema,
    /// How event time is believed to be complete; `None` is a query without a watermark.
    pub watermark: Option<WatermarkPlan>,
    /// Stateless steps between the watermark and the operator, in order.
    pub lineage: Vec<LineageStep>,
    /// The operator; `None` is a stateless query, on which a watermark has no effect.
    pub operator: Option<WindowPlan>,
    /// What is written, and when.
    pub output: OutputMode,
    /// What kind of sink takes it; only [`check`] reads this.
    pub sink: Sink,
    /// When a step begins.
    pub trigger: Trigger,
    /// What goes beyond one input and one window aggregation; with it `operator` is `None` and
    /// `lineage` empty, and of `watermark` column and delay belong to the first mark.
    pub flow: Option<flow::Flow>,
}

/// Where the watermark comes from and when it counts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WatermarkPlan {
    /// The event-time column that it is computed from.
    pub column: ColumnIx,
    /// The allowance d: w = m - d. Not negative.
    pub delay: Span,
    /// Who computes m.
    pub generator: GeneratorPlan,
    /// When a new value counts.
    pub effective: Effective,
    /// What a wall clock may add.
    pub fallback: Option<Fallback>,
    /// What happens to times from the future.
    pub guard: Option<Guard>,
    /// The value before any row: [`EventTime::MIN`], or 0 as in Spark.
    pub initial: EventTime,
}

/// Who computes the candidate m. Matched in `watermark/generator.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum GeneratorPlan {
    /// One maximum over all partitions (Spark, Kafka Streams; semantics 2.1).
    GlobalMax,
    /// The minimum over the partitions' own maxima (Flink, Beam, Jet; semantics 2.2).
    PartitionMin {
        /// When silence takes a partition out of the minimum; `None` waits for ever.
        idle: Option<IdlePlan>,
    },
}

/// When a silent partition leaves the minimum, and how it returns. Matched in `watermark/idle.rs`
/// (timeout) and `watermark/combine.rs` (rejoin, all idle).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct IdlePlan {
    /// A partition is idle once it has been silent for strictly longer than this (semantics 14).
    pub timeout: Span,
    /// What becomes of one that returns behind the candidate.
    pub rejoin: Rejoin,
    /// What the candidate is when nobody is left in the minimum.
    pub all_idle: AllIdle,
}

/// How a partition that was idle counts again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Rejoin {
    /// At once: the watermark stands still until it has caught up.
    Hold,
    /// Only once its own maximum has reached the candidate (Flink's channels).
    CatchUp,
}

/// The candidate when every partition is idle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum AllIdle {
    /// The largest maximum that was seen.
    Flush,
    /// Stays where it is.
    Hold,
}

/// When a watermark takes effect. Matched in `watermark/effective.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Effective {
    /// After the very row that moved it (lag 0; the short founding text).
    Row,
    /// In the next batch, for lateness and eviction alike (lag 1; the long founding text).
    NextBatch,
    /// Eviction in the next batch, lateness in the one after it (lag 2; Spark 4).
    BatchAfterNext,
    /// At probes: rows are judged at once by what is in force, and only a probe moves it (Flink). In
    /// flows only.
    Probe,
}

/// A wall clock that moves the watermark (semantics 2.3): w is at least now - `behind`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Fallback {
    /// How far behind the wall clock.
    pub behind: Span,
    /// Whether always, or only while every partition is idle.
    pub always: bool,
}

/// A limit on event times ahead of the clock (semantics 2.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Guard {
    /// Times more than this ahead of the row's arrival are guarded.
    pub ahead: Span,
    /// What happens to them.
    pub action: GuardAction,
}

/// What happens to a row from the future. Matched in `watermark/guard.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum GuardAction {
    /// It goes to the dead letters and is not counted.
    Reject,
    /// It is counted but does not move the watermark.
    CountButNotAdvance,
    /// It is taken at its word, and may close every window.
    Accept,
}

/// A stateless step between watermark and operator. Only its effect on the column link matters.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum LineageStep {
    /// Renames a column; the link to the watermark holds.
    Rename {
        /// The old name.
        from: String,
        /// The new name.
        to: String,
    },
    /// Keeps only these columns; the link breaks for a column that is not kept.
    Project(Vec<String>),
    /// Computes a column anew under the same name or another; the link breaks for it.
    Compute(String),
}

/// A windowed aggregation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WindowPlan {
    /// The time column that windows are cut on, by its name after the lineage.
    pub time: String,
    /// The windows.
    pub window: WindowSpec,
    /// Grouping columns, any number, null being a value like others.
    pub keys: Vec<ColumnIx>,
    /// What is computed per window and key.
    pub aggregates: Vec<Aggregate>,
    /// Who is late.
    pub late: LateRule,
    /// What becomes of who is late.
    pub late_policy: LatePolicy,
}

/// Tumbling (slide = size) or sliding windows: starts are `k * slide + offset`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WindowSpec {
    /// Length of each window, positive.
    pub size: Span,
    /// Distance between starts, positive; larger than `size` leaves holes.
    pub slide: Span,
    /// Shift of the grid.
    pub offset: Span,
}

/// One aggregate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Aggregate {
    /// Rows.
    Count,
    /// Values that are not null.
    CountOf(ColumnIx),
    /// Sum of the values that are not null; null where there are none. 128 bits wide.
    Sum(ColumnIx),
    /// Smallest value that is not null.
    Min(ColumnIx),
    /// Largest value that is not null.
    Max(ColumnIx),
    /// Sum and count of the values that are not null.
    Avg(ColumnIx),
}

impl Aggregate {
    /// The column that it reads.
    pub const fn column(self) -> Option<ColumnIx> {
        match self {
            Self::Count => None,
            Self::CountOf(it) | Self::Sum(it) | Self::Min(it) | Self::Max(it) | Self::Avg(it) => {
                Some(it)
            }
        }
    }
}

/// Who is late (semantics 3). Matched in `late.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum LateRule {
    /// E: t < w (the founding texts).
    Event,
    /// E2: t <= w (Spark on a bare time column).
    EventInclusive,
    /// W: per window, end <= w (Spark and Flink on windows).
    WindowEnd,
    /// F: the row's slide frame starts before the watermark's (Jet, Arroyo).
    Frame,
}

/// What becomes of late rows. Either way each one is counted and recorded with its reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum LatePolicy {
    /// Recorded, its payload is let go.
    Drop,
    /// Recorded, and the row goes to the side output.
    SideOutput,
}

/// What is written (semantics 8). Matched in `output.rs` and `pipeline.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum OutputMode {
    /// Each (window, key) once, when it closes.
    Append,
    /// Each (window, key) that changed, at every trigger.
    Update,
    /// Everything, at every trigger; nothing is ever evicted and nothing is late.
    Complete,
}

/// What takes the output. Only `plan/check.rs` looks at it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Sink {
    /// Rows are only ever added (files, Delta append).
    Append,
    /// Rows replace earlier rows of the same key.
    Keyed,
    /// A log in which readers take the last row of a key.
    Log,
}

/// When a step begins (semantics 10). Matched in `trigger.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Trigger {
    /// Every row is a step.
    Row,
    /// The caller says where a batch ends.
    Batch,
    /// At the first tick at or after each multiple of this span since the start.
    Interval(Span),
    /// One batch of all that is there, then stop; nothing fires at the stop.
    Once,
    /// Batches of at most this many rows until all that is there is done, then stop.
    AvailableNow(u64),
}
