//! Liveness: what must come to an end does, checked by going on for a bounded while.
//!
//! A run that stands still breaks no invariant. So a trace is cut (where its faults are over), one
//! assumption is made true by items that are appended ([`continuation()`]), and what must follow is looked
//! for:
//!
//! - L1 everybody speaks of times far ahead: every window closes;
//! - L2 everybody but one does, the silent one has an idle timeout: every window closes;
//! - L3 a wall clock moves the watermark, nobody speaks: every window closes once it is far enough;
//! - L4 neither timeout nor wall clock, nobody speaks: nothing closes (founding text: the freeze);
//! - L5 then the input ends: no state remains;
//! - L6 partitions that wait for others go on once those have caught up or are silent.
//!
//! Of L1 to L4 one is checked per trace; the draw decides where several can be. How many steps are
//! granted: one that takes what is said, and one for each step by which a watermark may lag. What is
//! said of windows holds for all state of a [`flow`].
//!
//! Invariant: what is appended makes the assumption true, so that a system that keeps the definition
//! never fails here.

pub mod continuation;
mod flow;
pub(crate) mod retention;

use crate::invariant::{Observation, Skipped, Violation};
use crate::run::Run;
use crate::system::Make;
use crate::trace::{Item, Trace};
use continuation::Continuation;
use plimsoll_engine::plan::check::CheckedPlan;
use plimsoll_engine::plan::{OutputMode, Trigger};
use plimsoll_engine::row::{ItemId, PartitionId};
use plimsoll_engine::time::{EventTime, Span};

/// L1.
pub const ADVANCES: &str = "L1 advancing_closes";
/// L2.
pub const IDLES: &str = "L2 idle_timeout_closes";
/// L3.
pub const WALL: &str = "L3 wall_clock_closes";
/// L4.
pub const FROZEN: &str = "L4 silence_closes_nothing";
/// L5.
pub const ENDS: &str = "L5 end_leaves_nothing";
/// L6.
pub const RESUMES: &str = "L6 paused_resumes";

/// All of them, in the order of their numbers.
pub const NAMES: [&str; 6] = [ADVANCES, IDLES, WALL, FROZEN, ENDS, RESUMES];

/// Steps after the one that took what was said.
const LAG: usize = 3;

/// How a trace goes on, and what is asked of it.
#[derive(Debug)]
pub struct Story {
    /// What it shows.
    pub name: &'static str,
    /// The trace up to the cut, and what was appended.
    pub trace: Trace,
    /// From the item after this many on nothing may close.
    quiet_after: usize,
    /// After this many items every window has closed, or, for L4, the quiet is over.
    until: usize,
}

/// Why nothing can be told of a trace at all.
fn covered(trace: &Trace, cut: usize) -> Result<(), &'static str> {
    let plan = &trace.plan;
    let linked = || CheckedPlan::new(plan.clone()).is_ok_and(|it| it.0.linked());
    if plan.operator.is_none() || plan.watermark.is_none() || !linked() {
        Err("windows on the watermark's column")
    } else if plan.output == OutputMode::Complete {
        Err("append or update mode")
    } else if matches!(plan.trigger, Trigger::Once | Trigger::AvailableNow(_)) {
        Err("a trigger that goes on")
    } else if trace.items[..cut].contains(&Item::End) {
        Err("an input that has not ended")
    } else {
        Ok(())
    }
}

/// One way to go on after the first `cut` items.
///
/// # Errors
/// What is missing for it.
pub fn continuation(trace: &Trace, cut: usize, draw: u64) -> Result<Story, &'static str> {
    if let Some(it) = &trace.plan.flow {
        return flow::story(trace, it, cut, draw);
    }
    covered(trace, cut)?;
    let plan = trace.plan.watermark.as_ref().ok_or("a watermark")?;
    let base = Continuation::new(trace, cut);
    if base.last_end().is_none() {
        return Err("a row, and times that are not near the ends of i64");
    }
    let idle = match plan.generator {
        plimsoll_engine::plan::GeneratorPlan::PartitionMin { idle } => idle,
        plimsoll_engine::plan::GeneratorPlan::GlobalMax => None,
    };
    let timeout = idle.map(|it| it.timeout);
    // Whoever speaks a millisecond before a step must still be heard in it.
    let heard = timeout.is_none_or(|it| 1 <= it.0);
    let mut can = Vec::with_capacity(3);
    if heard && !base.going_on().is_empty() {
        can.push(ADVANCES);
        if timeout.is_some() && 2 <= base.going_on().len() {
            can.push(IDLES);
        }
    }
    match plan.fallback {
        Some(it) if it.always || timeout.is_some() && !base.removed() => can.push(WALL),
        None if timeout.is_none() => can.push(FROZEN),
        _ => {}
    }
    if can.is_empty() {
        return Err("a partition that goes on");
    }
    let name = can[(draw % can.len() as u64) as usize];
    let timeout = timeout.unwrap_or(Span::ZERO) + Span(1);
    let behind = plan.fallback.map_or(Span::ZERO, |it| it.behind);
    let who = base.going_on();
    let silent = who.get((draw / 8 % who.len().max(1) as u64) as usize).copied();
    tell(name, base, timeout, behind, silent).ok_or("times that are not near the ends of i64")
}

/// What a story appends. In L2 `silent` says nothing.
fn tell(
    name: &'static str,
    mut on: Continuation<'_>,
    timeout: Span,
    behind: Span,
    silent: Option<PartitionId>,
) -> Option<Story> {
    let nobody = (&[][..], EventTime::MIN);
    // What waits is taken first.
    on.step(nobody.0, nobody.1);
    let mut quiet_after = usize::MAX;
    match name {
        FROZEN => {
            (0..LAG).for_each(|_| on.step(nobody.0, nobody.1));
            quiet_after = on.len();
            for _ in 0..LAG {
                on.tick(Span::hours(24));
                on.step(nobody.0, nobody.1);
            }
        }
        WALL => {
            let enough = on.last_end()? + behind;
            on.tick(enough.since(EventTime(on.now().0)).max(timeout));
            (0..=LAG).for_each(|_| on.step(nobody.0, nobody.1));
        }
        IDLES => {
            // An input of a flow whose partitions are all idle may rightly hold the others back.
            let flow = on.trace().plan.flow.is_some();
            let mut who = if flow { on.named() } else { on.going_on() }.to_vec();
            who.retain(|it| Some(*it) != silent);
            let far = on.far_ahead()?;
            on.tick(timeout);
            (0..=LAG).for_each(|_| on.step(&who, far));
        }
        _ => {
            let who = on.named().to_vec();
            let far = on.far_ahead()?;
            (0..=LAG).for_each(|_| on.step(&who, far));
        }
    }
    let until = on.len();
    on.end();
    Some(Story { name, trace: on.into_trace(), quiet_after, until })
}

/// Goes on after the first `cut` items and looks for what must follow.
///
/// # Errors
/// What is missing for it.
pub fn check(
    trace: &Trace,
    cut: usize,
    make: &Make<'_>,
    hash_seed: u64,
    draw: u64,
) -> Result<Option<Violation>, Skipped> {
    let story =
        continuation(trace, cut, draw).map_err(|missing| Skipped { name: "L1 to L6", missing })?;
    let broken = |name, evidence| {
        let at = ItemId(cut as u64);
        Ok(Some(Violation { name, at, evidence }))
    };
    let mut system = make(hash_seed);
    let mut run = Run::new(&story.trace, &mut *system, false);
    let mut frozen = None;
    while let Some(seen) = run.step() {
        let seen = match seen {
            Ok(it) => it,
            Err(violation) => return Ok(Some(violation)),
        };
        let done = seen.id.0 as usize;
        if story.quiet_after == done {
            frozen = Some(seen.view.watermark);
        }
        let ended = matches!(seen.item, Item::End);
        let quiet = frozen.filter(|_| story.quiet_after < done && done <= story.until);
        if let Some(before) = quiet {
            if let Some(evidence) = thawed(&seen, before) {
                return broken(story.name, evidence);
            }
        } else if story.name == RESUMES && story.until == done {
            if let Some(evidence) = paused(&seen, done - cut) {
                return broken(story.name, evidence);
            }
        } else if (story.until == done || ended) && story.quiet_after != done {
            let name = if ended { ENDS } else { story.name };
            if let Some(evidence) = left(&seen, ended, story.trace.items.len() - cut) {
                return broken(name, evidence);
            }
        }
    }
    Ok(None)
}

fn thawed(seen: &Observation<'_>, before: EventTime) -> Option<String> {
    use crate::trace::time_text::TimeText;
    let (now, written) = (seen.view.watermark, &seen.output.emissions.notes);
    let windows = seen.output.firings.len() + written.len();
    if windows == 0 && now == before {
        return None;
    }
    Some(format!(
        "nobody spoke, there is neither timeout nor wall clock: expected the watermark at {} and no \
         window, found {} and {windows} windows",
        TimeText(before),
        TimeText(now)
    ))
}

fn paused(seen: &Observation<'_>, appended: usize) -> Option<String> {
    let found = seen.view.paused;
    (0 < found).then(|| {
        format!(
            "whoever held others back has caught up or is silent ({appended} items appended): expected \
             nobody to be paused, found {found} partitions"
        )
    })
}

fn left(seen: &Observation<'_>, ended: bool, appended: usize) -> Option<String> {
    use crate::trace::time_text::TimeText;
    let groups = seen.view.groups.unwrap_or(0);
    if groups == 0 && seen.view.oldest_end.is_none() {
        return None;
    }
    let oldest = seen.view.oldest_end.map_or_else(|| "?".to_owned(), |it| TimeText(it).to_string());
    let what = if ended { "the input has ended" } else { "everything that closes them was said" };
    Some(format!(
        "{what} ({appended} items appended): expected no open windows, found {groups} groups, the \
         oldest window ends at {oldest}, the watermark is {}",
        TimeText(seen.view.watermark)
    ))
}

#[cfg(test)]
mod tests;
