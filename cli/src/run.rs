//! `plimsoll run`: a plan over a recording or a stream.
//!
//! Rows are handed to the engine as they are read; nothing but its state is held, except with `--verify`
//! and `--sort-by-arrival`, which hold all rows. At the end of the rows the input has ended and every window
//! closes, unless state is kept for a continuation, or the rows broke off: then it is not known that
//! nothing is missing, and open windows stay open.
//!
//! Invariant: rows before a broken one are taken, and what came of them is printed.

mod checkpoint;
pub(crate) mod plan;
mod printer;
mod stream;
mod verify;

use crate::console::Console;
use crate::exit::Exit;
use crate::recording::{RecordingArgs, broken_sentence, units_sentence};
use crate::tune::positive;
use anyhow::{Result, bail};
use plan::Query;
use plimsoll_engine::plan::{GeneratorPlan, Trigger, WatermarkPlan};
use plimsoll_engine::time::Span;
use plimsoll_sim::recording::ColumnOptions;
use plimsoll_sim::recording::error::RecordingError;
use plimsoll_sim::recording::order::ArrivalClock;
use plimsoll_sim::recording::playback::Batches;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Run a plan over recorded rows and print its windows, its late rows and its progress
///
/// Columns of the plan are found in the input by their names; --col and --event-col say where a
/// name differs. Only columns that the plan uses are read.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  plimsoll run plan.toml trips.csv --event-col pickup --arrival-col received
  plimsoll run plan.toml trips.csv --arrival-col received --verify
  plimsoll run plan.toml clicks.csv --input-col topic --trace clicks.trace
  tail -f events.ndjson | plimsoll run plan.toml - --checkpoint state")]
pub(crate) struct Args {
    /// The query and its rules
    #[arg(value_name = "PLAN.toml")]
    pub(crate) plan: PathBuf,
    /// Rows as CSV or NDJSON, in order of arrival; - reads standard input
    #[arg(value_name = "INPUT")]
    pub(crate) input: PathBuf,
    /// The input's column for the plan's event time
    #[arg(long, value_name = "NAME")]
    pub(crate) event_col: Option<String>,
    /// The input's column for another column of the plan; may be given several times
    #[arg(long, value_name = "PLAN=INPUT", value_parser = renamed)]
    pub(crate) col: Vec<(String, String)>,
    /// A batch ends after so many rows, where the plan's trigger is batch
    #[arg(long, value_name = "N", conflicts_with = "batch_every", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) batch_rows: Option<u64>,
    /// A batch ends at the first arrival after each multiple of this span
    #[arg(long, value_name = "SPAN", value_parser = positive, requires = "arrival_col")]
    pub(crate) batch_every: Option<Span>,
    /// Keep state here, and go on from what is there; windows stay open at the end of the rows
    #[arg(long, value_name = "DIR", conflicts_with_all = ["verify", "sort_by_arrival"])]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Rows between two checkpoints
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) checkpoint_every: u64,
    /// The input ends with these rows: close every window
    #[arg(long)]
    pub(crate) end: bool,
    /// Leave windows open at the end of the rows
    #[arg(long, conflicts_with = "end")]
    pub(crate) no_end: bool,
    /// Judge every step by the independent reference; holds all rows
    #[arg(long)]
    pub(crate) verify: bool,
    /// Write the rows as a trace into this file, for `explain`, `replay` and `compare`; like --verify, which
    /// it includes, it holds all rows
    #[arg(long, value_name = "FILE.trace", conflicts_with_all = ["checkpoint", "progress"])]
    pub(crate) trace: Option<PathBuf>,
    /// How many late rows to list
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) late_rows: usize,
    /// Write a progress record as JSON to standard error after every step with rows
    #[arg(long, conflicts_with = "verify")]
    pub(crate) progress: bool,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
}

/// Rows of a batch, where nothing is said.
const BATCH_ROWS: u64 = 1_000;

pub(crate) fn renamed(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((plan, input)) if !plan.is_empty() && !input.is_empty() => {
            Ok((plan.to_owned(), input.to_owned()))
        }
        _ => {
            Err("expected the plan's name, `=`, and the input's name, such as k=carrier".to_owned())
        }
    }
}

/// How the rows ended.
struct Ended {
    rows: u64,
    broken: Option<RecordingError>,
    arrivals: ArrivalClock,
    /// A violation, as its report.
    violation: Option<String>,
    /// Whether the account adds up.
    adds_up: bool,
}

/// What is written is none of the files that are read.
fn spares(written: &Path, read: &[&Path]) -> Result<()> {
    let Ok(real) = fs::canonicalize(written) else { return Ok(()) };
    for path in read {
        if fs::canonicalize(path).is_ok_and(|it| it == real) {
            let written = written.display();
            bail!("--trace would overwrite {written}, which this command reads; name another file");
        }
    }
    Ok(())
}

/// Runs.
pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Exit> {
    if let Some(trace) = &args.trace {
        spares(trace, &[&args.plan, &args.input])?;
    }
    let query = plan::read(&args.plan, console)?;
    let columns =
        columns(&args.recording, &query, &args.col, args.event_col.as_deref(), &query.used)?;
    let batches = batches(args, &query, console)?;
    if args.checkpoint.is_some()
        && matches!(query.checked.trigger, Trigger::Once | Trigger::AvailableNow(_))
    {
        bail!(
            "a query that runs once keeps no state to go on from; --checkpoint needs another trigger"
        );
    }
    if let Some(what) = clock_reader(&query).filter(|_| args.recording.arrival_col.is_none()) {
        writeln!(
            console.err,
            "warning: the plan has {what}, which reads the clock, and without --arrival-col the clock \
             stands still: it never acts; name the column that says when each row arrived"
        )?;
    }
    let mut rows = args.recording.open(&args.input, &columns)?;
    let ended = if args.verify || args.trace.is_some() {
        verify::run(args, &query, batches, &mut rows, console)?
    } else {
        stream::run(args, &query, batches, &mut rows, console)?
    };
    if let Some(sentence) = units_sentence(&rows, &args.recording) {
        writeln!(console.err, "note: {sentence}")?;
    }
    if let Some(warning) = ended.arrivals.warning() {
        writeln!(console.err, "warning: {warning}")?;
    }
    if let Some(report) = &ended.violation {
        writeln!(console.err, "{report}")?;
        return Ok(Exit::Violation);
    }
    if let Some(error) = &ended.broken {
        writeln!(console.err, "error: {}", broken_sentence(&args.input, ended.rows, error))?;
        return Ok(Exit::Usage);
    }
    if !ended.adds_up {
        writeln!(console.err, "violation: I14 conservation: the rows in do not add up")?;
        return Ok(Exit::Violation);
    }
    if ended.rows == 0 {
        let new = if args.checkpoint.is_some() { " new" } else { "" };
        writeln!(console.err, "nothing ran: {}: there is no{new} row in it", args.input.display())?;
        return Ok(Exit::NothingRan);
    }
    Ok(Exit::Held)
}

/// The first rule of a plan that acts only when the clock moves.
fn clock_reader(query: &Query) -> Option<&'static str> {
    let watermark = query.checked.watermark.as_ref();
    let idles =
        |it: &WatermarkPlan| matches!(it.generator, GeneratorPlan::PartitionMin { idle: Some(_) });
    if matches!(query.checked.trigger, Trigger::Interval(_)) {
        Some("trigger=interval")
    } else if watermark.is_some_and(idles) {
        Some("an idle timeout")
    } else if watermark.is_some_and(|it| it.fallback.is_some()) {
        Some("a wall-clock fallback")
    } else {
        None
    }
}

/// Whether the input ends with its rows.
fn ends(args: &Args, broken: bool) -> bool {
    args.end || (!args.no_end && args.checkpoint.is_none() && !broken)
}

/// Where the columns of the plan are in the input; only those that are used are read.
pub(crate) fn columns(
    recording: &RecordingArgs,
    query: &Query,
    renamed: &[(String, String)],
    event: Option<&str>,
    used: &[bool],
) -> Result<ColumnOptions> {
    let mut columns = ColumnOptions::of_schema(query.checked.schema.clone(), query.event);
    for (at, source) in columns.sources.iter_mut().enumerate() {
        if !used[at] {
            *source = None;
        }
    }
    let mut place = |plan: &str, input: &str| match query.checked.schema.position(plan) {
        Some(it) => {
            columns.sources[it.0] = Some(input.to_owned());
            Ok(())
        }
        None => {
            let names: Vec<_> =
                query.checked.schema.columns.iter().map(|it| it.name.as_str()).collect();
            bail!("the plan has no column `{plan}`; its columns are {}", names.join(", "))
        }
    };
    for (plan, input) in renamed {
        place(plan, input)?;
    }
    if let Some(input) = event {
        place(&query.checked.schema.column(query.event).name.clone(), input)?;
    }
    recording.apply(&mut columns);
    recording.apply_inputs(&query.checked, &mut columns)?;
    Ok(columns)
}

fn batches(args: &Args, query: &Query, console: &mut Console) -> Result<Batches> {
    let said = match (args.batch_rows, args.batch_every) {
        (Some(rows), _) => Some(Batches::Rows(rows)),
        (None, Some(span)) => Some(Batches::Every(span)),
        (None, None) => None,
    };
    match (query.checked.trigger, said) {
        (Trigger::Batch, Some(said)) => Ok(said),
        (Trigger::Batch, None) => {
            writeln!(
                console.err,
                "note: the plan's trigger is batch, and a batch ends after {BATCH_ROWS} rows here; \
                 --batch-rows or --batch-every says otherwise, and may change what is late"
            )?;
            Ok(Batches::Rows(BATCH_ROWS))
        }
        (_, None) => Ok(Batches::Never),
        (_, Some(_)) => bail!(
            "--batch-rows and --batch-every are for plans with trigger = \"batch\"; here the \
             trigger decides"
        ),
    }
}
