//! Verdicts on worlds, on planted bugs, and on one story by hand.

use super::*;
use crate::invariant::Observation;
use crate::reach::SITES;
use crate::scenario::{default_world, sweep_world};
use crate::system::System;
use crate::system::engine::Engine;
use crate::trace::parse::parse;
use crate::zoo;
use plimsoll_engine::plan::check::CheckedPlan;

fn judged(text: &str, plant: Option<&str>) -> Verdict {
    let trace = parse(text).expect(text).trace;
    let plant = plant.map(|it| zoo::named(it).expect("a plant"));
    let make = |seed| -> Box<dyn System> {
        match plant {
            Some(it) => it.system(&trace, seed).expect("a plan without refusals"),
            None => Box::new(Engine::new(&trace, seed).expect("a plan without refusals")),
        }
    };
    let liveness = Some(trace.items.len());
    judge(&trace, &make, &Options { hash_seed: 1, draw: 3, twins: true, liveness })
}

const STORY: &str =
    "plan window=sliding(10min,5min) delay=2min watermark=partition idle=1min effective=row \
trigger=row late=window_end guard=reject(1h) clock=10:00:00
row p0 10:08:30 k=a v=9223372036854775807
row p0 10:12:00 k=a v=1
row p1 10:03:55 k=- v=1
row p0 10:08:31 k=a v=1
tick +61s
row p0 10:22:00 k=a v=1
row p0 12:00:00 k=a v=1
row p0 10:21:00 k=- v=1
row p0 10:18:00 k=a v=1
checkpoint
move p1 without_watermark
crash
row p1 - k=a v=1
heartbeat p1 10:40:00
heartbeat p0 10:41:00
end
row p0 10:50:00 k=a v=1";

#[test]
fn a_story_is_counted_and_what_it_reached_is_known() {
    let it = judged(STORY, None);
    assert_eq!(it.violation, None);
    assert_eq!((it.items, it.rows, it.faults), (17, 10, 2));
    assert!(!it.is_vacuous());
    assert!(5 <= it.windows_closed && 10 <= it.steps, "{it:?}");
    assert!(1 <= it.late_rows);
    let missing: Vec<_> = it.reach.missing().map(|it| it.name).collect();
    for reached in [
        "guarded row",
        "no event time",
        "null key",
        "rebalance while idle",
        "window closed while a partition is idle",
        "heartbeat moves the watermark",
        "row after the stop",
        "partly late row",
    ] {
        assert!(!missing.contains(&reached), "{reached} is among {missing:?}");
    }
    for never in ["late by wall clock", "empty batch", "stale crash", "row in a hole"] {
        assert!(missing.contains(&never), "{never} is not among {missing:?}");
    }
    let skipped = it.skipped.iter().map(|it| it.name);
    let skipped: Vec<_> =
        skipped.filter(|it| it.starts_with("I20") || it.starts_with("L1")).collect();
    assert_eq!(skipped, ["I20 complete_keeps_all", "L1 to L6"]);
}

#[test]
fn a_verdict_is_the_same_every_time_and_another_hasher_has_the_same_digest() {
    let world = default_world(11);
    let make = |seed| -> Box<dyn System> {
        Box::new(Engine::new(&world.trace, seed).expect("a plan without refusals"))
    };
    let one = judge(&world.trace, &make, &Options { hash_seed: 1, ..Options::default() });
    let two = judge(&world.trace, &make, &Options { hash_seed: 2, ..Options::default() });
    assert_eq!(one, two);
    assert_ne!(one.digest, 0);
}

#[test]
fn no_world_of_many_breaks_anything_and_most_rare_states_are_reached() {
    let mut reach = Reach::default();
    let mut vacuous = 0;
    // Plain worlds and worlds of flows, as a sweep has them.
    for seed in 0..400 {
        let world = sweep_world(seed);
        let Ok((plan, _)) = CheckedPlan::new(world.trace.plan.clone()) else { continue };
        let make = |hash_seed| -> Box<dyn System> {
            Box::new(Engine::with_plan(plan.clone(), world.trace.clock, hash_seed))
        };
        let liveness = Some(world.chaos_len);
        let options = Options { hash_seed: seed, draw: seed, twins: true, liveness };
        let it = judge(&world.trace, &make, &options);
        assert_eq!(it.violation, None, "seed {seed}");
        vacuous += usize::from(it.is_vacuous());
        reach.merge(it.reach);
    }
    assert!(vacuous < 40, "{vacuous} of 400 worlds could hardly have failed");
    assert!(SITES.len() * 3 / 4 <= reach.count(), "{}", reach.count());
}

#[test]
fn of_what_breaks_at_one_item_the_most_telling_is_named() {
    let text = "plan delay=0s watermark=partition effective=row trigger=row
row p0 10:00:00 k=a v=1
row p1 10:20:00 k=a v=1";
    // The oracle sees it too (I43), and the watermark (I2) does not: 10:20 was seen.
    let found = judged(text, Some("comb-max")).violation.expect("a maximum is no minimum");
    assert_eq!((found.name, found.at.0), ("I7 candidate_within_minimum", 2));
    let text = "plan delay=2min effective=row trigger=row
row p0 10:12:00 k=a v=1
row p0 10:09:59 k=a v=1";
    let found = judged(text, Some("slack-off-by-one")).violation.expect("one millisecond");
    assert_eq!((found.name, found.at.0), ("I42 verdict_agrees", 2));
}

#[test]
fn a_panic_of_the_system_is_a_violation_at_its_item() {
    let text = "plan effective=row trigger=row
row p0 10:00:00 k=a v=1
row p0 @2000000000000000000 k=a v=1
row p0 10:00:00 k=a v=1";
    let found = judged(text, Some("overflow-panic")).violation.expect("it panics");
    assert_eq!((found.name, found.at.0), (PANICS, 2));
    assert!(found.evidence.contains("panicked"), "{}", found.evidence);
    assert_eq!(judged(text, None).violation, None);
}

#[test]
fn liveness_comes_after_a_run_without_violation() {
    let text = "plan effective=row trigger=row\nrow p0 10:00:00 k=a v=1";
    let found = judged(text, Some("no-final-wm")).violation.expect("the end does nothing");
    assert_eq!(found.name, liveness::ENDS);
}

/// Every observation of a run is seen by the past before the checks: a row that a step took is known.
#[test]
fn the_past_accounts_for_every_row() {
    let trace = parse(STORY).expect(STORY).trace;
    let mut engine = Engine::new(&trace, 1).expect("a plan without refusals");
    let mut checks = invariant::for_trace(&trace);
    let mut run = Run::new(&trace, &mut engine, false);
    let mut rows = 0;
    while let Some(seen) = run.step() {
        let seen: Observation<'_> = seen.expect("the restart is neutral");
        checks.observe(&seen).expect("nothing is broken");
        rows += checks.past.rows.len();
        assert_eq!(checks.past.waiting(), 0);
        assert_eq!(checks.past.stray, None);
    }
    assert_eq!(rows, 10);
    assert_eq!(checks.past.windows_with_state(), 0);
}

/// Liveness belongs to one seed in four (see `plimsoll explore`), and all of its stories must be told all the
/// same.
#[test]
fn seeds_that_are_multiples_tell_every_story_of_liveness() {
    let told = |seed: u64| {
        let world = sweep_world(seed);
        liveness::continuation(&world.trace, world.chaos_len, spread(seed)).ok().map(|it| it.name)
    };
    let told: Vec<_> = (0..4_000).step_by(4).filter_map(told).collect();
    for name in liveness::NAMES {
        let times = told.iter().filter(|it| **it == name).count();
        assert!(3 <= times, "{name} is told {times} times by {} seeds", told.len());
    }
}

#[test]
fn a_check_that_is_asked_alone_passes_over_what_breaks_others() {
    let text = "plan delay=0s watermark=partition effective=row trigger=row
row p0 10:00:00 k=a v=1
row p1 10:20:00 k=a v=1";
    let trace = parse(text).expect(text).trace;
    let plant = zoo::named("comb-max").expect("a plant");
    let make = |seed| plant.system(&trace, seed).expect("a plan without refusals");
    let alone = |check| alone(check, &trace, &make, &Options::default());
    // Of these all together name the first only.
    let broken: Vec<_> = names().filter_map(alone).map(|it| (it.name, it.at.0)).collect();
    let expected =
        [("I7 candidate_within_minimum", 2), ("I43 candidate_agrees", 2), ("I41 oracle_agrees", 2)];
    assert_eq!(broken, expected);
    assert!(alone("I7").is_none(), "a number is no name");
}
