//! What was there after a step.
//!
//! Invariant: a result has the fields of its query's operator, and a state the counts of it.

use super::super::{Errors, Node, Object};
use super::query::{Aggregation, FUNCTIONS, Operator, Query};
use super::steps::{self, Row};

/// What was there after one step.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Record {
    /// The step's number, from 0.
    pub step: usize,
    /// The operator's watermark in Flink's own number; none since the start or a restore.
    pub watermark: Option<i64>,
    /// Whether the operator's output is marked idle.
    pub idle: bool,
    /// What came out in this step.
    pub emitted: Vec<Emitted>,
    /// Rows found late in this step.
    pub late: Vec<Row>,
    /// What is held after it.
    pub state: State,
}

/// One result.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Emitted {
    /// A window or session of a key.
    Group {
        /// Its output time: end - 1.
        ts: i64,
        /// The key.
        key: String,
        /// Its start.
        start: i64,
        /// Its end, exclusive.
        end: i64,
        /// The aggregates, in the order in which the query names them.
        values: Vec<i64>,
    },
    /// A pair of a join.
    Pair {
        /// The larger of the two times.
        ts: i64,
        /// The key.
        key: String,
        /// Time and value on the left.
        left: (i64, i64),
        /// Time and value on the right.
        right: (i64, i64),
    },
}

/// What an operator holds; timers, which only Flink has, are read and let go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct State {
    /// (key, window) contents, or rows buffered on the left.
    pub first: u64,
    /// Rows buffered on the right; 0 without a join.
    pub second: u64,
}

pub(super) fn read(node: &Node<'_>, query: &Query, errors: &mut Errors) -> Option<Record> {
    let mut record = node.object(errors)?;
    let step = record.require("step", errors).and_then(|it| it.count(errors));
    let watermark = match record.require("watermark_ms", errors)?.some() {
        Some(it) => it.integer(errors).map(Some),
        None => Some(None),
    };
    let idle = record.take("idle").map_or(Some(false), |it| it.flag(errors));
    let emitted = match record.take("emitted") {
        Some(it) => it.each(errors, |it, errors| emitted(it, &query.operator, errors)),
        None => Some(Vec::new()),
    };
    let late = match record.take("late") {
        Some(it) => it.each(errors, steps::row),
        None => Some(Vec::new()),
    };
    let state = record.require("state", errors).and_then(|it| state(&it, &query.operator, errors));
    record.finish(errors);
    Some(Record {
        step: usize::try_from(step?).unwrap_or(usize::MAX),
        watermark: watermark?,
        idle: idle?,
        emitted: emitted?,
        late: late?,
        state: state?,
    })
}

fn integer(object: &mut Object<'_>, name: &'static str, errors: &mut Errors) -> Option<i64> {
    object.require(name, errors)?.integer(errors)
}

fn emitted(node: &Node<'_>, operator: &Operator, errors: &mut Errors) -> Option<Emitted> {
    let mut object = node.object(errors)?;
    let ts = integer(&mut object, "ts", errors);
    let key = object.require("key", errors).and_then(|it| it.text(errors));
    let read = match operator {
        Operator::Aggregation(Aggregation { functions, .. }) => {
            let start = integer(&mut object, "start", errors);
            let end = integer(&mut object, "end", errors);
            let mut values = Vec::new();
            for function in functions {
                let name = FUNCTIONS.iter().find(|it| it.1 == *function);
                values.push(name.and_then(|it| integer(&mut object, it.0, errors)));
            }
            let (ts, key) = (ts?, key?.to_owned());
            let values = values.into_iter().collect::<Option<_>>()?;
            Emitted::Group { ts, key, start: start?, end: end?, values }
        }
        Operator::Join(_) => {
            let left =
                integer(&mut object, "left_ts", errors).zip(integer(&mut object, "left_v", errors));
            let right = integer(&mut object, "right_ts", errors).zip(integer(
                &mut object,
                "right_v",
                errors,
            ));
            Emitted::Pair { ts: ts?, key: key?.to_owned(), left: left?, right: right? }
        }
    };
    object.finish(errors);
    Some(read)
}

fn state(node: &Node<'_>, operator: &Operator, errors: &mut Errors) -> Option<State> {
    let mut object = node.object(errors)?;
    let mut count = |name, errors: &mut Errors| object.require(name, errors)?.count(errors);
    let (first, second) = match operator {
        Operator::Aggregation(_) => (count("windows", errors), Some(0)),
        Operator::Join(_) => (count("left", errors), count("right", errors)),
    };
    let timers = count("timers", errors);
    object.finish(errors);
    timers?;
    Some(State { first: first?, second: second? })
}
