//! What can be wrong with a recording.
//!
//! Every error names the line, and where it can the column, what was expected and what was found.
//!
//! Invariant: no input makes a reader panic; whatever it cannot read is one of these.

use thiserror::Error;

/// Broken input.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RecordingError {
    /// A cell is not what its column should hold.
    #[error("line {line}, column `{column}`: expected {expected}, found {found}")]
    Cell {
        /// The line, from 1.
        line: u64,
        /// The column as the user named it.
        column: String,
        /// What the column should hold.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A column that was asked for is not there.
    #[error("line {line}: there is no column `{column}`; {}", columns(.there))]
    NoColumn {
        /// The line that should name it.
        line: u64,
        /// The column as the user named it.
        column: String,
        /// The columns that are there.
        there: Columns,
    },
    /// A name stands in the header more than once.
    #[error(
        "line {line}: there are {times} columns `{column}`; without a header, columns are named \
         by number"
    )]
    Ambiguous {
        /// The line of the header.
        line: u64,
        /// The name.
        column: String,
        /// How often it is there.
        times: usize,
    },
    /// A line has too many or too few fields.
    #[error("line {line}: expected {expected} fields as on the first line, found {found}")]
    FieldCount {
        /// The line, from 1.
        line: u64,
        /// Fields of the first line.
        expected: u64,
        /// Fields of this one.
        found: u64,
    },
    /// A quote swallows the rest of the input.
    #[error(
        "line {line}: a quote is opened here and never closed, so that the rest of the input \
         would be one field"
    )]
    OpenQuote {
        /// The line on which the row starts.
        line: u64,
    },
    /// A line is no JSON object.
    #[error("line {line}: expected {expected}, found {found}")]
    NotAnObject {
        /// The line, from 1.
        line: u64,
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// A line does not end.
    #[error("line {line}: expected a line of at most {limit} bytes, found a longer one")]
    LineTooLong {
        /// The line, from 1.
        line: u64,
        /// The limit.
        limit: u64,
    },
    /// The bytes stopped coming.
    #[error("after line {line}: the input cannot be read further: {why}")]
    Unreadable {
        /// The last line that was read.
        line: u64,
        /// The reason that the source gave.
        why: String,
    },
}

/// The columns of an input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Columns {
    /// They have names.
    Named(Vec<String>),
    /// They are numbered from 1 to this.
    Numbered(usize),
}

fn columns(there: &Columns) -> String {
    match there {
        Columns::Named(names) if names.is_empty() => "there are no columns at all".to_owned(),
        Columns::Named(names) => {
            let names: Vec<_> = names.iter().map(|it| format!("`{}`", it.escape_debug())).collect();
            format!("the columns are {}", names.join(", "))
        }
        Columns::Numbered(count) => {
            format!("without a header the columns are the numbers 1 to {count}")
        }
    }
}

/// The first byte that is not UTF-8, as errors print it; positions are counted from 1.
pub(super) fn byte_that_is_not_utf8(bytes: &[u8], error: std::str::Utf8Error) -> String {
    let at = error.valid_up_to();
    format!("the byte 0x{:02x} at position {}", bytes[at], at + 1)
}
