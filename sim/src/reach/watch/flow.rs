//! Marks the sites of flows.
//!
//! What the last stage wrote says most: which kind it is, whose row caused it, in which step. Fates,
//! remarks and the records of stages say the rest. What happens inside of a stage is read from its
//! numbers: sessions that left without being written were merged.
//!
//! Invariant: nothing is remembered from item to item.

use super::super::{Reach, sometimes};
use crate::invariant::Observation;
use crate::invariant::past::Past;
use crate::trace::Item;
use plimsoll_engine::late::LateCause;
use plimsoll_engine::output::{EmissionKind, Fate, RemarkKind, StepKind, StepRecord};
use plimsoll_engine::plan::flow::{
    Flow, FollowUp, JoinKind, JoinPlan, Policy, SessionPlan, StagePlan,
};
use plimsoll_engine::plan::{LateRule, OutputMode};
use plimsoll_engine::time::{EventTime, Span};

/// Looks at an item.
pub(super) fn look(reach: &mut Reach, seen: &Observation<'_>, past: &Past, flow: &Flow) {
    let output = seen.output;
    sometimes!(reach, "paused partition", 0 < seen.view.paused);
    for record in &output.records {
        fate(reach, seen, flow, &record.fate, record.partition.input());
    }
    for it in &output.remarks {
        match it.kind {
            RemarkKind::SessionSplit { .. } => sometimes!(reach, "session split", true),
            RemarkKind::DuplicateAfterExpiry { .. } => {
                sometimes!(reach, "duplicate after expiry", true);
            }
            RemarkKind::Refuted { .. } => sometimes!(reach, "null row refuted", true),
        }
    }
    if output.steps.is_empty() {
        return;
    }
    steps(reach, seen, past, flow);
    emissions(reach, seen, flow);
    if let Item::End = seen.item {
        let speaks =
            |input: usize| seen.view.members.iter().any(|it| it.partition.input() == input);
        let mut marked = (0..flow.inputs.len()).filter(|it| !flow.inputs[*it].marks.is_empty());
        let some = !seen.view.members.is_empty();
        sometimes!(reach, "input that never spoke", some && marked.any(|it| !speaks(it)));
    }
}

fn fate(reach: &mut Reach, seen: &Observation<'_>, flow: &Flow, fate: &Fate, input: usize) {
    match fate {
        Fate::Filtered => sometimes!(reach, "filtered row", true),
        Fate::Duplicate { .. } => sometimes!(reach, "duplicate", true),
        Fate::NoGap => sometimes!(reach, "row without a gap", true),
        Fate::Late(late) => {
            let several = 1 < flow.inputs.len();
            let lags = late.cause == LateCause::LaggingPartition;
            let max = flow.policy == Policy::Max && several && lags;
            sometimes!(reach, "max policy lost rows", max);
            let bare = flow.inputs.get(input).is_some_and(|it| it.marks.is_empty());
            sometimes!(reach, "late row of an input without a watermark", bare);
            let levels = flow.levels.is_some() && seen.view.paused == 0;
            sometimes!(reach, "late row under levels", levels);
        }
        _ => {}
    }
}

fn steps(reach: &mut Reach, seen: &Observation<'_>, past: &Past, flow: &Flow) {
    let stateful = |at: &usize| !flow.stages[*at].is_stateless();
    let first = (0..flow.stages.len()).find(stateful);
    let count = (0..flow.stages.len()).filter(stateful).count();
    let steps = &seen.output.steps;
    let follows = flow.follow_up == FollowUp::WhenMoved
        && steps.iter().skip(1).any(|it| it.kind == StepKind::Empty);
    sometimes!(reach, "follow-up step", follows);
    let reads = |it: &StepRecord| it.kind == StepKind::Probe && 0 < it.rows_in;
    let resumed = flow.levels.is_some() && steps.iter().any(reads);
    sometimes!(reach, "rows read after a pause", resumed);
    for (step, facts) in steps.iter().zip(&past.steps) {
        let of_step = || {
            let stages = seen.output.stages.iter().filter(|it| it.step == step.step);
            stages.filter(|it| stateful(&it.stage))
        };
        let wrote = of_step().filter(|it| 0 < it.rows_out).count();
        sometimes!(reach, "two stages wrote in one step", 1 < wrote);
        let last = of_step().next_back().is_some_and(|it| 0 < it.rows_in);
        sometimes!(reach, "chain of three", 2 < count && last);
        let behind = of_step().any(|it| Some(it.stage) != first && 0 < it.rows_dropped);
        sometimes!(reach, "row late at a later stage", behind);
        let Some(StagePlan::Join(join)) = flow.stages.first() else { continue };
        if flow.levels.is_some() {
            continue;
        }
        let evict = of_step().next().map_or(EventTime::MIN, |it| it.evict[1]);
        for row in past.rows_of(facts).iter().filter(|it| it.record.is_none()) {
            sometimes!(reach, "null time in a join", row.time.is_none());
            let gone = row.partition.input() == 1
                && row.time.zip(leaves(join)).is_some_and(|(time, it)| time + it < evict);
            sometimes!(reach, "right row already evictable", gone);
        }
    }
}

/// How long after its time a right row leaves, where that is plain.
fn leaves(join: &JoinPlan) -> Option<Span> {
    let lower = join.ranges.iter().filter_map(|it| it.lower);
    let lower = lower.map(|it| it.at.0 + i64::from(it.open)).max()?;
    let plain = join.window.is_none() && !join.expiry.loosest && !join.expiry.own_time;
    let grace = if join.late == LateRule::WindowEnd { Span::ZERO } else { join.grace };
    plain.then_some(Span(-lower) + grace)
}

fn emissions(reach: &mut Reach, seen: &Observation<'_>, flow: &Flow) {
    let written = &seen.output.emissions;
    let last = flow.stages.iter().rfind(|it| !it.is_stateless());
    let first_step = seen.output.steps.first().map_or(0, |it| it.step);
    let ends = seen.output.steps.last().is_some_and(|it| it.kind == StepKind::End);
    let alone = flow.stages.len() == 1;
    for (at, note) in written.notes.iter().enumerate() {
        let input = written.rows.partitions[at].input();
        match note.kind {
            EmissionKind::Early => sometimes!(reach, "early pane", true),
            EmissionKind::Late => sometimes!(reach, "late pane", true),
            EmissionKind::Retraction => sometimes!(reach, "retraction", true),
            EmissionKind::Span => sometimes!(reach, "session closed by span", true),
            EmissionKind::Complete => sometimes!(reach, "complete flow", true),
            EmissionKind::Update => {
                let session = matches!(last, Some(StagePlan::Session(_)));
                sometimes!(reach, "session updated", session);
            }
            EmissionKind::Unmatched => {
                sometimes!(reach, "unmatched row written", true);
                let follows = first_step < note.step && !ends;
                sometimes!(reach, "unmatched in a follow-up step", follows);
                let anti = matches!(last, Some(StagePlan::Join(it)) if it.kind == JoinKind::Anti);
                sometimes!(reach, "anti row written", anti);
                let as_of = matches!(last, Some(StagePlan::AsOf(_)));
                sometimes!(reach, "as-of without a partner", as_of);
            }
            EmissionKind::OnTime => {
                let count = matches!(last, Some(StagePlan::Count(_)));
                sometimes!(reach, "count window completed", count && !ends);
                let global = matches!(last, Some(StagePlan::Global(_)));
                sometimes!(reach, "group left by its own time", global && !ends);
            }
            EmissionKind::Row => match flow.stages.first() {
                Some(StagePlan::Join(it)) if alone && it.kind == JoinKind::Semi => {
                    sometimes!(reach, "semi match on arrival", input == 0);
                }
                Some(StagePlan::Join(_)) if alone => {
                    sometimes!(reach, "pair found from the left", input == 0);
                    sometimes!(reach, "pair found from the right", input == 1);
                }
                _ => {}
            },
        }
    }
    if let (Some(StagePlan::Session(it)), OutputMode::Append) = (last, seen.trace.plan.output) {
        sessions(reach, seen, flow, it);
    }
}

fn sessions(reach: &mut Reach, seen: &Observation<'_>, flow: &Flow, plan: &SessionPlan) {
    let at = flow.stages.iter().rposition(|it| matches!(it, StagePlan::Session(_)));
    let last = at.is_some_and(|it| it + 1 == flow.stages.len());
    let written = &seen.output.emissions;
    let removed = seen.output.stages.iter().filter(|it| Some(it.stage) == at).map(|it| it.removed);
    let merged = plan.lateness == Span::ZERO && written.notes.len() < removed.sum::<u64>() as usize;
    sometimes!(reach, "session merged two sessions", merged);
    if !last || written.notes.len() < 2 {
        return;
    }
    // Start, end and keys stand first.
    let cell = |row: usize, column: usize| written.rows.columns[column].get(row);
    let keys = 3..3 + plan.keys.len();
    let touch = |a: usize, b: usize| {
        cell(a, 1) == cell(b, 0) && keys.clone().all(|it| cell(a, it) == cell(b, it))
    };
    let rows = || 0..written.notes.len().min(32);
    sometimes!(reach, "touching sessions", rows().any(|a| rows().any(|b| touch(a, b))));
}
