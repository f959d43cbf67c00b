//! A scenario: the recipe of a world. With a seed it makes a trace.
//!
//! A scenario is a TOML file: a name, what to look at, the plan (`[plan]`, the keys of a trace's plan
//! line), which of its knobs a seed may draw (`[vary]`), the size of the world (`[world]`), the models
//! that act in it (`[[model]]`), faults (`[faults]`) and how it ends (`[phases]`). An unknown key is a
//! mistake with its place, not a comment.
//!
//! A world has three phases. In the *chaos* phase models and faults do what they like. Then it
//! *heals*: every partition speaks again, with growing event times, until every window of the chaos
//! could be closed. Then it *drains*: the input ends, or each partition finishes, or it stays open.
//! [`World::chaos_len`] says where healing begins, which is where liveness checks start.
//!
//! Nothing draws while a trace runs. The same code makes a world from a seed and from the bytes of a
//! fuzzer ([`crate::entropy`]).
//!
//! Invariant: the same text and the same seed give the same trace, item for item.

mod bounds;
mod embedded;
mod heal;
mod layout;
pub(crate) mod reader;
mod recipe;
mod seed;
mod spread;
mod vary;

#[cfg(test)]
mod reach;
#[cfg(test)]
mod tests;

pub use embedded::{
    default_scenario, default_world, embedded, embedded_world, flow_scenario, flow_world,
    sweep_scenario, sweep_world, sweeps_a_flow,
};
pub use reader::ScenarioError;
pub use seed::{SeedError, parse_seed};

use crate::entropy::Entropy;
use crate::fault::Faults;
use crate::model::Placed;
use crate::trace::Trace;
use heal::Phases;
use plimsoll_engine::plan::Plan;
use recipe::Size;
use vary::Vary;

/// The recipe of a world.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scenario {
    /// What it is called.
    pub name: String,
    /// What to look at in it, in one sentence.
    pub look: String,
    plan: Plan,
    vary: Vary,
    size: Size,
    models: Vec<Placed>,
    faults: Faults,
    phases: Phases,
    hash: u64,
}

/// A world as data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct World {
    /// All of it.
    pub trace: Trace,
    /// How many items belong to the chaos phase; after them no fault strikes and every partition
    /// speaks again.
    pub chaos_len: usize,
}

impl Scenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// All mistakes, in the order of their places.
    pub fn parse(text: &str) -> Result<Self, Vec<ScenarioError>> {
        recipe::parse(text)
    }

    /// The trace of a seed.
    pub fn trace(&self, seed: u64) -> Trace {
        self.world(seed).trace
    }

    /// The trace that these draws make.
    pub fn trace_from(&self, entropy: &Entropy<'_>) -> Trace {
        self.world_from(entropy).trace
    }

    /// The world of a seed.
    pub fn world(&self, seed: u64) -> World {
        self.world_from(&Entropy::from_seed(seed))
    }

    /// The world that these draws make.
    pub fn world_from(&self, entropy: &Entropy<'_>) -> World {
        layout::world(self, entropy)
    }

    /// A hash of what the file says, whatever its spaces and comments: the same on every machine.
    pub const fn hash(&self) -> u64 {
        self.hash
    }
}
