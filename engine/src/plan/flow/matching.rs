//! Stages that match rows with rows: dedup, interval and window joins, as-of joins.
//!
//! Invariant: data only.

use super::Filter;
use crate::plan::{LatePolicy, LateRule, WindowSpec};
use crate::row::ColumnIx;
use crate::time::{EventTime, Span};
use serde::{Deserialize, Serialize};

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
    /// All at one instant, whatever their times, and those made later at once: when evict >= this
    /// (Spark, within a delay behind a window: it takes the window's column for a number).
    At(EventTime),
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

/// Whose watermark judges and removes in a join. Matched in `flow/bounds.rs` and `plan/flow/link.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Sides {
    /// A row is judged by its own input's w and removed by the other's.
    Own,
    /// Both by the one W of the policy, where it speaks of the time of the other side.
    Combined,
    /// As `Combined`, and rows of a side are removed only where W speaks of them too. A side that keeps
    /// its rows for ever holds nothing back of what the join lets through, although rows that match
    /// them may then be late behind it; and a semi join takes the right rows of a pass first, so
    /// that left rows of it miss those that are evictable already (Spark, by a range).
    Both,
    /// As `Both`, but both are removed where W speaks of the time of either (Spark, where the time or
    /// its window is a key).
    Either,
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
