//! `plimsoll shrink`: the smallest trace that still fails in the same way.
//!
//! Invariant: what is written breaks the invariant of the same name as what was read.

use crate::console::Console;
use crate::exit::{self, Exit};
use anyhow::Result;
use std::path::PathBuf;

/// Make a failing trace as small as it gets while the same invariant still breaks
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  plimsoll shrink found.trace -o small.trace")]
pub(crate) struct Args {
    /// The failing trace
    #[arg(value_name = "FILE.trace")]
    pub(crate) file: PathBuf,
    /// Where to write the small one
    #[arg(short, long, value_name = "OUT.trace")]
    pub(crate) output: PathBuf,
    /// Plant a known bug, as `explore --plant` does
    #[arg(long, value_name = "NAME")]
    pub(crate) plant: Option<String>,
}

/// Shrinks.
pub(crate) fn run(_args: &Args, _console: &mut Console) -> Result<Exit> {
    exit::unfinished("shrink")
}
