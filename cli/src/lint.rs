//! `plimsoll lint`: what is wrong with a plan, before the first row.
//!
//! Invariant: all problems of all files are reported at once.

use crate::console::Console;
use crate::exit::{self, Exit};
use anyhow::Result;
use std::path::PathBuf;

/// Say everything that is wrong with a plan: what would be refused, and what may surprise
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  plimsoll lint plan.toml")]
pub(crate) struct Args {
    /// Plans
    #[arg(value_name = "PLAN.toml", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

/// Lints.
pub(crate) fn run(_args: &Args, _console: &mut Console) -> Result<Exit> {
    exit::unfinished("lint")
}
