//! Which value judges and removes at which stage.
//!
//! The first stateful stage has the bounds of the step; behind it every stage sees what the one
//! before lets through: a join the least of w_L, w_R, w_R - b' and w_L + a' (the last two less the
//! grace where it counts for the expiry, and one less where a row stays at a bound at which it is late; a side
//! whose rows never leave counts as -inf, or under `both` and `either` not at all), a stage with allowed lateness l w - l, count and global windows nothing;
//! +inf always passes.
//!
//! Readings. b' and a' of a join are those by which its rows leave (`loosest`, `own_time`);
//! a join in windows lets through the start of the first window that it still holds. Before the first
//! pass the value that evicted last is the first W; a pass in which nothing leaves does not change it.
//! At the end of input every stage has +inf and judges nobody.
//!
//! Invariant: under `Previous` a later stage judges by what evicted before it in the pass before.
//! Source: semantics 9.

use super::join::{Reach, window_start};
use super::links::Acts;
use super::source::Values;
use plimsoll_engine::plan::LateRule;
use plimsoll_engine::plan::flow::{Chain, Flow, Sides, StagePlan};
use plimsoll_engine::time::EventTime;

/// What judges and what removes, per side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bounds {
    pub(super) late: [EventTime; 2],
    pub(super) evict: [EventTime; 2],
}

/// The values of a pass, for the first stateful stage to choose from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Given {
    pub(super) late: Values,
    pub(super) evict: Values,
    /// Whether anything may leave: nothing does between two probes.
    pub(super) leaves: bool,
}

impl Given {
    /// Nobody is judged and nothing goes.
    pub(super) const NOBODY: Self =
        Self { late: Values::NOTHING, evict: Values::NOTHING, leaves: false };

    /// The end of input: nobody is judged and everything goes.
    pub(super) const END: Self = {
        let (least, most) = (EventTime::MIN, EventTime::MAX);
        Self {
            late: Values { all: least, own: [least; 2] },
            evict: Values { all: most, own: [most; 2] },
            leaves: true,
        }
    };
}

/// The bounds of all stages, with what evicted in the pass before.
#[derive(Debug)]
pub(super) struct Chained {
    evicted: Vec<[EventTime; 2]>,
    acts: Vec<Acts>,
}

impl Chained {
    pub(super) fn new(flow: &Flow, acts: Vec<Acts>, initial: Values) -> Self {
        let bounds = along(flow, &acts, initial);
        Self { evicted: bounds, acts }
    }

    /// As before the first pass.
    pub(super) fn begin_anew(&mut self, flow: &Flow, initial: Values) {
        self.evicted = along(flow, &self.acts, initial);
    }

    /// The bounds of every stage in this pass.
    pub(super) fn pass(&mut self, flow: &Flow, given: Given, ends: bool) -> Vec<Bounds> {
        if ends {
            let (late, evict) = ([EventTime::MIN; 2], [EventTime::MAX; 2]);
            self.evicted = vec![evict; flow.stages.len()];
            return vec![Bounds { late, evict }; flow.stages.len()];
        }
        let evicts = along(flow, &self.acts, given.evict);
        let lates = match flow.chain {
            _ if given == Given::NOBODY => along(flow, &self.acts, given.late),
            Chain::Same => along(flow, &self.acts, given.late),
            Chain::Previous => {
                let first = along(flow, &self.acts, given.late);
                let mut late = self.evicted.clone();
                let upto = first_stateful(flow).map_or(flow.stages.len(), |it| it + 1);
                late[..upto].copy_from_slice(&first[..upto]);
                late
            }
        };
        // Of a join with a watermark per side, a row is judged by its own and removed by the other's.
        let own = per_side(flow);
        let bounds = lates.iter().zip(&evicts).enumerate().map(|(at, (late, evict))| {
            let evict = if own && at == 0 { [evict[1], evict[0]] } else { *evict };
            Bounds { late: *late, evict }
        });
        let bounds = bounds.collect();
        if given.leaves {
            self.evicted = evicts;
        }
        bounds
    }
}

fn first_stateful(flow: &Flow) -> Option<usize> {
    flow.stages.iter().position(|it| !it.is_stateless())
}

/// Whether the sides of the first stage have values of their own.
pub(super) fn per_side(flow: &Flow) -> bool {
    sides(flow) == Sides::Own
}

fn sides(flow: &Flow) -> Sides {
    match flow.stages.first() {
        Some(StagePlan::Join(it)) => it.sides,
        _ => Sides::Combined,
    }
}

/// What reaches each stage of one value: w_L and w_R at a join, twice the same elsewhere.
fn along(flow: &Flow, acts: &[Acts], value: Values) -> Vec<[EventTime; 2]> {
    let mut now = match sides(flow) {
        Sides::Own => value.own,
        Sides::Combined | Sides::Both | Sides::Either => [value.all; 2],
    };
    let mut all = Vec::with_capacity(flow.stages.len());
    for (stage, acts) in flow.stages.iter().zip(acts) {
        all.push(now);
        now = [through(stage, acts.removes, now); 2];
    }
    all
}

/// What a stage lets through.
fn through(stage: &StagePlan, removes: [bool; 2], [left, right]: [EventTime; 2]) -> EventTime {
    let least = left.min(right);
    match stage {
        StagePlan::Join(it) => {
            if least == EventTime::MAX {
                return least;
            }
            if it.window.is_some() {
                return window_start(it, least).unwrap_or(least);
            }
            let reach = Reach::of(it);
            let stays = it.late == LateRule::EventInclusive && !it.expiry.at_bound;
            let grace = if it.expiry.with_grace { it.grace.0 } else { 0 };
            let more = i128::from(stays) + i128::from(grace);
            let unbounded = matches!(it.sides, Sides::Both | Sides::Either);
            let less = |side: usize, w: EventTime, by: Option<i128>| match by {
                Some(by) if removes[side] || !unbounded => back(w, by + more),
                _ if unbounded => EventTime::MAX,
                _ => EventTime::MIN,
            };
            back(least, it.grace.0.into()).min(less(0, right, reach.upper)).min(less(
                1,
                left,
                reach.lower.map(|it| -it),
            ))
        }
        StagePlan::Window(it) => least - it.lateness,
        StagePlan::Session(it) => least - it.lateness,
        StagePlan::Count(_) | StagePlan::Global(_) if least < EventTime::MAX => EventTime::MIN,
        _ => least,
    }
}

/// w - by, where the ends stick.
fn back(w: EventTime, by: i128) -> EventTime {
    if !w.is_finite() {
        return w;
    }
    let (least, most) = (i128::from(i64::MIN) + 1, i128::from(i64::MAX) - 1);
    EventTime((i128::from(w.0) - by).clamp(least, most) as i64)
}
