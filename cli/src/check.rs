//! `plimsoll check`: golden outputs.
//!
//! Invariant: blessing changes golden lines only, never an input or a comment.

use crate::console::Console;
use crate::exit::{self, Exit};
use crate::subject::{engine, read_trace, runs};
use anyhow::{Context as _, Result};
use plimsoll_sim::golden::{self, Scribe};
use plimsoll_sim::run::Run;
use plimsoll_sim::trace::Trace;
use serde_json::json;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Compare what traces give with the golden lines (=>) that they carry
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  plimsoll check scenarios/semantics/*.trace
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
pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Exit> {
    let (mut differ, mut broken, mut items) = (0_usize, 0_usize, 0);
    for path in &args.files {
        match one(path, args.bless, &mut items, console) {
            Ok(same) => differ += usize::from(!same),
            Err(error) if exit::is_closed_pipe(&error) => return Err(error),
            Err(error) => {
                // One that cannot be read says nothing about the others.
                broken += 1;
                writeln!(console.err, "{}", exit::sentence(&error))?;
            }
        }
    }
    let files = args.files.len();
    if args.bless {
        writeln!(console.err, "{differ} of {files} traces were rewritten; read what changed")?;
        return Ok(if broken == 0 { Exit::Held } else { Exit::Usage });
    }
    let same = files - differ - broken;
    writeln!(console.err, "{same} of {files} traces as written, {items} items")?;
    Ok(match (broken, differ) {
        (0, 0) => Exit::Held,
        (0, _) => Exit::Violation,
        _ => Exit::Usage,
    })
}

/// True where the trace is as it says.
fn one(path: &Path, bless: bool, items: &mut usize, console: &mut Console) -> Result<bool> {
    let (source, parsed) = read_trace(path, console)?;
    runs(&parsed).with_context(|| source.name.to_string())?;
    *items += parsed.trace.items.len();
    let rendered = render(&parsed.trace).with_context(|| source.name.to_string())?;
    let mismatches = golden::check(&parsed, &rendered);
    if bless {
        if !mismatches.is_empty() {
            let text = golden::bless(&source.text, &rendered);
            fs::write(path, text).with_context(|| format!("cannot write {}", source.name))?;
        }
        return Ok(mismatches.is_empty());
    }
    for it in &mismatches {
        if console.json {
            console.json(&json!({
                "schema": "plimsoll.mismatch/1", "file": source.name, "item": it.item.0,
                "line": it.line, "expected": it.expected, "found": it.found,
            }))?;
            continue;
        }
        writeln!(console.out, "{}: {it}", source.name)?;
    }
    Ok(mismatches.is_empty())
}

/// The golden lines of each item, as the engine gives them.
fn render(trace: &Trace) -> Result<Vec<Vec<String>>> {
    let mut system = engine(trace)?;
    let mut run = Run::new(trace, &mut system, false);
    let mut scribe = Scribe::new(trace);
    let mut rendered = Vec::with_capacity(trace.items.len());
    while let Some(seen) = run.step() {
        match seen {
            Ok(seen) => rendered.push(scribe.observe(&seen)),
            Err(broken) => {
                rendered.push(vec![format!("broken {}: {}", broken.name, broken.evidence)])
            }
        }
    }
    Ok(rendered)
}
