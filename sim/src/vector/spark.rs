//! A vector of Apache Spark: a small query, the rows of each micro-batch, and what came out.
//!
//! The format is that of the README beside the vectors. Times are milliseconds and may be negative;
//! null is a value. A query that Spark refused has an error in place of the records; one that failed
//! while it ran has the error in the record of its last step.
//!
//! Invariant: what is read names only inputs that the query has, and has a record for at most each
//! step, in order.

pub mod cell;
mod compare;
mod expect;
pub mod plan;
mod query;
mod run;
mod steps;

pub use compare::{Found, compare};
pub use expect::{Batch, EmittedRow, Failure, OperatorCounts, Phase, Record};
pub use query::{
    Against, Agg, COMPARATORS, Comparator, Filter, Function, Gap, Input, Join, JoinType, Operator,
    OutputMode, Policy, Query, TimeColumn, Via, WatermarkOn,
};
pub use run::{run, run_under};
pub use steps::{Change, InputChange, Row, Step};

use super::{Errors, Node};

/// One recorded vector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SparkVector {
    /// Its name.
    pub name: String,
    /// The rule that it pins.
    pub why: String,
    /// The query.
    pub query: Query,
    /// What was done, in order.
    pub steps: Vec<Step>,
    /// What happened, one record per step that did occur.
    pub expect: Vec<Record>,
    /// How the query was refused, in place of records.
    pub expect_error: Option<Failure>,
}

/// Reads a vector whose engine is known to be Spark.
pub(super) fn read(node: Node<'_>, errors: &mut Errors) -> Option<SparkVector> {
    let mut vector = node.object(errors)?;
    let name = vector.require("name", errors).and_then(|it| it.text(errors));
    let why = vector.require("why", errors).and_then(|it| it.text(errors));
    let _ = vector.take("engine");
    let query = vector.require("query", errors).and_then(|it| query::read(&it, errors));
    let steps = vector
        .require("steps", errors)
        .and_then(|it| it.each(errors, |it, errors| steps::read(it, query.as_ref(), errors)));
    let expect = vector.require("expect", errors).and_then(|it| expect::read(&it, errors));
    let refused = vector.take("expect_error");
    let expect_error = match &refused {
        Some(it) => Some(expect::failure(it, errors)?),
        None => None,
    };
    vector.finish(errors);
    let vector = SparkVector {
        name: name?.to_owned(),
        why: why?.to_owned(),
        query: query?,
        steps: steps?,
        expect: expect?,
        expect_error,
    };
    fits(&vector, errors);
    Some(vector)
}

/// Whether the parts of a vector belong together.
fn fits(vector: &SparkVector, errors: &mut Errors) {
    let (records, steps) = (vector.expect.len(), vector.steps.len());
    if steps < records {
        errors.push("expect", format!("at most {steps} records"), records.to_string());
    }
    if vector.expect_error.is_some() && records != 0 {
        errors.push("expect", "no record, since the query was refused", records.to_string());
    }
    super::in_order(steps, vector.expect.iter().map(|it| it.step), errors);
}

#[cfg(test)]
mod tests;
