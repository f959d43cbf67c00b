//! The verdict on one trace: everything that is checked, in one call.
//!
//! The trace runs once with all checks that its plan allows, the oracle among them. The first item at
//! which something is wrong ends the run; of what breaks there the most telling is reported
//! ([`crate::invariant`]). Where nothing is wrong the twins and the liveness story follow, if asked for.
//! A panic of the system is a violation like others (I39), with the item that caused it.
//!
//! Invariant: a verdict is a function of the trace, the system and the options.

mod alone;

pub use alone::{alone, names};

use crate::invariant::oracle::OracleAgreement;
use crate::invariant::{self, Observation, Skipped, Violation, twin};
use crate::liveness;
use crate::reach::{Reach, Watch};
use crate::run::Run;
use crate::system::Make;
use crate::trace::{Item, Trace};
use plimsoll_engine::output::{EmissionKind, EmissionNote, Fate};
use plimsoll_engine::plan::flow::Flow;
use plimsoll_engine::row::ItemId;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The name of the violation that a panic is.
pub const PANICS: &str = "I39 no_panic";

/// What is to be checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// The seed of the system's hashers.
    pub hash_seed: u64,
    /// Decides where twins crash and how liveness goes on; the world's seed will do, even where twins
    /// and liveness belong to every so many seeds: it is spread first.
    pub draw: u64,
    /// Whether twins run.
    pub twins: bool,
    /// Whether liveness is checked, and after how many items (see
    /// [`World::chaos_len`](crate::scenario::World::chaos_len)).
    pub liveness: Option<usize>,
}

/// What one trace has shown.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Verdict {
    /// What is broken.
    pub violation: Option<Violation>,
    /// Items that were done.
    pub items: u64,
    /// Rows among them.
    pub rows: u64,
    /// Steps that the system ran.
    pub steps: u64,
    /// Windows with state that closed; in a flow whatever left its last stage.
    pub windows_closed: u64,
    /// Rows that were late for some or all of their windows.
    pub late_rows: u64,
    /// Crashes and changes of partitions.
    pub faults: u64,
    /// Rare states that were reached.
    pub reach: Reach,
    /// Checks that the plan does not allow, and why.
    pub skipped: Vec<Skipped>,
    /// Of everything that came out, item by item.
    pub digest: u64,
}

impl Verdict {
    /// Whether the trace could hardly have failed: no window closed, nothing late, no fault.
    pub const fn is_vacuous(&self) -> bool {
        self.windows_closed == 0 && self.late_rows == 0 && self.faults == 0
    }
}

/// Runs a trace through fresh systems that `make` makes for its plan, and judges what comes out.
pub fn judge(trace: &Trace, make: &Make<'_>, options: &Options) -> Verdict {
    let mut verdict = Verdict::default();
    let judged = catch_unwind(AssertUnwindSafe(|| run(trace, make, options, &mut verdict)));
    verdict.violation = judged.unwrap_or_else(|panic| {
        let at = ItemId(verdict.items + 1);
        Some(Violation { name: PANICS, at, evidence: message(&*panic) })
    });
    if verdict.violation.is_some() || !options.twins && options.liveness.is_none() {
        return verdict;
    }
    let more = catch_unwind(AssertUnwindSafe(|| relations(trace, make, options, &mut verdict)));
    verdict.violation = more.unwrap_or_else(|panic| {
        let evidence = format!("in a related run: {}", message(&*panic));
        Some(Violation { name: PANICS, at: ItemId(verdict.items), evidence })
    });
    verdict
}

/// The one run with all checks.
fn run(
    trace: &Trace,
    make: &Make<'_>,
    options: &Options,
    verdict: &mut Verdict,
) -> Option<Violation> {
    let mut system = make(options.hash_seed);
    let mut checks = invariant::for_trace(trace);
    let mut oracle = OracleAgreement::new(trace);
    let mut watch = Watch::default();
    verdict.skipped.append(&mut checks.skipped);
    verdict.skipped.extend(oracle.skipped());
    let mut run = Run::new(trace, &mut *system, true);
    let mut broken = None;
    while let Some(seen) = run.step() {
        let seen = match seen {
            Ok(it) => it,
            Err(violation) => {
                broken = Some(violation);
                break;
            }
        };
        verdict.items += 1;
        verdict.steps += seen.output.steps.len() as u64;
        match seen.item {
            Item::Row(_) => verdict.rows += 1,
            Item::Add { .. }
            | Item::Remove(_)
            | Item::Move { .. }
            | Item::Crash { .. }
            | Item::Restart(_) => verdict.faults += 1,
            _ => {}
        }
        let looked = checks.observe(&seen).and_then(|()| oracle.observe(&seen));
        let late = |it: &&plimsoll_engine::output::RowRecord| matches!(it.fate, Fate::Late(_));
        verdict.late_rows += seen.output.records.iter().filter(late).count() as u64;
        verdict.windows_closed += match &trace.plan.flow {
            None => checks.past.steps.iter().map(|it| it.closed).sum(),
            Some(it) => closed(it, &seen),
        };
        watch.observe(&seen, &checks.past);
        verdict.reach = watch.reach();
        if let Err(violation) = looked {
            broken = Some(violation);
            break;
        }
    }
    verdict.digest = run
        .digests()
        .iter()
        .fold(0, |all, it| (all ^ it).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31));
    broken
}

/// Another number for each, of which every bit depends on every bit (splitmix64). Liveness belongs to
/// one seed in four: without this a choice of two would always fall the same way.
const fn spread(draw: u64) -> u64 {
    let mixed = draw.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// What a flow closed: groups that left on time or as too long, and, of a flow without groups, rows
/// and entries that left.
fn closed(flow: &Flow, seen: &Observation<'_>) -> u64 {
    let leaves = |it: &&EmissionNote| matches!(it.kind, EmissionKind::OnTime | EmissionKind::Span);
    let written = seen.output.emissions.notes.iter().filter(leaves).count() as u64;
    let last = flow.stages.iter().rposition(|it| !it.is_stateless());
    let removed = |at: usize| {
        let of_stage = seen.output.stages.iter().filter(|it| it.stage == at);
        of_stage.map(|it| it.removed).sum()
    };
    if 0 < written { written } else { last.map_or(0, removed) }
}

/// Twins and liveness.
fn relations(
    trace: &Trace,
    make: &Make<'_>,
    options: &Options,
    verdict: &mut Verdict,
) -> Option<Violation> {
    let Options { hash_seed, draw, twins, liveness } = *options;
    let draw = spread(draw);
    let mut found = Vec::new();
    let mut look = |it: twin::Found| match it {
        Ok(Some(violation)) => Some(violation),
        Ok(None) => None,
        Err(skipped) => {
            found.push(skipped);
            None
        }
    };
    let broken = None
        .or_else(|| twins.then(|| look(twin::hashers(trace, make, hash_seed))).flatten())
        .or_else(|| twins.then(|| look(twin::restart(trace, make, hash_seed, draw))).flatten())
        .or_else(|| twins.then(|| look(twin::idle_order(trace, make, hash_seed))).flatten())
        .or_else(|| {
            let cut = liveness?.min(trace.items.len());
            look(liveness::check(trace, cut, make, hash_seed, draw))
        });
    verdict.skipped.append(&mut found);
    broken
}

/// What a panic said.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|it| (*it).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("the system panicked: {}", text.as_deref().unwrap_or("without a word"))
}

#[cfg(test)]
mod tests;
