//! What was done: batches of rows, and restarts.
//!
//! The rows of all inputs of a step arrive together, as one micro-batch. An input that is not named got
//! nothing at all; one with an empty list still makes a batch.
//!
//! Invariant: a batch names inputs of the query only, and a row has exactly the columns of its input.

use super::super::{Errors, Node, Object};
use super::query::{self, Input, Policy, Query};

/// One step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Rows arrive, and the engine runs until it is idle.
    Batch {
        /// The rows of each input that is named: its place in the query, and its rows.
        rows: Vec<(usize, Vec<Row>)>,
        /// The sink throws after the batch was computed and before it was committed.
        sink_fails: bool,
    },
    /// The query is stopped and starts again from its checkpoint.
    Restart(Change),
}

/// A row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The event time.
    pub ts: Option<i64>,
    /// The key.
    pub k: Option<String>,
    /// The value.
    pub v: Option<i64>,
    /// The extra columns of the input, in its order.
    pub extra: Vec<Option<i64>>,
}

/// New values for the query, at a restart.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Change {
    /// For the first inputs of the query.
    pub inputs: Vec<InputChange>,
    /// The policy.
    pub policy: Option<Policy>,
    /// Whether batches without data may run.
    pub no_data_batches: Option<bool>,
}

/// New values for an input.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InputChange {
    /// Its delay.
    pub delay: Option<i64>,
}

/// Reads a step; without a query only its shape can be judged.
pub(super) fn read(node: &Node<'_>, query: Option<&Query>, errors: &mut Errors) -> Option<Step> {
    let mut step = node.object(errors)?;
    let read = match (step.take("batch"), step.take("restart")) {
        (Some(batch), None) => {
            let sink_fails = step.take("sink_fails").map_or(Some(false), |it| it.flag(errors));
            let rows = query.and_then(|it| batch_rows(&batch, it, errors));
            rows.zip(sink_fails).map(|(rows, sink_fails)| Step::Batch { rows, sink_fails })
        }
        (None, Some(restart)) => {
            let change = step.take("change");
            let change = change.map_or(Some(Change::default()), |it| change_of(&it, query, errors));
            if restart.flag(errors)? {
                change.map(Step::Restart)
            } else {
                errors.unexpected(&restart, "true");
                None
            }
        }
        _ => {
            errors.unexpected(node, "either `batch` or `restart`");
            None
        }
    };
    step.finish(errors);
    read
}

fn batch_rows(
    node: &Node<'_>,
    query: &Query,
    errors: &mut Errors,
) -> Option<Vec<(usize, Vec<Row>)>> {
    let mut read = Vec::new();
    for (name, rows) in node.object(errors)?.entries() {
        let Some(ix) = query.inputs.iter().position(|it| it.name == name) else {
            let names: Vec<&str> = query.inputs.iter().map(|it| it.name.as_str()).collect();
            errors.push(rows.place(), names.join(" or "), "an input that the query does not have");
            continue;
        };
        let input = &query.inputs[ix];
        read.push((ix, rows.each(errors, |it, errors| row(it, input, errors))?));
    }
    // The order of the inputs is that of the query, however the vector writes it.
    read.sort_by_key(|it| it.0);
    Some(read)
}

fn row(node: &Node<'_>, input: &Input, errors: &mut Errors) -> Option<Row> {
    let mut row = node.object(errors)?;
    let ts = integer(&mut row, "ts", errors);
    let k = row.require("k", errors).and_then(|it| match it.some() {
        Some(it) => it.text(errors).map(|it| Some(it.to_owned())),
        None => Some(None),
    });
    let v = integer(&mut row, "v", errors);
    let mut extra = Vec::new();
    for name in query::EXTRA_COLUMNS {
        if input.extra_columns.iter().any(|it| it == name) {
            extra.push((name, integer(&mut row, name, errors)));
        }
    }
    row.finish(errors);
    let place = |it: &str| extra.iter().find(|extra| extra.0 == it).and_then(|it| it.1);
    let extra = input.extra_columns.iter().map(|it| place(it)).collect::<Option<Vec<_>>>();
    Some(Row { ts: ts?, k: k?, v: v?, extra: extra? })
}

/// An integer or null.
fn integer(
    object: &mut Object<'_>,
    name: &'static str,
    errors: &mut Errors,
) -> Option<Option<i64>> {
    match object.require(name, errors)?.some() {
        Some(it) => it.integer(errors).map(Some),
        None => Some(None),
    }
}

fn change_of(node: &Node<'_>, query: Option<&Query>, errors: &mut Errors) -> Option<Change> {
    let mut change = node.object(errors)?;
    let inputs = change.take("inputs");
    let changes = match &inputs {
        Some(it) => it.each(errors, input_change)?,
        None => Vec::new(),
    };
    if let (Some(node), Some(query)) = (&inputs, query)
        && query.inputs.len() < changes.len()
    {
        errors.unexpected(node, format!("at most {} inputs", query.inputs.len()));
    }
    let policy = change.take("watermark_policy").map_or(Some(None), |it| it.text(errors).map(Some));
    let no_data = change.take("no_data_batches").map_or(Some(None), |it| it.flag(errors).map(Some));
    change.finish(errors);
    Some(Change { inputs: changes, policy: policy?.map(query::policy), no_data_batches: no_data? })
}

fn input_change(node: &Node<'_>, errors: &mut Errors) -> Option<InputChange> {
    let mut input = node.object(errors)?;
    let delay =
        input.take("watermark_delay_ms").map_or(Some(None), |it| it.integer(errors).map(Some));
    input.finish(errors);
    Some(InputChange { delay: delay? })
}
