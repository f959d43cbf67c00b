//! `plimsoll run`: a plan over a recording or a stream.
//!
//! Invariant: rows before a broken one are finished and printed.

use crate::console::Console;
use crate::exit::{self, Exit};
use anyhow::Result;
use std::path::PathBuf;

/// Run a plan over recorded rows and print its windows, its late rows and its progress
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  plimsoll run plan.toml trips.csv
  tail -f events.ndjson | plimsoll run plan.toml - --checkpoint state")]
pub(crate) struct Args {
    /// The query and its rules
    #[arg(value_name = "PLAN.toml")]
    pub(crate) plan: PathBuf,
    /// Rows as CSV or NDJSON; - reads standard input
    #[arg(value_name = "INPUT")]
    pub(crate) input: PathBuf,
    /// Keep state here, and resume from what is there
    #[arg(long, value_name = "DIR")]
    pub(crate) checkpoint: Option<PathBuf>,
}

/// Runs.
pub(crate) fn run(_args: &Args, _console: &mut Console) -> Result<Exit> {
    exit::unfinished("run")
}
