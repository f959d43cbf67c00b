//! The laws of event time, as properties of two runs (semantics 17).
//!
//! Each law compares a run with a run of a related trace: a longer delay, split batches, shifted
//! times. What a law needs is asked of every trace, in code: a trace that does not qualify is
//! skipped and counted. A law says how many of its cases must have qualified, and in how many the
//! relation must have had something to say, so that none of them can hold by being empty.
//!
//! The assertions that look right and are wrong (semantics 18) are not here. Where it is cheap, a test
//! beside the law shows that it breaks where its precondition is not met.
//!
//! Worlds are *plain* (one input, at most one window aggregation, the embedded scenarios) or *flows*
//! ([`flows`]: several inputs, joins, sessions, dedup, chains), without restarts that forget. What each law needs and leaves out:
//!
//! | law | test (module) | needs, besides an end of input | not covered, and why |
//! |---|---|---|---|
//! | M1 | `delay`, `flows::delay` | append, E, W or F, additive figures; flows: windows behind at most a dedup by time, no steps that follow; any one input's delay | sums of negative numbers, chains of windows: not monotone |
//! | M2 | `clocks` | no idle timeout, fallback, guard, interval, probes | periodic probes: their number is the clock's |
//! | M3 | `batches`, `flows::batches` | append, batches, lag 1 or 2, no clock | what is written: only who is late is compared |
//! | M4 | `batches`, `flows::batches` | the same; flows, lag 1: no allowed lateness, sessions of rule event that do not touch, no dedup within a delay, stages chained | the rest notices when state leaves |
//! | M5 | `names`, `flows::names` | w = -inf first, no fallback, no guard, null times nowhere, by whole slides of all stages | times that are keys' or values' numbers |
//! | M6 | `names`, `flows::names` | nothing: no rule names a partition; also over levels of tasks | other tasks or inputs: rules name those |
//! | M7 | `batches`, `flows::batches` | batches or interval, lag 1 or 2; stages free of order | merged sessions, early panes, windows of rows, as-of, dedup that keeps payload: by definition not free |
//! | M8 | `keys` | keys that nothing reads as numbers | - |
//! | M9 | `order`, `flows::order` | append, w = -inf first, no clock, partitions that stay, batches kept; minimum: rows that moved none | partly late rows stay |
//! | M10 | `names`, `flows::names` | nothing | restarts that forget: other engines' rules |
//! | M11 | `sessions` | append, no fallback, no lateness, no span limit; exactly one session around with a fixed gap or rule event, else at least one | with its own gap a row that is late for its session may open one around it |
//! | M12 | `joins` | append, exact expiry; null rows: a watermark per side, the other side's delay | full joins' null rows of both sides at once |
//! | M13 | `delay`, `flows::delay` | w = -inf first, no fallback; flows: one input, first stage, no merged sessions | chained drops, several delays |
//! | M14 | `generators`, `inputs` | append, no fallback, flush; policies: lateness of a row alone | merged sessions: state decides who is late |
//! | M15 | `clocks` | append, no fallback; flush and hold, or a tick at every instant that counts; flows: no steps that follow, lateness of a row alone | coarse ticks with hold or catch_up: false there; levels: other rules of idleness |
//! | M16 | `order`, `flows::order` | append, rule E, one maximum, row by row; flows: every stage by rule E, null times nowhere, no steps that follow, delays that are not negative | rows in a hole that are late behind |
//! | M17 | `heartbeats` | no step of its own, no guard, right behind a row; ahead: no idleness, additive windows | silent partitions: it is activity |
//! | M18 | `slices` | stages key by key, no probes, no source filter, not complete mode per row | rows without a legal time stay: no heartbeat says that |
//! | M19 | `delay`, `flows::delay` | one maximum, no clock, no heartbeats, E, W or E2; flows: no dedup within a delay, no span limit, second stages not strict at their bound | rule F, early or late panes |
//! | M20 | `duplicates` | w = -inf first, no clock, batches kept, the same partition; within a delay: w < t_first + d | - |
//! | M21 | `generators` | append, rule E, tumbling, a length that divides; flows: such windows last, totals, no steps that follow | discarding panes |
//! | M22 | `lateness` | append, w = -inf first, no fallback, rule W or E, totals | sessions: a written one may grow and be written again |
//! | M23 | `inputs` | append, one maximum, partitions that stay, equal delays | partitions that finish: one half may end before the other |
//! | M24 | `slices` | M18, and every row with a legal time; state is compared too | - |
//! | M25 | `flows::names` | nothing | - |
//! | a plain query is a flow | `flows::equivalence` | the watermark's own column; updates at the ends of steps | notes of figures: a flow has none |
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
