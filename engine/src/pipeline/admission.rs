//! Admission: what the generator makes of rows before the operator sees them.
//!
//! Each row is counted for its partition, then checked in this order: partition finished, time null,
//! time out of range, from the future. What passes moves its partition's maximum, late or not. Where
//! the watermark takes effect per row, the bound of every row is noted as the walk goes on, and each
//! raise with the row that caused it, so that a late row can name who closed its window.
//!
//! Invariant: the bound of a row is the watermark before that row.

use crate::late::InForce;
use crate::output::{Fate, Output, RowRecord, StepRecord};
use crate::plan::{Plan, check};
use crate::row::{ColumnKind, RowBatch};
use crate::time::EventTime;
use crate::watermark::generator::Generator;
use crate::watermark::guard::GuardVerdict;
use crate::watermark::member::Member;
use std::ops::Range;

/// The walk over one run of rows, with its memory.
#[derive(Debug)]
pub struct Admission {
    /// The column that windows are cut on.
    time_column: Option<usize>,
    /// The column that the watermark is computed from.
    watermark_column: Option<usize>,
    bounds: Vec<EventTime>,
    /// Empty while no row of the batch is passed over.
    skip: Vec<bool>,
    raises: Vec<(usize, InForce)>,
    /// The partitions as they were before the run.
    before: Vec<Member>,
}

impl Admission {
    /// For a plan.
    pub fn new(plan: &Plan) -> Self {
        let first_time = || plan.schema.columns.iter().position(|it| it.kind == ColumnKind::Time);
        let watermark_column = plan.watermark.as_ref().map(|it| it.column.0);
        Self {
            time_column: check::window_column(plan)
                .map(|it| it.0)
                .or(watermark_column)
                .or_else(first_time),
            watermark_column,
            bounds: Vec::new(),
            skip: Vec::new(),
            raises: Vec::new(),
            before: Vec::new(),
        }
    }

    fn begin(&mut self, generator: &Generator, rows: &RowBatch) {
        self.skip.clear();
        self.raises.clear();
        self.bounds.resize(rows.len(), EventTime::MIN);
        self.before.clear();
        self.before.extend_from_slice(generator.members());
    }

    /// Walks over rows that are all judged by one bound.
    pub fn whole(
        &mut self,
        generator: &mut Generator,
        rows: &RowBatch,
        range: Range<usize>,
        record: &mut StepRecord,
        out: &mut Output,
    ) {
        self.begin(generator, rows);
        for row in range {
            if let Some((slot, time)) = self.admit(generator, rows, row, record, out) {
                generator.observe(slot, time, rows.ids[row]);
            }
        }
    }

    /// Walks row by row until the watermark reaches `stop`; the number of the row after the last one
    /// that was walked over.
    pub fn until(
        &mut self,
        generator: &mut Generator,
        rows: &RowBatch,
        range: Range<usize>,
        stop: EventTime,
        record: &mut StepRecord,
        out: &mut Output,
    ) -> usize {
        self.begin(generator, rows);
        let mut watermark = generator.watermark();
        let mut candidate = generator.candidate_max();
        for row in range.clone() {
            self.bounds[row] = watermark;
            let admitted = self.admit(generator, rows, row, record, out);
            let news = match admitted {
                Some((slot, time)) => generator.observe(slot, time, rows.ids[row]),
                None => generator.has_news(),
            };
            if !news {
                continue;
            }
            generator.evaluate(record.now, rows.ids[row], false);
            if candidate != generator.candidate_max() || watermark != generator.watermark() {
                watermark = generator.watermark();
                candidate = generator.candidate_max();
                let in_force = InForce { since_step: record.step, ..generator.in_force() };
                self.raises.push((row, in_force));
                if stop <= watermark {
                    return row + 1;
                }
            }
        }
        range.end
    }

    /// The member and the time of a row that may be counted and moves the watermark.
    #[inline]
    fn admit(
        &mut self,
        generator: &mut Generator,
        rows: &RowBatch,
        row: usize,
        record: &mut StepRecord,
        out: &mut Output,
    ) -> Option<(usize, EventTime)> {
        let at = rows.arrivals[row];
        let Some(slot) = generator.take_row(rows.partitions[row], at) else {
            self.pass_over(rows, row, record, Fate::AfterFinish, out);
            return None;
        };
        let Some(time) = self.time_column.and_then(|it| rows.columns[it].get(row)) else {
            self.pass_over(rows, row, record, Fate::NoTime, out);
            return None;
        };
        let time = EventTime(time);
        if !time.is_legal() {
            self.pass_over(rows, row, record, Fate::TimeOutOfRange, out);
            return None;
        }
        record.event_time_min = record.event_time_min.min(time);
        record.event_time_max = record.event_time_max.max(time);
        record.event_time_sum += i128::from(time.0);
        record.event_time_rows += 1;
        let shown = if self.watermark_column == self.time_column {
            time
        } else {
            // Windows on another column: what is shown may be missing, and then shows nothing.
            let shown = self.watermark_column.and_then(|it| rows.columns[it].get(row));
            shown.map(EventTime).filter(|it| it.is_legal())?
        };
        match generator.guard(shown, at) {
            GuardVerdict::Pass => Some((slot, shown)),
            GuardVerdict::Reject => {
                self.pass_over(rows, row, record, Fate::Guarded, out);
                None
            }
            GuardVerdict::CountOnly => {
                note(rows, row, record, Fate::CountedNotAdvancing, out);
                None
            }
        }
    }

    #[cold]
    fn pass_over(
        &mut self,
        rows: &RowBatch,
        row: usize,
        record: &StepRecord,
        fate: Fate,
        out: &mut Output,
    ) {
        self.skip.resize(rows.len(), false);
        self.skip[row] = true;
        note(rows, row, record, fate, out);
    }

    /// The bound of each row, by its number in the batch.
    pub fn bounds(&self) -> &[EventTime] {
        &self.bounds
    }

    /// The bound of one row.
    pub fn bound(&self, row: usize) -> EventTime {
        self.bounds[row]
    }

    /// Rows to pass over; empty where there are none.
    pub fn skip(&self) -> &[bool] {
        &self.skip
    }

    /// How many rows of a range are not passed over.
    pub fn taken(&self, range: Range<usize>) -> usize {
        range.filter(|it| !self.skip.get(*it).copied().unwrap_or(false)).count()
    }

    /// What was in force for a row, where it was raised earlier in the same run.
    pub fn in_force_at(&self, row: usize) -> Option<InForce> {
        let earlier = self.raises.partition_point(|it| it.0 < row);
        earlier.checked_sub(1).map(|it| self.raises[it].1)
    }

    /// What is in force after the run, where it was raised in it.
    pub fn last_raise(&self) -> Option<InForce> {
        self.raises.last().map(|it| it.1)
    }

    /// The time of a row that was admitted.
    pub fn time(&self, rows: &RowBatch, row: usize) -> EventTime {
        let time = self.time_column.and_then(|it| rows.columns[it].get(row));
        time.map_or(EventTime::MIN, EventTime)
    }

    /// How far the row's own partition had come before it.
    pub fn own_max_before(&self, rows: &RowBatch, from: usize, row: usize) -> EventTime {
        let partition = rows.partitions[row];
        let known = self.before.iter().find(|it| it.partition == partition);
        let known = known.map_or(EventTime::MIN, |it| it.max);
        let own = (from..row).filter(|it| rows.partitions[*it] == partition);
        let passed = own.filter(|it| !self.skip.get(*it).copied().unwrap_or(false));
        passed.map(|it| self.time(rows, it)).fold(known, EventTime::max)
    }
}

#[cold]
fn note(rows: &RowBatch, row: usize, record: &StepRecord, fate: Fate, out: &mut Output) {
    let (id, partition) = (rows.ids[row], rows.partitions[row]);
    out.records.push(RowRecord { id, partition, step: record.step, fate });
}
