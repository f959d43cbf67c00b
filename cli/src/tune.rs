//! `plimsoll tune`: what every delay would lose and cost.
//!
//! Invariant: the loss of each delay is counted, not estimated.

use crate::console::Console;
use crate::exit::{self, Exit};
use anyhow::Result;
use std::path::PathBuf;

/// Say for every delay which rows of a recording it would lose, and what it would cost
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  plimsoll tune trips.csv --event-col pickup --arrival-col received")]
pub(crate) struct Args {
    /// Rows as CSV or NDJSON; - reads standard input
    #[arg(value_name = "INPUT")]
    pub(crate) input: PathBuf,
    /// The column that says when a row happened
    #[arg(long, value_name = "NAME")]
    pub(crate) event_col: String,
    /// The column that says when it arrived
    #[arg(long, value_name = "NAME")]
    pub(crate) arrival_col: String,
}

/// Tunes.
pub(crate) fn run(_args: &Args, _console: &mut Console) -> Result<Exit> {
    exit::unfinished("tune")
}
