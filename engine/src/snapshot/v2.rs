//! The layout of version 2: before an input had filters behind its watermark and a column by which a join
//! judges its rows.
//!
//! Invariant: never changed; it is read for ever and written no more.

use super::{Body, JobState};
use crate::plan::flow::Filter;
use crate::plan::flow::{Chain, Flow, FollowUp, InputPlan, Mark, NullTime, Policy, StagePlan};
use crate::plan::levels::LevelsPlan;
use crate::plan::{LineageStep, OutputMode, Plan, Sink, Trigger as TriggerPlan};
use crate::plan::{WatermarkPlan, WindowPlan};
use crate::row::{Dictionary, Schema};
use crate::time::{ProcTime, Span};
use crate::trigger::Trigger;
use serde::Deserialize;

/// A job in version 2.
#[derive(Debug, Deserialize)]
pub(super) struct JobStateV2 {
    plan: PlanV2,
    clock: ProcTime,
    steps: u64,
    stopped: bool,
    trigger: Trigger,
    body: Body,
    dictionary: Dictionary,
}

#[derive(Debug, Deserialize)]
struct PlanV2 {
    schema: Schema,
    watermark: Option<WatermarkPlan>,
    lineage: Vec<LineageStep>,
    operator: Option<WindowPlan>,
    output: OutputMode,
    sink: Sink,
    trigger: TriggerPlan,
    flow: Option<FlowV2>,
}

#[derive(Debug, Deserialize)]
struct FlowV2 {
    inputs: Vec<InputV2>,
    policy: Policy,
    levels: Option<LevelsPlan>,
    stages: Vec<StagePlan>,
    chain: Chain,
    follow_up: FollowUp,
    null_time: NullTime,
    hindsight: Span,
}

#[derive(Debug, Deserialize)]
struct InputV2 {
    name: String,
    marks: Vec<Mark>,
    before: Vec<Filter>,
}

impl From<FlowV2> for Flow {
    fn from(old: FlowV2) -> Self {
        let FlowV2 { inputs, policy, levels, stages, chain, follow_up, null_time, hindsight } = old;
        let input =
            |it: InputV2| InputPlan { before: it.before, ..InputPlan::of(it.name, it.marks) };
        let inputs = inputs.into_iter().map(input).collect();
        let of = Self::of(inputs, stages);
        Self { policy, levels, chain, follow_up, null_time, hindsight, ..of }
    }
}

impl From<JobStateV2> for JobState {
    fn from(old: JobStateV2) -> Self {
        let PlanV2 { schema, watermark, lineage, operator, output, sink, trigger, flow } = old.plan;
        let flow = flow.map(Flow::from);
        Self {
            plan: Plan { schema, watermark, lineage, operator, output, sink, trigger, flow },
            clock: old.clock,
            steps: old.steps,
            stopped: old.stopped,
            trigger: old.trigger,
            body: old.body,
            dictionary: old.dictionary,
        }
    }
}
