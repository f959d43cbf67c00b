//! Bounds: which value of the watermark judges and removes at which stage of a pass.
//!
//! The first stage has the values that the schedule gives (semantics 2.1); each later one sees them
//! as its predecessor lets them through. What a stage hands to the next in a pass was removed with
//! this pass's value, so the next judges it by what removed in the pass before (`Previous`): nothing
//! is late between stages (semantics 9: 0 of 4,000 against 3,685).
//!
//! Every value comes in two *lines*, for the two sides of a join: with `Sides::Combined` both are W,
//! with `Sides::Own` they are the sides' own watermarks, and a row is removed by the line of the other
//! side (semantics 6).
//!
//! A line falls where a restart brings W back and not what a side has seen; what removed last falls with
//! it, and so does what the next stage judges by.
//!
//! Invariant: the bounds of a stage never fall but so; else late <= evict of the same pass.

use crate::late::InForce;
use crate::plan::Effective;
use crate::plan::flow::{Chain, Flow, Sides, StagePlan};
use crate::time::EventTime;
use crate::watermark::effective::Schedule;
use serde::{Deserialize, Serialize};

/// One value per side.
pub type Lines = [EventTime; 2];

/// The bounds of a flow, with what they remember.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bounds {
    chain: Chain,
    own_sides: bool,
    pub(super) state: BoundsState,
}

/// What a restart must bring back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BoundsState {
    lines: [Schedule; 2],
    /// What removed in the pass before, at the first stage.
    removed: Lines,
}

/// What a pass works with at the first stage.
#[derive(Clone, Copy, Debug)]
pub struct PassBounds {
    /// What judges rows of each side, with where it comes from.
    pub late: [InForce; 2],
    /// What removes, by line.
    pub evict: [InForce; 2],
}

impl Bounds {
    /// Removes nothing: nothing leaves between two probes.
    pub const NOTHING: [InForce; 2] = [InForce::initial(EventTime::MIN); 2];

    /// Before any step. `own` are the first values of the two sides, `all` that of the policy.
    pub fn new(flow: &Flow, effective: Effective, own: [InForce; 2], all: InForce) -> Self {
        let own_sides = matches!(
            flow.stages.first(),
            Some(StagePlan::Join(it)) if it.sides == Sides::Own
        );
        let first = if own_sides { own } else { [all; 2] };
        Self {
            chain: flow.chain,
            own_sides,
            state: BoundsState {
                lines: first.map(|it| Schedule::new(effective, it)),
                removed: first.map(|it| it.watermark),
            },
        }
    }

    /// Whether the two lines are the sides' own watermarks.
    pub const fn own_sides(&self) -> bool {
        self.own_sides
    }

    /// What judges rows of the first side now.
    #[inline]
    pub const fn judging(&self) -> EventTime {
        self.state.lines[0].late().watermark
    }

    /// What a step that begins now works with.
    #[inline]
    pub fn now(&self) -> PassBounds {
        PassBounds {
            late: [0, 1].map(|it| self.state.lines[it].late()),
            evict: [0, 1].map(|it| self.state.lines[it].evict()),
        }
    }

    /// The lines as they are in force after the last evaluation, where that counts at once.
    pub fn raise(&mut self, lines: [InForce; 2], step: u64) {
        for (schedule, value) in self.state.lines.iter_mut().zip(lines) {
            schedule.advance(value, step);
        }
    }

    /// The lines as they were: an evaluation has not moved them.
    pub fn hold(&mut self) {
        self.state.lines.iter_mut().for_each(Schedule::hold);
    }

    /// By what the second and later stages judge in the pass that begins now, before their
    /// predecessors let it through; `late` is what judges at the first.
    pub const fn chained(&self, late: Lines) -> Lines {
        match self.chain {
            Chain::Previous => self.state.removed,
            Chain::Same => late,
        }
    }

    /// A pass is over that removed with these. Not for one with [`NOTHING`](Self::NOTHING).
    pub const fn removed(&mut self, evict: Lines) {
        self.state.removed = evict;
    }

    /// What removed last at the first stage.
    pub const fn last_removed(&self) -> Lines {
        self.state.removed
    }
}
