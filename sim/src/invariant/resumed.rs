//! A partition that speaks again counts again, from its first item (I10).
//!
//! A row or heartbeat makes its partition active at once; and one that is active and not behind the
//! candidate after a step is in the minimum.
//! The first half is what I37 finds too, here from the system's own words alone and of heartbeats and
//! rows only; the second is said nowhere else but by I43.
//!
//! Invariant: looked at right after the item, when the system shows its partitions.

use super::past::{Past, Scope};
use super::words::time;
use super::{Invariant, Observation};
use crate::trace::Item;
use plimsoll_engine::watermark::member::{Member, MemberState};

/// I10.
pub const RESUMED: &str = "I10 resumed_is_active";

pub(super) fn resumed(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    if scope.idle.is_none() || scope.flow.as_ref().is_some_and(|it| it.flow.levels.is_some()) {
        return Err("partitions that can fall idle, at one level");
    }
    Ok(Box::new(Resumed))
}

#[derive(Debug)]
struct Resumed;

impl Invariant for Resumed {
    fn name(&self) -> &'static str {
        RESUMED
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        let view = &seen.view;
        // A flow shows its partitions as they were at the end of its last step.
        let stale = past.scope.flow.is_some() && seen.output.steps.is_empty();
        if past.was_stopped || view.stopped || stale {
            return Ok(());
        }
        let speaks = match *seen.item {
            Item::Row(row) => Some(row.partition),
            Item::Heartbeat { partition, .. } => Some(partition),
            _ => None,
        };
        let idle = |it: &&Member| Some(it.partition) == speaks && it.state == MemberState::Idle;
        if let Some(it) = view.members.iter().find(idle) {
            let p = it.partition.0;
            return Err(format!("partition {p} has just been heard and is still idle"));
        }
        let left_out = |it: &&Member| {
            it.state == MemberState::Active && !it.aligned && view.candidate <= it.max
        };
        // Of several inputs the candidate belongs to the first alone; and where nobody counts, who
        // waits is measured against the candidate before this one.
        let nobody_counts = !view.members.iter().any(Member::counts);
        if past.scope.flow.is_some() || !past.scope.one_evaluation(seen) || nobody_counts {
            return Ok(());
        }
        match view.members.iter().find(left_out) {
            None => Ok(()),
            Some(it) => Err(format!(
                "partition {} has caught up ({}, candidate {}) and does not count",
                it.partition.0,
                time(it.max),
                time(view.candidate)
            )),
        }
    }
}
