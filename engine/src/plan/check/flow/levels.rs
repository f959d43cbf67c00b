//! Rules on levels of combination: what they have a place for.
//!
//! A watermark that goes through levels moves at probes, is the smallest at each level and comes from the
//! rows alone; each input has one. Whatever else a plan may say of a watermark has no meaning there.
//!
//! Invariant: whatever passes names tasks that a partition can name, and intervals that end.

use super::numbers;
use crate::plan::flow::{Flow, Policy};
use crate::plan::levels::LevelsPlan;
use crate::plan::problem::Problem;
use crate::plan::{Effective, GeneratorPlan, Plan};
use crate::row::PartitionId;
use crate::time::Span;

pub(super) fn check(plan: &Plan, flow: &Flow, levels: &LevelsPlan, problems: &mut Vec<Problem>) {
    let probes = plan.watermark.as_ref().is_some_and(|it| it.effective == Effective::Probe);
    if !probes {
        problems.push(Problem::probe_outside_flow(
            "a combination over several levels, which happens at probes, and no probes",
            "use effective=probe, or leave the levels out",
        ));
    }
    unfit(plan, flow, problems);
    tasks(flow, levels, problems);
    spans(levels, problems);
}

fn unfit(plan: &Plan, flow: &Flow, problems: &mut Vec<Problem>) {
    let mut refuse = |what: &str, remedy| problems.push(Problem::levels_unfit(what, remedy));
    if let Some(it) = flow.inputs.iter().find(|it| it.marks.len() != 1) {
        let marks = it.marks.len();
        let what = format!("{marks} watermarks on input `{}`, which need one", it.name);
        refuse(&what, "give each input exactly one watermark, or leave the levels out");
    }
    if flow.policy == Policy::Max {
        let what = "policy=max, where every level takes the smallest";
        refuse(what, "use policy=min, or leave the levels out");
    }
    if plan.watermark.as_ref().is_some_and(|it| it.fallback.is_some()) {
        let what = "a fallback, where no wall clock moves a watermark";
        refuse(what, "leave out the fallback, or the levels");
    }
    let generator = plan.watermark.as_ref().map(|it| it.generator);
    if let Some(GeneratorPlan::PartitionMin { idle: Some(_) }) = generator {
        let what = "an idle timeout of its own beside them, which nothing reads";
        refuse(what, "say it with the levels (levels=idle=..), or leave the levels out");
    }
}

fn tasks(flow: &Flow, levels: &LevelsPlan, problems: &mut Vec<Problem>) {
    if levels.tasks.len() != flow.inputs.len() {
        let (tasks, inputs) = (levels.tasks.len(), flow.inputs.len());
        let what = format!("numbers of tasks for {tasks} inputs of {inputs}");
        let remedy = "say for each input how many tasks it has from the start";
        problems.push(Problem::levels_unfit(&what, remedy));
    }
    let most = PartitionId::TASK_MAX + 1;
    if let Some(it) = levels.tasks.iter().find(|it| most < **it) {
        let what = format!("{it} tasks on one input");
        let remedy = "use at most 256 tasks for each input";
        problems.push(Problem::levels_unfit(&what, remedy));
    }
}

fn spans(levels: &LevelsPlan, problems: &mut Vec<Problem>) {
    match levels.idle_timeout {
        Some(it) if it < Span::ZERO => problems.push(Problem::negative_span("idle timeout", it)),
        Some(it) => {
            numbers::legal("idle timeout", it, problems);
        }
        None => {}
    }
    let update = levels.alignment.map(|it| it.update);
    for (what, span) in [("emission interval", levels.emission), ("alignment interval", update)] {
        match span {
            Some(it) if it <= Span::ZERO => {
                let what = format!("no time between two of them: the {what} is not positive");
                problems.push(Problem::levels_unfit(&what, "make it longer than 0s"));
            }
            Some(it) => {
                numbers::legal(what, it, problems);
            }
            None => {}
        }
    }
}
