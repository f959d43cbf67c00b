//! From the text of a field to a cell of a row.
//!
//! A field that is empty, or `NA` or `null` in a column of times or numbers, is null. Text becomes a
//! code in order of first sight, partitions in a dictionary of their own; a row whose partition is null
//! belongs to the partition named by the empty text.
//!
//! Invariant: every cell of a row is written anew for every line, so nothing of an earlier row stays.

use super::error::RecordingError;
use super::number::Decimal;
use super::time::Unit;
use super::{ColumnOptions, Row};
use plimsoll_engine::row::{ColumnKind, Dictionary, PartitionId, Schema};
use plimsoll_engine::time::{EventTime, ProcTime};

/// What a wanted column fills.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    Arrival,
    Input,
    Partition,
    Cell(usize),
}

/// A column that is read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Wanted {
    pub(super) slot: Slot,
    /// Its name or number in the input.
    pub(super) source: String,
}

/// What stands in a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Field<'a> {
    Null,
    Text(&'a str),
    /// Something that no column takes, in words.
    Foreign(&'static str),
}

/// Fills rows.
#[derive(Debug)]
pub(super) struct Cells {
    pub(super) wanted: Vec<Wanted>,
    pub(super) texts: Dictionary,
    pub(super) partitions: Dictionary,
    pub(super) unit: Unit,
    pub(super) arrival_unit: Unit,
    /// The names of inputs; empty where there is one.
    pub(super) inputs: Vec<String>,
    schema: Schema,
    pub(super) event: usize,
    /// One per column of the schema; only those of time columns are used.
    units: Vec<Unit>,
    scale: u32,
}

impl Cells {
    pub(super) fn new(options: &ColumnOptions) -> Self {
        let columns = options.schema.columns.len();
        assert_eq!(options.sources.len(), columns, "each column of the schema has a source");
        let cells = (0..).zip(&options.sources);
        let cells = cells.filter_map(|(ix, it)| Some((Slot::Cell(ix), it.as_ref()?)));
        let arrival = options.arrival.iter().map(|it| (Slot::Arrival, it));
        let partition = options.partition.iter().map(|it| (Slot::Partition, it));
        let input = options.input.iter().map(|it| (Slot::Input, &it.column));
        let wanted = cells.chain(arrival).chain(input).chain(partition);
        let mut partitions = Dictionary::default();
        if options.partition.is_none() {
            partitions.code("all");
        }
        Self {
            wanted: wanted.map(|(slot, it)| Wanted { slot, source: it.clone() }).collect(),
            texts: Dictionary::default(),
            partitions,
            unit: options.unit,
            arrival_unit: options.arrival_unit,
            inputs: options.input.as_ref().map_or_else(Vec::new, |it| it.names.clone()),
            schema: options.schema.clone(),
            event: options.event.0,
            units: vec![options.unit; columns],
            scale: options.scale,
        }
    }

    /// Empties `row` for a new line.
    pub(super) fn begin(&self, row: &mut Row, line: u64) {
        row.line = line;
        row.time = None;
        row.arrival = None;
        row.partition = PartitionId(0);
        row.cells.clear();
        row.cells.resize(self.schema.columns.len(), None);
    }

    /// Puts the field of wanted column number `wanted` into `row`.
    pub(super) fn put(
        &mut self,
        wanted: usize,
        field: Field<'_>,
        row: &mut Row,
    ) -> Result<(), RecordingError> {
        let slot = self.wanted[wanted].slot;
        let done = match slot {
            Slot::Arrival => time(&mut self.arrival_unit, field).map(|it| {
                row.arrival = it.map(ProcTime);
            }),
            Slot::Input => self.input(field).map(|it| {
                row.partition = PartitionId::of(it, 0, row.partition.number());
            }),
            Slot::Partition => text(field).and_then(|it| {
                let code = self.partitions.code(it.unwrap_or(""));
                let code = u32::try_from(code).unwrap_or(u32::MAX);
                row.partition = match (self.inputs.is_empty(), PartitionId::NUMBER_MAX < code) {
                    (true, _) => PartitionId(code),
                    (false, false) => PartitionId::of(row.partition.input() as u32, 0, code),
                    (false, true) => {
                        return Err(format!(
                            "one of at most {} partitions",
                            PartitionId::NUMBER_MAX
                        ));
                    }
                };
                Ok(())
            }),
            Slot::Cell(ix) => match self.schema.columns[ix].kind {
                ColumnKind::Time => time(&mut self.units[ix], field).map(|it| row.cells[ix] = it),
                ColumnKind::Integer => integer(self.scale, field).map(|it| row.cells[ix] = it),
                ColumnKind::Text => text(field).map(|it| {
                    row.cells[ix] = it.map(|it| self.texts.code(it));
                }),
            },
        };
        if slot == Slot::Cell(self.event) {
            row.time = row.cells[self.event].map(EventTime);
            self.unit = self.units[self.event];
        }
        done.map_err(|expected| {
            let found = match field {
                Field::Null => "nothing".to_owned(),
                Field::Text(it) => quoted(it),
                Field::Foreign(it) => it.to_owned(),
            };
            let column = self.wanted[wanted].source.clone();
            RecordingError::Cell { line: row.line, column, expected, found }
        })
    }
}

impl Cells {
    /// The number of the input that is named.
    fn input(&self, field: Field<'_>) -> Result<u32, String> {
        let expected = || format!("an input of the plan ({})", self.inputs.join(", "));
        let Field::Text(name) = field else { return Err(expected()) };
        let at = self.inputs.iter().position(|it| it == name.trim());
        at.and_then(|it| u32::try_from(it).ok()).ok_or_else(expected)
    }
}

/// What was expected is the error.
type Put<T> = Result<Option<T>, String>;

fn time(unit: &mut Unit, field: Field<'_>) -> Put<i64> {
    let Some(it) = value(field).map_err(|()| unit.sentence().to_owned())? else {
        return Ok(None);
    };
    unit.parse(it).map(Some).ok_or_else(|| unit.sentence().to_owned())
}

fn integer(scale: u32, field: Field<'_>) -> Put<i64> {
    let expected = || match scale {
        0 => "a whole number".to_owned(),
        _ => format!("a number with at most {scale} decimals"),
    };
    let Some(it) = value(field).map_err(|()| expected())? else {
        return Ok(None);
    };
    let Some(number) = Decimal::parse(it) else {
        return Err(expected());
    };
    number.exact(scale).map(Some).ok_or_else(|| match number.decimals() {
        more if scale < more => {
            format!("{} (a scale of {more} would keep the decimals)", expected())
        }
        _ => format!("{} that fits into 64 bits", expected()),
    })
}

/// Null, or the trimmed text of a time or a number.
fn value(field: Field<'_>) -> Result<Option<&str>, ()> {
    match field {
        Field::Null => Ok(None),
        Field::Foreign(_) => Err(()),
        Field::Text(it) => match it.trim() {
            "" | "NA" | "null" | "NULL" => Ok(None),
            it => Ok(Some(it)),
        },
    }
}

fn text(field: Field<'_>) -> Put<&str> {
    match field {
        Field::Null => Ok(None),
        Field::Text(it) => Ok(Some(it)),
        Field::Foreign(_) => Err("a text or a number".to_owned()),
    }
}

/// A found text as errors print it: short, and on one line.
fn quoted(text: &str) -> String {
    let mut short: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    if 40 < text.chars().count() {
        short.push_str("..");
    }
    format!("`{short}`")
}
