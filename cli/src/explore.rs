//! `plimsoll explore`: many worlds, each judged, until a budget is spent.
//!
//! Invariant: the same seeds give the same findings, whatever the number of jobs.

use crate::console::Console;
use crate::exit::{self, Exit};
use crate::seeds::{Seeds, seeds};
use anyhow::Result;
use std::path::PathBuf;
use std::time::Duration;

/// Try many seeded worlds and report every broken invariant, with a line that reproduces it
///
/// Without arguments: the embedded worlds, seeds 0..10,000, a minute at most, all cores.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  plimsoll explore
  plimsoll explore scenarios/worlds/commuters.toml --seeds 0..500 --artifacts failures
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

/// Explores.
pub(crate) fn run(_args: &Args, _console: &mut Console) -> Result<Exit> {
    exit::unfinished("explore")
}
