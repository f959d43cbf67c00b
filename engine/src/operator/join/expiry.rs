//! When a stored row of a join leaves, and what a join lets through.
//!
//! A left row l can still meet a right one that is legal, r.t >= w, iff l.t + b' >= w; so it leaves
//! when l.t + b' < w, a right row when r.t - a' < w, with w the watermark of the *other* side, a
//! grace put on top. In a window join a row leaves when its window ends. A side without a bound keeps
//! its rows until its watermark is infinite.
//!
//! A grace counts from a row's time, not from a window's end: where windows judge who is late
//! (`WindowEnd`), it counts nowhere; else it is put on a window's end too, or pairs were lost.
//!
//! Invariant: rows leave in the order of their times. Source: semantics section 6, spark-rules 5,
//! flink-rules 7.

use crate::late;
use crate::operator::join::range::Bounds;
use crate::plan::flow::{JoinPlan, Sides};
use crate::plan::{LateRule, WindowSpec};
use crate::time::{EventTime, Span};
use crate::window::Window;
use crate::window::assign::Assigner;
use serde::{Deserialize, Serialize};

/// When rows of either side leave.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Leaving {
    /// How long after its time a row of each side may still be met, where there is no window.
    after: [Option<Span>; 2],
    /// Whether a row leaves at its bound already, not only behind it.
    at_bound: bool,
    /// The window that ends it instead.
    window: Option<WindowSpec>,
    /// How far behind the watermark rows may be.
    grace: Span,
    /// What of that is put on top of a bound.
    waited: Span,
    /// How much less is let through of a bound at which rows still stay, where a value is one that is
    /// late itself (`EventInclusive`): the next stage must not take what stays for late.
    short: Span,
    /// Known from the plan: whether a side without a bound holds nothing back.
    #[serde(skip)]
    unbounded_passes: bool,
}

/// The window of a tumbling grid that holds a time.
pub(crate) fn window_of(spec: WindowSpec, time: EventTime) -> Window {
    let grid = Assigner::new(spec);
    grid.window_from(grid.frame(time))
}

impl Leaving {
    /// As a plan says.
    pub(crate) fn new(plan: &JoinPlan) -> Self {
        let it = plan.expiry;
        let of = if it.loosest { Bounds::loosest } else { Bounds::tightest };
        let Bounds { lower, upper } = of(&plan.ranges);
        let own = |after: Span| if it.own_time { after.max(Span::ZERO) } else { after };
        let grace = late::grace(plan.late, plan.grace);
        let waited = if it.with_grace { grace } else { Span::ZERO };
        let with = |after| own(after) + waited;
        let at_bound = it.at_bound || plan.window.is_some();
        let short = plan.late == LateRule::EventInclusive && !at_bound;
        Self {
            after: [upper.map(with), lower.map(|it| with(Span::ZERO - it))],
            at_bound,
            short: if short { Span(1) } else { Span::ZERO },
            window: plan.window,
            grace,
            waited,
            unbounded_passes: matches!(plan.sides, Sides::Both | Sides::Either),
        }
    }

    /// Whether a watermark ever removes rows of a side.
    pub(crate) const fn ever(&self, side: usize) -> bool {
        self.window.is_some() || self.after[side].is_some()
    }

    /// The bound of a row of `side`; none: it stays.
    fn bound(&self, side: usize, time: EventTime) -> Option<EventTime> {
        match self.window {
            Some(spec) => Some(window_of(spec, time).end + self.waited),
            None => self.after[side].map(|it| time + it),
        }
    }

    /// Whether a row of `side` leaves at `evict`.
    pub(crate) fn gone(&self, side: usize, time: EventTime, evict: EventTime) -> bool {
        self.bound(side, time).map_or(evict == EventTime::MAX, |it| {
            if self.at_bound { it <= evict } else { it < evict }
        })
    }

    /// Whether nobody remembers it either.
    pub(crate) fn forgotten(
        &self,
        side: usize,
        time: EventTime,
        hindsight: Span,
        evict: EventTime,
    ) -> bool {
        self.bound(side, time).is_none_or(|it| it + hindsight <= evict)
    }

    /// What is let through of the watermarks of both inputs: min(w_L, w_R, w_R - b', w_L + a'), the
    /// grace taken off. With a window, the start of the window that holds the smaller one: rows that
    /// still wait or may still come are in windows that end after it. Either way it is sound for
    /// the time of what is written and for the time columns of both sides. A row stays while its
    /// bound is not passed, l.t >= w_R - b'; where t <= w is late, what is let through is one less
    /// (`chained_join_then_window`).
    ///
    /// A side without a bound may still match whatever is stored, so it lets nothing through, unless
    /// it is said to hold nothing back ([`Sides::Both`]).
    pub(crate) fn passes(&self, watermarks: [EventTime; 2], removes: [bool; 2]) -> EventTime {
        let [left, right] = watermarks;
        let least = left.min(right);
        if let Some(spec) = self.window {
            let open = least - self.grace;
            return if open.is_finite() { window_of(spec, open).start } else { open };
        }
        let stored = |other: EventTime, side: usize| match self.after[side] {
            Some(_) if self.unbounded_passes && !removes[side] => EventTime::MAX,
            Some(it) => other - it - self.short,
            None if self.unbounded_passes || least == EventTime::MAX => EventTime::MAX,
            None => EventTime::MIN,
        };
        (least - self.grace).min(stored(right, 0)).min(stored(left, 1))
    }
}
