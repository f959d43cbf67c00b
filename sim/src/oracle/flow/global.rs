//! Groups by keys alone, in one global window.
//!
//! Readings. Where one key is the event time, a row without one is not taken, under either rule for
//! null times. The other groups, and those of a time that is not linked, leave when +inf removes.
//!
//! Invariant: a group's rows came since it left last.

use super::aggregate;
use super::stage::{Cells, Happening, Pass, Row, Stage, Verdict, grouped_by};
use plimsoll_engine::output::EmissionKind;
use plimsoll_engine::plan::flow::GlobalPlan;
use plimsoll_engine::plan::{LateRule, OutputMode};
use plimsoll_engine::time::EventTime;
use std::collections::{BTreeMap, BTreeSet};

/// A global stage.
#[derive(Debug)]
pub(super) struct Global {
    plan: GlobalPlan,
    evicts: bool,
    /// Whether anything ever leaves in this mode.
    leaves: bool,
    /// Rows by key.
    groups: BTreeMap<Cells, Vec<Cells>>,
}

impl Global {
    pub(super) fn new(plan: &GlobalPlan, evicts: bool, leaves: bool) -> Self {
        Self { plan: plan.clone(), evicts, leaves, groups: BTreeMap::new() }
    }

    /// The time of a key, where it has one.
    fn time(&self, key: &Cells) -> Option<EventTime> {
        let (column, _) = self.plan.time?;
        let at = self.plan.keys.iter().position(|it| *it == column)?;
        grouped_by(key[at])
    }

    fn behind(&self, time: EventTime, w: EventTime) -> bool {
        match self.plan.time {
            Some((_, LateRule::EventInclusive)) => time <= w,
            _ => time < w,
        }
    }

    fn write(&self, key: &Cells, kind: EmissionKind, given: &Pass<'_>, out: &mut Happening) {
        let rows: Vec<_> = self.groups[key].iter().collect();
        let mut cells = key.clone();
        aggregate::over(&rows, &self.plan.aggregates, &mut cells);
        let time = self.time(key).unwrap_or(EventTime::MIN);
        let (id, partition) = (given.cause, Default::default());
        out.rows.push(Row { id, partition, kind, time, pane: 0, cells });
    }
}

impl Stage for Global {
    fn pass(&mut self, given: &Pass<'_>, out: &mut Happening) {
        let complete = given.mode == OutputMode::Complete;
        let judging = if self.evicts { given.late[0] } else { EventTime::MIN };
        let evict = given.bound(self.evicts, given.evict[0]);
        let mut dropped = BTreeSet::new();
        let mut changed = BTreeSet::new();
        for (at, row) in given.sides[0].iter().enumerate() {
            let key = aggregate::key(&row.cells, &self.plan.keys);
            let time = self.time(&key);
            if self.plan.time.is_some() && time.is_none() {
                out.judged.push((0, at, Verdict::NoTime));
                continue;
            }
            if let Some(time) = time.filter(|it| self.behind(*it, judging)) {
                dropped.insert(key);
                out.judged.push((0, at, Verdict::Late { time, bound: judging, lost: 1, kept: 0 }));
                continue;
            }
            changed.insert(key.clone());
            self.groups.entry(key).or_default().push(row.cells.clone());
        }
        out.groups_dropped += dropped.len() as u64;
        match given.mode {
            OutputMode::Append => {}
            OutputMode::Update => {
                changed.iter().for_each(|it| self.write(it, EmissionKind::Update, given, out));
            }
            OutputMode::Complete if given.triggered => {
                for it in self.groups.keys() {
                    self.write(it, EmissionKind::Complete, given, out);
                }
            }
            OutputMode::Complete => {}
        }
        if complete {
            return;
        }
        let leaves = |it: &Cells| {
            given.ends
                || evict == EventTime::MAX && self.evicts
                || self.time(it).is_some_and(|it| self.behind(it, evict))
        };
        let gone: Vec<_> = self.groups.keys().filter(|it| leaves(it)).cloned().collect();
        for it in &gone {
            if given.mode == OutputMode::Append {
                self.write(it, EmissionKind::OnTime, given, out);
            }
            self.groups.remove(it);
        }
        out.removed += gone.len() as u64;
    }

    fn state_rows(&self) -> u64 {
        self.groups.len() as u64
    }

    fn acts(&self) -> [[bool; 2]; 2] {
        [[self.evicts, false]; 2]
    }

    fn asks(&self) -> bool {
        self.leaves
    }
}
