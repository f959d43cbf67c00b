//! Inside a step: the fixed order of judging, counting, computing c and w, closing and writing.
//!
//! Per item: a row is judged by the w in force, counted, seen by the generator; then c and w are
//! computed and windows close, before the next item. Otherwise: all items, then windows close by
//! the value of the step before, then c and w are computed once.
//!
//! Reading (`set_by`): per item, the item whose processing raised c*. Otherwise the row or
//! heartbeat of this step that gave c its value, if one did, else the item that began the step.
//!
//! Invariant: a row's fate is the first of the list in [`crate::trace`] that holds. Source:
//! semantics 4.

use super::expected::{ExpectedFate, ExpectedStep, Verdict};
use super::schedule::Queued;
use super::watermark::Value;
use super::{Figures, Oracle};
use crate::trace::{Item, RowItem, Trace};
use plimsoll_engine::output::{FiringKind, IgnoredWhy, StepKind};
use plimsoll_engine::plan::{GuardAction, OutputMode};
use plimsoll_engine::row::{ItemId, PartitionId};
use plimsoll_engine::time::{EventTime, ProcTime};

impl Oracle {
    /// One step over these items, begun by item `cause`.
    pub(super) fn step(&mut self, trace: &Trace, cause: ItemId, kind: StepKind, items: &[Queued]) {
        let (verdicts, firings) = (self.expected.verdicts.len(), self.expected.firings.len());
        let mut step = ExpectedStep {
            step: self.steps,
            kind,
            now: self.now,
            late: None,
            evict: None,
            candidate: EventTime::MIN,
            candidate_max: EventTime::MIN,
            watermark: EventTime::MIN,
            rows_in: 0,
            rows_counted: 0,
            rows_dropped: 0,
            windows_missed: 0,
            groups_removed: 0,
            verdicts: verdicts..verdicts,
            firings: firings..firings,
        };
        if kind == StepKind::End {
            self.members.end();
            self.watermark.end(cause);
            self.close(EventTime::MAX, &mut step);
        } else if self.watermark.is_per_item() {
            for it in items {
                self.take(trace, it, &mut step);
                self.compute(it.id, None);
                self.close(self.watermark(), &mut step);
            }
            if items.is_empty() {
                self.compute(cause, None);
                self.close(self.watermark(), &mut step);
            }
        } else {
            step.late = self.acts_on(self.watermark.judging().watermark);
            let evict = self.watermark();
            items.iter().for_each(|it| self.take(trace, it, &mut step));
            self.close(evict, &mut step);
            self.compute(cause, items.first().map(|it| it.id));
        }
        self.write(&step);
        step.candidate = self.candidate();
        step.candidate_max = self.candidate_max();
        step.watermark = self.watermark();
        step.verdicts.end = self.expected.verdicts.len();
        step.firings.end = self.expected.firings.len();
        self.expected.steps.push(step);
        self.steps += 1;
    }

    fn take(&mut self, trace: &Trace, it: &Queued, step: &mut ExpectedStep) {
        let at_group = self.candidate_max();
        let (id, arrival) = (it.id, it.arrival);
        let changed = match it.item {
            Item::Row(row) => {
                let fate = self.take_row(trace, row, id, arrival, step);
                let verdict = Verdict { id, partition: row.partition, step: self.steps, fate };
                self.expected.verdicts.push(verdict);
                Ok(())
            }
            Item::Heartbeat { partition, time } => {
                self.take_heartbeat(partition, time, id, arrival)
            }
            Item::Add { partition, adoption } => {
                self.members.add(partition, adoption, at_group, id, arrival)
            }
            Item::Move { partition, adoption } => {
                self.members.relocate(partition, adoption, at_group, id, arrival)
            }
            Item::Remove(partition) => self.members.remove(partition),
            Item::Finish(partition) => self.members.finish(partition),
            _ => unreachable!("only rows, heartbeats and changes wait in the queue"),
        };
        if let Err(why) = changed {
            self.ignore(id, why);
        }
    }

    fn take_heartbeat(
        &mut self,
        partition: PartitionId,
        time: EventTime,
        id: ItemId,
        arrival: ProcTime,
    ) -> Result<(), IgnoredWhy> {
        if self.members.is_finished(partition) {
            return Err(IgnoredWhy::PartitionFinished);
        }
        self.members.name(partition, arrival);
        let believed = !matches!(
            self.future(time, arrival),
            Some(GuardAction::Reject | GuardAction::CountButNotAdvance)
        );
        if !time.is_legal() || !believed {
            return Err(IgnoredWhy::HeartbeatGuarded);
        }
        self.members.advance(partition, time, id);
        Ok(())
    }

    fn take_row(
        &mut self,
        trace: &Trace,
        row: RowItem,
        id: ItemId,
        arrival: ProcTime,
        step: &mut ExpectedStep,
    ) -> ExpectedFate {
        step.rows_in += 1;
        let per_item = self.watermark.is_per_item();
        if per_item {
            step.late = None;
        }
        if self.members.is_finished(row.partition) {
            return ExpectedFate::AfterFinish;
        }
        self.members.name(row.partition, arrival);
        self.members.count_row(row.partition);
        let cells = trace.cells(row);
        let Some(time) = cells[self.window_column].map(EventTime) else {
            return ExpectedFate::NoTime;
        };
        if !time.is_legal() {
            return ExpectedFate::TimeOutOfRange;
        }
        let shown = cells[self.watermark_column].map(EventTime).filter(|it| it.is_legal());
        let future = shown.and_then(|it| self.future(it, arrival));
        if future == Some(GuardAction::Reject) {
            return ExpectedFate::Guarded;
        }
        let judging = self.watermark.judging();
        let advances = future != Some(GuardAction::CountButNotAdvance);
        if let Some(shown) = shown.filter(|_| advances) {
            self.members.advance(row.partition, shown, id);
        }
        let fate = if let Some(mut figures) = self.figures.take() {
            if per_item {
                step.late = self.acts_on(judging.watermark);
            }
            let fate = self.count(&mut figures, time, judging, cells, step);
            self.figures = Some(figures);
            fate
        } else {
            step.rows_counted += 1;
            ExpectedFate::Counted
        };
        if fate == ExpectedFate::Counted && !advances {
            return ExpectedFate::CountedNotAdvancing;
        }
        fate
    }

    fn count(
        &self,
        figures: &mut Figures,
        time: EventTime,
        judging: Value,
        cells: &[Option<i64>],
        step: &mut ExpectedStep,
    ) -> ExpectedFate {
        let starts = figures.grid.starts(time);
        if starts.count == 0 {
            return ExpectedFate::NoWindow;
        }
        let judge = self.judge.filter(|_| self.acts);
        let lost = judge.map_or(0, |it| it.lost(time, starts, judging.watermark));
        figures.count(starts, lost, cells, self.steps);
        step.windows_missed += lost;
        if lost == starts.count {
            step.rows_dropped += 1;
        } else {
            step.rows_counted += 1;
        }
        match judge {
            Some(it) if lost > 0 => ExpectedFate::Late(it.lateness(time, starts, lost, judging)),
            _ => ExpectedFate::Counted,
        }
    }

    /// What the guard does with a time from the future; `None` where it is not from there.
    fn future(&self, time: EventTime, arrival: ProcTime) -> Option<GuardAction> {
        let guard = self.guard?;
        let limit = i128::from(arrival.0) + i128::from(guard.ahead.0);
        (limit < i128::from(time.0)).then_some(guard.action)
    }

    /// Computes c and w. Where the step's items are seen together, the one among them (numbers from
    /// `first` on) that gave c its value is its cause.
    fn compute(&mut self, cause: ItemId, first: Option<ItemId>) {
        let c = self.members.evaluate();
        let spokesman = self.members.spokesman();
        let together = spokesman.filter(|it| first.is_some_and(|first| first <= *it));
        let cause = together.unwrap_or(cause);
        self.watermark.advance(c, cause, self.now, self.members.all_idle());
        if let Some(figures) = &mut self.figures {
            figures.candidate_computed(self.members.some_idle());
        }
    }

    fn close(&mut self, evict: EventTime, step: &mut ExpectedStep) {
        step.evict = self.acts_on(evict);
        let ends = step.kind == StepKind::End && self.mode != OutputMode::Complete;
        let Some(figures) = self.figures.as_mut().filter(|_| self.acts || ends) else { return };
        let kind = match self.mode {
            OutputMode::Append => FiringKind::OnTime,
            OutputMode::Update | OutputMode::Complete => FiringKind::Update,
        };
        step.groups_removed += figures.evict(evict, kind, step.step, &mut self.expected);
    }

    fn write(&mut self, step: &ExpectedStep) {
        let Some(figures) = &mut self.figures else { return };
        match self.mode {
            OutputMode::Append => {}
            OutputMode::Update => figures.write_changed(step.step, &mut self.expected),
            OutputMode::Complete if step.kind == StepKind::Probe => {}
            OutputMode::Complete => {
                let ended = self.watermark.last().watermark == EventTime::MAX;
                figures.write_all(ended, step.step, &mut self.expected);
            }
        }
        figures.step_ends();
    }

    /// A bound, where bounds have an effect; plans without a watermark have -inf.
    fn acts_on(&self, bound: EventTime) -> Option<EventTime> {
        (self.acts || self.judge.is_none()).then_some(bound)
    }
}
