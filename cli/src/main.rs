//! plimsoll: the command.
//!
//! The only crate that touches files, clocks, the environment, threads and the standard streams.
//! It turns arguments into calls of the libraries and their answers into text, and decides nothing
//! about watermarks itself.
//!
//! Results go to standard output, progress and errors to standard error, and the exit code says how
//! it ended ([`exit::Exit`]).
//!
//! Invariant: no input, argument or closed pipe makes it panic; a panic is a bug in the harness.

mod args;
mod check;
mod compare;
mod completions;
mod conform;
mod console;
mod diagnose;
mod exit;
mod explain;
mod explore;
mod failure;
mod lint;
mod mutants;
mod progress;
mod recording;
mod replay;
mod run;
mod seeds;
mod shrink;
mod source;
mod subject;
mod tune;

use std::process::ExitCode;

fn main() -> ExitCode {
    exit::report_panics();
    let ended = std::panic::catch_unwind(args::run);
    ended.unwrap_or(exit::Exit::Bug).into()
}
