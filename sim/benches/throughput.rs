//! How fast worlds are drawn and judged: seeds a second on worlds of about 60 items, and rows a
//! second in long runs, with every check that runs after each item. Twins and liveness, which are
//! runs of their own, are measured apart.
//!
//! One thread; the figures are of this machine and moment, so compare only within one output.
//!
//! Run: `cargo bench -p plimsoll-sim --bench throughput`.

#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

use plimsoll_sim::scenario::{Scenario, World, default_world, embedded};
use plimsoll_sim::system::engine::Engine;
use plimsoll_sim::trace::Trace;
use plimsoll_sim::verdict::{Options, Verdict, judge};
use std::time::{Duration, Instant};

/// Seeds of the short worlds.
const SEEDS: u64 = 4_000;
/// Seeds of the long runs.
const LONG: u64 = 4;
/// Repetitions, of which the fastest counts.
const REPEATS: u32 = 3;

fn main() {
    let (drawn, worlds) = fastest(|| (0..SEEDS).map(default_world).collect::<Vec<World>>());
    let items: usize = worlds.iter().map(|it| it.trace.items.len()).sum();
    println!("{SEEDS} worlds, {} items each on average", items as u64 / SEEDS);
    println!("  drawing            {:>9} worlds a second", a_second(SEEDS, drawn));
    let plain = |_: u64, _: &World| Options::default();
    let checked = report("every check", &worlds, plain);
    println!("  drawing and these  {:>9} worlds a second", a_second(SEEDS, drawn + checked));
    report("+ twins, 1 in 16", &worlds, |seed, _| Options {
        twins: seed.is_multiple_of(16),
        draw: seed,
        ..Options::default()
    });
    report("+ liveness, 1 in 4", &worlds, |seed, world| Options {
        liveness: seed.is_multiple_of(4).then_some(world.chaos_len),
        draw: seed,
        ..Options::default()
    });

    let text = embedded().iter().find(|it| it.0 == "long_run").expect("an embedded world").1;
    let scenario = Scenario::parse(text).expect("an embedded world has no mistakes");
    let traces: Vec<Trace> = (1..=LONG).map(|seed| scenario.trace(seed)).collect();
    let (took, rows) =
        fastest(|| traces.iter().map(|it| verdict(it, &Options::default()).rows).sum::<u64>());
    println!("{LONG} long runs, {rows} rows");
    println!("  every check        {:>9} rows a second", a_second(rows, took));
}

fn report(what: &str, worlds: &[World], options: impl Fn(u64, &World) -> Options) -> Duration {
    let (took, broken) = fastest(|| {
        let judged = (0..).zip(worlds).map(|(seed, it)| verdict(&it.trace, &options(seed, it)));
        judged.filter(|it| it.violation.is_some()).count()
    });
    assert_eq!(broken, 0, "the engine is right in these worlds");
    println!("  {what:<18} {:>9} worlds a second", a_second(worlds.len() as u64, took));
    took
}

fn verdict(trace: &Trace, options: &Options) -> Verdict {
    let make = |hash_seed| -> Box<dyn plimsoll_sim::system::System> {
        Box::new(Engine::new(trace, hash_seed).expect("the plan of a default world is accepted"))
    };
    judge(trace, &make, options)
}

fn fastest<T>(mut work: impl FnMut() -> T) -> (Duration, T) {
    let mut best: Option<(Duration, T)> = None;
    for _ in 0..REPEATS {
        #[expect(clippy::disallowed_methods, reason = "a bench measures time")]
        let start = Instant::now();
        let done = work();
        let took = start.elapsed();
        if best.as_ref().is_none_or(|it| took < it.0) {
            best = Some((took, done));
        }
    }
    best.expect("at least one repetition")
}

fn a_second(count: u64, took: Duration) -> u128 {
    u128::from(count) * 1_000_000_000 / took.as_nanos().max(1)
}
