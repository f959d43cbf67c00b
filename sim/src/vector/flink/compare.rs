//! Whether a run did what the vector says.
//!
//! Worth matching after every step: the watermark in Flink's own number, whether the operator is idle,
//! the results as a set in which equal ones count, the late rows, the live state. Timers are not: an
//! engine that has none evicts all the same. The first step that differs is reported.
//!
//! Invariant: a run that lacks a step does not agree.

mod lines;

use super::super::{Agreement, Disagreement};
use super::query::{Operator, Query};
use super::{FlinkVector, Record};

/// What a run of ours did: one record per step.
pub type Found = Vec<Record>;

/// Lays a run beside its vector.
///
/// # Errors
/// The first difference.
pub fn compare(vector: &FlinkVector, found: &[Record]) -> Result<Agreement, Box<Disagreement>> {
    for (ix, expected) in vector.expect.iter().enumerate() {
        let found = found.get(ix);
        let difference = match found {
            Some(found) => record(expected, found, &vector.query),
            None => Some(Difference {
                what: "the step",
                expected: "it runs".to_owned(),
                found: "it did not".to_owned(),
                rule: "flink-rules 10: every step of a script runs",
            }),
        };
        if let Some(Difference { what, expected: wanted, found: got, rule }) = difference {
            return Err(Box::new(Disagreement {
                step: Some(ix),
                what: what.to_owned(),
                expected: wanted,
                found: got,
                rule,
                expected_step: lines::step(vector, ix, Some(expected)),
                found_step: lines::step(vector, ix, found),
            }));
        }
    }
    Ok(Agreement { steps: vector.expect.len() })
}

/// One difference, before it knows its step.
struct Difference {
    what: &'static str,
    expected: String,
    found: String,
    rule: &'static str,
}

fn record(expected: &Record, found: &Record, query: &Query) -> Option<Difference> {
    let differ = |what, rule, expected: String, found: String| {
        (expected != found).then_some(Difference { what, expected, found, rule })
    };
    let watermarks = (lines::watermark(expected.watermark), lines::watermark(found.watermark));
    let states = (lines::state(expected, query), lines::state(found, query));
    let rules = rules(query);
    differ("watermark_ms", WATERMARK, watermarks.0, watermarks.1)
        .or_else(|| differ("idle", IDLE, expected.idle.to_string(), found.idle.to_string()))
        .or_else(|| {
            let (expected, found) = apart(&expected.late, &found.late);
            let rows = |it: &[_]| lines::list(it, lines::row);
            differ("late", rules.late, rows(&expected), rows(&found))
        })
        .or_else(|| {
            let (expected, found) = apart(&expected.emitted, &found.emitted);
            let results = |it: &[_]| lines::list(it, |it| lines::emitted(it, query));
            differ("emitted", rules.emitted, results(&expected), results(&found))
        })
        .or_else(|| differ("state", rules.state, states.0, states.1))
}

/// What each of two lists has more than the other, in order.
fn apart<'a, T: Ord>(left: &'a [T], right: &'a [T]) -> (Vec<&'a T>, Vec<&'a T>) {
    let more = |of: &'a [T], than: &[T]| {
        let mut than: Vec<&T> = than.iter().collect();
        let mut of: Vec<&T> = of.iter().collect();
        of.sort_unstable();
        of.retain(|it| match than.iter().position(|other| other == it) {
            Some(at) => {
                than.swap_remove(at);
                false
            }
            None => true,
        });
        of
    };
    (more(left, right), more(right, left))
}

const WATERMARK: &str =
    "flink-rules 1 and 2: f = max - delay - 1 at a probe, then per level the minimum";
const IDLE: &str = "flink-rules 3: silent for longer than the timeout since the first quiet probe";

/// The rules that decide for one operator.
struct Rules {
    late: &'static str,
    emitted: &'static str,
    state: &'static str,
}

fn rules(query: &Query) -> Rules {
    match query.operator.kind() {
        "interval_join" => Rules {
            late: "flink-rules 7: a row is late when ts < watermark",
            emitted: "flink-rules 7: joined on arrival with what has not been evicted",
            state: "flink-rules 7: evicted at watermark >= ts + max(upper, 0), ts + max(-lower, 0)",
        },
        "session_aggregate" => Rules {
            late: "flink-rules 6: merge first, then judge the end of the merged session",
            emitted: "flink-rules 6: touching sessions are one, fired at end - 1 <= watermark",
            state: "flink-rules 5 and 6: cleaned up at end - 1 + lateness <= watermark",
        },
        _ => Rules {
            late: "flink-rules 5: late when every window of the row has been cleaned up",
            emitted: "flink-rules 5: fired at end - 1 <= watermark, again per late row",
            state: "flink-rules 5: cleaned up at end - 1 + lateness <= watermark",
        },
    }
}

/// The operator's kind, for the lines.
fn is_join(query: &Query) -> bool {
    matches!(query.operator, Operator::Join(_))
}
