//! The whole engine, as the command drives it: batches of rows go into a job, firings and records
//! come out.
//!
//! Invariant: what comes out is read to the last figure, and its memory given back.

use crate::floor::limit::Digest;
use crate::floor::query;
use plimsoll_engine::job::Job;
use plimsoll_engine::output::{Fate, Output};
use plimsoll_engine::plan::check::CheckedPlan;
use plimsoll_engine::row::{ItemId, RowBatch};
use plimsoll_engine::time::ProcTime;

/// Runs a plan. With `ticks` the clock follows the arrivals, batch by batch, so that idleness counts.
pub(crate) fn run(plan: &CheckedPlan, batches: &[RowBatch], ticks: bool) -> Digest {
    let start = batches[0].arrivals.first().copied().unwrap_or(ProcTime(0));
    let mut job = Job::new(plan.clone(), start, 0x5EED);
    let mut output = Output::new(plan);
    let mut digest = Digest::default();
    for batch in batches {
        let last = batch.ids.last().copied().unwrap_or(ItemId(0));
        job.run_batch(batch, last, &mut output);
        if ticks && let Some(now) = batch.arrivals.last() {
            job.tick(last, *now, &mut output);
        }
        take(&mut output, &mut digest);
    }
    job.end(ItemId(u64::MAX), &mut output);
    take(&mut output, &mut digest);
    digest
}

fn take(output: &mut Output, digest: &mut Digest) {
    for firing in &output.firings {
        query::take(firing.window.start, &firing.groups, digest);
    }
    let late = |it: &Fate| matches!(it, Fate::Late(it) if it.windows_kept == 0);
    digest.late += output.records.iter().filter(|it| late(&it.fate)).count() as u64;
    output.clear();
}
