//! The same rows as a trace, judged after every item by the independent reference, and written where
//! somebody wants to ask it further.
//!
//! Invariant: what is printed came out of a step that the reference agrees with.

use super::plan::Query;
use super::printer::Printer;
use super::{Args, Ended, ends};
use crate::console::Console;
use crate::recording::Rows;
use anyhow::{Context as _, Result, bail};
use plimsoll_sim::invariant::oracle::OracleAgreement;
use plimsoll_sim::recording::Row;
use plimsoll_sim::recording::playback::{Batches, Playback, Recorded};
use plimsoll_sim::recording::report::Report;
use plimsoll_sim::recording::tally::Tally;
use plimsoll_sim::run::Run;
use plimsoll_sim::system::System as _;
use plimsoll_sim::system::engine::Engine;
use plimsoll_sim::trace::write::write;
use std::fs;
use std::io::Write as _;

/// Runs with the reference beside.
pub(super) fn run(
    args: &Args,
    query: &Query,
    batches: Batches,
    rows: &mut Rows,
    console: &mut Console,
) -> Result<Ended> {
    let mut recorded: Option<Recorded> = None;
    let mut taken = 0;
    let (arrivals, broken) = args.recording.each(rows, |row: &Row| {
        let start = || Playback::start_of(query.clock, Some(row));
        let recorded = recorded.get_or_insert_with(|| {
            Recorded::new(query.checked.clone().into_plan(), batches, start())
        });
        if !recorded.push(row) {
            bail!("--verify holds at most 2^32 cells; run without it");
        }
        taken += 1;
        Ok(())
    })?;
    let Some(mut recorded) = recorded else {
        return Ok(Ended { rows: 0, broken, arrivals, violation: None, adds_up: true });
    };
    recorded.end_batch();
    if ends(args, broken.is_some()) {
        recorded.end();
    }
    recorded.trace.dictionary = rows.texts().clone();
    let trace = &recorded.trace;
    if let Some(path) = &args.trace {
        let text = write(trace, &head(args, query, rows));
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
        writeln!(
            console.err,
            "note: the rows are {} items of {}",
            trace.items.len(),
            path.display()
        )?;
    }
    let mut engine = Engine::with_plan(query.checked.clone(), trace.clock, 0);
    let mut agreement = OracleAgreement::new(trace);
    let mut printer = Printer::new(args, query, Tally { rows: taken, ..Tally::default() });
    let report = Report { plan: &trace.plan, texts: rows.texts(), partitions: rows.partitions() };
    let mut run = Run::new(trace, &mut engine, false);
    while let Some(seen) = run.step() {
        let judged = match seen {
            Ok(seen) => agreement.observe(&seen).map(|()| seen),
            Err(violation) => Err(violation),
        };
        match judged {
            Ok(seen) => printer.observe(&report, seen.output, |it| recorded.line(it), console)?,
            Err(violation) => {
                let line = recorded.line(violation.at);
                let violation = Some(format!(
                    "violation: {} at item {} (line {line}): {}",
                    violation.name, violation.at.0, violation.evidence
                ));
                return Ok(Ended { rows: taken, broken, arrivals, violation, adds_up: true });
            }
        }
    }
    let adds_up = printer.finish(&engine.view(true), console)?;
    writeln!(
        console.err,
        "verified: the reference agrees after each of {} items",
        trace.items.len()
    )?;
    Ok(Ended { rows: taken, broken, arrivals, violation: None, adds_up })
}

/// Where the trace comes from, and which partition is which.
fn head(args: &Args, query: &Query, rows: &Rows) -> Vec<String> {
    let name = args.input.file_name().unwrap_or(args.input.as_os_str());
    let mut head = vec![format!("recorded rows of {}", name.display())];
    let names = rows.partitions();
    let several = query.checked.flow.as_ref().is_some_and(|it| 1 < it.inputs.len());
    if args.recording.partition_col.is_some() {
        let of = if several { " of each input" } else { "" };
        let texts = (0..names.len()).filter_map(|it| {
            Some(format!("partition p{it}{of} is {}", names.text(i64::try_from(it).ok()?)?))
        });
        head.extend(texts);
    }
    head
}
