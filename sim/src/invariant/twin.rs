//! Twins: relations between two runs of related traces, sampled on a stated share of the seeds.
//!
//! - I30: another seed of the hashers, and nothing differs, item by item.
//! - I25: the crashes taken out, one more put in, and nothing differs: a restart is neutral.
//! - I9: everybody falls silent in one order or the other, and under `flush` the candidate ends the
//!   same.
//!
//! Crashes are not removed but turned into checkpoints, which change nothing, so that every item
//! keeps its number and digests can be compared one by one.
//!
//! Invariant: a twin says nothing about a trace that its precondition does not cover.

use super::{Skipped, Violation};
use crate::liveness::continuation::Continuation;
use crate::run::Run;
use crate::system::Make;
use crate::trace::time_text::TimeText;
use crate::trace::{Item, Trace};
use plimsoll_engine::plan::{AllIdle, GeneratorPlan, Trigger};
use plimsoll_engine::row::{ItemId, PartitionId};
use plimsoll_engine::time::{EventTime, Span};

/// I30.
pub const HASHERS: &str = "I30 deterministic";
/// I25.
pub const RESTART: &str = crate::run::REPLAY;
/// I9.
pub const IDLE_ORDER: &str = "I9 idle_order_free";

/// At most so many partitions fall silent one by one; the others do so together.
const ONE_BY_ONE: usize = 6;

/// What a twin finds.
pub type Found = Result<Option<Violation>, Skipped>;

/// The digests of a run, item by item.
fn digests(trace: &Trace, make: &Make<'_>, hash_seed: u64) -> Result<Vec<u64>, Violation> {
    let mut system = make(hash_seed);
    let mut run = Run::new(trace, &mut *system, true);
    while let Some(seen) = run.step() {
        seen?;
    }
    Ok(run.digests())
}

/// I30: the same trace under two seeds of the hashers.
///
/// # Errors
/// Never: every trace is covered.
pub fn hashers(trace: &Trace, make: &Make<'_>, seed: u64) -> Found {
    // All bits but one differ, an odd number of them.
    let other = !seed ^ 1;
    let both = digests(trace, make, seed).and_then(|it| Ok((it, digests(trace, make, other)?)));
    let (one, two) = match both {
        Ok(it) => it,
        Err(violation) => return Ok(Some(violation)),
    };
    Ok(first_difference(&one, &two).map(|at| {
        let evidence = format!(
            "the same trace under hasher seeds {seed} and {other}: item {at} came out differently"
        );
        Violation { name: HASHERS, at: ItemId(at as u64), evidence }
    }))
}

/// Number of the first item at which they differ, from 1.
fn first_difference(one: &[u64], two: &[u64]) -> Option<usize> {
    one.iter().zip(two).position(|(one, two)| one != two).map(|it| it + 1)
}

/// I25: with crashes and without.
///
/// # Errors
/// Where there is nothing to go back to.
pub fn restart(trace: &Trace, make: &Make<'_>, seed: u64, draw: u64) -> Found {
    let len = trace.items.len();
    if len == 0 {
        return Err(Skipped { name: RESTART, missing: "an item" });
    }
    // A checkpoint after `kept` items, a crash after `lost` items.
    let kept = (draw % len as u64) as usize;
    let lost = kept + (draw / 7 % (len - kept) as u64) as usize + 1;
    let crashed = with_crash(trace, kept, lost);
    let mut calm = crashed.clone();
    for item in &mut calm.items {
        if matches!(item, Item::Crash { .. }) {
            *item = Item::Checkpoint;
        }
    }
    let both = digests(&calm, make, seed).and_then(|it| Ok((it, digests(&crashed, make, seed)?)));
    let original = |at: usize| at - usize::from(kept < at) - usize::from(lost + 1 < at);
    let told = format!("with a checkpoint after item {kept} and a crash after item {lost}");
    Ok(match both {
        Err(Violation { name, at, evidence }) => {
            let at = ItemId(original(at.0 as usize) as u64);
            Some(Violation { name, at, evidence: format!("{told}: {evidence}") })
        }
        Ok((calm, crashed)) => first_difference(&calm, &crashed).map(|at| {
            let at = original(at);
            let evidence = format!("{told}, item {at} comes out differently than without crashes");
            Violation { name: RESTART, at: ItemId(at as u64), evidence }
        }),
    })
}

fn with_crash(trace: &Trace, kept: usize, lost: usize) -> Trace {
    let mut items = Vec::with_capacity(trace.items.len() + 2);
    items.extend_from_slice(&trace.items[..kept]);
    items.push(Item::Checkpoint);
    items.extend_from_slice(&trace.items[kept..lost]);
    items.push(Item::Crash { stale: false });
    items.extend_from_slice(&trace.items[lost..]);
    Trace { items, ..trace.clone() }
}

/// I9: everybody falls silent, in one order and in the other.
///
/// # Errors
/// What the plan or the trace lacks.
pub fn idle_order(trace: &Trace, make: &Make<'_>, seed: u64) -> Found {
    let missing = |missing| Err(Skipped { name: IDLE_ORDER, missing });
    let generator = trace.plan.watermark.as_ref().map(|it| it.generator);
    let Some(GeneratorPlan::PartitionMin { idle: Some(idle) }) = generator else {
        return missing("an idle timeout");
    };
    if idle.all_idle != AllIdle::Flush {
        return missing("all_idle=flush");
    }
    if matches!(trace.plan.trigger, Trigger::Once | Trigger::AvailableNow(_)) {
        return missing("a trigger that goes on");
    }
    let ended = trace.items.iter().position(|it| matches!(it, Item::End));
    let cut = ended.unwrap_or(trace.items.len());
    let base = Continuation::new(trace, cut);
    let many = 2..=ONE_BY_ONE;
    if !many.contains(&base.named().len()) || idle.timeout.0 < 2 {
        return missing("two to six partitions, and a timeout of 2 ms or more");
    }
    let mut order = base.named().to_vec();
    let one = silenced(&base, &order, idle.timeout);
    order.reverse();
    let two = silenced(&base, &order, idle.timeout);
    let both = outcome(&one, make, seed).and_then(|it| Ok((it, outcome(&two, make, seed)?)));
    let (one, two) = match both {
        Ok(it) => it,
        Err(violation) => return Ok(Some(violation)),
    };
    Ok((one != two).then(|| {
        let evidence = format!(
            "after item {cut} all {} partitions fall silent one by one: candidate {} and watermark {}; in \
             the reverse order {} and {}",
            order.len(),
            TimeText(one.0),
            TimeText(one.1),
            TimeText(two.0),
            TimeText(two.1)
        );
        Violation { name: IDLE_ORDER, at: ItemId(cut as u64), evidence }
    }))
}

/// Everybody falls silent in this order; the others say nothing new meanwhile.
fn silenced(base: &Continuation<'_>, order: &[PartitionId], timeout: Span) -> Trace {
    // Once is not longer than the timeout, twice is.
    let half = Span(timeout.0 / 2 + 1);
    let nothing_new = EventTime(-EventTime::LEGAL);
    let mut on = base.clone();
    on.step(order, nothing_new);
    on.speak(order, nothing_new);
    for silent in 0..order.len() {
        for _ in 0..2 {
            on.tick(half);
            on.batch();
            on.speak(&order[silent + 1..], nothing_new);
        }
    }
    // Whoever waited for a step that long is idle at the tick after it.
    on.step(&[], nothing_new);
    on.tick(half + half);
    on.step(&[], nothing_new);
    on.into_trace()
}

/// The candidate and the watermark at the end of a run.
fn outcome(trace: &Trace, make: &Make<'_>, seed: u64) -> Result<(EventTime, EventTime), Violation> {
    let mut system = make(seed);
    let mut run = Run::new(trace, &mut *system, false);
    let mut last = (EventTime::MIN, EventTime::MIN);
    while let Some(seen) = run.step() {
        let view = seen?.view;
        last = (view.candidate, view.watermark);
    }
    Ok(last)
}

#[cfg(test)]
mod tests;
