//! Invariants: values with names that look at a run after every item.
//!
//! Each is gated by its stated precondition: a configuration that it does not cover *skips* it, and
//! the report says so. It never cries wolf. Names and numbers: semantics section 16.
//!
//! Where several break at one item, the most telling is reported: [`for_trace`] lists them in that
//! order. First what explains most of what follows: who is idle (I37), what must leave no trace (I38,
//! I29), how the candidate is combined (I8, I7) and bounded (I2); then what became of windows (I32,
//! I20, I13, I4, I5, I3, I6); then what figures say of themselves and whether numbers add up; a
//! watermark that falls (I1) last, because most of the others explain it. Plans with a flow have a list
//! of their own ([`flow`]), of the plain one only what holds for them too. After them comes the
//! [`oracle`] (I43, I42, I41), which sees everything and explains the least.
//!
//! Who stands far behind is seldom named, so [`crate::zoo::proof`] holds every check alone against
//! planted bugs that it must see.
//!
//! Invariant: a check compares what the system says with what it said before and with the trace's
//! past ([`past`]); it shares no logic with the engine.

pub mod closing;
pub mod combined;
pub mod conservation;
pub mod counters;
pub mod ending;
pub mod flow;
pub mod inert;
pub mod note;
pub mod oracle;
pub mod past;
pub mod resumed;
pub mod silence;
pub mod twin;
pub mod watermark;
mod words;
pub mod writing;

use crate::system::View;
use crate::trace::{Item, Trace};
use past::{Past, Scope};
use plimsoll_engine::output::Output;
use plimsoll_engine::row::ItemId;

/// What an invariant may look at, after one item.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    /// The whole run as data; only the past may be looked at.
    pub trace: &'a Trace,
    /// The number of the item, from 1.
    pub id: ItemId,
    /// The item.
    pub item: &'a Item,
    /// What came out because of it.
    pub output: &'a Output,
    /// The system after it.
    pub view: View<'a>,
}

/// A broken invariant, as a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The invariant's name, such as `I41 oracle_agrees`.
    pub name: &'static str,
    /// The item at which it showed, from 1.
    pub at: ItemId,
    /// What was expected, what was found, with the values.
    pub evidence: String,
}

/// A check that runs after every item.
pub trait Invariant: std::fmt::Debug {
    /// Number and name.
    fn name(&self) -> &'static str;
    /// Looks at what just happened, beside the past that already knows of it.
    ///
    /// # Errors
    /// The evidence, where the invariant is broken.
    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String>;
}

/// A check that a configuration does not allow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Skipped {
    /// Its number and name.
    pub name: &'static str,
    /// What it would need.
    pub missing: &'static str,
}

/// The checks of one run, the most telling first.
#[derive(Debug)]
pub struct Checks {
    /// What the run has shown so far.
    pub past: Past,
    /// Those that run.
    pub active: Vec<Box<dyn Invariant>>,
    /// Those that do not, and why.
    pub skipped: Vec<Skipped>,
}

impl Checks {
    /// Looks at an item.
    ///
    /// # Errors
    /// The most telling of the invariants that it breaks.
    pub fn observe(&mut self, seen: &Observation<'_>) -> Result<(), Violation> {
        self.past.observe(seen);
        for it in &mut self.active {
            if let Err(evidence) = it.observe(seen, &self.past) {
                return Err(Violation { name: it.name(), at: seen.id, evidence });
            }
        }
        Ok(())
    }
}

/// One entry of the list: the name, and the check or what is missing for it.
type Entry = (&'static str, fn(&Scope) -> Result<Box<dyn Invariant>, &'static str>);

/// All checks of this module, the most telling first.
const ALL: &[Entry] = &[
    (silence::IDLE, silence::idle),
    (resumed::RESUMED, resumed::resumed),
    (inert::GUARDED, inert::guarded),
    (inert::DROPPED, inert::dropped),
    (combined::LOWERS, combined::lowers),
    (combined::MINIMUM, combined::minimum),
    (watermark::JUSTIFIED, watermark::justified),
    (ending::ENDS, ending::ends),
    (writing::COMPLETE, writing::complete),
    (writing::ONCE, writing::once),
    (closing::RESURRECTION, closing::resurrection),
    (closing::LIVE, closing::live),
    (closing::FIRES, closing::fires),
    (watermark::INTERLOCK, watermark::interlock),
    (note::DROPPED, note::dropped),
    (note::KNOWN, note::known),
    (writing::UPDATE, writing::update),
    (conservation::SLIDING, conservation::sliding),
    (conservation::CONSERVATION, conservation::conservation),
    (counters::COUNTERS, counters::counters),
    (watermark::MONOTONE, watermark::monotone),
];

/// Those of [`ALL`] that say something about flows too.
const OF_FLOWS_TOO: &[&str] = &[silence::IDLE, resumed::RESUMED, watermark::MONOTONE];

/// Those that a restart that forgets makes false: a late row may be the largest since (I29), a line that
/// fell lets pass what the next stage has closed (I24), partners and published rows are gone or stand
/// beside those that are born again (I16, I17, I35, I11, I21, I22). The others know what is lost ([`past`]).
const ALL_COMES_BACK: &[&str] = &[
    inert::DROPPED,
    flow::chain::LATE,
    flow::join::COMPLETE,
    flow::null_row::ONCE,
    flow::null_row::REFUTED,
    flow::session::APART,
    flow::pane::BACK,
    flow::pane::ORDER,
];

/// What plans with a flow are asked besides, the most telling first.
const FLOWS: &[Entry] = &[
    (flow::inputs::VANISHES, flow::inputs::vanishes),
    (flow::chain::HANDED, flow::chain::handed),
    (flow::chain::LATE, flow::chain::late),
    (flow::null_row::LAST, flow::null_row::last),
    (flow::null_row::ONCE, flow::null_row::once),
    (flow::join::SOUND, flow::join::sound),
    (flow::join::COMPLETE, flow::join::complete),
    (flow::null_row::REFUTED, flow::null_row::refuted),
    (flow::session::APART, flow::session::apart),
    (flow::pane::BACK, flow::pane::back),
    (flow::pane::ORDER, flow::pane::order),
    (flow::state::BOUND, flow::state::bound),
];

/// Number and name of every check of this module, in the order of reports.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().chain(FLOWS).map(|it| it.0)
}

/// The checks for a trace.
pub fn for_trace(trace: &Trace) -> Checks {
    let past = Past::new(trace);
    let mut active = Vec::with_capacity(ALL.len());
    let mut skipped = Vec::new();
    let flow = past.scope.flow.is_some();
    let plain = ALL.iter().map(|it| (it, !flow || OF_FLOWS_TOO.contains(&it.0)));
    let of_flows = FLOWS.iter().map(|it| (it, true));
    for ((name, build), fits) in plain.chain(of_flows) {
        let built = if !fits {
            Err("a plan of one window aggregation")
        } else if past.scope.forgets && ALL_COMES_BACK.contains(name) {
            Err("restarts that bring everything back")
        } else {
            build(&past.scope)
        };
        match built {
            Ok(it) => active.push(it),
            Err(missing) => skipped.push(Skipped { name, missing }),
        }
    }
    Checks { past, active, skipped }
}

#[cfg(test)]
mod tests;
