//! Every recorded vector of a real engine: our profile of it does what the engine did.
//!
//! The vectors stand in `golden/`, with their origin. A vector that does not agree is a shortfall; those
//! that are known are listed here with the reason, so that none goes unnoticed and none stays listed
//! once it agrees.
//!
//! Invariant: every file under `golden/` is a vector that agrees, or is listed.

use crate::tidy::root;
use plimsoll_sim::vector::{Outcome, Vector, judge, read};
use std::collections::BTreeMap;
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
fn the_vectors_of_flink_agree() {
    check("flink", 147);
}
