//! Warnings about flows that run and do something their owner may not expect.
//!
//! Invariant: a warning is true of every run of its plan.

use super::super::advice;
use super::Stage;
use super::mode::is_aggregation;
use crate::plan::flow::{DedupExpiry, DedupPlan, Flow, StagePlan};
use crate::plan::problem::Problem;
use crate::plan::{LateRule, OutputMode, Plan};
use crate::time::Span;

pub(super) fn check(plan: &Plan, flow: &Flow, stages: &[Stage<'_>], problems: &mut Vec<Problem>) {
    let Some(first) = stages.iter().find(|it| !it.plan.is_stateless()) else {
        if plan.watermark.is_some() {
            problems.push(Problem::watermark_inert());
        }
        return;
    };
    for stage in stages {
        growth(plan, *stage, problems);
        shape(plan, *stage, problems);
    }
    if stages.iter().any(|it| is_aggregation(it.plan)) {
        advice::sink(plan, problems);
    }
    let decides = first.linked.iter().any(|it| *it) && plan.output != OutputMode::Complete;
    if let Some(watermark) = plan.watermark.as_ref().filter(|_| decides) {
        delays(flow, *first, problems);
        advice::silence(watermark, problems);
        advice::fallback(watermark, problems);
        advice::once(plan, watermark, problems);
        unmarked(flow, problems);
    }
}

/// State that no watermark removes (S43, S44, S46, S62). Joins are judged in `join`.
fn growth(plan: &Plan, stage: Stage<'_>, problems: &mut Vec<Problem>) {
    let words = stage.words();
    let ends = stage.linked[0] && plan.output != OutputMode::Complete;
    match stage.plan {
        // Where append has no end, that has been refused.
        _ if plan.output == OutputMode::Append && is_aggregation(stage.plan) => {}
        StagePlan::Window(it) if it.window.slide <= Span::ZERO => {}
        StagePlan::Window(it) => {
            let (window, keys) = (it.window, it.keys.len());
            match (plan.output, &plan.watermark) {
                (_, None) => problems.push(Problem::grows_without_watermark(window, keys)),
                (OutputMode::Complete, _) => {
                    problems.push(Problem::complete_never_evicts(window, keys));
                }
                (_, Some(_)) if !stage.linked[0] => {
                    let name = stage.names(&[it.time]);
                    problems.push(Problem::grows_off_watermark(&name, window, keys));
                }
                _ => {}
            }
        }
        StagePlan::Session(it) if !ends => {
            let keys = format!("session of each ({})", stage.names(&it.keys));
            problems.push(Problem::keys_never_evicted(&words, &keys));
        }
        StagePlan::Global(it) if it.time.is_none() || !ends => {
            let keys = format!("({})", stage.names(&it.keys));
            problems.push(Problem::keys_never_evicted(&words, &keys));
        }
        StagePlan::Dedup(it) => dedup(it, stage, problems),
        _ => {}
    }
}

fn dedup(dedup: &DedupPlan, stage: Stage<'_>, problems: &mut Vec<Problem>) {
    let why = match dedup.expiry {
        DedupExpiry::Never => "the event time is none of them",
        _ if dedup.time.is_none() || !stage.linked[0] => "no watermark speaks of their time",
        // Within a delay of nothing has been refused.
        DedupExpiry::WithItsTime | DedupExpiry::After(_) | DedupExpiry::At(_) => return,
    };
    let keys = format!("({})", stage.names(&dedup.columns));
    problems.push(Problem::dedup_grows(&stage.words(), &keys, why));
}

/// Windows with holes, offsets, keys that are the time, sessions.
fn shape(plan: &Plan, stage: Stage<'_>, problems: &mut Vec<Problem>) {
    match stage.plan {
        StagePlan::Window(it) => {
            advice::grid(it.window, problems);
            if it.keys.contains(&it.time) {
                problems.push(Problem::key_is_event_time(&stage.names(&[it.time])));
            }
        }
        StagePlan::Session(it) => {
            if it.keys.is_empty() {
                problems.push(Problem::session_without_key(&stage.words()));
            }
            if plan.output == OutputMode::Update {
                problems.push(Problem::session_rewritten(&stage.words()));
            }
        }
        _ => {}
    }
}

/// No tolerance at all (S21).
fn delays(flow: &Flow, first: Stage<'_>, problems: &mut Vec<Problem>) {
    let rule = match first.plan {
        StagePlan::Window(it) => it.late,
        StagePlan::Dedup(it) => it.late,
        StagePlan::Join(it) => it.late,
        StagePlan::AsOf(_) => LateRule::Event,
        _ => return,
    };
    let zero = |it: &crate::plan::flow::InputPlan| it.marks.iter().any(|it| it.delay == Span::ZERO);
    if flow.inputs.iter().any(zero) {
        problems.push(Problem::delay_zero(rule));
    }
}

/// An input without a watermark beside others that have one.
fn unmarked(flow: &Flow, problems: &mut Vec<Problem>) {
    if flow.joins() || flow.inputs.iter().all(|it| it.marks.is_empty()) {
        return;
    }
    for input in flow.inputs.iter().filter(|it| it.marks.is_empty()) {
        problems.push(Problem::unmarked_input_judged(&input.name));
    }
}
