//! The job: a query that runs, as a passive state machine.
//!
//! Arrivals, ticks and changes of partitions go in; a queue holds them until the trigger begins a
//! step; firings, fates and records come out. Arrival is activity at once; everything else happens
//! in order when a step takes it. The caller supplies every instant: nothing here reads a clock.
//!
//! Invariant: the job is a function of its calls. Two jobs that saw the same calls are equal,
//! whatever the seed of their hashers.

pub(crate) mod query;

use crate::flow::source::Sources;
use crate::flow::source::levels::Leveled;
use crate::output::{Fate, Ignored, IgnoredWhy, Output, RowRecord, StepKind};
use crate::plan::check::CheckedPlan;
use crate::row::{Dictionary, ItemId, PartitionId, RowBatch};
use crate::time::{EventTime, ProcTime};
use crate::trigger::{Cut, Trigger};
use crate::watermark::levels::Steer;
use crate::watermark::member::{Change, Member};
use query::Query;

/// A running query.
#[derive(Debug)]
pub struct Job {
    pub(crate) plan: CheckedPlan,
    pub(crate) query: Query,
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
    Steer { id: ItemId, steer: Steer },
}

impl Job {
    /// A job whose clock starts at `start`. `hash_seed` never shows in anything that comes out.
    pub fn new(plan: CheckedPlan, start: ProcTime, hash_seed: u64) -> Self {
        let mut query = Query::new(&plan, hash_seed);
        query.start(start);
        Self {
            query,
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
                self.follow_up(rows.ids[0], out);
                return;
            }
            let mut one = RowBatch::new(rows.columns.len());
            for row in 0..rows.len() {
                one.clear();
                one.extend_from(rows, row..row + 1);
                self.hear(&one);
                self.step_of_rows(&one, one.ids[0], out);
                self.follow_up(one.ids[0], out);
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
            self.follow_up(id, out);
        } else {
            self.arrive(rows, out);
            self.batch(id, out);
        }
    }

    fn hear(&mut self, rows: &RowBatch) {
        if self.query.hears() {
            for (partition, at) in rows.partitions.iter().zip(&rows.arrivals) {
                self.query.hear(*partition, *at);
            }
        }
    }

    fn step_of_rows(&mut self, rows: &RowBatch, id: ItemId, out: &mut Output) {
        self.query.begin(self.steps, StepKind::Data, self.now);
        self.query.rows(rows, out);
        self.finish_step(id, out);
    }

    fn finish_step(&mut self, id: ItemId, out: &mut Output) {
        self.query.finish(id, out);
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
        self.query.hear(partition, at);
        self.enqueue(Queued::Heartbeat { id, partition, time, at }, id, out);
    }

    /// Partitions change.
    pub fn change(&mut self, id: ItemId, change: Change, at: ProcTime, out: &mut Output) {
        if !self.ignored_as_stopped(id, out) {
            self.enqueue(Queued::Change { id, change, at }, id, out);
        }
    }

    /// Something from outside that is no row, tick or change of partitions. Without levels of
    /// combination it is ignored at once.
    pub fn steer(&mut self, id: ItemId, steer: Steer, out: &mut Output) {
        if self.ignored_as_stopped(id, out) {
            return;
        }
        if self.query.levels().is_some() {
            self.enqueue(Queued::Steer { id, steer }, id, out);
        } else {
            out.ignored.push(Ignored { id, why: IgnoredWhy::NoLevels });
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
        self.query.begin(self.steps, kind, self.now);
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
                self.query.rows(rows, out);
                return;
            }
            Queued::Heartbeat { id, partition, time, at } => {
                (id, self.query.heartbeat(*partition, *time, *id, *at, out))
            }
            Queued::Change { id, change, at } => (id, self.query.change(*change, *id, *at, out)),
            Queued::Steer { id, steer } => (id, self.query.steer(*steer)),
        };
        if let Err(why) = taken {
            out.ignored.push(Ignored { id: *id, why });
        }
    }

    /// The clock has moved to `now`: idleness is judged, then the trigger asked. Where a watermark
    /// goes through levels, each instant on the way at which something falls due is a step.
    pub fn tick(&mut self, id: ItemId, now: ProcTime, out: &mut Output) {
        assert!(self.now <= now, "processing time ran backwards");
        if self.ignored_as_stopped(id, out) {
            self.now = now;
            return;
        }
        loop {
            self.now = self.query.tick(now, self.steps);
            if self.trigger.per_row() {
                self.step_of_queue(StepKind::Probe, id, out);
            }
            if self.now == now {
                break;
            }
        }
        if self.trigger.per_row() {
            return;
        }
        if self.trigger.tick(now) {
            self.step_of_queue(self.kind_of_queue(), id, out);
            self.follow_up(id, out);
        }
    }

    /// The clock went on to `at` while nothing ran, between a restore and the first call: that was
    /// nobody's silence. Intervals of emissions count from here.
    pub fn wake(&mut self, at: ProcTime) {
        assert!(self.now <= at, "processing time ran backwards");
        self.query.wake(at, at.since(self.now));
        self.now = at;
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
            Cut::Whole => {
                self.step_of_queue(self.kind_of_queue(), id, out);
                self.follow_up(id, out);
            }
            Cut::WholeAndStop => {
                self.step_of_queue(self.kind_of_queue(), id, out);
                self.follow_up(id, out);
                self.stopped = true;
            }
            Cut::Bounded(most) => {
                self.bounded_steps(most, id, out);
                self.follow_up(id, out);
                self.stopped = true;
            }
        }
    }

    /// Steps without data, as long as the query asks for one.
    fn follow_up(&mut self, id: ItemId, out: &mut Output) {
        while self.query.asks() {
            self.query.begin(self.steps, StepKind::Empty, self.now);
            self.finish_step(id, out);
        }
    }

    /// Steps that end after their `most`-th row each; what follows the last row belongs to the last.
    fn bounded_steps(&mut self, most: u64, id: ItemId, out: &mut Output) {
        let most = usize::try_from(most.max(1)).unwrap_or(usize::MAX);
        let queue = std::mem::take(&mut self.queue);
        let kind = self.kind_of_queue();
        let mut left = std::mem::take(&mut self.rows_queued);
        let mut room = most;
        self.query.begin(self.steps, kind, self.now);
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
                self.query.rows(&part, out);
                left -= (to - from) as u64;
                room -= to - from;
                from = to;
                if room == 0 && 0 < left {
                    self.finish_step(id, out);
                    self.query.begin(self.steps, StepKind::Data, self.now);
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
            self.query.begin(self.steps, StepKind::End, self.now);
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
        self.query.members()
    }

    /// c after the last step.
    pub fn candidate(&self) -> EventTime {
        self.query.candidate()
    }

    /// c*, its running maximum.
    pub fn candidate_max(&self) -> EventTime {
        self.query.candidate_max()
    }

    /// w after the last step.
    pub fn watermark(&self) -> EventTime {
        self.query.watermark()
    }

    /// What each stage of a flow holds, per side of a join.
    pub fn held(&self) -> Vec<[u64; 2]> {
        self.query.held()
    }

    /// The levels of combination, where the plan has them.
    pub fn levels(&self) -> Option<&Leveled> {
        self.query.levels()
    }

    /// The inputs of a flow with their watermarks.
    pub fn sources(&self) -> Option<&Sources> {
        self.query.sources()
    }

    /// (window, key) groups held, counted now.
    pub fn groups(&self) -> u64 {
        self.query.groups()
    }

    /// End of the earliest window that has state.
    pub fn oldest_end(&self) -> Option<EventTime> {
        self.query.oldest_end()
    }
}

#[cfg(test)]
mod tests;
