//! Who meets whom in a join, as statements about cells: for the oracle and for checks of joins.
//!
//! Reading (`pairs_are_complete`): no admitted row can have a partner that has left where a row leaves
//! strictly after the last partner that is not late. So the grace must count for the expiry too, and
//! leaving at the bound asks for `EventInclusive`; in windows the grace counts unless the window's end
//! judges. `own_time` and `loosest` only keep rows longer.
//!
//! Rows without a time meet whoever the key allows where nothing is asked of times, and one another where
//! the time is a key (`either`).
//!
//! Invariant: functions of the plan and of cells alone. Source: semantics 6.

use super::join::{Reach, leaves_window, within};
use plimsoll_engine::plan::LateRule;
use plimsoll_engine::plan::flow::{JoinKind, JoinPlan, Sides};
use plimsoll_engine::time::EventTime;

type Cells = [Option<i64>];

/// The time of a row of this side.
pub fn time(plan: &JoinPlan, side: usize, cells: &Cells) -> Option<EventTime> {
    cells[plan.time[side].0].map(EventTime)
}

/// Whether a left and a right row are a pair.
pub fn meets(plan: &JoinPlan, left: &Cells, right: &Cells) -> bool {
    let asks = plan.window.is_some()
        || plan.ranges.iter().any(|it| it.lower.is_some() || it.upper.is_some());
    let timely = match (time(plan, 0, left), time(plan, 1, right)) {
        (Some(l), Some(r)) => within(plan, l, r),
        (None, None) if plan.window.is_none() && plan.sides == Sides::Either => true,
        _ => !asks,
    };
    let equal = |a: Option<i64>, b: Option<i64>| a.is_some() && a == b;
    plan.on.iter().all(|(a, b)| equal(left[a.0], right[b.0]))
        && passes_alone(plan, 0, left)
        && passes_alone(plan, 1, right)
        && timely
}

/// Whether a row meets the condition on its side alone.
pub fn passes_alone(plan: &JoinPlan, side: usize, cells: &Cells) -> bool {
    plan.only_if[side].is_none_or(|it| it.keeps(cells[it.column.0]))
}

/// Whether a row of this side without a partner is written.
pub const fn owed(plan: &JoinPlan, side: usize) -> bool {
    match plan.kind {
        JoinKind::Inner | JoinKind::Semi => false,
        JoinKind::Left | JoinKind::Anti => side == 0,
        JoinKind::Right => side == 1,
        JoinKind::Full => true,
    }
}

/// Whether a stored row of this side leaves at this value. Without a time only +inf removes it.
pub fn leaves(plan: &JoinPlan, side: usize, cells: &Cells, w: EventTime) -> bool {
    let by_time = |it| match plan.window {
        Some(_) => leaves_window(plan, it, w),
        None => Reach::of(plan).leaves(plan, side, it, w),
    };
    w == EventTime::MAX || time(plan, side, cells).is_some_and(by_time)
}

/// The value behind which a row of this side leaves; `None` where none does.
pub fn due(plan: &JoinPlan, side: usize, cells: &Cells) -> Option<EventTime> {
    Reach::of(plan).due(plan, side, time(plan, side, cells)?)
}

/// Whether every admitted pair comes out, whatever the watermarks.
pub fn pairs_are_complete(plan: &JoinPlan) -> bool {
    let no_grace = plan.grace.0 == 0;
    let graceful = no_grace || plan.expiry.with_grace;
    match (plan.late, plan.window) {
        (LateRule::WindowEnd, Some(_)) => true,
        (LateRule::WindowEnd, None) | (LateRule::Frame, _) => false,
        (LateRule::Event | LateRule::EventInclusive, Some(_)) => graceful,
        (LateRule::Event, None) => graceful && !plan.expiry.at_bound,
        (LateRule::EventInclusive, None) => graceful,
    }
}
