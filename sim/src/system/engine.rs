//! Our own engine behind the seam.
//!
//! Invariant: nothing is added and nothing is left out; each call is one call of [`Job`].

use crate::system::{System, View};
use crate::trace::Trace;
use plimsoll_engine::flow::source::levels::Leveled;
use plimsoll_engine::job::Job;
use plimsoll_engine::output::Output;
use plimsoll_engine::plan::check::CheckedPlan;
use plimsoll_engine::plan::problem::Problem;
use plimsoll_engine::row::{ItemId, PartitionId, RowBatch};
use plimsoll_engine::snapshot::RestoreRules;
use plimsoll_engine::time::{EventTime, ProcTime};
use plimsoll_engine::watermark::levels::{Standing, Steer};
use plimsoll_engine::watermark::member::{Change, Member};

/// The engine under test.
#[derive(Debug)]
pub struct Engine {
    plan: CheckedPlan,
    clock: ProcTime,
    hash_seed: u64,
    job: Job,
    rules: RestoreRules,
    /// Whether counting groups is cheap: every window is one slice.
    shallow: bool,
}

impl Engine {
    /// A fresh engine for a trace.
    ///
    /// # Errors
    /// Everything that is wrong with the plan.
    pub fn new(trace: &Trace, hash_seed: u64) -> Result<Self, Vec<Problem>> {
        let (plan, _) = CheckedPlan::new(trace.plan.clone())?;
        Ok(Self::with_plan(plan, trace.clock, hash_seed))
    }

    /// A fresh engine under a plan of its own.
    pub fn with_plan(plan: CheckedPlan, clock: ProcTime, hash_seed: u64) -> Self {
        let job = Job::new(plan.clone(), clock, hash_seed);
        let shallow = plan.operator.as_ref().is_none_or(|it| it.window.size <= it.window.slide);
        Self { plan, clock, hash_seed, job, rules: RestoreRules::EXACT, shallow }
    }

    /// The same engine with a restart that forgets.
    #[must_use]
    pub fn with_rules(self, rules: RestoreRules) -> Self {
        Self { rules, ..self }
    }

    fn resume(&mut self, bytes: &[u8], rules: RestoreRules) -> Result<(), String> {
        let resumed = Job::restore(self.plan.clone(), bytes, self.hash_seed, rules);
        self.job = resumed.map_err(|it| it.to_string())?;
        Ok(())
    }

    fn paused(&self) -> u64 {
        let Some(levels) = self.job.levels().map(Leveled::levels) else { return 0 };
        let paused = |it: &&Member| levels.standing(it.partition) == Standing::Paused;
        self.job.members().iter().filter(paused).count() as u64
    }

    /// The job itself, for reading.
    pub const fn job(&self) -> &Job {
        &self.job
    }
}

impl System for Engine {
    fn arrive(&mut self, rows: &RowBatch, out: &mut Output) {
        self.job.arrive(rows, out);
    }

    fn heartbeat(
        &mut self,
        id: ItemId,
        partition: PartitionId,
        time: EventTime,
        at: ProcTime,
        out: &mut Output,
    ) {
        self.job.heartbeat(id, partition, time, at, out);
    }

    fn tick(&mut self, id: ItemId, now: ProcTime, out: &mut Output) {
        self.job.tick(id, now, out);
    }

    fn change(&mut self, id: ItemId, change: Change, at: ProcTime, out: &mut Output) {
        self.job.change(id, change, at, out);
    }

    fn steer(&mut self, id: ItemId, steer: Steer, out: &mut Output) {
        self.job.steer(id, steer, out);
    }

    fn batch(&mut self, id: ItemId, out: &mut Output) {
        self.job.batch(id, out);
    }

    fn end(&mut self, id: ItemId, out: &mut Output) {
        self.job.end(id, out);
    }

    fn snapshot(&self) -> Vec<u8> {
        self.job.snapshot()
    }

    fn restore(&mut self, snapshot: Option<&[u8]>) -> Result<(), String> {
        match snapshot {
            None => self.job = Job::new(self.plan.clone(), self.clock, self.hash_seed),
            Some(bytes) => self.resume(bytes, self.rules)?,
        }
        Ok(())
    }

    fn restart(&mut self, rules: RestoreRules) -> Result<(), String> {
        self.resume(&self.snapshot(), rules.and(self.rules))
    }

    fn view(&self, deep: bool) -> View<'_> {
        View {
            now: self.job.now(),
            steps: self.job.steps(),
            members: self.job.members(),
            candidate: self.job.candidate(),
            candidate_max: self.job.candidate_max(),
            watermark: self.job.watermark(),
            arrivals_queued: self.job.arrivals_queued(),
            groups: (deep || self.shallow).then(|| self.job.groups()),
            oldest_end: self.job.oldest_end(),
            stopped: self.job.stopped(),
            paused: self.paused(),
            sources: self.job.sources(),
        }
    }
}
