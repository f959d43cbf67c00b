//! Idleness (I37): at the first tick at which a partition has been silent for longer than the timeout
//! it is idle, and never before; the first arrival ends it.
//!
//! The roster of the past recomputes it from arrivals and ticks alone; the system must show the same
//! partitions idle after every item. Partitions that only one of the two knows are not compared
//! here: who exists is I43's business.
//!
//! Invariant: after a row only its own partition is compared, after anything else all.

use super::past::roster::Seat;
use super::past::{Past, Scope};
use super::{Invariant, Observation};
use crate::trace::Item;
use crate::trace::time_text::SpanText;
use plimsoll_engine::row::PartitionId;
use plimsoll_engine::watermark::member::{Member, MemberState};

/// I37.
pub const IDLE: &str = "I37 idle_exactly_when_silent";

pub(super) fn idle(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    if scope.idle.is_none() {
        return Err("an idle timeout");
    }
    Ok(Box::new(Idle))
}

#[derive(Debug)]
struct Idle;

impl Invariant for Idle {
    fn name(&self) -> &'static str {
        IDLE
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        // A flow shows its partitions as they were at the end of its last step.
        let stale = past.scope.flow.is_some() && seen.output.steps.is_empty();
        if past.was_stopped || stale {
            return Ok(());
        }
        if let Item::Row(row) = *seen.item {
            let seat = past.roster.seat(row.partition);
            return seat.map_or(Ok(()), |it| compare(it, seen, past));
        }
        past.roster.seats().iter().try_for_each(|it| compare(it, seen, past))
    }
}

fn shown(members: &[Member], partition: PartitionId) -> Option<&Member> {
    let guess = members.get(partition.0 as usize).filter(|it| it.partition == partition);
    guess.or_else(|| members.iter().find(|it| it.partition == partition))
}

fn compare(seat: &Seat, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
    // Nobody watches the silence of an input without a watermark.
    let unwatched = past.scope.flow.as_ref().is_some_and(|it| {
        it.flow.inputs.get(seat.partition.input()).is_none_or(|it| it.marks.is_empty())
    });
    if unwatched {
        return Ok(());
    }
    let Some(member) = shown(seen.view.members, seat.partition) else { return Ok(()) };
    let (ours, theirs) = (seat.state, member.state);
    if (ours == MemberState::Idle) == (theirs == MemberState::Idle) {
        return Ok(());
    }
    let timeout = past.scope.idle.map_or_else(String::new, |it| SpanText(it.timeout).to_string());
    let silent = SpanText(past.now.since(seat.heard));
    let partition = seat.partition.0;
    let state = |it| match it {
        MemberState::Active => "active",
        MemberState::Idle => "idle",
        MemberState::Finished => "finished",
    };
    let (ours, theirs) = (state(ours), state(theirs));
    Err(format!(
        "partition {partition} has been silent for {silent} (timeout {timeout}): expected {ours}, \
         found {theirs}"
    ))
}
