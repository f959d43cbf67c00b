//! `plimsoll compare`: one trace under several engines' rules.
//!
//! Invariant: a difference is a result, not a failure; only what cannot be compared is an error.

use crate::console::Console;
use crate::exit::Exit;
use crate::subject::read_trace;
use anyhow::Result;
use plimsoll_sim::compare::{self, Cuts};
use serde_json::json;
use std::io::Write as _;
use std::path::PathBuf;

/// Run one trace under the rules of several engines and say where they differ, and why
///
/// The query stays, the rules are each engine's. Rows with different fates are shown with the rule and
/// the numbers that decided, figures side by side. The name `trace` stands for the trace's own rules.
///
/// Exit code 0 means that it was compared, whether or not anything differs; 3 that fewer than two
/// profiles can carry the query.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  plimsoll compare found.trace --profiles seed,spark-4,flink
  plimsoll compare found.trace --profiles trace,spark-4 --each-row --all")]
pub(crate) struct Args {
    /// The trace to run
    #[arg(value_name = "FILE.trace")]
    pub(crate) file: PathBuf,
    /// The profiles, with commas between them
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "seed,spark-4,flink")]
    pub(crate) profiles: Vec<String>,
    /// Let every row be a batch of its own, followed by a probe, instead of the trace's own cuts
    #[arg(long)]
    pub(crate) each_row: bool,
    /// Show all differences, not a page of them
    #[arg(long)]
    pub(crate) all: bool,
}

/// Compares.
pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Exit> {
    let (source, parsed) = read_trace(&args.file, console)?;
    let names: Vec<&str> = args.profiles.iter().map(|it| it.trim()).collect();
    let cuts = if args.each_row { Cuts::EachRow } else { Cuts::AsWritten };
    let told = compare::compare(&parsed.trace, &names, cuts)?;
    if console.json {
        console.json(&json!({
            "schema": "plimsoll.comparison/1", "file": source.name, "comparison": told,
        }))?;
    } else {
        write!(console.out, "{}", told.text(args.all))?;
    }
    if told.ran.len() < 2 {
        let ran = told.ran.len();
        writeln!(console.err, "nothing was compared: {ran} of {} profiles ran", names.len())?;
        return Ok(Exit::NothingRan);
    }
    if parsed.trace.items.is_empty() {
        writeln!(console.err, "nothing ran: the trace has no item")?;
        return Ok(Exit::NothingRan);
    }
    Ok(Exit::Held)
}
