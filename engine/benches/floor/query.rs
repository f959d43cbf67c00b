//! The queries as plans, their rows as the engine takes them, and what came out of them.
//!
//! Invariant: one maximum over all partitions, moved by every row, unless a plan says otherwise.

use crate::floor::limit::Digest;
use crate::floor::workload::Workload;
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
const BATCH: usize = 2048;

/// Q1 or Q2 as a plan.
pub(crate) fn plan(size: Span, slide: Span, late: LateRule) -> Plan {
    let column = |name: &str, kind| ColumnSpec { name: name.to_owned(), kind };
    Plan {
        flow: None,
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
