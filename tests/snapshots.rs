//! Snapshots of every version load for ever.
//!
//! `data/snapshot-v1.bin` and `data/snapshot-v2.bin` are what [`saved`] made of [`STORY`] when those were
//! the newest, `data/snapshot-v2-flow.bin` is what version 2 made of [`FLOW`]. `data/snapshot-v3.bin` and
//! `data/snapshot-v3-flow.bin` are what it makes of both now. While version 3 is the newest, the stories
//! must give exactly these bytes: a change of the format without a new version fails here, and what
//! today's build gives lies in the target folder, beside its message. For version 4 the stories and
//! their files stay, without that test.
//!
//! Invariant: a committed snapshot loads and goes on; cut or changed anywhere, it is a typed error.

use crate::fuzz_inputs::bodies;
use crate::tidy::root;
use plimsoll_engine::plan::check::CheckedPlan;
use plimsoll_engine::snapshot::{RestoreRules, SnapshotError, VERSION};
use plimsoll_sim::golden::Scribe;
use plimsoll_sim::run::Run;
use plimsoll_sim::system::System as _;
use plimsoll_sim::system::engine::Engine;
use plimsoll_sim::trace::Trace;
use plimsoll_sim::trace::parse::parse;
use std::fs;
use std::path::Path;

/// Two partitions of which one fell silent, open windows with every kind of figure, a null key.
const STORY: &str = "\
plan window=sliding(10min,5min) delay=2min watermark=partition idle=1min \
     effective=next_batch late=event agg=count,sum(v),min(v),avg(v)
row p0 10:08:30 k=a v=5
row p1 10:03:55 k=- v=-1
row p0 10:09:00 k=a v=7
batch
tick +61s
row p0 10:13:00 k=b v=2
batch
row p0 10:01:00 k=a v=1
row p0 10:14:00 k=a v=9223372036854775807
batch
";

/// What comes after the snapshot.
const GOES_ON: &str = "\
row p0 10:22:30 k=a v=1
batch
row p1 10:16:00 k=b v=3
batch
row p0 10:40:00 k=b v=1
row p1 10:40:00 k=c v=1
batch
batch
end
";

/// Two inputs, a join that owes a null row, and windows over its pairs.
const FLOW: &str = "\
plan inputs=left(1min),right(2min) effective=next_batch hindsight=10min \
     stages=join(left,from=-1min,to=5min)|window(tumbling(5min),time=l_time,agg=count+sum(r_v))
row left/p0 10:00:00 k=a v=5
row right/p0 10:01:00 k=a v=7
row left/p0 10:02:00 k=b v=1
batch
row left/p1 10:12:00 k=c v=1
row right/p0 10:12:00 k=a v=1
batch
";

/// What comes after it.
const FLOW_GOES_ON: &str = "\
row right/p0 10:13:00 k=c v=4
batch
row left/p0 10:30:00 k=a v=1
row right/p0 10:30:00 k=a v=1
batch
batch
end
";

fn trace(text: &str) -> Trace {
    parse(text).unwrap_or_else(|it| panic!("{it}")).trace
}

/// The engine after the story.
fn saved(story: &str) -> Vec<u8> {
    let trace = trace(story);
    let mut engine = Engine::new(&trace, 1).expect("a plan without refusals");
    let mut run = Run::new(&trace, &mut engine, false);
    while let Some(seen) = run.step() {
        seen.expect("nothing breaks");
    }
    engine.snapshot()
}

/// What comes out after the story, from an engine that did it or from one that was restored.
fn goes_on(engine: &mut Engine, story: &str, then: &str) -> Vec<Vec<String>> {
    let all = trace(&format!("{story}{then}"));
    let mut rest = all.clone();
    rest.items.drain(..trace(story).items.len());
    rest.clock = engine.job().now();
    let mut scribe = Scribe::new(&rest);
    let mut run = Run::new(&rest, engine, false);
    let mut lines = Vec::new();
    while let Some(seen) = run.step() {
        lines.push(scribe.observe(&seen.expect("nothing breaks")));
    }
    lines
}

fn committed(name: &str) -> Vec<u8> {
    fs::read(root().join("tests/data").join(name)).expect("the committed snapshot")
}

/// Every committed snapshot, with what it was made of and what comes after.
const COMMITTED: [(&str, &str, &str); 5] = [
    ("snapshot-v1.bin", STORY, GOES_ON),
    ("snapshot-v2.bin", STORY, GOES_ON),
    ("snapshot-v2-flow.bin", FLOW, FLOW_GOES_ON),
    ("snapshot-v3.bin", STORY, GOES_ON),
    ("snapshot-v3-flow.bin", FLOW, FLOW_GOES_ON),
];

fn restore(story: &str, bytes: &[u8]) -> Result<(), SnapshotError> {
    let (plan, _) = CheckedPlan::new(trace(story).plan).expect("a plan without refusals");
    plimsoll_engine::job::Job::restore(plan, bytes, 3, RestoreRules::EXACT).map(|_| ())
}

#[test]
fn version_3_is_still_written_as_it_was() {
    assert_eq!(VERSION, 3, "a new version: give it files of its own, and this test goes");
    for (name, story, _) in &COMMITTED[3..] {
        let now = saved(story);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::write(&path, &now).expect("a file can be written");
        let file = fs::read(root().join("tests/data").join(name)).unwrap_or_default();
        assert!(file == now, "the format has changed without its version; see {}", path.display());
    }
}

#[test]
fn every_version_loads_and_goes_on_as_if_nothing_had_happened() {
    for (name, text, then) in COMMITTED {
        let story = trace(text);
        let mut restored = Engine::new(&story, 9).expect("a plan without refusals");
        restored.restore(Some(&committed(name))).expect("an old snapshot loads");
        assert_eq!(restored.snapshot(), saved(text), "{name} is written in the newest version");
        let found = goes_on(&mut restored, text, then);

        let mut engine = Engine::new(&story, 1).expect("a plan without refusals");
        let mut run = Run::new(&story, &mut engine, false);
        while let Some(seen) = run.step() {
            seen.expect("nothing breaks");
        }
        assert_eq!(found, goes_on(&mut engine, text, then), "{name}");
        let figures = found.iter().flatten().filter(|it| it.starts_with("emit")).count();
        assert!(2 <= figures, "{name}: without open state it shows little: {found:?}");
    }
}

#[test]
fn cut_at_any_length_it_is_an_error_of_its_length() {
    for (name, story, _) in COMMITTED {
        let bytes = committed(name);
        for length in 0..bytes.len() {
            match restore(story, &bytes[..length]) {
                Err(SnapshotError::Length { found, .. }) => assert_eq!(found, length as u64),
                other => panic!("{name} cut at {length}: {other:?}"),
            }
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(matches!(restore(story, &longer), Err(SnapshotError::Length { .. })));
    }
}

#[test]
fn with_any_bit_turned_it_is_an_error_that_names_a_place() {
    for (name, story, _) in COMMITTED {
        let bytes = committed(name);
        for (at, bit) in (0..bytes.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut bad = bytes.clone();
            bad[at] ^= 1 << bit;
            let error = restore(story, &bad).expect_err("a byte was changed");
            let told = match (at, &error) {
                (0..8, SnapshotError::Magic { offset }) => *offset == at as u64,
                (8..12, SnapshotError::Version { .. }) => true,
                // One bit makes 3 of 1; the checksum is over the version too.
                (8..12, SnapshotError::Checksum { .. }) => true,
                (12..20, SnapshotError::Length { .. }) => true,
                (20.., SnapshotError::Checksum { .. }) => true,
                _ => false,
            };
            assert!(told, "{name}, byte {at}, bit {bit}: {error}");
        }
    }
}

#[test]
fn under_another_plan_it_says_which_part_differs() {
    let other = STORY.replace("delay=2min", "delay=3min");
    let mut engine = Engine::new(&trace(&other), 1).expect("a plan without refusals");
    let error = engine.restore(Some(&committed("snapshot-v1.bin"))).expect_err("another plan");
    assert!(error.contains("the watermark differs"), "{error}");
}

/// The fuzzer mutates this snapshot, and restores it under the plan that wrote it.
#[test]
fn the_fuzzer_has_it_and_its_plan() {
    let input = fs::read(root().join("fuzz/inputs/snapshot/version_1")).expect("an input");
    assert_eq!(input, committed("snapshot-v1.bin"));
    assert_eq!(trace(bodies::PLANS[1]).plan, trace(STORY).plan);
}
