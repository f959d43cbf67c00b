//! One JSON object per line.
//!
//! Columns are the names at the top of each object. Those for event time, arrival and partition must be
//! there in the first row, so that a misspelt name does not read as "all unknown"; afterwards, and for
//! other columns always, a name that is not there is null.
//!
//! Invariant: numbers keep every digit that serde_json keeps; none is rounded here.

use super::Row;
use super::cell::{Cells, Field, Slot};
use super::error::{Columns, RecordingError, byte_that_is_not_utf8};
use super::lines::Lines;
use serde_json::Value;
use std::io::Read;

/// A recording of JSON objects.
#[derive(Debug)]
pub(super) struct Ndjson<R> {
    lines: Lines<R>,
    first: bool,
}

impl<R: Read> Ndjson<R> {
    pub(super) fn new(source: R) -> Self {
        Self { lines: Lines::new(source), first: true }
    }

    pub(super) fn next_row(
        &mut self,
        cells: &mut Cells,
        row: &mut Row,
    ) -> Result<bool, RecordingError> {
        let Some((line, bytes)) = self.lines.next_line()? else {
            return Ok(false);
        };
        let object = object(line, bytes)?;
        if std::mem::take(&mut self.first) {
            all_there(line, &object, cells)?;
        }
        cells.begin(row, line);
        for wanted in 0..cells.wanted.len() {
            let mut digits = String::new();
            let value = object.get(&cells.wanted[wanted].source).unwrap_or(&Value::Null);
            cells.put(wanted, field(value, &mut digits), row)?;
        }
        Ok(true)
    }
}

fn field<'a>(value: &'a Value, digits: &'a mut String) -> Field<'a> {
    match value {
        Value::Null => Field::Null,
        Value::Bool(_) => Field::Foreign("a truth value"),
        Value::Array(_) => Field::Foreign("a list"),
        Value::Object(_) => Field::Foreign("an object"),
        Value::String(it) => Field::Text(it),
        Value::Number(it) => {
            *digits = it.to_string();
            Field::Text(digits)
        }
    }
}

fn object(line: u64, bytes: &[u8]) -> Result<serde_json::Map<String, Value>, RecordingError> {
    let broken = |expected, found| RecordingError::NotAnObject { line, expected, found };
    const EXPECTED: &str = "one JSON object";
    let text = std::str::from_utf8(bytes)
        .map_err(|error| broken("one JSON object in UTF-8", byte_that_is_not_utf8(bytes, error)))?;
    let value: Value = serde_json::from_str(text).map_err(|error| {
        let found = if error.is_eof() {
            "text that breaks off".to_owned()
        } else {
            format!("broken JSON at position {}", error.column())
        };
        broken(EXPECTED, found)
    })?;
    let found = match value {
        Value::Object(it) => return Ok(it),
        Value::Array(_) => "a list",
        Value::String(_) => "a text",
        Value::Number(_) => "a number",
        Value::Bool(_) => "a truth value",
        Value::Null => "null",
    };
    Err(broken(EXPECTED, found.to_owned()))
}

/// The columns that carry time and partition are there.
fn all_there(
    line: u64,
    object: &serde_json::Map<String, Value>,
    cells: &Cells,
) -> Result<(), RecordingError> {
    let missing = cells.wanted.iter().find(|it| {
        let needed = match it.slot {
            Slot::Arrival | Slot::Input | Slot::Partition => true,
            // Each of several inputs may have a time of its own.
            Slot::Cell(ix) => ix == cells.event && cells.inputs.is_empty(),
        };
        needed && !object.contains_key(&it.source)
    });
    match missing {
        None => Ok(()),
        Some(it) => Err(RecordingError::NoColumn {
            line,
            column: it.source.clone(),
            there: Columns::Named(object.keys().cloned().collect()),
        }),
    }
}
