//! The window operator alone, with one maximum moved by every row: each row is judged by the
//! largest time before it minus the delay, and windows close at the very row that moves the watermark.
//!
//! Invariant: the operator gets its bounds and ranges as the pipeline gives them.

use crate::floor::limit::Digest;
use crate::floor::workload::Workload;
use plimsoll_engine::operator::LateBound;
use plimsoll_engine::operator::aggregate::{Closing, WindowAggregate};
use plimsoll_engine::plan::{
    Aggregate, Effective, GeneratorPlan, LatePolicy, LateRule, OutputMode, Plan, Sink, Trigger,
    WatermarkPlan, WindowPlan, WindowSpec,
};
use plimsoll_engine::row::{
    Column, ColumnIx, ColumnKind, ColumnSpec, ItemId, PartitionId, RowBatch, Schema,
};
use plimsoll_engine::state::layout::{Groups, Value};
use plimsoll_engine::time::{EventTime, ProcTime, Span};

/// Rows per batch.
pub(crate) const BATCH: usize = 2048;

/// Q1 or Q2 as a plan.
pub(crate) fn plan(size: Span, slide: Span, late: LateRule) -> Plan {
    let column = |name: &str, kind| ColumnSpec { name: name.to_owned(), kind };
    Plan {
        schema: Schema {
            columns: vec![
                column("t", ColumnKind::Time),
                column("k", ColumnKind::Integer),
                column("v", ColumnKind::Integer),
            ],
        },
        watermark: Some(WatermarkPlan {
            column: ColumnIx(0),
            delay: Span::minutes(10),
            generator: GeneratorPlan::GlobalMax,
            effective: Effective::Row,
            fallback: None,
            guard: None,
            initial: EventTime::MIN,
        }),
        lineage: vec![],
        operator: Some(WindowPlan {
            time: "t".to_owned(),
            window: WindowSpec { size, slide, offset: Span::ZERO },
            keys: vec![ColumnIx(1)],
            aggregates: vec![Aggregate::Count, Aggregate::Sum(ColumnIx(2))],
            late,
            late_policy: LatePolicy::Drop,
        }),
        output: OutputMode::Append,
        sink: Sink::Append,
        trigger: Trigger::Batch,
    }
}

/// The rows as the engine takes them.
pub(crate) fn batches(rows: &Workload) -> Vec<RowBatch> {
    let column = |values: Vec<i64>| Column::new(values);
    (0..rows.len())
        .step_by(BATCH)
        .map(|from| {
            let range = from..(from + BATCH).min(rows.len());
            let times = rows.times[range.clone()].to_vec();
            let keys = rows.keys[range.clone()].iter().map(|it| i64::from(*it)).collect();
            let values = rows.values[range.clone()].iter().map(|it| i64::from(*it)).collect();
            let partitions = &rows.partitions[range.clone()];
            RowBatch {
                ids: range.clone().map(|it| ItemId(it as u64)).collect(),
                partitions: partitions.iter().map(|it| PartitionId(u32::from(*it))).collect(),
                arrivals: rows.arrivals[range].iter().map(|it| ProcTime(*it)).collect(),
                columns: vec![column(times), column(keys), column(values)],
            }
        })
        .collect()
}

/// Takes what was written.
pub(crate) fn take(start: EventTime, groups: &Groups, out: &mut Digest) {
    for group in 0..groups.len() {
        let key = groups.key(group, 0).unwrap_or(-1);
        if let (Value::Int(count), Value::Int(sum)) =
            (groups.value(group, 0), groups.value(group, 1))
        {
            out.add(start.0, key as u32, count as u64, sum);
        }
    }
}

/// Runs a plan.
pub(crate) fn run(plan: &Plan, batches: &[RowBatch]) -> Digest {
    let mut operator = WindowAggregate::new(plan, 0x5EED);
    let mut out = Digest::default();
    let (mut spare, mut closings, mut exceptions) = (Vec::new(), Vec::new(), Vec::new());
    let delay = Span::minutes(10);
    let mut max = EventTime::MIN;
    let mut watermark = EventTime::MIN;
    let mut next_end = EventTime(i64::MIN + 1);
    let mut bounds = Vec::new();
    let mut evict = |operator: &mut WindowAggregate, at, out: &mut Digest| {
        operator.evict(at, &mut spare, &mut closings);
        for Closing { window, groups } in closings.drain(..) {
            take(window.start, &groups, out);
            spare.push(groups);
        }
    };
    for (step, batch) in (0..).zip(batches) {
        let mut from = 0;
        bounds.clear();
        bounds.resize(batch.len(), EventTime::MIN);
        let times = &batch.columns[0].values[..batch.len()];
        for (row, time) in times.iter().enumerate() {
            bounds[row] = watermark;
            let time = EventTime(*time);
            if max < time {
                max = time;
                watermark = time - delay;
                if next_end <= watermark {
                    let late = LateBound::PerRow(&bounds);
                    operator.apply(batch, from..row + 1, &[], late, step, &mut exceptions);
                    evict(&mut operator, watermark, &mut out);
                    next_end = operator.next_end(watermark);
                    from = row + 1;
                }
            }
        }
        let late = LateBound::PerRow(&bounds);
        operator.apply(batch, from..batch.len(), &[], late, step, &mut exceptions);
        out.late += exceptions.drain(..).filter(|it| it.kept == 0).count() as u64;
    }
    evict(&mut operator, EventTime::MAX, &mut out);
    out
}
