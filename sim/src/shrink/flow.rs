//! A plainer flow: fewer stages, fewer inputs, fewer rules.
//!
//! Whoever takes a stage away moves the columns of those behind it. So stages are written as text, where
//! columns have names, changed there, and read again: what then names a column that is gone is no flow.
//!
//! Invariant: each edit takes back one thing, and what comes of it can be written.

mod stages;

use super::plan::of_plan;
use super::{Edit, Edits, Pass};
use crate::trace::{Item, Trace};
use plimsoll_engine::plan::flow::{
    Chain, Filter, Flow, FollowUp, InputPlan, Judged, NullTime, Policy,
};
use plimsoll_engine::plan::levels::{AlignmentPlan, LevelsPlan, Limit, Sampling};
use plimsoll_engine::plan::{Effective, Plan, Trigger};
use plimsoll_engine::row::PartitionId;
use plimsoll_engine::row::{ColumnIx, ColumnKind};
use plimsoll_engine::time::Span;
use plimsoll_engine::watermark::levels::Steer;

pub(super) const PASS: Pass = Pass { name: "flow", edits, run: |search| search.sweep(edits) };

/// Rules and their plain values.
const PLAIN: [fn(&mut Plan); 13] = [
    |it| flow(it, |it| it.pairs.clear()),
    |it| flow(it, |it| it.inputs.iter_mut().for_each(|it| it.judged = Judged::ItsTime)),
    |it| {
        flow(it, |it| it.levels = None);
        it.watermark.iter_mut().for_each(|it| it.effective = Effective::Row);
        it.trigger = Trigger::Row;
    },
    |it| flow(it, |it| it.levels = None),
    |it| flow(it, |it| it.policy = Policy::Min),
    |it| flow(it, |it| it.chain = Chain::Previous),
    |it| flow(it, |it| it.follow_up = FollowUp::Never),
    |it| flow(it, |it| it.null_time = NullTime::Nowhere),
    |it| flow(it, |it| it.hindsight = Span::ZERO),
    |it| levels(it, |it| it.alignment = None),
    |it| levels(it, |it| it.emission = None),
    |it| levels(it, |it| it.idle_timeout = None),
    |it| {
        levels(it, |it| {
            if let Some(AlignmentPlan { sampling, limit, .. }) = &mut it.alignment {
                *sampling = Sampling::Newest;
                *limit = Limit::Announced;
            }
        });
    },
];

fn flow(plan: &mut Plan, change: fn(&mut Flow)) {
    plan.flow.iter_mut().for_each(change);
}

fn levels(plan: &mut Plan, change: fn(&mut LevelsPlan)) {
    plan.flow.iter_mut().filter_map(|it| it.levels.as_mut()).for_each(change);
}

fn edits(trace: &Trace) -> Edits<'_> {
    let Some(flow) = &trace.plan.flow else { return Box::new(std::iter::empty()) };
    let plain = PLAIN.iter().map(|rule| {
        let mut plan = trace.plan.clone();
        rule(&mut plan);
        plan
    });
    let stages = stages::plainer(&trace.plan);
    let plans = stages.chain(plain).chain(filters(trace, flow)).chain(marks(trace, flow));
    let differ = plans.filter(move |it| *it != trace.plan);
    let plans =
        differ.map(move |plan| -> Edit<'_> { Box::new(move || of_plan(trace, plan, false)) });
    Box::new(inputs(trace, flow).chain(plans))
}

/// Without one filter before a watermark or behind it.
fn filters<'t>(trace: &'t Trace, flow: &'t Flow) -> impl Iterator<Item = Plan> + 't {
    type Filters = fn(&mut InputPlan) -> &mut Vec<Filter>;
    const OF: [Filters; 2] = [|it| &mut it.before, |it| &mut it.behind];
    let all = (0..flow.inputs.len()).flat_map(|input| OF.map(|of| (input, of)));
    let all = all.flat_map(|(input, of)| {
        let count = of(&mut flow.inputs[input].clone()).len();
        (0..count).map(move |at| (input, of, at))
    });
    all.map(|(input, of, at)| {
        let mut plan = trace.plan.clone();
        if let Some(it) = &mut plan.flow {
            of(&mut it.inputs[input]).remove(at);
        }
        plan
    })
}

/// Without one of several watermarks of an input.
fn marks<'t>(trace: &'t Trace, flow: &'t Flow) -> impl Iterator<Item = Plan> + 't {
    let all = flow.inputs.iter().enumerate().filter(|it| 1 < it.1.marks.len());
    let all = all.flat_map(|(input, it)| (0..it.marks.len()).rev().map(move |at| (input, at)));
    all.filter_map(|(input, at)| {
        let mut plan = trace.plan.clone();
        if let Some(it) = &mut plan.flow {
            it.inputs[input].marks.remove(at);
        }
        agreeing(plan)
    })
}

/// Without one input where there is one more than needed, and with it its items.
fn inputs<'t>(trace: &'t Trace, flow: &'t Flow) -> Edits<'t> {
    if flow.inputs.len() < 2 || flow.joins() {
        return Box::new(std::iter::empty());
    }
    let without = move |gone: usize| {
        let mut plan = trace.plan.clone();
        plan.flow.iter_mut().for_each(|it| drop(it.inputs.remove(gone)));
        if let Some(it) = plan.flow.as_mut().and_then(|it| it.levels.as_mut())
            && gone < it.tasks.len()
        {
            it.tasks.remove(gone);
        }
        agreeing(plan)
    };
    let ways = (0..flow.inputs.len()).rev().flat_map(move |gone| {
        // With its items gone, and with them handed to the input before.
        let plan = without(gone);
        [false, true].into_iter().filter_map(move |keep| Some((gone, keep, plan.clone()?)))
    });
    Box::new(ways.map(move |(gone, keep, plan)| -> Edit<'t> {
        Box::new(move || {
            let mut changed = of_plan(trace, plan, false);
            changed.items.retain_mut(|item| {
                if let Item::Steer(Steer::Press { input, .. }) = item {
                    let stays = *input != gone || keep && 0 < gone;
                    *input -= usize::from(gone <= *input && stays);
                    return stays;
                }
                let Some(partition) = item.partition_mut() else { return true };
                let (input, task, number) =
                    (partition.input(), partition.task(), partition.number());
                let moved = match input.cmp(&gone) {
                    std::cmp::Ordering::Less => input,
                    std::cmp::Ordering::Equal if !keep => return false,
                    std::cmp::Ordering::Equal => input.saturating_sub(1),
                    std::cmp::Ordering::Greater => input - 1,
                };
                let moved = u32::try_from(moved).expect("at most sixteen inputs");
                *partition = PartitionId::of(moved, task, number);
                true
            });
            changed
        })
    }))
}

/// A plan whose column and delay are those of its first watermark; `None` where it has lost all, or
/// where that is on another column that is no time, whose values rows would say in other words.
fn agreeing(mut plan: Plan) -> Option<Plan> {
    let first = plan.flow.as_ref()?.inputs.iter().find_map(|it| it.marks.first().copied());
    let time =
        |it: ColumnIx| plan.schema.columns.get(it.0).is_some_and(|it| it.kind == ColumnKind::Time);
    let moves = |(was, is): (ColumnIx, ColumnIx)| was != is && !(time(was) && time(is));
    let was = plan.watermark.as_ref().map(|it| it.column);
    if was.zip(first.map(|it| it.column)).is_some_and(moves) {
        return None;
    }
    if let Some(it) = &mut plan.watermark {
        (it.column, it.delay) = (first?.column, first?.delay);
    }
    Some(plan)
}
