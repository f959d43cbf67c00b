//! The pipeline: what happens inside one step, in its fixed order.
//!
//! (1) judge and apply the rows with what is in force for lateness; (2) close every window whose end
//! has been reached by what is in force for eviction; (3) write; (4) compute c and w anew. With a
//! watermark that takes effect per row, (4) comes after every row and (2) follows it at once: a
//! window closes at the very arrival that moves the watermark past its end. Source: semantics 4.
//!
//! To go fast, rows are taken in *runs*: the generator walks ahead, noting the watermark that judges
//! each row, and stops at the row that lets a window close; then the operator takes the run.
//!
//! Invariant: an admitted row's windows end after everything that was evicted before (I5).

pub mod admission;
pub mod ledger;

use crate::late::{self, InForce};
use crate::operator::LateBound;
use crate::operator::aggregate::{Closing, Exception, WindowAggregate};
use crate::output::{
    Fate, Firing, FiringKind, FiringReason, IgnoredWhy, Output, RowRecord, StepKind, StepRecord,
};
use crate::plan::check;
use crate::plan::{LatePolicy, OutputMode, Plan};
use crate::row::{ItemId, PartitionId, RowBatch};
use crate::time::{EventTime, ProcTime};
use crate::watermark::effective::Schedule;
use crate::watermark::generator::Generator;
use crate::watermark::member::Change;
use crate::window::assign::Assigner;
use admission::Admission;
use ledger::Ledger;
use std::ops::Range;

/// Rows are taken in runs of at most this many.
const RUN: usize = 1024;

/// Generator, schedule and operator of one query.
#[derive(Debug)]
pub struct Pipeline {
    pub(crate) generator: Generator,
    pub(crate) schedule: Schedule,
    pub(crate) operator: Option<WindowAggregate>,
    pub(crate) ledger: Ledger,
    plan: Plan,
    /// Whether the watermark says anything about the windows (S43): otherwise nothing is late and
    /// nothing closes before the end, as without a watermark.
    linked: bool,
    assigner: Option<Assigner>,
    /// What judges the next row, where the watermark takes effect per row.
    in_force: InForce,
    record: StepRecord,
    /// Whether an item of this step has computed c and w anew.
    evaluated: bool,
    admission: Admission,
    exceptions: Vec<Exception>,
    closings: Vec<Closing>,
}

impl Pipeline {
    /// An empty pipeline.
    pub fn new(plan: &Plan, hash_seed: u64) -> Self {
        let generator = Generator::new(plan.watermark.as_ref());
        let in_force = generator.in_force();
        let effective =
            plan.watermark.as_ref().map_or(crate::plan::Effective::NextBatch, |it| it.effective);
        Self {
            schedule: Schedule::new(effective, in_force),
            operator: plan.operator.as_ref().map(|_| WindowAggregate::new(plan, hash_seed)),
            ledger: Ledger::default(),
            assigner: plan.operator.as_ref().map(|it| Assigner::new(it.window)),
            admission: Admission::new(plan),
            linked: check::linked(plan),
            plan: plan.clone(),
            generator,
            in_force,
            record: StepRecord::empty(0, StepKind::Probe, ProcTime(0)),
            evaluated: false,
            exceptions: Vec::new(),
            closings: Vec::new(),
        }
    }

    /// Puts parts from a snapshot in place.
    pub(crate) fn resume(&mut self, generator: Generator, schedule: Schedule, ledger: Ledger) {
        self.in_force = schedule.late();
        self.generator = generator;
        self.schedule = schedule;
        self.ledger = ledger;
    }

    /// A restart lost what has closed windows.
    pub(crate) fn nothing_is_closed(&mut self) {
        self.ledger.nothing_is_closed();
        if let Some(operator) = &mut self.operator {
            operator.nothing_is_closed();
        }
    }

    /// A step begins.
    pub fn begin(&mut self, step: u64, kind: StepKind, now: ProcTime) {
        self.record = StepRecord::empty(step, kind, now);
        self.record.late = self.late_now().watermark;
        self.record.evict = self.schedule.evict().watermark;
        self.evaluated = false;
        self.ledger.begin_step();
    }

    fn late_now(&self) -> InForce {
        if self.schedule.per_row() { self.in_force } else { self.schedule.late() }
    }

    /// Rows, in order.
    pub fn rows(&mut self, rows: &RowBatch, out: &mut Output) {
        self.record.rows_in += rows.len() as u64;
        let mut from = 0;
        while from < rows.len() {
            let to = rows.len().min(from + RUN);
            from = if self.schedule.per_row() {
                self.run_per_row(rows, from..to, out)
            } else {
                self.run_of_batch(rows, from..to, out)
            };
        }
    }

    fn run_of_batch(&mut self, rows: &RowBatch, range: Range<usize>, out: &mut Output) -> usize {
        let late = self.schedule.late();
        self.admission.whole(
            &mut self.generator,
            rows,
            range.clone(),
            late.watermark,
            &mut self.record,
            out,
        );
        self.apply(rows, range.clone(), Some(late.watermark), out);
        range.end
    }

    fn run_per_row(&mut self, rows: &RowBatch, range: Range<usize>, out: &mut Output) -> usize {
        self.evaluated = true;
        let watermark = self.generator.watermark();
        let stop = match &self.operator {
            Some(it) if self.linked => it.next_end(watermark),
            Some(_) | None => EventTime::MAX,
        };
        let end = self.admission.until(
            &mut self.generator,
            rows,
            range.clone(),
            stop,
            &mut self.record,
            out,
        );
        self.apply(rows, range.start..end, None, out);
        self.record.late = self.admission.bound(end - 1);
        self.in_force = self.admission.last_raise().unwrap_or(self.in_force);
        if stop <= self.generator.watermark() {
            self.evict(self.in_force, out);
        }
        end
    }

    /// `late` is the bound of all rows, `None` where each has its own.
    fn apply(
        &mut self,
        rows: &RowBatch,
        range: Range<usize>,
        late: Option<EventTime>,
        out: &mut Output,
    ) {
        let Some(operator) = &mut self.operator else {
            self.record.rows_counted += self.admission.taken(range) as u64;
            return;
        };
        let bound = match late {
            _ if !self.linked => LateBound::Same(EventTime::MIN),
            Some(it) => LateBound::Same(it),
            None => LateBound::PerRow(self.admission.bounds()),
        };
        let skip = self.admission.skip();
        let exceptions = &mut self.exceptions;
        exceptions.clear();
        let step = self.record.step;
        self.record.rows_counted +=
            operator.apply(rows, range.clone(), skip, bound, step, exceptions);
        for at in 0..self.exceptions.len() {
            self.record_exception(rows, at, out);
        }
    }

    #[cold]
    fn record_exception(&mut self, rows: &RowBatch, at: usize, out: &mut Output) {
        let Exception { row, lost, kept, no_window, .. } = self.exceptions[at];
        let (id, partition) = (rows.ids[row], rows.partitions[row]);
        let record = |step, fate| RowRecord { id, partition, step, fate };
        // A row from the future that is not counted all the same has one fate, not two.
        if self.admission.some_do_not_advance() {
            out.records.retain(|it| it.id != id || it.step != self.record.step);
        }
        if no_window {
            out.records.push(record(self.record.step, Fate::NoWindow));
            return;
        }
        let (Some(plan), Some(assigner)) = (&self.plan.operator, &self.assigner) else { return };
        let time = self.admission.time(rows, row);
        let in_force = if self.schedule.per_row() {
            self.admission.in_force_at(row).unwrap_or(self.in_force)
        } else {
            self.schedule.late()
        };
        let own = self.admission.own_max_before(row);
        let delay = self.plan.watermark.as_ref().map_or(crate::time::Span::ZERO, |it| it.delay);
        let late = late::LateRow {
            id,
            partition,
            time,
            rule: plan.late,
            in_force,
            windows_lost: lost,
            windows_kept: kept,
            saving: late::saving(plan.late, assigner, time, lost, &in_force),
            cause: late::cause(plan.late, assigner, time, own - delay, &in_force),
            destination: plan.late_policy,
        };
        self.record.windows_missed += u64::from(lost);
        self.record.rows_dropped += u64::from(kept == 0);
        self.ledger.drop_row(
            assigner,
            &late,
            plan.keys.iter().map(|it| rows.columns[it.0].get(row)),
        );
        out.records.push(record(self.record.step, Fate::Late(late)));
        if plan.late_policy == LatePolicy::SideOutput {
            let cells: Vec<_> = rows.columns.iter().map(|it| it.get(row)).collect();
            out.side.push(id, partition, rows.arrivals[row], &cells);
        }
    }

    /// A heartbeat, taken from the queue.
    ///
    /// # Errors
    /// Why it does not count.
    pub fn heartbeat(
        &mut self,
        partition: PartitionId,
        time: EventTime,
        id: ItemId,
        at: ProcTime,
        out: &mut Output,
    ) -> Result<(), IgnoredWhy> {
        let taken = self.generator.heartbeat(partition, time, id, at);
        self.moved(id, out);
        taken
    }

    /// A change of partitions, taken from the queue.
    ///
    /// # Errors
    /// Why it makes no sense here.
    pub fn change(
        &mut self,
        change: Change,
        id: ItemId,
        at: ProcTime,
        out: &mut Output,
    ) -> Result<(), IgnoredWhy> {
        let taken = self.generator.change(change, id, at);
        self.moved(id, out);
        taken
    }

    /// Something other than a row was seen: where the watermark takes effect per row it counts now.
    fn moved(&mut self, id: ItemId, out: &mut Output) {
        if self.schedule.per_row() {
            self.evaluated = true;
            self.generator.evaluate(self.record.now, id, false);
            self.note_in_force();
            self.evict(self.in_force, out);
        }
    }

    fn note_in_force(&mut self) {
        let now = self.generator.in_force();
        if (now.watermark, now.candidate) != (self.in_force.watermark, self.in_force.candidate) {
            self.in_force = InForce { since_step: self.record.step, ..now };
        }
    }

    /// The step ends: windows close, figures are written, c and w are computed anew. `id` is the
    /// item that ended it.
    pub fn finish(&mut self, id: ItemId, out: &mut Output) {
        let step = self.record.step;
        if self.record.kind == StepKind::End {
            self.generator.end(id);
            self.note_in_force();
            self.evict(self.generator.in_force(), out);
        } else if self.schedule.per_row() {
            // A step without items evaluates once; one with items has done so after each.
            if !self.evaluated {
                self.generator.evaluate(self.record.now, id, false);
                self.note_in_force();
            }
            self.evict(self.in_force, out);
        } else {
            self.evict(self.schedule.evict(), out);
            self.generator.evaluate(self.record.now, id, true);
        }
        self.emit(out);
        self.schedule.advance(self.generator.in_force(), step);
        self.in_force = self.schedule.late();
        self.generator.note_idle(step);
        self.record.candidate = self.generator.candidate();
        self.record.watermark = self.generator.watermark();
        out.steps.push(self.record);
    }

    fn evict(&mut self, evict: InForce, out: &mut Output) {
        self.record.evict = evict.watermark;
        let Some(operator) = &mut self.operator else { return };
        if !self.linked && evict.watermark != EventTime::MAX {
            return;
        }
        let removed = operator.evict(evict.watermark, &mut out.spare, &mut self.closings);
        self.record.groups_removed += removed;
        let reason = if evict.watermark == EventTime::MAX {
            FiringReason::EndOfInput
        } else if evict.fallback.is_some() {
            FiringReason::WallClock
        } else if self.generator.somebody_idle() {
            FiringReason::Idle
        } else {
            FiringReason::Watermark
        };
        let kind = match self.plan.output {
            OutputMode::Append => FiringKind::OnTime,
            OutputMode::Update => FiringKind::Update,
            OutputMode::Complete => FiringKind::Complete,
        };
        self.write(kind, reason, evict, out);
        if self.plan.output != OutputMode::Complete {
            self.ledger.forget(evict.watermark);
        }
    }

    fn emit(&mut self, out: &mut Output) {
        let Some(operator) = &mut self.operator else { return };
        let kind = match self.plan.output {
            OutputMode::Append => return,
            OutputMode::Update => FiringKind::Update,
            OutputMode::Complete if self.record.kind == StepKind::Probe => return,
            OutputMode::Complete => FiringKind::Complete,
        };
        operator.emit(&mut out.spare, &mut self.closings);
        let in_force = self.generator.in_force();
        let ended = self.record.kind == StepKind::End;
        let reason = if ended { FiringReason::EndOfInput } else { FiringReason::Trigger };
        self.write(kind, reason, in_force, out);
    }

    fn write(
        &mut self,
        kind: FiringKind,
        reason: FiringReason,
        in_force: InForce,
        out: &mut Output,
    ) {
        let step = self.record.step;
        for closing in self.closings.drain(..) {
            let Closing { window, groups, opened } = closing;
            let idle = self.generator.somebody_idle()
                || self.generator.last_idle().is_some_and(|it| opened <= it);
            let note = self.ledger.note(window, reason, &in_force, idle);
            out.firings.push(Firing { step, window, kind, groups, note });
        }
    }

    /// (window, key) groups that missed a row in the last step: Spark's counter.
    pub fn groups_dropped(&self) -> u64 {
        self.ledger.groups_dropped()
    }

    /// The record of the last step.
    pub const fn last_record(&self) -> &StepRecord {
        &self.record
    }
}
