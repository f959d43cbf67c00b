//! Snapshots: everything that a restart needs, as plain data in a versioned envelope.
//!
//! Kept (semantics 11, as far as these parts go): per partition its offset, maximum, state, alignment
//! and last activity; c, c*, w and who set them; the late and evict values in force and the ones
//! before; the state of the operator; the ledger of lost rows; the trigger; the clock; the dictionary;
//! and the plan, because state means nothing under another one. What waits in the queue is not in it:
//! it is read again from the offsets.
//!
//! Invariant: a restored job goes on exactly as the one that was saved (I25); damaged bytes are a
//! [`SnapshotError`], never a panic and never a wrong state.

pub mod envelope;

use crate::job::Job;
use crate::operator::aggregate::WindowAggregate;
use crate::operator::aggregate::saved::AggregateState;
use crate::pipeline::ledger::Ledger;
use crate::plan::Plan;
use crate::plan::check::CheckedPlan;
use crate::row::Dictionary;
use crate::time::ProcTime;
use crate::trigger::Trigger;
use crate::watermark::effective::Schedule;
use crate::watermark::generator::{Generator, GeneratorState};
pub use envelope::SnapshotError;
use serde::{Deserialize, Serialize};

/// The version that this build writes; it reads all from 1 on.
pub const VERSION: u32 = 1;

/// More steps are refused: nobody counts so far, and one more must not overflow.
const STEPS_MAX: u64 = 1 << 62;

/// What a restart brings back: engines differ in what they forget, so that is a knob too.
///
/// `Kept` everywhere is exact resumption. Spark keeps the global watermark and forgets what each
/// input had shown; Flink forgets every watermark and all idleness (spark-rules 7, flink-rules 8).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RestoreRules {
    /// w, c, c* and what is in force for lateness and eviction.
    pub watermark: Memory,
    /// The largest event time of each partition, and of all.
    pub maxima: Memory,
    /// Which partitions are idle or unaligned, and for how long they have been silent.
    pub idleness: Memory,
    /// The content of open windows.
    pub windows: Memory,
    /// Rows lost per open window.
    pub ledger: Memory,
}

/// Whether a restart brings something back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Memory {
    /// It does.
    Kept,
    /// It does not: as before the first row.
    Lost,
}

impl RestoreRules {
    /// Exact resumption.
    pub const EXACT: Self = Self {
        watermark: Memory::Kept,
        maxima: Memory::Kept,
        idleness: Memory::Kept,
        windows: Memory::Kept,
        ledger: Memory::Kept,
    };
}

/// Version 1.
#[derive(Debug, Serialize, Deserialize)]
struct JobState {
    plan: Plan,
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

impl Job {
    /// The job between two steps, as bytes. Equal jobs give equal bytes.
    pub fn snapshot(&self) -> Vec<u8> {
        let state = JobState {
            plan: Plan::clone(self.plan()),
            clock: self.now,
            steps: self.steps,
            stopped: self.stopped,
            trigger: self.trigger,
            generator: self.pipeline.generator.state().clone(),
            schedule: self.pipeline.schedule,
            ledger: self.pipeline.ledger.clone(),
            operator: self.pipeline.operator.as_ref().map(WindowAggregate::save),
            dictionary: self.dictionary.clone(),
        };
        let payload = postcard::to_allocvec(&state).expect("plain data can be written");
        envelope::seal(VERSION, &payload)
    }

    /// A job that goes on where the snapshot was taken, under the same plan, with what `rules` say
    /// that a restart remembers.
    ///
    /// # Errors
    /// Damaged bytes, a later version, another plan.
    pub fn restore(
        plan: CheckedPlan,
        bytes: &[u8],
        hash_seed: u64,
        rules: RestoreRules,
    ) -> Result<Self, SnapshotError> {
        let (_, payload) = envelope::open(bytes, VERSION)?;
        let refuse = |expected, found: String| SnapshotError::Payload {
            offset: envelope::PAYLOAD_AT,
            expected,
            found,
        };
        let (state, rest): (JobState, _) = postcard::take_from_bytes(payload)
            .map_err(|it| refuse("the state of a job", it.to_string()))?;
        if !rest.is_empty() {
            return Err(SnapshotError::Payload {
                offset: envelope::PAYLOAD_AT + (payload.len() - rest.len()) as u64,
                expected: "the end of the state",
                found: format!("{} more bytes", rest.len()),
            });
        }
        if state.plan != *plan {
            return Err(SnapshotError::Plan { what: difference(&state.plan, &plan) });
        }
        if STEPS_MAX < state.steps {
            return Err(refuse(
                "a number of steps that can be counted on",
                state.steps.to_string(),
            ));
        }
        let mut generator = Generator::load(plan.watermark.as_ref(), state.generator)
            .map_err(|it| refuse("the state of a watermark generator", it))?;
        generator.forget(
            rules.watermark == Memory::Lost,
            rules.maxima == Memory::Lost,
            rules.idleness == Memory::Lost,
            state.clock,
        );
        let operator = match (&state.operator, &plan.operator) {
            (Some(it), Some(_)) => Some(
                WindowAggregate::load(&plan, hash_seed, it)
                    .map_err(|it| refuse("the state of a window operator", it))?,
            ),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => {
                return Err(refuse("one state per operator", "another number".to_owned()));
            }
        };
        let mut job = Self::new(plan, state.clock, hash_seed);
        let schedule = match rules.watermark {
            Memory::Kept => state.schedule,
            Memory::Lost => job.pipeline.schedule,
        };
        let ledger = match rules.ledger {
            Memory::Kept => state.ledger,
            Memory::Lost => Ledger::default(),
        };
        job.pipeline.resume(generator, schedule, ledger);
        if rules.windows == Memory::Kept {
            job.pipeline.operator = operator;
        }
        job.trigger = state.trigger;
        job.steps = state.steps;
        job.stopped = state.stopped;
        job.dictionary = state.dictionary;
        Ok(job)
    }
}

/// The first part in which two plans differ.
fn difference(a: &Plan, b: &Plan) -> &'static str {
    if a.schema != b.schema {
        "the columns"
    } else if a.watermark != b.watermark {
        "the watermark"
    } else if a.operator != b.operator {
        "the window, its keys or its aggregates"
    } else if a.trigger != b.trigger {
        "the trigger"
    } else {
        "the output"
    }
}
