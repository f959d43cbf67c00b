//! The oracle: the other hand, which recomputes by definition what must come out of a trace.
//!
//! It reads the trace item by item and says which steps an item begins, which watermark judges
//! which row, what is late for which window, and what is written. It shares data types with the
//! engine and no logic; where the engine keeps slices, tables and one combiner, it counts every row
//! into every window and computes the candidate from all partitions each time.
//!
//! Sources: semantics, and where that is silent the documentation of [`crate::trace`].
//!
//! Readings of its own, beside those in the files below. Once stopped, nothing changes but the
//! clock; a row is not applicable, every other item (a tick too) is ignored. A watermark acts on
//! windows only where both are on the same, unbroken column; otherwise c and w are computed as ever
//! but nothing is late and only the end of input closes windows. Without a watermark c and w stay
//! at -inf until the end of input, which puts them to +inf as always.
//!
//! Invariant: the past decides. Nothing behind the current item is looked at.

mod expected;
mod figures;
pub mod flow;
mod keys;
mod members;
mod restart;
mod schedule;
mod step;
#[cfg(test)]
mod tests;
mod totals;
mod verdict;
mod watermark;
mod windows;

pub use expected::{Expected, ExpectedFate, ExpectedFiring, ExpectedStep, Lateness, Verdict};
pub use figures::WindowTotals;

use crate::trace::{Item, Trace};
use figures::Figures;
use members::Members;
use plimsoll_engine::output::{Ignored, IgnoredWhy, StepKind};
use plimsoll_engine::plan::{Guard, LineageStep, OutputMode, Plan};
use plimsoll_engine::row::ItemId;
use plimsoll_engine::time::{EventTime, ProcTime, Span};
use plimsoll_engine::watermark::member::Member;
use plimsoll_engine::window::Window;
use schedule::{Begin, Queued, Schedule, kind, pieces};
use verdict::Judge;
use watermark::Watermark;

/// Recomputes a run; see the [module documentation](self).
#[derive(Debug)]
pub struct Oracle {
    // The plan, taken apart.
    mode: OutputMode,
    guard: Option<Guard>,
    watermark_column: usize,
    window_column: usize,
    /// Whether the watermark judges rows and closes windows.
    acts: bool,
    judge: Option<Judge>,
    // The state.
    now: ProcTime,
    steps: u64,
    stopped: bool,
    queue: Vec<Queued>,
    schedule: Schedule,
    members: Members,
    watermark: Watermark,
    figures: Option<Box<Figures>>,
    expected: Expected,
}

impl Oracle {
    /// Before the first item. The plan must have passed its check.
    pub fn new(trace: &Trace) -> Self {
        let plan = &trace.plan;
        let watermark_column = trace.time_column();
        let source = window_source(plan);
        let window_column = source.map_or(watermark_column, |it| it.column);
        let linked = source.is_some_and(|it| it.unbroken && it.column == watermark_column);
        let figures = plan.operator.as_ref().map(|it| Box::new(Figures::new(it)));
        let judge = plan.operator.as_ref().zip(plan.watermark.as_ref()).zip(figures.as_ref());
        Self {
            mode: plan.output,
            guard: plan.watermark.as_ref().and_then(|it| it.guard),
            watermark_column,
            window_column,
            acts: linked && plan.output != OutputMode::Complete,
            judge: judge.map(|((operator, watermark), figures)| Judge {
                rule: operator.late,
                grid: figures.grid,
                delay: watermark.delay,
                fallback: watermark.fallback,
                initial: watermark.initial,
            }),
            now: trace.clock,
            steps: 0,
            stopped: false,
            queue: Vec::new(),
            schedule: Schedule::new(plan.trigger, trace.clock),
            members: Members::new(plan.watermark.as_ref().map(|it| it.generator)),
            watermark: Watermark::new(plan.watermark.clone()),
            expected: Expected {
                key_columns: plan.operator.as_ref().map_or(0, |it| it.keys.len()),
                aggregates: plan.operator.as_ref().map_or(0, |it| it.aggregates.len()),
                ..Expected::default()
            },
            figures,
        }
    }

    /// Takes the next item and says what must come out because of it.
    pub fn observe(&mut self, trace: &Trace, id: ItemId, item: &Item) -> &Expected {
        self.expected.clear();
        if let Item::Tick(span) = item {
            self.now = self.now + Span(span.0.max(0));
        }
        if self.stopped {
            self.refuse(id, item);
            return &self.expected;
        }
        match *item {
            Item::Row(row) => self.members.arrive(row.partition, self.now),
            Item::Heartbeat { partition, .. } => self.members.arrive(partition, self.now),
            Item::Tick(_) | Item::Probe => self.members.judge_idleness(self.now),
            Item::Restart(rules) => self.restart(rules),
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
        let begin = self.schedule.begin(item, self.now);
        if begin == Begin::Nothing {
            return &self.expected;
        }
        let mut queue = std::mem::take(&mut self.queue);
        match begin {
            Begin::Nothing => {}
            Begin::Ignored => {
                self.ignore(id, IgnoredWhy::TriggerDecides);
                std::mem::swap(&mut self.queue, &mut queue);
            }
            Begin::Step(without_rows) => {
                self.step(trace, id, kind(&queue, without_rows), &queue);
            }
            Begin::Stop(rows) => {
                for piece in pieces(&queue, rows) {
                    let items = &queue[piece];
                    self.step(trace, id, kind(items, StepKind::Empty), items);
                }
                self.stopped = true;
            }
            Begin::End => {
                if !queue.is_empty() {
                    self.step(trace, id, kind(&queue, StepKind::Empty), &queue);
                }
                self.members.finish_all();
                self.step(trace, id, StepKind::End, &[]);
                self.stopped = true;
            }
        }
        if begin != Begin::Ignored {
            queue.clear();
            self.queue = queue;
        }
        &self.expected
    }

    /// What the last item had to cause.
    pub const fn expected(&self) -> &Expected {
        &self.expected
    }

    /// The partitions, in order of their numbers.
    pub fn members(&self) -> &[Member] {
        self.members.all()
    }

    /// The candidate c after the last step.
    pub const fn candidate(&self) -> EventTime {
        self.members.candidate()
    }

    /// Its running maximum c*.
    pub const fn candidate_max(&self) -> EventTime {
        self.watermark.last().candidate_max
    }

    /// The watermark after the last step.
    pub const fn watermark(&self) -> EventTime {
        self.watermark.last().watermark
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

    /// Rows alone that wait for a step.
    pub fn rows_queued(&self) -> u64 {
        self.queue.iter().filter(|it| it.is_row()).count() as u64
    }

    /// (window, key) groups held.
    pub fn groups(&self) -> u64 {
        self.figures.as_ref().map_or(0, |it| it.groups())
    }

    /// End of the earliest window that has state.
    pub fn oldest_end(&self) -> Option<EventTime> {
        self.open_windows().next().map(|it| it.end)
    }

    /// Windows with state, in order.
    pub fn open_windows(&self) -> impl Iterator<Item = Window> {
        self.figures.iter().flat_map(|it| it.open())
    }

    /// What is known of the window that starts there; `None` where the plan has no windows.
    pub fn window(&self, start: EventTime) -> Option<WindowTotals> {
        self.figures.as_ref().map(|it| it.totals(start))
    }

    fn wait(&mut self, id: ItemId, item: &Item) {
        self.queue.push(Queued { id, item: *item, arrival: self.now });
    }

    fn ignore(&mut self, id: ItemId, why: IgnoredWhy) {
        self.expected.ignored.push(Ignored { id, why });
    }

    fn refuse(&mut self, id: ItemId, item: &Item) {
        match item {
            Item::Row(row) => self.expected.verdicts.push(Verdict {
                id,
                partition: row.partition,
                step: self.steps,
                fate: ExpectedFate::NotApplicable,
            }),
            Item::Checkpoint | Item::Crash { .. } | Item::Restart(_) => {}
            _ => self.ignore(id, IgnoredWhy::QueryStopped),
        }
    }
}

/// The column of the schema that windows are cut on.
#[derive(Clone, Copy)]
struct WindowSource {
    column: usize,
    unbroken: bool,
}

/// Follows the name of the operator's time column back through the lineage.
fn window_source(plan: &Plan) -> Option<WindowSource> {
    let mut name = plan.operator.as_ref()?.time.as_str();
    let mut unbroken = plan.watermark.is_some();
    for step in plan.lineage.iter().rev() {
        match step {
            LineageStep::Rename { from, to } if to == name => name = from,
            LineageStep::Project(kept) => unbroken &= kept.iter().any(|it| it == name),
            LineageStep::Compute(column) => unbroken &= column != name,
            LineageStep::Rename { .. } => {}
        }
    }
    let column = plan.schema.position(name)?.0;
    Some(WindowSource { column, unbroken })
}
