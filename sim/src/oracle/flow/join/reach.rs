//! How far apart two rows of a join may be, and so when one has nobody left to meet.
//!
//! On whole milliseconds `a < x` is `a + 1 <= x`, so every range is closed; of several the tightest
//! decides who meets, and the tightest or the loosest who leaves. Distances are 128 bits wide.
//!
//! Invariant: under the exact rule a row leaves no earlier than the last that it could meet is late.
//! Source: semantics 6.

use crate::oracle::windows::Grid;
use plimsoll_engine::plan::LateRule;
use plimsoll_engine::plan::flow::{JoinPlan, Range};
use plimsoll_engine::time::{EventTime, Span};

/// The bounds by which rows leave: r.t - l.t is in [lower, upper], where there is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::oracle::flow) struct Reach {
    pub(in crate::oracle::flow) lower: Option<i128>,
    pub(in crate::oracle::flow) upper: Option<i128>,
}

fn lower(it: &Range) -> Option<i128> {
    it.lower.map(|it| i128::from(it.at.0) + i128::from(it.open))
}

fn upper(it: &Range) -> Option<i128> {
    it.upper.map(|it| i128::from(it.at.0) - i128::from(it.open))
}

/// Whether the times allow a pair.
pub(in crate::oracle::flow) fn within(plan: &JoinPlan, left: EventTime, right: EventTime) -> bool {
    let apart = i128::from(right.0) - i128::from(left.0);
    let fits = |it: &Range| {
        lower(it).is_none_or(|it| it <= apart) && upper(it).is_none_or(|it| apart <= it)
    };
    plan.ranges.iter().all(fits) && window_end(plan, left) == window_end(plan, right)
}

/// The end of a time's window, where the join has windows.
pub(super) fn window_end(plan: &JoinPlan, time: EventTime) -> Option<EventTime> {
    let grid = Grid::new(plan.window?);
    Some(EventTime(grid.end(grid.starts(time).first)))
}

/// How long after its end a window's rows stay.
fn window_grace(plan: &JoinPlan) -> Span {
    let counts = plan.expiry.with_grace && plan.late != LateRule::WindowEnd;
    if counts { plan.grace } else { Span::ZERO }
}

/// Whether a row in a window leaves at w.
pub(in crate::oracle::flow) fn leaves_window(
    plan: &JoinPlan,
    time: EventTime,
    w: EventTime,
) -> bool {
    window_end(plan, time).is_some_and(|it| it + window_grace(plan) <= w)
}

/// The least time that a row in windows can have behind w: the start of the first window that is
/// still open, for a row that may be behind w by the grace too.
pub(in crate::oracle::flow) fn window_start(plan: &JoinPlan, w: EventTime) -> Option<EventTime> {
    let window = plan.window.filter(|_| w.is_finite())?;
    let behind = if plan.late == LateRule::WindowEnd { Span::ZERO } else { plan.grace };
    let start = Grid::new(window).frame(w - behind);
    Some(EventTime(i64::try_from(start).unwrap_or(i64::MIN + 1)))
}

impl Reach {
    pub(in crate::oracle::flow) fn of(plan: &JoinPlan) -> Self {
        let own = |it: i128| if plan.expiry.own_time { it.max(0) } else { it };
        let lowers = plan.ranges.iter().filter_map(lower);
        let uppers = plan.ranges.iter().filter_map(upper);
        let (lower, upper) = if plan.expiry.loosest {
            (lowers.min(), uppers.max())
        } else {
            (lowers.max(), uppers.min())
        };
        Self { lower: lower.map(|it| -own(-it)), upper: upper.map(own) }
    }

    /// How far behind a row of this side its last possible partner may be.
    fn after(self, plan: &JoinPlan, side: usize) -> Option<i128> {
        let by = if side == 0 { self.upper? } else { -self.lower? };
        Some(by + if plan.expiry.with_grace { i128::from(plan.grace.0) } else { 0 })
    }

    /// Whether a row of this side and time leaves at w.
    pub(in crate::oracle::flow) fn leaves(
        self,
        plan: &JoinPlan,
        side: usize,
        time: EventTime,
        w: EventTime,
    ) -> bool {
        let Some(by) = self.after(plan, side).filter(|_| w != EventTime::MIN) else { return false };
        let last = i128::from(time.0) + by;
        if plan.expiry.at_bound { last <= w.0.into() } else { last < w.0.into() }
    }

    /// The value at which it could leave.
    pub(in crate::oracle::flow) fn due(
        self,
        plan: &JoinPlan,
        side: usize,
        time: EventTime,
    ) -> Option<EventTime> {
        if let Some(end) = window_end(plan, time) {
            return Some(end + window_grace(plan));
        }
        let last = i128::from(time.0) + self.after(plan, side)?;
        Some(EventTime(last.clamp(i64::MIN.into(), i64::MAX.into()) as i64))
    }

    /// Whether rows of a side ever leave.
    pub(super) const fn expires(self, plan: &JoinPlan, side: usize) -> bool {
        let bound = if side == 0 { self.upper } else { self.lower };
        plan.window.is_some() || bound.is_some()
    }
}
