//! The bodies of the fuzz targets, as plain functions of bytes.
//!
//! They believe that bytes are as good as a seed: the same generator reads them as a tape, and a tape
//! that ends gives zeros, so that a short input still makes a world. What is too large to judge in
//! some milliseconds is passed over: a fuzzer that waits finds nothing.
//!
//! Nothing here knows a fuzzer. The targets call these functions on bytes that nobody has seen;
//! `tests/fuzz_inputs.rs` replays them over `inputs/`.
//!
//! Invariant: a body is a function of its bytes; what is wrong is a [`Finding`], never a panic of ours.

use plimsoll_engine::job::Job;
use plimsoll_engine::output::Output;
use plimsoll_engine::plan::check::CheckedPlan;
use plimsoll_engine::row::{ItemId, PartitionId, RowBatch};
use plimsoll_engine::snapshot::envelope::{PAYLOAD_AT, seal};
use plimsoll_engine::snapshot::{RestoreRules, VERSION};
use plimsoll_engine::time::{EventTime, ProcTime};
use plimsoll_engine::watermark::member::{Adoption, Change};
use plimsoll_sim::entropy::{Entropy, stable_hash};
use plimsoll_sim::scenario::{Scenario, default_scenario};
use plimsoll_sim::system::System;
use plimsoll_sim::system::engine::Engine;
use plimsoll_sim::trace::Trace;
use plimsoll_sim::trace::parse::{parse, parse_bytes};
use plimsoll_sim::trace::write::{normalized, write};
use plimsoll_sim::verdict::{Options, judge};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Something that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What.
    pub message: String,
    /// The text of a trace that shows it, where there is one.
    pub trace: Option<String>,
}

/// Longer traces that somebody wrote are passed over.
const ITEMS_WRITTEN: usize = 300;
/// Longer worlds are passed over.
const ITEMS_DRAWN: usize = 1_000;
/// Plans under which one row belongs to more windows are passed over.
const WINDOWS_PER_ROW: i64 = 200;
/// The seed of every world that a scenario makes.
const SEED: u64 = 7;

/// The bytes are the draws of an embedded world; nothing in it may break an invariant.
///
/// # Errors
/// What broke, and the world as a trace.
pub fn simulate(bytes: &[u8]) -> Result<(), Finding> {
    let entropy = Entropy::from_bytes(bytes);
    let world = default_scenario(&entropy).world_from(&entropy);
    judged(&world.trace, bytes, Some(world.chaos_len))
}

/// The bytes are a `.trace`; what is read is written and read again as the same, and judged.
///
/// # Errors
/// What differed or broke, and the trace as it was understood.
pub fn trace(bytes: &[u8]) -> Result<(), Finding> {
    let no_file = &mut |_: &str| Err("there are no files here".to_owned());
    let Ok(read) = parse_bytes(bytes, no_file) else { return Ok(()) };
    let trace = read.trace;
    let text = write(&trace, &[]);
    let wrong = |message: String| Finding { message, trace: Some(text.clone()) };
    match parse(&text) {
        Ok(it) if it.trace == normalized(&trace) => {}
        Ok(_) => return Err(wrong("what is written is read as another trace".to_owned())),
        Err(broken) => return Err(wrong(format!("what is written cannot be read: {broken}"))),
    }
    if ITEMS_WRITTEN < trace.items.len() {
        return Ok(());
    }
    judged(&trace, bytes, None)
}

/// The bytes are a world's `.toml`; a text that is accepted makes a world in which nothing breaks.
///
/// # Errors
/// What broke, and the world as a trace.
pub fn scenario(bytes: &[u8]) -> Result<(), Finding> {
    let text = String::from_utf8_lossy(bytes);
    let Ok(scenario) = Scenario::parse(&text) else { return Ok(()) };
    // A size of five digits makes a world for a benchmark.
    let numbers = text.replace('_', "");
    if numbers.split(|it: char| !it.is_ascii_digit()).any(|it| 4 < it.len()) {
        return Ok(());
    }
    let world = scenario.world(SEED);
    if ITEMS_DRAWN < world.trace.items.len() {
        return Ok(());
    }
    judged(&world.trace, bytes, Some(world.chaos_len))
}

/// The bytes are a recorded vector: it is read, or all that is wrong with it is said.
///
/// # Errors
/// A refusal without a reason.
pub fn vector(bytes: &[u8]) -> Result<(), Finding> {
    match plimsoll_sim::vector::read(bytes) {
        Err(errors) if errors.is_empty() => {
            let message = "a vector is refused and nothing is wrong with it".to_owned();
            Err(Finding { message, trace: None })
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The bytes are a snapshot: as they are, as the payload of a good envelope, and as what follows the
/// plan in one. Whatever is restored goes on, and is saved and restored again as the same.
///
/// # Errors
/// A panic, or a state that was accepted and cannot be saved and read again.
pub fn snapshot(bytes: &[u8]) -> Result<(), Finding> {
    for text in PLANS {
        let plan = parse(text).map_err(|it| it.to_string()).and_then(|it| {
            CheckedPlan::new(it.trace.plan).map_err(|it| format!("{it:?}")).map(|it| it.0)
        });
        let plan = plan.map_err(|message| Finding { message, trace: None })?;
        let after_plan = [&plan_bytes(&plan), bytes].concat();
        for saved in [bytes.to_vec(), seal(VERSION, bytes), seal(VERSION, &after_plan)] {
            let went_on = catch_unwind(AssertUnwindSafe(|| goes_on(&plan, &saved)));
            let message = match went_on {
                Ok(Ok(())) => continue,
                Ok(Err(it)) => it,
                Err(panic) => format!(
                    "a panic: {}",
                    panic.downcast_ref::<String>().map_or("without its own words", String::as_str)
                ),
            };
            return Err(Finding { message: format!("{text}: {message}"), trace: None });
        }
    }
    Ok(())
}

/// The plans under which snapshots are restored.
pub const PLANS: [&str; 4] = [
    "plan window=tumbling(10min) delay=2min watermark=global effective=row trigger=row",
    "plan window=sliding(10min,5min) delay=2min watermark=partition idle=1min \
     effective=next_batch late=event agg=count,sum(v),min(v),avg(v)",
    "plan window=tumbling(10min) delay=2min watermark=partition effective=batch_after_next \
     output=update sink=keyed",
    "plan delay=2min watermark=partition idle=1min effective=row trigger=interval(30s)",
];

/// A trace is judged as the command judges a seed: twins for one in sixteen, liveness for one in four.
fn judged(trace: &Trace, bytes: &[u8], chaos_len: Option<usize>) -> Result<(), Finding> {
    let Ok((plan, _)) = CheckedPlan::new(trace.plan.clone()) else { return Ok(()) };
    let windows = plan.operator.as_ref().map(|it| it.window.size.0 / it.window.slide.0.max(1));
    if windows.is_some_and(|it| WINDOWS_PER_ROW < it) {
        return Ok(());
    }
    let make = |hash_seed| -> Box<dyn System> {
        Box::new(Engine::with_plan(plan.clone(), trace.clock, hash_seed))
    };
    let draw = stable_hash(bytes);
    let options = Options {
        hash_seed: 0,
        draw,
        twins: draw.is_multiple_of(16),
        liveness: chaos_len.filter(|_| draw.is_multiple_of(4)),
    };
    let Some(broken) = judge(trace, &make, &options).violation else { return Ok(()) };
    let message = format!("broke {} at item {}: {}", broken.name, broken.at.0, broken.evidence);
    let head = ["found by a fuzzer".to_owned(), message.replace('\n', " ")];
    Err(Finding { message, trace: Some(write(trace, &head)) })
}

/// How a payload of this plan begins: what follows the plan is the clock, so that two jobs which
/// differ in their clock have just the plan in common.
fn plan_bytes(plan: &CheckedPlan) -> Vec<u8> {
    let payload = |clock| {
        let bytes = Job::new(plan.clone(), ProcTime(clock), 0).snapshot();
        bytes[PAYLOAD_AT as usize..].to_vec()
    };
    let (one, two) = (payload(0), payload(1));
    one.iter().zip(&two).take_while(|it| it.0 == it.1).map(|it| *it.0).collect()
}

/// A job that is restored takes rows, heartbeats, changes, ticks and the end.
fn goes_on(plan: &CheckedPlan, saved: &[u8]) -> Result<(), String> {
    let restore = |bytes: &[u8]| Job::restore(plan.clone(), bytes, 0, RestoreRules::EXACT);
    let Ok(mut job) = restore(saved) else { return Ok(()) };
    let again = restore(&job.snapshot()).map_err(|it| format!("saved, but not restored: {it}"))?;
    if again.snapshot() != job.snapshot() {
        return Err("saved and restored, and now it is another".to_owned());
    }
    let mut out = Output::new(plan);
    let mut id = ItemId(1 << 40);
    let mut next = || {
        id.0 += 1;
        id
    };
    let columns = plan.schema.columns.len();
    for round in 0..3 {
        let now = job.now();
        for (partition, time) in [(0, 36_000_000), (1, 37_000_000), (2, 0), (0, -1)] {
            let time = time + round * 1_200_000;
            let mut rows = RowBatch::new(columns);
            let cells: Vec<_> = (0..columns).map(|it| (it != 1).then_some(time)).collect();
            rows.push(next(), PartitionId(partition), now, &cells);
            job.arrive(&rows, &mut out);
            job.heartbeat(next(), PartitionId(1), EventTime(time), now, &mut out);
        }
        job.change(next(), Change::Add(PartitionId(5), Adoption::WithoutWatermark), now, &mut out);
        job.change(next(), Change::Remove(PartitionId(2)), now, &mut out);
        job.batch(next(), &mut out);
        job.tick(next(), ProcTime(now.0.saturating_add(61_000)), &mut out);
        out.clear();
    }
    job.end(next(), &mut out);
    Ok(())
}
