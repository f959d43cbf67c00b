//! Sessions, joins and dedup as flows: their plans, and a run of the whole engine.
//!
//! Invariant: the watermark is moved by every row, as in the floor's loops.

use crate::floor::limit::Digest;
use crate::floor::query;
use crate::floor::workload::Workload;
use plimsoll_engine::job::Job;
use plimsoll_engine::output::{Fate, Output};
use plimsoll_engine::plan::check::CheckedPlan;
use plimsoll_engine::plan::flow::{
    DedupExpiry, DedupPlan, Edge, Expiry, Flow, Gap, InputPlan, JoinKind, JoinPlan, Mark, Range,
    SessionLate, SessionPlan, Sides, StagePlan, Touching,
};
use plimsoll_engine::plan::{Aggregate, LatePolicy, LateRule, Plan};
use plimsoll_engine::row::{ColumnIx, ItemId, PartitionId, RowBatch};
use plimsoll_engine::time::{ProcTime, Span};

const TIME: ColumnIx = ColumnIx(0);
const KEY: ColumnIx = ColumnIx(1);
const VALUE: ColumnIx = ColumnIx(2);

fn flow(inputs: &[(&str, Span)], stage: StagePlan) -> Plan {
    let mark = |delay: &Span| Mark { column: TIME, delay: *delay };
    let input = |(name, delay): &(&str, Span)| InputPlan::of((*name).to_owned(), vec![mark(delay)]);
    let minutes = Span::minutes(5);
    let plain = query::plan(minutes, minutes, LateRule::Event);
    let flow = Flow::of(inputs.iter().map(input).collect(), vec![stage]);
    Plan { operator: None, flow: Some(flow), ..plain }
}

/// Q3.
pub(crate) fn sessions() -> Plan {
    flow(
        &[("in", Span::minutes(10))],
        StagePlan::Session(SessionPlan {
            time: TIME,
            gap: Gap::Fixed(Span::minutes(5)),
            keys: vec![KEY],
            aggregates: vec![Aggregate::Count, Aggregate::Sum(VALUE)],
            late: SessionLate::Event,
            late_policy: LatePolicy::Drop,
            touching: Touching::Apart,
            max_span: None,
            lateness: Span::ZERO,
        }),
    )
}

/// Q4.
pub(crate) fn join() -> Plan {
    let edge = |at| Some(Edge { at, open: false });
    flow(
        &[("impressions", Span::minutes(10)), ("clicks", Span::minutes(20))],
        StagePlan::Join(JoinPlan {
            kind: JoinKind::Inner,
            on: vec![(KEY, KEY)],
            time: [TIME, TIME],
            ranges: vec![Range { lower: edge(Span::ZERO), upper: edge(Span::hours(1)) }],
            window: None,
            only_if: [None, None],
            late: LateRule::Event,
            grace: Span::ZERO,
            expiry: Expiry::EXACT,
            sides: Sides::Combined,
            late_policy: LatePolicy::Drop,
        }),
    )
}

/// Q5.
pub(crate) fn dedup() -> Plan {
    flow(
        &[("in", Span::minutes(10))],
        StagePlan::Dedup(DedupPlan {
            columns: vec![KEY, TIME],
            time: Some(TIME),
            late: LateRule::Event,
            expiry: DedupExpiry::WithItsTime,
            late_policy: LatePolicy::Drop,
        }),
    )
}

/// The rows as the engine takes them; clicks come from the second input.
pub(crate) fn batches(rows: &Workload) -> Vec<RowBatch> {
    let mut batches = query::batches(rows);
    let mut kinds = rows.kinds.iter();
    for partition in batches.iter_mut().flat_map(|it| &mut it.partitions) {
        let kind = kinds.next().copied().unwrap_or(0);
        *partition = PartitionId::of(u32::from(kind), 0, partition.number());
    }
    batches
}

/// Runs a plan, reads its emissions by `take`, and says how many state rows there were at most after
/// a batch.
pub(crate) fn run(
    plan: &CheckedPlan,
    batches: &[RowBatch],
    take: fn(&RowBatch, usize) -> (i64, u32, u64, i64),
) -> (Digest, u64) {
    let start = batches[0].arrivals.first().copied().unwrap_or(ProcTime(0));
    let mut job = Job::new(plan.clone(), start, 0x5EED);
    let mut output = Output::new(plan);
    let mut digest = Digest::default();
    let mut peak = 0;
    let mut read = |output: &mut Output| {
        let rows = &output.emissions.rows;
        for row in 0..rows.len() {
            let (start, key, count, sum) = take(rows, row);
            digest.add(start, key, count, sum);
        }
        let late = |it: &Fate| matches!(it, Fate::Late(_));
        digest.late += output.records.iter().filter(|it| late(&it.fate)).count() as u64;
        output.clear();
    };
    for batch in batches {
        let last = batch.ids.last().copied().unwrap_or(ItemId(0));
        job.run_batch(batch, last, &mut output);
        peak = peak.max(job.groups());
        read(&mut output);
    }
    job.end(ItemId(u64::MAX), &mut output);
    read(&mut output);
    (digest, peak)
}

fn cell(rows: &RowBatch, column: usize, row: usize) -> i64 {
    rows.columns[column].get(row).unwrap_or(-1)
}

/// Start, key, count and sum of a session.
pub(crate) fn session_of(rows: &RowBatch, row: usize) -> (i64, u32, u64, i64) {
    let of = |column| cell(rows, column, row);
    (of(0), of(3) as u32, of(4) as u64, of(5))
}

/// A pair: the impression, and how much later the click came.
pub(crate) fn pair_of(rows: &RowBatch, row: usize) -> (i64, u32, u64, i64) {
    let of = |column| cell(rows, column, row);
    (of(0), of(1) as u32, 1, of(3) - of(0))
}

/// A row that was let through.
pub(crate) fn first_of(rows: &RowBatch, row: usize) -> (i64, u32, u64, i64) {
    let of = |column| cell(rows, column, row);
    (of(0), of(1) as u32, 1, 1)
}
