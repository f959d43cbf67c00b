//! Rules on what is written: append waits for an end, complete for an aggregation, and a stage behind
//! another counts what that one writes.
//!
//! Invariant: whatever passes in append mode can write each of its groups.

use super::Stage;
use crate::plan::flow::{DedupExpiry, Flow, GlobalPlan, StagePlan};
use crate::plan::problem::Problem;
use crate::plan::{OutputMode, Plan};
use crate::row::ColumnIx;

pub(super) fn check(plan: &Plan, flow: &Flow, stages: &[Stage<'_>], problems: &mut Vec<Problem>) {
    let mut behind_aggregation = false;
    for stage in stages {
        if plan.output == OutputMode::Append {
            closes(plan, flow, stages, *stage, problems);
        } else if behind_aggregation {
            behind(plan.output, *stage, problems);
        }
        if let StagePlan::Dedup(it) = stage.plan
            && matches!(it.expiry, DedupExpiry::After(_) | DedupExpiry::At(_))
            && (it.time.is_none() || !stage.linked[0])
        {
            problems.push(Problem::dedup_never_expires(&stage.words()));
        }
        behind_aggregation |=
            is_aggregation(stage.plan) || matches!(stage.plan, StagePlan::Count(_));
    }
    let complete = plan.output == OutputMode::Complete;
    if complete && !stages.iter().any(|it| is_aggregation(it.plan)) {
        problems.push(Problem::complete_without_aggregation());
    }
}

/// Whether the stage keeps groups and knows output modes.
pub(super) const fn is_aggregation(stage: &StagePlan) -> bool {
    matches!(stage, StagePlan::Window(_) | StagePlan::Session(_) | StagePlan::Global(_))
}

/// A group is written when it leaves, so something must make it leave (S43, S44, S46).
fn closes(
    plan: &Plan,
    flow: &Flow,
    stages: &[Stage<'_>],
    stage: Stage<'_>,
    problems: &mut Vec<Problem>,
) {
    let time = match stage.plan {
        StagePlan::Window(it) => it.time,
        StagePlan::Session(it) => it.time,
        StagePlan::Global(GlobalPlan { time: Some((column, _)), .. }) => *column,
        StagePlan::Global(_) => {
            problems.push(Problem::group_never_closes(&stage.words()));
            return;
        }
        _ => return,
    };
    if stage.linked[0] {
        return;
    }
    let mut marked = flow.inputs.iter().filter(|it| !it.marks.is_empty());
    let (Some(other), Some(_)) = (marked.next(), &plan.watermark) else {
        problems.push(Problem::append_without_watermark());
        return;
    };
    let Some((first, mark)) = flow.inputs.first().map(|it| (it, it.marks.last())) else { return };
    let name = stage.names(&[time]);
    problems.push(match mark {
        None => Problem::union_link_lost(&first.name, &other.name),
        Some(_) if computed(stages, stage.at) => Problem::link_recomputed(&name),
        Some(mark) => {
            let watermark = plan.schema.columns.get(mark.column.0).map_or("?", |it| &it.name);
            Problem::window_off_watermark(&name, watermark)
        }
    });
}

/// Whether a column was computed anew before a stage; with the link lost, that is what lost it.
fn computed(stages: &[Stage<'_>], at: usize) -> bool {
    stages[..at].iter().any(|it| matches!(it.plan, StagePlan::Compute(_)))
}

/// A stage that is handed a figure each time it changes.
fn behind(output: OutputMode, stage: Stage<'_>, problems: &mut Vec<Problem>) {
    let mode = match output {
        OutputMode::Append => return,
        OutputMode::Update => "update",
        OutputMode::Complete => "complete",
    };
    match stage.plan {
        StagePlan::Window(_)
        | StagePlan::Session(_)
        | StagePlan::Global(_)
        | StagePlan::Count(_) => {
            problems.push(Problem::figure_counted_twice(&stage.words(), mode));
        }
        StagePlan::Dedup(it) if suppresses(&it.columns, stage) => {
            problems.push(Problem::updates_suppressed(&stage.words()));
        }
        _ => {}
    }
}

/// Two versions of a figure differ in an aggregate only; a dedup over all columns sees that.
fn suppresses(columns: &[ColumnIx], stage: Stage<'_>) -> bool {
    columns.len() < stage.columns.columns.len()
}
