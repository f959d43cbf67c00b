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
#[cfg(test)]
mod levels_tests;
mod v1;

use crate::flow::Flow;
use crate::flow::saved::{FlowState, Forgets};
use crate::job::Job;
use crate::job::query::Query;
use crate::operator::aggregate::WindowAggregate;
use crate::operator::aggregate::saved::AggregateState;
use crate::pipeline::ledger::Ledger;
use crate::plan::Plan;
use crate::plan::check::CheckedPlan;
pub use crate::plan::restore::{Memory, RestoreRules};
use crate::row::Dictionary;
use crate::time::ProcTime;
use crate::trigger::Trigger;
use crate::watermark::effective::Schedule;
use crate::watermark::generator::{Generator, GeneratorState};
pub use envelope::SnapshotError;
use serde::{Deserialize, Serialize};

/// The version that this build writes; it reads all from 1 on.
pub const VERSION: u32 = 2;

/// More steps are refused: nobody counts so far, and one more must not overflow.
const STEPS_MAX: u64 = 1 << 62;

/// Version 2.
#[derive(Debug, Serialize, Deserialize)]
struct JobState {
    plan: Plan,
    clock: ProcTime,
    steps: u64,
    stopped: bool,
    trigger: Trigger,
    body: Body,
    dictionary: Dictionary,
}

/// What runs.
#[derive(Debug, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "one of them exists, for the length of a call")]
enum Body {
    /// The plain query.
    Plain {
        generator: GeneratorState,
        schedule: Schedule,
        ledger: Ledger,
        operator: Option<AggregateState>,
    },
    /// A flow.
    Flow(FlowState),
}

impl Job {
    /// The job between two steps, as bytes. Equal jobs give equal bytes.
    pub fn snapshot(&self) -> Vec<u8> {
        let body = match &self.query {
            Query::Plain(it) => Body::Plain {
                generator: it.generator.state().clone(),
                schedule: it.schedule,
                ledger: it.ledger.clone(),
                operator: it.operator.as_ref().map(WindowAggregate::save),
            },
            Query::Flow(it) => Body::Flow(it.save()),
        };
        let state = JobState {
            plan: Plan::clone(self.plan()),
            clock: self.now,
            steps: self.steps,
            stopped: self.stopped,
            trigger: self.trigger,
            body,
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
        let state = read(bytes)?;
        if state.plan != *plan {
            return Err(SnapshotError::Plan { what: difference(&state.plan, &plan) });
        }
        Self::resume(plan, state, hash_seed, rules)
    }

    /// The same under a changed plan: a step with a name, because state means what the plan says. A
    /// flow may change the delays of its marks and whether steps without data follow; everything
    /// else must be as it was. The watermark that has been reached does not move back.
    ///
    /// # Errors
    /// As [`restore`](Self::restore).
    pub fn migrate(
        plan: CheckedPlan,
        bytes: &[u8],
        hash_seed: u64,
        rules: RestoreRules,
    ) -> Result<Self, SnapshotError> {
        let state = read(bytes)?;
        let mut old = state.plan.clone();
        if let (Some(old), Some(new)) = (&mut old.flow, &plan.flow) {
            old.follow_up = new.follow_up;
            for (old, new) in old.inputs.iter_mut().zip(&new.inputs) {
                for (old, new) in old.marks.iter_mut().zip(&new.marks) {
                    old.delay = new.delay;
                }
            }
        }
        if let (Some(old), Some(new)) = (&mut old.watermark, &plan.watermark) {
            old.delay = new.delay;
        }
        if old != *plan {
            return Err(SnapshotError::Plan { what: difference(&old, &plan) });
        }
        Self::resume(plan, state, hash_seed, rules)
    }

    fn resume(
        plan: CheckedPlan,
        state: JobState,
        hash_seed: u64,
        rules: RestoreRules,
    ) -> Result<Self, SnapshotError> {
        if STEPS_MAX < state.steps {
            return Err(refuse(
                "a number of steps that can be counted on",
                state.steps.to_string(),
            ));
        }
        // What has stopped stays as it is: there is nothing to go on with.
        let rules = if state.stopped { RestoreRules::EXACT } else { rules };
        let mut job = Self::new(plan, state.clock, hash_seed);
        match (state.body, &mut job.query) {
            (Body::Plain { generator, schedule, ledger, operator }, Query::Plain(pipeline)) => {
                let mut generator = Generator::load(job.plan.watermark.as_ref(), generator)
                    .map_err(|it| refuse("the state of a watermark generator", it))?;
                generator.forget(
                    rules.watermark == Memory::Lost,
                    rules.maxima == Memory::Lost,
                    rules.idleness == Memory::Lost,
                    state.clock,
                );
                let operator = match (&operator, &job.plan.operator) {
                    (Some(it), Some(_)) => Some(
                        WindowAggregate::load(&job.plan, hash_seed, it)
                            .map_err(|it| refuse("the state of a window operator", it))?,
                    ),
                    (None, None) => None,
                    (Some(_), None) | (None, Some(_)) => {
                        return Err(refuse("one state per operator", "another number".to_owned()));
                    }
                };
                let schedule = match rules.watermark {
                    Memory::Kept => schedule,
                    Memory::Lost => pipeline.schedule,
                };
                let ledger = match rules.ledger {
                    Memory::Kept => ledger,
                    Memory::Lost => Ledger::default(),
                };
                pipeline.resume(generator, schedule, ledger);
                if rules.windows == Memory::Kept {
                    pipeline.operator = operator;
                }
                if rules.watermark == Memory::Lost {
                    pipeline.nothing_is_closed();
                }
            }
            (Body::Flow(saved), Query::Flow(flow)) => {
                let forgets = Forgets {
                    watermark: rules.watermark == Memory::Lost,
                    maxima: rules.maxima == Memory::Lost,
                    idleness: rules.idleness == Memory::Lost,
                    stages: rules.windows == Memory::Lost,
                };
                **flow = Flow::load(&job.plan, saved, forgets, state.clock)
                    .map_err(|it| refuse("the state of a flow", it))?;
            }
            (Body::Plain { .. }, Query::Flow(_)) | (Body::Flow(_), Query::Plain(_)) => {
                return Err(refuse("the state of this plan", "another kind".to_owned()));
            }
        }
        job.trigger = state.trigger;
        job.steps = state.steps;
        job.stopped = state.stopped;
        job.dictionary = state.dictionary;
        Ok(job)
    }
}

fn refuse(expected: &'static str, found: String) -> SnapshotError {
    SnapshotError::Payload { offset: envelope::PAYLOAD_AT, expected, found }
}

/// The state in an envelope of any version.
fn read(bytes: &[u8]) -> Result<JobState, SnapshotError> {
    let (version, payload) = envelope::open(bytes, VERSION)?;
    let no_state = |it: postcard::Error| refuse("the state of a job", it.to_string());
    let (state, rest) = if version == 1 {
        let (state, rest): (v1::JobStateV1, _) =
            postcard::take_from_bytes(payload).map_err(no_state)?;
        (state.into(), rest)
    } else {
        postcard::take_from_bytes::<JobState>(payload).map_err(no_state)?
    };
    if rest.is_empty() {
        Ok(state)
    } else {
        Err(SnapshotError::Payload {
            offset: envelope::PAYLOAD_AT + (payload.len() - rest.len()) as u64,
            expected: "the end of the state",
            found: format!("{} more bytes", rest.len()),
        })
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
    } else if a.flow != b.flow {
        "the inputs or the stages"
    } else {
        "the output"
    }
}
