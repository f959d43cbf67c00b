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
use super::plan::{Mapped, Unmapped, changed, map_under, numbered, profile_of};
use super::{
    Against, Batch, Failure, OperatorCounts, Phase, Query, Record, Row, SparkVector, Step,
};
use plimsoll_engine::job::Job;
use plimsoll_engine::output::{Output, StepRecord};
use plimsoll_engine::plan::flow::StagePlan;
use plimsoll_engine::plan::problem::spark::Moment;
use plimsoll_engine::profile::Profile;
use plimsoll_engine::row::{Dictionary, ItemId, PartitionId, RowBatch};
use plimsoll_engine::time::{EventTime, ProcTime};
use std::collections::BTreeSet;

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
    let mut texts = texts(vector);
    let query = numbered(&vector.query, &mut texts);
    let mapped = match map_under(&query, profile) {
        Ok(it) => it,
        Err(Unmapped::Refused(it)) => {
            return Ok(Found { refused: Some(it.failure()), records: Vec::new() });
        }
        Err(Unmapped::Foreign(why)) => return Err(why),
    };
    let mut running = Running::new(query, mapped, texts);
    let mut records = Vec::new();
    for (ix, step) in vector.steps.iter().enumerate() {
        records.push(running.step(ix, step)?);
        // Who fails where the sink was to fail is started again by what comes next.
        if running.failed && !matches!(step, Step::Batch { sink_fails: true, .. }) {
            break;
        }
    }
    Ok(Found { refused: None, records })
}

/// All texts of a vector, in their order.
fn texts(vector: &SparkVector) -> Dictionary {
    let rows = vector.steps.iter().filter_map(|it| match it {
        Step::Batch { rows, .. } => Some(rows),
        Step::Restart(_) => None,
    });
    let keys = rows.flatten().flat_map(|it| &it.1).filter_map(|it| it.k.as_deref());
    let filters = vector.query.inputs.iter().filter_map(|it| it.filter.as_ref());
    let compared = filters.filter_map(|it| match &it.value {
        Against::Text(it) => Some(it.as_str()),
        Against::Number(_) => None,
    });
    let all: BTreeSet<&str> = keys.chain(compared).collect();
    let mut texts = Dictionary::default();
    all.into_iter().for_each(|it| _ = texts.code(it));
    texts
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
    fn new(query: Query, mapped: Mapped, texts: Dictionary) -> Self {
        let mut job = Job::new(mapped.plan.clone(), ProcTime(0), 0);
        job.dictionary = texts;
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
                if self.pending.is_some() || self.failed {
                    return Err("rows for a query that is down".to_owned());
                }
                if rows.is_empty() {
                    // Nobody got anything, not even nothing: no batch.
                } else if *sink_fails && !self.fails_now() {
                    // Nothing that is computed of it is left, and so it need not be computed.
                    self.pending = Some(rows.clone());
                    record.error = Some(sink_failure());
                } else {
                    self.take(rows, &mut record);
                }
            }
            Step::Restart(_) => {
                self.failed = false;
                self.restart(step)?;
                if let Some(rows) = self.pending.take() {
                    self.take(&rows, &mut record);
                }
            }
        }
        self.total(&mut record);
        Ok(record)
    }

    /// Runs a batch and commits it, unless the query fails for good.
    fn take(&mut self, rows: &[(usize, Vec<Row>)], record: &mut Record) {
        self.run_batch(rows, record);
        if self.failed {
            self.pending = Some(rows.to_vec());
        } else {
            self.commit();
        }
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
        if self.fails_now() {
            self.fail(record);
            return;
        }
        self.out.clear();
        let batch = self.batch(rows);
        let id = self.item();
        self.job.run_batch(&batch, id, &mut self.out);
        // Whether one more batch is due is asked of a plan with the new watermark.
        let fails = self.query.no_data_batches && self.fails_now();
        let ran = if fails { 1 } else { self.out.steps.len() };
        record.batches.extend(self.out.steps.iter().take(ran).map(|it| self.one(it)));
        if fails {
            self.fail(record);
        }
    }

    /// Whether the next batch fails before anything of it is done.
    fn fails_now(&self) -> bool {
        let initial = self.mapped.plan.watermark.as_ref().map(|it| it.initial);
        match self.mapped.fails.and_then(|it| it.moment) {
            Some(Moment::FirstBatch) => true,
            Some(_) => initial.is_some_and(|it| it < self.job.watermark()),
            None => false,
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
