//! Every `.trace` of the project: what it says comes out, and nothing is broken on the way.
//!
//! A story carries its golden lines, written by hand and read by people; a regression carries what once
//! broke. Both are found by reading their folders, so that a file cannot be forgotten.
//!
//! Invariant: a trace under `scenarios/` gives its golden lines and breaks no invariant, twins and
//! liveness included.

use crate::tidy::root;
use plimsoll_engine::plan::check::CheckedPlan;
use plimsoll_sim::golden::{self, Scribe};
use plimsoll_sim::run::Run;
use plimsoll_sim::system::System;
use plimsoll_sim::system::engine::Engine;
use plimsoll_sim::trace::Trace;
use plimsoll_sim::trace::parse::{Parsed, parse};
use plimsoll_sim::verdict::{Options, judge};
use std::fs;

/// Names and contents of the traces in a folder, in order.
fn traces(folder: &str) -> Vec<(String, Parsed)> {
    let entries = fs::read_dir(root().join("scenarios").join(folder)).expect("a folder of traces");
    let mut paths: Vec<_> = entries.map(|it| it.expect("a readable folder").path()).collect();
    paths.retain(|it| it.extension().is_some_and(|it| it == "trace"));
    paths.sort();
    let read = |path: std::path::PathBuf| {
        let name = format!("{folder}/{}", path.file_name().unwrap_or_default().display());
        let text = fs::read_to_string(&path).expect("a readable trace");
        let parsed = parse(&text).unwrap_or_else(|it| panic!("{name}: {it}"));
        (name, parsed)
    };
    paths.into_iter().map(read).collect()
}

fn engine(trace: &Trace, hash_seed: u64) -> Engine {
    let (plan, _) = CheckedPlan::new(trace.plan.clone()).expect("a plan without refusals");
    Engine::with_plan(plan, trace.clock, hash_seed)
}

/// What comes out of each item.
fn rendered(trace: &Trace) -> Vec<Vec<String>> {
    let mut engine = engine(trace, 0);
    let mut run = Run::new(trace, &mut engine, false);
    let mut scribe = Scribe::new(trace);
    let mut lines = Vec::new();
    while let Some(seen) = run.step() {
        lines.push(match seen {
            Ok(seen) => scribe.observe(&seen),
            Err(broken) => vec![format!("broken {}: {}", broken.name, broken.evidence)],
        });
    }
    lines
}

/// Everything that is wrong with one trace.
fn wrongs(name: &str, parsed: &Parsed) -> Vec<String> {
    let trace = &parsed.trace;
    let differing = golden::check(parsed, &rendered(trace));
    let mut wrongs: Vec<String> = differing.iter().map(|it| format!("{name}: {it}")).collect();
    let make = |hash_seed| -> Box<dyn System> { Box::new(engine(trace, hash_seed)) };
    let liveness = Some(trace.items.len());
    let options = Options { hash_seed: 1, draw: 5, twins: true, liveness };
    if let Some(broken) = judge(trace, &make, &options).violation {
        let at = broken.at.0;
        wrongs.push(format!("{name}: {} at item {at}: {}", broken.name, broken.evidence));
    }
    wrongs
}

fn check(stories: &[(String, Parsed)]) {
    let wrongs: Vec<String> = stories.iter().flat_map(|(name, it)| wrongs(name, it)).collect();
    assert!(wrongs.is_empty(), "{}", wrongs.join("\n"));
}

#[test]
fn every_story_comes_out_as_written_and_breaks_nothing() {
    let stories = traces("semantics");
    assert!(50 < stories.len(), "{} stories: some are lost", stories.len());
    let mute: Vec<&String> =
        stories.iter().filter(|it| it.1.golden.is_empty()).map(|it| &it.0).collect();
    assert!(mute.is_empty(), "a story without golden lines says nothing: {mute:?}");
    check(&stories);
}

#[test]
fn what_once_broke_holds() {
    let regressions = traces("regressions");
    assert!(!regressions.is_empty(), "the regressions are lost");
    check(&regressions);
}

#[test]
fn a_story_with_a_wrong_line_does_not_pass() {
    let (name, mut story) = traces("semantics").swap_remove(0);
    let line = story.golden.first_mut().expect("a golden line");
    line.text.push('0');
    assert_eq!(wrongs(&name, &story).len(), 1);
}
