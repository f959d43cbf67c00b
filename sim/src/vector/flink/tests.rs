//! Reader and comparison, on a vector of a few lines.

use super::*;
use crate::vector::{Vector, VectorError, read};

const VECTOR: &str = r#"{
  "name": "n", "why": "w", "tags": ["boundary"],
  "engine": {"name": "flink", "version": "2.3.0"},
  "query": {
    "watermark": {"kind": "bounded_out_of_orderness", "delay_ms": 2000, "idle_timeout_ms": null,
      "per": "partition", "auto_interval_ms": null},
    "partitions": 2, "inputs": {"in": [[0], [1]]},
    "operator": {"kind": "window_aggregate",
      "window": {"kind": "tumbling", "size_ms": 10000, "offset_ms": 0},
      "allowed_lateness_ms": 0, "late": "drop", "aggregates": ["count", "max"]}
  },
  "steps": [
    {"event": {"partition": 0, "ts": 40000, "k": "a", "v": 1}},
    {"emit_periodic_watermark": true},
    {"add_partition": {"partition": 7, "subtask": 1}}
  ],
  "expect": [
    {"step": 0, "watermark_ms": null, "state": {"windows": 1, "timers": 1}},
    {"step": 1, "watermark_ms": 37999, "idle": true,
     "emitted": [{"key": "a", "start": 0, "end": 10000, "count": 1, "max": 4, "ts": 9999}],
     "late": [{"partition": 0, "ts": 1, "k": "a", "v": 1}],
     "state": {"windows": 1, "timers": 1}},
    {"step": 2, "watermark_ms": 37999, "state": {"windows": 0, "timers": 0}}
  ]
}"#;

fn vector() -> FlinkVector {
    let Vector::Flink(it) = read(VECTOR.as_bytes()).expect("a vector") else {
        panic!("it is Flink's");
    };
    *it
}

#[test]
fn a_vector_is_read_whole() {
    let vector = vector();
    assert_eq!(vector.query.inputs[0].subtasks, [vec![0], vec![1]]);
    assert_eq!(vector.query.operator.kind(), "window_aggregate");
    assert_eq!(vector.steps[2], Step::Add { partition: 7, subtask: 1, input: 0 });
    assert_eq!((vector.expect[1].watermark, vector.expect[1].idle), (Some(37_999), true));
    let Emitted::Group { values, .. } = &vector.expect[1].emitted[0] else {
        panic!("it is a window's");
    };
    assert_eq!(values, &[1, 4], "in the order of the query");
}

#[test]
fn an_error_names_its_place_what_was_expected_and_what_was_found() {
    let check = |old: &str, new: &str, wanted: &str| {
        assert!(VECTOR.contains(old), "{old} is in the vector");
        let errors = read(VECTOR.replacen(old, new, 1).as_bytes()).expect_err("it is broken");
        let errors: Vec<_> = errors.iter().map(VectorError::to_string).collect();
        assert_eq!(errors, [wanted]);
    };
    check(
        r#""ts": 40000"#,
        r#""ts": "soon""#,
        r#"steps[0].event.ts: expected an integer of 64 bits, found "soon""#,
    );
    check("2.3.0", "2.4.0", r#"engine.version: expected "2.3.0", found "2.4.0""#);
    check(
        r#""per": "partition","#,
        r#""per": "partition", "colour": 1,"#,
        "query.watermark.colour: expected one of kind, delay_ms, per, idle_timeout_ms, \
         auto_interval_ms, alignment_drift_ms, found an unknown field",
    );
    check(
        "[[0], [1]]",
        "[[0], [0]]",
        "query.inputs: expected each of 2 partitions once, found [0, 0]",
    );
    check(
        r#""event": {"partition": 0"#,
        r#""event": {"partition": 5"#,
        "steps[0].event: expected a partition that has been there, found partition 5",
    );
    check(
        r#""subtask": 1"#,
        r#""subtask": 2"#,
        "steps[2].add_partition.subtask: expected a subtask below 2, found 2",
    );
    check(
        r#""emit_periodic_watermark": true"#,
        r#""restore": "c1""#,
        r#"steps[1].restore: expected a checkpoint that was taken before, found "c1""#,
    );
    check(r#""step": 2"#, r#""step": 3"#, "expect[2].step: expected 2, found 3");
    check(
        r#""size_ms": 10000"#,
        r#""size_ms": 0"#,
        "query.operator.window.size_ms: expected at least 1, found 0",
    );
}

#[test]
fn a_run_that_did_the_same_agrees() {
    let vector = vector();
    assert_eq!(compare(&vector, &vector.expect).expect("the same").steps, 3);
}

#[test]
fn the_first_difference_is_reported_with_its_rule() {
    let vector = vector();
    let check = |change: &dyn Fn(&mut Record), what: &str, rule: &str| {
        let mut found = vector.expect.clone();
        change(&mut found[1]);
        let difference = compare(&vector, &found).expect_err("it differs");
        assert_eq!((difference.step, difference.what.as_str()), (Some(1), what));
        assert!(difference.rule.starts_with(rule), "{}", difference.rule);
        assert_ne!(difference.expected, difference.found);
        assert_ne!(difference.expected_step, difference.found_step);
    };
    check(&|it| it.watermark = None, "watermark_ms", "flink-rules 1");
    check(&|it| it.idle = false, "idle", "flink-rules 3");
    check(&|it| it.emitted.clear(), "emitted", "flink-rules 5");
    check(&|it| it.late.clear(), "late", "flink-rules 5");
    check(&|it| it.state.first = 9, "state", "flink-rules 5");
    let none = compare(&vector, &[]).expect_err("nothing ran");
    assert_eq!((none.step, none.what.as_str()), (Some(0), "the step"));
}
