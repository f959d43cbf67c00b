//! `plimsoll replay`: one run again, step by step.
//!
//! Invariant: a trace replays the same way in every version; a seed only in its own.

use crate::console::Console;
use crate::exit::{self, Exit};
use crate::source;
use crate::subject::{self, Worlds};
use anyhow::Result;
use plimsoll_sim::golden::Scribe;
use plimsoll_sim::report::Origin;
use plimsoll_sim::run::Run;
use plimsoll_sim::system::System;
use plimsoll_sim::trace::Trace;
use plimsoll_sim::trace::write::{item_text, plan_line};
use plimsoll_sim::verdict::Options;
use plimsoll_sim::zoo::Plant;
use serde_json::json;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// Run one trace, or the world of one seed, and show what happened at each step
#[derive(clap::Args, Debug)]
#[command(
    group = clap::ArgGroup::new("what").required(true).multiple(true).args(["file", "seed"]),
    after_help = "\
Examples:
  plimsoll replay found.trace
  plimsoll replay --seed 4711
  plimsoll replay scenarios/waking_backlog.toml --seed 4711"
)]
pub(crate) struct Args {
    /// A trace; or, with --seed, the world to draw it from
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Draw the trace from this seed: a number, or a commit hash
    #[arg(long, value_name = "S", value_parser = crate::seeds::seed)]
    pub(crate) seed: Option<u64>,
    /// Plant a known bug, as `explore --plant` does
    #[arg(long, value_name = "NAME")]
    pub(crate) plant: Option<String>,
}

/// Replays.
pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Exit> {
    let plant = subject::plant(args.plant.as_deref())?;
    let Some(seed) = args.seed else {
        let path = args.file.as_deref().expect("a file or a seed");
        let source = source::read_text(path)?;
        let origin = || Origin { artefact: Some(source.name.clone()), ..subject::origin(plant) };
        return match subject::parse_beside(path, &source.text) {
            Ok(parsed) => {
                subject::runs(&parsed)?;
                replay(&parsed.trace, plant, ALL, origin(), console)
            }
            Err(broken) => {
                // What stands before the break is good, and is shown.
                if let Some(good) = &broken.good {
                    replay(&good.trace, plant, ALL, origin(), console)?;
                }
                Err(subject::broken_trace(&source, &broken, console))
            }
        };
    };
    let files: Vec<PathBuf> = args.file.iter().cloned().collect();
    let drawn = Worlds::read(&files, console)?.draw(seed);
    let options = Options {
        twins: true,
        liveness: Some(drawn.world.chaos_len),
        ..subject::options(seed, drawn.world.chaos_len)
    };
    let origin = Origin {
        seed: Some(seed),
        scenario: drawn.file,
        scenario_hash: Some(drawn.hash),
        ..subject::origin(plant)
    };
    replay(&drawn.world.trace, plant, options, origin, console)
}

/// A trace is asked everything; liveness goes on from its end.
const ALL: Options = Options { hash_seed: 0, draw: 0, twins: true, liveness: Some(usize::MAX) };

fn replay(
    trace: &Trace,
    plant: Option<&'static Plant>,
    options: Options,
    origin: Origin,
    console: &mut Console,
) -> Result<Exit> {
    if trace.items.is_empty() {
        writeln!(console.err, "nothing ran: the trace has no item")?;
        return Ok(Exit::NothingRan);
    }
    let mut system = match subject::system(trace, plant, 0) {
        Ok(system) => system,
        Err(_) => subject::engine(trace).map(|it| Box::new(it) as Box<dyn System>)?,
    };
    let failed = exit::quietly(|| subject::fails(trace, plant, &options));
    let until = failed.as_ref().map_or(u64::MAX, |it| it.at.0);
    if !console.json {
        writeln!(console.out, "{}", plan_line(trace))?;
    }
    let mut run = Run::new(trace, &mut *system, false);
    let mut scribe = Scribe::new(trace);
    let mut show = || -> Result<()> {
        while let Some(Ok(seen)) = run.step() {
            let text = item_text(trace, seen.item);
            let lines = scribe.observe(&seen);
            if console.json {
                console.json(&json!({
                    "schema": "plimsoll.item/1", "item": seen.id.0, "text": text, "out": lines,
                }))?;
            } else {
                writeln!(console.out, "{:>4}  {text}", seen.id.0)?;
                for line in &lines {
                    writeln!(console.out, "      => {line}")?;
                }
            }
            if until <= seen.id.0 {
                break;
            }
        }
        Ok(())
    };
    // A panic of the system is in the verdict already.
    exit::quietly(|| catch_unwind(AssertUnwindSafe(&mut show))).unwrap_or(Ok(()))?;
    let Some(violation) = failed else {
        writeln!(console.err, "all that was checked held, {} items", trace.items.len())?;
        return Ok(Exit::Held);
    };
    let report = crate::failure::report(trace, &violation, plant, options, origin, false);
    crate::failure::print(&report, console)?;
    Ok(Exit::Violation)
}
