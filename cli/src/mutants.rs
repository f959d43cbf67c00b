//! `plimsoll mutants`: does the harness see bugs that are known to be there?
//!
//! Invariant: a planted bug that nothing catches is a violation, of ours.

use crate::console::Console;
use crate::exit::{self, Exit};
use anyhow::Result;

/// Plant each known bug and see which invariant catches it, how soon, and with how small a trace
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  plimsoll mutants
  plimsoll mutants ignores_delay")]
pub(crate) struct Args {
    /// Only these; without any, all
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

/// Plants.
pub(crate) fn run(_args: &Args, _console: &mut Console) -> Result<Exit> {
    exit::unfinished("mutants")
}
