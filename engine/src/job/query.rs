//! What a job runs: the plain query on its fast path, or a flow.
//!
//! Invariant: both answer the same calls in the same order; nothing else tells them apart.

use crate::flow::Flow;
use crate::output::{IgnoredWhy, Output, StepKind, StepRecord};
use crate::pipeline::Pipeline;
use crate::plan::Plan;
use crate::row::{ItemId, PartitionId, RowBatch};
use crate::time::{EventTime, ProcTime};
use crate::watermark::member::{Change, Member};

/// The running part of a job.
#[derive(Debug)]
pub(crate) enum Query {
    /// One input, at most one window aggregation.
    Plain(Box<Pipeline>),
    /// Several inputs or stages.
    Flow(Box<Flow>),
}

impl Query {
    pub(crate) fn new(plan: &Plan, hash_seed: u64) -> Self {
        if plan.flow.is_some() {
            Self::Flow(Box::new(Flow::new(plan)))
        } else {
            Self::Plain(Box::new(Pipeline::new(plan, hash_seed)))
        }
    }

    #[inline]
    pub(crate) fn hears(&self) -> bool {
        match self {
            Self::Plain(it) => it.generator.hears(),
            Self::Flow(_) => true,
        }
    }

    #[inline]
    pub(crate) fn hear(&mut self, partition: PartitionId, at: ProcTime) {
        match self {
            Self::Plain(it) => it.generator.hear(partition, at),
            Self::Flow(it) => it.sources.hear(partition, at),
        }
    }

    pub(crate) fn tick(&mut self, now: ProcTime, steps: u64) {
        match self {
            Self::Plain(it) => it.generator.tick(now, steps),
            Self::Flow(it) => it.sources.tick(now, steps),
        }
    }

    #[inline]
    pub(crate) fn begin(&mut self, step: u64, kind: StepKind, now: ProcTime) {
        match self {
            Self::Plain(it) => it.begin(step, kind, now),
            Self::Flow(it) => it.begin(step, kind, now),
        }
    }

    #[inline]
    pub(crate) fn rows(&mut self, rows: &RowBatch, out: &mut Output) {
        match self {
            Self::Plain(it) => it.rows(rows, out),
            Self::Flow(it) => it.rows(rows, out),
        }
    }

    #[inline]
    pub(crate) fn finish(&mut self, id: ItemId, out: &mut Output) {
        match self {
            Self::Plain(it) => it.finish(id, out),
            Self::Flow(it) => it.finish(id, out),
        }
    }

    pub(crate) fn heartbeat(
        &mut self,
        partition: PartitionId,
        time: EventTime,
        id: ItemId,
        at: ProcTime,
        out: &mut Output,
    ) -> Result<(), IgnoredWhy> {
        match self {
            Self::Plain(it) => it.heartbeat(partition, time, id, at, out),
            Self::Flow(it) => it.heartbeat(partition, time, id, at, out),
        }
    }

    pub(crate) fn change(
        &mut self,
        change: Change,
        id: ItemId,
        at: ProcTime,
        out: &mut Output,
    ) -> Result<(), IgnoredWhy> {
        match self {
            Self::Plain(it) => it.change(change, id, at, out),
            Self::Flow(it) => it.change(change, id, at, out),
        }
    }

    /// Whether a step without data should follow the one that is done.
    pub(crate) fn asks(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Flow(it) => it.asks(),
        }
    }

    pub(crate) fn members(&self) -> &[Member] {
        match self {
            Self::Plain(it) => it.generator.members(),
            Self::Flow(it) => it.sources.members(),
        }
    }

    pub(crate) fn candidate(&self) -> EventTime {
        match self {
            Self::Plain(it) => it.generator.candidate(),
            Self::Flow(it) => it.sources.candidate(),
        }
    }

    pub(crate) fn candidate_max(&self) -> EventTime {
        match self {
            Self::Plain(it) => it.generator.candidate_max(),
            Self::Flow(it) => it.sources.candidate_max(),
        }
    }

    pub(crate) fn watermark(&self) -> EventTime {
        match self {
            Self::Plain(it) => it.generator.watermark(),
            Self::Flow(it) => it.sources.in_force().watermark,
        }
    }

    pub(crate) fn groups(&self) -> u64 {
        match self {
            Self::Plain(it) => it.operator.as_ref().map_or(0, |it| it.groups()),
            Self::Flow(it) => it.state_rows(),
        }
    }

    pub(crate) fn oldest_end(&self) -> Option<EventTime> {
        match self {
            Self::Plain(it) => it.operator.as_ref().and_then(|it| it.oldest_end()),
            Self::Flow(_) => None,
        }
    }

    pub(crate) fn last_record(&self) -> &StepRecord {
        match self {
            Self::Plain(it) => it.last_record(),
            Self::Flow(it) => it.last_record(),
        }
    }
}
