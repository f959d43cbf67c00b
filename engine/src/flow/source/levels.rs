//! Sources whose watermark goes through levels: partitions, tasks, inputs.
//!
//! [`Levels`] has the rules; here stands what a flow asks of any source: rows are counted for their
//! partition, a partition is added when first named, rows of a paused one wait and are read when it
//! resumes. What the watermark was computed from is, for reports, the watermark plus the delay of the
//! input that holds it.
//!
//! Invariant: a row is read once: when it comes, or when its partition resumes, or when all ends.

use crate::late::InForce;
use crate::output::IgnoredWhy;
use crate::plan::flow::{Flow, Mark};
use crate::plan::levels::LevelsPlan;
use crate::plan::{Guard, Plan};
use crate::row::{ItemId, PartitionId, RowBatch};
use crate::time::{EventTime, ProcTime, Span};
use crate::watermark::guard::{self, GuardVerdict};
use crate::watermark::levels::combiner::Promise;
use crate::watermark::levels::waiting::{Behind, Said, Waiting};
use crate::watermark::levels::{Levels, LevelsState, Standing, Steer};
use crate::watermark::member::{Adoption, Change, Member, MemberState};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The levels of a flow, with what waits in front of them.
#[derive(Debug)]
pub struct Leveled {
    levels: Levels,
    /// The watermark of each input.
    marks: Vec<Option<Mark>>,
    guard: Option<Guard>,
    /// The first value of each input's watermark.
    initial: EventTime,
    /// Rows taken from each partition: the offset to read on from.
    rows: BTreeMap<PartitionId, u64>,
    waiting: Waiting,
}

/// What a restart must bring back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LeveledState {
    levels: LevelsState,
    rows: BTreeMap<PartitionId, u64>,
    waiting: Waiting,
}

/// More rows are refused: nobody counts so far, and one more must not overflow.
const ROWS_MAX: u64 = 1 << 62;

impl Leveled {
    /// Before any row, where the plan has levels.
    pub fn new(plan: &Plan, flow: &Flow) -> Option<Self> {
        let levels = flow.levels.as_ref()?;
        let guard = plan.watermark.as_ref().and_then(|it| it.guard);
        let initial = plan.watermark.as_ref().map_or(EventTime::MIN, |it| it.initial);
        let marks = flow.inputs.iter().map(|it| it.marks.first().copied()).collect();
        let levels = Levels::new(levels, &delays(flow), ProcTime(0));
        let (rows, waiting) = (BTreeMap::new(), Waiting::default());
        Some(Self { levels, marks, guard, initial, rows, waiting })
    }

    /// The clock starts.
    pub fn start(&mut self, at: ProcTime) {
        self.levels = self.levels.fresh(at);
    }

    /// The clock went on while nothing ran.
    pub fn wake(&mut self, at: ProcTime) {
        self.levels.wake(at);
    }

    /// What a snapshot keeps.
    pub fn save(&self) -> LeveledState {
        LeveledState {
            levels: self.levels.state().clone(),
            rows: self.rows.clone(),
            waiting: self.waiting.clone(),
        }
    }

    /// Puts what was saved in place.
    ///
    /// # Errors
    /// The sentence of a state that does not fit.
    pub fn load(
        &mut self,
        plan: &LevelsPlan,
        flow: &Flow,
        state: LeveledState,
    ) -> Result<(), String> {
        if let Some((it, rows)) = state.rows.iter().find(|it| ROWS_MAX < *it.1) {
            return Err(format!("partition {} has {rows} rows", it.0));
        }
        self.levels = Levels::load(plan, &delays(flow), state.levels)?;
        (self.rows, self.waiting) = (state.rows, state.waiting);
        Ok(())
    }

    /// Forgets what a restart does not bring back.
    pub fn forget(&mut self, watermark: bool, maxima: bool, idleness: bool, now: ProcTime) {
        self.levels.forget(watermark, maxima, idleness, now);
    }

    /// Whether the plan has this input.
    pub fn has(&self, partition: PartitionId) -> bool {
        partition.input() < self.levels.inputs()
    }

    /// A row comes. True where it has to wait: then it is kept.
    pub fn holds(&mut self, rows: &RowBatch, row: usize) -> bool {
        let partition = rows.partitions[row];
        self.know(partition);
        let paused = self.levels.standing(partition) == Standing::Paused;
        let waits = paused && !self.waiting.ends(partition);
        if waits {
            self.count(partition);
            self.waiting.push(rows, row);
        }
        waits
    }

    /// A partition is added when something first names it.
    fn know(&mut self, partition: PartitionId) {
        if self.has(partition) && self.levels.standing(partition) == Standing::Absent {
            self.levels.add(partition, false);
        }
    }

    fn count(&mut self, partition: PartitionId) {
        *self.rows.entry(partition).or_default() += 1;
    }

    /// A row is read; `again` where it was counted when it began to wait. False where its partition
    /// has ended.
    pub fn take_row(&mut self, partition: PartitionId, again: bool) -> bool {
        if !again {
            self.count(partition);
            if self.waiting.ends(partition) {
                return false;
            }
        }
        self.know(partition);
        self.levels.hear(partition);
        self.levels.standing(partition) != Standing::Finished
    }

    /// How far a partition has come, less the delay.
    pub fn own(&self, partition: PartitionId) -> EventTime {
        let shown = self.levels.partition(partition).map_or(EventTime::MIN, |it| it.max);
        shown - self.levels.delay(partition.input())
    }

    /// The watermark of an input.
    pub fn mark(&self, input: usize) -> Option<Mark> {
        self.marks.get(input).copied().flatten()
    }

    fn column(&self, partition: PartitionId) -> Option<usize> {
        self.mark(partition.input()).map(|it| it.column.0)
    }

    /// What the guard says of a row.
    pub fn guard(
        &self,
        partition: PartitionId,
        cells: impl Fn(usize) -> Option<i64>,
        at: ProcTime,
    ) -> GuardVerdict {
        let time = self.column(partition).and_then(cells);
        time.map_or(GuardVerdict::Pass, |it| guard::judge(self.guard, EventTime(it), at))
    }

    /// A row shows its time; `null` is what a missing one counts as.
    pub fn show(
        &mut self,
        partition: PartitionId,
        cells: impl Fn(usize) -> Option<i64>,
        null: Option<i64>,
        id: ItemId,
    ) {
        let Some(column) = self.column(partition) else { return };
        if let Some(time) = cells(column).or(null) {
            self.levels.observe(partition, EventTime(time), id);
        }
    }

    /// A heartbeat.
    ///
    /// # Errors
    /// Why it does not count.
    pub fn heartbeat(
        &mut self,
        partition: PartitionId,
        time: EventTime,
        id: ItemId,
        at: ProcTime,
    ) -> Result<(), IgnoredWhy> {
        if !self.has(partition) {
            return Err(IgnoredWhy::NoSuchInput);
        }
        self.know(partition);
        if self.has_ended(partition) {
            return Err(IgnoredWhy::PartitionFinished);
        }
        if !time.is_legal() || guard::judge(self.guard, time, at) != GuardVerdict::Pass {
            self.levels.hear(partition);
            return Err(IgnoredWhy::HeartbeatGuarded);
        }
        self.say(Behind { partition, id, what: Said::Time(time) });
        Ok(())
    }

    /// Whether nothing more is taken of a partition, though what waits may still be read.
    fn has_ended(&self, partition: PartitionId) -> bool {
        self.levels.standing(partition) == Standing::Finished || self.waiting.ends(partition)
    }

    /// Something other than a row comes: it waits where its partition does.
    fn say(&mut self, it: Behind) {
        let paused = self.levels.standing(it.partition) == Standing::Paused;
        if paused && (self.waiting.has(it.partition) || it.what != Said::End) {
            self.waiting.push_behind(it);
        } else {
            self.read(it);
        }
    }

    /// Something other than a row is read.
    pub fn read(&mut self, it: Behind) {
        match it.what {
            Said::Time(time) => {
                self.levels.hear(it.partition);
                self.levels.observe(it.partition, time, it.id);
            }
            Said::End => {
                self.levels.finish(it.partition);
            }
        }
    }

    /// A change of partitions.
    ///
    /// # Errors
    /// Why it makes no sense here.
    pub fn change(&mut self, change: Change, id: ItemId) -> Result<(), IgnoredWhy> {
        let partition = change.partition();
        if !self.has(partition) {
            return Err(IgnoredWhy::NoSuchInput);
        }
        let standing = self.levels.standing(partition);
        let ended = self.has_ended(partition);
        match (change, standing) {
            (Change::Add(..), Standing::Reading | Standing::Paused | Standing::Finished) => {
                return Err(IgnoredWhy::PartitionExists);
            }
            (Change::Move(..) | Change::Finish(_), _) if ended => {
                return Err(IgnoredWhy::PartitionFinished);
            }
            (Change::Remove(_) | Change::Move(..) | Change::Finish(_), Standing::Absent) => {
                return Err(IgnoredWhy::NoSuchPartition);
            }
            (Change::Add(_, adoption), Standing::Absent) => {
                self.levels.add(partition, adoption == Adoption::AtGroup);
            }
            (Change::Move(_, Adoption::WithWatermark), _) => {}
            (Change::Move(_, adoption), _) => {
                self.levels.remove(partition);
                self.levels.add(partition, adoption == Adoption::AtGroup);
            }
            (Change::Remove(_), _) => {
                self.levels.remove(partition);
                self.waiting.take_back_end(partition);
                self.rows.remove(&partition);
            }
            (Change::Finish(_), _) => self.say(Behind { partition, id, what: Said::End }),
        }
        Ok(())
    }

    /// Something from outside that is no change of partitions.
    ///
    /// # Errors
    /// Why it makes no sense here.
    pub fn steer(&mut self, steer: Steer) -> Result<(), IgnoredWhy> {
        match steer {
            Steer::Limit(limit) => self.levels.announce(limit),
            Steer::Press { input, task, on } => {
                if !self.levels.press(input, task, on) {
                    return Err(IgnoredWhy::NoSuchTask);
                }
            }
        }
        Ok(())
    }

    /// The clock goes on, at most to `now`; where it stands already, that is a probe. Says where it
    /// has come to.
    pub fn tick(&mut self, now: ProcTime) -> ProcTime {
        if now <= self.levels.now() {
            self.levels.probe();
        } else {
            self.levels.advance(now);
        }
        self.levels.now()
    }

    /// What may be read that waited; all of it where `all` ends. What belongs to a partition that was
    /// taken away waits for its return.
    pub fn release(&mut self, all: bool) -> Option<(RowBatch, Vec<Behind>)> {
        if self.waiting.is_empty() {
            return None;
        }
        let levels = &self.levels;
        let waits = |it| matches!(levels.standing(it), Standing::Paused | Standing::Absent);
        let (rows, behind) = self.waiting.release(|it| all || !waits(it));
        (!rows.is_empty() || !behind.is_empty()).then_some((rows, behind))
    }

    /// The input ends.
    pub fn end(&mut self) {
        self.levels.end();
    }

    /// The operator's watermark, with where it comes from.
    pub fn in_force(&self, step: u64) -> InForce {
        let promise = self.levels.promise();
        let holds = |it: &usize| self.levels.input(*it) == Some(promise);
        let input = (0..self.levels.inputs()).find(holds).unwrap_or(0);
        self.of(promise, input, step)
    }

    /// The watermark of one input.
    pub fn of_side(&self, input: usize, step: u64) -> InForce {
        let promise = self.levels.input(input).unwrap_or(Promise::NONE);
        if promise.watermark <= self.initial {
            return InForce::initial(self.initial);
        }
        self.of(promise, input, step)
    }

    fn of(&self, promise: Promise, input: usize, step: u64) -> InForce {
        InForce {
            watermark: promise.watermark,
            candidate: promise.watermark + self.levels.delay(input),
            set_by: promise.set_by,
            since_step: step,
            fallback: None,
        }
    }

    /// Whether the operator is idle.
    pub const fn is_idle(&self) -> bool {
        self.levels.is_idle()
    }

    /// The levels themselves, for reading.
    pub const fn levels(&self) -> &Levels {
        &self.levels
    }

    /// What waits, for reading.
    pub const fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// Partitions, in order of their numbers.
    pub fn members(&self) -> Vec<Member> {
        let now = self.levels.now();
        let rows = |it: &PartitionId| self.rows.get(it).copied().unwrap_or(0);
        let mut members = Vec::new();
        for task in (0..self.levels.inputs()).flat_map(|it| self.levels.tasks(it)) {
            for (at, it) in task.partitions().iter().enumerate() {
                let state = if task.told(at).0 { MemberState::Idle } else { MemberState::Active };
                let (max, max_set_by, rows) = (it.max, it.max_set_by, rows(&it.id));
                let new = Member::new(it.id, now);
                members.push(Member { max, max_set_by, state, rows, ..new });
            }
        }
        members.extend(self.levels.finished().iter().map(|it| Member {
            state: MemberState::Finished,
            rows: rows(it),
            ..Member::new(*it, now)
        }));
        members.sort_by_key(|it| it.partition);
        members
    }
}

fn delays(flow: &Flow) -> Vec<Span> {
    let first = flow.inputs.iter().map(|it| it.marks.first());
    first.map(|it| it.map_or(Span::ZERO, |it| it.delay)).collect()
}
