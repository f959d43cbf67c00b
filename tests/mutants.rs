//! The harness, tested harder than the engine: every planted bug dies by a check that it names.
//!
//! An invariant that cannot fail is worth nothing, and neither is an alarm that nobody has heard. So
//! each bug of the zoo is put into default worlds until a check speaks, the canary too, and what
//! is found shrinks to what a person can read. Seeds get the checks that `plimsoll explore` gives them.
//! And each check is asked alone, so that it cannot hide behind one that speaks first.
//!
//! Invariant: a plant that 2,000 seeds do not kill by a check of its own fails the house, and
//! so does a check that sees none of its plants on as many.

use plimsoll_sim::invariant::Violation;
use plimsoll_sim::scenario::{World, default_world, embedded_world, flow_world};
use plimsoll_sim::shrink::{Limits, shrink};
use plimsoll_sim::trace::Trace;
use plimsoll_sim::verdict::{Options, judge};
use plimsoll_sim::zoo::{self, Plant, proof};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A plant that is not killed within so many seeds is a hole in the harness.
const SEEDS: u64 = 2_000;

/// The world of a seed in which a plant is looked for.
fn world(plant: &Plant, seed: u64) -> World {
    match plant.home() {
        Some(name) => embedded_world(name, seed).expect("an embedded world"),
        None if plant.is_of_flows() => flow_world(seed),
        None => default_world(seed),
    }
}

/// How a trace fails with a plant in it; `None` where it does not, or where its plan is refused.
fn fails(trace: &Trace, plant: &Plant, options: &Options) -> Option<Violation> {
    plant.system(trace, options.hash_seed).ok()?;
    let make = |hash_seed| plant.system(trace, hash_seed).expect("the plan was accepted above");
    judge(trace, &make, options).violation
}

/// A world in which a plant died by a check that it names.
struct Death {
    plant: &'static Plant,
    world: World,
    by: Violation,
    options: Options,
}

fn kill(plant: &'static Plant, seeds: Range<u64>) -> Option<Death> {
    for seed in seeds {
        let world = world(plant, seed);
        let options = Options {
            hash_seed: 0,
            draw: seed,
            twins: seed.is_multiple_of(16),
            liveness: (seed.is_multiple_of(4) || plant.only_stands_still())
                .then_some(world.chaos_len),
        };
        let Some(by) = fails(&world.trace, plant, &options) else { continue };
        if plant.is_killed_by(by.name) {
            return Some(Death { plant, world, by, options });
        }
    }
    None
}

/// The same for each of these, on all cores, in their order.
fn each<T: Sync, R: Send>(of: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(it) = of.get(at) else { return done };
            done.push((at, work(it)));
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut done: Vec<(usize, R)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(take)).collect();
        threads.into_iter().flat_map(|it| it.join().expect("no panic of ours")).collect()
    });
    done.sort_by_key(|it| it.0);
    done.into_iter().map(|it| it.1).collect()
}

#[test]
fn every_plant_is_killed_by_a_check_that_it_names() {
    let plants: Vec<&'static Plant> = zoo::all().collect();
    assert!(30 < plants.len(), "{} plants: some are lost", plants.len());
    let dead = each(&plants, |it| kill(it, 0..SEEDS).is_some());
    let alive: Vec<&str> =
        plants.iter().zip(dead).filter(|it| !it.1).map(|(plant, _)| plant.name).collect();
    assert!(alive.is_empty(), "alive: {alive:?}");
}

#[test]
fn every_check_sees_the_plants_that_it_is_there_for_with_all_other_checks_switched_off() {
    let proofs: Vec<(&str, &Plant)> = proof::all().collect();
    let seen = each(&proofs, |(check, plant)| {
        (0..SEEDS).any(|draw| {
            let world = world(plant, draw);
            let liveness = Some(world.chaos_len);
            let options = Options { hash_seed: 0, draw, twins: false, liveness };
            plant.breaks_alone(check, &world.trace, &options).is_some_and(|it| it.name == *check)
        })
    });
    let blind: Vec<_> =
        proofs.iter().zip(seen).filter(|it| !it.1).map(|it| (it.0.0, it.0.1.name)).collect();
    assert!(blind.is_empty(), "not seen: {blind:?}");
}

#[test]
fn the_canary_is_heard_within_a_thousand_seeds() {
    let quiet = (0..10).filter(|seed| kill(&zoo::CANARY, *seed..*seed + 1).is_none()).count();
    assert!(5 < quiet, "the canary sings in {} of 10 seeds; it should be rare", 10 - quiet);
    assert!(kill(&zoo::CANARY, 0..1_000).is_some(), "the alarm does not work");
}

/// Removes one item at a time and looks whether the rest still fails in the same way.
fn can_lose_one(trace: &Trace, by: &str, plant: &Plant, options: &Options) -> Option<usize> {
    (0..trace.items.len()).find(|at| {
        let mut less = trace.clone();
        less.items.remove(*at);
        fails(&less, plant, options).is_some_and(|it| it.name == by)
    })
}

#[test]
fn what_kills_shrinks_to_a_few_items_of_which_none_can_be_taken_away() {
    let plants: Vec<&'static Plant> = zoo::all().step_by(4).collect();
    let deaths: Vec<Death> = each(&plants, |it| kill(it, 0..SEEDS)).into_iter().flatten().collect();
    assert_eq!(deaths.len(), plants.len());
    let sizes = each(&deaths, |death| {
        let Death { plant, world, by, options } = death;
        // In a part of a world the place where its chaos ended means nothing.
        let liveness = by.name.starts_with('L').then_some(usize::MAX);
        let options = Options { liveness, ..*options };
        let mut fails = |it: &Trace| fails(it, plant, &options);
        let small = shrink(&world.trace, &mut fails, Limits::default(), &mut |_| {});
        let small = small.unwrap_or_else(|| panic!("{} is not found again", plant.name));
        assert_eq!(small.violation.name, by.name, "{}", plant.name);
        assert!(small.minimal, "{} ran into the limit", plant.name);
        let more = can_lose_one(&small.trace, by.name, plant, &options);
        assert_eq!(more, None, "{} can lose one more item", plant.name);
        small.trace.items.len()
    });
    let mut sorted = sizes.clone();
    sorted.sort_unstable();
    assert!(sorted[sorted.len() / 2] <= 5, "the median is too large: {sizes:?}");
}
