use super::*;
use crate::scenario;
use crate::system::System;
use crate::system::engine::Engine;
use plimsoll_engine::plan::check::CheckedPlan;

#[test]
fn explore() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut seen = std::collections::BTreeMap::new();
    let mut reach = Reach::default();
    let mut skips = std::collections::BTreeMap::new();
    for seed in 0..1500 {
        let world = scenario::default_world(seed);
        if CheckedPlan::new(world.trace.plan.clone()).is_err() { continue }
        let make = |hash_seed| -> Box<dyn System> {
            Box::new(Engine::new(&world.trace, hash_seed).expect("a checked plan"))
        };
        let options =
            Options { hash_seed: seed, draw: seed, twins: true, liveness: Some(world.chaos_len) };
        let it = judge(&world.trace, &make, &options);
        reach.merge(it.reach);
        for s in it.skipped { *skips.entry(s).or_insert(0) += 1; }
        if let Some(v) = it.violation {
            let n = seen.entry(v.name).or_insert(0);
            *n += 1;
            if *n <= 2 {
                println!("seed {seed} at {} of {}: {} {}", v.at.0, world.trace.items.len(), v.name, v.evidence);
            }
        }
    }
    println!("{seen:?}");
    for it in reach.missing() {
        println!("missing {}", it.name);
    }
    for (s, n) in skips { println!("{n} {} needs {}", s.name, s.missing); }
}

#[test]
fn zoo() {
    std::panic::set_hook(Box::new(|_| {}));
    for plant in crate::zoo::all() {
        let mut seen = std::collections::BTreeMap::new();
        let mut sample = None;
        for seed in 0..250 {
            let world = scenario::default_world(seed);
            if CheckedPlan::new(world.trace.plan.clone()).is_err() { continue }
            let make = |hash_seed| plant.system(&world.trace, hash_seed).expect("checked");
            let options =
                Options { hash_seed: seed, draw: seed, twins: true, liveness: Some(world.chaos_len) };
            let it = judge(&world.trace, &make, &options);
            if let Some(v) = it.violation {
                *seen.entry(v.name).or_insert(0) += 1;
                if !plant.is_killed_by(v.name) { sample = Some(format!("{} {}", v.name, v.evidence)); }
            }
        }
        println!("{} killed_by {:?}: {seen:?} {}", plant.name, plant.killed_by, sample.unwrap_or_default());
    }
}
