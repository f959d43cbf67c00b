//! Watermarks over several levels, moved by probes: partitions, tasks, inputs.
//!
//! Rows only raise maxima. At a probe every task judges the silence of its partitions, combines them
//! and tells its input; the input combines its tasks and tells the operator, which combines its
//! inputs. One combiner ([`combiner`]) serves all three, with rules of its own at each level. Probes are
//! asked for or fall due at multiples of an interval, as samples for alignment do ([`alignment`]);
//! what falls due while the clock jumps happens in order of time, a probe before a sample.
//!
//! A partition that is far ahead is paused, and so may be a whole task: [`Levels::standing`] says so,
//! and its rows wait in the source ([`waiting`]). Silence does not count meanwhile ([`silence`]).
//!
//! The same story ends differently with two partitions in one task and in two, because the levels
//! differ in what becomes of a member that wakes behind (flink-rules 2).
//!
//! Readings: a partition that ends leaves its combination, so it has no part in a flush; the end of a
//! partition whose rows wait comes behind them. Between two changes a probe that found nothing new is
//! not repeated until a silence runs out, so a clock that jumps far costs nothing.
//!
//! Invariant: no level's watermark falls, except where a restart forgets it; it moves at probes, at the
//! end of a task and nowhere else. Source: flink-rules 1 to 4, semantics 2.7, 2.8, 14.

pub mod alignment;
pub mod combiner;
pub mod silence;
pub mod task;
pub mod waiting;

use crate::plan::levels::{LevelsPlan, Limit};
use crate::row::{ItemId, PartitionId};
use crate::time::{EventTime, ProcTime, Span};
use alignment::Alignment;
use combiner::{Combiner, Progress, Promise};
use serde::{Deserialize, Serialize};
use silence::Silence;
use task::{Partition, Task};

/// The watermarks of all inputs of one operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Levels {
    plan: LevelsPlan,
    /// The delay of each input.
    delays: Vec<Span>,
    state: LevelsState,
}

/// What a restart must bring back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LevelsState {
    now: ProcTime,
    /// From when the multiples of intervals count.
    started: ProcTime,
    limit: EventTime,
    inputs: Vec<Input>,
    /// The inputs' own combination.
    combiner: Combiner,
    finished: Vec<PartitionId>,
    /// Whether the last probe, the last sample found nothing new.
    settled: [bool; 2],
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Input {
    tasks: Vec<Task>,
    combiner: Combiner,
}

/// Something from outside that is no row, tick or change of partitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Steer {
    /// A new limit of alignment for everybody.
    Limit(EventTime),
    /// A task is (no longer) kept from writing.
    Press {
        /// Of which input.
        input: usize,
        /// Which one.
        task: usize,
        /// Whether it is.
        on: bool,
    },
}

/// Where a partition stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It is not there.
    Absent,
    /// It is read.
    Reading,
    /// It is paused, or its task is blocked: its rows wait.
    Paused,
    /// It has ended.
    Finished,
}

const PROBE: usize = 0;
const SAMPLE: usize = 1;

impl Levels {
    /// No partitions yet; one delay per input.
    pub fn new(plan: &LevelsPlan, delays: &[Span], now: ProcTime) -> Self {
        let mut combiner = Combiner::new(false);
        delays.iter().for_each(|_| combiner.add(plan.rules.inputs));
        let input = Input { tasks: Vec::new(), combiner: Combiner::new(false) };
        let state = LevelsState {
            now,
            started: now,
            limit: EventTime::MAX,
            inputs: vec![input; delays.len()],
            combiner,
            finished: Vec::new(),
            settled: [false; 2],
        };
        let mut levels = Self { plan: plan.clone(), delays: delays.to_vec(), state };
        for (input, tasks) in plan.tasks.iter().enumerate().take(delays.len()) {
            levels.grow(input, *tasks as usize);
        }
        levels
    }

    /// The same plan, before any row, with a clock that starts here.
    #[must_use]
    pub fn fresh(&self, now: ProcTime) -> Self {
        Self::new(&self.plan, &self.delays, now)
    }

    /// The same plan, from a snapshot.
    ///
    /// # Errors
    /// Why the state does not fit the plan.
    pub fn load(plan: &LevelsPlan, delays: &[Span], state: LevelsState) -> Result<Self, String> {
        if state.inputs.len() != delays.len() {
            return Err(format!("{} inputs, {} have a delay", state.inputs.len(), delays.len()));
        }
        let shaped = state.combiner.members().len() == delays.len()
            && state.inputs.iter().all(|it| it.combiner.members().len() == it.tasks.len())
            && state.inputs.iter().flat_map(|it| &it.tasks).all(Task::is_whole);
        if !shaped {
            return Err("a combination and its members differ in number".to_owned());
        }
        Ok(Self { plan: plan.clone(), delays: delays.to_vec(), state })
    }

    /// What a snapshot keeps.
    pub const fn state(&self) -> &LevelsState {
        &self.state
    }

    /// Forgets what a restart does not bring back: every watermark (and with it limits, samples and
    /// ends), what partitions have shown, who is idle. Intervals count from now on.
    pub fn forget(&mut self, watermarks: bool, maxima: bool, idleness: bool, now: ProcTime) {
        let state = &mut self.state;
        state.combiner.forget(watermarks, idleness, false);
        for input in &mut state.inputs {
            input.combiner.forget(watermarks, idleness, false);
            for task in &mut input.tasks {
                task.forget(watermarks, maxima, idleness, now);
            }
        }
        state.now = now;
        if watermarks {
            (state.started, state.limit) = (now, EventTime::MAX);
        }
        if watermarks || maxima || idleness {
            state.settled = [false; 2];
        }
    }

    /// The clock went on while nothing ran: that was nobody's silence, and intervals count from now.
    pub fn wake(&mut self, now: ProcTime) {
        let state = &mut self.state;
        for task in state.inputs.iter_mut().flat_map(|it| &mut it.tasks) {
            task.excuse(now.since(state.now));
        }
        (state.now, state.started, state.settled) = (now, now, [false; 2]);
    }

    /// The operator's watermark.
    pub const fn promise(&self) -> Promise {
        self.state.combiner.promise()
    }

    /// Whether the operator is idle: nobody is left who could move its watermark.
    pub const fn is_idle(&self) -> bool {
        self.state.combiner.is_taken_for_idle()
    }

    /// The clock.
    pub const fn now(&self) -> ProcTime {
        self.state.now
    }

    /// How many inputs there are.
    pub const fn inputs(&self) -> usize {
        self.delays.len()
    }

    /// The delay of an input.
    pub fn delay(&self, input: usize) -> Span {
        self.delays.get(input).copied().unwrap_or(Span::ZERO)
    }

    /// What a partition has shown that is there.
    pub fn partition(&self, partition: PartitionId) -> Option<&Partition> {
        let (input, task, at) = self.find(partition)?;
        self.state.inputs[input].tasks[task].partitions().get(at)
    }

    /// The partitions that have ended.
    pub fn finished(&self) -> &[PartitionId] {
        &self.state.finished
    }

    /// The tasks of an input.
    pub fn tasks(&self, input: usize) -> &[Task] {
        self.state.inputs.get(input).map_or(&[], |it| &it.tasks)
    }

    /// The watermark of an input.
    pub fn input(&self, input: usize) -> Option<Promise> {
        self.state.inputs.get(input).map(|it| it.combiner.promise())
    }

    /// Where a partition stands.
    pub fn standing(&self, partition: PartitionId) -> Standing {
        match self.find(partition) {
            Some((input, task, at)) if self.state.inputs[input].tasks[task].holds(at) => {
                Standing::Paused
            }
            Some(_) => Standing::Reading,
            None if self.state.finished.contains(&partition) => Standing::Finished,
            None => Standing::Absent,
        }
    }

    fn find(&self, partition: PartitionId) -> Option<(usize, usize, usize)> {
        let (input, task) = place(partition);
        let at = self.state.inputs.get(input)?.tasks.get(task)?.find(partition)?;
        Some((input, task, at))
    }

    fn grow(&mut self, input: usize, tasks: usize) {
        let now = self.state.now;
        let input = &mut self.state.inputs[input];
        while input.tasks.len() < tasks {
            input.tasks.push(Task::new(now));
            input.combiner.add(self.plan.rules.tasks);
        }
    }

    /// A partition comes, with nothing shown (or, taken to be as far as its task, with that): it stalls
    /// its task until it has caught up. False where it is there already or has no input.
    pub fn add(&mut self, partition: PartitionId, as_far_as_its_task: bool) -> bool {
        let (input, task) = place(partition);
        if self.state.inputs.len() <= input || self.find(partition).is_some() {
            return false;
        }
        self.grow(input, task + 1);
        self.state.finished.retain(|it| *it != partition);
        let promise = self.state.inputs[input].tasks[task].promise();
        let shown = if as_far_as_its_task { promise } else { Promise::NONE };
        let new = Partition {
            id: partition,
            max: shown.watermark + self.delays[input],
            max_set_by: shown.set_by,
            silence: Silence::new(self.state.now),
            alignment: Alignment::default(),
        };
        self.state.inputs[input].tasks[task].add(&self.plan, new);
        self.state.settled = [false; 2];
        true
    }

    /// A partition is taken away; its task hears of it at the next probe. False where it is not there.
    pub fn remove(&mut self, partition: PartitionId) -> bool {
        let known = self.standing(partition) != Standing::Absent;
        if let Some((input, task, at)) = self.find(partition) {
            self.state.inputs[input].tasks[task].remove(at);
            self.state.settled = [false; 2];
        }
        self.state.finished.retain(|it| *it != partition);
        known
    }

    /// A partition will send nothing more. The end of the last one of a task is heard at once. False
    /// where it is not there.
    pub fn finish(&mut self, partition: PartitionId) -> bool {
        let found = self.find(partition);
        if let Some((input, task, at)) = found {
            let progress = self.state.inputs[input].tasks[task].finish(&self.plan, at);
            self.state.finished.push(partition);
            self.tell(input, task, progress);
            self.state.settled = [false; 2];
        }
        found.is_some()
    }

    /// All partitions end, and all tasks, the idle ones and those without partitions as well.
    pub fn end(&mut self) {
        for input in 0..self.state.inputs.len() {
            for task in 0..self.state.inputs[input].tasks.len() {
                let it = &mut self.state.inputs[input].tasks[task];
                self.state.finished.extend(it.partitions().iter().map(|it| it.id));
                let progress = it.end();
                self.tell(input, task, progress);
            }
        }
    }

    /// Something of a partition that is there is read: it is not silent.
    pub fn hear(&mut self, partition: PartitionId) {
        if let Some((input, task, at)) = self.find(partition) {
            let now = self.state.now;
            self.state.inputs[input].tasks[task].hear(at, now);
            self.state.settled = [false; 2];
        }
    }

    /// Takes notice of an event time that was read; a row is judged by the watermark there was before.
    pub fn observe(&mut self, partition: PartitionId, time: EventTime, id: ItemId) {
        if let Some((input, task, at)) = self.find(partition) {
            self.state.inputs[input].tasks[task].observe(at, time, id);
            self.state.settled = [false; 2];
        }
    }

    /// A task is (no longer) kept from writing. False where there is no such task.
    pub fn press(&mut self, input: usize, task: usize, on: bool) -> bool {
        let found = self.state.inputs.get_mut(input).and_then(|it| it.tasks.get_mut(task));
        let Some(found) = found else { return false };
        found.pressed = on;
        self.state.settled = [false; 2];
        true
    }

    /// A new limit for everybody.
    pub fn announce(&mut self, limit: EventTime) {
        self.state.limit = limit;
        for task in self.state.inputs.iter_mut().flat_map(|it| &mut it.tasks) {
            task.align(&self.plan, limit);
        }
        self.state.settled = [false; 2];
    }

    /// Every task tells its input how far it is.
    pub fn probe(&mut self) {
        let before = self.state.inputs.clone();
        for input in 0..self.state.inputs.len() {
            for task in 0..self.state.inputs[input].tasks.len() {
                let (limit, now) = (self.state.limit, self.state.now);
                let it = &mut self.state.inputs[input].tasks[task];
                let progress = it.probe(&self.plan, self.delays[input], limit, now);
                self.tell(input, task, progress);
            }
        }
        let same = before == self.state.inputs;
        self.state.settled = [same, same && self.state.settled[SAMPLE]];
    }

    /// What a task tells goes up, level by level.
    fn tell(&mut self, input: usize, task: usize, progress: Progress) {
        for news in progress.news() {
            let combiner = &mut self.state.inputs[input].combiner;
            combiner.hear(task, news, self.plan.rules.tasks);
            for news in combiner.combine(self.plan.rules.tasks).news() {
                self.state.combiner.hear(input, news, self.plan.rules.inputs);
                self.state.combiner.combine(self.plan.rules.inputs);
            }
        }
    }

    fn sample(&mut self) {
        let before = self.state.inputs.clone();
        for task in self.state.inputs.iter_mut().flat_map(|it| &mut it.tasks) {
            task.sample(&self.plan);
        }
        if let Some(Limit::Drift(drift)) = self.plan.alignment.map(|it| it.limit) {
            let tasks = self.state.inputs.iter().flat_map(|it| &it.tasks);
            let reports = tasks.filter(|it| !it.has_ended() && !it.is_idle());
            let told = reports.map(|it| it.promise().watermark).filter(|it| it.is_finite());
            self.state.limit = told.min().map_or(EventTime::MAX, |it| it + drift);
        }
        for task in self.state.inputs.iter_mut().flat_map(|it| &mut it.tasks) {
            task.align(&self.plan, self.state.limit);
        }
        let same = before == self.state.inputs;
        self.state.settled = [same && self.state.settled[PROBE], same];
    }

    /// The clock goes on, at most to `until`: to the next instant at which a probe or a sample falls
    /// due, which then happen. False once it has arrived. The caller reads what was resumed, and
    /// lets the operator see the watermark, after each call.
    pub fn advance(&mut self, until: ProcTime) -> bool {
        let now = self.state.now;
        if until <= now {
            return false;
        }
        let probe = self.due(PROBE).filter(|it| *it <= until);
        let sample = self.due(SAMPLE).filter(|it| *it <= until);
        let to = probe.into_iter().chain(sample).min().unwrap_or(until);
        for task in self.state.inputs.iter_mut().flat_map(|it| &mut it.tasks) {
            task.stand(to.since(now));
        }
        self.state.now = to;
        if probe == Some(to) {
            self.probe();
        }
        if sample == Some(to) {
            self.sample();
        }
        to < until
    }

    /// The next multiple of an interval at which something can happen.
    fn due(&self, kind: usize) -> Option<ProcTime> {
        let state = &self.state;
        let interval = match kind {
            PROBE => self.plan.emission?,
            _ => self.plan.alignment?.update,
        };
        let mut after = state.now;
        if state.settled[kind] {
            if kind == SAMPLE {
                return None;
            }
            let tasks = state.inputs.iter().flat_map(|it| &it.tasks);
            after = after + tasks.filter_map(|it| it.left(&self.plan, after)).min()?;
        }
        let elapsed = after.since(state.started).0;
        let interval = interval.0.max(1);
        let multiple = (elapsed / interval).checked_add(1)?.checked_mul(interval)?;
        Some(state.started + Span(multiple)).filter(|it| state.now < *it)
    }
}

/// The input and the task of a partition.
const fn place(partition: PartitionId) -> (usize, usize) {
    (partition.input(), partition.task() as usize)
}

#[cfg(test)]
mod tests;
