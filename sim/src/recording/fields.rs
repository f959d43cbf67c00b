//! Lines of fields: CSV with quotes, or columns between blanks.
//!
//! With a header a column is found by its name, and where no column has that name and it is a number,
//! by its place. Only the columns that were asked for must be UTF-8. The CSV reader takes an unclosed
//! quote for a very long field, which would lose every row behind it without a word: a last row that
//! swallows the final line end, or several lines under an odd number of quotes, gives it away.
//!
//! Invariant: every line has as many fields as the first one.

use super::cell::{Cells, Field};
use super::error::{Columns, RecordingError, byte_that_is_not_utf8};
use super::lines::Lines;
use super::{Delimiter, Row};
use csv::ByteRecord;
use std::io::{self, Read};

/// A recording of lines with fields.
#[derive(Debug)]
pub(super) struct Fields<R> {
    split: Split<R>,
    header: bool,
    record: ByteRecord,
    /// Fields of the first line; `None` before it.
    width: Option<usize>,
    /// Where each wanted column stands.
    places: Vec<usize>,
}

#[derive(Debug)]
enum Split<R> {
    Csv { reader: csv::Reader<QuoteCount<R>> },
    Blanks { lines: Lines<R> },
}

impl<R: Read> Fields<R> {
    pub(super) fn new(header: bool, delimiter: Delimiter, source: R) -> Self {
        let split = match delimiter {
            Delimiter::Blanks => Split::Blanks { lines: Lines::new(source) },
            Delimiter::Byte(byte) => {
                let mut reader = csv::ReaderBuilder::new();
                // The header is ours, and so is the sentence about the number of fields.
                let reader = reader.delimiter(byte).has_headers(false).flexible(true);
                // A line ends at its line feed, so that lines are counted right after `\r\n` too.
                let reader = reader.terminator(csv::Terminator::Any(b'\n'));
                let source = QuoteCount { source, odd: false, last: b'\n', ended: false };
                Split::Csv { reader: reader.from_reader(source) }
            }
        };
        Self { split, header, record: ByteRecord::new(), width: None, places: Vec::new() }
    }

    pub(super) fn next_row(
        &mut self,
        cells: &mut Cells,
        row: &mut Row,
    ) -> Result<bool, RecordingError> {
        if self.width.is_none() {
            let Some(line) = self.split.next(&mut self.record)? else {
                return Ok(false);
            };
            self.width = Some(self.record.len());
            self.places = self.find(line, cells)?;
            if !self.header {
                return self.fill(line, cells, row).map(|()| true);
            }
        }
        match self.split.next(&mut self.record)? {
            None => Ok(false),
            Some(line) => self.fill(line, cells, row).map(|()| true),
        }
    }

    fn fill(&self, line: u64, cells: &mut Cells, row: &mut Row) -> Result<(), RecordingError> {
        let (expected, found) = (self.width.unwrap_or(0), self.record.len());
        if expected != found {
            let (expected, found) = (expected as u64, found as u64);
            return Err(RecordingError::FieldCount { line, expected, found });
        }
        cells.begin(row, line);
        for (wanted, place) in self.places.iter().enumerate() {
            let bytes = &self.record[*place];
            let text = std::str::from_utf8(bytes).map_err(|error| RecordingError::Cell {
                line,
                column: cells.wanted[wanted].source.clone(),
                expected: "text in UTF-8".to_owned(),
                found: byte_that_is_not_utf8(bytes, error),
            })?;
            let field = if text.is_empty() { Field::Null } else { Field::Text(text) };
            cells.put(wanted, field, row)?;
        }
        Ok(())
    }

    /// Where the wanted columns stand, by the first line.
    fn find(&self, line: u64, cells: &Cells) -> Result<Vec<usize>, RecordingError> {
        let width = self.record.len();
        let names: Vec<_> = match self.header {
            false => Vec::new(),
            true => self.record.iter().map(String::from_utf8_lossy).collect(),
        };
        let place = |source: &str| {
            let named = || names.iter().enumerate().filter(|(_, it)| it.trim() == source);
            let by_number = source.parse().ok().filter(|it| (1..=width).contains(it));
            let column = source.to_owned();
            match (named().count(), named().next(), by_number) {
                (1, Some((at, _)), _) => Ok(at),
                (0, _, Some(number)) => Ok(number - 1),
                (0, _, None) => Err(RecordingError::NoColumn {
                    line,
                    column,
                    there: match self.header {
                        true => Columns::Named(names.iter().map(|it| it.to_string()).collect()),
                        false => Columns::Numbered(width),
                    },
                }),
                (times, _, _) => Err(RecordingError::Ambiguous { line, column, times }),
            }
        };
        cells.wanted.iter().map(|it| place(&it.source)).collect()
    }
}

impl<R: Read> Split<R> {
    /// The next record and the line on which it starts.
    fn next(&mut self, record: &mut ByteRecord) -> Result<Option<u64>, RecordingError> {
        match self {
            Self::Blanks { lines } => {
                let Some((number, line)) = lines.next_line()? else {
                    return Ok(None);
                };
                record.clear();
                for field in line.split(u8::is_ascii_whitespace).filter(|it| !it.is_empty()) {
                    record.push_field(field);
                }
                Ok(Some(number))
            }
            Self::Csv { reader } => loop {
                let more = reader.read_byte_record(record).map_err(|error| {
                    let line = reader.position().line() - 1;
                    RecordingError::Unreadable { line, why: error.to_string() }
                })?;
                if !more {
                    return Ok(None);
                }
                let source = reader.get_ref();
                let inside = record.iter().map(line_breaks).sum::<u64>();
                // A record that ran into the end of the input has no line end of its own; if the
                // input ends with one all the same, it is inside an open quote.
                let unended = source.ended;
                let line = reader.position().line().saturating_sub(inside + u64::from(!unended));
                if unended && (source.last == b'\n' || 0 < inside && source.odd) {
                    return Err(RecordingError::OpenQuote { line });
                }
                without_carriage_return(record);
                if record.len() != 1 || !record[0].trim_ascii().is_empty() {
                    return Ok(Some(line));
                }
            },
        }
    }
}

fn without_carriage_return(record: &mut ByteRecord) {
    let last = record.len().checked_sub(1).map(|it| &record[it]);
    if let Some([short @ .., b'\r']) = last {
        let short = short.to_vec();
        record.truncate(record.len() - 1);
        record.push_field(&short);
    }
}

fn line_breaks(field: &[u8]) -> u64 {
    field.iter().filter(|it| **it == b'\n').count() as u64
}

/// Passes bytes on and counts quotes.
#[derive(Debug)]
struct QuoteCount<R> {
    source: R,
    odd: bool,
    last: u8,
    ended: bool,
}

impl<R: Read> Read for QuoteCount<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(into)?;
        self.ended = read == 0;
        self.last = into[..read].last().copied().unwrap_or(self.last);
        self.odd ^= into[..read].iter().filter(|it| **it == b'"').count() % 2 == 1;
        Ok(read)
    }
}
