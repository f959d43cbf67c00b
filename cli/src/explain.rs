//! `plimsoll explain`: why a row, a window or the watermark is as it is.
//!
//! Invariant: every sentence names the item that made it true.

use crate::console::Console;
use crate::exit::{self, Exit};
use anyhow::Result;
use std::path::PathBuf;

/// Say why a row was late, why a window closed when it did, or why the watermark stands
#[derive(clap::Args, Debug)]
#[command(
    group = clap::ArgGroup::new("what").required(true).args(["row", "window", "watermark"]),
    after_help = "\
Examples:
  plimsoll explain found.trace --row 17
  plimsoll explain found.trace --window 10:00:00/a
  plimsoll explain found.trace --watermark"
)]
pub(crate) struct Args {
    /// The trace to explain
    #[arg(value_name = "FILE.trace")]
    pub(crate) file: PathBuf,
    /// What became of the row that is item number N, and why
    #[arg(long, value_name = "N")]
    pub(crate) row: Option<u64>,
    /// What is in the window that starts here, and what closed it
    #[arg(long, value_name = "START[/KEY]", allow_hyphen_values = true)]
    pub(crate) window: Option<String>,
    /// What moved the watermark, and what holds it
    #[arg(long)]
    pub(crate) watermark: bool,
}

/// Explains.
pub(crate) fn run(_args: &Args, _console: &mut Console) -> Result<Exit> {
    exit::unfinished("explain")
}
