//! `plimsoll check`: golden outputs.
//!
//! Invariant: blessing changes golden lines only, never an input or a comment.

use crate::console::Console;
use crate::exit::Exit;
use crate::subject::{engine, read_trace};
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
    let (mut differ, mut items) = (0_usize, 0);
    for path in &args.files {
        differ += usize::from(!one(path, args.bless, &mut items, console)?);
    }
    let files = args.files.len();
    if args.bless {
        writeln!(console.err, "{differ} of {files} traces were rewritten; read what changed")?;
        return Ok(Exit::Held);
    }
    writeln!(console.err, "{} of {files} traces as written, {items} items", files - differ)?;
    Ok(if differ == 0 { Exit::Held } else { Exit::Violation })
}

/// True where the trace is as it says.
fn one(path: &Path, bless: bool, items: &mut usize, console: &mut Console) -> Result<bool> {
    let (source, parsed) = read_trace(path, console)?;
    *items += parsed.trace.items.len();
    let rendered = render(&parsed.trace)?;
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
