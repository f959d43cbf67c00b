//! `plimsoll replay`: one run again, step by step.
//!
//! Invariant: a trace replays the same way in every version; a seed only in its own.

use crate::console::Console;
use crate::exit::{self, Exit};
use anyhow::Result;
use std::path::PathBuf;

/// Run one trace, or the world of one seed, and show what happened at each step
#[derive(clap::Args, Debug)]
#[command(
    group = clap::ArgGroup::new("what").required(true).multiple(true).args(["file", "seed"]),
    after_help = "\
Examples:
  plimsoll replay found.trace
  plimsoll replay --seed 4711
  plimsoll replay scenarios/worlds/commuters.toml --seed 4711"
)]
pub(crate) struct Args {
    /// A trace; or, with --seed, the world to draw it from
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Draw the trace from this seed: a number, or a commit hash
    #[arg(long, value_name = "S", value_parser = crate::seeds::seed)]
    pub(crate) seed: Option<u64>,
    /// Plant a known bug, as `explore --plant` does
    #[arg(long, value_name = "NAME")]
    pub(crate) plant: Option<String>,
}

/// Replays.
pub(crate) fn run(_args: &Args, _console: &mut Console) -> Result<Exit> {
    exit::unfinished("replay")
}
