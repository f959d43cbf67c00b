//! Sessions under the event rule: those of a key that were written are apart (I11).
//!
//! Only t < w guarantees that no admitted row reaches into a published session (semantics 5). A session
//! that was closed because it had become too long may be touched again, and one that is kept for
//! allowed lateness is written again, so neither is covered.
//!
//! Invariant: intervals of a key are compared once, when the later one is written.

use super::super::past::{Past, Scope};
use super::super::words::window;
use super::super::{Invariant, Observation};
use super::past::cells;
use super::{appends, followed};
use plimsoll_engine::plan::flow::{SessionLate, StagePlan};
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_engine::window::Window;
use std::collections::BTreeMap;

/// I11.
pub const APART: &str = "I11 sessions_apart";

pub(in super::super) fn apart(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    let flow = followed(scope)?;
    appends(scope)?;
    let stages = flow.flow.stages.iter().zip(&flow.links);
    match stages.last() {
        Some((StagePlan::Session(it), [true, _]))
            if it.late == SessionLate::Event
                && it.max_span.is_none()
                && it.lateness == Span::ZERO =>
        {
            Ok(Box::new(Apart { keys: it.keys.len(), written: BTreeMap::new() }))
        }
        _ => Err("sessions last, under the event rule, without a span limit and lateness"),
    }
}

#[derive(Debug)]
struct Apart {
    keys: usize,
    written: BTreeMap<Vec<Option<i64>>, Vec<Window>>,
}

impl Invariant for Apart {
    fn name(&self) -> &'static str {
        APART
    }

    fn observe(&mut self, seen: &Observation<'_>, _: &Past) -> Result<(), String> {
        for (at, note) in seen.output.emissions.notes.iter().enumerate() {
            let cells = cells(seen, at);
            let [Some(start), Some(end), ..] = cells[..] else {
                return Err(format!("step {} wrote a session without bounds", note.step));
            };
            let own = Window { start: EventTime(start), end: EventTime(end) };
            let key = cells.get(3..3 + self.keys).unwrap_or_default().to_vec();
            let others = self.written.entry(key).or_default();
            let overlaps = |it: &&Window| it.start < own.end && own.start < it.end;
            if let Some(other) = others.iter().find(overlaps) {
                return Err(format!(
                    "step {} wrote the session {}; its key has {} already",
                    note.step,
                    window(own),
                    window(*other)
                ));
            }
            others.push(own);
        }
        Ok(())
    }
}
