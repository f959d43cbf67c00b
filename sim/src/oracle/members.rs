//! The partitions, and the candidate c as a plain function of them.
//!
//! A partition has shown its largest time; it is active, idle or finished; one that returned behind
//! the others may be unaligned. c is computed anew from all of them, each time it is asked for: the
//! maximum over everything seen (G1), or the minimum over those that count (G2).
//!
//! Readings: a partition that a row or heartbeat names for the first time counts at once, whatever
//! `rejoin` says. Its last activity is the arrival of that item, also where more of its items wait.
//! Several unaligned partitions are compared with the same bar, so their order does not matter.
//! `at_group` is otherwise like `without_watermark`, and the same where c* is not finite. An idle
//! partition can be aligned at the end of a step too; one that returns with m_p >= c is aligned.
//! Where nobody else counts an unaligned one has caught up once it has reached the last c.
//!
//! Invariant: c is a function of the members, the rows seen and the c before; the delay is not
//! known here. Source: semantics 2.1, 2.2, 12, 14.

use plimsoll_engine::output::IgnoredWhy;
use plimsoll_engine::plan::restore::{Memory, RestoreRules};
use plimsoll_engine::plan::{AllIdle, GeneratorPlan, IdlePlan, Rejoin};
use plimsoll_engine::row::{ItemId, PartitionId};
use plimsoll_engine::time::{EventTime, ProcTime};
use plimsoll_engine::watermark::member::{Adoption, Member, MemberState};

/// All partitions that exist.
#[derive(Debug)]
pub(super) struct Members {
    all: Vec<Member>, // In order of their numbers.
    generator: Option<GeneratorPlan>,
    top: EventTime, // Over all rows that count, whatever happened to their partitions.
    top_set_by: Option<ItemId>,
    candidate: EventTime,
}

impl Members {
    pub(super) const fn new(generator: Option<GeneratorPlan>) -> Self {
        let (top, candidate) = (EventTime::MIN, EventTime::MIN);
        Self { all: Vec::new(), generator, top, top_set_by: None, candidate }
    }

    pub(super) fn all(&self) -> &[Member] {
        &self.all
    }

    /// The c that was computed last.
    pub(super) const fn candidate(&self) -> EventTime {
        self.candidate
    }

    pub(super) fn is_finished(&self, partition: PartitionId) -> bool {
        self.find(partition).is_ok_and(|at| self.all[at].state == MemberState::Finished)
    }

    /// An arrival is activity, from its very instant.
    pub(super) fn arrive(&mut self, partition: PartitionId, now: ProcTime) {
        let Ok(at) = self.find(partition) else { return };
        match self.all[at].state {
            MemberState::Finished => return,
            MemberState::Active => {}
            MemberState::Idle => {
                self.all[at].state = MemberState::Active;
                self.all[at].aligned = self.aligned_at(self.all[at].max);
            }
        }
        self.all[at].last_activity = now;
    }

    /// Silence for strictly longer than the timeout is idleness.
    pub(super) fn judge_idleness(&mut self, now: ProcTime) {
        let Some(idle) = self.idle() else { return };
        for it in &mut self.all {
            if it.state == MemberState::Active && idle.timeout < now.since(it.last_activity) {
                it.state = MemberState::Idle;
            }
        }
    }

    /// A row or heartbeat that is taken names its partition.
    pub(super) fn name(&mut self, partition: PartitionId, arrival: ProcTime) {
        if let Err(at) = self.find(partition) {
            self.all.insert(at, new_member(partition, arrival));
        }
    }

    pub(super) fn count_row(&mut self, partition: PartitionId) {
        if let Ok(at) = self.find(partition) {
            self.all[at].rows += 1;
        }
    }

    /// A partition has come as far as this.
    pub(super) fn advance(&mut self, partition: PartitionId, time: EventTime, id: ItemId) {
        if let Ok(at) = self.find(partition) {
            let it = &mut self.all[at];
            if it.max < time {
                (it.max, it.max_set_by) = (time, Some(id));
            }
        }
        if self.top < time {
            (self.top, self.top_set_by) = (time, Some(id));
        }
    }

    pub(super) fn add(
        &mut self,
        partition: PartitionId,
        adoption: Adoption,
        at_group: EventTime,
        id: ItemId,
        arrival: ProcTime,
    ) -> Result<(), IgnoredWhy> {
        let Err(at) = self.find(partition) else { return Err(IgnoredWhy::PartitionExists) };
        self.all.insert(at, new_member(partition, arrival));
        self.adopt(at, adoption, at_group, id, arrival);
        Ok(())
    }

    pub(super) fn relocate(
        &mut self,
        partition: PartitionId,
        adoption: Adoption,
        at_group: EventTime,
        id: ItemId,
        arrival: ProcTime,
    ) -> Result<(), IgnoredWhy> {
        let at = self.unfinished(partition)?;
        if adoption != Adoption::WithWatermark {
            self.adopt(at, adoption, at_group, id, arrival);
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, partition: PartitionId) -> Result<(), IgnoredWhy> {
        let at = self.find(partition).map_err(|_| IgnoredWhy::NoSuchPartition)?;
        self.all.remove(at);
        Ok(())
    }

    pub(super) fn finish(&mut self, partition: PartitionId) -> Result<(), IgnoredWhy> {
        let at = self.unfinished(partition)?;
        self.all[at].state = MemberState::Finished;
        Ok(())
    }

    pub(super) fn finish_all(&mut self) {
        self.all.iter_mut().for_each(|it| it.state = MemberState::Finished);
    }

    /// The input has ended: nothing more will come, also where no partition ever was.
    pub(super) const fn end(&mut self) {
        self.candidate = EventTime::MAX;
    }

    /// Whether some partition is left out because it is silent.
    pub(super) fn some_idle(&self) -> bool {
        self.all.iter().any(|it| it.state == MemberState::Idle)
    }

    /// Whether every partition that could still send is silent, and there is one.
    pub(super) fn all_idle(&self) -> bool {
        self.some_idle() && self.all.iter().all(|it| it.state != MemberState::Active)
    }

    /// A restart: what it loses is as before the first row; silence begins now.
    pub(super) fn forget(&mut self, rules: RestoreRules, now: ProcTime) {
        if rules.maxima == Memory::Lost {
            (self.top, self.top_set_by) = (EventTime::MIN, None);
            for it in &mut self.all {
                (it.max, it.max_set_by) = (EventTime::MIN, None);
            }
        }
        if rules.idleness == Memory::Lost {
            let unfinished = |it: &&mut Member| it.state != MemberState::Finished;
            for it in self.all.iter_mut().filter(unfinished) {
                (it.state, it.aligned, it.last_activity) = (MemberState::Active, true, now);
            }
        }
    }

    /// No c has been computed yet.
    pub(super) const fn starts_anew(&mut self) {
        self.candidate = EventTime::MIN;
    }

    /// Computes c anew; what has caught up is aligned first.
    pub(super) fn evaluate(&mut self) -> EventTime {
        self.candidate = match self.generator {
            None => EventTime::MIN,
            Some(GeneratorPlan::GlobalMax) if self.all_finished() => EventTime::MAX,
            Some(GeneratorPlan::GlobalMax) => self.top,
            Some(GeneratorPlan::PartitionMin { .. }) => self.minimum(),
        };
        self.candidate
    }

    /// The item that gave c its value, where a row or heartbeat did.
    pub(super) fn spokesman(&self) -> Option<ItemId> {
        match self.generator? {
            GeneratorPlan::GlobalMax => self.top_set_by,
            GeneratorPlan::PartitionMin { .. } => {
                self.counting().min_by_key(|it| it.max).and_then(|it| it.max_set_by)
            }
        }
    }

    fn minimum(&mut self) -> EventTime {
        // What c is without the unaligned; where nobody counts, the last c.
        let bar = self.least().unwrap_or(self.candidate);
        for it in &mut self.all {
            it.aligned |= bar <= it.max;
        }
        self.least().unwrap_or_else(|| self.nobody_counts())
    }

    fn least(&self) -> Option<EventTime> {
        self.counting().map(|it| it.max).min()
    }

    /// c where no partition is active and aligned.
    fn nobody_counts(&self) -> EventTime {
        if self.all_finished() {
            return EventTime::MAX;
        }
        let flush = self.idle().is_some_and(|it| it.all_idle == AllIdle::Flush);
        if !flush || !self.some_idle() {
            return self.candidate;
        }
        let gone = self.all.iter().filter(|it| it.state != MemberState::Active);
        let finite = gone.map(|it| it.max).filter(|it| it.is_finite());
        finite.max().unwrap_or(self.candidate)
    }

    fn counting(&self) -> impl Iterator<Item = &Member> {
        self.all.iter().filter(|it| it.state == MemberState::Active && it.aligned)
    }

    fn all_finished(&self) -> bool {
        !self.all.is_empty() && self.all.iter().all(|it| it.state == MemberState::Finished)
    }

    fn adopt(
        &mut self,
        at: usize,
        adoption: Adoption,
        at_group: EventTime,
        id: ItemId,
        arrival: ProcTime,
    ) {
        let it = &mut self.all[at];
        it.state = MemberState::Active;
        it.last_activity = arrival;
        (it.max, it.max_set_by) = match adoption {
            Adoption::AtGroup if at_group.is_finite() => (at_group, Some(id)),
            _ => (EventTime::MIN, None),
        };
        let max = it.max;
        self.all[at].aligned = self.aligned_at(max);
    }

    /// Whether one that returns with this maximum counts at once.
    fn aligned_at(&self, max: EventTime) -> bool {
        let catch_up = self.idle().is_some_and(|it| it.rejoin == Rejoin::CatchUp);
        !catch_up || self.candidate <= max
    }

    const fn idle(&self) -> Option<IdlePlan> {
        match self.generator {
            Some(GeneratorPlan::PartitionMin { idle }) => idle,
            Some(GeneratorPlan::GlobalMax) | None => None,
        }
    }

    fn unfinished(&self, partition: PartitionId) -> Result<usize, IgnoredWhy> {
        let at = self.find(partition).map_err(|_| IgnoredWhy::NoSuchPartition)?;
        match self.all[at].state {
            MemberState::Finished => Err(IgnoredWhy::PartitionFinished),
            MemberState::Active | MemberState::Idle => Ok(at),
        }
    }

    fn find(&self, partition: PartitionId) -> Result<usize, usize> {
        self.all.binary_search_by_key(&partition, |it| it.partition)
    }
}

const fn new_member(partition: PartitionId, arrival: ProcTime) -> Member {
    Member {
        partition,
        max: EventTime::MIN,
        max_set_by: None,
        state: MemberState::Active,
        aligned: true,
        last_activity: arrival,
        rows: 0,
    }
}
