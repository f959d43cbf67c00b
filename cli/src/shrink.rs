//! `plimsoll shrink`: the smallest trace that still fails in the same way.
//!
//! Invariant: what is written breaks the invariant of the same name as what was read.

use crate::console::Console;
use crate::exit::{self, Exit};
use crate::subject;
use anyhow::Result;
use plimsoll_sim::report::Origin;
use plimsoll_sim::verdict::Options;
use std::io::Write as _;
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
pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Exit> {
    let plant = subject::plant(args.plant.as_deref())?;
    let (source, parsed) = subject::read_trace(&args.file, console)?;
    subject::runs(&parsed)?;
    let trace = parsed.trace;
    let options = Options { twins: true, liveness: Some(usize::MAX), ..Options::default() };
    let Some(violation) = exit::quietly(|| subject::fails(&trace, plant, &options)) else {
        writeln!(console.err, "{}: nothing fails, so there is nothing to shrink", source.name)?;
        return Ok(Exit::NothingRan);
    };
    let bar = crate::progress::bar("shrinking");
    let small = crate::failure::shrunk(&trace, &violation, plant, options, &mut |now| {
        bar.set_length(now.limit);
        bar.set_position(now.executions);
        bar.set_message(format!("{} items, {}", now.items, now.pass));
    });
    bar.finish_and_clear();
    let (small, violation, note) = match small {
        Some(it) => {
            let sure =
                if it.minimal { "no item can be taken away" } else { "the limit was reached" };
            let note = format!("{} runs; {sure}", it.executions);
            (it.trace, it.violation, note)
        }
        None => (trace.clone(), violation, "it fails only as a whole".to_owned()),
    };
    let origin =
        Origin { artefact: Some(args.output.display().to_string()), ..subject::origin(plant) };
    crate::failure::write_trace(&args.output, &small, &violation, &origin)?;
    let (from, to) = (trace.items.len(), small.items.len());
    writeln!(console.err, "{from} items became {to} ({note})")?;
    let report = crate::failure::report(&small, &violation, plant, options, origin, true);
    crate::failure::print(&report, console)?;
    Ok(Exit::Violation)
}
