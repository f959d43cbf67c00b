//! Where the command writes: results and everything else apart.
//!
//! Writers are explicit, so that a closed pipe is an error that travels up and not a panic in the
//! middle of a sentence. Colours are for terminals only, and off where `NO_COLOR` is set to anything
//! or `TERM` is `dumb`.
//!
//! Invariant: standard output holds results only; with `--json` each result is JSON.

use std::env;
use std::io::{self, BufWriter, IsTerminal, Stderr, Stdout, Write};

/// The standard streams and how to write on them.
#[derive(Debug)]
pub(crate) struct Console {
    /// For results. Flushed when the command ends.
    pub(crate) out: BufWriter<Stdout>,
    /// For progress and errors.
    pub(crate) err: Stderr,
    /// Whether results are asked for as JSON.
    pub(crate) json: bool,
    /// Whether errors may be coloured.
    pub(crate) err_colour: bool,
}

impl Console {
    /// The process's own streams.
    pub(crate) fn new(json: bool) -> Self {
        let wanted = env::var_os("NO_COLOR").is_none_or(|it| it.is_empty())
            && env::var_os("TERM").is_none_or(|it| it != "dumb");
        let (out, err) = (io::stdout(), io::stderr());
        let err_colour = wanted && err.is_terminal();
        Self { out: BufWriter::new(out), err, json, err_colour }
    }

    /// Writes one JSON value and a line end.
    pub(crate) fn json(&mut self, value: &serde_json::Value) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, value)?;
        writeln!(self.out)
    }
}
