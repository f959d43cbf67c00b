//! Sources: from the rows of several inputs to one watermark.
//!
//! Every mark of every input is a [`Generator`] of its own, over the partitions of its input and one
//! column. The policy makes one W of their watermarks; like each of them it never falls. An input
//! without a mark has a generator that watches nothing, so that its partitions are known.
//!
//! A plan with levels has no marks here: its one watermark goes through [`levels`].
//!
//! Invariant: W never falls within one incarnation. Source: semantics 2.7, spark-rules 1.

pub mod levels;

use crate::late::InForce;
use crate::output::IgnoredWhy;
use crate::plan::flow::{Flow, Mark, NullTime, Policy};
use crate::plan::{Plan, WatermarkPlan};
use crate::row::{ItemId, PartitionId, RowBatch};
use crate::time::{EventTime, ProcTime, Span};
use crate::watermark::generator::{Generator, GeneratorState};
use crate::watermark::guard::GuardVerdict;
use crate::watermark::levels::Steer;
use crate::watermark::levels::waiting::Behind;
use crate::watermark::member::{Change, Member};
use levels::{Leveled, LeveledState};
use serde::{Deserialize, Serialize};

/// The watermarks of a flow.
#[derive(Debug)]
pub struct Sources {
    /// Empty where there are levels.
    marks: Vec<Watched>,
    levels: Option<Leveled>,
    policy: Policy,
    null_time: NullTime,
    in_force: InForce,
    /// Members of the first mark of every input, for reading.
    members: Vec<Member>,
    /// Whether the next evaluation may come to something else than the last one: always where levels
    /// or a clock have a say, else unless only rows have come that raised nothing.
    stale: bool,
    always_stale: bool,
}

/// One mark, or an input without any.
#[derive(Debug)]
struct Watched {
    input: usize,
    mark: Option<Mark>,
    generator: Generator,
}

/// A watermark of an input, or an input without any, for reading.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The input, by its position in the plan.
    pub input: usize,
    /// The mark; with levels the input's first one.
    pub mark: Option<Mark>,
    /// w_i, with where it comes from.
    pub in_force: InForce,
    /// c_i after the last step; with levels w_i plus the delay.
    pub candidate: EventTime,
    /// The partition that holds it down, where one does and there are no levels.
    pub holder: Option<PartitionId>,
    /// The partitions of the input, in order of their numbers.
    pub members: &'a [Member],
}

/// What a restart must bring back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SourcesState {
    marks: Vec<GeneratorState>,
    levels: Option<LeveledState>,
    in_force: InForce,
}

impl Watched {
    fn line(&self) -> Line<'_> {
        Line {
            input: self.input,
            mark: self.mark,
            in_force: self.generator.in_force(),
            candidate: self.generator.candidate(),
            holder: self.mark.and_then(|_| self.generator.holder()),
            members: self.generator.members(),
        }
    }
}

impl Sources {
    /// Before any row.
    pub fn new(plan: &Plan, flow: &Flow) -> Self {
        let mut marks = Vec::new();
        let levels = Leveled::new(plan, flow);
        let marked = if levels.is_some() { &[][..] } else { &flow.inputs };
        for (input, of) in marked.iter().enumerate() {
            let rules = plan.watermark.as_ref();
            let watched = of.marks.iter().filter_map(|mark| rules.map(|it| (mark, it)));
            let before = marks.len();
            marks.extend(watched.map(|(mark, rules)| Watched {
                input,
                mark: Some(*mark),
                generator: Generator::new(Some(&of_mark(rules, *mark))),
            }));
            if marks.len() == before {
                marks.push(Watched { input, mark: None, generator: Generator::new(None) });
            }
        }
        let initial = plan.watermark.as_ref().map_or(EventTime::MIN, |it| it.initial);
        let by_clock = plan.watermark.as_ref().is_some_and(|it| it.fallback.is_some());
        Self {
            stale: true,
            always_stale: levels.is_some() || by_clock,
            marks,
            levels,
            policy: flow.policy,
            null_time: flow.null_time,
            in_force: InForce::initial(initial),
            members: Vec::new(),
        }
    }

    /// Whether anybody's silence means something; with levels that is their own affair.
    pub fn hears(&self) -> bool {
        self.marks.iter().any(|it| it.generator.hears())
    }

    /// The clock starts.
    pub fn start(&mut self, at: ProcTime) {
        if let Some(it) = &mut self.levels {
            it.start(at);
        }
    }

    /// The clock went on by `by` to `at` while nothing ran: nobody was silent.
    pub fn wake(&mut self, at: ProcTime, by: Span) {
        self.marks.iter_mut().for_each(|it| it.generator.excuse(by));
        if let Some(it) = &mut self.levels {
            it.wake(at);
        }
    }

    /// What a snapshot keeps.
    pub fn save(&self) -> SourcesState {
        let marks = self.marks.iter().map(|it| it.generator.state().clone()).collect();
        let levels = self.levels.as_ref().map(Leveled::save);
        SourcesState { marks, levels, in_force: self.in_force }
    }

    /// The same plan, from a snapshot.
    ///
    /// # Errors
    /// The sentence of a state that does not fit.
    pub fn load(plan: &Plan, flow: &Flow, state: SourcesState) -> Result<Self, String> {
        let mut sources = Self::new(plan, flow);
        if sources.marks.len() != state.marks.len() {
            return Err(format!("{} watermarks", state.marks.len()));
        }
        for (watched, state) in sources.marks.iter_mut().zip(state.marks) {
            let rules = plan.watermark.as_ref().zip(watched.mark);
            let rules = rules.map(|(rules, mark)| of_mark(rules, mark));
            watched.generator = Generator::load(rules.as_ref(), state)?;
        }
        match (&mut sources.levels, &flow.levels, state.levels) {
            (Some(levels), Some(plan), Some(state)) => levels.load(plan, flow, state)?,
            (None, None, None) => {}
            _ => return Err("levels of combination where there are none, or none".to_owned()),
        }
        sources.in_force = state.in_force;
        sources.refresh();
        Ok(sources)
    }

    /// Forgets what a restart does not bring back. Without the maxima a mark starts anew, however
    /// far W has come; W itself is lost with the watermark.
    pub fn forget(&mut self, watermark: bool, maxima: bool, idleness: bool, now: ProcTime) {
        self.stale = true;
        for it in &mut self.marks {
            it.generator.forget(watermark || maxima, maxima, idleness, now);
        }
        if let Some(it) = &mut self.levels {
            it.forget(watermark, maxima, idleness, now);
        }
        if watermark {
            let initial = self.marks.iter().find(|it| it.mark.is_some());
            let initial = initial.map_or(EventTime::MIN, |it| it.generator.watermark());
            self.in_force = InForce::initial(initial);
        }
        self.refresh();
    }

    fn of_input(&mut self, partition: PartitionId) -> impl Iterator<Item = &mut Watched> {
        self.marks.iter_mut().filter(move |it| it.input == partition.input())
    }

    /// Whether the plan has this input.
    pub fn has(&self, partition: PartitionId) -> bool {
        match &self.levels {
            Some(it) => it.has(partition),
            None => self.marks.iter().any(|it| it.input == partition.input()),
        }
    }

    /// A row comes. True where its partition is paused: then it waits and is not read now.
    pub fn holds(&mut self, rows: &RowBatch, row: usize) -> bool {
        self.levels.as_mut().is_some_and(|it| it.holds(rows, row))
    }

    /// What may be read that waited; all of it where `all` ends.
    pub fn release(&mut self, all: bool) -> Option<(RowBatch, Vec<Behind>)> {
        self.levels.as_mut().and_then(|it| it.release(all))
    }

    /// Something other than a row, that waited, is read.
    pub fn read(&mut self, behind: Behind) {
        if let Some(it) = &mut self.levels {
            it.read(behind);
        }
    }

    /// Something arrived from a partition.
    pub fn hear(&mut self, partition: PartitionId, at: ProcTime) {
        let mut heard = None;
        for it in self.of_input(partition).filter(|it| it.generator.hears()) {
            it.generator.hear(partition, at);
            let members = it.generator.members();
            let slot = members.binary_search_by_key(&partition, |it| it.partition);
            heard = heard.or(slot.ok().map(|it| members[it]));
        }
        // An idle one is active at once, not only when a step has taken the item.
        let slot = self.members.binary_search_by_key(&partition, |it| it.partition);
        if let (Some(heard), Ok(slot)) = (heard, slot) {
            self.members[slot] = heard;
        }
    }

    /// A tick: judges silence. Says how far the clock has come: where there are levels, it may stop
    /// at an instant before `now` at which something falls due, and goes on with the next call.
    pub fn tick(&mut self, now: ProcTime, steps: u64) -> ProcTime {
        self.stale = true;
        self.marks.iter_mut().for_each(|it| it.generator.tick(now, steps));
        let reached = self.levels.as_mut().map_or(now, |it| it.tick(now));
        self.refresh();
        reached
    }

    /// Something from outside that is no change of partitions.
    ///
    /// # Errors
    /// Why it makes no sense here.
    pub fn steer(&mut self, steer: Steer) -> Result<(), IgnoredWhy> {
        self.levels.as_mut().map_or(Err(IgnoredWhy::NoLevels), |it| it.steer(steer))
    }

    /// The levels of the plan, where it has them.
    pub const fn levels(&self) -> Option<&Leveled> {
        self.levels.as_ref()
    }

    /// Remembers that somebody is idle during step `step`.
    pub fn note_idle(&mut self, step: u64) {
        self.marks.iter_mut().for_each(|it| it.generator.note_idle(step));
    }

    /// A row is read, before anything else looks at it: counted for its partition, unless it was
    /// counted when it began to wait (`again`). False where its partition has finished.
    pub fn take_row(&mut self, partition: PartitionId, at: ProcTime, again: bool) -> bool {
        if let Some(it) = &mut self.levels {
            return it.take_row(partition, again);
        }
        let mut open = true;
        for it in self.of_input(partition) {
            open &= it.generator.take_row(partition, at).is_some();
        }
        open
    }

    /// How far the row's own partition has come, less the delay, in the first mark of its input.
    pub fn own(&self, partition: PartitionId) -> EventTime {
        if let Some(it) = &self.levels {
            return it.own(partition);
        }
        let first = self.marks.iter().find(|it| it.input == partition.input());
        let delay = first.and_then(|it| it.mark).map_or(Span::ZERO, |it| it.delay);
        first.map_or(EventTime::MIN, |it| it.generator.max_of(partition)) - delay
    }

    /// What the guard says of a row.
    pub fn guard(
        &self,
        partition: PartitionId,
        cells: impl Fn(usize) -> Option<i64>,
        at: ProcTime,
    ) -> GuardVerdict {
        if let Some(it) = &self.levels {
            return it.guard(partition, cells, at);
        }
        let first = self.marks.iter().find(|it| it.input == partition.input());
        match first.and_then(|it| it.mark.map(|mark| (it, mark))) {
            Some((it, mark)) => match cells(mark.column.0) {
                Some(time) => it.generator.guard(EventTime(time), at),
                None => GuardVerdict::Pass,
            },
            None => GuardVerdict::Pass,
        }
    }

    /// A row shows its times to the marks of its input.
    pub fn show(
        &mut self,
        partition: PartitionId,
        cells: impl Fn(usize) -> Option<i64>,
        id: ItemId,
        at: ProcTime,
    ) {
        let null = match self.null_time {
            NullTime::Nowhere => None,
            NullTime::Epoch => Some(0),
        };
        if let Some(it) = &mut self.levels {
            it.show(partition, cells, null, id);
            return;
        }
        let mut stale = self.stale;
        for it in self.of_input(partition) {
            let Some(mark) = it.mark else { continue };
            if let Some(time) = cells(mark.column.0).or(null) {
                stale |= it.generator.show(partition, EventTime(time), id, at);
            }
        }
        self.stale = stale;
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
    ) -> Result<(), IgnoredWhy> {
        self.stale = true;
        if let Some(it) = &mut self.levels {
            return it.heartbeat(partition, time, id, at);
        }
        let mut taken = Err(IgnoredWhy::NoSuchInput);
        for it in self.of_input(partition) {
            taken = it.generator.heartbeat(partition, time, id, at);
        }
        taken
    }

    /// A change of partitions, taken from the queue.
    ///
    /// # Errors
    /// Why it makes no sense here.
    pub fn change(&mut self, change: Change, id: ItemId, at: ProcTime) -> Result<(), IgnoredWhy> {
        self.stale = true;
        if let Some(it) = &mut self.levels {
            return it.change(change, id);
        }
        let mut taken = Err(IgnoredWhy::NoSuchInput);
        for it in self.of_input(change.partition()) {
            taken = it.generator.change(change, id, at);
        }
        taken
    }

    /// Computes every mark and W anew. False where nothing has come that could move one.
    pub fn evaluate(&mut self, now: ProcTime, cause: ItemId, whole_batch: bool, step: u64) -> bool {
        self.stale |= self.always_stale || self.marks.iter().any(|it| it.generator.has_news());
        if !self.stale {
            return false;
        }
        self.stale = false;
        self.marks.iter_mut().for_each(|it| it.generator.evaluate(now, cause, whole_batch));
        let values = self.marks.iter().filter(|it| it.mark.is_some());
        let values = values.map(|it| it.generator.in_force());
        let new = match (&self.levels, self.policy) {
            (Some(it), _) => Some(it.in_force(step)),
            (None, Policy::Min) => values.min_by_key(|it| it.watermark),
            (None, Policy::Max) => values.max_by_key(|it| it.watermark),
        };
        // At equality it is the newer candidate that explains the value.
        let last = self.in_force;
        let differs = |it: &InForce| {
            last.watermark < it.watermark
                || last.watermark == it.watermark && last.candidate != it.candidate
        };
        if let Some(new) = new.filter(differs) {
            self.in_force = InForce { since_step: step, ..new };
        }
        true
    }

    /// The input ends.
    pub fn end(&mut self, id: ItemId, step: u64) {
        self.stale = true;
        for it in &mut self.marks {
            it.generator.end(id);
        }
        if let Some(it) = &mut self.levels {
            it.end();
        }
        self.in_force = InForce {
            watermark: EventTime::MAX,
            candidate: EventTime::MAX,
            set_by: Some(id),
            since_step: step,
            fallback: None,
        };
    }

    /// W, with where it comes from.
    pub const fn in_force(&self) -> InForce {
        self.in_force
    }

    /// The watermark of one input alone, by the policy over its marks.
    pub fn of_side(&self, input: usize) -> InForce {
        if let Some(it) = &self.levels {
            return it.of_side(input, self.in_force.since_step);
        }
        let values = self.marks.iter().filter(|it| it.input == input && it.mark.is_some());
        let values = values.map(|it| it.generator.in_force());
        let own = match self.policy {
            Policy::Min => values.min_by_key(|it| it.watermark),
            Policy::Max => values.max_by_key(|it| it.watermark),
        };
        own.unwrap_or(InForce::initial(EventTime::MIN))
    }

    /// What W is made of: every mark, and every input that has none, in the plan's order.
    pub fn lines(&self) -> Vec<Line<'_>> {
        let Some(levels) = &self.levels else {
            return self.marks.iter().map(Watched::line).collect();
        };
        let line = |input| {
            let in_force = self.of_side(input);
            let of_input = |it: &Member| it.partition.input() < input;
            let from = self.members.partition_point(of_input);
            let until = self.members.partition_point(|it| it.partition.input() <= input);
            Line {
                input,
                mark: levels.mark(input),
                in_force,
                candidate: in_force.candidate,
                holder: None,
                members: &self.members[from..until],
            }
        };
        (0..levels.levels().inputs()).map(line).collect()
    }

    /// c of the first mark; with levels, W plus the delay.
    pub fn candidate(&self) -> EventTime {
        self.first_mark().map_or(self.in_force.candidate, Generator::candidate)
    }

    /// c* of the first mark.
    pub fn candidate_max(&self) -> EventTime {
        self.first_mark().map_or(self.in_force.candidate, Generator::candidate_max)
    }

    /// That of the first input that has a watermark; of a flow without any, the first input's.
    fn first_mark(&self) -> Option<&Generator> {
        let marked = self.marks.iter().find(|it| it.mark.is_some());
        marked.or(self.marks.first()).map(|it| &it.generator)
    }

    /// Partitions of all inputs, in order of their numbers.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Brings what [`members`](Self::members) shows up to date.
    pub fn refresh(&mut self) {
        self.members.clear();
        if let Some(it) = &self.levels {
            self.members = it.members();
        }
        let mut last = None;
        for it in &self.marks {
            if last.replace(it.input) != Some(it.input) {
                self.members.extend_from_slice(it.generator.members());
            }
        }
    }
}

fn of_mark(rules: &WatermarkPlan, mark: Mark) -> WatermarkPlan {
    WatermarkPlan { column: mark.column, delay: mark.delay, ..rules.clone() }
}
