//! The query of a vector.
//!
//! Numbers are taken as they are: a window of length 0 or a negative delay is a query that can be
//! written down, and that Spark refuses. The same holds for the name of a policy and of a column.
//!
//! Invariant: every field of the format has a place here; nothing is defaulted that changes a meaning.

mod read;

pub(super) use read::{EXTRA_COLUMNS, policy, read};

/// A query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Query {
    /// What it reads, in order.
    pub inputs: Vec<Input>,
    /// What it does.
    pub operator: Operator,
    /// `append`, `update` or `complete`.
    pub output_mode: OutputMode,
    /// How the watermarks of the inputs become one.
    pub watermark_policy: Policy,
    /// Whether a micro-batch without input may run when the watermark moved.
    pub no_data_batches: bool,
    /// Partitions of the state.
    pub state_partitions: u64,
    /// Settings of this vector only, by the engine's own names.
    pub engine_conf: Vec<(String, String)>,
}

/// When results are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutputMode {
    /// Once, when final.
    Append,
    /// Whatever a batch changed.
    Update,
    /// Everything in each batch.
    Complete,
}

/// How the watermarks of the inputs become one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Policy {
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// A word that Spark does not know.
    Other(String),
}

/// An input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// The delay of its watermark; without one it has none.
    pub delay: Option<i64>,
    /// The column of the watermark.
    pub column: String,
    /// Further watermarks, placed after the first one, in order.
    pub further: Vec<WatermarkOn>,
    /// Columns beside `ts`, `k` and `v`.
    pub extra_columns: Vec<String>,
    /// A filter, written after the watermark.
    pub filter: Option<Filter>,
}

/// A watermark on a column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WatermarkOn {
    /// The column.
    pub column: String,
    /// Its delay.
    pub delay: i64,
}

/// A filter: the rows for which the comparison holds stay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filter {
    /// The column on the left.
    pub column: String,
    /// The comparison.
    pub op: Comparator,
    /// The value on the right.
    pub value: Against,
}

/// What a filter compares with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Against {
    /// A number, or a time in milliseconds.
    Number(i64),
    /// A text.
    Text(String),
}

/// A comparison of integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparator {
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
}

/// Comparisons as they are written.
pub const COMPARATORS: [(&str, Comparator); 6] = [
    ("<", Comparator::Lt),
    ("<=", Comparator::Le),
    (">", Comparator::Gt),
    (">=", Comparator::Ge),
    ("=", Comparator::Eq),
    ("!=", Comparator::Ne),
];

/// What a query does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operator {
    /// Aggregates by time window and keys.
    Window {
        /// The length of a window.
        size: i64,
        /// The distance of window starts.
        slide: Option<i64>,
        /// The shift of window starts.
        offset: i64,
        /// The columns beside the window.
        keys: Vec<String>,
        /// What is computed.
        aggs: Vec<Agg>,
        /// Where the time comes from.
        time: TimeColumn,
    },
    /// Aggregates by session and keys.
    Session {
        /// How long a session lasts after a row.
        gap: Gap,
        /// The columns beside the session.
        keys: Vec<String>,
        /// What is computed.
        aggs: Vec<Agg>,
    },
    /// Aggregates by keys only.
    Key {
        /// The columns.
        keys: Vec<String>,
        /// What is computed.
        aggs: Vec<Agg>,
    },
    /// Keeps the first row of each kind.
    Dedup {
        /// What makes rows equal.
        columns: Vec<String>,
        /// Whether a row is forgotten after the watermark's delay.
        within_watermark: bool,
    },
    /// Joins two inputs.
    Join(Join),
    /// Hands every row on.
    Passthrough,
    /// Keeps some columns.
    Project {
        /// Their names.
        columns: Vec<String>,
    },
    /// Sorts.
    Sort {
        /// By these columns.
        columns: Vec<String>,
    },
    /// One after another.
    Chain(Vec<Operator>),
}

impl Operator {
    /// The word of the format.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Window { .. } => "window_aggregate",
            Self::Session { .. } => "session_aggregate",
            Self::Key { .. } => "key_aggregate",
            Self::Dedup { .. } => "dedup",
            Self::Join(_) => "join",
            Self::Passthrough => "passthrough",
            Self::Project { .. } => "project",
            Self::Sort { .. } => "sort",
            Self::Chain(_) => "chain",
        }
    }
}

/// How long a session lasts after a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Gap {
    /// So long after each.
    Fixed(i64),
    /// As long as this column of the row says.
    Column(String),
}

/// A join.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Join {
    /// What becomes of rows without a partner.
    pub kind: JoinType,
    /// The key column, equal on both sides.
    pub on: Option<String>,
    /// The smallest right.ts - left.ts.
    pub lower: Option<i64>,
    /// The largest.
    pub upper: Option<i64>,
    /// Whether the lower bound itself is excluded.
    pub lower_open: bool,
    /// Whether the upper bound itself is excluded.
    pub upper_open: bool,
    /// Whether the event times must be equal.
    pub on_time: bool,
    /// Both sides must be in the same tumbling window of this length.
    pub window: Option<i64>,
    /// Whether the event-time columns stay beside the window.
    pub keep_times: bool,
    /// An extra condition as text.
    pub residual: Option<String>,
}

/// What becomes of rows without a partner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinType {
    /// Nothing.
    Inner,
    /// Left ones come out with nulls.
    LeftOuter,
    /// Right ones do.
    RightOuter,
    /// Both do.
    FullOuter,
    /// Left rows with a partner come out, once.
    LeftSemi,
    /// Left rows without a partner come out.
    LeftAnti,
}

/// An aggregate: a function, the column it reads, the name of the result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agg {
    /// The function.
    pub function: Function,
    /// The column; `count` without one counts rows.
    pub column: Option<String>,
    /// The name of the result.
    pub name: String,
}

/// Where the time of a window comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimeColumn {
    /// The column; without one the event time, or the upstream window.
    pub column: Option<String>,
    /// How it gets to the window.
    pub via: Via,
}

/// How a time column gets to the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Via {
    /// As it is.
    Direct,
    /// Under a new name.
    Rename,
    /// As a new column with the same value.
    Computed,
    /// As the window column of the operator before.
    Window,
    /// As the time of that window.
    WindowTime,
}

/// A function of an aggregate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Function {
    /// Rows, or values that are not null.
    Count,
    /// The sum.
    Sum,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The mean.
    Avg,
    /// Distinct values.
    CountDistinct,
}
