//! A query in an engine's clothes: the plan of a trace with every knob at the profile's value.
//!
//! What the query says stays: inputs, columns, windows, keys, aggregates, delays, allowed lateness,
//! idle timeout, output mode, and what no engine has a rule of its own for (future guard, wall
//! fallback, early panes, hindsight). Every knob that a profile names is set, where the query has
//! a place for it: an idle timeout has none under one maximum over everything.
//!
//! When a step begins follows from when a watermark counts: per row and at probes every row is a step
//! of its own, else batches are, cut as the trace's own trigger says.
//!
//! Invariant: two plans that differ in rules alone are the same plan under one profile.

use crate::trace::{Item, Trace};
use plimsoll_engine::plan::check::check;
use plimsoll_engine::plan::flow::{Flow, StagePlan};
use plimsoll_engine::plan::levels::LevelsPlan;
use plimsoll_engine::plan::{Effective, GeneratorPlan, IdlePlan, LateRule, Plan, Trigger};
use plimsoll_engine::profile::Profile;
use plimsoll_engine::time::Span;

/// The plan under a profile's rules, as a flow.
///
/// # Errors
/// Why the profile cannot carry the query.
pub fn dress(plan: &Plan, profile: &Profile) -> Result<Plan, String> {
    let mut dressed = as_flow(plan)?;
    let mut flow = dressed.flow.take().expect("a flow");
    let timeout = timeout(plan);
    if let Some(it) = &mut dressed.watermark {
        let (rejoin, all_idle) = (profile.rejoin, profile.all_idle);
        let idle = timeout.map(|timeout| IdlePlan { timeout, rejoin, all_idle });
        it.generator = match profile.generator {
            GeneratorPlan::GlobalMax => GeneratorPlan::GlobalMax,
            GeneratorPlan::PartitionMin { .. } => GeneratorPlan::PartitionMin { idle },
        };
        it.effective = profile.effective;
        it.initial = profile.initial;
    }
    dressed.trigger = trigger(plan.trigger, profile.effective);
    flow.levels = levels(&dressed, &flow, profile, timeout)?;
    flow.chain = profile.chain;
    flow.follow_up = profile.follow_up;
    flow.null_time = profile.null_time;
    for stage in &mut flow.stages {
        dress_stage(stage, profile)?;
    }
    dressed.flow = Some(flow);
    accepted(dressed)
}

/// The plan under its own rules, as a flow.
///
/// # Errors
/// Why it is refused.
pub(super) fn as_written(plan: &Plan) -> Result<Plan, String> {
    accepted(as_flow(plan)?)
}

fn as_flow(plan: &Plan) -> Result<Plan, String> {
    plan.as_flow().ok_or_else(|| refusals(plan).unwrap_or_else(|| "a column is missing".to_owned()))
}

fn accepted(plan: Plan) -> Result<Plan, String> {
    refusals(&plan).map_or(Ok(plan), Err)
}

/// Why a plan is refused, where it is.
fn refusals(plan: &Plan) -> Option<String> {
    let problems = check(plan);
    let causes = problems.iter().filter(|it| it.is_refusal()).map(|it| it.cause.as_str());
    let causes = causes.collect::<Vec<_>>().join("; ");
    (!causes.is_empty()).then(|| format!("the plan is refused: {causes}"))
}

/// How long silence is, where the query says it.
fn timeout(plan: &Plan) -> Option<Span> {
    let levels = plan.flow.as_ref().and_then(|it| it.levels.as_ref());
    if let Some(it) = levels {
        return it.idle_timeout;
    }
    match plan.watermark.as_ref()?.generator {
        GeneratorPlan::PartitionMin { idle } => idle.map(|it| it.timeout),
        GeneratorPlan::GlobalMax => None,
    }
}

/// The levels of an engine that has them: its rules, and the query's tasks, timeout and alignment.
fn levels(
    plan: &Plan,
    flow: &Flow,
    profile: &Profile,
    idle_timeout: Option<Span>,
) -> Result<Option<LevelsPlan>, String> {
    let (Some(rules), Some(watermark)) = (profile.levels, &plan.watermark) else { return Ok(None) };
    if watermark.fallback.is_some() {
        return Err("its watermark goes through levels, and they have no wall fallback".into());
    }
    let own = flow.levels.clone();
    Ok(Some(LevelsPlan {
        tasks: own.as_ref().map_or_else(|| vec![1; flow.inputs.len()], |it| it.tasks.clone()),
        rules,
        idle_timeout,
        emission: own.as_ref().and_then(|it| it.emission),
        alignment: own.and_then(|it| it.alignment),
    }))
}

/// When a step begins, under rules by which a watermark counts then.
const fn trigger(own: Trigger, effective: Effective) -> Trigger {
    match (effective, own) {
        (Effective::Row | Effective::Probe, _) => Trigger::Row,
        (Effective::NextBatch | Effective::BatchAfterNext, Trigger::Row) => Trigger::Batch,
        (Effective::NextBatch | Effective::BatchAfterNext, own) => own,
    }
}

fn dress_stage(stage: &mut StagePlan, profile: &Profile) -> Result<(), String> {
    match stage {
        StagePlan::Filter(_)
        | StagePlan::Project(_)
        | StagePlan::Rename(..)
        | StagePlan::Compute(_)
        | StagePlan::Count(_) => {}
        StagePlan::Window(it) => {
            it.late = profile.late;
            it.hole = profile.hole;
        }
        StagePlan::Session(it) => {
            it.late = profile.session_late;
            it.touching = profile.touching;
        }
        StagePlan::Global(it) => {
            if let Some((_, late)) = &mut it.time {
                *late = profile.late_bare;
            }
        }
        StagePlan::Dedup(it) => it.late = profile.late_bare,
        StagePlan::Join(it) => {
            it.late = if it.window.is_some() { profile.late } else { profile.join.late };
            if it.late == LateRule::Frame {
                return Err("it judges by slide frames, and a window join has no such rule".into());
            }
            it.grace = profile.join.grace;
            it.expiry = profile.join.expiry;
            it.sides = profile.join.sides;
        }
        StagePlan::AsOf(_) if profile.late_bare == LateRule::Event => {}
        StagePlan::AsOf(_) => {
            return Err("an as-of join judges by t < w, and there is no knob for this \
                        profile's t <= w"
                .into());
        }
    }
    Ok(())
}

/// What of a trace a profile does not take as it stands.
pub(super) fn notes(trace: &Trace, dressed: &Plan, profile: &Profile) -> Vec<String> {
    let mut notes = Vec::new();
    let plan = &trace.plan;
    let one_maximum = profile.generator == GeneratorPlan::GlobalMax;
    if timeout(plan).is_some() && one_maximum {
        notes.push("knows no idle timeout: one maximum over all partitions".to_owned());
    }
    let aligned = plan.flow.as_ref().and_then(|it| it.levels.as_ref());
    if aligned.is_some_and(|it| it.alignment.is_some()) && profile.levels.is_none() {
        notes.push("aligns nobody: no partition ever waits for another".to_owned());
    }
    let cuts = matches!(plan.trigger, Trigger::Interval(_) | Trigger::Once);
    let cuts = cuts || matches!(plan.trigger, Trigger::AvailableNow(_));
    if cuts && dressed.trigger != plan.trigger {
        notes.push("takes each row at once, whatever the plan's trigger".to_owned());
    }
    let crashes = trace.items.iter().any(|it| matches!(it, Item::Crash { .. }));
    let restarts = trace.items.iter().any(|it| matches!(it, Item::Restart(_)));
    if let Some(forgets) = forgets(profile).filter(|_| crashes || restarts) {
        let crash = "; a crash is one, and what came since the checkpoint is not read again";
        notes.push(format!("a restart forgets {forgets}{}", if crashes { crash } else { "" }));
    }
    if plan.watermark.is_some() && dressed.flow.as_ref().is_some_and(Flow::joins) {
        notes.extend(join_notes(plan, profile));
    }
    notes
}

/// What a restart forgets.
fn forgets(profile: &Profile) -> Option<String> {
    use plimsoll_engine::plan::restore::Memory;
    let it = profile.restore;
    let all = [
        (it.watermark, "the watermark"),
        (it.maxima, "what each partition had shown"),
        (it.idleness, "who was idle"),
        (it.windows, "open windows"),
    ];
    let lost = all.into_iter().filter(|it| it.0 == Memory::Lost).map(|it| it.1);
    let lost = lost.collect::<Vec<_>>();
    let (last, others) = lost.split_last()?;
    Some(if others.is_empty() {
        (*last).to_owned()
    } else {
        format!("{} and {last}", others.join(", "))
    })
}

fn join_notes(plan: &Plan, profile: &Profile) -> Option<String> {
    use plimsoll_engine::plan::flow::Sides;
    let delays = plan.flow.iter().flat_map(|it| &it.inputs).flat_map(|it| &it.marks);
    let mut delays = delays.map(|it| it.delay);
    let first = delays.next()?;
    let differ = delays.any(|it| it != first);
    (differ && profile.join.sides == Sides::Combined)
        .then(|| "one watermark rules both sides of the join, whatever their delays".to_owned())
}
