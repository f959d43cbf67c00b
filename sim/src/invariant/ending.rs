//! The end of input (I32): afterwards no state remains (complete mode exempt), the watermark is +inf, and
//! nothing more is taken; a row after its partition finished is ignored and counted, not judged.
//!
//! `once` and `available_now` stop without an end: nothing fires at the stop, state remains.
//!
//! Invariant: whether a partition has finished is decided by the roster, not by the system.

use super::past::{Past, Scope};
use super::words::time;
use super::{Invariant, Observation};
use crate::trace::Item;
use plimsoll_engine::output::{Fate, StepKind};
use plimsoll_engine::plan::{OutputMode, Trigger};
use plimsoll_engine::time::EventTime;
use plimsoll_engine::watermark::member::MemberState;

/// I32.
pub const ENDS: &str = "I32 end_of_input_empty";

pub(super) fn ends(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    let stops = matches!(scope.trigger, Trigger::Once | Trigger::AvailableNow(_));
    Ok(Box::new(Ends { stops }))
}

#[derive(Debug)]
struct Ends {
    /// The query stops without an end of its input.
    stops: bool,
}

impl Invariant for Ends {
    fn name(&self) -> &'static str {
        ENDS
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        for row in &past.rows {
            let fate = row.record.map(|it| &seen.output.records[it as usize].fate);
            let after_finish = matches!(fate, Some(Fate::AfterFinish));
            if row.finished != after_finish && !past.was_stopped {
                let (id, partition) = (row.id.0, row.partition.0);
                return Err(if row.finished {
                    format!("row {id} came after partition {partition} had finished and was judged")
                } else {
                    format!("row {id} was ignored as if partition {partition} had finished")
                });
            }
        }
        if past.was_stopped {
            return silent(seen, past);
        }
        if seen.output.steps.iter().any(|it| it.kind == StepKind::End) != self.ends_here(seen) {
            let not =
                if self.ends_here(seen) { "has ended, but nothing" } else { "goes on, but it" };
            return Err(format!("the input {not} closed"));
        }
        if self.ends_here(seen) { closed(seen, past) } else { Ok(()) }
    }
}

impl Ends {
    fn ends_here(&self, seen: &Observation<'_>) -> bool {
        matches!(seen.item, Item::End) && !self.stops
    }
}

/// Nothing comes out after the stop.
fn silent(seen: &Observation<'_>, past: &Past) -> Result<(), String> {
    if !seen.output.steps.is_empty() || !seen.output.firings.is_empty() {
        return Err("the query had stopped, but a step ran or a window was written".to_owned());
    }
    let mut records = seen.output.records.iter();
    if let Some(it) = records.find(|it| it.fate != Fate::NotApplicable) {
        return Err(format!("row {} came after the stop and was judged", it.id.0));
    }
    match past.rows.iter().find(|it| it.record.is_none()) {
        Some(it) => Err(format!("row {} came after the stop and has no record", it.id.0)),
        None => Ok(()),
    }
}

/// Everything has closed.
fn closed(seen: &Observation<'_>, past: &Past) -> Result<(), String> {
    let view = &seen.view;
    let last = [view.watermark, view.candidate];
    if let Some(it) = last.into_iter().find(|it| *it != EventTime::MAX) {
        return Err(format!("the input has ended: expected +inf, found {}", time(it)));
    }
    let unfinished = view.members.iter().find(|it| it.state != MemberState::Finished);
    if let Some(it) = unfinished {
        return Err(format!(
            "the input has ended, but partition {} is not finished",
            it.partition.0
        ));
    }
    if past.scope.mode == OutputMode::Complete {
        return Ok(());
    }
    if let Some(groups) = view.groups.filter(|it| 0 < *it) {
        return Err(format!("the input has ended: expected no state, found {groups} groups"));
    }
    match view.oldest_end {
        None => Ok(()),
        Some(end) => {
            Err(format!("the input has ended, but a window that ends at {} has state", time(end)))
        }
    }
}
