//! The generator: from rows, silence and changes of partitions to a candidate and a watermark.
//!
//! The candidate c is computed from all rows that pass the guard, late ones included, and never
//! from the delay: one maximum over everything (G1), or the minimum over the partitions (G2). Then
//! w = max(w, c - d), and with a wall clock whose condition is met also now - f (G3). c* is the
//! running maximum of c: what is in force before d is taken off.
//!
//! Invariant: w and c* never fall. Source: semantics 2.

use crate::late::InForce;
use crate::output::IgnoredWhy;
use crate::plan::{AllIdle, Fallback, GeneratorPlan, Guard, IdlePlan, Rejoin, WatermarkPlan};
use crate::row::{ItemId, PartitionId};
use crate::time::{EventTime, ProcTime, Span};
use crate::watermark::guard::{self, GuardVerdict};
use crate::watermark::member::{Adoption, Change, Member, MemberState};
use crate::watermark::{combine, idle};
use serde::{Deserialize, Serialize};

/// The generator of one input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Generator {
    delay: Span,
    kind: GeneratorPlan,
    fallback: Option<Fallback>,
    guard: Option<Guard>,
    initial: EventTime,
    state: GeneratorState,
    /// Whether silence means anything under this plan.
    hears: bool,
    /// Whether there is a watermark at all.
    watches: bool,
    /// Something other than a rising maximum has happened since the last evaluation.
    changed: bool,
}

/// What a restart must bring back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GeneratorState {
    /// In order of partition number.
    members: Vec<Member>,
    /// Largest event time of all rows, and who showed it.
    global_max: EventTime,
    global_set_by: Option<ItemId>,
    candidate: EventTime,
    candidate_max: EventTime,
    candidate_set_by: Option<ItemId>,
    watermark: EventTime,
    /// Set while the value came from the wall clock.
    by_fallback: Option<Span>,
    /// The last step during or after which somebody was idle.
    last_idle: Option<u64>,
}

impl GeneratorState {
    const fn new(initial: EventTime) -> Self {
        Self {
            members: Vec::new(),
            global_max: EventTime::MIN,
            global_set_by: None,
            candidate: EventTime::MIN,
            candidate_max: EventTime::MIN,
            candidate_set_by: None,
            watermark: initial,
            by_fallback: None,
            last_idle: None,
        }
    }
}

impl Generator {
    /// A generator without partitions; `None` is a query without a watermark.
    pub fn new(plan: Option<&WatermarkPlan>) -> Self {
        let initial = plan.map_or(EventTime::MIN, |it| it.initial);
        let kind = plan.map_or(GeneratorPlan::GlobalMax, |it| it.generator);
        let fallback = plan.and_then(|it| it.fallback);
        let idles = matches!(kind, GeneratorPlan::PartitionMin { idle: Some(_) });
        Self {
            delay: plan.map_or(Span::ZERO, |it| it.delay),
            kind,
            fallback,
            guard: plan.and_then(|it| it.guard),
            hears: idles,
            watches: plan.is_some(),
            changed: false,
            initial,
            state: GeneratorState::new(initial),
        }
    }

    /// The same plan, from a snapshot.
    pub fn load(plan: Option<&WatermarkPlan>, state: GeneratorState) -> Result<Self, String> {
        let sorted = state.members.windows(2).all(|it| it[0].partition < it[1].partition);
        if !sorted {
            return Err("partitions are not in order".to_owned());
        }
        // Nobody counts to 2^62; what was made up must not overflow at the next row.
        if let Some(it) = state.members.iter().find(|it| 1 << 62 < it.rows) {
            return Err(format!("partition {} has {} rows", it.partition.0, it.rows));
        }
        // Evaluated anew at the next step: an evaluation without news changes nothing.
        Ok(Self { state, changed: true, ..Self::new(plan) })
    }

    /// Forgets what a restart does not bring back.
    pub fn forget(&mut self, watermark: bool, maxima: bool, idleness: bool, now: ProcTime) {
        let fresh = GeneratorState::new(self.initial);
        let state = &mut self.state;
        if watermark {
            state.watermark = fresh.watermark;
            state.candidate = fresh.candidate;
            state.candidate_max = fresh.candidate_max;
            state.candidate_set_by = None;
            state.by_fallback = None;
        }
        if maxima {
            state.global_max = fresh.global_max;
            state.global_set_by = None;
        }
        for member in &mut state.members {
            let new = Member::new(member.partition, now);
            if maxima {
                (member.max, member.max_set_by) = (new.max, new.max_set_by);
            }
            if idleness && member.state != MemberState::Finished {
                let (max, max_set_by, rows) = (member.max, member.max_set_by, member.rows);
                *member = Member { max, max_set_by, rows, ..new };
            }
        }
        self.changed = true;
    }

    /// What a snapshot keeps.
    pub const fn state(&self) -> &GeneratorState {
        &self.state
    }

    /// Partitions, in order of their numbers.
    pub fn members(&self) -> &[Member] {
        &self.state.members
    }

    /// c after the last evaluation.
    pub const fn candidate(&self) -> EventTime {
        self.state.candidate
    }

    /// c*.
    pub const fn candidate_max(&self) -> EventTime {
        self.state.candidate_max
    }

    /// w after the last evaluation.
    #[inline]
    pub const fn watermark(&self) -> EventTime {
        self.state.watermark
    }

    /// The last step during or after which a partition was idle.
    pub const fn last_idle(&self) -> Option<u64> {
        self.state.last_idle
    }

    /// The partition whose maximum is the candidate, where one member holds it down.
    pub fn holder(&self) -> Option<PartitionId> {
        let GeneratorPlan::PartitionMin { .. } = self.kind else { return None };
        let counting = self.state.members.iter().filter(|it| it.counts());
        counting.min_by_key(|it| it.max).map(|it| it.partition)
    }

    /// w with its reasons, as a step that begins later will see it.
    pub fn in_force(&self) -> InForce {
        let by_data = self.state.candidate_max - self.delay;
        if self.state.by_fallback.is_none() && by_data < self.state.watermark {
            // Neither data nor the wall clock: what was in force from the start.
            return InForce::initial(self.state.watermark);
        }
        InForce {
            watermark: self.state.watermark,
            candidate: self.state.candidate_max,
            set_by: self.state.candidate_set_by,
            since_step: 0,
            fallback: self.state.by_fallback,
        }
    }

    fn idle_plan(&self) -> Option<IdlePlan> {
        match self.kind {
            GeneratorPlan::GlobalMax => None,
            GeneratorPlan::PartitionMin { idle } => idle,
        }
    }

    fn rejoin(&self) -> Rejoin {
        self.idle_plan().map_or(Rejoin::Hold, |it| it.rejoin)
    }

    /// Where a partition stands; numbers from 0 without gaps are found at once.
    #[inline]
    fn slot(&self, partition: PartitionId) -> Result<usize, usize> {
        let guess = partition.number() as usize;
        if self.state.members.get(guess).is_some_and(|it| it.partition == partition) {
            return Ok(guess);
        }
        self.state.members.binary_search_by_key(&partition, |it| it.partition)
    }

    /// The member, added now where it is new.
    #[inline]
    fn slot_or_new(&mut self, partition: PartitionId, at: ProcTime) -> usize {
        let guess = partition.number() as usize;
        match self.state.members.get(guess) {
            Some(member) if member.partition == partition => guess,
            Some(_) | None => self.searched_slot_or_new(partition, at),
        }
    }

    #[cold]
    fn searched_slot_or_new(&mut self, partition: PartitionId, at: ProcTime) -> usize {
        self.slot(partition).unwrap_or_else(|slot| {
            self.state.members.insert(slot, Member::new(partition, at));
            self.changed = true;
            slot
        })
    }

    /// Whether silence means anything under this plan.
    #[inline]
    pub const fn hears(&self) -> bool {
        self.hears
    }

    /// Something arrived from a partition: its silence ends, whenever a step takes the item.
    #[inline]
    pub fn hear(&mut self, partition: PartitionId, at: ProcTime) {
        if !self.hears {
            return;
        }
        if let Ok(slot) = self.slot(partition) {
            let candidate = self.state.candidate;
            let rejoin = self.rejoin();
            self.changed |= idle::hear(&mut self.state.members[slot], rejoin, candidate, at);
        }
    }

    /// So much of the past was nobody's silence.
    pub fn excuse(&mut self, by: Span) {
        for member in &mut self.state.members {
            member.last_activity = member.last_activity + by;
        }
    }

    /// A tick: judges silence. `steps` is the number of steps done.
    pub fn tick(&mut self, now: ProcTime, steps: u64) {
        if let Some(plan) = self.idle_plan() {
            self.changed |= idle::judge(&mut self.state.members, plan, now);
        }
        self.changed |= self.fallback.is_some();
        self.note_idle(steps.saturating_sub(1));
    }

    /// Remembers that somebody is idle during step `step`.
    pub fn note_idle(&mut self, step: u64) {
        if self.somebody_idle() {
            self.state.last_idle = Some(step);
        }
    }

    /// Whether a partition is left out as idle now.
    pub fn somebody_idle(&self) -> bool {
        self.hears && self.state.members.iter().any(|it| it.state == MemberState::Idle)
    }

    /// A change of partitions, taken from the queue. `at` is when it arrived.
    ///
    /// # Errors
    /// Why it makes no sense here.
    pub fn change(&mut self, change: Change, id: ItemId, at: ProcTime) -> Result<(), IgnoredWhy> {
        let existing = |it: &Self, partition| match it.slot(partition) {
            Err(_) => Err(IgnoredWhy::NoSuchPartition),
            Ok(slot) => Ok(slot),
        };
        let unfinished = |it: &Self, partition| {
            let slot = existing(it, partition)?;
            match it.state.members[slot].state {
                MemberState::Finished => Err(IgnoredWhy::PartitionFinished),
                MemberState::Active | MemberState::Idle => Ok(slot),
            }
        };
        match change {
            Change::Add(partition, adoption) => {
                if self.slot(partition).is_ok() {
                    return Err(IgnoredWhy::PartitionExists);
                }
                let slot = self.slot_or_new(partition, at);
                self.adopt(slot, adoption, id, at);
            }
            Change::Move(partition, adoption) => {
                let slot = unfinished(self, partition)?;
                if adoption != Adoption::WithWatermark {
                    self.adopt(slot, adoption, id, at);
                }
            }
            Change::Remove(partition) => {
                let slot = existing(self, partition)?;
                self.state.members.remove(slot);
            }
            Change::Finish(partition) => {
                let slot = unfinished(self, partition)?;
                self.state.members[slot].state = MemberState::Finished;
            }
        }
        self.changed = true;
        Ok(())
    }

    fn adopt(&mut self, slot: usize, adoption: Adoption, id: ItemId, at: ProcTime) {
        let rows = self.state.members[slot].rows;
        let partition = self.state.members[slot].partition;
        let mut fresh = Member { rows, ..Member::new(partition, at) };
        let behind = self.rejoin() == Rejoin::CatchUp && EventTime::MIN < self.state.candidate;
        if adoption == Adoption::AtGroup && self.state.candidate_max.is_finite() {
            fresh.observe(self.state.candidate_max, id);
        } else {
            fresh.aligned = !behind;
        }
        self.state.members[slot] = fresh;
    }

    /// A heartbeat, taken from the queue: moves time, carries no data.
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
        let slot = self.slot_or_new(partition, at);
        if self.state.members[slot].state == MemberState::Finished {
            return Err(IgnoredWhy::PartitionFinished);
        }
        if !time.is_legal() || guard::judge(self.guard, time, at) != GuardVerdict::Pass {
            return Err(IgnoredWhy::HeartbeatGuarded);
        }
        self.observe(slot, time, id);
        Ok(())
    }

    /// A row, taken from the queue: counts it for its partition. `None` where that is finished.
    #[inline]
    pub fn take_row(&mut self, partition: PartitionId, at: ProcTime) -> Option<usize> {
        let slot = self.slot_or_new(partition, at);
        let member = &mut self.state.members[slot];
        member.rows += 1;
        (member.state != MemberState::Finished).then_some(slot)
    }

    /// Whether any row can be from the future.
    pub const fn guards(&self) -> bool {
        self.guard.is_some()
    }

    /// What the guard says of a row.
    #[inline]
    pub fn guard(&self, time: EventTime, at: ProcTime) -> GuardVerdict {
        guard::judge(self.guard, time, at)
    }

    /// How far a partition has come; `MIN` where it is not known.
    pub fn max_of(&self, partition: PartitionId) -> EventTime {
        self.slot(partition).map_or(EventTime::MIN, |it| self.state.members[it].max)
    }

    /// Takes notice of an event time of a partition that is known. True where c may have changed.
    #[inline]
    pub fn show(&mut self, of: PartitionId, time: EventTime, id: ItemId, at: ProcTime) -> bool {
        let slot = self.slot_or_new(of, at);
        self.observe(slot, time, id)
    }

    /// Takes notice of an event time of the member at `slot`. True where c may have changed.
    #[inline]
    pub fn observe(&mut self, slot: usize, time: EventTime, id: ItemId) -> bool {
        let state = &mut self.state;
        let member = &mut state.members[slot];
        let before = member.max;
        let rose = member.observe(time, id);
        match self.kind {
            GeneratorPlan::GlobalMax => {
                let rises = state.global_max < time;
                if rises {
                    state.global_max = time;
                    state.global_set_by = Some(id);
                }
                rises || self.changed
            }
            // A member above the minimum does not move it; one that does not count may begin to.
            GeneratorPlan::PartitionMin { .. } => {
                rose && (before <= state.candidate || !member.counts()) || self.changed
            }
        }
    }

    /// Whether something other than a rising maximum has happened since the last evaluation.
    #[inline]
    pub const fn has_news(&self) -> bool {
        self.changed
    }

    /// Computes c, c* and w anew. `cause` is the item that is being processed; for a whole batch the
    /// row that showed the candidate is named instead, where there is one.
    #[inline]
    pub fn evaluate(&mut self, now: ProcTime, cause: ItemId, whole_batch: bool) {
        if !self.watches {
            self.changed = false;
            return;
        }
        let (candidate, set_by) = self.combined();
        let state = &mut self.state;
        state.candidate = candidate;
        if state.candidate_max < candidate {
            state.candidate_max = candidate;
            let shown_by = if whole_batch { set_by } else { None };
            state.candidate_set_by = Some(shown_by.unwrap_or(cause));
        }
        let by_data = candidate - self.delay;
        if state.watermark <= by_data {
            // At equality data alone explains the value: it did not come from the wall clock.
            state.watermark = by_data;
            state.by_fallback = None;
        }
        if let Some(fallback) = self.fallback {
            self.advance_by_wall_clock(fallback, now);
        }
        self.changed = self.unsettled();
    }

    /// Whether the next evaluation may differ although nothing happens: members wait to catch up
    /// with a candidate that nobody holds.
    fn unsettled(&self) -> bool {
        self.rejoin() == Rejoin::CatchUp
            && self.state.members.iter().any(|it| !it.aligned)
            && !self.state.members.iter().any(Member::counts)
    }

    #[inline]
    fn combined(&mut self) -> (EventTime, Option<ItemId>) {
        let state = &mut self.state;
        match self.kind {
            GeneratorPlan::GlobalMax => {
                let ended = if self.changed {
                    let mut members = state.members.iter();
                    members.len() > 0 && members.all(|it| it.state == MemberState::Finished)
                } else {
                    state.candidate == EventTime::MAX
                };
                if ended { (EventTime::MAX, None) } else { (state.global_max, state.global_set_by) }
            }
            GeneratorPlan::PartitionMin { idle } => {
                combine::align(&mut state.members, state.candidate);
                let all_idle = idle.map_or(AllIdle::Hold, |it| it.all_idle);
                combine::candidate(&state.members, all_idle, state.candidate)
            }
        }
    }

    fn advance_by_wall_clock(&mut self, fallback: Fallback, now: ProcTime) {
        let state = &mut self.state;
        let active = state.members.iter().any(|it| it.state == MemberState::Active);
        let silent = !active && state.members.iter().any(|it| it.state == MemberState::Idle);
        let by_clock = EventTime(now.0) - fallback.behind;
        if (fallback.always || silent) && state.watermark < by_clock {
            state.watermark = by_clock;
            state.by_fallback = Some(fallback.behind);
        }
    }

    /// The input ends: every partition is finished, and nothing more will come.
    pub fn end(&mut self, id: ItemId) {
        for member in &mut self.state.members {
            member.state = MemberState::Finished;
        }
        let state = &mut self.state;
        state.candidate = EventTime::MAX;
        if state.candidate_max < EventTime::MAX {
            state.candidate_max = EventTime::MAX;
            state.candidate_set_by = Some(id);
        }
        state.watermark = EventTime::MAX;
        state.by_fallback = None;
        self.changed = false;
    }
}
