//! `plimsoll explore`: many worlds, each judged, until a budget is spent.
//!
//! Invariant: the same seeds give the same findings, whatever the number of jobs.

mod campaign;
mod determinism;
mod report;

use crate::console::Console;
use crate::exit::{self, Exit};
use crate::seeds::{Seeds, seeds};
use crate::subject::{self, Worlds};
use anyhow::Result;
use campaign::{Campaign, Judged};
use plimsoll_sim::zoo::Plant;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::io::Write as _;
use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Try many seeded worlds and report every broken invariant, with a line that reproduces it
///
/// Without arguments: the embedded worlds, seeds 0..10,000, a minute at most, all cores.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  plimsoll explore
  plimsoll explore scenarios/waking_backlog.toml --seeds 0..500 --artifacts failures
  plimsoll explore --budget 10min --check-determinism")]
pub(crate) struct Args {
    /// Worlds to draw from; without any, the embedded ones
    #[arg(value_name = "SCENARIO.toml")]
    pub(crate) scenarios: Vec<PathBuf>,
    /// Which seeds: the first N, or from A up to but without B
    #[arg(long, value_name = "N|A..B", value_parser = seeds)]
    pub(crate) seeds: Option<Seeds>,
    /// Stop after this long, such as 60s or 10min
    #[arg(long, value_name = "SPAN", value_parser = crate::seeds::budget)]
    pub(crate) budget: Option<Duration>,
    /// How many seeds to run at the same time; all cores unless said
    #[arg(long, value_name = "JOBS")]
    pub(crate) jobs: Option<usize>,
    /// Where to write a trace for each failure
    #[arg(long, value_name = "DIR")]
    pub(crate) artifacts: Option<PathBuf>,
    /// Run each seed twice and compare the two runs event by event
    #[arg(long)]
    pub(crate) check_determinism: bool,
    /// Plant a known bug, to see that the alarm works; `canary` plants one for 1 seed in 100
    #[arg(long, value_name = "NAME")]
    pub(crate) plant: Option<String>,
}

/// Seeds of one portion: what runs between two looks at the budget.
const PORTION: u64 = 512;
/// Failures that are shrunk and told, each the first of its name.
const TOLD: usize = 3;
/// More threads than this help nobody, and some machines cannot start them.
const MOST_JOBS: usize = 256;

/// Explores.
pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Exit> {
    let plant = subject::plant(args.plant.as_deref())?;
    let worlds = Worlds::read(&args.scenarios, console)?;
    let asked = args.seeds.is_some() || args.budget.is_some();
    let seeds = args
        .seeds
        .clone()
        .map_or(if args.budget.is_some() { 0..u64::MAX } else { 0..10_000 }, |it| it.0);
    let budget = args.budget.or_else(|| (!asked).then_some(Duration::from_secs(60)));
    if seeds.is_empty() {
        writeln!(console.err, "nothing ran: there is no seed in the range")?;
        return Ok(Exit::NothingRan);
    }
    let pool =
        ThreadPoolBuilder::new().num_threads(args.jobs.unwrap_or(0).min(MOST_JOBS)).build()?;
    let (campaign, divergence) = explore(args, &worlds, plant, seeds, budget, &pool);
    report::summary(&campaign, args.check_determinism && divergence.is_none(), console)?;
    if let Some(divergence) = divergence {
        writeln!(console.out, "{divergence}")?;
        return Ok(Exit::Violation);
    }
    if campaign.ran() == 0 {
        let why = match campaign.seeds {
            0 => "the budget was spent before the first seed",
            _ => "every plan was refused",
        };
        writeln!(console.err, "nothing ran: {why}")?;
        return Ok(Exit::NothingRan);
    }
    let mut first: Vec<_> = campaign.failures.values().cloned().collect();
    first.sort_by_key(|it| it.1);
    let folder = args.artifacts.clone().unwrap_or_else(|| PathBuf::from("artifacts"));
    for (_, seed, violation) in first.iter().take(TOLD) {
        report::failure(*seed, violation, &worlds, plant, &folder, console)?;
    }
    if let Some(more) = first.len().checked_sub(TOLD).filter(|it| 0 < *it) {
        writeln!(console.out, "and {more} more kinds of failure")?;
    }
    Ok(if first.is_empty() { Exit::Held } else { Exit::Violation })
}

/// Portions of seeds, until they or the budget are spent, or two runs of one seed differ.
fn explore(
    args: &Args,
    worlds: &Worlds,
    plant: Option<&'static Plant>,
    seeds: Range<u64>,
    budget: Option<Duration>,
    pool: &ThreadPool,
) -> (Campaign, Option<String>) {
    #[expect(clippy::disallowed_methods, reason = "a budget is wall-clock time by definition")]
    let start = Instant::now();
    let bar = crate::progress::bar("exploring");
    bar.set_length(seeds.end.saturating_sub(seeds.start));
    let mut campaign = Campaign::default();
    let mut from = seeds.start;
    while from < seeds.end && budget.is_none_or(|it| start.elapsed() < it) {
        let to = seeds.end.min(from.saturating_add(PORTION));
        let judged: Vec<(Judged, Option<String>)> = pool.install(|| {
            (from..to)
                .into_par_iter()
                .map(|seed| one(seed, worlds, plant, args.check_determinism))
                .collect()
        });
        for (judged, divergence) in judged {
            campaign.add(judged);
            if divergence.is_some() {
                bar.finish_and_clear();
                return (campaign, divergence);
            }
        }
        bar.set_position(to - seeds.start);
        bar.set_message(format!("{} failed", campaign.failed()));
        from = to;
    }
    bar.finish_and_clear();
    (campaign, None)
}

fn one(
    seed: u64,
    worlds: &Worlds,
    plant: Option<&'static Plant>,
    twice: bool,
) -> (Judged, Option<String>) {
    let drawn = worlds.draw(seed);
    let trace = &drawn.world.trace;
    let options = subject::options(seed, drawn.world.chaos_len);
    let verdict = exit::quietly(|| subject::verdict(trace, plant, &options));
    let closes = campaign::closes(trace);
    let divergence = if twice { determinism::divergence(seed, worlds, plant) } else { None };
    (Judged { seed, world: drawn.name, closes, verdict }, divergence)
}
