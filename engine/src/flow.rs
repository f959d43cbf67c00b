//! The flow: what happens inside one step of a plan of several inputs or stages.
//!
//! Rows are taken at their source (partition finished, time out of range, from the future, filtered),
//! show their times to the marks of their input, and go through the stages in a *pass*: per item where
//! the watermark takes effect per row or at probes, once per step otherwise. Inside a pass each stage
//! judges and applies, evicts and writes, and hands what it wrote to the next. The law stands in
//! [`crate::plan::flow`].
//!
//! Invariant: a flow is a function of its calls, and all that it keeps is plain data.

pub mod bounds;
mod judging;
mod pass;
pub mod saved;
pub mod source;
pub mod stage;
mod watching;

use crate::late::InForce;
use crate::operator::stage::StageOutput;
use crate::output::{Fate, IgnoredWhy, Output, RowRecord, StageRecord, StepKind, StepRecord};
use crate::plan::flow::{FollowUp, Says};
use crate::plan::{Effective, OutputMode, Plan, flow};
use crate::row::{ColumnKind, ItemId, PartitionId, RowBatch};
use crate::time::{EventTime, ProcTime};
use crate::watermark::guard::GuardVerdict;
use crate::watermark::levels::Steer;
use crate::watermark::member::Change;
use bounds::Bounds;
use pass::One;
use source::Sources;
use stage::Stage;

/// Sources, bounds and stages of one query.
#[derive(Debug)]
pub struct Flow {
    plan: flow::Flow,
    /// Whether the first stage takes two inputs apart.
    joins: bool,
    mode: OutputMode,
    effective: Effective,
    /// In what the watermark has a say at each stage.
    says: Vec<Says>,
    /// Columns that must be legal times.
    times: Vec<usize>,
    pub(crate) sources: Sources,
    pub(crate) bounds: Bounds,
    pub(crate) stages: Vec<Stage>,
    record: StepRecord,
    /// One per stage, of this step.
    stage_records: Vec<StageRecord>,
    /// Rows that wait for the pass of this step, per side, and how far their own partitions had come.
    waiting: [RowBatch; 2],
    own: [Vec<EventTime>; 2],
    outputs: Vec<StageOutput>,
    /// Whether this step has had a pass.
    passed: bool,
    /// Whether a row that waits has not moved the watermark, and has a record that says so.
    some_do_not_advance: bool,
}

impl Flow {
    /// Before any row. Panics where the plan has no flow.
    pub fn new(plan: &Plan) -> Self {
        let flow = plan.flow.clone().expect("a plan with a flow");
        let effective = plan.watermark.as_ref().map_or(Effective::NextBatch, |it| it.effective);
        let sources = Sources::new(plan, &flow);
        let schemas = flow.schemas(&plan.schema);
        let times = plan.schema.columns.iter().enumerate();
        let times = times.filter(|(_, it)| it.kind == ColumnKind::Time).map(|(at, _)| at);
        let columns = plan.schema.columns.len();
        let own = [0, 1].map(|it| sources.of_side(it));
        Self {
            joins: flow.joins(),
            mode: plan.output,
            effective,
            says: flow.says(&plan.schema),
            times: times.collect(),
            bounds: Bounds::new(&flow, effective, own, sources.in_force()),
            stages: flow.stages.iter().map(|it| Stage::new(it, &flow)).collect(),
            record: StepRecord::empty(0, StepKind::Probe, ProcTime(0)),
            stage_records: Vec::new(),
            waiting: [RowBatch::new(columns), RowBatch::new(columns)],
            own: [Vec::new(), Vec::new()],
            outputs: schemas.iter().skip(1).map(|it| StageOutput::new(it.columns.len())).collect(),
            passed: false,
            some_do_not_advance: false,
            sources,
            plan: flow,
        }
    }

    const fn per_item(&self) -> bool {
        matches!(self.effective, Effective::Row | Effective::Probe)
    }

    /// A step begins.
    pub fn begin(&mut self, step: u64, kind: StepKind, now: ProcTime) {
        self.record = StepRecord::empty(step, kind, now);
        let now = self.bounds.now();
        (self.record.late, self.record.evict) = (now.late[0].watermark, now.evict[0].watermark);
        self.stage_records.clear();
        self.stage_records.extend((0..self.stages.len()).map(|stage| StageRecord {
            step,
            stage,
            late: [EventTime::MIN; 2],
            evict: [EventTime::MIN; 2],
            rows_in: 0,
            rows_out: 0,
            updated: 0,
            removed: 0,
            rows_dropped: 0,
            groups_dropped: 0,
            duplicates: 0,
            state_rows: 0,
        }));
        self.passed = false;
    }

    /// Rows, in order.
    pub fn rows(&mut self, rows: &RowBatch, out: &mut Output) {
        for row in 0..rows.len() {
            self.row(rows, row, out);
        }
        self.emit(out);
    }

    fn row(&mut self, rows: &RowBatch, row: usize, out: &mut Output) {
        if !self.sources.holds(rows, row) {
            self.read(rows, row, false, out);
        }
    }

    /// A row is read, now or (`again`) after it has waited.
    fn read(&mut self, rows: &RowBatch, row: usize, again: bool, out: &mut Output) {
        let (id, partition) = (rows.ids[row], rows.partitions[row]);
        self.record.rows_in += 1;
        // Where each item has a pass of its own, one without a row judges nobody.
        self.record.late = self.bounds.judging();
        let before = self.sources.own(partition);
        let fate = self.take(rows, row, again);
        let goes_on = matches!(fate, None | Some(Fate::CountedNotAdvancing));
        if let Some(fate) = fate {
            out.records.push(RowRecord { id, partition, step: self.record.step, fate });
        }
        let mut one = None;
        if goes_on {
            self.record.rows_counted += 1;
            let side = if self.joins { partition.input() } else { 0 };
            self.own[side].push(before);
            one = Some(One { rows, row, side });
        }
        match self.effective {
            Effective::Row => self.evaluate_and_pass(id, one, out),
            Effective::Probe => {
                let late = self.bounds.now().late;
                self.pass_with(late, Bounds::NOTHING, id, false, one, out);
            }
            Effective::NextBatch | Effective::BatchAfterNext => {
                if let Some(One { rows, row, side }) = one {
                    self.waiting[side].push_from(rows, row);
                }
            }
        }
    }

    /// What becomes of a row at its source.
    fn take(&mut self, rows: &RowBatch, row: usize, again: bool) -> Option<Fate> {
        let (id, partition, at) = (rows.ids[row], rows.partitions[row], rows.arrivals[row]);
        let cells = |it: usize| rows.columns[it].get(row);
        if !self.sources.has(partition) {
            return Some(Fate::NotApplicable);
        }
        if !self.sources.take_row(partition, at, again) {
            return Some(Fate::AfterFinish);
        }
        let legal = |it: &usize| cells(*it).is_none_or(|it| EventTime(it).is_legal());
        if !self.times.iter().all(legal) {
            return Some(Fate::TimeOutOfRange);
        }
        let guarded = self.sources.guard(partition, cells, at);
        let input = &self.plan.inputs[partition.input()];
        let kept = input.before.iter().all(|it| it.keeps(cells(it.column.0)));
        let goes_on = input.behind.iter().all(|it| it.keeps(cells(it.column.0)));
        if kept {
            self.note_time(cells);
        }
        if guarded == GuardVerdict::Reject {
            return Some(Fate::Guarded);
        }
        if !kept {
            return Some(Fate::Filtered);
        }
        let believed = guarded != GuardVerdict::CountOnly;
        if believed {
            self.sources.show(partition, cells, id, at);
        }
        if !goes_on {
            return Some(Fate::Filtered);
        }
        self.some_do_not_advance |= !believed;
        (!believed).then_some(Fate::CountedNotAdvancing)
    }

    /// Statistics of the step, over the first time column.
    fn note_time(&mut self, cells: impl Fn(usize) -> Option<i64>) {
        let Some(time) = self.times.first().and_then(|it| cells(*it)) else { return };
        self.record.event_time_min = self.record.event_time_min.min(EventTime(time));
        self.record.event_time_max = self.record.event_time_max.max(EventTime(time));
        self.record.event_time_sum += i128::from(time);
        self.record.event_time_rows += 1;
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
        let taken = self.sources.heartbeat(partition, time, id, at);
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
        let taken = self.sources.change(change, id, at);
        self.moved(id, out);
        taken
    }

    /// Something from outside that is no change of partitions, taken from the queue.
    ///
    /// # Errors
    /// Why it makes no sense here.
    pub fn steer(&mut self, steer: Steer) -> Result<(), IgnoredWhy> {
        self.sources.steer(steer)
    }

    /// Reads what waited and may be read now; all of it where `all` ends.
    fn resume(&mut self, all: bool, id: ItemId, out: &mut Output) {
        while let Some((rows, behind)) = self.sources.release(all) {
            for row in 0..rows.len() {
                self.read(&rows, row, true, out);
            }
            behind.into_iter().for_each(|it| self.sources.read(it));
            self.evaluate_and_pass(id, None, out);
        }
    }

    fn moved(&mut self, id: ItemId, out: &mut Output) {
        if self.effective == Effective::Row {
            self.evaluate_and_pass(id, None, out);
            self.emit(out);
        }
    }

    fn lines(&self) -> [InForce; 2] {
        if self.bounds.own_sides() {
            [self.sources.of_side(0), self.sources.of_side(1)]
        } else {
            [self.sources.in_force(); 2]
        }
    }

    /// c and w anew, then a pass whose rows are judged by what was in force and whose state is
    /// removed by what is now.
    fn evaluate_and_pass(&mut self, id: ItemId, one: Option<One<'_>>, out: &mut Output) {
        // What was raised earlier in this very step judges in it already.
        let step = self.record.step;
        let judges = |it: InForce| InForce { since_step: it.since_step.min(step), ..it };
        let late = self.bounds.now().late.map(judges);
        if self.sources.evaluate(self.record.now, id, false, step) {
            self.bounds.raise(self.lines(), step);
        } else {
            self.bounds.hold();
        }
        self.pass_removing(late, self.bounds.now().evict, id, false, one, out);
    }

    fn pass(&mut self, id: ItemId, triggered: bool, out: &mut Output) {
        let now = self.bounds.now();
        self.pass_removing(now.late, now.evict, id, triggered, None, out);
    }

    /// The step ends. `id` is the item that ended it.
    pub fn finish(&mut self, id: ItemId, out: &mut Output) {
        let step = self.record.step;
        let triggered = self.record.kind != StepKind::Probe;
        if self.record.kind == StepKind::End {
            self.resume(true, id, out);
            self.sources.end(id, step);
            let end = InForce { watermark: EventTime::MAX, ..self.sources.in_force() };
            let nobody = InForce::initial(EventTime::MIN);
            self.pass_removing([nobody; 2], [end; 2], id, true, None, out);
            self.bounds.raise([end; 2], step);
        } else if self.per_item() {
            // A step of rows has done so after each, or (probes) leaves it to the next probe.
            if !self.passed {
                self.evaluate_and_pass(id, None, out);
            }
            self.resume(false, id, out);
            if triggered && self.mode == OutputMode::Complete {
                self.pass(id, true, out);
            }
        } else {
            self.pass(id, triggered, out);
            self.sources.evaluate(self.record.now, id, true, step);
            self.bounds.raise(self.lines(), step);
        }
        self.sources.note_idle(step);
        self.sources.refresh();
        self.record.candidate = self.sources.candidate();
        self.record.watermark = self.sources.in_force().watermark;
        self.emit(out);
        let stages = self.stages.iter().zip(&mut self.outputs);
        for (record, (stage, output)) in self.stage_records.iter_mut().zip(stages) {
            pass::add(record, std::mem::take(&mut output.tally));
            record.state_rows = stage.state_rows();
            self.record.groups_removed += record.removed;
        }
        out.steps.push(self.record);
        out.stages.extend_from_slice(&self.stage_records);
    }

    /// Whether a step without data should follow.
    pub fn asks(&self) -> bool {
        if self.plan.follow_up == FollowUp::Never {
            return false;
        }
        let removed = self.bounds.last_removed();
        let moved = removed.iter().zip(self.lines()).any(|(it, line)| *it < line.watermark);
        // An as-of join waits for the other side: without a link to it, no step without data helps.
        let asks = |(stage, says): (&Stage, &Says)| match stage {
            Stage::AsOf(it) => says.removes == [true; 2] && it.asks(self.mode),
            Stage::Join(it) => it.asks(says.removes),
            it => it.asks(self.mode),
        };
        moved && self.stages.iter().zip(&self.says).any(asks)
    }

    /// Groups, entries and stored rows of all stages.
    pub fn state_rows(&self) -> u64 {
        self.stages.iter().map(Stage::state_rows).sum()
    }

    /// What each stage holds, per side of a join.
    pub fn held(&self) -> Vec<[u64; 2]> {
        self.stages.iter().map(Stage::held).collect()
    }

    /// What the stages that keep state did in the last step, in order.
    pub fn last_stages(&self) -> impl DoubleEndedIterator<Item = &StageRecord> {
        self.stage_records.iter().filter(|it| !self.plan.stages[it.stage].is_stateless())
    }

    /// About how many bytes a stage keeps: its state as a snapshot would write it.
    pub fn stage_bytes(&self, at: usize) -> u64 {
        postcard::to_allocvec(&self.stages[at]).map_or(0, |it| it.len() as u64)
    }

    /// The record of the last step.
    pub const fn last_record(&self) -> &StepRecord {
        &self.record
    }
}
