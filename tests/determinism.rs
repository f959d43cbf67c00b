//! The same seed is the same run: twice, in another order, on more cores, and next year.
//!
//! Digests are over everything that comes out of a run, item by item. The pinned ones are there for
//! other machines and other years: where they differ and nothing was meant to change, something
//! reads a clock, an address or an order that it should not. A change of the generator or of what comes out changes
//! them all; then they are pinned anew, in the commit that says why.
//!
//! Invariant: a digest is a function of the seed.

use crate::binary;
use plimsoll_engine::plan::check::CheckedPlan;
use plimsoll_sim::scenario::default_world;
use plimsoll_sim::system::System;
use plimsoll_sim::system::engine::Engine;
use plimsoll_sim::verdict::{Options, judge};

/// The digest of a seed's run; `None` where its plan is refused.
fn digest(seed: u64, hash_seed: u64) -> Option<u64> {
    let trace = default_world(seed).trace;
    let (plan, _) = CheckedPlan::new(trace.plan.clone()).ok()?;
    let make = |hash_seed| -> Box<dyn System> {
        Box::new(Engine::with_plan(plan.clone(), trace.clock, hash_seed))
    };
    let verdict = judge(&trace, &make, &Options { hash_seed, ..Options::default() });
    assert_eq!(verdict.violation, None, "seed {seed}");
    Some(verdict.digest)
}

#[test]
fn the_seed_of_the_hashers_shows_in_nothing() {
    let digests: Vec<_> = (0..200).map(|seed| (digest(seed, 1), digest(seed, u64::MAX))).collect();
    let differing: Vec<usize> =
        (0..digests.len()).filter(|it| digests[*it].0 != digests[*it].1).collect();
    assert!(differing.is_empty(), "seeds that differ: {differing:?}");
    let mut some: Vec<u64> = digests.iter().filter_map(|it| it.0).collect();
    let ran = some.len();
    some.sort_unstable();
    some.dedup();
    assert!(150 < some.len() && ran < some.len() + 5, "{} of {ran} digests differ", some.len());
}

#[test]
fn a_seed_alone_is_as_in_a_sweep_in_any_order() {
    let forward: Vec<_> = (0..30).map(|seed| digest(seed, 0)).collect();
    let backward: Vec<_> = (0..30).rev().map(|seed| digest(seed, 0)).collect();
    assert!(forward.iter().eq(backward.iter().rev()));
    let alone = std::thread::spawn(|| digest(17, 0)).join().expect("no panic");
    assert_eq!(alone, forward[17]);
}

/// Seeds and their digests. To pin them anew, copy what the failure prints.
const PINNED: [(u64, u64); 6] = [
    (0, 0x4caed5275e62d9bb),
    (1, 0x336a7ad5dc8d9c0a),
    (2, 0x3790ff5a273cb63b),
    (77, 0x116d2f6d884c6167),
    (1_000_003, 0x7b280e397abf2cda),
    (u64::MAX, 0x938678b293490c17),
];

#[test]
fn another_machine_and_another_year_give_the_same_digests() {
    let text = |it: &(u64, u64)| format!("({}, {:#018x}),", it.0, it.1);
    let now = PINNED.map(|(seed, _)| (seed, digest(seed, 0).expect("an accepted plan")));
    let (pinned, now) = (PINNED.map(|it| text(&it)), now.map(|it| text(&it)));
    assert_eq!(pinned, now, "now they are\n{}", now.join("\n"));
}

#[test]
fn one_job_and_two_give_the_same_campaign() {
    let folder = binary::folder("determinism");
    let campaign = |jobs: &str| {
        let mut command = binary::plimsoll(&folder);
        let explored = command.args(["explore", "--seeds", "0..300", "--jobs", jobs]).assert();
        String::from_utf8(explored.success().get_output().stdout.clone()).expect("text")
    };
    let (one, two) = (campaign("1"), campaign("2"));
    assert!(one.contains("\n  digest "), "{one}");
    assert_eq!(one, two);
}
