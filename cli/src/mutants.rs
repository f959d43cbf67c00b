//! `plimsoll mutants`: does the harness see bugs that are known to be there?
//!
//! Invariant: a planted bug that nothing catches is a violation, of ours.

use crate::console::Console;
use crate::exit::{self, Exit};
use crate::subject::{self, Worlds};
use anyhow::Result;
use plimsoll_sim::invariant;
use plimsoll_sim::zoo::{self, Plant};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Write as _;

/// Plant each known bug and see which invariant catches it, how soon, and with how small a trace
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
    let bar = crate::progress::bar("planting");
    bar.set_length(plants.len() as u64);
    let deaths: Vec<Death> = plants
        .into_par_iter()
        .map(|plant| {
            let death = kill(plant);
            bar.inc(1);
            death
        })
        .collect();
    bar.finish_and_clear();
    report(&deaths, args.names.is_empty(), console)
}

fn kill(plant: &'static Plant) -> Death {
    let mut slips = 0;
    for seed in 0..SEEDS {
        let world = Worlds::Embedded.draw(seed).world;
        // Each in the worlds that it is made for: elsewhere it shows nothing, or shows itself to the
        // checks of other plants first.
        if plant.is_of_flows() != world.trace.plan.flow.is_some() {
            continue;
        }
        let options = subject::options(seed, world.chaos_len);
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

fn report(deaths: &[Death], all: bool, console: &mut Console) -> Result<Exit> {
    let proven: BTreeSet<&str> = deaths.iter().filter_map(|it| it.by).map(|it| it.1).collect();
    let unproven: Vec<&str> = invariant::names().filter(|it| !proven.contains(it)).collect();
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
        console.json(&json!({
            "schema": "plimsoll.mutants/1", "plants": deaths.len(), "alive": alive,
            "median_items": median, "unproven": if all { Some(unproven) } else { None },
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
        if all {
            writeln!(out, "unproven (no plant has tripped them): {}", unproven.join(", "))?;
        }
    }
    Ok(if alive == 0 { Exit::Held } else { Exit::Violation })
}
