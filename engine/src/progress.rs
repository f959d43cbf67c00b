//! The progress record: what an operator of a query looks at, under the names that Spark users know.
//!
//! `numRowsDroppedByWatermark` is, as in Spark, the number of (window, key) *groups* of the step that
//! missed a row, not the number of rows (features.md C11). Rows dropped and windows that missed a
//! row are counted apart beside it. Spark shows one maximum; here every partition shows its own, and
//! the one that holds the watermark back is named.
//!
//! Invariant: computed when asked; a step that nobody asks about costs nothing here.

use crate::job::Job;
use crate::job::query::Query;
use crate::row::PartitionId;
use crate::time::EventTime;
use crate::watermark::member::MemberState;
use serde::Serialize;

/// One step, as Spark's `StreamingQueryProgress` would show it, and what that lacks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Number of the step.
    pub batch_id: u64,
    /// The clock, in milliseconds.
    pub timestamp: i64,
    /// Rows handed to the step.
    pub num_input_rows: u64,
    /// Event times of the step's rows.
    pub event_time: EventTimeStats,
    /// One entry per stateful operator.
    pub state_operators: Vec<StateOperator>,
    /// (row, window) pairs that were lost to lateness.
    pub windows_missed: u64,
    /// Rows that were counted into no window because they were late.
    pub rows_dropped: u64,
    /// Every partition.
    pub partitions: Vec<PartitionProgress>,
    /// The partition that holds the watermark back, under a minimum over partitions.
    pub held_by: Option<u32>,
}

/// Event times of one step, in milliseconds; absent where no row carried one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct EventTimeStats {
    /// Smallest.
    pub min: Option<i64>,
    /// Largest.
    pub max: Option<i64>,
    /// Mean, rounded down.
    pub avg: Option<i64>,
    /// The watermark in force for eviction in this step; absent before there is one.
    pub watermark: Option<i64>,
}

/// One stateful operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StateOperator {
    /// (window, key) groups held after the step.
    pub num_rows_total: u64,
    /// Groups that the step changed and that are still held.
    pub num_rows_updated: u64,
    /// Groups that the step removed.
    pub num_rows_removed: u64,
    /// Groups of the step that missed a row: Spark's counter.
    pub num_rows_dropped_by_watermark: u64,
    /// An estimate of the memory held.
    pub memory_used_bytes: u64,
}

/// One partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartitionProgress {
    /// Its number.
    pub partition: u32,
    /// The largest event time that it has shown.
    pub event_time_max: Option<i64>,
    /// Whether it is left out as idle.
    pub idle: bool,
    /// Whether it has declared itself finished.
    pub finished: bool,
    /// Rows taken from it.
    pub rows: u64,
}

impl Job {
    /// The last step, in full.
    pub fn progress(&self) -> Progress {
        let record = self.query.last_record();
        let finite = |it: EventTime| it.is_finite().then_some(it.0);
        let rows = i128::from(record.event_time_rows);
        let avg = (0 < rows).then(|| record.event_time_sum.div_euclid(rows) as i64);
        Progress {
            batch_id: record.step,
            timestamp: record.now.0,
            num_input_rows: record.rows_in,
            event_time: EventTimeStats {
                min: finite(record.event_time_min),
                max: finite(record.event_time_max),
                avg,
                watermark: finite(record.evict),
            },
            state_operators: self.state_operators(),
            windows_missed: record.windows_missed,
            rows_dropped: record.rows_dropped,
            partitions: self
                .members()
                .iter()
                .map(|it| PartitionProgress {
                    partition: it.partition.0,
                    event_time_max: finite(it.max),
                    idle: it.state == MemberState::Idle,
                    finished: it.state == MemberState::Finished,
                    rows: it.rows,
                })
                .collect(),
            held_by: match &self.query {
                Query::Plain(it) => it.generator.holder().map(|PartitionId(it)| it),
                Query::Flow(_) => None,
            },
        }
    }

    /// One per stage that keeps state, the last stage first as Spark reports them.
    fn state_operators(&self) -> Vec<StateOperator> {
        match &self.query {
            Query::Plain(pipeline) => pipeline
                .operator
                .iter()
                .map(|it| StateOperator {
                    num_rows_total: it.groups(),
                    num_rows_updated: it.groups_updated(pipeline.last_record().step),
                    num_rows_removed: pipeline.last_record().groups_removed,
                    num_rows_dropped_by_watermark: pipeline.groups_dropped(),
                    memory_used_bytes: it.memory_bytes(),
                })
                .collect(),
            Query::Flow(flow) => flow
                .last_stages()
                .rev()
                .map(|it| StateOperator {
                    num_rows_total: it.state_rows,
                    num_rows_updated: it.updated,
                    num_rows_removed: it.removed,
                    num_rows_dropped_by_watermark: it.groups_dropped,
                    memory_used_bytes: flow.stage_bytes(it.stage),
                })
                .collect(),
        }
    }
}
