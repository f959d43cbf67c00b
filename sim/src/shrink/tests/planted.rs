//! Planted bugs, as the oracle sees them.

use super::shrunk;
use crate::invariant::Violation;
use crate::invariant::oracle::OracleAgreement;
use crate::run::Run;
use crate::scenario::default_world;
use crate::shrink::Shrunk;
use crate::system::System;
use crate::system::engine::Engine;
use crate::trace::Trace;
use crate::trace::parse::parse;
use crate::trace::write::write;
use crate::zoo::{self, Plant};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What the oracle says of a plant, where it has nothing to say of the engine itself. A plant that
/// panics says it itself.
fn verdict(trace: &Trace, plant: &Plant) -> Option<Violation> {
    let mut system = plant.system(trace, 1).ok()?;
    let found = catch_unwind(AssertUnwindSafe(|| judged(trace, &mut *system)));
    let found = found.unwrap_or_else(|_| Some(super::violation("panic", 1)))?;
    judged(trace, &mut Engine::new(trace, 1).ok()?).is_none().then_some(found)
}

fn judged(trace: &Trace, system: &mut dyn System) -> Option<Violation> {
    let mut oracle = OracleAgreement::new(trace);
    let mut run = Run::new(trace, system, false);
    while let Some(step) = run.step() {
        match step {
            Err(violation) => return Some(violation),
            Ok(seen) => {
                if let Err(violation) = oracle.observe(&seen) {
                    return Some(violation);
                }
            }
        }
    }
    None
}

fn median(mut numbers: Vec<u64>) -> u64 {
    numbers.sort_unstable();
    numbers[numbers.len() / 2]
}

#[test]
fn planted_bugs_end_as_a_few_items_after_a_few_hundred_executions() {
    let (mut items, mut executions, mut plants) = (Vec::new(), Vec::new(), 0);
    for plant in zoo::all() {
        let worlds = (0..60).map(|seed| default_world(seed).trace);
        let failing = worlds.filter(|it| verdict(it, plant).is_some());
        let results: Vec<Shrunk> =
            failing.take(2).map(|it| shrunk(&it, &mut |it| verdict(it, plant))).collect();
        plants += usize::from(!results.is_empty());
        for it in results {
            assert!(it.minimal, "{}: not shown to be minimal", plant.name);
            let count = it.trace.items.len();
            // One plant loses the time of every twelfth row or so: it needs that many.
            assert!(count <= 12, "{}: {count} items are left", plant.name);
            items.push(count as u64);
            executions.push(it.executions);
        }
    }
    assert!(30 <= plants, "{plants} plants were seen");
    assert!(median(items.clone()) <= 5, "items {items:?}");
    assert!(median(executions.clone()) <= 400, "executions {executions:?}");
    // One text for one cause: what is written can be read again.
    let trace = &shrunk(&default_world(1).trace, &mut |it| {
        (1 < it.items.len()).then(|| super::violation("I1 synthetic", 2))
    });
    let text = write(&trace.trace, &[]);
    assert_eq!(parse(&text).expect("a shrunk trace can be read").trace, trace.trace);
}
