//! The oracle of flows: recomputes by definition what a plan with several inputs or stages writes.
//!
//! Every row that was ever taken is kept, and what must come out is worked out anew from all of
//! them: windows and sessions from the list of admitted rows, joins by trying every pair, duplicates
//! by searching. The law is the documentation of [`plimsoll_engine::plan::flow`]; triggers, queue and
//! partitions are those of [`crate::trace`], read by the same hand as in the plain [`Oracle`].
//!
//! Readings of its own, beside those in the files below. A partition belongs to the input that its
//! number names. An input keeps one list of partitions per mark, and one more that only says who
//! exists and who has finished. Follow-up steps come where nothing waits: not between the pieces of
//! `available_now`, but before the `End` step. A stage whose time column is
//! not linked to a mark judges nobody and removes nothing before the end of input. An as-of join
//! asks for follow-up steps; probes are followed by none. What is behind, where a side has a watermark
//! of its own, is either of these.
//!
//! Invariant: the past decides. Nothing behind the current item is looked at.
//!
//! [`Oracle`]: super::Oracle

mod aggregate;
mod as_of;
mod bounds;
mod count;
mod dedup;
mod expected;
mod global;
mod join;
mod levels;
mod links;
pub mod pairs;
mod probes;
mod published;
mod restart;
mod session;
mod source;
mod stage;
mod stateless;
mod window;

#[cfg(test)]
pub(crate) mod tests;

pub use expected::{
    EmissionExpected, ExpectedFlow, FlowFate, FlowStep, FlowVerdict, RemarkExpected, StageExpected,
};

use super::members::Members;
use super::schedule::{Begin, Queued, Schedule, kind, pieces};
use crate::trace::{Item, Trace};
use bounds::{Bounds, Chained, Given};
use plimsoll_engine::output::{Ignored, IgnoredWhy, StepKind};
use plimsoll_engine::plan::flow::{Flow, FollowUp};
use plimsoll_engine::plan::{Effective, OutputMode, Plan, Trigger};
use plimsoll_engine::row::ItemId;
use plimsoll_engine::time::{EventTime, ProcTime, Span};
use source::{Source, Taken, Values};
use stage::{Happening, Pass, Row, Stage};

/// Whether this oracle says anything about a trace.
///
/// # Errors
/// What it does not know.
pub fn covers(trace: &Trace) -> Result<(), &'static str> {
    match &trace.plan.flow {
        None => Err("a flow"),
        Some(it) if it.levels.is_some() && trace.plan.trigger != Trigger::Row => {
            Err("levels that take every item at once")
        }
        Some(it) if it.levels.is_some() && trace.items.iter().any(Item::forgets) => {
            Err("levels that forget nothing at a restart")
        }
        Some(_) => Ok(()),
    }
}

/// Recomputes a run; see the [module documentation](self).
#[derive(Debug)]
pub struct FlowOracle {
    flow: Flow,
    mode: OutputMode,
    effective: Option<Effective>,
    now: ProcTime,
    steps: u64,
    stopped: bool,
    queue: Vec<Queued>,
    schedule: Schedule,
    source: Source,
    chained: Chained,
    stages: Vec<Box<dyn Stage>>,
    /// The first stage that keeps anything.
    stateful: Option<usize>,
    /// What evicted in the last step.
    evicted: Values,
    expected: ExpectedFlow,
}

impl FlowOracle {
    /// Before the first item. Panics where [`covers`] refuses the plan.
    pub fn new(trace: &Trace) -> Self {
        let plan = &trace.plan;
        let flow = plan.flow.clone().expect("covers refuses plans without a flow");
        let source = Source::new(plan, &flow, trace.clock);
        let stages = stages(plan, &flow);
        let evicted = source.values();
        let acts = links::follow(plan, &flow);
        Self {
            mode: plan.output,
            effective: plan.watermark.as_ref().map(|it| it.effective),
            now: trace.clock,
            steps: 0,
            stopped: false,
            queue: Vec::new(),
            schedule: Schedule::new(plan.trigger, trace.clock),
            chained: Chained::new(&flow, acts, evicted),
            stateful: flow.stages.iter().position(|it| !it.is_stateless()),
            source,
            stages,
            evicted,
            expected: ExpectedFlow::default(),
            flow,
        }
    }

    /// Takes the next item and says what must come out because of it.
    pub fn observe(&mut self, trace: &Trace, id: ItemId, item: &Item) -> &ExpectedFlow {
        self.expected.clear();
        let since = self.now;
        if let Item::Tick(span) = item {
            self.now = self.now + Span(span.0.max(0));
        }
        if self.stopped {
            self.refuse(id, item);
            return &self.expected;
        }
        if self.flow.levels.is_some() {
            self.observe_levels(trace, id, item, since);
            return &self.expected;
        }
        let now = self.now;
        match *item {
            Item::Row(row) => self.source.arrive(row.partition, now),
            Item::Heartbeat { partition, .. } => self.source.arrive(partition, now),
            Item::Tick(_) | Item::Probe => self.source.each(|it| it.judge_idleness(now)),
            Item::Restart(rules) => self.restart(trace, rules),
            _ => {}
        }
        match item {
            Item::Row(_) | Item::Heartbeat { .. } | Item::Add { .. } => self.wait(id, item),
            Item::Remove(_) | Item::Move { .. } | Item::Finish(_) => self.wait(id, item),
            _ => {}
        }
        if let Item::Steer(_) = item {
            self.ignore(id, IgnoredWhy::NoLevels);
            return &self.expected;
        }
        let begin = self.schedule.begin(item, now);
        match begin {
            Begin::Nothing => {}
            Begin::Ignored => self.ignore(id, IgnoredWhy::TriggerDecides),
            Begin::Step(without_rows) => {
                let queue = std::mem::take(&mut self.queue);
                self.step(trace, id, kind(&queue, without_rows), &queue);
            }
            Begin::Stop(rows) => {
                let queue = std::mem::take(&mut self.queue);
                let pieces = pieces(&queue, rows);
                let last = pieces.len() - 1;
                for (at, piece) in pieces.into_iter().enumerate() {
                    let items = &queue[piece];
                    let kind = kind(items, StepKind::Empty);
                    if at < last {
                        self.one_step(trace, id, kind, items);
                    } else {
                        self.step(trace, id, kind, items);
                    }
                }
                self.stopped = true;
            }
            Begin::End => {
                let queue = std::mem::take(&mut self.queue);
                if !queue.is_empty() {
                    self.step(trace, id, kind(&queue, StepKind::Empty), &queue);
                }
                self.source.each(Members::finish_all);
                self.one_step(trace, id, StepKind::End, &[]);
                self.stopped = true;
            }
        }
        &self.expected
    }

    /// What the last item had to cause.
    pub const fn expected(&self) -> &ExpectedFlow {
        &self.expected
    }

    /// The candidate c of the first mark after the last step; `None` where the law leaves it open.
    pub fn candidate(&self) -> Option<EventTime> {
        self.source.candidate()
    }

    /// W after the last step.
    pub fn watermark(&self) -> EventTime {
        self.source.values().all
    }

    /// Whether the watermark goes through levels, and the operator is told that nothing comes.
    pub fn is_idle(&self) -> bool {
        self.source.is_idle()
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

    /// Rows and heartbeats that wait for a step.
    pub fn arrivals_queued(&self) -> u64 {
        let counts = |it: &&Queued| matches!(it.item, Item::Row(_) | Item::Heartbeat { .. });
        self.queue.iter().filter(counts).count() as u64
    }

    fn wait(&mut self, id: ItemId, item: &Item) {
        self.queue.push(Queued { id, item: *item, arrival: self.now });
    }

    fn ignore(&mut self, id: ItemId, why: IgnoredWhy) {
        self.expected.ignored.push(Ignored { id, why });
    }

    fn refuse(&mut self, id: ItemId, item: &Item) {
        match item {
            Item::Row(row) => self.expected.verdicts.push(FlowVerdict {
                id,
                partition: row.partition,
                step: self.steps,
                fate: FlowFate::NotApplicable,
            }),
            Item::Checkpoint | Item::Crash { .. } | Item::Restart(_) => {}
            _ => self.ignore(id, IgnoredWhy::QueryStopped),
        }
    }

    /// A step and those that follow it up.
    fn step(&mut self, trace: &Trace, cause: ItemId, kind: StepKind, items: &[Queued]) {
        self.one_step(trace, cause, kind, items);
        let probes = self.effective == Some(Effective::Probe);
        if kind == StepKind::Probe || probes || self.flow.follow_up == FollowUp::Never {
            return;
        }
        let asks = self.stages.iter().any(|it| it.asks());
        while asks && self.is_behind() {
            self.one_step(trace, cause, StepKind::Empty, &[]);
        }
    }

    /// Whether what the first stage removes by has moved since the last step.
    fn is_behind(&self) -> bool {
        let (then, now) = (self.evicted, self.source.values());
        let side = |it: usize| then.own[it] < now.own[it];
        if bounds::per_side(&self.flow) { side(0) || side(1) } else { then.all < now.all }
    }

    fn one_step(&mut self, trace: &Trace, cause: ItemId, kind: StepKind, items: &[Queued]) {
        let mut step = FlowStep::new(self.steps, kind, self.now, self.stages.len());
        let before = self.source.values();
        match self.effective {
            _ if kind == StepKind::End => {
                self.source.end(cause);
                self.pass(&mut step, cause, Vec::new(), Given::END);
                self.evicted = self.source.values();
            }
            Some(Effective::Row) => {
                let mut late = before;
                for (at, it) in items.iter().enumerate() {
                    let rows = self.take(trace, &mut step, std::slice::from_ref(it));
                    let evict = self.source.compute(it.id, self.now);
                    step.last_pass = at + 1 == items.len();
                    self.pass(&mut step, it.id, rows, Given { late, evict, leaves: true });
                    late = evict;
                }
                if items.is_empty() {
                    let evict = self.source.compute(cause, self.now);
                    self.pass(&mut step, cause, Vec::new(), Given { late, evict, leaves: true });
                }
                self.evicted = self.source.values();
            }
            Some(Effective::Probe) if kind == StepKind::Probe => {
                let rows = self.take(trace, &mut step, items);
                let evict = self.source.compute(cause, self.now);
                self.pass(&mut step, cause, rows, Given { late: before, evict, leaves: true });
                self.evicted = evict;
            }
            Some(Effective::Probe) => {
                let rows = self.take(trace, &mut step, items);
                let evict = Values::NOTHING;
                self.pass(&mut step, cause, rows, Given { late: before, evict, leaves: false });
                self.evicted = evict;
            }
            Some(Effective::NextBatch | Effective::BatchAfterNext) | None => {
                let lag_two = self.effective == Some(Effective::BatchAfterNext);
                let late = if lag_two { self.evicted } else { before };
                let rows = self.take(trace, &mut step, items);
                self.pass(&mut step, cause, rows, Given { late, evict: before, leaves: true });
                self.source.compute(cause, self.now);
                self.evicted = before;
            }
        }
        self.close(step);
    }

    /// What holds after a step.
    fn close(&mut self, mut step: FlowStep) {
        let one = !bounds::per_side(&self.flow) && self.mode != OutputMode::Complete;
        step.evict = one.then_some(self.evicted.all);
        step.candidate = self.source.candidate();
        step.watermark = self.source.values().all;
        step.marks = self.source.marks();
        step.state(&self.stages);
        self.expected.steps.push(step);
        self.steps += 1;
    }

    /// Takes items from the queue. Returns the rows that reach the first stage.
    fn take(&mut self, trace: &Trace, step: &mut FlowStep, items: &[Queued]) -> Vec<Row> {
        let mut rows = Vec::new();
        for it in items {
            match self.source.take(trace, it) {
                Taken::Nothing => {}
                Taken::Ignored(why) => self.ignore(it.id, why),
                Taken::Row(partition, fate) => {
                    step.rows_in += 1;
                    let (id, step) = (it.id, step.step);
                    self.expected.verdicts.push(FlowVerdict { id, partition, step, fate });
                }
                Taken::Passed { row, advances } => {
                    step.rows_in += 1;
                    let fate =
                        if advances { FlowFate::Counted } else { FlowFate::CountedNotAdvancing };
                    let (id, partition, step) = (row.id, row.partition, step.step);
                    self.expected.verdicts.push(FlowVerdict { id, partition, step, fate });
                    rows.push(row);
                }
            }
        }
        rows
    }

    /// Runs rows through all stages.
    fn pass(&mut self, step: &mut FlowStep, cause: ItemId, rows: Vec<Row>, given: Given) {
        let ends = given == Given::END;
        let triggered = step.kind != StepKind::Probe && step.last_pass;
        let bounds = self.chained.pass(&self.flow, given, ends);
        let mut sides = if self.flow.joins() {
            let side = |n| rows.iter().filter(|it| it.partition.input() == n).cloned().collect();
            [side(0), side(1)]
        } else {
            [rows, Vec::new()]
        };
        for (at, stage) in self.stages.iter_mut().enumerate() {
            let first = self.stateful.is_none_or(|it| at <= it);
            let Bounds { late, evict } = bounds[at];
            let mode = self.mode;
            let given = Pass { sides: &sides, late, evict, mode, triggered, ends, cause };
            let mut out = Happening::default();
            stage.pass(&given, &mut out);
            let record = &mut step.stages[at];
            record.observe(&given, &out, stage.acts());
            for (side, row, verdict) in &out.judged {
                let row = &sides[*side][*row];
                if first {
                    step.judge(*verdict);
                    self.expected.fate(row.id, *verdict);
                }
            }
            for (id, kind, certain) in out.remarks {
                let (step, known) = (step.step, first);
                self.expected.remarks.push(RemarkExpected {
                    step,
                    stage: at,
                    id,
                    kind,
                    known,
                    certain,
                });
            }
            sides = [out.rows, Vec::new()];
        }
        let [rows, _] = sides;
        let step = step.step;
        let written = rows.into_iter().map(|it| EmissionExpected {
            step,
            kind: it.kind,
            time: it.time,
            pane: it.pane,
            cells: it.cells,
        });
        self.expected.emissions.extend(written);
    }
}

/// The stages, empty.
fn stages(plan: &Plan, flow: &Flow) -> Vec<Box<dyn Stage>> {
    let links = links::follow(plan, flow);
    let build = |(it, acts): (_, &_)| stage::build(it, *acts, flow, plan.output);
    flow.stages.iter().zip(&links).map(build).collect()
}
