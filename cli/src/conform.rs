//! `plimsoll conform`: recorded vectors of real engines.
//!
//! Reads every `.json` file below what is named, in order of their paths, runs each vector's query here
//! and says how far the run and the recording agree. Reading, running and comparing are the library's
//! ([`plimsoll_sim::vector`]); this file finds files and prints.
//!
//! Invariant: every file that was found is counted once: it agrees, disagrees, was not run, or is
//! broken.

use crate::console::Console;
use crate::exit::Exit;
use anyhow::{Context as _, Result};
use plimsoll_sim::vector::{Disagreement, Outcome, Vector, VectorError, judge, read};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Run recorded vectors of real engines, and say where this engine does otherwise
///
/// A vector is a query, its rows and what Spark or Flink did with them; the formats are described in
/// the README beside the vectors of this project (tests/golden). Whose a vector is, it says itself.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  plimsoll conform tests/golden
  plimsoll conform tests/golden/spark/join_full_outer.json --json")]
pub(crate) struct Args {
    /// Vectors, or folders of them, which are searched to the bottom
    #[arg(value_name = "DIR", required = true)]
    pub(crate) paths: Vec<PathBuf>,
}

/// Runs them.
pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Exit> {
    let (mut files, mut seen) = (Vec::new(), BTreeSet::new());
    for path in &args.paths {
        if path.is_dir() {
            if !find(path, &mut seen, &mut files)? {
                writeln!(console.err, "no vector was found in {}", path.display())?;
            }
        } else if is_new(path, &mut seen)? {
            files.push(path.clone());
        }
    }
    let mut tally = Tally::default();
    for path in &files {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        match read(&bytes) {
            Ok(vector) => tally.judged(path, &vector, console)?,
            Err(errors) => tally.broken(path, &errors, console)?,
        }
    }
    tally.summary(console)?;
    Ok(tally.exit())
}

/// Whether a file or folder comes for the first time, by whatever way it is named.
fn is_new(path: &Path, seen: &mut BTreeSet<PathBuf>) -> Result<bool> {
    let real = fs::canonicalize(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(seen.insert(real))
}

/// All `.json` files below a folder that were not found before, in order. Says whether there is any,
/// found before or not.
fn find(folder: &Path, seen: &mut BTreeSet<PathBuf>, files: &mut Vec<PathBuf>) -> Result<bool> {
    if !is_new(folder, seen)? {
        return Ok(true);
    }
    let mut any = false;
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|it| it.map(|it| it.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            any |= find(&path, seen, files)?;
        } else if path.extension().is_some_and(|it| it == "json") {
            any = true;
            if is_new(&path, seen)? {
                files.push(path);
            }
        }
    }
    Ok(any)
}

/// How many agree, of how many.
#[derive(Clone, Copy, Default)]
struct Count {
    agree: usize,
    of: usize,
}

/// Everything that was counted.
#[derive(Default)]
struct Tally {
    /// Per engine and kind of operator.
    counts: BTreeMap<(&'static str, String), Count>,
    disagree: usize,
    not_run: usize,
    broken: usize,
}

impl Tally {
    fn judged(&mut self, path: &Path, vector: &Vector, console: &mut Console) -> io::Result<()> {
        let outcome = judge(vector);
        let key = (vector.engine().word(), vector.kind().to_owned());
        let count = self.counts.entry(key).or_default();
        count.of += 1;
        match &outcome {
            Outcome::Agreed(_) => count.agree += 1,
            Outcome::Disagreed(_) => self.disagree += 1,
            Outcome::NotRun(_) => self.not_run += 1,
        }
        if console.json {
            return console.json(&record(path, vector, &outcome));
        }
        match &outcome {
            Outcome::Agreed(_) => Ok(()),
            Outcome::Disagreed(it) => show(path, it, console),
            Outcome::NotRun(why) => {
                writeln!(console.out, "{}: cannot be run here: {why}", path.display())
            }
        }
    }

    fn broken(
        &mut self,
        path: &Path,
        errors: &[VectorError],
        console: &mut Console,
    ) -> io::Result<()> {
        self.broken += 1;
        for error in errors {
            writeln!(console.err, "error: {}: {error}", path.display())?;
        }
        Ok(())
    }

    fn summary(&self, console: &mut Console) -> io::Result<()> {
        let engines: BTreeMap<&str, Count> =
            self.counts.iter().fold(BTreeMap::new(), |mut all, ((engine, _), count)| {
                let sum: &mut Count = all.entry(*engine).or_default();
                (sum.agree, sum.of) = (sum.agree + count.agree, sum.of + count.of);
                all
            });
        if console.json {
            let kinds = self.counts.iter().map(|((engine, kind), it)| {
                json!({ "engine": engine, "kind": kind, "agree": it.agree, "of": it.of })
            });
            return console.json(&json!({
                "schema": "plimsoll.conformance_total/1",
                "kinds": kinds.collect::<Vec<_>>(),
                "disagree": self.disagree, "not_run": self.not_run, "broken": self.broken,
            }));
        }
        for (engine, all) in engines {
            writeln!(console.out, "{engine}: {} of {} vectors agree", all.agree, all.of)?;
            for ((_, kind), it) in self.counts.iter().filter(|it| it.0.0 == engine) {
                writeln!(console.out, "  {kind:<24} {:>4} of {:>4}", it.agree, it.of)?;
            }
        }
        Ok(())
    }

    /// One that cannot be run does not agree.
    fn exit(&self) -> Exit {
        match (self.broken, self.disagree + self.not_run) {
            (0, 0) if self.counts.is_empty() => Exit::NothingRan,
            (0, 0) => Exit::Held,
            (0, _) => Exit::Violation,
            _ => Exit::Usage,
        }
    }
}

fn record(path: &Path, vector: &Vector, outcome: &Outcome) -> Value {
    let mut record = json!({
        "schema": "plimsoll.conformance/1",
        "file": path.display().to_string(),
        "name": vector.name(),
        "engine": vector.engine().word(),
        "kind": vector.kind(),
    });
    let more = match outcome {
        Outcome::Agreed(it) => json!({ "outcome": "agrees", "steps": it.steps }),
        Outcome::NotRun(why) => json!({ "outcome": "not_run", "reason": why }),
        Outcome::Disagreed(it) => json!({
            "outcome": "disagrees", "step": it.step, "what": it.what, "expected": it.expected,
            "found": it.found, "rule": it.rule, "expected_step": it.expected_step,
            "found_step": it.found_step,
        }),
    };
    if let (Value::Object(record), Value::Object(more)) = (&mut record, more) {
        record.extend(more);
    }
    record
}

/// The first step that differs, both ways side by side, and the rule.
fn show(path: &Path, it: &Disagreement, console: &mut Console) -> io::Result<()> {
    let out = &mut console.out;
    let step = it.step.map_or(String::new(), |it| format!("step {it}, "));
    writeln!(out, "{}: {step}{}", path.display(), it.what)?;
    writeln!(out, "  expected {}", it.expected)?;
    writeln!(out, "  found    {}", it.found)?;
    writeln!(out, "  rule     {}", it.rule)?;
    let width = it.expected_step.iter().map(|it| it.chars().count()).max().unwrap_or(0);
    let lines = it.expected_step.len().max(it.found_step.len());
    for at in 0..lines {
        let line = |lines: &[String]| lines.get(at).cloned().unwrap_or_default();
        let (left, right) = (line(&it.expected_step), line(&it.found_step));
        let mark = if left == right { ' ' } else { '!' };
        writeln!(out, "  {mark} {left:<width$} | {right}")?;
    }
    writeln!(out)
}
