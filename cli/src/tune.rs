//! `plimsoll tune`: what every delay would lose and cost.
//!
//! Invariant: the loss of each delay is counted, not estimated.

mod flow;
mod json;

use crate::console::Console;
use crate::exit::Exit;
use crate::recording::{RecordingArgs, broken_sentence, units_sentence};
use crate::run::renamed;
use anyhow::{Context as _, Result, bail};
use plimsoll_engine::plan::{LateRule, WindowSpec};
use plimsoll_engine::time::Span;
use plimsoll_sim::recording::ColumnOptions;
use plimsoll_sim::recording::number::Decimal;
use plimsoll_sim::trace::time_text::parse_span;
use plimsoll_sim::tune::candidate::Behind;
use plimsoll_sim::tune::{TuneOptions, Tuner, Tuning, delays, picture, text};
use std::io::Write as _;
use std::path::PathBuf;

/// Say for every delay which rows of a recording it would lose, and what it would cost
///
/// A row is lost where it is further behind the watermark than the delay allows, so one pass gives
/// the loss at every delay, exactly. Beside it stand how late windows are written, what is held until
/// then, and the plain lateness (arrival minus event), which is another number.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  plimsoll tune trips.csv --event-col pickup --arrival-col received
  plimsoll tune trips.csv --event-col pickup --arrival-col received --partition-col city \\
      --watermark partition --idle 10min --svg trade-off.svg
  plimsoll tune clicks.ndjson --plan plan.toml --input-col topic --partition-col shard
  git log --reverse --format='%at %ct' |
      plimsoll tune - --no-header --delimiter ' ' --event-col 1 --arrival-col 2 --window 1d")]
pub(crate) struct Args {
    /// Rows as CSV or NDJSON, in order of arrival; - reads standard input
    #[arg(value_name = "INPUT")]
    pub(crate) input: PathBuf,
    /// The column that says when a row happened
    #[arg(long, value_name = "NAME", required_unless_present = "plan")]
    pub(crate) event_col: Option<String>,
    /// A plan whose windows or sessions judge the rows, over one input or several: the loss at each
    /// delay, for every input
    #[arg(
        long,
        value_name = "PLAN.toml",
        conflicts_with_all = ["window", "slide", "late", "watermark", "idle", "key_col", "svg"]
    )]
    pub(crate) plan: Option<PathBuf>,
    /// The input's column for a column of the plan; may be given several times
    #[arg(long, value_name = "PLAN=INPUT", value_parser = renamed, requires = "plan")]
    pub(crate) col: Vec<(String, String)>,
    /// A column of the grouping key, for the groups held; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) key_col: Vec<String>,
    /// Length of the windows whose latency and state are shown
    #[arg(long, value_name = "SPAN", default_value = "10min", value_parser = positive)]
    pub(crate) window: Span,
    /// Distance between window starts; the length unless said
    #[arg(long, value_name = "SPAN", value_parser = positive)]
    pub(crate) slide: Option<Span>,
    /// Who is late: by the row's time (event, event_inclusive), its windows, or its slide frame
    #[arg(long, value_name = "RULE", default_value = "event", value_parser = rule)]
    pub(crate) late: LateRule,
    /// What price and advice are about: global (one maximum) or partition (the slowest one)
    #[arg(long, value_name = "WHICH", default_value = "global", value_parser = ["global", "partition"])]
    pub(crate) watermark: String,
    /// Silence after which a partition no longer holds the slowest one's watermark
    #[arg(long, value_name = "SPAN", value_parser = positive, requires = "arrival_col")]
    pub(crate) idle: Option<Span>,
    /// Rows that may be lost, in per cent
    #[arg(long, value_name = "PERCENT", default_value = "0.1", value_parser = per_cent)]
    pub(crate) max_loss: u64,
    /// Show this delay instead of the table; may be given several times
    #[arg(long, value_name = "SPAN", value_parser = not_negative)]
    pub(crate) delay: Vec<Span>,
    /// Draw loss, latency and state over the delay into this file
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) svg: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
}

/// Windows that one row may be in.
const WINDOWS_PER_ROW: i64 = 10_000;

fn not_negative(text: &str) -> Result<Span, String> {
    let span = parse_span(text).map_err(|it| it.to_string())?;
    if span.0 < 0 || Span::LEGAL < span.0 {
        return Err("expected a span that is not negative, such as 10min".to_owned());
    }
    Ok(span)
}

/// Reads a span that is not zero.
pub(crate) fn positive(text: &str) -> Result<Span, String> {
    let span = not_negative(text)?;
    if span == Span::ZERO { Err("expected a span longer than 0s".to_owned()) } else { Ok(span) }
}

fn rule(text: &str) -> Result<LateRule, String> {
    match text {
        "event" => Ok(LateRule::Event),
        "event_inclusive" => Ok(LateRule::EventInclusive),
        "window_end" => Ok(LateRule::WindowEnd),
        "frame" => Ok(LateRule::Frame),
        _ => Err("expected event, event_inclusive, window_end or frame".to_owned()),
    }
}

/// Reads per cent as a share of 100,000.
fn per_cent(text: &str) -> Result<u64, String> {
    let number = Decimal::parse(text.trim_end_matches('%').trim());
    let share = number.and_then(|it| it.exact(3)).and_then(|it| u64::try_from(it).ok());
    share.filter(|it| *it <= 100_000).ok_or_else(|| {
        "expected per cent from 0 to 100 with at most three decimals, such as 0.1".to_owned()
    })
}

/// Tunes.
pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Exit> {
    if let Some(plan) = &args.plan {
        return flow::run(args, plan, console);
    }
    if args.recording.input_col.is_some() {
        bail!("which inputs there are is said by a plan; --input-col needs --plan");
    }
    let event_col = args.event_col.as_deref().unwrap_or_default();
    let slide = args.slide.unwrap_or(args.window);
    if WINDOWS_PER_ROW < args.window.0 / slide.0 {
        bail!(
            "each row would be in {} windows; a --slide of at least {} ms keeps it below {WINDOWS_PER_ROW}",
            args.window.0 / slide.0,
            args.window.0 / WINDOWS_PER_ROW
        );
    }
    let behind = match (args.watermark.as_str(), args.idle) {
        ("partition", None) => Behind::Slowest,
        ("partition", Some(_)) => Behind::SlowestIdle,
        _ => Behind::Global,
    };
    let mut columns = ColumnOptions::new(event_col, &args.key_col, &[]);
    args.recording.apply(&mut columns);
    let mut rows = args.recording.open(&args.input, &columns)?;
    let mut tuner = Tuner::new(TuneOptions {
        window: WindowSpec { size: args.window, slide, offset: Span::ZERO },
        rule: args.late,
        behind,
        idle: args.idle,
        loss: args.max_loss,
    });
    let keys = 1..columns.schema.columns.len();
    let (_, broken) = args.recording.each(&mut rows, |row| {
        tuner.observe(row, keys.clone());
        Ok(())
    })?;
    let taken = tuner.rows();
    let tuning = tuner.finish();
    if let Some(sentence) = units_sentence(&rows, &args.recording) {
        writeln!(console.err, "note: {sentence}")?;
    }
    if let Some(tuning) = &tuning {
        if let Some(warning) = tuning.clock.warning() {
            writeln!(console.err, "warning: {warning}")?;
        }
        if args.idle.is_some() && !tuning.looked_at().any(|it| it == Behind::SlowestIdle) {
            bail!("--idle needs arrival times, and no row has one");
        }
        answer(args, tuning, console)?;
    }
    if let Some(error) = &broken {
        writeln!(console.err, "error: {}", broken_sentence(&args.input, taken, error))?;
        return Ok(Exit::Usage);
    }
    if tuning.is_none() {
        let why = match taken {
            0 => "there is no row in it".to_owned(),
            _ => format!("none of its {taken} rows has an event time in a window"),
        };
        writeln!(console.err, "nothing ran: {}: {why}", args.input.display())?;
        return Ok(Exit::NothingRan);
    }
    Ok(Exit::Held)
}

fn answer(args: &Args, tuning: &Tuning, console: &mut Console) -> Result<()> {
    let asked = args.delay.iter().map(|it| (*it, String::new()));
    let asked: Vec<_> = asked.collect();
    let table = if asked.is_empty() { delays::of_table(tuning) } else { asked };
    if console.json {
        console.json(&json::tuning(tuning, &table))?;
    } else {
        let mut written = String::new();
        if args.delay.is_empty() {
            text::write(tuning, &mut written)?;
        } else {
            text::write_table(tuning, &table, &mut written)?;
        }
        console.out.write_all(written.as_bytes())?;
    }
    if let Some(path) = &args.svg {
        let title = match args.input.file_name() {
            Some(name) => format!("What a delay loses and costs: {}", name.display()),
            None => "What a delay loses and costs".to_owned(),
        };
        std::fs::write(path, picture::svg(tuning, &title))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn per_cent_are_read_exactly() {
        assert_eq!(per_cent("0.1"), Ok(100));
        assert_eq!(per_cent("1 %"), Ok(1_000));
        assert_eq!(per_cent("100"), Ok(100_000));
        for wrong in ["-1", "100.001", "0.0001", "few", ""] {
            assert!(per_cent(wrong).is_err(), "{wrong}");
        }
    }
}
