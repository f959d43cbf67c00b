//! Readers and comparison, on a vector of a few lines.

use super::compare::Found;
use super::*;
use crate::vector::{Vector, VectorError, read};

const VECTOR: &str = r#"{
  "name": "n", "why": "w",
  "engine": {"name": "apache-spark-structured-streaming", "version": "4.3.0"},
  "query": {
    "inputs": [{"name": "in", "watermark_delay_ms": 5000}],
    "operator": {"kind": "window_aggregate", "size_ms": 10000, "keys": ["k"], "aggs": ["count"]},
    "output_mode": "append", "watermark_policy": "min", "no_data_batches": true
  },
  "steps": [{"batch": {"in": [{"ts": 1001000, "k": "a", "v": 1}]}}, {"restart": true}],
  "expect": [
    {"step": 0, "emitted": [{"count": 1}], "watermark_ms": 0, "next_watermark_ms": 996000,
     "event_time_max_ms": 1001000, "state_rows": 1, "rows_removed": 0, "dropped_by_watermark": 0,
     "batches": [{"batch_id": 0, "input_rows": 1, "watermark_ms": 0, "next_watermark_ms": 996000,
       "event_time_max_ms": 1001000, "event_time_min_ms": 1001000, "emitted": [{"count": 1}],
       "operators": [{"name": "stateStoreSave", "state_rows": 1, "updated": 1, "removed": 0,
         "dropped_by_watermark": 0}]}]}
  ]
}"#;

fn vector() -> SparkVector {
    match read(VECTOR.as_bytes()) {
        Ok(Vector::Spark(it)) => *it,
        other => panic!("a vector of Spark: {other:?}"),
    }
}

/// The errors after one text in the vector was replaced.
fn broken(old: &str, new: &str) -> Vec<String> {
    assert!(VECTOR.contains(old), "{old} is in the vector");
    let errors = read(VECTOR.replacen(old, new, 1).as_bytes()).expect_err("it is broken");
    errors.iter().map(VectorError::to_string).collect()
}

#[test]
fn a_vector_is_read_whole() {
    let vector = vector();
    assert_eq!(vector.query.inputs[0].delay, Some(5000));
    assert_eq!(vector.query.operator.kind(), "window_aggregate");
    assert_eq!(vector.steps.len(), 2);
    assert_eq!(vector.steps[1], Step::Restart(Change::default()));
    assert_eq!(vector.expect[0].batches[0].operators[0].state_rows, 1);
}

#[test]
fn an_error_names_its_place_what_was_expected_and_what_was_found() {
    let check = |old, new, wanted: &str| assert_eq!(broken(old, new), [wanted]);
    check(
        r#""ts": 1001000"#,
        r#""ts": "soon""#,
        r#"steps[0].batch.in[0].ts: expected an integer of 64 bits, found "soon""#,
    );
    check("4.3.0", "4.4.0", r#"engine.version: expected "4.3.0", found "4.4.0""#);
    check(
        r#""batch": {"in""#,
        r#""batch": {"on""#,
        "steps[0].batch.on: expected in, found an input that the query does not have",
    );
    check(
        r#""no_data_batches": true"#,
        r#""no_data_batches": 1"#,
        "query.no_data_batches: expected true or false, found 1",
    );
    check(r#""step": 0"#, r#""step": 1"#, "expect[0].step: expected 0, found 1");
    let unknown = broken(r#""name": "n", "#, r#""name": "n", "colour": 1, "#);
    assert_eq!(unknown.len(), 1);
    assert!(unknown[0].ends_with("found an unknown field"), "{unknown:?}");
    assert!(broken("apache", "patchy")[0].starts_with("engine.name: expected"));
}

#[test]
fn all_errors_are_reported_at_once() {
    let text = VECTOR.replacen(r#""k": "a""#, r#""k": 1"#, 1).replacen(r#""min""#, "0", 1);
    let errors = read(text.as_bytes()).expect_err("broken twice");
    let places: Vec<&str> = errors.iter().map(|it| it.place.as_str()).collect();
    assert!(places.contains(&"query.watermark_policy"), "{places:?}");
}

#[test]
fn a_run_that_did_the_same_agrees() {
    let vector = vector();
    let found = Found { refused: None, records: vector.expect.clone() };
    assert_eq!(compare(&vector, &found).expect("the same").steps, 1);
}

#[test]
fn the_first_difference_is_reported_with_its_rule() {
    let vector = vector();
    let check = |change: &dyn Fn(&mut Record), what: &str| {
        let mut found = Found { refused: None, records: vector.expect.clone() };
        change(&mut found.records[0]);
        let difference = compare(&vector, &found).expect_err("it differs");
        assert_eq!((difference.step, difference.what.as_str()), (Some(0), what));
        assert!(difference.rule.starts_with("spark-rules"), "{}", difference.rule);
        assert_ne!(difference.expected, difference.found);
    };
    check(&|it| it.batches[0].id = 1, "batch id");
    check(&|it| it.batches[0].watermark = Some(1), "watermark_ms of batch 0");
    check(&|it| it.batches[0].next_watermark = None, "next_watermark_ms of batch 0");
    check(&|it| it.batches[0].emitted.clear(), "emitted of batch 0");
    check(&|it| it.batches.clear(), "batch ids");
    check(&|it| it.emitted.clear(), "emitted");
    check(&|it| it.batches[0].operators.clear(), "stateful operators of batch 0");
    check(&|it| it.batches[0].operators[0].state_rows = 7, "stateStoreSave state_rows of batch 0");
    check(&|it| it.batches[0].operators[0].removed = 7, "stateStoreSave removed of batch 0");
    check(&|it| it.dropped_by_watermark = 7, "dropped_by_watermark");
    let none = Found::default();
    assert_eq!(compare(&vector, &none).expect_err("nothing ran").what, "the step");
}

#[test]
fn a_refusal_agrees_by_phase_and_condition_and_not_by_the_class_of_the_exception() {
    let refusal = |phase, condition: &str, exception: &str| Failure {
        phase,
        exception: exception.to_owned(),
        condition: Some(condition.to_owned()),
        sqlstate: None,
        reason: None,
    };
    let mut vector = vector();
    vector.expect.clear();
    vector.expect_error = Some(refusal(Phase::Start, "C", "A"));
    let agrees = |failure| {
        let found = Found { refused: failure, records: Vec::new() };
        compare(&vector, &found).is_ok()
    };
    assert!(agrees(Some(refusal(Phase::Start, "C", "B"))));
    assert!(!agrees(Some(refusal(Phase::Plan, "C", "A"))));
    assert!(!agrees(Some(refusal(Phase::Start, "D", "A"))));
    assert!(!agrees(None));
}
