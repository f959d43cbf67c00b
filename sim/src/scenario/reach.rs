//! How much of what matters a world reaches: closed windows, late rows, faults.
//!
//! A rough model of a run, for tuning worlds: it knows the generators, the lag and the late rules, and
//! nothing of snapshots, fallbacks in detail or output. The engine says exactly; this says whether a
//! world is worth its time.

use super::World;
use crate::trace::{Item, RowItem, Trace};
use plimsoll_engine::late::windows_lost;
use plimsoll_engine::plan::{
    AllIdle, Effective, GeneratorPlan, GuardAction, OutputMode, Rejoin, Trigger, WatermarkPlan,
};
use plimsoll_engine::time::EventTime;
use plimsoll_engine::window::assign::Assigner;
use std::collections::{BTreeMap, BTreeSet};

/// What a world reached before its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Reach {
    pub(super) closed: usize,
    /// Of these, those that were closed before healing began.
    pub(super) closed_in_chaos: usize,
    /// Windows of the chaos that healing did not close, absurd ones aside.
    pub(super) unhealed: usize,
    pub(super) late: usize,
    pub(super) faults: usize,
    /// A plan under which nothing ever closes.
    pub(super) never_closes: bool,
}

#[derive(Clone, Copy)]
struct Part {
    max: i64,
    heard: i64,
    idle: bool,
    aligned: bool,
    finished: bool,
}

struct Run<'a> {
    trace: &'a Trace,
    plan: &'a WatermarkPlan,
    windows: Assigner,
    parts: BTreeMap<u32, Part>,
    most: i64,
    candidate: i64,
    w: i64,
    w_before: i64,
    now: i64,
    ends: BTreeSet<i64>,
    reach: Reach,
}

pub(super) fn reach(world: &World) -> Reach {
    let trace = &world.trace;
    let fault = |it: &&Item| {
        matches!(it, Item::Crash { .. } | Item::Move { .. } | Item::Remove(_) | Item::Finish(_))
            || matches!(it, Item::Add { .. } | Item::Probe | Item::Checkpoint)
    };
    let strong =
        |it: &&Item| fault(it) && !matches!(it, Item::Add { .. } | Item::Probe | Item::Checkpoint);
    let faults = trace.items[..world.chaos_len].iter().filter(strong).count();
    let (Some(plan), Some(operator)) = (&trace.plan.watermark, &trace.plan.operator) else {
        return Reach { faults, never_closes: true, ..Reach::default() };
    };
    let mut run = Run {
        trace,
        plan,
        windows: Assigner::new(operator.window),
        parts: BTreeMap::new(),
        most: i64::MIN,
        candidate: i64::MIN,
        w: plan.initial.0,
        w_before: plan.initial.0,
        now: trace.clock.0,
        ends: BTreeSet::new(),
        reach: Reach { faults, ..Reach::default() },
    };
    run.reach.never_closes = trace.plan.output == OutputMode::Complete
        || matches!(trace.plan.trigger, Trigger::Once | Trigger::AvailableNow(_));
    let mut queue = Vec::new();
    let mut beats = trace.clock.0;
    let mut chaos_ends = BTreeSet::new();
    let mut furthest = i64::MIN;
    for (n, item) in trace.items.iter().enumerate() {
        if n == world.chaos_len {
            run.reach.closed_in_chaos = run.reach.closed;
            chaos_ends = run.ends.clone();
            furthest = run.now;
        }
        match *item {
            Item::End => break,
            Item::Row(_) | Item::Heartbeat { .. } | Item::Remove(_) | Item::Finish(_) => {
                run.hear(item);
                queue.push(*item);
                if trace.plan.trigger == Trigger::Row {
                    run.step(&mut queue);
                }
            }
            Item::Tick(span) => {
                run.now += span.0;
                run.judge_idleness();
                match trace.plan.trigger {
                    Trigger::Row => run.step(&mut queue),
                    Trigger::Interval(every) if (run.now - beats) / every.0.max(1) > 0 => {
                        beats += (run.now - beats) / every.0.max(1) * every.0.max(1);
                        run.step(&mut queue);
                    }
                    _ => {}
                }
            }
            Item::Batch if trace.plan.trigger == Trigger::Batch => run.step(&mut queue),
            _ => {}
        }
    }
    // A window that ends far beyond the clock comes from an absurd time; healing leaves it alone.
    let absurd = furthest.saturating_add(furthest - trace.clock.0);
    let left = run.ends.intersection(&chaos_ends).filter(|it| **it <= absurd);
    run.reach.unhealed = left.count();
    run.reach
}

impl Run<'_> {
    fn hear(&mut self, item: &Item) {
        let hold = self.rejoin() == Some(Rejoin::Hold);
        if let Item::Row(RowItem { partition, .. }) | Item::Heartbeat { partition, .. } = item
            && let Some(part) = self.parts.get_mut(&partition.0)
        {
            part.heard = self.now;
            if part.idle {
                part.idle = false;
                part.aligned = part.max >= self.candidate || hold;
            }
        }
    }

    fn rejoin(&self) -> Option<Rejoin> {
        match self.plan.generator {
            GeneratorPlan::PartitionMin { idle } => idle.map(|it| it.rejoin),
            GeneratorPlan::GlobalMax => None,
        }
    }

    fn judge_idleness(&mut self) {
        if let GeneratorPlan::PartitionMin { idle: Some(idle) } = self.plan.generator {
            for it in self.parts.values_mut().filter(|it| !it.finished) {
                it.idle |= self.now - it.heard > idle.timeout.0;
            }
        }
    }

    fn step(&mut self, queue: &mut Vec<Item>) {
        let per_row = self.plan.effective == Effective::Row;
        let judged_by =
            if self.plan.effective == Effective::BatchAfterNext { self.w_before } else { self.w };
        for item in queue.drain(..) {
            self.apply(&item, if per_row { self.w } else { judged_by });
            if per_row {
                self.recompute();
                self.close(self.w);
            }
        }
        if per_row {
            self.recompute();
            self.close(self.w);
        } else {
            self.close(self.w);
            self.w_before = self.w;
            self.recompute();
        }
    }

    fn apply(&mut self, item: &Item, w: i64) {
        match *item {
            Item::Row(row) => {
                let Some(time) = self.trace.time(row).filter(|it| it.is_legal()) else { return };
                let future = self.plan.guard.filter(|it| time.0 > self.now + it.ahead.0);
                if future.is_some_and(|it| it.action == GuardAction::Reject) {
                    return;
                }
                let rule = self.trace.plan.operator.as_ref().map(|it| it.late);
                let (lost, all) =
                    rule.map_or((0, 0), |it| windows_lost(it, &self.windows, time, EventTime(w)));
                let late = lost > 0 && self.trace.plan.output != OutputMode::Complete;
                self.reach.late += usize::from(late);
                let kept = if late { (all - lost) as usize } else { all as usize };
                self.ends.extend(self.windows.windows(time).rev().take(kept).map(|it| it.end.0));
                if future.is_none_or(|it| it.action == GuardAction::Accept) {
                    self.see(row.partition.0, time.0);
                }
            }
            Item::Heartbeat { partition, time } if time.is_legal() => {
                self.see(partition.0, time.0);
            }
            Item::Remove(partition) => drop(self.parts.remove(&partition.0)),
            Item::Finish(partition) => {
                if let Some(it) = self.parts.get_mut(&partition.0) {
                    it.finished = true;
                }
            }
            _ => {}
        }
    }

    fn see(&mut self, partition: u32, time: i64) {
        self.most = self.most.max(time);
        let fresh =
            Part { max: i64::MIN, heard: self.now, idle: false, aligned: true, finished: false };
        let part = self.parts.entry(partition).or_insert(fresh);
        part.max = part.max.max(time);
    }

    fn recompute(&mut self) {
        let candidate = match self.plan.generator {
            GeneratorPlan::GlobalMax => self.most,
            GeneratorPlan::PartitionMin { idle } => {
                let before = self.candidate;
                self.parts.values_mut().for_each(|it| it.aligned |= it.max >= before);
                let mut active =
                    self.parts.values().filter(|it| !it.idle && !it.finished && it.aligned);
                match active.clone().next() {
                    Some(_) => active.by_ref().map(|it| it.max).min().unwrap_or(before),
                    None if idle.is_some_and(|it| it.all_idle == AllIdle::Flush) => {
                        self.parts.values().map(|it| it.max).max().unwrap_or(before)
                    }
                    None => before,
                }
            }
        };
        self.candidate = candidate;
        self.w = self.w.max((EventTime(candidate) - self.plan.delay).0);
        let all_idle = self.parts.values().all(|it| it.idle || it.finished);
        if let Some(it) = self.plan.fallback.filter(|it| it.always || all_idle) {
            self.w = self.w.max(self.now - it.behind.0);
        }
    }

    fn close(&mut self, w: i64) {
        let rest = self.ends.split_off(&w.saturating_add(1));
        self.reach.closed += self.ends.len();
        self.ends = rest;
    }
}
