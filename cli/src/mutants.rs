//! `plimsoll mutants`: does the harness see bugs that are known to be there?
//!
//! Two questions. Of each plant: which check speaks first, all of them switched on? And of each check:
//! does it see the plants that it is there for, all others switched off ([`zoo::proof`])?
//!
//! Invariant: a planted bug that nothing catches is a violation, of ours, and so is a check that does
//! not see its plants.

use crate::console::Console;
use crate::exit::{self, Exit};
use crate::subject::{self, Worlds};
use anyhow::Result;
use plimsoll_sim::scenario::{World, embedded_world};
use plimsoll_sim::shrink::{Limits, shrink};
use plimsoll_sim::trace::Trace;
use plimsoll_sim::verdict::Options;
use plimsoll_sim::zoo::{self, Plant, proof};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Write as _;

/// Plant each known bug and see which invariant catches it, how soon, and with how small a trace
///
/// Then each check is held alone, all others switched off, against the bugs that it is there for.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  plimsoll mutants
  plimsoll mutants comb-max")]
pub(crate) struct Args {
    /// Only these; without any, all
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

/// A plant that is not killed within so many seeds is a hole in the harness.
const SEEDS: u64 = 2_000;

/// The world of a seed in which a plant is looked for.
fn world(plant: &Plant, seed: u64) -> World {
    let home = plant.home().and_then(|it| embedded_world(it, seed));
    home.unwrap_or_else(|| Worlds::Embedded.draw(seed).world)
}

/// How a plant ended.
#[derive(Debug)]
struct Death {
    plant: &'static Plant,
    /// The seed, the check, the items of the shrunk trace and the runs that it took.
    by: Option<(u64, &'static str, usize, u64)>,
    /// Seeds on which another check than the named ones spoke first.
    slips: u64,
}

/// Plants.
pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Exit> {
    let plants: Vec<&'static Plant> = if args.names.is_empty() {
        zoo::all().collect()
    } else {
        let named = |it: &String| subject::plant(Some(it)).map(|it| it.into_iter());
        args.names.iter().map(named).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect()
    };
    let asked: Vec<(&'static str, &'static Plant)> =
        proof::all().filter(|it| plants.iter().any(|plant| plant.name == it.1.name)).collect();
    let bar = crate::progress::bar("planting");
    bar.set_length((plants.len() + asked.len()) as u64);
    let deaths: Vec<Death> = plants.into_par_iter().map(|it| ticked(&bar, || kill(it))).collect();
    let proofs: Vec<Proof> =
        asked.into_par_iter().map(|it| ticked(&bar, || prove(it.0, it.1))).collect();
    bar.finish_and_clear();
    report(&deaths, &proofs, args.names.is_empty(), console)
}

fn ticked<T>(bar: &indicatif::ProgressBar, work: impl FnOnce() -> T) -> T {
    let done = work();
    bar.inc(1);
    done
}

fn kill(plant: &'static Plant) -> Death {
    let mut slips = 0;
    for seed in 0..SEEDS {
        let world = world(plant, seed);
        // Each in the worlds that it is made for: elsewhere it shows nothing, or shows itself to the
        // checks of other plants first.
        if plant.is_of_flows() != world.trace.plan.flow.is_some() {
            continue;
        }
        let mut options = subject::options(seed, world.chaos_len);
        if plant.only_stands_still() {
            options.liveness = Some(world.chaos_len);
        }
        let verdict = exit::quietly(|| subject::verdict(&world.trace, Some(plant), &options));
        let Some(violation) = verdict.and_then(|it| it.violation) else { continue };
        if !plant.is_killed_by(violation.name) {
            slips += 1;
            continue;
        }
        let small =
            crate::failure::shrunk(&world.trace, &violation, Some(plant), options, &mut |_| {});
        let (items, runs) =
            small.map_or((world.trace.items.len(), 0), |it| (it.trace.items.len(), it.executions));
        return Death { plant, by: Some((seed, violation.name, items, runs)), slips };
    }
    Death { plant, by: None, slips }
}

/// One check, and one plant that it must see with all other checks switched off.
#[derive(Debug)]
struct Proof {
    check: &'static str,
    plant: &'static Plant,
    /// The seed, and the items of the shrunk trace.
    by: Option<(u64, usize)>,
}

fn prove(check: &'static str, plant: &'static Plant) -> Proof {
    let breaks = |trace: &Trace, options: &Options| {
        exit::quietly(|| plant.breaks_alone(check, trace, options))
    };
    for seed in 0..SEEDS {
        let world = world(plant, seed);
        if plant.is_of_flows() != world.trace.plan.flow.is_some() {
            continue;
        }
        let liveness = Some(world.chaos_len);
        let options = Options { hash_seed: 0, draw: seed, twins: false, liveness };
        if breaks(&world.trace, &options).is_none() {
            continue;
        }
        // In a part of a world the place where its chaos ended means nothing: liveness goes on from
        // the end of what is left, which is that place at first.
        let options = Options { liveness: None, ..options };
        let mut trace = world.trace;
        if check.starts_with('L') {
            trace.items.truncate(world.chaos_len);
        }
        let mut fails = |it: &Trace| breaks(it, &options);
        let small = shrink(&trace, &mut fails, Limits::default(), &mut |_| {});
        let items = small.map_or(trace.items.len(), |it| it.trace.items.len());
        return Proof { check, plant, by: Some((seed, items)) };
    }
    Proof { check, plant, by: None }
}

fn report(deaths: &[Death], proofs: &[Proof], all: bool, console: &mut Console) -> Result<Exit> {
    let blind = proofs.iter().filter(|it| it.by.is_none()).map(|it| it.check);
    let unproven: BTreeSet<&str> = blind.collect();
    let mut items: Vec<usize> = deaths.iter().filter_map(|it| it.by).map(|it| it.2).collect();
    items.sort_unstable();
    let median = items.get(items.len() / 2).copied().unwrap_or(0);
    let alive = deaths.iter().filter(|it| it.by.is_none()).count();
    if console.json {
        for Death { plant, by, slips } in deaths {
            console.json(&json!({
                "schema": "plimsoll.mutant/1", "plant": plant.name, "what": plant.what,
                "modelled_on": plant.modelled_on, "killed_by": plant.killed_by,
                "seed": by.map(|it| it.0), "check": by.map(|it| it.1),
                "items": by.map(|it| it.2), "executions": by.map(|it| it.3), "slips": slips,
            }))?;
        }
        for Proof { check, plant, by } in proofs {
            console.json(&json!({
                "schema": "plimsoll.proof/1", "check": check, "plant": plant.name,
                "seed": by.map(|it| it.0), "items": by.map(|it| it.1),
            }))?;
        }
        console.json(&json!({
            "schema": "plimsoll.mutants/1", "plants": deaths.len(), "alive": alive,
            "median_items": median, "unproven": if all { Some(&unproven) } else { None },
        }))?;
    } else {
        let out = &mut console.out;
        writeln!(out, "{:<22} {:>5} {:>5} {:>5}  killed by", "plant", "seed", "items", "runs")?;
        for Death { plant, by, slips } in deaths {
            match by {
                Some((seed, check, items, runs)) => {
                    writeln!(out, "{:<22} {seed:>5} {items:>5} {runs:>5}  {check}", plant.name)?;
                }
                None => writeln!(
                    out,
                    "{:<22} ALIVE after {SEEDS} seeds ({slips} times another check spoke): {}",
                    plant.name, plant.what
                )?,
            }
        }
        let killed = deaths.len() - alive;
        writeln!(out, "{killed} of {} killed; median {median} items", deaths.len())?;
        told(proofs, &unproven, all, console)?;
    }
    let held = alive == 0 && unproven.is_empty();
    Ok(if held { Exit::Held } else { Exit::Violation })
}

fn told(
    proofs: &[Proof],
    unproven: &BTreeSet<&str>,
    all: bool,
    console: &mut Console,
) -> Result<()> {
    let out = &mut console.out;
    if !proofs.is_empty() {
        writeln!(out, "\n{:<38} {:>5} {:>5}  sees, alone", "check", "seed", "items")?;
    }
    for Proof { check, plant, by } in proofs {
        match by {
            Some((seed, items)) => {
                writeln!(out, "{check:<38} {seed:>5} {items:>5}  {}", plant.name)?;
            }
            None => writeln!(out, "{check:<38} BLIND after {SEEDS} seeds to {}", plant.name)?,
        }
    }
    if all {
        let checks: BTreeSet<&str> = proofs.iter().map(|it| it.check).collect();
        let proven = checks.len() - unproven.len();
        writeln!(out, "{proven} of {} checks see their bugs with all others off", checks.len())?;
    }
    Ok(())
}
