//! `plimsoll check`: golden outputs.
//!
//! Invariant: blessing changes golden lines only, never an input or a comment.

use crate::console::Console;
use crate::exit::{self, Exit};
use anyhow::Result;
use std::path::PathBuf;

/// Compare what traces give with the golden lines (=>) that they carry
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  plimsoll check scenarios/stories/*.trace
  plimsoll check new.trace --bless")]
pub(crate) struct Args {
    /// Traces with golden lines
    #[arg(value_name = "FILE.trace", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Accept what comes out now: rewrite the golden lines, and nothing else
    #[arg(long)]
    pub(crate) bless: bool,
}

/// Checks.
pub(crate) fn run(_args: &Args, _console: &mut Console) -> Result<Exit> {
    exit::unfinished("check")
}
