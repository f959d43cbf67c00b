//! The candidate as a combination: idle and finished partitions do not lower it and do not make it
//! +inf while somebody else may still send (I8); whoever counts bounds it from above (I7).
//!
//! Looked at right after a step, when the partitions that the system shows are those that the
//! candidate was computed from. With somebody active and aligned, it is at least the least of these
//! (I8) and at most (I7). With nobody, but somebody idle under `flush`, it is at least the largest real
//! maximum of those who are silent. A global maximum does not fall at all, except from +inf when
//! somebody appears after all had finished, and at a restart that forgets.
//!
//! With many partitions not every step of a row looks at all of them, unless the candidate changed.
//!
//! Invariant: what holds by the definition in every step, whatever came before.

use super::past::{Past, Scope};
use super::words::time;
use super::{Invariant, Observation};
use crate::trace::Item;
use plimsoll_engine::output::StepKind;
use plimsoll_engine::plan::AllIdle;
use plimsoll_engine::plan::restore::RestoreRules;
use plimsoll_engine::time::EventTime;
use plimsoll_engine::watermark::member::{Member, MemberState};

/// I8.
pub const LOWERS: &str = "I8 idle_never_lowers";
/// I7.
pub const MINIMUM: &str = "I7 candidate_within_minimum";

/// Up to this many partitions every step looks at all.
const FEW: usize = 16;
/// With more, one step in so many does.
const SAMPLED: u64 = 64;

/// Whether this item's step is to be looked at.
#[inline]
fn looks(seen: &Observation<'_>, before: EventTime) -> bool {
    let Some(last) = seen.output.steps.last() else { return false };
    last.kind != StepKind::End
        && (seen.view.members.len() <= FEW
            || seen.view.candidate != before
            || !matches!(seen.item, Item::Row(_))
            || seen.id.0.is_multiple_of(SAMPLED))
}

fn slowest(members: &[Member]) -> Option<&Member> {
    members.iter().filter(|it| it.counts()).min_by_key(|it| it.max)
}

pub(super) fn lowers(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    if !scope.watermark {
        return Err("a watermark");
    }
    Ok(Box::new(Lowers { shown: EventTime::MIN, last: EventTime::MIN }))
}

#[derive(Debug)]
struct Lowers {
    /// The candidate at the last look.
    shown: EventTime,
    /// The candidate of the last step.
    last: EventTime,
}

impl Invariant for Lowers {
    fn name(&self) -> &'static str {
        LOWERS
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        if past.lost != RestoreRules::EXACT {
            self.last = EventTime::MIN;
        }
        for (record, facts) in seen.output.steps.iter().zip(&past.steps) {
            let before = std::mem::replace(&mut self.last, record.candidate);
            let now = record.candidate;
            if now == EventTime::MAX && before < now && !facts.all_finished {
                let step = record.step;
                return Err(format!(
                    "the candidate is +inf after step {step}, but not everybody had finished"
                ));
            }
            if !past.scope.by_partition && now < before && before != EventTime::MAX {
                let (before, now) = (time(before), time(now));
                return Err(format!("the maximum over all rows fell from {before} to {now}"));
            }
        }
        if !past.scope.by_partition || !looks(seen, self.shown) {
            return Ok(());
        }
        let (candidate, members) = (seen.view.candidate, seen.view.members);
        self.shown = candidate;
        let (who, least) = match slowest(members) {
            Some(it) => ("the slowest partition that counts", it.max),
            None => match self.furthest(past, members) {
                Some(it) => ("the furthest of the silent partitions", it),
                None => return Ok(()),
            },
        };
        if candidate < least {
            let (candidate, least) = (time(candidate), time(least));
            return Err(format!("{who} is at {least}, but the candidate is {candidate}"));
        }
        Ok(())
    }
}

impl Lowers {
    fn furthest(&self, past: &Past, members: &[Member]) -> Option<EventTime> {
        past.scope.idle.filter(|it| it.all_idle == AllIdle::Flush)?;
        let idle = members.iter().any(|it| it.state == MemberState::Idle);
        let silent = members.iter().filter(|it| it.state != MemberState::Active);
        let real = silent.map(|it| it.max).filter(|it| it.is_finite());
        real.max().filter(|_| idle)
    }
}

pub(super) fn minimum(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    if !scope.by_partition {
        return Err("a minimum over partitions");
    }
    Ok(Box::new(Minimum { shown: EventTime::MIN }))
}

#[derive(Debug)]
struct Minimum {
    shown: EventTime,
}

impl Invariant for Minimum {
    fn name(&self) -> &'static str {
        MINIMUM
    }

    fn observe(&mut self, seen: &Observation<'_>, _: &Past) -> Result<(), String> {
        if !looks(seen, self.shown) {
            return Ok(());
        }
        self.shown = seen.view.candidate;
        match slowest(seen.view.members) {
            Some(it) if it.max < seen.view.candidate => Err(format!(
                "partition {} counts and is at {}, but the candidate is {}",
                it.partition.0,
                time(it.max),
                time(seen.view.candidate)
            )),
            _ => Ok(()),
        }
    }
}
