//! The layout of version 1: before there were flows.
//!
//! Invariant: never changed; it is read for ever and written no more.

use super::{Body, JobState};
use crate::operator::aggregate::saved::AggregateState;
use crate::pipeline::ledger::Ledger;
use crate::plan::{LineageStep, OutputMode, Plan, Sink, Trigger as TriggerPlan};
use crate::plan::{WatermarkPlan, WindowPlan};
use crate::row::{Dictionary, Schema};
use crate::time::ProcTime;
use crate::trigger::Trigger;
use crate::watermark::effective::Schedule;
use crate::watermark::generator::GeneratorState;
use serde::Deserialize;

/// A job in version 1.
#[derive(Debug, Deserialize)]
pub(super) struct JobStateV1 {
    plan: PlanV1,
    clock: ProcTime,
    steps: u64,
    stopped: bool,
    trigger: Trigger,
    generator: GeneratorState,
    schedule: Schedule,
    ledger: Ledger,
    operator: Option<AggregateState>,
    dictionary: Dictionary,
}

#[derive(Debug, Deserialize)]
struct PlanV1 {
    schema: Schema,
    watermark: Option<WatermarkPlan>,
    lineage: Vec<LineageStep>,
    operator: Option<WindowPlan>,
    output: OutputMode,
    sink: Sink,
    trigger: TriggerPlan,
}

impl From<JobStateV1> for JobState {
    fn from(old: JobStateV1) -> Self {
        let PlanV1 { schema, watermark, lineage, operator, output, sink, trigger } = old.plan;
        let plan = Plan { schema, watermark, lineage, operator, output, sink, trigger, flow: None };
        Self {
            plan,
            clock: old.clock,
            steps: old.steps,
            stopped: old.stopped,
            trigger: old.trigger,
            body: Body::Plain {
                generator: old.generator,
                schedule: old.schedule,
                ledger: old.ledger,
                operator: old.operator,
            },
            dictionary: old.dictionary,
        }
    }
}
