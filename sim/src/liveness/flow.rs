//! Liveness of flows: how a trace goes on whose plan has several inputs or stages.
//!
//! What is said of windows holds for all state that a watermark removes: sessions, entries of a dedup,
//! rows that wait for partners. So the stories are those of plain plans, with more asked of them:
//! every stage lets go ([`super::retention`]), and under a minimum every input has somebody
//! who speaks, or the watermark would rightly stand. Where none can be told, the input ends at once:
//! then everything must go, whatever bounds it.
//!
//! - L6 where partitions wait for others that are behind: everybody comes as far, or who holds them
//!   back falls silent for longer than the timeout; then nobody waits any more.
//!
//! Invariant: the assumption of the story that is told is made true by what is appended.

use super::continuation::Continuation;
use super::{ADVANCES, ENDS, FROZEN, IDLES, RESUMES, Story, WALL, retention};
use crate::trace::{Item, Trace};
use plimsoll_engine::plan::flow::{Flow, Policy, Sides, StagePlan};
use plimsoll_engine::plan::levels::{LevelsPlan, Limit, PausedIdle, Sampling};
use plimsoll_engine::plan::{GeneratorPlan, OutputMode, Trigger};
use plimsoll_engine::row::PartitionId;
use plimsoll_engine::time::{EventTime, Span};

const FAR: &str = "times that are not near the ends of i64";

/// One way to go on after the first `cut` items.
///
/// # Errors
/// What is missing for it.
pub(super) fn story(
    trace: &Trace,
    flow: &Flow,
    cut: usize,
    draw: u64,
) -> Result<Story, &'static str> {
    let plan = &trace.plan;
    let watermark = plan.watermark.as_ref().ok_or("a watermark")?;
    if plan.output == OutputMode::Complete {
        return Err("append or update mode");
    }
    if matches!(plan.trigger, Trigger::Once | Trigger::AvailableNow(_)) {
        return Err("a trigger that goes on");
    }
    if trace.items[..cut].contains(&Item::End) {
        return Err("an input that has not ended");
    }
    let base = Continuation::new(trace, cut);
    if let Some(levels) = &flow.levels {
        return match waits(trace, flow, levels, cut) {
            Ok(drift) => resumes(base, flow, levels, drift, draw).ok_or(FAR),
            Err(_) => Ok(ends(base)),
        };
    }
    let can = can(&base, flow, draw);
    let timeout = match watermark.generator {
        GeneratorPlan::PartitionMin { idle } => idle.map(|it| it.timeout),
        GeneratorPlan::GlobalMax => None,
    };
    let name = if can.is_empty() { ENDS } else { can[(draw % can.len() as u64) as usize] };
    let timeout = timeout.unwrap_or(Span::ZERO) + Span(1);
    let behind = watermark.fallback.map_or(Span::ZERO, |it| it.behind);
    if name == ENDS {
        return Ok(ends(base));
    }
    let silent = spare(&base, flow, draw);
    super::tell(name, base, timeout, behind, silent).ok_or(FAR)
}

/// The stories of which the assumption can be made true.
fn can(base: &Continuation<'_>, flow: &Flow, draw: u64) -> Vec<&'static str> {
    let plan = &base.trace().plan;
    let Some(watermark) = &plan.watermark else { return Vec::new() };
    let timeout = match watermark.generator {
        GeneratorPlan::PartitionMin { idle } => idle.map(|it| it.timeout),
        GeneratorPlan::GlobalMax => None,
    };
    let leaves =
        retention::everything_leaves(base.trace(), flow).is_ok() && base.last_end().is_some();
    let heard = timeout.is_none_or(|it| 1 <= it.0);
    let promised = promised(base, flow);
    let mut can = Vec::with_capacity(3);
    if leaves && heard && promised && !base.going_on().is_empty() {
        can.push(ADVANCES);
        if timeout.is_some() && spare(base, flow, draw).is_some() {
            can.push(IDLES);
        }
    }
    match watermark.fallback {
        Some(it) if leaves && (it.always || timeout.is_some() && promised && !base.removed()) => {
            can.push(WALL);
        }
        None if timeout.is_none() => can.push(FROZEN),
        _ => {}
    }
    can
}

/// Whether everybody on whom the watermark depends was named.
fn promised(base: &Continuation<'_>, flow: &Flow) -> bool {
    let own = |it: &StagePlan| matches!(it, StagePlan::Join(it) if it.sides == Sides::Own);
    let named = |input: usize| base.named().iter().any(|it| it.input() == input);
    let mut marked = (0..flow.inputs.len()).filter(|it| !flow.inputs[*it].marks.is_empty());
    if flow.policy == Policy::Min || flow.stages.first().is_some_and(own) {
        marked.all(named)
    } else {
        marked.any(named)
    }
}

/// Somebody who may fall silent without leaving its input to nobody.
fn spare(base: &Continuation<'_>, flow: &Flow, draw: u64) -> Option<PartitionId> {
    let going_on = base.going_on();
    let of = |input: usize| going_on.iter().filter(|it| it.input() == input).count();
    let known = |it: &&PartitionId| it.input() < flow.inputs.len() && 1 < of(it.input());
    let spare: Vec<_> = going_on.iter().filter(known).copied().collect();
    spare.get((draw / 8 % spare.len().max(1) as u64) as usize).copied()
}

/// The input ends.
fn ends(mut on: Continuation<'_>) -> Story {
    on.step(&[], EventTime::MIN);
    let until = on.len() + 1;
    on.end();
    Story { name: ENDS, trace: on.into_trace(), quiet_after: usize::MAX, until }
}

/// How far a partition may be ahead before it waits, where waiting must come to an end.
fn waits(
    trace: &Trace,
    flow: &Flow,
    levels: &LevelsPlan,
    cut: usize,
) -> Result<Span, &'static str> {
    let Some(alignment) = &levels.alignment else { return Err("an alignment") };
    let Limit::Drift(drift) = alignment.limit else { return Err("a drift") };
    if levels.rules.paused_idle == PausedIdle::Stays && levels.idle_timeout.is_some() {
        return Err("a paused partition that resumes though it is idle");
    }
    let leaves = |it: &Item| matches!(it, Item::Remove(_) | Item::Move { .. });
    if trace.items[..cut].iter().any(leaves) {
        return Err("partitions that stay where they are");
    }
    let delays = || flow.inputs.iter().flat_map(|it| &it.marks).map(|it| it.delay);
    let (least, most) =
        (delays().min().unwrap_or(Span::ZERO), delays().max().unwrap_or(Span::ZERO));
    if drift < most - least { Err("delays that differ by less than the drift") } else { Ok(drift) }
}

/// L6: everybody comes as far, or everybody who is read falls silent.
fn resumes(
    mut on: Continuation<'_>,
    flow: &Flow,
    levels: &LevelsPlan,
    drift: Span,
    draw: u64,
) -> Option<Story> {
    let alignment = levels.alignment?;
    let period = alignment.update.max(levels.emission.unwrap_or(Span(1))).max(Span(1));
    let samples = match alignment.sampling {
        Sampling::Newest => 1,
        Sampling::OldestOf(samples) => u64::from(samples.min(16)),
    };
    let timeout = levels.idle_timeout.filter(|_| draw % 2 == 1);
    // Who has finished may have come back; who has not is not heard.
    let who = on.named().to_vec();
    let probe = |on: &mut Continuation<'_>, by: Span| {
        on.tick(by);
        on.probe();
    };
    match timeout {
        Some(timeout) => {
            // Whoever is released reads what waited, and may wait once more.
            for _ in 0..3 * (who.len() as u64 + 1) {
                probe(&mut on, timeout + Span(1));
                probe(&mut on, timeout + Span(1));
                (0..samples + 1).for_each(|_| probe(&mut on, period));
            }
        }
        None => {
            if flow.inputs.is_empty() || who.is_empty() {
                return Some(ends(on));
            }
            let far = on.far_ahead()? + drift;
            // As far as a guard wants the clock to be.
            on.tick(drift);
            // Nobody falls silent between two samples, unless the timeout is very short.
            let silence = levels.idle_timeout.map_or(period.0, |it| it.0.min(period.0));
            let silence = silence.max(period.0 / 8).max(1);
            // Of those that wait the last is released first, and so on one by one.
            for _ in 0..(who.len() as u64 + 2) * (samples + 1) {
                let mut left = period.0;
                while 0 < left {
                    on.speak(&who, far);
                    probe(&mut on, Span(silence.min(left)));
                    left -= silence;
                }
            }
        }
    }
    let until = on.len();
    on.end();
    let trace = on.into_trace();
    Some(Story { name: RESUMES, trace, quiet_after: usize::MAX, until })
}
