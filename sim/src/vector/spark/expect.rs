//! What happened: a record per step, with the micro-batches that ran in it.
//!
//! Counters of the whole step are kept beside those of its batches, as the vector has both. A record of
//! a run of ours has the same type, so that the two can be laid side by side.
//!
//! Invariant: a record is complete; what Spark did not report is `None`.

use super::super::{Errors, Node, Object};
use super::cell::{self, Cell};
use std::collections::BTreeMap;

/// An emitted row: a value per column name.
pub type EmittedRow = BTreeMap<String, Cell>;

/// What happened in a step.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Record {
    /// The step, from 0.
    pub step: usize,
    /// All rows that the sink got.
    pub emitted: Vec<EmittedRow>,
    /// In force in the last micro-batch.
    pub watermark: Option<i64>,
    /// Computed for the batch after it.
    pub next_watermark: Option<i64>,
    /// The largest event time of the data batch.
    pub event_time_max: Option<i64>,
    /// After the last micro-batch, over all operators.
    pub state_rows: Option<u64>,
    /// Over all micro-batches and operators.
    pub rows_removed: u64,
    /// Over all micro-batches and operators.
    pub dropped_by_watermark: u64,
    /// The micro-batches that ran.
    pub batches: Vec<Batch>,
    /// How the query failed.
    pub error: Option<Failure>,
}

/// A micro-batch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Batch {
    /// Its number.
    pub id: u64,
    /// Rows that were read.
    pub input_rows: u64,
    /// By which it evicted; none where the query has no watermark.
    pub watermark: Option<i64>,
    /// For the batch after it.
    pub next_watermark: Option<i64>,
    /// The largest event time of its rows.
    pub event_time_max: Option<i64>,
    /// The smallest.
    pub event_time_min: Option<i64>,
    /// The stateful operators, the last one first.
    pub operators: Vec<OperatorCounts>,
    /// Rows that the sink got.
    pub emitted: Vec<EmittedRow>,
}

/// What a stateful operator counted in a micro-batch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OperatorCounts {
    /// Spark's name for it.
    pub name: String,
    /// Rows of state after the batch.
    pub state_rows: u64,
    /// Rows of state that were written.
    pub updated: u64,
    /// Rows of state that were removed.
    pub removed: u64,
    /// What was dropped as late, in the operator's own unit.
    pub dropped_by_watermark: u64,
    /// Duplicates, for dedup.
    pub dropped_duplicates: Option<u64>,
}

/// How a query was refused, or failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// When.
    pub phase: Phase,
    /// The class of the exception.
    pub exception: String,
    /// The engine's name for the condition.
    pub condition: Option<String>,
    /// The class of the condition in SQL.
    pub sqlstate: Option<String>,
    /// Our word for a condition without a name of its own.
    pub reason: Option<String>,
}

/// When a query was refused, or failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// While a setting was made.
    Configure,
    /// While the query was built.
    Plan,
    /// When it was started.
    Start,
    /// While it ran.
    Run,
}

/// The phases as they are written.
pub(super) const PHASES: [(&str, Phase); 4] = [
    ("configure", Phase::Configure),
    ("plan", Phase::Plan),
    ("start", Phase::Start),
    ("run", Phase::Run),
];

/// Reads all records.
pub(super) fn read(node: &Node<'_>, errors: &mut Errors) -> Option<Vec<Record>> {
    node.each(errors, record)
}

fn record(node: &Node<'_>, errors: &mut Errors) -> Option<Record> {
    let mut record = node.object(errors)?;
    let step = count(&mut record, "step", errors).and_then(|it| usize::try_from(it).ok());
    let emitted = emitted(&mut record, errors);
    let watermark = time(&mut record, "watermark_ms", errors);
    let next = time(&mut record, "next_watermark_ms", errors);
    let max = time(&mut record, "event_time_max_ms", errors);
    let state = record.require("state_rows", errors).and_then(|it| match it.some() {
        Some(it) => it.count(errors).map(Some),
        None => Some(None),
    });
    let removed = count(&mut record, "rows_removed", errors);
    let dropped = count(&mut record, "dropped_by_watermark", errors);
    let batches = record.require("batches", errors).and_then(|it| it.each(errors, batch));
    let error = record.take("error").map_or(Some(None), |it| failure(&it, errors).map(Some));
    record.finish(errors);
    Some(Record {
        step: step?,
        emitted: emitted?,
        watermark: watermark?,
        next_watermark: next?,
        event_time_max: max?,
        state_rows: state?,
        rows_removed: removed?,
        dropped_by_watermark: dropped?,
        batches: batches?,
        error: error?,
    })
}

fn batch(node: &Node<'_>, errors: &mut Errors) -> Option<Batch> {
    let mut batch = node.object(errors)?;
    let id = count(&mut batch, "batch_id", errors);
    let rows = count(&mut batch, "input_rows", errors);
    let watermark = time(&mut batch, "watermark_ms", errors);
    let next = time(&mut batch, "next_watermark_ms", errors);
    let max = time(&mut batch, "event_time_max_ms", errors);
    let min = time(&mut batch, "event_time_min_ms", errors);
    let operators = batch.require("operators", errors).and_then(|it| it.each(errors, operator));
    let emitted = emitted(&mut batch, errors);
    batch.finish(errors);
    Some(Batch {
        id: id?,
        input_rows: rows?,
        watermark: watermark?,
        next_watermark: next?,
        event_time_max: max?,
        event_time_min: min?,
        operators: operators?,
        emitted: emitted?,
    })
}

fn operator(node: &Node<'_>, errors: &mut Errors) -> Option<OperatorCounts> {
    let mut operator = node.object(errors)?;
    let name = operator.require("name", errors).and_then(|it| it.text(errors));
    let state = count(&mut operator, "state_rows", errors);
    let updated = count(&mut operator, "updated", errors);
    let removed = count(&mut operator, "removed", errors);
    let dropped = count(&mut operator, "dropped_by_watermark", errors);
    let duplicates = operator.take("dropped_duplicates");
    let duplicates = duplicates.map_or(Some(None), |it| it.count(errors).map(Some));
    operator.finish(errors);
    Some(OperatorCounts {
        name: name?.to_owned(),
        state_rows: state?,
        updated: updated?,
        removed: removed?,
        dropped_by_watermark: dropped?,
        dropped_duplicates: duplicates?,
    })
}

/// Reads a refusal or a failure.
pub(super) fn failure(node: &Node<'_>, errors: &mut Errors) -> Option<Failure> {
    let mut failure = node.object(errors)?;
    let phase = failure.require("phase", errors).and_then(|it| it.word(&PHASES, errors));
    let exception = failure.require("exception", errors).and_then(|it| it.text(errors));
    let mut word = |name| match failure.take(name).and_then(Node::some) {
        Some(it) => it.text(errors).map(|it| Some(it.to_owned())),
        None => Some(None),
    };
    let (condition, sqlstate, reason) = (word("condition"), word("sqlstate"), word("reason"));
    failure.finish(errors);
    Some(Failure {
        phase: phase?,
        exception: exception?.to_owned(),
        condition: condition?,
        sqlstate: sqlstate?,
        reason: reason?,
    })
}

fn emitted(object: &mut Object<'_>, errors: &mut Errors) -> Option<Vec<EmittedRow>> {
    object.require("emitted", errors)?.each(errors, |it, errors| {
        let cells = it.object(errors)?.entries();
        let read = |(name, node): (&str, Node<'_>), errors: &mut Errors| {
            Some((name.to_owned(), cell::read(&node, errors)?))
        };
        cells.into_iter().map(|it| read(it, errors)).collect()
    })
}

/// A time or null.
fn time(object: &mut Object<'_>, name: &'static str, errors: &mut Errors) -> Option<Option<i64>> {
    match object.require(name, errors)?.some() {
        Some(it) => it.integer(errors).map(Some),
        None => Some(None),
    }
}

fn count(object: &mut Object<'_>, name: &'static str, errors: &mut Errors) -> Option<u64> {
    object.require(name, errors)?.count(errors)
}
