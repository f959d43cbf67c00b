//! Judges flows: inputs, stages, and what one stage makes of what another writes.
//!
//! A flow is judged like a plain query, stage by stage, with the columns that reach each stage and with
//! the link that the watermark still has there ([`crate::plan::flow`]). What Spark refuses
//! (spark-rules 9) and this engine could do is a warning that says what will happen; what neither can
//! do right is a refusal.
//!
//! Invariant: whatever this module lets pass names columns that are there, and spans that can be
//! computed with.

mod advice;
mod input;
mod join;
mod levels;
mod mode;
mod stage;

use super::columns::kind_words;
use super::numbers;
use crate::plan::Plan;
use crate::plan::flow::{Flow, StagePlan};
use crate::plan::problem::Problem;
use crate::row::{ColumnIx, Schema};

/// A stage with all that the rules look at.
#[derive(Clone, Copy, Debug)]
struct Stage<'a> {
    /// Its position.
    at: usize,
    plan: &'a StagePlan,
    /// The columns that reach it.
    columns: &'a Schema,
    /// Whether the watermark speaks of its time, per side.
    linked: [bool; 2],
}

impl Stage<'_> {
    /// `stage 2 (window)`.
    fn words(&self) -> String {
        format!("stage {} ({})", self.at + 1, word(self.plan))
    }

    /// The columns by name: `k, v`.
    fn names(&self, columns: &[ColumnIx]) -> String {
        let name = |it: &ColumnIx| self.columns.columns.get(it.0).map_or("?", |it| &it.name);
        columns.iter().map(name).collect::<Vec<_>>().join(", ")
    }
}

const fn word(stage: &StagePlan) -> &'static str {
    match stage {
        StagePlan::Filter(_) => "filter",
        StagePlan::Project(_) => "project",
        StagePlan::Rename(..) => "rename",
        StagePlan::Compute(_) => "compute",
        StagePlan::Window(_) => "window",
        StagePlan::Session(_) => "session",
        StagePlan::Global(_) => "group",
        StagePlan::Count(_) => "count window",
        StagePlan::Dedup(_) => "dedup",
        StagePlan::Join(_) => "join",
        StagePlan::AsOf(_) => "as-of join",
    }
}

pub(super) fn check(plan: &Plan, flow: &Flow, problems: &mut Vec<Problem>) {
    if plan.operator.is_some() || !plan.lineage.is_empty() {
        problems.push(Problem::flow_beside_operator());
    }
    input::check(plan, flow, problems);
    let schemas = flow.schemas(&plan.schema);
    let mut links = flow.links(&plan.schema);
    if plan.watermark.is_none() {
        links.fill([false; 2]);
    }
    let stages: Vec<Stage<'_>> = flow
        .stages
        .iter()
        .enumerate()
        .map(|(at, plan)| Stage { at, plan, columns: &schemas[at], linked: links[at] })
        .collect();
    let before = problems.len();
    for it in &stages {
        stage::check(*it, plan.output, problems);
    }
    if before == problems.len() {
        mode::check(plan, flow, &stages, problems);
    }
    join::check(plan, flow, &stages, problems);
    advice::check(plan, flow, &stages, problems);
}

#[cfg(test)]
mod tests;
