//! `plimsoll explain`: why a row, a window or the watermark is as it is.
//!
//! Invariant: every sentence names the item that made it true.

use crate::console::Console;
use crate::exit::Exit;
use crate::subject;
use anyhow::{Context as _, Result};
use plimsoll_engine::row::ItemId;
use plimsoll_sim::explain::{self, Asked};
use plimsoll_sim::trace::time_text::parse_time;
use serde::Serialize;
use std::fmt::Display;
use std::io::Write as _;
use std::path::PathBuf;

/// Say why a row was late, why a window closed when it did, or why the watermark stands
#[derive(clap::Args, Debug)]
#[command(
    group = clap::ArgGroup::new("what").required(true).args(["row", "window", "watermark"]),
    after_help = "\
Examples:
  plimsoll explain found.trace --row 17
  plimsoll explain found.trace --window 10:00:00/a
  plimsoll explain found.trace --window 10:00:00/a --stage 1
  plimsoll explain found.trace --watermark"
)]
pub(crate) struct Args {
    /// The trace to explain
    #[arg(value_name = "FILE.trace")]
    pub(crate) file: PathBuf,
    /// What became of the row that is item number N, and why
    #[arg(long, value_name = "N")]
    pub(crate) row: Option<u64>,
    /// What is in the window that starts here, and what closed it; of a plan with stages also what is
    /// in the session that holds this instant, and with - for START in all of them, in count windows
    /// and in groups
    #[arg(long, value_name = "START[/KEY]", allow_hyphen_values = true)]
    pub(crate) window: Option<String>,
    /// The stage that is meant, from 1; the last one with windows, sessions or groups unless said
    #[arg(long, value_name = "N", requires = "window")]
    pub(crate) stage: Option<usize>,
    /// What moved the watermark, and what holds it
    #[arg(long)]
    pub(crate) watermark: bool,
}

/// Explains.
pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Exit> {
    let (_, parsed) = subject::read_trace(&args.file, console)?;
    subject::runs(&parsed)?;
    let trace = parsed.trace;
    if let Some(number) = args.row {
        return tell(explain::row(&trace, ItemId(number))?, console);
    }
    if let Some(text) = &args.window {
        let (start, key) = match text.split_once('/') {
            Some((start, key)) => (start, Some(key)),
            None => (text.as_str(), None),
        };
        let time = || parse_time(start).with_context(|| format!("--window {text}"));
        if trace.plan.flow.is_none() && args.stage.is_none() {
            return tell(explain::window(&trace, time()?, key)?, console);
        }
        let at = if start == "-" { None } else { Some(time()?) };
        return tell(explain::groups(&trace, Asked { at, key, stage: args.stage })?, console);
    }
    tell(explain::watermark(&trace)?, console)
}

fn tell(story: impl Serialize + Display, console: &mut Console) -> Result<Exit> {
    if console.json {
        console.json(&serde_json::to_value(&story)?)?;
    } else {
        write!(console.out, "{story}")?;
    }
    Ok(Exit::Held)
}
