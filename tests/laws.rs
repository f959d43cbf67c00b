//! The laws of event time, as properties of two runs (semantics 17).
//!
//! Each law compares a run with a run of a related trace: a longer delay, split batches, shifted
//! times. What a law needs is asked of every trace, in code: a trace that does not qualify is
//! skipped and counted. A law says how many of its cases must have qualified, and in how many the
//! relation must have had something to say, so that none of them can hold by being empty.
//!
//! The assertions that look right and are wrong (semantics 18) are not here.
//!
//! Invariant: a law says nothing about a trace that its precondition does not cover.

mod batches;
mod case;
mod clocks;
mod delay;
mod duplicates;
mod flows;
mod generators;
mod heartbeats;
mod inputs;
mod joins;
mod keys;
mod lateness;
mod names;
mod order;
mod outcome;
mod plants;
mod reference;
mod sessions;
mod shape;
mod slices;

use case::Draw;
use plimsoll_sim::trace::Trace;

/// Why a law does not hold here, or does not say anything.
#[derive(Debug)]
enum No {
    /// A precondition of the law is not met.
    Uncovered(&'static str),
    /// The law is broken.
    Broken(String),
}

/// Whether a law had something to say about a trace: `true` where the two runs differ in what the
/// law is about, so that it might have been broken.
type Held = Result<bool, No>;

/// A law.
struct Law {
    /// Its number and its name.
    name: &'static str,
    /// Draws a world.
    world: fn(u64) -> Trace,
    /// Makes a drawn trace qualify, as far as that keeps its rows.
    prepare: fn(&mut Trace, &mut Draw),
    /// The law: first what it needs, then what it says.
    holds: fn(&Trace, &mut Draw) -> Held,
    /// At least so many of the cases qualify.
    covered: u32,
    /// At least so many of the cases tell.
    telling: u32,
}

/// A precondition.
fn need(met: bool, what: &'static str) -> Result<(), No> {
    if met { Ok(()) } else { Err(No::Uncovered(what)) }
}

/// What the law says.
fn claim(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), No> {
    if holds { Ok(()) } else { Err(No::Broken(otherwise())) }
}
