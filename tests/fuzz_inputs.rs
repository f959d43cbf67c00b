//! The bodies of the fuzz targets, on committed inputs.
//!
//! What a fuzzer compiles nobody else does, and an input that once found something is worth keeping:
//! so the bodies are plain functions and their inputs files. A crash that is fixed is copied from
//! `fuzz/artifacts/TARGET/` to `fuzz/inputs/TARGET/`, under a name that says what it was; its `.trace`
//! belongs to `scenarios/regressions/`.
//!
//! Invariant: every target has inputs, and no input of any target finds anything.

#[expect(unreachable_pub, reason = "the fuzz targets are another crate and call these functions")]
#[path = "../fuzz/bodies.rs"]
pub(crate) mod bodies;

use crate::tidy::root;
use bodies::Finding;
use std::fs;

/// Names and bytes of the inputs of a target, in order.
fn inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    let entries =
        fs::read_dir(root().join("fuzz/inputs").join(target)).expect("a folder of inputs");
    let paths = entries.map(|it| it.expect("a readable folder").path());
    let read = |path: std::path::PathBuf| {
        (path.display().to_string(), fs::read(&path).expect("a readable file"))
    };
    let mut inputs: Vec<_> = paths.map(read).collect();
    inputs.sort();
    inputs
}

fn check(target: &str, body: fn(&[u8]) -> Result<(), Finding>) {
    let inputs = inputs(target);
    assert!(inputs.iter().any(|it| it.1.is_empty()), "{target}: the empty input is missing");
    assert!(3 < inputs.len(), "{target}: a handful of inputs");
    let found = inputs.iter().filter_map(|(name, bytes)| {
        let Finding { message, trace } = body(bytes).err()?;
        Some(format!("{name}: {message}\n{}", trace.unwrap_or_default()))
    });
    let found: Vec<String> = found.collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn worlds_drawn_from_bytes_break_nothing() {
    check("simulate", bodies::simulate);
}

#[test]
fn traces_of_any_bytes_are_refused_or_hold() {
    check("trace", bodies::trace);
}

#[test]
fn scenarios_of_any_bytes_are_refused_or_hold() {
    check("scenario", bodies::scenario);
}

#[test]
fn snapshots_of_any_bytes_are_refused_or_go_on() {
    check("snapshot", bodies::snapshot);
}

#[test]
fn vectors_of_any_bytes_are_read_or_refused_with_a_reason() {
    check("vector", bodies::vector);
}

#[test]
fn every_target_has_a_file_and_a_line_in_the_manifest_and_inputs() {
    let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).expect("a manifest");
    let names = |folder: &str| {
        let entries = fs::read_dir(root().join(folder)).expect("a folder of the fuzz targets");
        let name = |it: fs::DirEntry| it.path().file_stem().map(|it| it.display().to_string());
        let mut names: Vec<String> =
            entries.filter_map(|it| name(it.expect("a readable folder"))).collect();
        names.sort();
        names
    };
    let targets = names("fuzz/fuzz_targets");
    assert_eq!(targets, names("fuzz/inputs"));
    for target in &targets {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{target}.rs\"")), "{target}");
    }
    assert_eq!(targets, ["scenario", "simulate", "snapshot", "trace", "vector"]);
}
