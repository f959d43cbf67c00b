//! Recordings: what really arrived, as a file of rows in order of arrival.
//!
//! A recording is CSV, text in columns, or one JSON object per line. Each row may say when it happened
//! (event time), when it arrived (processing time), and from which partition. Readers are pure
//! functions of bytes: they take any `Read` and hold one row at a time, so a pipe of any length is
//! fine. Broken input ends the recording with a [`RecordingError`]; the good rows before it have
//! been handed out by then. Nothing is guessed twice: a unit that is detected is detected once per
//! column, on its first value, and reported.
//!
//! The order of the lines is the order of arrival. What the clock does where arrival times go back is
//! decided in [`order`].
//!
//! Where a plan has several inputs, a column may say of which one each row is; a partition belongs to its
//! input then, so that the same name in two inputs is two partitions.
//!
//! Invariant: a row is handed out whole or not at all, with the number of the line it starts on.

pub mod cell;
pub mod error;
pub mod fields;
pub mod lines;
pub mod ndjson;
pub mod number;
pub mod order;
pub mod playback;
pub mod report;
pub mod tally;
pub mod time;

use self::cell::Cells;
use self::error::RecordingError;
use self::fields::Fields;
use self::ndjson::Ndjson;
use self::time::Unit;
use plimsoll_engine::row::{ColumnIx, ColumnKind, ColumnSpec, Dictionary, PartitionId, Schema};
use plimsoll_engine::time::{EventTime, ProcTime};
use std::io::Read;

/// How the rows are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Fields between delimiters.
    Csv {
        /// Whether the first line names the columns; without it they are numbered from 1.
        header: bool,
        /// What stands between fields.
        delimiter: Delimiter,
    },
    /// One JSON object per line.
    Ndjson,
}

/// What stands between the fields of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delimiter {
    /// This byte; fields may be quoted.
    Byte(u8),
    /// Any run of blanks and tabs; no quotes, as `git log --format='%at %ct'` writes.
    Blanks,
}

/// Which columns are read, and as what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnOptions {
    /// What the cells of a row mean; the event-time column is one of them.
    pub schema: Schema,
    /// For each column of the schema, its name in the input, or its number from 1; `None` is not read
    /// and null in every row.
    pub sources: Vec<Option<String>>,
    /// Which of them is event time.
    pub event: ColumnIx,
    /// The column with the arrival time, where there is one.
    pub arrival: Option<String>,
    /// The column with the partition; without one there is a single partition.
    pub partition: Option<String>,
    /// The column that says of which input a row is, where the plan has several.
    pub input: Option<InputColumn>,
    /// How event times (and other time columns) are written.
    pub unit: Unit,
    /// How arrival times are written.
    pub arrival_unit: Unit,
    /// Integer columns are multiplied by ten to this power: 2 turns 1.25 into 125.
    pub scale: u32,
}

/// The column that says of which input a row is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InputColumn {
    /// Its name in the recording, or its number from 1.
    pub column: String,
    /// The inputs by name, in the order of the plan.
    pub names: Vec<String>,
}

impl ColumnOptions {
    /// One time column, then text columns, then integer columns; units are detected.
    pub fn new(event: &str, keys: &[String], values: &[String]) -> Self {
        let spec = |name: &str, kind| ColumnSpec { name: name.to_owned(), kind };
        let mut columns = vec![spec(event, ColumnKind::Time)];
        columns.extend(keys.iter().map(|it| spec(it, ColumnKind::Text)));
        columns.extend(values.iter().map(|it| spec(it, ColumnKind::Integer)));
        Self::of_schema(Schema { columns }, ColumnIx(0))
    }

    /// The columns of a schema, under their own names.
    pub fn of_schema(schema: Schema, event: ColumnIx) -> Self {
        assert!(event.0 < schema.columns.len(), "the event-time column is one of the schema's");
        let sources = schema.columns.iter().map(|it| Some(it.name.clone())).collect();
        Self {
            schema,
            sources,
            event,
            arrival: None,
            partition: None,
            input: None,
            unit: Unit::Auto,
            arrival_unit: Unit::Auto,
            scale: 0,
        }
    }
}

/// One row of a recording. Made to be filled again and again.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Row {
    /// The line on which it starts, from 1.
    pub line: u64,
    /// When it happened; may be unknown.
    pub time: Option<EventTime>,
    /// When it arrived; may be unknown.
    pub arrival: Option<ProcTime>,
    /// Where it came from, in order of first sight.
    pub partition: PartitionId,
    /// One cell per column of the schema.
    pub cells: Vec<Option<i64>>,
}

/// A recording being read. An iterator that ends after the first error.
#[derive(Debug)]
pub struct Reader<R> {
    source: Source<R>,
    cells: Cells,
    rows: u64,
    line: u64,
    ended: bool,
}

#[derive(Debug)]
enum Source<R> {
    Fields(Box<Fields<R>>),
    Ndjson(Ndjson<R>),
}

/// Starts to read a recording.
pub fn read<R: Read>(format: Format, options: &ColumnOptions, source: R) -> Reader<R> {
    let source = match format {
        Format::Csv { header, delimiter } => {
            Source::Fields(Box::new(Fields::new(header, delimiter, source)))
        }
        Format::Ndjson => Source::Ndjson(Ndjson::new(source)),
    };
    Reader { source, cells: Cells::new(options), rows: 0, line: 0, ended: false }
}

impl<R: Read> Reader<R> {
    /// Fills `row` with the next row; false at the end of the recording.
    ///
    /// # Errors
    /// What is broken, and where; there are no more rows after an error.
    pub fn next_row(&mut self, row: &mut Row) -> Result<bool, RecordingError> {
        if self.ended {
            return Ok(false);
        }
        let read = match &mut self.source {
            Source::Fields(it) => it.next_row(&mut self.cells, row),
            Source::Ndjson(it) => it.next_row(&mut self.cells, row),
        };
        self.ended = !matches!(read, Ok(true));
        if !self.ended {
            self.rows += 1;
            self.line = row.line;
        }
        read
    }

    /// The line of the last good row.
    pub const fn line(&self) -> u64 {
        self.line
    }

    /// Good rows so far.
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// The texts behind the codes of text columns.
    pub const fn texts(&self) -> &Dictionary {
        &self.cells.texts
    }

    /// The names of partitions: the code of a name is the number of the partition.
    pub const fn partitions(&self) -> &Dictionary {
        &self.cells.partitions
    }

    /// Goes on with the codes of an earlier reader, for a stream that continues it.
    pub fn go_on_with(&mut self, texts: Dictionary, partitions: Dictionary) {
        self.cells.texts = texts;
        self.cells.partitions = partitions;
    }

    /// How event times and arrival times were read; `Auto` while none has been seen.
    pub const fn units(&self) -> (Unit, Unit) {
        (self.cells.unit, self.cells.arrival_unit)
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Row, RecordingError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut row = Row::default();
        match self.next_row(&mut row) {
            Ok(true) => Some(Ok(row)),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADED: Format = Format::Csv { header: true, delimiter: Delimiter::Byte(b',') };
    const BLANKS: Format = Format::Csv { header: false, delimiter: Delimiter::Blanks };

    fn options() -> ColumnOptions {
        let mut options = ColumnOptions::new("t", &["city".to_owned()], &["price".to_owned()]);
        options.arrival = Some("at".to_owned());
        options.partition = Some("p".to_owned());
        options
    }

    /// The rows as text, and the error that ended them.
    fn check(format: Format, options: &ColumnOptions, input: &[u8], rows: &[&str], error: &str) {
        let mut reader = read(format, options, input);
        let (mut found, mut broken) = (Vec::new(), String::new());
        for row in reader.by_ref() {
            match row {
                Ok(row) => {
                    let time = |it: Option<i64>| it.map_or("-".to_owned(), |it| it.to_string());
                    let cells: Vec<_> = row.cells.iter().map(|it| time(*it)).collect();
                    found.push(format!(
                        "{}: {} at {} p{} [{}]",
                        row.line,
                        time(row.time.map(|it| it.0)),
                        time(row.arrival.map(|it| it.0)),
                        row.partition.0,
                        cells.join(" "),
                    ));
                }
                Err(error) => broken = error.to_string(),
            }
        }
        assert_eq!(found, rows);
        assert_eq!(broken, error);
        assert_eq!(reader.rows(), rows.len() as u64);
    }

    #[test]
    fn a_csv_row_has_times_a_partition_keys_and_values() {
        check(
            HEADED,
            &options(),
            b"p,t,at,city,price,more\nx,10,12,Oslo,7,a\ny,,13,,,b\nx,-1.5,,Oslo,\"8\",c\n",
            &[
                "2: 10000 at 12000 p0 [10000 0 7]",
                "3: - at 13000 p1 [- - -]",
                "4: -1500 at - p0 [-1500 0 8]",
            ],
            "",
        );
    }

    #[test]
    fn a_byte_order_mark_carriage_returns_and_blank_lines_do_no_harm() {
        check(
            HEADED,
            &options(),
            b"\xef\xbb\xbft,at,p,city,price\r\n1,2,x,a,3\r\n\r\n4,5,x,\"b\nc\",6\r\n7,8,x,a,9\r\n",
            &[
                "2: 1000 at 2000 p0 [1000 0 3]",
                "4: 4000 at 5000 p0 [4000 1 6]",
                "6: 7000 at 8000 p0 [7000 0 9]",
            ],
            "",
        );
    }

    #[test]
    fn columns_without_names_are_numbered_from_one() {
        let mut options = ColumnOptions::new("1", &[], &[]);
        options.arrival = Some("2".to_owned());
        check(
            BLANKS,
            &options,
            b"1359712800 1359712560\n  1359714300\t1359714000  \n",
            &[
                "1: 1359712800000 at 1359712560000 p0 [1359712800000]",
                "2: 1359714300000 at 1359714000000 p0 [1359714300000]",
            ],
            "",
        );
    }

    #[test]
    fn one_json_object_per_line() {
        check(
            Format::Ndjson,
            &options(),
            br#"{"t": "2013-02-01T10:00:00Z", "at": 1359712860, "p": 7, "city": "Oslo", "price": 3}
{"t": null, "at": null, "p": "b"}
"#,
            &["1: 1359712800000 at 1359712860000 p0 [1359712800000 0 3]", "2: - at - p1 [- - -]"],
            "",
        );
    }

    #[test]
    fn nothing_at_all_is_no_row_and_no_error() {
        for format in [HEADED, BLANKS, Format::Ndjson] {
            check(format, &options(), b"", &[], "");
            check(format, &options(), b"\n\n", &[], "");
        }
        check(HEADED, &options(), b"t,at,p,city,price\n", &[], "");
    }

    #[test]
    fn the_good_rows_before_a_broken_line_are_handed_out() {
        let good = "1,2,x,a,3\n";
        let rows = ["2: 1000 at 2000 p0 [1000 0 3]"];
        for (bad, error) in [
            ("1,2\n", "line 3: expected 5 fields as on the first line, found 2"),
            ("1,2,x,a,3,4\n", "line 3: expected 5 fields as on the first line, found 6"),
            (
                "soon,2,x,a,3\n",
                "line 3, column `t`: expected a time in seconds since 1970, found `soon`",
            ),
            (
                "1,2013-02-01,x,a,3\n",
                "line 3, column `at`: expected a time in seconds since 1970, found `2013-02-01`",
            ),
            ("1,2,x,a,many\n", "line 3, column `price`: expected a whole number, found `many`"),
            (
                "1,2,x,a,3.5\n",
                "line 3, column `price`: expected a whole number (a scale of 1 would keep the \
                 decimals), found `3.5`",
            ),
        ] {
            let input = format!("t,at,p,city,price\n{good}{bad}{good}");
            check(HEADED, &options(), input.as_bytes(), &rows, error);
        }
    }

    #[test]
    fn a_quote_that_is_never_closed_is_said_so() {
        check(
            HEADED,
            &options(),
            b"t,at,p,price,city\n1,2,x,3,a\n1,2,x,3,\"a\n1,2,x,3,a\n",
            &["2: 1000 at 2000 p0 [1000 0 3]"],
            "line 3: a quote is opened here and never closed, so that the rest of the input \
             would be one field",
        );
    }

    #[test]
    fn text_that_is_not_utf8_is_named_by_line_and_column() {
        check(
            HEADED,
            &options(),
            b"t,at,p,city,price\n1,2,x,K\xf8benhavn,3\n",
            &[],
            "line 2, column `city`: expected text in UTF-8, found the byte 0xf8 at position 2",
        );
        check(
            Format::Ndjson,
            &options(),
            b"{\"t\": \"\xf8\"}\n",
            &[],
            "line 1: expected one JSON object in UTF-8, found the byte 0xf8 at position 8",
        );
    }

    #[test]
    fn a_missing_column_is_named_beside_those_that_are_there() {
        check(
            HEADED,
            &options(),
            b"t,at,p,price\n",
            &[],
            "line 1: there is no column `city`; the columns are `t`, `at`, `p`, `price`",
        );
        check(
            BLANKS,
            &ColumnOptions::new("3", &[], &[]),
            b"1 2\n",
            &[],
            "line 1: there is no column `3`; without a header the columns are the numbers 1 to 2",
        );
        check(
            HEADED,
            &ColumnOptions::new("t", &[], &[]),
            b"t,t\n1,2\n",
            &[],
            "line 1: there are 2 columns `t`; without a header, columns are named by number",
        );
        check(
            Format::Ndjson,
            &ColumnOptions::new("t", &[], &[]),
            b"{\"time\": 3, \"p\": 1}\n",
            &[],
            "line 1: there is no column `t`; the columns are `time`, `p`",
        );
    }

    #[test]
    fn json_that_is_broken_or_of_the_wrong_kind_is_said_so() {
        let only = ColumnOptions::new("t", &[], &[]);
        for (bad, error) in [
            ("[1]", "line 2: expected one JSON object, found a list"),
            ("{\"t\": 1", "line 2: expected one JSON object, found text that breaks off"),
            ("{\"t\": 1]", "line 2: expected one JSON object, found broken JSON at position 8"),
            (
                "{\"t\": [1]}",
                "line 2, column `t`: expected a time in seconds since 1970, found a list",
            ),
            (
                "{\"t\": true}",
                "line 2, column `t`: expected a time in seconds since 1970, found a truth value",
            ),
        ] {
            let input = format!("{{\"t\": 1}}\n{bad}\n{{\"t\": 1}}\n");
            check(Format::Ndjson, &only, input.as_bytes(), &["1: 1000 at - p0 [1000]"], error);
        }
    }
}
