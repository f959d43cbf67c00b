//! Whether a run did what the vector says.
//!
//! Worth matching: the rows of each micro-batch and step as a set, the watermark in force and the next
//! one, state rows and removals of aggregations and dedup, late counters of every operator, the
//! numbers of the micro-batches, refusals and failures. Not worth it: what a join counts as a row of
//! state or as a removal, the statistics of event time, the engine's words for operators and exceptions.
//! The first difference in the order of events is the one reported; what follows it is often only its
//! consequence.
//!
//! Invariant: a run that lacks a record, a batch or an operator does not agree.

mod lines;
mod rule;

use super::super::{Agreement, Disagreement};
use super::cell::Cell;
use super::{Batch, EmittedRow, Failure, OperatorCounts, Record, SparkVector};
use rule::Subject;

/// What a run of ours did, in the shape of a vector's records.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// How the query was refused; it did not run then.
    pub refused: Option<Failure>,
    /// One record per step, up to and with the one that failed for good.
    pub records: Vec<Record>,
}

/// Lays a run beside its vector.
///
/// # Errors
/// The first difference.
pub fn compare(vector: &SparkVector, found: &Found) -> Result<Agreement, Box<Disagreement>> {
    let compare = Comparison { vector };
    let refusals = (&vector.expect_error, &found.refused);
    if let Some(difference) = failures(refusals.0.as_ref(), refusals.1.as_ref(), "refusal") {
        return Err(Box::new(compare.disagreement(None, None, None, difference)));
    }
    for (ix, expected) in vector.expect.iter().enumerate() {
        let found = found.records.get(ix);
        if let Some(difference) = compare.record(expected, found) {
            return Err(Box::new(compare.disagreement(
                Some(ix),
                Some(expected),
                found,
                difference,
            )));
        }
    }
    if let Some(more) = found.records.get(vector.expect.len()) {
        let difference = Difference {
            what: "what is done after the last step".to_owned(),
            expected: "nothing".to_owned(),
            found: "one more step".to_owned(),
            subject: Subject::Failure,
        };
        return Err(Box::new(compare.disagreement(Some(more.step), None, Some(more), difference)));
    }
    Ok(Agreement { steps: vector.expect.len() })
}

/// One difference, before it knows its step.
struct Difference {
    what: String,
    expected: String,
    found: String,
    subject: Subject,
}

/// A difference if two values differ.
fn differ<T: PartialEq + ToString>(
    what: impl FnOnce() -> String,
    subject: Subject,
    expected: &T,
    found: &T,
) -> Option<Difference> {
    (expected != found).then(|| Difference {
        what: what(),
        expected: expected.to_string(),
        found: found.to_string(),
        subject,
    })
}

fn failures(expected: Option<&Failure>, found: Option<&Failure>, what: &str) -> Option<Difference> {
    let same = match (expected, found) {
        (None, None) => true,
        (Some(expected), Some(found)) => {
            expected.phase == found.phase
                && expected.condition == found.condition
                && (expected.reason.is_none() || expected.reason == found.reason)
        }
        _ => false,
    };
    (!same).then(|| Difference {
        what: what.to_owned(),
        expected: lines::failure(expected),
        found: lines::failure(found),
        subject: Subject::Failure,
    })
}

/// The vector at hand.
struct Comparison<'a> {
    vector: &'a SparkVector,
}

impl Comparison<'_> {
    fn disagreement(
        &self,
        step: Option<usize>,
        expected: Option<&Record>,
        found: Option<&Record>,
        difference: Difference,
    ) -> Disagreement {
        let Difference { what, expected: wanted, found: got, subject } = difference;
        Disagreement {
            step,
            what,
            expected: wanted,
            found: got,
            rule: rule::rule(&self.vector.query, subject),
            expected_step: expected.map_or(Vec::new(), lines::record),
            found_step: found.map_or(Vec::new(), lines::record),
        }
    }

    fn record(&self, expected: &Record, found: Option<&Record>) -> Option<Difference> {
        let Some(found) = found else {
            return Some(Difference {
                what: "the step".to_owned(),
                expected: "it runs".to_owned(),
                found: "the query had failed before".to_owned(),
                subject: Subject::Failure,
            });
        };
        let failed = failures(expected.error.as_ref(), found.error.as_ref(), "failure");
        let pairs = expected.batches.iter().zip(&found.batches);
        failed
            .or_else(|| pairs.into_iter().find_map(|(expected, found)| batch(expected, found)))
            .or_else(|| {
                let ids = |it: &Record| list(it.batches.iter().map(|it| it.id.to_string()));
                differ(|| "batch ids".to_owned(), Subject::Batches, &ids(expected), &ids(found))
            })
            .or_else(|| totals(expected, found))
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}

fn batch(expected: &Batch, found: &Batch) -> Option<Difference> {
    let of = |what: &str| format!("{what} of batch {}", expected.id);
    differ(|| "batch id".to_owned(), Subject::Batches, &expected.id, &found.id)
        .or_else(|| {
            let (expected, found) = (lines::time(expected.watermark), lines::time(found.watermark));
            differ(|| of("watermark_ms"), Subject::Watermark, &expected, &found)
        })
        .or_else(|| operators(&expected.operators, &found.operators, &of))
        .or_else(|| emitted(&expected.emitted, &found.emitted, || of("emitted")))
        .or_else(|| {
            let expected = lines::time(expected.next_watermark);
            let found = lines::time(found.next_watermark);
            differ(|| of("next_watermark_ms"), Subject::NextWatermark, &expected, &found)
        })
}

fn operators(
    expected: &[OperatorCounts],
    found: &[OperatorCounts],
    of: &dyn Fn(&str) -> String,
) -> Option<Difference> {
    let counts = (expected.len(), found.len());
    differ(|| of("stateful operators"), Subject::Operators, &counts.0, &counts.1).or_else(|| {
        // The last operator comes first, so the first one that could be wrong is at the end.
        let pairs = expected.iter().zip(found).rev();
        pairs.into_iter().find_map(|(expected, found)| operator(expected, found, of))
    })
}

fn operator(
    expected: &OperatorCounts,
    found: &OperatorCounts,
    of: &dyn Fn(&str) -> String,
) -> Option<Difference> {
    let what = |count: &str| of(&format!("{} {count}", expected.name));
    let dropped = differ(
        || what("dropped_by_watermark"),
        Subject::Dropped,
        &expected.dropped_by_watermark,
        &found.dropped_by_watermark,
    );
    if is_join(expected) {
        return dropped;
    }
    dropped
        .or_else(|| {
            let count = |it: &OperatorCounts| it.dropped_duplicates.unwrap_or(0);
            let (expected, found) = (&count(expected), &count(found));
            differ(|| what("dropped_duplicates"), Subject::Emitted, expected, found)
        })
        .or_else(|| {
            let (expected, found) = (&expected.removed, &found.removed);
            differ(|| what("removed"), Subject::Removed, expected, found)
        })
        .or_else(|| {
            let (expected, found) = (&expected.state_rows, &found.state_rows);
            differ(|| what("state_rows"), Subject::StateRows, expected, found)
        })
}

/// What a join counts as state is Spark's own affair, and differs between its versions.
fn is_join(operator: &OperatorCounts) -> bool {
    operator.name == "symmetricHashJoin"
}

fn totals(expected: &Record, found: &Record) -> Option<Difference> {
    let of = |what: &str| what.to_owned();
    let joins = |it: &Record| it.batches.iter().flat_map(|it| &it.operators).any(is_join);
    emitted(&expected.emitted, &found.emitted, || of("emitted"))
        .or_else(|| {
            let (expected, found) = (lines::time(expected.watermark), lines::time(found.watermark));
            differ(|| of("watermark_ms"), Subject::Watermark, &expected, &found)
        })
        .or_else(|| {
            let expected = lines::time(expected.next_watermark);
            let found = lines::time(found.next_watermark);
            differ(|| of("next_watermark_ms"), Subject::NextWatermark, &expected, &found)
        })
        .or_else(|| {
            let (expected, found) = (expected.dropped_by_watermark, found.dropped_by_watermark);
            differ(|| of("dropped_by_watermark"), Subject::Dropped, &expected, &found)
        })
        .or_else(|| {
            // A step without a batch carries over what the last one had; without joins it is known.
            if joins(expected) || expected.batches.is_empty() {
                return None;
            }
            let rows = |it: &Record| it.state_rows.map_or("none".to_owned(), |it| it.to_string());
            let (state, removed) = ((rows(expected), rows(found)), &expected.rows_removed);
            differ(|| of("state_rows"), Subject::StateRows, &state.0, &state.1).or_else(|| {
                differ(|| of("rows_removed"), Subject::Removed, removed, &found.rows_removed)
            })
        })
}

/// Rows as a set in which equal rows count; the first that the other side lacks is named.
fn emitted(
    expected: &[EmittedRow],
    found: &[EmittedRow],
    what: impl FnOnce() -> String,
) -> Option<Difference> {
    let mut left: Vec<&EmittedRow> = found.iter().collect();
    let mut missing = Vec::new();
    for row in expected {
        match left.iter().position(|it| is_met_by(row, it)) {
            Some(at) => drop(left.swap_remove(at)),
            None => missing.push(row),
        }
    }
    if missing.is_empty() && left.is_empty() {
        return None;
    }
    left.sort_unstable();
    let rows = |rows: &[&EmittedRow]| match rows {
        [] => "no further row".to_owned(),
        rows => list(rows.iter().map(|it| lines::row(it))),
    };
    Some(Difference {
        what: what(),
        expected: rows(&missing),
        found: rows(&left),
        subject: Subject::Emitted,
    })
}

fn is_met_by(expected: &EmittedRow, found: &EmittedRow) -> bool {
    let same = |(left, right): ((&String, &Cell), (&String, &Cell))| {
        left.0 == right.0 && left.1.is_met_by(right.1)
    };
    expected.len() == found.len() && expected.iter().zip(found).all(same)
}
