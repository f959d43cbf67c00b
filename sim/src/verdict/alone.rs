//! One check alone: every other one is switched off.
//!
//! Where several break at one item the most telling is named, and the run ends there. So a check
//! that stands behind others may never be heard, and nobody would notice if it could not fail. Here it
//! is asked alone: what breaks others is passed over, and the run goes on.
//!
//! Invariant: what is found bears the name that was asked for.

use super::{Options, PANICS, message, spread};
use crate::invariant::oracle::{self, OracleAgreement};
use crate::invariant::{self, Violation, twin};
use crate::liveness;
use crate::run::Run;
use crate::system::Make;
use crate::trace::Trace;
use plimsoll_engine::row::ItemId;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Number and name of everything that a verdict checks.
pub fn names() -> impl Iterator<Item = &'static str> {
    let others = [PANICS, twin::HASHERS, twin::RESTART, twin::IDLE_ORDER];
    invariant::names().chain(oracle::NAMES).chain(others).chain(liveness::NAMES)
}

/// How a trace breaks the check of this name, all others switched off. Of the options the seeds and
/// the place where liveness goes on count; without that place it goes on from the end.
pub fn alone(check: &str, trace: &Trace, make: &Make<'_>, options: &Options) -> Option<Violation> {
    let Options { hash_seed, draw, liveness, .. } = *options;
    let draw = spread(draw);
    let done = Cell::new(0);
    let looked = catch_unwind(AssertUnwindSafe(|| match check {
        twin::HASHERS => twin::hashers(trace, make, hash_seed).ok()?,
        twin::RESTART => twin::restart(trace, make, hash_seed, draw).ok()?,
        twin::IDLE_ORDER => twin::idle_order(trace, make, hash_seed).ok()?,
        _ if liveness::NAMES.contains(&check) => {
            let cut = liveness.unwrap_or(usize::MAX).min(trace.items.len());
            liveness::check(trace, cut, make, hash_seed, draw).ok()?
        }
        _ => run(check, trace, make, hash_seed, &done),
    }));
    let found = match looked {
        Ok(found) => found?,
        Err(panic) => {
            let at = ItemId(done.get() + 1);
            Violation { name: PANICS, at, evidence: message(&*panic) }
        }
    };
    (found.name == check).then_some(found)
}

/// The one run, with at most one check after every item.
fn run(
    check: &str,
    trace: &Trace,
    make: &Make<'_>,
    hash_seed: u64,
    done: &Cell<u64>,
) -> Option<Violation> {
    let mut system = make(hash_seed);
    let mut checks = invariant::for_trace(trace);
    checks.active.retain(|it| it.name() == check);
    let mut reference = oracle::NAMES.contains(&check).then(|| OracleAgreement::new(trace));
    if checks.active.is_empty() && reference.is_none() && check != PANICS {
        return None;
    }
    let mut run = Run::new(trace, &mut *system, false);
    while let Some(seen) = run.step() {
        // A replay that differs is the business of another check.
        let Ok(seen) = seen else { return None };
        done.set(done.get() + 1);
        if let Err(violation) = checks.observe(&seen) {
            return Some(violation);
        }
        if let Some(Err(violation)) = reference.as_mut().map(|it| it.observe_only(check, &seen)) {
            return Some(violation);
        }
    }
    None
}
