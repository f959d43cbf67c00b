//! How the user says where rows are and what their columns mean.
//!
//! The format is taken from the end of the file's name; a stream without one is NDJSON where its
//! first byte that is not blank is a brace, else CSV. What was detected is never silent: commands
//! report the units in which they read times.
//!
//! Invariant: rows before a broken one are handed out, then the broken one is reported.

use crate::source::must_be_a_file;
use anyhow::{Context as _, Result, bail};
use plimsoll_engine::plan::Plan;
use plimsoll_sim::recording::error::RecordingError;
use plimsoll_sim::recording::order::{self, ArrivalClock};
use plimsoll_sim::recording::time::Unit;
use plimsoll_sim::recording::{self, ColumnOptions, Delimiter, Format, InputColumn, Reader, Row};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// Rows being read.
pub(crate) type Rows = Reader<Box<dyn BufRead>>;

/// The arguments that commands with a recording share.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "How the input is read")]
pub(crate) struct RecordingArgs {
    /// The column that says when a row arrived; without it nothing is known about latency
    #[arg(long, value_name = "NAME")]
    pub(crate) arrival_col: Option<String>,
    /// The column that says which partition a row came from; without it there is one
    #[arg(long, value_name = "NAME")]
    pub(crate) partition_col: Option<String>,
    /// The column that says, by its name in the plan, of which input a row is, where the plan has
    /// several
    #[arg(long, value_name = "NAME")]
    pub(crate) input_col: Option<String>,
    /// How times are written: s, ms, us, ns (since 1970), rfc3339, or auto: by the first value
    #[arg(long, value_name = "UNIT", default_value = "auto", value_parser = unit)]
    pub(crate) unit: Unit,
    /// How arrival times are written, where that differs
    #[arg(long, value_name = "UNIT", value_parser = unit)]
    pub(crate) arrival_unit: Option<Unit>,
    /// Decimals to keep of numbers: 2 reads 1.25 as 125
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=18))]
    pub(crate) scale: u32,
    /// csv or ndjson; by default the end of the name or the first byte decides
    #[arg(long, value_name = "FORMAT", value_parser = ["csv", "ndjson"])]
    pub(crate) format: Option<String>,
    /// The first line is a row already; columns are named by number, from 1
    #[arg(long)]
    pub(crate) no_header: bool,
    /// What stands between fields: one character, `tab`, or ' ' for any run of blanks
    #[arg(long, value_name = "CHAR", default_value = ",", value_parser = delimiter)]
    pub(crate) delimiter: Delimiter,
    /// Take rows in the order of their arrival times, not of the lines; reads all rows first
    #[arg(long, requires = "arrival_col")]
    pub(crate) sort_by_arrival: bool,
}

/// Reads the name of a unit.
fn unit(text: &str) -> Result<Unit, String> {
    let known = Unit::NAMES.into_iter().find(|it| it.0 == text);
    known.map(|it| it.1).ok_or_else(|| {
        let names = Unit::NAMES.map(|it| it.0);
        format!("expected one of {}", names.join(", "))
    })
}

/// Reads a delimiter.
fn delimiter(text: &str) -> Result<Delimiter, String> {
    match text.as_bytes() {
        b" " => Ok(Delimiter::Blanks),
        b"tab" | b"\\t" => Ok(Delimiter::Byte(b'\t')),
        b"\"" | b"\n" | b"\r" => Err("quotes and line ends already mean something".to_owned()),
        [byte] if byte.is_ascii() => Ok(Delimiter::Byte(*byte)),
        _ => Err("expected one ASCII character, `tab`, or ' ' for any run of blanks".to_owned()),
    }
}

impl RecordingArgs {
    /// Puts what was said about columns into the options of a reader.
    pub(crate) fn apply(&self, options: &mut ColumnOptions) {
        options.arrival.clone_from(&self.arrival_col);
        options.partition.clone_from(&self.partition_col);
        options.unit = self.unit;
        options.arrival_unit = self.arrival_unit.unwrap_or(self.unit);
        options.scale = self.scale;
    }

    /// Says to a reader which inputs a plan has.
    pub(crate) fn apply_inputs(&self, plan: &Plan, options: &mut ColumnOptions) -> Result<()> {
        let inputs = plan.flow.as_ref().map_or(&[][..], |it| &it.inputs);
        let names: Vec<String> = inputs.iter().map(|it| it.name.clone()).collect();
        match (&self.input_col, names.len()) {
            (None, 0 | 1) => {}
            (None, _) => bail!(
                "the plan has {} inputs ({}); --input-col names the column that says of which one each \
                 row is",
                names.len(),
                names.join(", ")
            ),
            (Some(it), 0 | 1) => {
                bail!("the plan has one input, so all rows are of it; leave --input-col {it} out")
            }
            (Some(column), _) => {
                options.input = Some(InputColumn { column: column.clone(), names });
            }
        }
        Ok(())
    }

    /// Opens the input; `-` is standard input.
    pub(crate) fn open(&self, input: &Path, options: &ColumnOptions) -> Result<Rows> {
        let mut source: Box<dyn BufRead> = if input == Path::new("-") {
            Box::new(BufReader::new(io::stdin()))
        } else {
            must_be_a_file(input)?;
            let file = File::open(input);
            Box::new(BufReader::new(
                file.with_context(|| format!("cannot read {}", input.display()))?,
            ))
        };
        let ending = input.extension().and_then(|it| it.to_str()).unwrap_or_default();
        let ndjson = match (self.format.as_deref(), ending) {
            (Some(format), _) => format == "ndjson",
            (None, "ndjson" | "jsonl" | "json") => true,
            (None, "csv" | "tsv" | "txt") => false,
            (None, _) => begins_with_a_brace(&mut source)
                .with_context(|| format!("cannot read {}", input.display()))?,
        };
        let format = if ndjson {
            Format::Ndjson
        } else {
            Format::Csv { header: !self.no_header, delimiter: self.delimiter }
        };
        Ok(recording::read(format, options, source))
    }

    /// Gives each row to `take`, in the order that was asked for, and the arrival clock with it.
    /// What is broken ends the rows and is the answer.
    pub(crate) fn each(
        &self,
        rows: &mut Rows,
        mut take: impl FnMut(&Row) -> Result<()>,
    ) -> Result<(ArrivalClock, Option<RecordingError>)> {
        let (mut clock, mut broken) = (ArrivalClock::default(), None);
        let mut take = |row: &Row| {
            clock.observe(row);
            take(row)
        };
        if self.sort_by_arrival {
            let mut all = Vec::new();
            for row in rows {
                match row {
                    Ok(row) => all.push(row),
                    Err(error) => broken = Some(error),
                }
            }
            order::sort(&mut all);
            all.iter().try_for_each(&mut take)?;
        } else {
            let mut row = Row::default();
            loop {
                match rows.next_row(&mut row) {
                    Ok(true) => take(&row)?,
                    Ok(false) => break,
                    Err(error) => {
                        broken = Some(error);
                        break;
                    }
                }
            }
        }
        Ok((clock, broken))
    }
}

fn begins_with_a_brace(source: &mut Box<dyn BufRead>) -> io::Result<bool> {
    let start = source.fill_buf()?;
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    Ok(start.trim_ascii_start().first() == Some(&b'{'))
}

/// The sentence about a broken row, with what was done before it.
pub(crate) fn broken_sentence(input: &Path, rows: u64, error: &RecordingError) -> String {
    let before = match rows {
        0 => "no row stands before it".to_owned(),
        1 => "the 1 row before it was taken".to_owned(),
        many => format!("the {many} rows before it were taken"),
    };
    let name =
        if input == Path::new("-") { "standard input".into() } else { input.to_string_lossy() };
    format!("{name}, {error} ({before})")
}

/// How times were read, where that was detected.
pub(crate) fn units_sentence(rows: &Rows, args: &RecordingArgs) -> Option<String> {
    let (event, arrival) = rows.units();
    if args.unit != Unit::Auto || event == Unit::Auto {
        return None;
    }
    let event = event.sentence().trim_start_matches("a time ");
    match &args.arrival_col {
        Some(_) if args.arrival_unit.is_none() => {
            let arrival = arrival.sentence().trim_start_matches("a time ");
            Some(format!(
                "event times are read {event}, arrival times {arrival}; --unit says otherwise"
            ))
        }
        _ => Some(format!("event times are read {event}; --unit says otherwise")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_are_one_character_or_a_word() {
        assert_eq!(delimiter(" "), Ok(Delimiter::Blanks));
        assert_eq!(delimiter("tab"), Ok(Delimiter::Byte(b'\t')));
        assert_eq!(delimiter(";"), Ok(Delimiter::Byte(b';')));
        assert!(delimiter("::").is_err());
        assert!(delimiter("é").is_err());
        assert!(delimiter("\"").is_err());
    }

    #[test]
    fn a_stream_that_begins_with_a_brace_is_ndjson() {
        let begins = |bytes: &'static [u8]| {
            let mut source: Box<dyn BufRead> = Box::new(bytes);
            begins_with_a_brace(&mut source).expect("bytes can be read")
        };
        assert!(begins(b"\n  {\"t\": 1}"));
        assert!(begins(b"\xef\xbb\xbf{}"));
        assert!(!begins(b"t,{x}\n"));
        assert!(!begins(b""));
    }
}
