//! Marks the sites, item by item, from outside the system.
//!
//! Large firings are not searched for a null key or a wide sum: small ones will do.
//!
//! Invariant: what is remembered from item to item fits in a few words and one list of partitions
//! that were taken away.

mod flow;

use super::{Reach, sometimes};
use crate::invariant::Observation;
use crate::invariant::past::{Past, StepFacts};
use crate::trace::Item;
use plimsoll_engine::late::{LateCause, LateRow};
use plimsoll_engine::output::{
    Completeness, Fate, Firing, FiringReason, IgnoredWhy, StepKind, StepRecord,
};
use plimsoll_engine::plan::restore::RestoreRules;
use plimsoll_engine::plan::{LateRule, Rejoin, Trigger};
use plimsoll_engine::row::PartitionId;
use plimsoll_engine::state::layout::Value;
use plimsoll_engine::time::EventTime;
use plimsoll_engine::watermark::member::Adoption;

/// Firings with more groups are not searched.
const SMALL: usize = 64;
/// With more partitions the aligned are not counted.
const FEW: usize = 16;

/// What a run has reached so far.
#[derive(Clone, Debug)]
pub struct Watch {
    reach: Reach,
    candidate: EventTime,
    watermark: EventTime,
    unaligned: usize,
    idle: bool,
    waiting: usize,
    checkpoint: bool,
    crashed: bool,
    closed: bool,
    /// What the stages of a flow hold.
    held: u64,
    removed: Vec<PartitionId>,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            reach: Reach::default(),
            candidate: EventTime::MIN,
            watermark: EventTime::MIN,
            unaligned: 0,
            idle: false,
            waiting: 0,
            checkpoint: false,
            crashed: false,
            closed: false,
            held: 0,
            removed: Vec::new(),
        }
    }
}

impl Watch {
    /// What was reached.
    pub const fn reach(&self) -> Reach {
        self.reach
    }

    /// Looks at an item, of which the past knows already.
    pub fn observe(&mut self, seen: &Observation<'_>, past: &Past) {
        self.item(seen, past);
        self.partitions(seen, past);
        if !seen.output.steps.is_empty() {
            for (record, facts) in seen.output.steps.iter().zip(&past.steps) {
                self.step(record, facts, past);
            }
            sometimes!(self.reach, "several steps from one item", 1 < past.steps.len());
            self.closed = past.steps.iter().any(|it| 0 < it.closed);
        }
        for firing in &seen.output.firings {
            self.firing(firing, past);
        }
        for record in &seen.output.records {
            self.fate(&record.fate, record.step);
        }
        for ignored in &seen.output.ignored {
            let guarded = ignored.why == IgnoredWhy::HeartbeatGuarded;
            sometimes!(self.reach, "item ignored", true);
            sometimes!(self.reach, "heartbeat from the future", guarded);
        }
        sometimes!(self.reach, "late row to the side output", !seen.output.side.is_empty());
        if let Some(plan) = &seen.trace.plan.flow {
            let waits = plan.joins() && 0 < self.held && matches!(seen.item, Item::Crash { .. });
            sometimes!(self.reach, "crash while rows wait for partners", waits);
            flow::look(&mut self.reach, seen, past, plan);
            self.held = seen.view.groups.unwrap_or(self.held);
        }
        self.candidate = seen.view.candidate;
        self.watermark = seen.view.watermark;
        self.idle = past.roster.some_idle();
        self.waiting = past.waiting();
        self.crashed = matches!(seen.item, Item::Crash { .. });
        self.checkpoint |= matches!(seen.item, Item::Checkpoint);
    }

    fn item(&mut self, seen: &Observation<'_>, past: &Past) {
        let (idle, waiting) = (self.idle, 0 < self.waiting);
        match *seen.item {
            Item::Row(row) => self.named(row.partition),
            Item::Heartbeat { partition, .. } => {
                self.named(partition);
                let moved = self.watermark < seen.view.watermark;
                sometimes!(self.reach, "heartbeat moves the watermark", moved);
            }
            Item::Tick(span) => {
                let several = match past.scope.trigger {
                    Trigger::Interval(it) => it.0.saturating_mul(2) <= span.0,
                    _ => false,
                };
                sometimes!(self.reach, "tick over several intervals", several);
            }
            Item::Add { partition, .. } => {
                self.named(partition);
                self.rebalance(idle, waiting);
            }
            Item::Remove(partition) => {
                self.rebalance(idle, waiting);
                if !self.removed.contains(&partition) {
                    self.removed.push(partition);
                }
            }
            Item::Move { adoption, .. } => {
                self.rebalance(idle, waiting);
                let without = adoption == Adoption::WithoutWatermark;
                sometimes!(self.reach, "move without watermark", without);
                sometimes!(self.reach, "move at group", adoption == Adoption::AtGroup);
            }
            Item::Finish(_) => sometimes!(self.reach, "finish while idle", idle),
            Item::Crash { stale } => {
                sometimes!(self.reach, "crash with rows queued", waiting);
                sometimes!(self.reach, "crash while idle", idle);
                sometimes!(self.reach, "crash before any checkpoint", !self.checkpoint);
                sometimes!(self.reach, "stale crash", stale);
                sometimes!(self.reach, "two crashes in a row", self.crashed);
                sometimes!(self.reach, "crash between closing and the next row", self.closed);
            }
            Item::Restart(rules) => {
                let forgets = rules != RestoreRules::EXACT;
                sometimes!(self.reach, "restart that forgets", forgets);
                sometimes!(
                    self.reach,
                    "restart that forgets while windows are open",
                    forgets && seen.view.oldest_end.is_some()
                );
                sometimes!(self.reach, "restart with rows queued", waiting);
            }
            Item::Probe | Item::Batch | Item::Steer(_) | Item::Checkpoint | Item::End => {}
        }
    }

    fn named(&mut self, partition: PartitionId) {
        let again = self.removed.contains(&partition);
        sometimes!(self.reach, "partition re-added after removal", again);
    }

    fn rebalance(&mut self, idle: bool, waiting: bool) {
        sometimes!(self.reach, "rebalance while idle", idle);
        sometimes!(self.reach, "rebalance with rows queued", waiting);
    }

    fn partitions(&mut self, seen: &Observation<'_>, past: &Past) {
        let view = &seen.view;
        let fell = view.candidate < self.candidate;
        sometimes!(self.reach, "candidate falls", fell);
        sometimes!(self.reach, "rejoin lowers the candidate", past.woke && fell);
        sometimes!(self.reach, "all partitions idle", past.roster.all_idle());
        if past.woke {
            let who = match *seen.item {
                Item::Row(row) => Some(row.partition),
                Item::Heartbeat { partition, .. } => Some(partition),
                _ => None,
            };
            let mut members = view.members.iter().filter(|it| Some(it.partition) == who);
            let behind = members.any(|it| it.max < self.candidate);
            sometimes!(self.reach, "rejoin behind the candidate", behind);
        }
        let catches_up = past.scope.idle.is_some_and(|it| it.rejoin == Rejoin::CatchUp);
        if catches_up && view.members.len() <= FEW {
            let unaligned = view.members.iter().filter(|it| !it.aligned).count();
            let fewer =
                unaligned < self.unaligned && matches!(seen.item, Item::Row(_) | Item::Batch);
            sometimes!(self.reach, "unaligned partition catches up", fewer);
            self.unaligned = unaligned;
        }
    }

    fn step(&mut self, record: &StepRecord, facts: &StepFacts, past: &Past) {
        let (empty, closed) = (record.kind == StepKind::Empty, facts.closed);
        sometimes!(self.reach, "empty batch", empty);
        sometimes!(self.reach, "window closed by an empty batch", empty && 0 < closed);
        sometimes!(self.reach, "two windows closed in one step", 1 < closed);
        let late = 0 < record.rows_in && record.rows_dropped == record.rows_in;
        sometimes!(self.reach, "step of late rows only", late);
        let by_data = past.scope.initial.max(facts.seen - past.scope.delay);
        let by_wall = past.scope.fallback.is_some() && by_data < record.watermark;
        let by_wall = by_wall && record.watermark != EventTime::MAX;
        sometimes!(self.reach, "wall clock moves the watermark", by_wall);
        let held = record.watermark == EventTime::MIN && EventTime::MIN < facts.seen;
        sometimes!(self.reach, "watermark before any row", held);
        for row in past.rows_of(facts) {
            let Some(time) = row.time else { continue };
            let near = EventTime::LEGAL / 2 < time.0.saturating_abs() && time.is_legal();
            sometimes!(self.reach, "time near the edge of the legal range", near);
            // Per row, the bound is that of the last row of a step.
            let judged = !past.scope.per_item || record.rows_in == 1;
            let at = time == record.late && judged && past.scope.late.is_some();
            sometimes!(self.reach, "row exactly at the watermark", at);
            if !row.first_end.is_finite() || row.first_end == EventTime::MAX {
                continue;
            }
            let into = row.first_end <= record.evict && record.kind != StepKind::End;
            sometimes!(self.reach, "row into a window that closes in its step", into);
            let last = row.first_end.since(time).0 == 1;
            sometimes!(self.reach, "row in the last millisecond of a window", last);
            let first = past.scope.grid.is_some_and(|it| it.starts(time).last == time.0);
            sometimes!(self.reach, "row exactly at a window end", first);
        }
    }

    fn firing(&mut self, firing: &Firing, past: &Past) {
        let note = &firing.note;
        let ended = note.reason == FiringReason::EndOfInput;
        sometimes!(self.reach, "negative window", firing.window.start.0 < 0);
        sometimes!(self.reach, "window closed by end of input", ended);
        let idle = note.reason != FiringReason::Trigger && past.roster.some_idle();
        sometimes!(self.reach, "window closed while a partition is idle", idle);
        sometimes!(self.reach, "idle partition on a figure", note.idle_excluded);
        sometimes!(self.reach, "figure with dropped rows", 0 < note.rows_dropped);
        let known = note.completeness == Completeness::Known;
        sometimes!(self.reach, "figure known to be complete", known);
        let groups = &firing.groups;
        if SMALL < groups.len() {
            return;
        }
        let columns = past.scope.keys.len();
        let null = || {
            let mut cells =
                (0..groups.len()).flat_map(|group| (0..columns).map(move |it| (group, it)));
            cells.any(|(group, column)| groups.key(group, column).is_none())
        };
        sometimes!(self.reach, "null key", null());
        let aggregates = past.scope.aggregates;
        let wide = |it| match it {
            Value::Wide(_) => true,
            Value::Avg { sum, .. } => i64::try_from(sum).is_err(),
            Value::Null | Value::Int(_) => false,
        };
        let left = || {
            let mut values =
                (0..groups.len()).flat_map(|group| (0..aggregates).map(move |it| (group, it)));
            values.any(|(group, aggregate)| wide(groups.value(group, aggregate)))
        };
        sometimes!(self.reach, "sum left i64", left());
    }

    fn fate(&mut self, fate: &Fate, step: u64) {
        match fate {
            Fate::Late(late) => self.late(late, step),
            Fate::CountedNotAdvancing => sometimes!(self.reach, "counted without advancing", true),
            Fate::Guarded => sometimes!(self.reach, "guarded row", true),
            Fate::NoTime => sometimes!(self.reach, "no event time", true),
            Fate::TimeOutOfRange => sometimes!(self.reach, "time out of range", true),
            Fate::NoWindow => sometimes!(self.reach, "row in a hole", true),
            Fate::AfterFinish => sometimes!(self.reach, "row after finish", true),
            Fate::NotApplicable => sometimes!(self.reach, "row after the stop", true),
            Fate::Filtered | Fate::Duplicate { .. } | Fate::NoGap => {}
        }
    }

    fn late(&mut self, late: &LateRow, step: u64) {
        sometimes!(self.reach, "partly late row", 0 < late.windows_kept);
        sometimes!(self.reach, "late row in the first step", step == 0);
        let by_one =
            late.rule == LateRule::Event && late.in_force.watermark.since(late.time).0 == 1;
        sometimes!(self.reach, "late by one millisecond", by_one);
        match late.cause {
            LateCause::Straggler => sometimes!(self.reach, "straggler", true),
            LateCause::LaggingPartition => {
                sometimes!(self.reach, "lagging partition makes a row late", true);
            }
            LateCause::WallClock => sometimes!(self.reach, "late by wall clock", true),
            LateCause::InitialWatermark => {}
            LateCause::EndOfInput => {
                sometimes!(self.reach, "late after the end of input", true);
            }
        }
    }
}
