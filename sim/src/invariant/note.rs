//! The note on a figure: how many rows were dropped for it (I33), and whether it may call itself
//! complete (I34).
//!
//! The dropped rows of a window are counted from the records that name it while it is open. Known is a
//! figure only if the input ended, nothing was dropped for it, and nobody was left out as idle while it
//! was open (semantics 13). I34 asserts that one way: whoever says known must be right. An idle
//! partition counts against it where a candidate was computed without it after the window's first
//! row and before the step that closed it.
//!
//! Invariant: notes are compared with what was known before the figure was written.

use super::past::{Past, Scope};
use super::words::{time, window};
use super::{Invariant, Observation};
use plimsoll_engine::output::{Completeness, FiringReason};
use plimsoll_engine::time::EventTime;

/// I33.
pub const DROPPED: &str = "I33 dropped_on_figure";
/// I34.
pub const KNOWN: &str = "I34 known_only_if_certain";

const NEEDS: &str = "windows on the watermark's column";

pub(super) fn dropped(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    if scope.grid.is_some() { Ok(Box::new(Dropped)) } else { Err(NEEDS) }
}

#[derive(Debug)]
struct Dropped;

impl Invariant for Dropped {
    fn name(&self) -> &'static str {
        DROPPED
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        for (firing, facts) in seen.output.firings.iter().zip(&past.firings) {
            let found = firing.note.rows_dropped;
            if found != facts.dropped {
                return Err(format!(
                    "the figure of {} says that {found} rows were dropped for it; {} records do",
                    window(firing.window),
                    facts.dropped
                ));
            }
        }
        Ok(())
    }
}

pub(super) fn known(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    if scope.grid.is_some() { Ok(Box::new(Known)) } else { Err(NEEDS) }
}

#[derive(Debug)]
struct Known;

impl Invariant for Known {
    fn name(&self) -> &'static str {
        KNOWN
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        for (firing, facts) in seen.output.firings.iter().zip(&past.firings) {
            let note = &firing.note;
            if note.completeness != Completeness::Known {
                continue;
            }
            let idle = facts.opened.zip(facts.last_idle).is_some_and(|(from, last)| from <= last);
            let why = if note.reason != FiringReason::EndOfInput {
                "the input had not ended".to_owned()
            } else if note.watermark != EventTime::MAX {
                format!("the watermark was {}", time(note.watermark))
            } else if 0 < facts.dropped.max(note.rows_dropped) {
                format!("{} rows were dropped for it", facts.dropped.max(note.rows_dropped))
            } else if idle || note.idle_excluded {
                "a partition was left out as idle while it was open".to_owned()
            } else {
                continue;
            };
            let it = window(firing.window);
            return Err(format!("the figure of {it} calls itself complete, but {why}"));
        }
        Ok(())
    }
}
