//! The zoo: planted bugs, modelled on real ones, to test the harness.
//!
//! The engine knows none of them. A plant is a *rule* that the engine runs and the oracle does not hold
//! ([`rules`]), a *fault* at the seam that loses, repeats or changes what passes ([`partitions`],
//! [`rows`], [`closing`], [`numbers`]), or a *restart* that forgets ([`restart`]); [`flow`] has those of
//! flows. Each names the checks that may kill it, all of them switched on; [`proof`] names for each check
//! the plants that it must see with all others switched off.
//!
//! Invariant: a plant that its world does not touch behaves as the engine does.

pub mod closing;
pub mod fault;
pub mod flow;
pub mod numbers;
pub mod partitions;
pub mod proof;
pub mod restart;
pub mod rows;
pub mod rules;

use crate::invariant::Violation;
use crate::system::System;
use crate::system::engine::Engine;
use crate::trace::Trace;
use crate::verdict::{Options, alone};
use fault::{Fault, Faulty};
use plimsoll_engine::output::Output;
use plimsoll_engine::plan::Plan;
use plimsoll_engine::plan::check::CheckedPlan;
use plimsoll_engine::plan::flow::Flow;
use plimsoll_engine::plan::problem::Problem;
use plimsoll_engine::snapshot::RestoreRules;

/// One planted bug.
#[derive(Clone, Copy, Debug)]
pub struct Plant {
    /// The name that `--plant` takes.
    pub name: &'static str,
    /// The public bugs that it is modelled on, as `ENGINE-number`; empty where it is our own.
    pub modelled_on: &'static [&'static str],
    /// What is wrong, in one sentence.
    pub what: &'static str,
    /// The checks that must kill it: at least one of these, by its number.
    pub killed_by: &'static [&'static str],
    /// How it is built.
    pub build: Build,
}

/// How a plant is built.
#[derive(Clone, Copy, Debug)]
pub enum Build {
    /// The engine runs under a changed plan.
    Rule(fn(&mut Plan)),
    /// Something at the seam; the argument is the seed of the hasher.
    Fault(fn(u64) -> Box<dyn Fault>),
    /// The restart forgets.
    Restart(RestoreRules),
    /// The engine runs under a changed flow.
    Flow(fn(&mut Flow)),
    /// What comes out of a flow is changed; the number is the plant's own, 0 at first.
    Emissions(fn(&Engine, &mut Output, &mut u64)),
}

/// The plant for 1 seed in 100, which proves that the alarm works. Not one of [`all`].
pub const CANARY: Plant = Plant {
    name: "canary",
    modelled_on: &[],
    what: "one window in some thousands is not written, so that about one seed in a hundred fails",
    killed_by: &["I3", "I41"],
    build: Build::Fault(closing::canary),
};

/// Every plant, in the order of reports.
pub fn all() -> impl Iterator<Item = &'static Plant> {
    [rules::PLANTS, partitions::PLANTS, rows::PLANTS, closing::PLANTS, numbers::PLANTS]
        .into_iter()
        .chain([restart::PLANTS, flow::PLANTS])
        .flatten()
}

/// The plant of this name, the canary included.
pub fn named(name: &str) -> Option<&'static Plant> {
    all().chain([&CANARY]).find(|it| it.name == name)
}

impl Plant {
    /// The faulty system for a trace.
    ///
    /// # Errors
    /// Everything that is wrong with the trace's plan.
    pub fn system(&self, trace: &Trace, hash_seed: u64) -> Result<Box<dyn System>, Vec<Problem>> {
        let engine = Engine::new(trace, hash_seed)?;
        Ok(match self.build {
            Build::Fault(fault) => Box::new(Faulty::new(engine, fault(hash_seed))),
            Build::Restart(rules) => Box::new(engine.with_rules(rules)),
            Build::Emissions(change) => {
                Box::new(Faulty::new(engine, Box::new(flow::Emitted::new(change))))
            }
            Build::Rule(change) => under(trace, hash_seed, change, engine),
            Build::Flow(change) => {
                under(trace, hash_seed, |plan| flow::changed(plan, change), engine)
            }
        })
    }

    /// How it breaks the check of this name in a trace, all other checks switched off. `None` where it
    /// does not, and where the trace's plan is refused.
    pub fn breaks_alone(&self, check: &str, trace: &Trace, options: &Options) -> Option<Violation> {
        self.system(trace, options.hash_seed).ok()?;
        let make = |hash_seed| match self.system(trace, hash_seed) {
            Ok(system) => system,
            Err(_) => unreachable!("the plan was accepted a moment ago"),
        };
        alone(check, trace, &make, options)
    }

    /// Whether it can show itself only in a plan with a flow.
    pub const fn is_of_flows(&self) -> bool {
        matches!(self.build, Build::Flow(_) | Build::Emissions(_))
    }

    /// Whether it does no wrong but stands still, so that only liveness sees it. Of such a plant every
    /// seed asks for liveness; of the others one in four, as in a sweep.
    pub fn only_stands_still(&self) -> bool {
        self.killed_by.iter().all(|it| it.starts_with('L'))
    }

    /// The embedded world in which it is looked for, where that is not all of them: partitions wait for
    /// others in one of them only, and who only stands still shows in few continuations of it.
    pub fn home(&self) -> Option<&'static str> {
        (self.is_of_flows() && self.only_stands_still()).then_some("aligned_sources")
    }

    /// Whether a violation of this name counts as its death by a check that it names.
    pub fn is_killed_by(&self, violation: &str) -> bool {
        let number = violation.split(' ').next().unwrap_or_default();
        self.killed_by.contains(&number)
    }
}

/// The engine under a changed plan; where that makes no sense, the plant does not touch the world.
fn under(
    trace: &Trace,
    hash_seed: u64,
    change: impl FnOnce(&mut Plan),
    engine: Engine,
) -> Box<dyn System> {
    let mut plan = trace.plan.clone();
    change(&mut plan);
    match CheckedPlan::new(plan) {
        Ok((plan, _)) => Box::new(Engine::with_plan(plan, trace.clock, hash_seed)),
        Err(_) => Box::new(engine),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_every_plant_names_its_checks() {
        let names: BTreeSet<_> = all().map(|it| it.name).collect();
        assert_eq!(names.len(), all().count());
        assert!(all().all(|it| !it.killed_by.is_empty()));
        assert!(12 <= names.len());
    }
}
