//! Admission: what the generator makes of rows before the operator sees them.
//!
//! Each row is counted for its partition, then checked in this order: partition finished, time null,
//! time out of range, from the future. What passes moves its partition's maximum, late or not. Where
//! the watermark takes effect per row, the bound of every row is noted as the walk goes on, and for a
//! row at or behind its bound what set that bound, so that a late row can name who closed its window.
//!
//! Invariant: the bound of a row is the watermark before that row.

use crate::late::InForce;
use crate::output::{Fate, Output, RowRecord, StepRecord};
use crate::plan::{Plan, check};
use crate::row::{ColumnKind, RowBatch};
use crate::time::EventTime;
use crate::watermark::generator::Generator;
use crate::watermark::guard::GuardVerdict;
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
    /// Rows at or behind their bound.
    behind: Vec<Behind>,
    /// What is in force after the run, where it was raised in it.
    last_raise: Option<InForce>,
    /// Whether a row of the run is counted without moving the watermark.
    some_do_not_advance: bool,
}

/// What was known when a row at or behind its bound came.
#[derive(Clone, Copy, Debug)]
struct Behind {
    row: usize,
    /// How far its own partition had come before it.
    own_max: EventTime,
    /// What judges it, where that was raised earlier in the same run.
    in_force: Option<InForce>,
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
            behind: Vec::new(),
            last_raise: None,
            some_do_not_advance: false,
        }
    }

    fn begin(&mut self, rows: &RowBatch) {
        self.skip.clear();
        self.some_do_not_advance = false;
        self.bounds.resize(rows.len(), EventTime::MIN);
        self.behind.clear();
        self.last_raise = None;
    }

    /// Walks over rows that are all judged by one bound.
    pub fn whole(
        &mut self,
        generator: &mut Generator,
        rows: &RowBatch,
        range: Range<usize>,
        bound: EventTime,
        record: &mut StepRecord,
        out: &mut Output,
    ) {
        self.walk::<false>(generator, rows, range, bound, record, out);
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
        self.walk::<true>(generator, rows, range, stop, record, out)
    }

    /// `limit` is where to stop, or, where all rows have one bound, that bound.
    fn walk<const PER_ROW: bool>(
        &mut self,
        generator: &mut Generator,
        rows: &RowBatch,
        range: Range<usize>,
        limit: EventTime,
        record: &mut StepRecord,
        out: &mut Output,
    ) -> usize {
        self.begin(rows);
        let end = range.end;
        let times = self.time_column.map(|it| &rows.columns[it]);
        let all_have_times = times.is_some_and(|it| !it.has_nulls());
        let values = times.map_or(&[][..], |it| &it.values[..end]);
        let plain = self.watermark_column == self.time_column && !generator.guards();
        let (ids, partitions) = (&rows.ids[..end], &rows.partitions[..end]);
        let arrivals = &rows.arrivals[..end];
        let mut watermark = generator.watermark();
        let mut candidate = generator.candidate_max();
        let (mut least, mut most) = (record.event_time_min, record.event_time_max);
        let (mut sum, mut count) = (0_i128, 0_u64);
        let mut walked = end;
        let mut raised = false;
        // Taken out, so that nothing in the loop can be thought to change it.
        let mut bounds = std::mem::take(&mut self.bounds);
        let bounds_here = &mut bounds[..end];
        for row in range {
            if PER_ROW {
                bounds_here[row] = watermark;
            }
            let mut shown = None;
            if let Some(slot) = generator.take_row(partitions[row], arrivals[row]) {
                let time = if all_have_times {
                    Some(values[row])
                } else {
                    times.and_then(|it| it.get(row))
                };
                match time.map(EventTime) {
                    Some(time) if time.is_legal() => {
                        let bound = if PER_ROW { watermark } else { limit };
                        if time <= bound {
                            let own_max = generator.members()[slot].max;
                            let in_force = raised.then(|| in_force(generator, record));
                            self.behind.push(Behind { row, own_max, in_force });
                        }
                        least = least.min(time);
                        most = most.max(time);
                        sum += i128::from(time.0);
                        count += 1;
                        shown = if plain {
                            Some((slot, time))
                        } else {
                            self.shown(generator, rows, row, time, record, out).map(|it| (slot, it))
                        };
                    }
                    Some(_) => self.pass_over(rows, row, record, Fate::TimeOutOfRange, out),
                    None => self.pass_over(rows, row, record, Fate::NoTime, out),
                }
            } else {
                self.pass_over(rows, row, record, Fate::AfterFinish, out);
            }
            let news = match shown {
                Some((slot, time)) => generator.observe(slot, time, ids[row]),
                None => generator.has_news(),
            };
            if !PER_ROW || !news {
                continue;
            }
            generator.evaluate(record.now, ids[row], false);
            if candidate != generator.candidate_max() || watermark != generator.watermark() {
                watermark = generator.watermark();
                candidate = generator.candidate_max();
                raised = true;
                if limit <= watermark {
                    walked = row + 1;
                    break;
                }
            }
        }
        self.bounds = bounds;
        self.last_raise = raised.then(|| in_force(generator, record));
        (record.event_time_min, record.event_time_max) = (least, most);
        record.event_time_sum += sum;
        record.event_time_rows += count;
        walked
    }

    /// What a row shows to the generator, where that is not simply its time.
    fn shown(
        &mut self,
        generator: &Generator,
        rows: &RowBatch,
        row: usize,
        time: EventTime,
        record: &StepRecord,
        out: &mut Output,
    ) -> Option<EventTime> {
        let shown = if self.watermark_column == self.time_column {
            time
        } else {
            // Windows on another column: what is shown may be missing, and then shows nothing.
            let shown = self.watermark_column.and_then(|it| rows.columns[it].get(row));
            shown.map(EventTime).filter(|it| it.is_legal())?
        };
        match generator.guard(shown, rows.arrivals[row]) {
            GuardVerdict::Pass => Some(shown),
            GuardVerdict::Reject => {
                self.pass_over(rows, row, record, Fate::Guarded, out);
                None
            }
            GuardVerdict::CountOnly => {
                self.some_do_not_advance = true;
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

    /// Whether a row of the run is counted without moving the watermark.
    pub const fn some_do_not_advance(&self) -> bool {
        self.some_do_not_advance
    }

    /// How many rows of a range are not passed over.
    pub fn taken(&self, range: Range<usize>) -> usize {
        range.filter(|it| !self.skip.get(*it).copied().unwrap_or(false)).count()
    }

    /// What was in force for a late row, where it was raised earlier in the same run.
    pub fn in_force_at(&self, row: usize) -> Option<InForce> {
        self.behind_at(row)?.in_force
    }

    /// What is in force after the run, where it was raised in it.
    pub const fn last_raise(&self) -> Option<InForce> {
        self.last_raise
    }

    fn behind_at(&self, row: usize) -> Option<&Behind> {
        let at = self.behind.binary_search_by_key(&row, |it| it.row);
        at.ok().map(|it| &self.behind[it])
    }

    /// The time of a row that was admitted.
    pub fn time(&self, rows: &RowBatch, row: usize) -> EventTime {
        let time = self.time_column.and_then(|it| rows.columns[it].get(row));
        time.map_or(EventTime::MIN, EventTime)
    }

    /// How far the own partition of a late row had come before it.
    pub fn own_max_before(&self, row: usize) -> EventTime {
        self.behind_at(row).map_or(EventTime::MIN, |it| it.own_max)
    }
}

/// What has come into force in this step.
fn in_force(generator: &Generator, record: &StepRecord) -> InForce {
    InForce { since_step: record.step, ..generator.in_force() }
}

#[cold]
fn note(rows: &RowBatch, row: usize, record: &StepRecord, fate: Fate, out: &mut Output) {
    let (id, partition) = (rows.ids[row], rows.partitions[row]);
    out.records.push(RowRecord { id, partition, step: record.step, fate });
}
