//! Every recorded vector of a real engine: our profile of it does what the engine did.
//!
//! The vectors stand in `golden/`, with their origin. A vector that does not agree is a shortfall; those
//! that are known are listed here with the reason, so that none goes unnoticed and none stays listed
//! once it agrees.
//!
//! Invariant: every file under `golden/` is a vector that agrees, or is listed.

mod pinned;

use crate::tidy::root;
use plimsoll_engine::plan::flow::{Chain, FollowUp, NullTime, SessionLate, Sides, Touching};
use plimsoll_engine::plan::restore::RestoreRules;
use plimsoll_engine::plan::{Effective, LateRule};
use plimsoll_engine::profile::{self, Profile};
use plimsoll_engine::time::EventTime;
use plimsoll_sim::vector::{Outcome, Vector, flink, judge, read, spark};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Vectors that do not agree, each with the reason. Empty is the goal.
const SHORTFALLS: [(&str, &str); 0] = [];

/// All vectors under a folder, by their path below it.
fn vectors(folder: &str) -> BTreeMap<String, Vector> {
    let root = root().join("tests/golden").join(folder);
    let mut files = Vec::new();
    collect(&root, &mut files);
    let read_one = |path: &PathBuf| {
        let name = path.strip_prefix(&root).expect("below the folder").display().to_string();
        let bytes = fs::read(path).expect("a readable vector");
        let vector = read(&bytes).unwrap_or_else(|errors| {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            panic!("{name}: {}", errors.join("\n  "))
        });
        (name, vector)
    };
    files.iter().map(read_one).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of vectors") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|it| it == "json") {
            files.push(path);
        }
    }
}

/// Fails with every vector that neither agrees nor is listed, and with every one that is listed and
/// agrees.
fn check(folder: &str, count: usize) {
    let vectors = vectors(folder);
    assert_eq!(vectors.len(), count, "vectors under {folder}");
    let mut wrongs = Vec::new();
    for (path, vector) in &vectors {
        let listed = SHORTFALLS.iter().any(|it| it.0 == vector.name());
        let wrong = match judge(vector) {
            Outcome::Agreed(_) if listed => Some("agrees, and is listed as a shortfall".to_owned()),
            Outcome::Agreed(_) => None,
            Outcome::Disagreed(it) if !listed => Some(it.to_string()),
            Outcome::NotRun(why) if !listed => Some(format!("cannot be run: {why}")),
            Outcome::Disagreed(_) | Outcome::NotRun(_) => None,
        };
        wrongs.extend(wrong.map(|it| format!("{path}: {it}")));
    }
    let agreeing = count - wrongs.len();
    assert!(
        wrongs.is_empty(),
        "{agreeing} of {count} agree; not these:\n  {}",
        wrongs.join("\n  ")
    );
}

#[test]
fn the_vectors_of_spark_agree() {
    check("spark", 214);
}

#[test]
fn the_recombined_vectors_of_spark_agree() {
    check("recombined", RECOMBINED);
}

#[test]
fn the_vectors_of_flink_agree() {
    check("flink", 147);
}

/// The reference is another hand than the engine: it gives what was recorded too, wherever no restart
/// forgets anything. Results and late rows of a step are sets.
#[test]
fn the_reference_gives_what_flink_was_recorded_to_do() {
    let mut told = 0;
    for (path, vector) in vectors("flink") {
        let Vector::Flink(vector) = vector else { panic!("{path} is Flink's") };
        let restarts = vector.steps.iter().any(|it| matches!(it, flink::Step::Restore(_)));
        let records = match flink::reference(&vector) {
            Ok(it) => it,
            Err(why) => {
                assert!(restarts, "{path}: {why}");
                continue;
            }
        };
        told += 1;
        assert_eq!(records.len(), vector.expect.len(), "{path}");
        for (found, expected) in records.iter().zip(&vector.expect) {
            let shown = |it: &flink::Record| {
                let (mut emitted, mut late) = (it.emitted.clone(), it.late.clone());
                emitted.sort_unstable();
                late.sort_unstable();
                (it.watermark, it.idle, emitted, late)
            };
            assert_eq!(shown(found), shown(expected), "{path}, step {}", expected.step);
        }
    }
    assert_eq!(told, 126, "vectors without a restart");
}

/// How many combinations were recorded that no other vector has.
const RECOMBINED: usize = 127;

/// One rule of a profile made another.
type OtherRule = (&'static str, fn(&mut Profile));

/// Each rule of Spark's profile, and another that a vector must tell apart from it.
const RULES: [OtherRule; 14] = [
    ("effective", |it| it.effective = Effective::NextBatch),
    ("initial", |it| it.initial = EventTime::MIN),
    ("late", |it| it.late = LateRule::Event),
    ("late_bare", |it| it.late_bare = LateRule::Event),
    ("session_late: event", |it| it.session_late = SessionLate::Event),
    ("session_late: merged", |it| it.session_late = SessionLate::Merged),
    ("touching", |it| it.touching = Touching::Apart),
    ("join.late", |it| it.join.late = LateRule::Event),
    ("join.expiry.at_bound", |it| it.join.expiry.at_bound = true),
    ("join.sides", |it| it.join.sides = Sides::Own),
    ("chain", |it| it.chain = Chain::Same),
    ("follow_up", |it| it.follow_up = FollowUp::Never),
    ("null_time", |it| it.null_time = NullTime::Nowhere),
    ("restore", |it| it.restore = RestoreRules::EXACT),
];

#[test]
fn every_rule_of_sparks_profile_is_told_apart_from_another_by_a_vector() {
    let vectors = vectors("spark");
    let spark = *profile::named("spark-4").expect("a profile");
    let disagree = |vector: &&Vector, rules: Profile| match vector {
        Vector::Spark(it) => match spark::run_under(it, rules) {
            Ok(found) => spark::compare(it, &found).is_err(),
            Err(_) => false,
        },
        Vector::Flink(_) => false,
    };
    let ours = |it: &&Vector| !disagree(it, spark);
    let mut untold = Vec::new();
    for (name, change) in RULES {
        let mut other = spark;
        change(&mut other);
        if !vectors.values().filter(ours).any(|it| disagree(&it, other)) {
            untold.push(name);
        }
    }
    assert!(untold.is_empty(), "no vector disagrees without these rules: {untold:?}");
}

/// What stands in the place of a value.
fn others() -> Vec<Value> {
    let numbers = [i64::MIN, -1, 0, 1, i64::MAX].map(Value::from);
    let words = ["", "inner", "max"].map(Value::from);
    let rest = [Value::Null, Value::Bool(true), json!([]), json!({}), json!(0.5)];
    numbers.into_iter().chain(words).chain(rest).collect()
}

/// The paths of all values below one, the deepest last.
fn paths(value: &Value, here: &str, found: &mut Vec<String>) {
    found.push(here.to_owned());
    match value {
        Value::Array(items) => {
            // What the third row can do the first two can.
            for (at, item) in items.iter().enumerate().take(2) {
                paths(item, &format!("{here}/{at}"), found);
            }
        }
        Value::Object(fields) => {
            for (name, item) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                paths(item, &format!("{here}/{name}"), found);
            }
        }
        _ => {}
    }
}

/// A vector with any one value replaced is a vector that runs, or is refused with a reason.
fn check_damaged(folder: &str) {
    let mut kinds = BTreeSet::new();
    let (mut read_and_run, mut refused) = (0, 0);
    for (path, vector) in vectors(folder) {
        if !kinds.insert(vector.kind().to_owned()) {
            continue;
        }
        let file = root().join("tests/golden").join(folder).join(&path);
        let text = fs::read_to_string(file).expect("a readable vector");
        let whole: Value = serde_json::from_str(&text).expect("JSON");
        let mut places = Vec::new();
        for part in ["query", "steps"] {
            paths(&whole[part], &format!("/{part}"), &mut places);
        }
        for place in places {
            for other in others() {
                let mut damaged = whole.clone();
                *damaged.pointer_mut(&place).expect("a place of the vector") = other;
                match read(damaged.to_string().as_bytes()) {
                    Ok(vector) => {
                        judge(&vector);
                        read_and_run += 1;
                    }
                    Err(errors) => {
                        assert!(!errors.is_empty(), "{path} at {place}: refused for nothing");
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(100 < read_and_run && 100 < refused, "{read_and_run} ran, {refused} were refused");
}

#[test]
fn damaged_vectors_of_spark_run_or_are_refused() {
    check_damaged("spark");
}

#[test]
fn damaged_vectors_of_flink_run_or_are_refused() {
    check_damaged("flink");
}
