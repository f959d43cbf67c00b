//! What a run did, in the order in which it did it: the facts that explanations follow back.
//!
//! Invariant: facts only, each with the item at which it showed. Nothing is concluded here.

use super::lines::{self, LineOf};
use crate::invariant::{Observation, Violation};
use crate::run::Run;
use crate::system::System;
use crate::system::engine::Engine;
use crate::trace::{Item, Trace};
use plimsoll_engine::flow::source::Sources;
use plimsoll_engine::output::{Fate, FiringKind, FiringReason, Ignored, RowRecord, StepRecord};
use plimsoll_engine::plan::problem::Problem;
use plimsoll_engine::row::{ItemId, PartitionId};
use plimsoll_engine::time::{EventTime, ProcTime};
use plimsoll_engine::watermark::member::{Member, MemberState};
use plimsoll_engine::window::Window;
use std::collections::BTreeMap;

/// A rise of the watermark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rise {
    /// The item that ended the step.
    pub item: ItemId,
    /// The step.
    pub step: u64,
    /// The new value.
    pub watermark: EventTime,
    /// The candidate that it was computed from.
    pub candidate: EventTime,
    /// The item that showed this candidate, where a partition's maximum is it.
    pub shown_by: Option<ItemId>,
    /// Whether no partition counted, so that the silent ones gave the value.
    pub flushed: bool,
}

/// A window that was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Written {
    /// The item that brought it out.
    pub item: ItemId,
    /// Which.
    pub window: Window,
    /// In what way.
    pub kind: FiringKind,
    /// What moved the watermark past its end.
    pub reason: FiringReason,
    /// How many rows had been dropped for it by then.
    pub rows_dropped: u64,
}

/// The system after the last item.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Last {
    /// The clock.
    pub now: ProcTime,
    /// The partitions.
    pub members: Vec<Member>,
    /// c.
    pub candidate: EventTime,
    /// w.
    pub watermark: EventTime,
    /// Rows and heartbeats that wait for a step.
    pub arrivals_queued: u64,
    /// Groups held.
    pub groups: Option<u64>,
    /// The end of the earliest window with state.
    pub oldest_end: Option<EventTime>,
    /// Groups, entries and stored rows of each stage of a flow.
    pub held: Vec<u64>,
    /// Partitions that are not read, or whose task may not write, and why.
    pub blocked: Vec<(PartitionId, &'static str)>,
    /// Whether the query has ended or stopped.
    pub stopped: bool,
}

/// What a run did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct History {
    /// Each step, with the item that ended it.
    pub steps: Vec<(ItemId, StepRecord)>,
    /// Rows that were not simply counted.
    pub fates: BTreeMap<ItemId, RowRecord>,
    /// Items that made no sense.
    pub ignored: Vec<Ignored>,
    /// Rises of the watermark.
    pub rises: Vec<Rise>,
    /// Restarts that forgot the watermark, with where it stood before.
    pub forgotten: Vec<(ItemId, EventTime)>,
    /// Windows written.
    pub written: Vec<Written>,
    /// Who holds the minimum down, from which item on.
    pub holders: Vec<(ItemId, Option<PartitionId>)>,
    /// The lines of a flow and who holds the watermark there, from which item on.
    pub lines: Vec<(ItemId, Vec<LineOf>)>,
    /// Changes of partitions between active, idle and finished.
    pub turns: Vec<(ItemId, PartitionId, MemberState)>,
    /// The state at the end.
    pub last: Last,
    /// Where the run itself failed.
    pub broken: Option<Violation>,
}

impl History {
    /// What our engine does with a trace. `also` looks at every item too.
    ///
    /// # Errors
    /// Everything that is wrong with the plan.
    pub fn of_engine(
        trace: &Trace,
        also: &mut dyn FnMut(&Observation<'_>),
    ) -> Result<Self, Vec<Problem>> {
        let mut engine = Engine::new(trace, 0)?;
        Ok(Self::of(trace, &mut engine, also))
    }

    /// The same, watching a stage of a flow.
    ///
    /// # Errors
    /// Everything that is wrong with the plan.
    pub fn watching(
        trace: &Trace,
        stage: usize,
        also: &mut dyn FnMut(&Observation<'_>),
    ) -> Result<Self, Vec<Problem>> {
        let mut engine = Engine::new(trace, 0)?;
        let mut run = Run::new(trace, &mut engine, false);
        run.watch(stage);
        Ok(Self::of_run(trace, run, also))
    }

    /// What a system does with a trace. `also` looks at every item too.
    pub fn of(
        trace: &Trace,
        system: &mut dyn System,
        also: &mut dyn FnMut(&Observation<'_>),
    ) -> Self {
        Self::of_run(trace, Run::new(trace, system, false), also)
    }

    fn of_run(trace: &Trace, mut run: Run<'_>, also: &mut dyn FnMut(&Observation<'_>)) -> Self {
        let initial = trace.plan.watermark.as_ref().map_or(EventTime::MIN, |it| it.initial);
        let last = Last { watermark: initial, candidate: EventTime::MIN, ..Last::default() };
        let mut history = Self { last, ..Self::default() };
        while let Some(step) = run.step() {
            match step {
                Err(violation) => {
                    history.broken = Some(violation);
                    break;
                }
                Ok(seen) => {
                    history.observe(&seen);
                    also(&seen);
                }
            }
        }
        history
    }

    fn observe(&mut self, seen: &Observation<'_>) {
        let id = seen.id;
        self.fates.extend(seen.output.records.iter().map(|it| (it.id, *it)));
        self.ignored.extend_from_slice(&seen.output.ignored);
        self.written.extend(seen.output.firings.iter().map(|it| Written {
            item: id,
            window: it.window,
            kind: it.kind,
            reason: it.note.reason,
            rows_dropped: it.note.rows_dropped,
        }));
        if matches!(seen.item, Item::Restart(_)) && seen.view.watermark < self.last.watermark {
            self.forgotten.push((id, self.last.watermark));
        }
        let mut before = self.last.watermark;
        for step in &seen.output.steps {
            if before < step.watermark {
                before = step.watermark;
                // Of several inputs each has a candidate: that of the watermark is what is meant.
                let of_flow = seen.view.sources.map(Sources::in_force);
                let of_flow = of_flow.filter(|it| it.watermark == step.watermark);
                self.rises.push(Rise {
                    item: id,
                    step: step.step,
                    watermark: step.watermark,
                    candidate: of_flow.map_or(step.candidate, |it| it.candidate),
                    shown_by: match of_flow {
                        Some(it) => it.set_by.filter(|it| *it <= id),
                        None => shown_by(seen.view.members, step.candidate, id),
                    },
                    flushed: !seen.view.members.iter().any(Member::counts),
                });
            }
            self.steps.push((id, *step));
        }
        self.turns(id, seen.view.members);
        let counting = seen.view.members.iter().filter(|it| it.counts());
        let holder = counting.min_by_key(|it| it.max).map(|it| it.partition);
        if self.holders.last().is_none_or(|it| it.1 != holder) {
            self.holders.push((id, holder));
        }
        if let Some(sources) = seen.view.sources {
            let lines = lines::of(sources, seen.trace);
            if self.lines.last().is_none_or(|it| it.1 != lines) {
                self.lines.push((id, lines));
            }
        }
        let view = &seen.view;
        if !seen.output.stages.is_empty() {
            self.last.held.clear();
            let step = seen.output.stages.last().map(|it| it.step);
            let of_last = seen.output.stages.iter().filter(|it| Some(it.step) == step);
            self.last.held.extend(of_last.map(|it| it.state_rows));
        }
        self.last.members.clear();
        self.last.members.extend_from_slice(view.members);
        self.last = Last {
            now: view.now,
            members: std::mem::take(&mut self.last.members),
            candidate: view.candidate,
            watermark: view.watermark,
            arrivals_queued: view.arrivals_queued,
            groups: view.groups,
            oldest_end: view.oldest_end,
            held: std::mem::take(&mut self.last.held),
            blocked: view.sources.map_or_else(Vec::new, lines::blocked),
            stopped: view.stopped,
        };
    }

    fn turns(&mut self, id: ItemId, members: &[Member]) {
        for member in members {
            let old = self.last.members.binary_search_by_key(&member.partition, |it| it.partition);
            if old.is_ok_and(|it| self.last.members[it].state != member.state) {
                self.turns.push((id, member.partition, member.state));
            }
        }
    }

    /// The step that took a row, with the item that began it; `None` while the row waits.
    pub fn step_of_row(&self, trace: &Trace, id: ItemId) -> Option<(ItemId, StepRecord)> {
        if let Some(record) = self.fates.get(&id) {
            if record.fate == Fate::NotApplicable {
                return None;
            }
            return self.steps.iter().find(|it| it.1.step == record.step).copied();
        }
        let until = usize::try_from(id.0).ok()?.min(trace.items.len());
        let rows = trace.items[..until].iter().filter(|it| matches!(it, Item::Row(_))).count();
        let mut left = rows as u64;
        self.steps.iter().copied().find(|(_, step)| {
            let here = left <= step.rows_in;
            left = left.saturating_sub(step.rows_in);
            here
        })
    }

    /// The rise to a value, or the last one below it.
    pub fn rise_to(&self, watermark: EventTime) -> Option<&Rise> {
        self.rises.iter().rfind(|it| it.watermark <= watermark)
    }

    /// The lines of a flow as they stood after an item.
    pub fn lines_at(&self, item: ItemId) -> &[LineOf] {
        self.lines.iter().rfind(|it| it.0 <= item).map_or(&[], |it| &it.1)
    }

    /// The step in which a window closed, with the item that ended it.
    pub fn closing(&self, window: Window) -> Option<(ItemId, StepRecord)> {
        self.steps.iter().copied().find(|it| window.closes_at(it.1.evict))
    }
}

/// The item that showed a candidate: where a member's maximum is it.
fn shown_by(members: &[Member], candidate: EventTime, until: ItemId) -> Option<ItemId> {
    if !candidate.is_finite() {
        return None;
    }
    let mut same: Vec<&Member> = members.iter().filter(|it| it.max == candidate).collect();
    same.sort_by_key(|it| !it.counts());
    same.first().and_then(|it| it.max_set_by).filter(|it| *it <= until)
}
