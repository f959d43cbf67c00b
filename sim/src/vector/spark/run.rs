//! A query of a vector, run by our engine: the same steps, the same records.
//!
//! A step of a vector is one batch, after which the engine runs the batches without data that its stages
//! ask for; nothing else does. What a sink that fails has been given is forgotten: the job goes back to
//! what was saved before the batch, and the same rows are run again when the query starts again, before
//! anything else. A restart restores what the profile says that it remembers.
//!
//! The number of a batch is the number of a step of the job, which a restart goes on with.
//!
//! Invariant: the run sees query and steps only, never what is expected of them.

use super::compare::Found;
use super::plan::refusal::Refusal;
use super::plan::{Mapped, Unmapped, changed, map_under, profile_of};
use super::{Batch, Failure, OperatorCounts, Phase, Query, Record, Row, SparkVector, Step};
use plimsoll_engine::job::Job;
use plimsoll_engine::output::{Output, StepRecord};
use plimsoll_engine::plan::flow::StagePlan;
use plimsoll_engine::plan::problem::spark::Moment;
use plimsoll_engine::profile::Profile;
use plimsoll_engine::row::{Dictionary, ItemId, PartitionId, RowBatch};
use plimsoll_engine::time::{EventTime, ProcTime};

/// Runs a vector's query over its steps.
///
/// # Errors
/// Why it cannot be run here.
pub fn run(vector: &SparkVector) -> Result<Found, String> {
    match profile_of(&vector.query) {
        Ok(it) => run_under(vector, it),
        Err(it) => Err(format!("{it:?}")),
    }
}

/// Runs it under other rules than Spark's: what a rule decides shows in what changes without it.
///
/// # Errors
/// As [`run`].
pub fn run_under(vector: &SparkVector, profile: Profile) -> Result<Found, String> {
    let mapped = match map_under(&vector.query, profile) {
        Ok(it) => it,
        Err(Unmapped::Refused(it)) => {
            return Ok(Found { refused: Some(it.failure()), records: Vec::new() });
        }
        Err(Unmapped::Foreign(why)) => return Err(why),
    };
    let mut running = Running::new(vector.query.clone(), mapped);
    let mut records = Vec::new();
    for (ix, step) in vector.steps.iter().enumerate() {
        records.push(running.step(ix, step)?);
        if running.failed {
            break;
        }
    }
    Ok(Found { refused: None, records })
}

/// A query that runs.
struct Running {
    query: Query,
    mapped: Mapped,
    job: Job,
    out: Output,
    /// What the checkpoint has: the job, and how many items it had seen.
    saved: (Vec<u8>, u64),
    /// The rows of the batch that the sink did not take.
    pending: Option<Vec<(usize, Vec<Row>)>>,
    items: u64,
    /// What a step without a batch carries over.
    carried: Carried,
    /// The query has failed and does not come back.
    failed: bool,
}

#[derive(Clone, Copy, Default)]
struct Carried {
    watermark: Option<i64>,
    next_watermark: Option<i64>,
    state_rows: Option<u64>,
}

/// What stands for a null key where one equals another.
pub(super) const NULL_KEY: &str = "\0null";

impl Running {
    fn new(query: Query, mapped: Mapped) -> Self {
        let job = Job::new(mapped.plan.clone(), ProcTime(0), 0);
        let out = Output::new(&mapped.plan);
        Self {
            saved: (job.snapshot(), 0),
            query,
            mapped,
            job,
            out,
            pending: None,
            items: 0,
            carried: Carried::default(),
            failed: false,
        }
    }

    fn step(&mut self, ix: usize, step: &Step) -> Result<Record, String> {
        let mut record = Record { step: ix, ..Record::default() };
        match step {
            Step::Batch { rows, sink_fails } => {
                if self.pending.is_some() {
                    return Err("rows for a query that is down".to_owned());
                }
                if *sink_fails {
                    // It is computed, and all that came of it is lost.
                    self.run_batch(rows, &mut Record::default());
                    self.pending = Some(rows.clone());
                    record.error = Some(sink_failure());
                } else if !rows.is_empty() {
                    self.run_batch(rows, &mut record);
                    self.commit();
                }
            }
            Step::Restart(_) => {
                self.restart(step)?;
                if let Some(rows) = self.pending.take() {
                    self.run_batch(&rows, &mut record);
                    self.commit();
                }
            }
        }
        self.total(&mut record);
        Ok(record)
    }

    /// The rows of all inputs as one batch of ours.
    fn batch(&mut self, rows: &[(usize, Vec<Row>)]) -> RowBatch {
        let width = self.mapped.plan.schema.columns.len();
        let mut batch = RowBatch::new(width);
        for (input, rows) in rows {
            let partition = u32::try_from(*input).expect("as many inputs as the plan has");
            for row in rows {
                let id = self.item();
                let cells = self.cells(*input, row);
                batch.push(id, PartitionId::of(partition, 0, 0), ProcTime(0), &cells);
            }
        }
        batch
    }

    fn item(&mut self) -> ItemId {
        self.items += 1;
        ItemId(self.items)
    }

    fn cells(&mut self, input: usize, row: &Row) -> Vec<Option<i64>> {
        let absent = self.mapped.nulls_are_keys().then_some(NULL_KEY);
        let key = row.k.as_deref().or(absent).map(|it| self.job.dictionary.code(it));
        let extra = &self.query.inputs[input].extra_columns;
        let value = |name: &str| match name {
            "ts" => row.ts,
            "k" => key,
            "v" => row.v,
            other => extra.iter().position(|it| it == other).and_then(|it| row.extra[it]),
        };
        self.mapped.plan.schema.columns.iter().map(|it| value(&it.name)).collect()
    }

    /// One batch, those that follow it without data, and what came of them.
    fn run_batch(&mut self, rows: &[(usize, Vec<Row>)], record: &mut Record) {
        if self.mapped.fails.is_some_and(|it| it.moment == Some(Moment::FirstBatch)) {
            self.fail(record);
            return;
        }
        self.out.clear();
        let batch = self.batch(rows);
        let id = self.item();
        self.job.run_batch(&batch, id, &mut self.out);
        for at in 0..self.out.steps.len() {
            let step = self.out.steps[at];
            let past =
                self.mapped.plan.watermark.as_ref().is_some_and(|it| it.initial < step.evict);
            if past && self.mapped.fails.is_some() {
                self.fail(record);
                return;
            }
            record.batches.push(self.one(&step));
        }
    }

    fn commit(&mut self) {
        self.saved = (self.job.snapshot(), self.items);
    }

    fn fail(&mut self, record: &mut Record) {
        record.error = self.mapped.fails.as_ref().map(Refusal::failure);
        self.failed = true;
    }

    /// One step of the job as a micro-batch.
    fn one(&self, step: &StepRecord) -> Batch {
        let marked = self.mapped.plan.watermark.is_some();
        let time = |it: EventTime| (it.is_legal()).then_some(it.0);
        let emissions = &self.out.emissions;
        let rows = emissions.notes.iter().enumerate().filter(|it| it.1.step == step.step);
        let texts: &Dictionary = &self.job.dictionary;
        Batch {
            id: step.step,
            input_rows: step.rows_in,
            watermark: marked.then_some(step.evict.0),
            next_watermark: Some(if marked { step.watermark.0 } else { 0 }),
            event_time_max: time(step.event_time_max),
            event_time_min: time(step.event_time_min),
            operators: self.operators(step.step),
            emitted: rows
                .map(|(at, _)| self.mapped.output.row(&emissions.rows, at, texts))
                .collect(),
        }
    }

    /// The stateful operators, the last one first.
    fn operators(&self, step: u64) -> Vec<OperatorCounts> {
        let stages = self.mapped.plan.flow.as_ref().map_or(&[][..], |it| &it.stages);
        let records = self.out.stages.iter().filter(|it| it.step == step);
        let stateful = records.filter(|it| !stages[it.stage].is_stateless());
        let mut operators: Vec<OperatorCounts> = stateful
            .map(|it| {
                let (name, by_group) = operator(&stages[it.stage]);
                OperatorCounts {
                    name: name.to_owned(),
                    state_rows: it.state_rows,
                    updated: it.updated,
                    removed: it.removed,
                    dropped_by_watermark: if by_group {
                        it.groups_dropped
                    } else {
                        it.rows_dropped
                    },
                    dropped_duplicates: matches!(stages[it.stage], StagePlan::Dedup(_))
                        .then_some(it.duplicates),
                }
            })
            .collect();
        operators.reverse();
        operators
    }

    fn restart(&mut self, step: &Step) -> Result<(), String> {
        let query = changed(&self.query, step);
        if query != self.query {
            self.mapped = match map_under(&query, self.mapped.profile) {
                Ok(it) => it,
                Err(it) => return Err(format!("a change to a query that does not run: {it:?}")),
            };
            self.query = query;
        }
        let (plan, rules) = (self.mapped.plan.clone(), self.mapped.profile.restore);
        let restored = Job::migrate(plan, &self.saved.0, 0, rules);
        self.job = restored.map_err(|it| format!("the checkpoint cannot be read: {it}"))?;
        self.items = self.saved.1;
        Ok(())
    }

    /// What a record says of the whole step.
    fn total(&mut self, record: &mut Record) {
        if let Some(last) = record.batches.last() {
            self.carried = Carried {
                watermark: last.watermark,
                next_watermark: last.next_watermark,
                state_rows: Some(last.operators.iter().map(|it| it.state_rows).sum()),
            };
        }
        record.watermark = self.carried.watermark;
        record.next_watermark = self.carried.next_watermark;
        record.state_rows = self.carried.state_rows;
        let batches = &record.batches;
        let operators = || batches.iter().flat_map(|it| &it.operators);
        record.rows_removed = operators().map(|it| it.removed).sum();
        record.dropped_by_watermark = operators().map(|it| it.dropped_by_watermark).sum();
        record.event_time_max = batches.first().and_then(|it| it.event_time_max);
        record.emitted = batches.iter().flat_map(|it| it.emitted.clone()).collect();
    }
}

/// Spark's name for the operator, and whether it counts late groups instead of rows.
const fn operator(stage: &StagePlan) -> (&'static str, bool) {
    match stage {
        StagePlan::Session(_) => ("sessionWindowStateStoreSaveExec", true),
        StagePlan::Dedup(_) => ("dedupe", false),
        StagePlan::Join(_) | StagePlan::AsOf(_) => ("symmetricHashJoin", false),
        _ => ("stateStoreSave", true),
    }
}

/// What the vectors' sink throws.
fn sink_failure() -> Failure {
    Failure {
        phase: Phase::Run,
        exception: "SinkFailure".to_owned(),
        condition: None,
        sqlstate: None,
        reason: None,
    }
}
