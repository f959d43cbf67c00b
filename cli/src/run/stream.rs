//! Rows go to the engine as they are read.
//!
//! Printing is flushed before a checkpoint is written: after a crash the figures since the last
//! checkpoint are printed again, the same ones, and none is missing.
//!
//! Invariant: a checkpoint is taken only where no row waits for a step, so that each row is either in it
//! or read again.

use super::checkpoint::{Checkpoint, Prefix};
use super::plan::Query;
use super::printer::Printer;
use super::{Args, Ended, ends};
use crate::console::Console;
use crate::recording::Rows;
use anyhow::{Context as _, Result, bail};
use plimsoll_engine::output::{Output, StepKind};
use plimsoll_engine::plan::Trigger;
use plimsoll_engine::row::{ItemId, RowBatch};
use plimsoll_sim::recording::playback::{Batches, Playback};
use plimsoll_sim::recording::report::Report;
use plimsoll_sim::recording::tally::Tally;
use plimsoll_sim::recording::{Reader, Row, order};
use plimsoll_sim::system::System as _;
use plimsoll_sim::system::engine::Engine;
use std::io::Write as _;
use std::path::Path;

/// A run in progress.
struct Stream<'a> {
    args: &'a Args,
    query: &'a Query,
    engine: Engine,
    playback: Playback,
    printer: Printer,
    prefix: Prefix,
    /// Lines of earlier streams that this one continues.
    lines_before: u64,
    rows_at_checkpoint: u64,
    /// The state at the last moment without waiting rows, where the trigger makes such moments rare.
    at_step: Option<Checkpoint>,
    out: Output,
    batch: RowBatch,
}

/// Runs over a stream.
pub(super) fn run(
    args: &Args,
    query: &Query,
    batches: Batches,
    rows: &mut Rows,
    console: &mut Console,
) -> Result<Ended> {
    let saved = match &args.checkpoint {
        None => None,
        Some(dir) => Checkpoint::load(dir)?,
    };
    let resumed = saved.is_some();
    let mut stream = match saved {
        None => None,
        Some(saved) => Some(resume(args, query, batches, rows, saved, console)?),
    };
    let mut broken = None;
    let mut sorted = args.recording.sort_by_arrival.then(Vec::new);
    let mut taken = 0;
    let mut row = Row::default();
    loop {
        match rows.next_row(&mut row) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                broken = Some(error);
                break;
            }
        }
        if let Some(sorted) = &mut sorted {
            sorted.push(row.clone());
            continue;
        }
        let stream = stream.get_or_insert_with(|| start(args, query, batches, &row));
        stream.take(&mut row, rows, console)?;
        taken += 1;
    }
    if let Some(mut sorted) = sorted {
        order::sort(&mut sorted);
        for mut row in sorted {
            let stream = stream.get_or_insert_with(|| start(args, query, batches, &row));
            stream.take(&mut row, rows, console)?;
            taken += 1;
        }
    }
    let Some(mut stream) = stream else {
        let arrivals = order::ArrivalClock::default();
        return Ok(Ended { rows: 0, broken, arrivals, violation: None, adds_up: true });
    };
    let end = ends(args, broken.is_some());
    if !(resumed && taken == 0 && !end) {
        stream.finish(rows, end, console)?;
    }
    let adds_up = stream.printer.finish(&stream.engine.view(true), console)?;
    let taken = if end && resumed { taken.max(1) } else { taken };
    let arrivals = stream.playback.arrivals;
    Ok(Ended { rows: taken, broken, arrivals, violation: None, adds_up })
}

fn start<'a>(args: &'a Args, query: &'a Query, batches: Batches, first: &Row) -> Stream<'a> {
    let clock = Playback::start_of(query.clock, Some(first));
    Stream::new(args, query, Playback::new(batches, clock), Tally::default())
}

/// Goes on from a checkpoint.
fn resume<'a>(
    args: &'a Args,
    query: &'a Query,
    batches: Batches,
    rows: &mut Rows,
    saved: Checkpoint,
    console: &mut Console,
) -> Result<Stream<'a>> {
    if saved.playback.batches != batches {
        bail!(
            "the checkpoint ends batches by {:?}, this run by {batches:?}; a change of batches needs a new \
             --checkpoint directory",
            saved.playback.batches
        );
    }
    let mut stream = Stream::new(args, query, saved.playback, saved.tally);
    stream
        .engine
        .restore(Some(&saved.snapshot))
        .map_err(|it| anyhow::anyhow!("{it}"))
        .context("the snapshot in the checkpoint cannot be used")?;
    if stream.engine.view(false).stopped {
        bail!(
            "the query of this checkpoint has ended; name a new --checkpoint directory to begin anew"
        );
    }
    if args.input == Path::new("-") {
        // What comes through the pipe is new.
        rows.go_on_with(saved.texts, saved.partitions);
        stream.lines_before = saved.line;
        stream.prefix = saved.prefix;
    } else {
        skip(rows, &saved, &mut stream.prefix)?;
    }
    stream.rows_at_checkpoint = stream.printer.tally.rows;
    writeln!(console.err, "note: goes on after {} rows", saved.tally.rows)?;
    Ok(stream)
}

/// Reads the rows that are in the checkpoint, and makes sure that they are the same.
fn skip(rows: &mut Rows, saved: &Checkpoint, prefix: &mut Prefix) -> Result<()> {
    let mut row = Row::default();
    for done in 0..saved.tally.rows {
        if !rows.next_row(&mut row)? {
            bail!(
                "the checkpoint has taken {} rows, and the input has {done}: it is another input",
                saved.tally.rows
            );
        }
        prefix.observe(&row);
    }
    if *prefix != saved.prefix {
        bail!(
            "the first {} rows of the input are not those that the checkpoint has taken; name a new \
             --checkpoint directory to begin anew",
            saved.tally.rows
        );
    }
    Ok(())
}

impl<'a> Stream<'a> {
    fn new(args: &'a Args, query: &'a Query, playback: Playback, tally: Tally) -> Self {
        Self {
            args,
            query,
            engine: Engine::with_plan(query.checked.clone(), playback.start, 0),
            playback,
            printer: Printer::new(args, query, tally),
            prefix: Prefix::default(),
            lines_before: 0,
            rows_at_checkpoint: 0,
            at_step: None,
            out: Output::new(&query.checked),
            batch: RowBatch::new(query.checked.schema.columns.len()),
        }
    }

    fn take<R: std::io::Read>(
        &mut self,
        row: &mut Row,
        rows: &Reader<R>,
        console: &mut Console,
    ) -> Result<()> {
        row.line += self.lines_before;
        let arrivals = self.playback.arrivals;
        self.playback.advance(row, &mut self.engine, &mut self.out);
        self.print(rows, console)?;
        self.consider_checkpoint(row.line - 1, arrivals, rows, console)?;
        self.prefix.observe(row);
        self.playback.arrive(row, &mut self.engine, &mut self.batch, &mut self.out);
        self.printer.tally.rows += 1;
        self.print(rows, console)
    }

    fn print<R: std::io::Read>(&mut self, rows: &Reader<R>, console: &mut Console) -> Result<()> {
        let out = &self.out;
        if out.steps.is_empty() && out.records.is_empty() && out.firings.is_empty() {
            self.out.clear();
            return Ok(());
        }
        let report = Report {
            plan: &self.query.checked,
            texts: rows.texts(),
            partitions: rows.partitions(),
        };
        self.printer.observe(&report, out, |id: ItemId| id.0, console)?;
        if self.args.progress && out.steps.iter().any(|it| it.kind == StepKind::Data) {
            let progress = serde_json::to_string(&self.engine.job().progress())?;
            writeln!(console.err, "{progress}")?;
        }
        self.out.clear();
        Ok(())
    }

    /// Before a row arrives: is it time, and is nothing waiting?
    fn consider_checkpoint<R: std::io::Read>(
        &mut self,
        line: u64,
        arrivals: order::ArrivalClock,
        rows: &Reader<R>,
        console: &mut Console,
    ) -> Result<()> {
        let Some(dir) = &self.args.checkpoint else { return Ok(()) };
        if 0 < self.engine.view(false).arrivals_queued {
            return Ok(());
        }
        let due = self.rows_at_checkpoint + self.args.checkpoint_every <= self.printer.tally.rows;
        let rare = matches!(self.query.checked.trigger, Trigger::Interval(_));
        if !due && !rare {
            return Ok(());
        }
        let saved = self.saved(line, arrivals, rows);
        if due {
            console.out.flush()?;
            saved.store(dir)?;
            self.rows_at_checkpoint = self.printer.tally.rows;
        }
        self.at_step = rare.then_some(saved);
        Ok(())
    }

    fn saved<R>(&self, line: u64, arrivals: order::ArrivalClock, rows: &Reader<R>) -> Checkpoint
    where
        R: std::io::Read,
    {
        Checkpoint {
            playback: Playback { arrivals, ..self.playback },
            tally: self.printer.tally,
            line,
            prefix: self.prefix,
            texts: rows.texts().clone(),
            partitions: rows.partitions().clone(),
            snapshot: self.engine.snapshot(),
        }
    }

    /// The end of the rows.
    fn finish<R: std::io::Read>(
        &mut self,
        rows: &Reader<R>,
        end: bool,
        console: &mut Console,
    ) -> Result<()> {
        let line = self.lines_before + rows.line();
        if end || self.args.checkpoint.is_none() {
            // Where the rows go on later, a batch that is not full goes on too: where this run
            // stopped must not decide what is late.
            self.playback.end_batch(line, &mut self.engine, &mut self.out);
        }
        if end {
            self.engine.end(ItemId(line), &mut self.out);
        }
        self.print(rows, console)?;
        let Some(dir) = &self.args.checkpoint else { return Ok(()) };
        console.out.flush()?;
        let waiting = self.engine.view(false).arrivals_queued;
        if waiting == 0 {
            return self.saved(line, self.playback.arrivals, rows).store(dir);
        }
        if let Some(saved) = &self.at_step {
            // The rows since then are read again; nothing came of them yet.
            saved.store(dir)?;
        }
        if self.args.input == Path::new("-") {
            // A pipe is not read again.
            writeln!(
                console.err,
                "warning: the last {waiting} rows wait for a step and are not in the checkpoint; \
                 send them again first when you go on, or they are lost"
            )?;
        }
        Ok(())
    }
}
