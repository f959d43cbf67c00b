//! The inputs: who is there, what each mark has seen, and W.
//!
//! Every mark has the partitions of its input to itself, and its own c, delay and w. W is the
//! largest of W before and of the policy's choice among the w.
//!
//! Readings. A row of an input that the plan does not have is not applicable. The legal range is asked of every column of kind time, whether used or not. The guard
//! looks at each mark's column (null is not from the future): one time from the future is enough for
//! `reject`; under `count_but_not_advance` such a row shows nothing to any mark. A heartbeat is taken
//! by all marks of its input; without a mark nobody asks whether it is from the future. An input's own w, where it has several marks, is the policy's choice
//! among them, and -inf where it has none. Without any mark W stays at its first value.
//!
//! Invariant: no w and no W ever falls, except where a restart loses it. Source: semantics 2.7.

use super::levels::Levels;
use super::stage::Row;
use crate::oracle::members::Members;
use crate::oracle::schedule::Queued;
use crate::oracle::watermark::Watermark;
use crate::trace::{Item, RowItem, Trace};
use plimsoll_engine::output::{EmissionKind, IgnoredWhy};
use plimsoll_engine::plan::flow::{Filter, Flow, InputPlan, NullTime, Policy};
use plimsoll_engine::plan::restore::{Memory, RestoreRules};
use plimsoll_engine::plan::{Guard, GuardAction, Plan};
use plimsoll_engine::row::{ColumnKind, ItemId, PartitionId};
use plimsoll_engine::time::{EventTime, ProcTime, Span};
use plimsoll_engine::watermark::member::Adoption;

use super::expected::FlowFate;

/// W and the own w of the first two inputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Values {
    pub(super) all: EventTime,
    pub(super) own: [EventTime; 2],
}

impl Values {
    /// Nothing leaves.
    pub(super) const NOTHING: Self = Self { all: EventTime::MIN, own: [EventTime::MIN; 2] };
}

/// What became of an item of the queue.
#[derive(Debug)]
pub(super) enum Taken {
    /// A change, or a heartbeat.
    Nothing,
    /// An item that makes no sense here.
    Ignored(IgnoredWhy),
    /// A row that reaches no stage.
    Row(PartitionId, FlowFate),
    /// A row for the first stage.
    Passed { row: Row, advances: bool },
}

#[derive(Debug)]
struct Mark {
    column: usize,
    members: Members,
    watermark: Watermark,
}

#[derive(Debug)]
struct Input {
    /// Who exists and who has finished.
    roster: Members,
    marks: Vec<Mark>,
    before: Vec<Filter>,
    behind: Vec<Filter>,
}

/// All inputs.
#[derive(Debug)]
pub(super) struct Source {
    inputs: Vec<Input>,
    policy: Policy,
    null: NullTime,
    guard: Option<Guard>,
    times: Vec<usize>,
    /// The first W.
    initial: EventTime,
    values: Values,
    /// Where the watermark goes through levels: until the input has ended.
    levels: Option<Levels>,
}

impl Source {
    pub(super) fn new(plan: &Plan, flow: &Flow, start: ProcTime) -> Self {
        let base = plan.watermark.as_ref();
        let generator = base.map(|it| it.generator);
        let inputs = flow.inputs.iter().map(|input| {
            let marks = input.marks.iter().map(|it| {
                let mut own = base.cloned();
                if let Some(own) = &mut own {
                    (own.column, own.delay) = (it.column, it.delay);
                }
                Mark {
                    column: it.column.0,
                    members: Members::new(generator),
                    watermark: Watermark::new(own),
                }
            });
            Input {
                roster: Members::new(None),
                marks: marks.collect(),
                before: input.before.clone(),
                behind: input.behind.clone(),
            }
        });
        let columns = plan.schema.columns.iter().enumerate();
        let times = columns.filter(|(_, it)| it.kind == ColumnKind::Time).map(|(at, _)| at);
        let initial = base.map_or(EventTime::MIN, |it| it.initial);
        let mut source = Self {
            inputs: inputs.collect(),
            policy: flow.policy,
            null: flow.null_time,
            guard: base.and_then(|it| it.guard),
            times: times.collect(),
            initial,
            values: Values { all: initial, own: [EventTime::MIN; 2] },
            levels: flow.levels.as_ref().map(|it| {
                let delay = |it: &InputPlan| it.marks.first().map_or(Span::ZERO, |it| it.delay);
                Levels::new(it, flow.inputs.iter().map(delay).collect(), start, initial)
            }),
        };
        source.values.own = source.own();
        source
    }

    /// W and the own w.
    pub(super) fn values(&self) -> Values {
        self.levels.as_ref().map_or(self.values, Levels::values)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.levels.as_ref().is_some_and(Levels::is_idle)
    }

    pub(super) fn levels(&self) -> &Levels {
        self.levels.as_ref().expect("only flows with levels ask, before the end")
    }

    pub(super) fn levels_mut(&mut self) -> &mut Levels {
        self.levels.as_mut().expect("only flows with levels ask, before the end")
    }

    /// c of the first mark; `None` where the law leaves it open.
    pub(super) fn candidate(&self) -> Option<EventTime> {
        if let Some(it) = &self.levels {
            return it.candidate();
        }
        let mut marks = self.inputs.iter().flat_map(|it| &it.marks);
        Some(marks.next().map_or(self.values.all, |it| it.members.candidate()))
    }

    /// (c, w) of every mark.
    pub(super) fn marks(&self) -> Vec<(EventTime, EventTime)> {
        if let Some(it) = &self.levels {
            return it.marks();
        }
        let marks = self.inputs.iter().flat_map(|it| &it.marks);
        marks.map(|it| (it.members.candidate(), it.watermark.last().watermark)).collect()
    }

    /// Something that concerns the partitions of every mark.
    pub(super) fn each(&mut self, mut what: impl FnMut(&mut Members)) {
        for input in &mut self.inputs {
            what(&mut input.roster);
            input.marks.iter_mut().for_each(|it| what(&mut it.members));
        }
    }

    pub(super) fn arrive(&mut self, partition: PartitionId, now: ProcTime) {
        if self.inputs.len() <= partition.input() {
            return;
        }
        self.of(partition).each(|it| it.arrive(partition, now));
    }

    /// A restart. Where the maxima are lost every mark begins anew; where the watermark is, so does
    /// what is in force.
    pub(super) fn forget(&mut self, rules: RestoreRules, now: ProcTime) {
        self.each(|it| it.forget(rules, now));
        if rules.maxima == Memory::Lost || rules.watermark == Memory::Lost {
            for mark in self.inputs.iter_mut().flat_map(|it| &mut it.marks) {
                mark.members.starts_anew();
                mark.watermark.starts_anew();
            }
        }
        if rules.watermark == Memory::Lost {
            self.values = Values { all: self.initial, own: self.own() };
        }
    }

    /// Computes every c and w, and W, anew.
    pub(super) fn compute(&mut self, cause: ItemId, now: ProcTime) -> Values {
        for mark in self.inputs.iter_mut().flat_map(|it| &mut it.marks) {
            let c = mark.members.evaluate();
            mark.watermark.advance(c, cause, now, mark.members.all_idle());
        }
        let all = self.inputs.iter().flat_map(|it| &it.marks);
        if let Some(it) = self.chosen(all) {
            self.values.all = self.values.all.max(it);
        }
        self.values.own = self.own();
        self.values
    }

    /// Nothing more will come.
    pub(super) fn end(&mut self, cause: ItemId) {
        for mark in self.inputs.iter_mut().flat_map(|it| &mut it.marks) {
            mark.members.end();
            mark.watermark.end(cause);
        }
        self.values = Values { all: EventTime::MAX, own: [EventTime::MAX; 2] };
        self.levels = None;
    }

    /// Whether an item waits in its source.
    pub(super) fn waits(&self, it: &Queued) -> bool {
        let Some(partition) = it.item.partition().filter(|it| it.input() < self.inputs.len())
        else {
            return false;
        };
        let levels = self.levels();
        match it.item {
            Item::Heartbeat { time, .. } if !self.is_believed(time, it.arrival) => false,
            Item::Row(_) | Item::Heartbeat { .. } => {
                !self.has_finished(partition) && levels.waits(partition)
            }
            Item::Finish(_) => !self.has_finished(partition) && levels.holds(partition),
            _ => false,
        }
    }

    /// It does; a row or heartbeat names its partition.
    pub(super) fn wait(&mut self, it: Queued) {
        if let (Some(partition), false) = (it.item.partition(), matches!(it.item, Item::Finish(_)))
        {
            self.name(partition, it.arrival);
        }
        self.levels_mut().wait(it);
    }

    /// Whether a partition has nothing more, also where what it said before still waits.
    fn has_finished(&self, partition: PartitionId) -> bool {
        let ends = self.levels.as_ref().is_some_and(|it| it.ends(partition));
        self.inputs[partition.input()].roster.is_finished(partition) || ends
    }

    fn name(&mut self, partition: PartitionId, at: ProcTime) {
        self.of(partition).each(|it| it.name(partition, at));
        if let Some(levels) = &mut self.levels
            && !levels.has(partition)
        {
            levels.join(partition, Adoption::WithoutWatermark);
        }
    }

    /// Whether a heartbeat is legal and not from the future.
    fn is_believed(&self, time: EventTime, at: ProcTime) -> bool {
        let future = self.future(time, at);
        time.is_legal() && matches!(future, None | Some(GuardAction::Accept))
    }

    fn hear(&mut self, partition: PartitionId, time: Option<EventTime>) {
        if let Some(it) = &mut self.levels {
            it.hear(partition, time);
        }
    }

    /// Takes an item from the queue.
    pub(super) fn take(&mut self, trace: &Trace, it: &Queued) -> Taken {
        let (id, at) = (it.id, it.arrival);
        if let Item::Finish(partition) | Item::Move { partition, .. } = it.item
            && self.levels.as_ref().is_some_and(|it| it.ends(partition))
        {
            return Taken::Ignored(IgnoredWhy::PartitionFinished);
        }
        if let Some(partition) = it.item.partition().filter(|p| self.inputs.len() <= p.input()) {
            return match it.item {
                Item::Row(_) => Taken::Row(partition, FlowFate::NotApplicable),
                _ => Taken::Ignored(IgnoredWhy::NoSuchInput),
            };
        }
        let changed = match it.item {
            Item::Row(row) => return self.take_row(trace, row, id, at),
            Item::Heartbeat { partition, time } => self.take_heartbeat(partition, time, id, at),
            Item::Add { partition, adoption } => {
                let of = self.of(partition);
                for mark in &mut of.marks {
                    let group = mark.watermark.last().candidate_max;
                    _ = mark.members.add(partition, adoption, group, id, at);
                }
                of.roster.add(partition, adoption, EventTime::MIN, id, at)
            }
            Item::Move { partition, adoption } => {
                let of = self.of(partition);
                for mark in &mut of.marks {
                    let group = mark.watermark.last().candidate_max;
                    _ = mark.members.relocate(partition, adoption, group, id, at);
                }
                of.roster.relocate(partition, adoption, EventTime::MIN, id, at)
            }
            Item::Remove(partition) => {
                let of = self.of(partition);
                of.marks.iter_mut().for_each(|it| _ = it.members.remove(partition));
                of.roster.remove(partition)
            }
            Item::Finish(partition) => {
                let of = self.of(partition);
                of.marks.iter_mut().for_each(|it| _ = it.members.finish(partition));
                of.roster.finish(partition)
            }
            _ => unreachable!("only rows, heartbeats and changes wait in the queue"),
        };
        if changed.is_ok() {
            self.change(it.item);
        }
        changed.map_or_else(Taken::Ignored, |()| Taken::Nothing)
    }

    /// Levels learn of partitions that change.
    fn change(&mut self, item: Item) {
        let Some(levels) = &mut self.levels else { return };
        match item {
            Item::Add { partition, adoption } => levels.join(partition, adoption),
            Item::Move { partition, adoption } if adoption != Adoption::WithWatermark => {
                levels.join(partition, adoption);
            }
            Item::Remove(partition) if levels.has(partition) => levels.leave(partition),
            Item::Finish(partition) => levels.finish(partition),
            _ => {}
        }
    }

    fn take_heartbeat(
        &mut self,
        partition: PartitionId,
        time: EventTime,
        id: ItemId,
        at: ProcTime,
    ) -> Result<(), IgnoredWhy> {
        let future = self.future(time, at);
        let of = self.of(partition);
        let future = future.filter(|_| !of.marks.is_empty());
        if self.has_finished(partition) {
            return Err(IgnoredWhy::PartitionFinished);
        }
        self.name(partition, at);
        self.hear(partition, None);
        let believed =
            !matches!(future, Some(GuardAction::Reject | GuardAction::CountButNotAdvance));
        if !time.is_legal() || !believed {
            return Err(IgnoredWhy::HeartbeatGuarded);
        }
        self.of(partition).each(|it| it.advance(partition, time, id));
        self.hear(partition, Some(time));
        Ok(())
    }

    fn take_row(&mut self, trace: &Trace, row: RowItem, id: ItemId, at: ProcTime) -> Taken {
        let (partition, cells) = (row.partition, trace.cells(row));
        if self.has_finished(partition) {
            return Taken::Row(partition, FlowFate::AfterFinish);
        }
        self.name(partition, at);
        self.hear(partition, None);
        self.of(partition).each(|it| it.count_row(partition));
        let illegal = |it: &usize| cells[*it].is_some_and(|it| !EventTime(it).is_legal());
        if self.times.iter().any(illegal) {
            return Taken::Row(partition, FlowFate::TimeOutOfRange);
        }
        let shown: Vec<_> = self.of(partition).marks.iter().map(|it| cells[it.column]).collect();
        let mut futures = shown.iter().flatten().map(|it| self.future(EventTime(*it), at));
        let future = futures.find(|it| it.is_some()).flatten();
        if future == Some(GuardAction::Reject) {
            return Taken::Row(partition, FlowFate::Guarded);
        }
        let passes = |it: &Filter| it.keeps(cells[it.column.0]);
        if !self.of(partition).before.iter().all(passes) {
            return Taken::Row(partition, FlowFate::Filtered);
        }
        let advances = future != Some(GuardAction::CountButNotAdvance);
        let null = (self.null == NullTime::Epoch).then_some(0);
        for (at, time) in shown.iter().enumerate() {
            if let Some(time) = time.or(null).filter(|_| advances).map(EventTime) {
                self.of(partition).marks[at].members.advance(partition, time, id);
                self.hear(partition, Some(time));
            }
        }
        if !self.of(partition).behind.iter().all(passes) {
            return Taken::Row(partition, FlowFate::Filtered);
        }
        let (kind, time, pane) = (EmissionKind::Row, EventTime::MIN, 0);
        let cells = cells.to_vec();
        Taken::Passed { row: Row { id, partition, kind, time, pane, cells }, advances }
    }

    /// What the guard does with a time from the future; `None` where it is not from there.
    fn future(&self, time: EventTime, at: ProcTime) -> Option<GuardAction> {
        let guard = self.guard?;
        let limit = i128::from(at.0) + i128::from(guard.ahead.0);
        (limit < i128::from(time.0)).then_some(guard.action)
    }

    fn of(&mut self, partition: PartitionId) -> &mut Input {
        let input = partition.input();
        self.inputs.get_mut(input).expect("a partition belongs to an input of the plan")
    }

    fn chosen<'a>(&self, marks: impl Iterator<Item = &'a Mark>) -> Option<EventTime> {
        let all = marks.map(|it| it.watermark.last().watermark);
        match self.policy {
            Policy::Min => all.min(),
            Policy::Max => all.max(),
        }
    }

    fn own(&self) -> [EventTime; 2] {
        [0, 1].map(|it| {
            let marks = self.inputs.get(it).map_or(&[][..], |it| &it.marks);
            self.chosen(marks.iter()).unwrap_or(EventTime::MIN)
        })
    }
}

impl Input {
    fn each(&mut self, mut what: impl FnMut(&mut Members)) {
        what(&mut self.roster);
        self.marks.iter_mut().for_each(|it| what(&mut it.members));
    }
}
