//! A failure: shrunk, explained, written out, printed.
//!
//! Invariant: what is written breaks the invariant of the same name.

use crate::console::Console;
use crate::exit;
use crate::subject;
use anyhow::{Context as _, Result};
use plimsoll_sim::explain::failure;
use plimsoll_sim::invariant::Violation;
use plimsoll_sim::report::{FailureReport, Origin};
use plimsoll_sim::shrink::{Limits, Shrunk, shrink};
use plimsoll_sim::trace::Trace;
use plimsoll_sim::trace::write::write;
use plimsoll_sim::verdict::Options;
use plimsoll_sim::zoo::Plant;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// What shrinking and explaining ask of a candidate: liveness goes on from its end, because where the
/// chaos of a world ended means nothing in a part of it.
fn for_candidates(violation: &Violation, options: Options) -> Options {
    let liveness = violation.name.starts_with('L').then_some(usize::MAX);
    let twins = options.twins && matches!(number(violation.name), "I9" | "I25" | "I30" | "I39");
    Options { liveness, twins, ..options }
}

fn number(name: &str) -> &str {
    name.split(' ').next().unwrap_or_default()
}

/// Shrinks a failing trace. `None` where it does not fail under these checks.
pub(crate) fn shrunk(
    trace: &Trace,
    violation: &Violation,
    plant: Option<&Plant>,
    options: Options,
    progress: &mut dyn FnMut(plimsoll_sim::shrink::Progress),
) -> Option<Shrunk> {
    let options = for_candidates(violation, options);
    exit::quietly(|| {
        let mut fails = |it: &Trace| subject::fails(it, plant, &options);
        shrink(trace, &mut fails, Limits::default(), progress)
    })
}

/// The report of a failure, with its story where `told`.
pub(crate) fn report(
    trace: &Trace,
    violation: &Violation,
    plant: Option<&Plant>,
    options: Options,
    origin: Origin,
    told: bool,
) -> FailureReport {
    let options = for_candidates(violation, options);
    let story = told.then(|| {
        exit::quietly(|| {
            let mut system = |it: &Trace| subject::system(it, plant, 0).ok();
            let mut fails = |it: &Trace| subject::fails(it, plant, &options);
            failure(trace, violation, &mut system, &mut fails, Limits { executions: 2_000 })
        })
    });
    FailureReport::new(trace, violation, origin, story.flatten())
}

/// Prints a report.
pub(crate) fn print(report: &FailureReport, console: &mut Console) -> Result<()> {
    if console.json {
        console.json(&serde_json::to_value(report)?)?;
    } else {
        write!(console.out, "{report}")?;
    }
    Ok(())
}

/// Writes a trace with where it comes from as comments.
pub(crate) fn write_trace(
    path: &Path,
    trace: &Trace,
    violation: &Violation,
    origin: &Origin,
) -> Result<()> {
    let mut head = vec![format!("breaks {} at item {}", violation.name, violation.at.0)];
    head.extend(violation.evidence.lines().map(str::to_owned));
    head.extend(origin.seed.map(|it| format!("seed {it}")));
    head.extend(origin.scenario.iter().map(|it| format!("world {it}")));
    head.extend(origin.scenario_hash.map(|it| format!("world hash {it:016x}")));
    head.extend(origin.plant.iter().map(|it| format!("planted bug {it}")));
    let commit = origin.commit.as_deref().unwrap_or("unknown");
    head.push(format!("plimsoll {}, commit {commit}", origin.version));
    save(path, &write(trace, &head))
}

/// Writes a file whole or not at all.
pub(crate) fn save(path: &Path, text: &str) -> Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    if let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        fs::create_dir_all(folder).with_context(cannot)?;
    }
    let half: PathBuf = path.with_extension("half-written");
    let written: io::Result<()> = (|| {
        fs::File::create(&half)?.write_all(text.as_bytes())?;
        fs::rename(&half, path)
    })();
    written.with_context(cannot)
}
