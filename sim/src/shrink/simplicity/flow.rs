//! How far a flow is from a plain one: one input with one watermark, and no stage.
//!
//! Invariant: what the shrinker's edits take back costs something here.

use plimsoll_engine::plan::flow::Judged;
use plimsoll_engine::plan::flow::{
    Carry, Chain, DedupExpiry, Expiry, Flow, FollowUp, Gap, InputPlan, JoinKind, NullTime, Policy,
    SessionLate, Sides, StagePlan, Touching,
};
use plimsoll_engine::plan::levels::{LevelsPlan, Limit, Sampling};
use plimsoll_engine::plan::{Aggregate, LatePolicy, LateRule, WindowSpec};
use plimsoll_engine::row::ColumnIx;
use plimsoll_engine::time::Span;

/// What a flow has beyond that.
pub(super) fn cost(flow: &Flow) -> u64 {
    let inputs: u64 = flow.inputs.iter().map(input).sum();
    let stages: u64 = flow.stages.iter().map(stage).sum();
    inputs
        + stages
        + flow.levels.as_ref().map_or(0, levels)
        + u64::from(flow.policy != Policy::Min)
        + u64::from(flow.chain != Chain::Previous)
        + u64::from(flow.follow_up != FollowUp::Never)
        + u64::from(flow.null_time != NullTime::Nowhere)
        + u64::from(flow.hindsight != Span::ZERO)
        + 2 * flow.pairs.len() as u64
}

fn input(input: &InputPlan) -> u64 {
    let marks = match input.marks.len() {
        0 => 1,
        marks => 2 * (marks as u64 - 1),
    };
    3 + marks
        + 2 * (input.before.len() + input.behind.len()) as u64
        + u64::from(input.judged != Judged::ItsTime)
}

fn levels(levels: &LevelsPlan) -> u64 {
    let LevelsPlan { tasks, rules: _, idle_timeout, emission, alignment } = levels;
    let tasks: u64 = tasks.iter().map(|it| u64::from(it.saturating_sub(1))).sum();
    let alignment = alignment.map_or(0, |it| {
        let sampling = u64::from(it.sampling != Sampling::Newest);
        3 + sampling + u64::from(it.limit != Limit::Announced)
    });
    6 + tasks + u64::from(idle_timeout.is_some()) + u64::from(emission.is_some()) + alignment
}

fn stage(stage: &StagePlan) -> u64 {
    match stage {
        StagePlan::Filter(_)
        | StagePlan::Project(_)
        | StagePlan::Rename(..)
        | StagePlan::Compute(_) => 4,
        StagePlan::Window(it) => {
            let panes = u64::from(it.panes.carry != Carry::Accumulating);
            8 + window(it.window)
                + groups(&it.keys, &it.aggregates)
                + rule(it.late)
                + policy(it.late_policy)
                + u64::from(it.lateness != Span::ZERO)
                + panes
                + u64::from(it.panes.early_rows.is_some())
        }
        StagePlan::Session(it) => {
            10 + groups(&it.keys, &it.aggregates)
                + 2 * u64::from(matches!(it.gap, Gap::Column(_)))
                + u64::from(it.late != SessionLate::Event)
                + policy(it.late_policy)
                + u64::from(it.touching != Touching::Apart)
                + u64::from(it.max_span.is_some())
                + u64::from(it.lateness != Span::ZERO)
        }
        StagePlan::Global(it) => {
            let time = it.time.map_or(0, |it| 1 + rule(it.1));
            8 + groups(&it.keys, &it.aggregates) + time
        }
        StagePlan::Count(it) => 8 + groups(&it.keys, &it.aggregates),
        StagePlan::Dedup(it) => {
            let expiry = u64::from(it.expiry != DedupExpiry::Never);
            8 + it.columns.len() as u64 + rule(it.late) + expiry + policy(it.late_policy)
        }
        StagePlan::Join(it) => {
            let kind = match it.kind {
                JoinKind::Inner => 0,
                JoinKind::Left => 1,
                JoinKind::Right | JoinKind::Full | JoinKind::Semi | JoinKind::Anti => 2,
            };
            let ends = it.ranges.iter().flat_map(|it| [it.lower, it.upper]).flatten().count();
            let conditions = it.only_if.iter().flatten().count();
            12 + kind
                + it.on.len() as u64
                + (it.ranges.len() + ends + 2 * conditions) as u64
                + it.window.map_or(0, |it| 2 + window(it))
                + rule(it.late)
                + policy(it.late_policy)
                + u64::from(it.grace != Span::ZERO)
                + u64::from(it.expiry != Expiry::EXACT)
                + u64::from(it.sides != Sides::Own)
        }
        StagePlan::AsOf(it) => {
            12 + it.on.len() as u64 + u64::from(it.outer) + policy(it.late_policy)
        }
    }
}

fn window(window: WindowSpec) -> u64 {
    2 * u64::from(window.size != window.slide) + u64::from(window.offset != Span::ZERO)
}

fn groups(keys: &[ColumnIx], aggregates: &[Aggregate]) -> u64 {
    let counts = if aggregates == [Aggregate::Count] {
        0
    } else {
        aggregates.iter().map(|it| 1 + u64::from(*it != Aggregate::Count)).sum()
    };
    2 * keys.len() as u64 + counts
}

const fn rule(late: LateRule) -> u64 {
    match late {
        LateRule::Event => 0,
        LateRule::EventInclusive | LateRule::WindowEnd => 1,
        LateRule::Frame => 2,
    }
}

fn policy(policy: LatePolicy) -> u64 {
    u64::from(policy == LatePolicy::SideOutput)
}
