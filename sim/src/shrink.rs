//! The shrinker: from a trace that breaks an invariant to a small one that breaks the same.
//!
//! It believes that a person understands five lines and not five hundred, and that a smaller trace
//! which breaks *another* invariant explains nothing: only the same name counts, and slips to other
//! names are counted. Passes run in rounds, coarse ones first: runs of items, partitions, rules of
//! the plan, values, then all times at once, each integer, pairs of times, and last the order of
//! neighbours. Lowering all times together, two times together and merging ticks are what make
//! failures at a boundary small; deleting alone leaves four-digit numbers behind.
//!
//! A candidate is tried only where it is simpler in one fixed order ([`Simplicity`]) in which nothing
//! can descend for ever, so shrinking ends by itself; a limit on executions ends it sooner. Nothing
//! is drawn and no clock is read: the same trace and the same predicate give the same result.
//!
//! Invariant: the result fails under the same name and is at most as complex as what was given; unless
//! the limit was reached, no single item can be taken away from it.

mod cells;
mod fingerprint;
mod flow;
mod integers;
mod items;
mod order;
mod pairs;
mod partitions;
pub mod place;
mod plan;
mod search;
mod simplicity;
mod times;

use crate::invariant::Violation;
use crate::trace::Trace;
use search::Search;
pub use simplicity::Simplicity;

/// How much work shrinking may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Most runs of the predicate.
    pub executions: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { executions: 4_000 }
    }
}

/// Where shrinking stands; handed out after every execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Runs of the predicate so far.
    pub executions: u64,
    /// Most that there will be.
    pub limit: u64,
    /// Items of the smallest failing trace so far.
    pub items: usize,
    /// What is being tried.
    pub pass: &'static str,
}

/// What one pass did, over all rounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PassReport {
    /// Its name.
    pub name: &'static str,
    /// Candidates run.
    pub tried: u64,
    /// Candidates that failed in the same way and were kept.
    pub kept: u64,
}

/// The result of shrinking.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The smallest trace found.
    pub trace: Trace,
    /// How it fails.
    pub violation: Violation,
    /// Runs of the predicate.
    pub executions: u64,
    /// What each pass did.
    pub passes: Vec<PassReport>,
    /// Candidates that failed under another name and were refused, by name.
    pub slipped: Vec<(&'static str, u64)>,
    /// Whether it was shown that no single item can be taken away.
    pub minimal: bool,
}

/// A simpler trace, made only when it is asked for.
type Edit<'t> = Box<dyn FnOnce() -> Trace + 't>;
/// The one-step edits of a trace, best first.
type Edits<'t> = Box<dyn Iterator<Item = Edit<'t>> + 't>;

/// One family of edits, and how a search goes through them.
struct Pass {
    name: &'static str,
    edits: for<'t> fn(&'t Trace) -> Edits<'t>,
    run: fn(&mut Search<'_>),
}

/// All passes, in the order of a round.
const PASSES: [&Pass; 12] = [
    &items::TAIL,
    &items::GROUPS,
    &items::RUNS,
    &items::TICKS,
    &plan::PASS,
    &flow::PASS,
    &partitions::PASS,
    &cells::PASS,
    &times::PASS,
    &integers::PASS,
    &pairs::PASS,
    &order::PASS,
];

/// Shrinks a trace. `fails` says which invariant a trace breaks, and at which item. `None` where
/// the trace does not fail to begin with.
pub fn shrink(
    trace: &Trace,
    fails: &mut dyn FnMut(&Trace) -> Option<Violation>,
    limits: Limits,
    progress: &mut dyn FnMut(Progress),
) -> Option<Shrunk> {
    let mut search = Search::begin(trace, fails, limits, progress)?;
    let mut minimal = false;
    while !search.spent() {
        let before = search.kept();
        for pass in PASSES {
            search.enter(pass.name);
            (pass.run)(&mut search);
        }
        if search.kept() == before {
            search.enter("minimality");
            minimal = items::cannot_lose_one(&mut search);
            if search.kept() == before {
                break;
            }
        }
    }
    Some(search.finish(minimal))
}

/// The traces that are one step simpler, best first: for drivers that have a loop of their own, such
/// as the value trees of property tests. Each of them is simpler in the order of [`Simplicity`], so
/// such a loop ends as well.
pub fn candidates(trace: &Trace) -> impl Iterator<Item = Trace> + '_ {
    let now = Simplicity::of(trace);
    let edits = PASSES.iter().flat_map(|pass| (pass.edits)(trace));
    edits.map(|edit| edit()).filter(move |it| Simplicity::of(it) < now)
}

#[cfg(test)]
mod tests;
