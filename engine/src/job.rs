//! The job: a query that runs, as a passive state machine.
//!
//! Arrivals, ticks and changes of partitions go in; a queue holds them until the trigger begins a
//! step; firings, fates and records come out. Arrival is activity at once; everything else happens
//! in order when a step takes it. The caller supplies every instant: nothing here reads a clock.
//!
//! Invariant: the job is a function of its calls. Two jobs that saw the same calls are equal,
//! whatever the seed of their hashers.

use crate::output::{Fate, Ignored, IgnoredWhy, Output, RowRecord, StepKind};
use crate::pipeline::Pipeline;
use crate::plan::check::CheckedPlan;
use crate::row::{Dictionary, ItemId, PartitionId, RowBatch};
use crate::time::{EventTime, ProcTime};
use crate::trigger::{Cut, Trigger};
use crate::watermark::member::{Change, Member};

/// A running query.
#[derive(Debug)]
pub struct Job {
    pub(crate) plan: CheckedPlan,
    pub(crate) pipeline: Pipeline,
    pub(crate) trigger: Trigger,
    pub(crate) now: ProcTime,
    /// Steps done; the number of the next one.
    pub(crate) steps: u64,
    pub(crate) stopped: bool,
    /// The texts behind the codes of text columns, kept here so that a snapshot has them.
    pub dictionary: Dictionary,
    queue: Vec<Queued>,
    rows_queued: u64,
    /// Batches that were taken, to be filled again.
    spare: Vec<RowBatch>,
}

/// What waits for a step.
#[derive(Debug)]
enum Queued {
    Rows(RowBatch),
    Heartbeat { id: ItemId, partition: PartitionId, time: EventTime, at: ProcTime },
    Change { id: ItemId, change: Change, at: ProcTime },
}

impl Job {
    /// A job whose clock starts at `start`. `hash_seed` never shows in anything that comes out.
    pub fn new(plan: CheckedPlan, start: ProcTime, hash_seed: u64) -> Self {
        Self {
            pipeline: Pipeline::new(&plan, hash_seed),
            trigger: Trigger::new(plan.trigger, start),
            plan,
            now: start,
            steps: 0,
            stopped: false,
            dictionary: Dictionary::default(),
            queue: Vec::new(),
            rows_queued: 0,
            spare: Vec::new(),
        }
    }

    /// Rows arrive.
    pub fn arrive(&mut self, rows: &RowBatch, out: &mut Output) {
        if rows.is_empty() {
            return;
        }
        if self.stopped {
            let step = self.steps;
            out.records.extend(rows.ids.iter().zip(&rows.partitions).map(|(id, partition)| {
                RowRecord { id: *id, partition: *partition, step, fate: Fate::NotApplicable }
            }));
            return;
        }
        if self.trigger.per_row() {
            if rows.len() == 1 {
                self.hear(rows);
                self.step_of_rows(rows, rows.ids[0], out);
                return;
            }
            let mut one = RowBatch::new(rows.columns.len());
            for row in 0..rows.len() {
                one.clear();
                one.extend_from(rows, row..row + 1);
                self.hear(&one);
                self.step_of_rows(&one, one.ids[0], out);
            }
            return;
        }
        self.hear(rows);
        self.rows_queued += rows.len() as u64;
        match self.queue.last_mut() {
            Some(Queued::Rows(last)) => last.extend_from(rows, 0..rows.len()),
            _ => {
                let spare = self.spare.pop();
                let mut queued = spare.unwrap_or_else(|| RowBatch::new(rows.columns.len()));
                queued.extend_from(rows, 0..rows.len());
                self.queue.push(Queued::Rows(queued));
            }
        }
    }

    /// Rows arrive and a batch ends: the same as [`arrive`](Self::arrive) and
    /// [`batch`](Self::batch), without a copy where nothing waits.
    pub fn run_batch(&mut self, rows: &RowBatch, id: ItemId, out: &mut Output) {
        let direct = self.queue.is_empty() && !self.stopped && self.trigger.batch() == Cut::Whole;
        if direct && !rows.is_empty() {
            self.hear(rows);
            self.step_of_rows(rows, id, out);
        } else {
            self.arrive(rows, out);
            self.batch(id, out);
        }
    }

    fn hear(&mut self, rows: &RowBatch) {
        if self.pipeline.generator.hears() {
            for (partition, at) in rows.partitions.iter().zip(&rows.arrivals) {
                self.pipeline.generator.hear(*partition, *at);
            }
        }
    }

    fn step_of_rows(&mut self, rows: &RowBatch, id: ItemId, out: &mut Output) {
        self.pipeline.begin(self.steps, StepKind::Data, self.now);
        self.pipeline.rows(rows, out);
        self.finish_step(id, out);
    }

    fn finish_step(&mut self, id: ItemId, out: &mut Output) {
        self.pipeline.finish(id, out);
        self.steps += 1;
    }

    /// A heartbeat arrives: moves time, carries no data.
    pub fn heartbeat(
        &mut self,
        id: ItemId,
        partition: PartitionId,
        time: EventTime,
        at: ProcTime,
        out: &mut Output,
    ) {
        if self.ignored_as_stopped(id, out) {
            return;
        }
        self.pipeline.generator.hear(partition, at);
        self.enqueue(Queued::Heartbeat { id, partition, time, at }, id, out);
    }

    /// Partitions change.
    pub fn change(&mut self, id: ItemId, change: Change, at: ProcTime, out: &mut Output) {
        if !self.ignored_as_stopped(id, out) {
            self.enqueue(Queued::Change { id, change, at }, id, out);
        }
    }

    fn ignored_as_stopped(&self, id: ItemId, out: &mut Output) -> bool {
        if self.stopped {
            out.ignored.push(Ignored { id, why: IgnoredWhy::QueryStopped });
        }
        self.stopped
    }

    fn enqueue(&mut self, item: Queued, id: ItemId, out: &mut Output) {
        self.queue.push(item);
        if self.trigger.per_row() {
            self.step_of_queue(StepKind::Probe, id, out);
        }
    }

    /// One step that takes everything in the queue.
    fn step_of_queue(&mut self, kind: StepKind, id: ItemId, out: &mut Output) {
        let mut queue = std::mem::take(&mut self.queue);
        self.rows_queued = 0;
        self.pipeline.begin(self.steps, kind, self.now);
        for item in queue.drain(..) {
            self.take(&item, out);
            if let Queued::Rows(mut rows) = item {
                rows.clear();
                self.spare.push(rows);
            }
        }
        self.queue = queue;
        self.finish_step(id, out);
    }

    fn take(&mut self, item: &Queued, out: &mut Output) {
        let (id, taken) = match item {
            Queued::Rows(rows) => {
                self.pipeline.rows(rows, out);
                return;
            }
            Queued::Heartbeat { id, partition, time, at } => {
                (id, self.pipeline.heartbeat(*partition, *time, *id, *at, out))
            }
            Queued::Change { id, change, at } => (id, self.pipeline.change(*change, *id, *at, out)),
        };
        if let Err(why) = taken {
            out.ignored.push(Ignored { id: *id, why });
        }
    }

    /// The clock has moved to `now`: idleness is judged, then the trigger asked.
    pub fn tick(&mut self, id: ItemId, now: ProcTime, out: &mut Output) {
        assert!(self.now <= now, "processing time ran backwards");
        self.now = now;
        if self.ignored_as_stopped(id, out) {
            return;
        }
        self.pipeline.generator.tick(now, self.steps);
        if self.trigger.per_row() {
            self.step_of_queue(StepKind::Probe, id, out);
        } else if self.trigger.tick(now) {
            self.step_of_queue(self.kind_of_queue(), id, out);
        }
    }

    fn kind_of_queue(&self) -> StepKind {
        if 0 < self.rows_queued { StepKind::Data } else { StepKind::Empty }
    }

    /// A batch ends.
    pub fn batch(&mut self, id: ItemId, out: &mut Output) {
        if !self.ignored_as_stopped(id, out) {
            self.cut(self.trigger.batch(), id, out);
        }
    }

    fn cut(&mut self, cut: Cut, id: ItemId, out: &mut Output) {
        match cut {
            Cut::Ignored => {
                out.ignored.push(Ignored { id, why: IgnoredWhy::TriggerDecides });
            }
            Cut::Whole => self.step_of_queue(self.kind_of_queue(), id, out),
            Cut::WholeAndStop => {
                self.step_of_queue(self.kind_of_queue(), id, out);
                self.stopped = true;
            }
            Cut::Bounded(most) => {
                self.bounded_steps(most, id, out);
                self.stopped = true;
            }
        }
    }

    /// Steps that end after their `most`-th row each; what follows the last row belongs to the last.
    fn bounded_steps(&mut self, most: u64, id: ItemId, out: &mut Output) {
        let most = usize::try_from(most.max(1)).unwrap_or(usize::MAX);
        let queue = std::mem::take(&mut self.queue);
        let kind = self.kind_of_queue();
        let mut left = std::mem::take(&mut self.rows_queued);
        let mut room = most;
        self.pipeline.begin(self.steps, kind, self.now);
        for item in &queue {
            let Queued::Rows(rows) = item else {
                self.take(item, out);
                continue;
            };
            let mut from = 0;
            while from < rows.len() {
                let to = rows.len().min(from.saturating_add(room));
                let mut part = RowBatch::new(rows.columns.len());
                part.extend_from(rows, from..to);
                self.pipeline.rows(&part, out);
                left -= (to - from) as u64;
                room -= to - from;
                from = to;
                if room == 0 && 0 < left {
                    self.finish_step(id, out);
                    self.pipeline.begin(self.steps, StepKind::Data, self.now);
                    room = most;
                }
            }
        }
        self.finish_step(id, out);
    }

    /// The input ends: what is queued is done, then everything closes.
    pub fn end(&mut self, id: ItemId, out: &mut Output) {
        if self.ignored_as_stopped(id, out) {
            return;
        }
        let (cut, ends) = self.trigger.end();
        if !ends || !self.queue.is_empty() {
            self.cut(cut, id, out);
        }
        if ends {
            self.pipeline.begin(self.steps, StepKind::End, self.now);
            self.finish_step(id, out);
            self.stopped = true;
        }
    }

    /// The plan.
    pub const fn plan(&self) -> &CheckedPlan {
        &self.plan
    }

    /// The clock.
    pub const fn now(&self) -> ProcTime {
        self.now
    }

    /// Steps done.
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// Whether the query has ended or stopped.
    pub const fn stopped(&self) -> bool {
        self.stopped
    }

    /// Rows that wait for a step.
    pub const fn rows_queued(&self) -> u64 {
        self.rows_queued
    }

    /// Rows and heartbeats that wait for a step.
    pub fn arrivals_queued(&self) -> u64 {
        let heartbeats = self.queue.iter().filter(|it| matches!(it, Queued::Heartbeat { .. }));
        self.rows_queued + heartbeats.count() as u64
    }

    /// Partitions, in order of their numbers.
    pub fn members(&self) -> &[Member] {
        self.pipeline.generator.members()
    }

    /// c after the last step.
    pub const fn candidate(&self) -> EventTime {
        self.pipeline.generator.candidate()
    }

    /// c*, its running maximum.
    pub const fn candidate_max(&self) -> EventTime {
        self.pipeline.generator.candidate_max()
    }

    /// w after the last step.
    pub const fn watermark(&self) -> EventTime {
        self.pipeline.generator.watermark()
    }

    /// (window, key) groups held, counted now.
    pub fn groups(&self) -> u64 {
        self.pipeline.operator.as_ref().map_or(0, |it| it.groups())
    }

    /// End of the earliest window that has state.
    pub fn oldest_end(&self) -> Option<EventTime> {
        self.pipeline.operator.as_ref().and_then(|it| it.oldest_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{
        Aggregate, Effective, GeneratorPlan, LatePolicy, LateRule, OutputMode, Plan, Sink,
        Trigger as TriggerPlan, WatermarkPlan, WindowPlan, WindowSpec,
    };
    use crate::row::{ColumnIx, ColumnKind, ColumnSpec, Schema};
    use crate::snapshot::RestoreRules;
    use crate::time::Span;

    const START: i64 = 10 * 3_600_000;

    fn at(minutes: i64, seconds: i64) -> Option<i64> {
        Some(START + minutes * 60_000 + seconds * 1_000)
    }

    fn plan(effective: Effective, trigger: TriggerPlan) -> CheckedPlan {
        let column = |name: &str, kind| ColumnSpec { name: name.to_owned(), kind };
        let columns = vec![column("time", ColumnKind::Time), column("k", ColumnKind::Integer)];
        let plan = Plan {
            flow: None,
            schema: Schema { columns },
            watermark: Some(WatermarkPlan {
                column: ColumnIx(0),
                delay: Span::minutes(2),
                generator: GeneratorPlan::GlobalMax,
                effective,
                fallback: None,
                guard: None,
                initial: EventTime::MIN,
            }),
            lineage: Vec::new(),
            operator: Some(WindowPlan {
                time: "time".to_owned(),
                window: WindowSpec {
                    size: Span::minutes(10),
                    slide: Span::minutes(10),
                    offset: Span::ZERO,
                },
                keys: vec![ColumnIx(1)],
                aggregates: vec![Aggregate::Count],
                late: LateRule::Event,
                late_policy: LatePolicy::Drop,
            }),
            output: OutputMode::Append,
            sink: Sink::Append,
            trigger,
        };
        CheckedPlan::new(plan).expect("a good plan").0
    }

    fn row(id: u64, time: Option<i64>) -> RowBatch {
        let mut rows = RowBatch::new(2);
        rows.push(ItemId(id), PartitionId(0), ProcTime(0), &[time, Some(1)]);
        rows
    }

    /// S3 to S5: with two minutes of delay the arrival of 10:12:00 closes 10:00 to 10:10.
    #[test]
    fn the_closing_instant_is_an_arrival_and_what_comes_after_is_not_counted() {
        let plan = plan(Effective::Row, TriggerPlan::Row);
        let mut job = Job::new(plan.clone(), ProcTime(0), 1);
        let mut out = Output::new(&plan);
        job.arrive(&row(1, at(8, 30)), &mut out);
        assert!(out.firings.is_empty());
        job.arrive(&row(2, at(12, 0)), &mut out);
        assert_eq!(out.firings.len(), 1);
        assert_eq!(out.firings[0].window.end, EventTime(START + 600_000));
        out.clear();
        job.arrive(&row(3, at(9, 55)), &mut out);
        let Fate::Late(late) = out.records[0].fate else { panic!("late: {:?}", out.records) };
        assert_eq!(late.in_force.set_by, Some(ItemId(2)));
        assert_eq!(
            late.saving,
            crate::late::Saving::Delay {
                smallest: Span::seconds(125),
                largest: Span::seconds(125)
            }
        );
    }

    #[test]
    fn rows_of_one_batch_do_not_make_one_another_late() {
        let plan = plan(Effective::NextBatch, TriggerPlan::Batch);
        let mut job = Job::new(plan.clone(), ProcTime(0), 1);
        let mut out = Output::new(&plan);
        for (id, time) in [(1, at(12, 0)), (2, at(9, 55))] {
            job.arrive(&row(id, time), &mut out);
        }
        job.batch(ItemId(3), &mut out);
        assert!(out.records.is_empty() && out.firings.is_empty());
        job.batch(ItemId(4), &mut out);
        assert_eq!(out.firings.len(), 1);
    }

    #[test]
    fn a_restored_job_goes_on_as_the_one_that_was_saved() {
        let plan = plan(Effective::BatchAfterNext, TriggerPlan::Batch);
        let mut job = Job::new(plan.clone(), ProcTime(0), 1);
        let mut out = Output::new(&plan);
        job.run_batch(&row(1, at(1, 0)), ItemId(2), &mut out);
        job.run_batch(&row(3, at(30, 0)), ItemId(4), &mut out);
        let bytes = job.snapshot();
        let mut again =
            Job::restore(plan, &bytes, 99, RestoreRules::EXACT).expect("a good snapshot");
        assert_eq!(again.snapshot(), bytes);
        out.clear();
        job.batch(ItemId(5), &mut out);
        let fired: Vec<_> = out.firings.iter().map(|it| it.window).collect();
        out.clear();
        again.batch(ItemId(5), &mut out);
        assert_eq!(out.firings.iter().map(|it| it.window).collect::<Vec<_>>(), fired);
        assert_eq!(fired.len(), 1);
    }
}
