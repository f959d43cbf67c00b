//! A vector of Apache Flink: a small query, a script of steps, and what came out after each.
//!
//! The format is that of the README beside the vectors. Times are milliseconds and may be negative.
//! Flink's watermark f says "no more rows with t <= f", so ours is w = f + 1 (semantics 0): here it is
//! kept in Flink's own number, as are the limits that are announced for alignment.
//!
//! Invariant: what is read names only partitions, inputs and subtasks that the query or an earlier
//! step has, and has exactly one record for each step, in order.

mod compare;
mod expect;
pub mod plan;
mod query;
mod reference;
mod run;
mod steps;

pub use compare::{Found, compare};
pub use expect::{Emitted, Record, State};
pub use query::{
    Aggregation, Alignment, Function, Input, Join, Late, Operator, Query, Watermark, Windows,
};
pub use reference::reference;
pub use run::{run, run_under};
pub use steps::{Row, Step};

use super::{Errors, Node};

/// One recorded vector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlinkVector {
    /// Its name.
    pub name: String,
    /// The rule that it pins.
    pub why: String,
    /// What it is about; `ref:` and an issue number names the upstream discussion.
    pub tags: Vec<String>,
    /// The query.
    pub query: Query,
    /// What was done, in order.
    pub steps: Vec<Step>,
    /// What was there after each step.
    pub expect: Vec<Record>,
}

/// Reads a vector whose engine is known to be Flink.
pub(super) fn read(node: Node<'_>, errors: &mut Errors) -> Option<FlinkVector> {
    let mut vector = node.object(errors)?;
    let name = vector.require("name", errors).and_then(|it| it.text(errors));
    let why = vector.require("why", errors).and_then(|it| it.text(errors));
    let tag = |it: &Node<'_>, errors: &mut Errors| it.text(errors).map(str::to_owned);
    let tags = vector.require("tags", errors).and_then(|it| it.each(errors, tag));
    let _ = vector.take("engine");
    let query = vector.require("query", errors).and_then(|it| query::read(&it, errors));
    let steps = vector.require("steps", errors);
    let steps = match &query {
        Some(query) => steps.and_then(|it| steps::read(&it, query, errors)),
        None => None,
    };
    let expect = vector.require("expect", errors);
    let expect = match &query {
        Some(query) => {
            expect.and_then(|it| it.each(errors, |it, errors| expect::read(it, query, errors)))
        }
        None => None,
    };
    vector.finish(errors);
    let vector = FlinkVector {
        name: name?.to_owned(),
        why: why?.to_owned(),
        tags: tags?,
        query: query?,
        steps: steps?,
        expect: expect?,
    };
    fits(&vector, errors);
    Some(vector)
}

/// Whether the parts of a vector belong together.
fn fits(vector: &FlinkVector, errors: &mut Errors) {
    let (records, steps) = (vector.expect.len(), vector.steps.len());
    if steps != records {
        errors.push("expect", format!("{steps} records, one per step"), records.to_string());
    }
    super::in_order(steps, vector.expect.iter().map(|it| it.step), errors);
}

#[cfg(test)]
mod tests;
