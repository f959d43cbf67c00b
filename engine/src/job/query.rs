//! What a job runs: the plain query on its fast path, or a flow.
//!
//! Invariant: both answer the same calls in the same order; nothing else tells them apart.

use crate::flow::Flow;
use crate::flow::source::Sources;
use crate::flow::source::levels::Leveled;
use crate::output::{IgnoredWhy, Output, StepKind, StepRecord};
use crate::pipeline::Pipeline;
use crate::plan::Plan;
use crate::row::{ItemId, PartitionId, RowBatch};
use crate::time::{EventTime, ProcTime, Span};
use crate::watermark::levels::Steer;
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
            Self::Flow(it) => it.sources.hears(),
        }
    }

    #[inline]
    pub(crate) fn hear(&mut self, partition: PartitionId, at: ProcTime) {
        match self {
            Self::Plain(it) => it.generator.hear(partition, at),
            Self::Flow(it) => it.sources.hear(partition, at),
        }
    }

    /// The clock starts.
    pub(crate) fn start(&mut self, at: ProcTime) {
        match self {
            Self::Plain(_) => {}
            Self::Flow(it) => it.sources.start(at),
        }
    }

    /// The clock went on by `by` to `at`, and nobody was silent.
    pub(crate) fn wake(&mut self, at: ProcTime, by: Span) {
        match self {
            Self::Plain(it) => it.generator.excuse(by),
            Self::Flow(it) => it.sources.wake(at, by),
        }
    }

    /// Says how far the clock has come; where it is not `now` yet, another call goes on.
    pub(crate) fn tick(&mut self, now: ProcTime, steps: u64) -> ProcTime {
        match self {
            Self::Plain(it) => {
                it.generator.tick(now, steps);
                now
            }
            Self::Flow(it) => it.sources.tick(now, steps),
        }
    }

    pub(crate) fn steer(&mut self, steer: Steer) -> Result<(), IgnoredWhy> {
        match self {
            Self::Plain(_) => Err(IgnoredWhy::NoLevels),
            Self::Flow(it) => it.steer(steer),
        }
    }

    /// What each stage of a flow holds, per side.
    pub(crate) fn held(&self) -> Vec<[u64; 2]> {
        match self {
            Self::Plain(it) => vec![[it.operator.as_ref().map_or(0, |it| it.groups()), 0]],
            Self::Flow(it) => it.held(),
        }
    }

    pub(crate) fn levels(&self) -> Option<&Leveled> {
        match self {
            Self::Plain(_) => None,
            Self::Flow(it) => it.sources.levels(),
        }
    }

    pub(crate) fn sources(&self) -> Option<&Sources> {
        match self {
            Self::Plain(_) => None,
            Self::Flow(it) => Some(&it.sources),
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
