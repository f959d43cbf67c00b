//! Fixed windows as a stage: every row is kept in every (window, key) that it was admitted into, and
//! what is written is aggregated from these rows anew.
//!
//! Readings. A pane on time is owed once a row came that was counted before the end was passed
//! (end > late bound) and has not been in a pane on time or late yet; rows counted after it owe a late
//! pane. Where both are owed in one pass, the pane on time holds all and stands alone. A pane that
//! takes back carries the number of the pane that it takes back. Complete mode writes in a step's
//! last pass.
//!
//! Invariant: a (window, key) exists from its first admitted row until end + lateness <= evict.
//! Source: semantics 3, 4, 8.

use super::aggregate;
use super::stage::{Cells, Happening, Pass, Row, Stage, Verdict, grouped_by};
use crate::oracle::windows::{Grid, Starts};
use plimsoll_engine::output::EmissionKind;
use plimsoll_engine::plan::flow::{Carry, HoleRule, WindowStage};
use plimsoll_engine::plan::{LateRule, OutputMode};
use plimsoll_engine::time::EventTime;
use std::collections::{BTreeMap, BTreeSet};

/// A window stage.
#[derive(Debug)]
pub(super) struct Windows {
    plan: WindowStage,
    grid: Grid,
    evicts: bool,
    /// Whether anything ever leaves in this mode.
    leaves: bool,
    /// By (end, start, key).
    groups: BTreeMap<(i64, i64, Cells), Group>,
}

#[derive(Debug, Default)]
struct Group {
    rows: Vec<Counted>,
    panes: u32,
}

/// A row in a window.
#[derive(Debug)]
struct Counted {
    cells: Cells,
    /// Whether the end had been passed when it was counted.
    late: bool,
    /// Whether some pane has held it, and whether one on time or late has.
    in_pane: bool,
    settled: bool,
}

impl Windows {
    pub(super) fn new(plan: &WindowStage, evicts: bool, leaves: bool) -> Self {
        let (plan, grid) = (plan.clone(), Grid::new(plan.window));
        Self { plan, grid, evicts, leaves, groups: BTreeMap::new() }
    }

    fn lost(&self, time: EventTime, starts: Starts, w: EventTime) -> u64 {
        let all_if = |late: bool| if late { starts.count } else { 0 };
        match self.plan.late {
            LateRule::Event => all_if(time < w),
            LateRule::EventInclusive => all_if(time <= w),
            LateRule::WindowEnd => {
                self.each(starts).filter(|it| self.grid.end(*it) <= w.0).count() as u64
            }
            LateRule::Frame if w == EventTime::MIN => 0,
            LateRule::Frame => {
                all_if(w == EventTime::MAX || self.grid.frame(time) < self.grid.frame(w))
            }
        }
    }

    fn each(&self, starts: Starts) -> impl Iterator<Item = i64> + use<> {
        let slide = self.grid.slide();
        (0..starts.count as i64).map(move |it| starts.first + it * slide)
    }

    /// The row of a group over some of its rows.
    fn figure(
        &self,
        (end, start, key): &(i64, i64, Cells),
        rows: &[&Cells],
        kind: EmissionKind,
        pane: u32,
        given: &Pass<'_>,
    ) -> Row {
        let mut cells = vec![Some(*start), Some(*end), Some(*end - 1)];
        cells.extend(key);
        aggregate::over(rows, &self.plan.aggregates, &mut cells);
        let (id, partition) = (given.cause, Default::default());
        Row { id, partition, kind, time: EventTime(*end - 1), pane, cells }
    }

    fn pane(
        &self,
        name: &(i64, i64, Cells),
        group: &mut Group,
        kind: EmissionKind,
        given: &Pass<'_>,
        out: &mut Happening,
    ) {
        let all: Vec<_> = group.rows.iter().map(|it| &it.cells).collect();
        let (before, since): (Vec<_>, Vec<_>) = group.rows.iter().partition(|it| it.in_pane);
        let pane = group.panes;
        match self.plan.panes.carry {
            Carry::Accumulating => out.rows.push(self.figure(name, &all, kind, pane, given)),
            Carry::Discarding => {
                let since: Vec<_> = since.iter().map(|it| &it.cells).collect();
                out.rows.push(self.figure(name, &since, kind, pane, given));
            }
            Carry::Retracting => {
                if 0 < pane {
                    let before: Vec<_> = before.iter().map(|it| &it.cells).collect();
                    let back = EmissionKind::Retraction;
                    out.rows.push(self.figure(name, &before, back, pane - 1, given));
                }
                out.rows.push(self.figure(name, &all, kind, pane, given));
            }
        }
        group.panes += 1;
        for it in &mut group.rows {
            it.in_pane = true;
            it.settled |= kind != EmissionKind::Early;
        }
    }

    fn panes(
        &mut self,
        judging: EventTime,
        evict: EventTime,
        given: &Pass<'_>,
        out: &mut Happening,
    ) {
        let mut groups = std::mem::take(&mut self.groups);
        for (name, group) in &mut groups {
            let owed = |late: bool| group.rows.iter().any(|it| !it.settled && it.late == late);
            let since = group.rows.iter().filter(|it| !it.in_pane).count() as u64;
            let kind = if name.0 <= evict.0 && owed(false) {
                EmissionKind::OnTime
            } else if name.0 <= evict.max(judging).0 && owed(true) {
                EmissionKind::Late
            } else if name.0 > evict.0 && self.plan.panes.early_rows.is_some_and(|it| it <= since) {
                EmissionKind::Early
            } else {
                continue;
            };
            self.pane(name, group, kind, given, out);
        }
        self.groups = groups;
    }
}

impl Stage for Windows {
    fn pass(&mut self, given: &Pass<'_>, out: &mut Happening) {
        let (judging, evict) = (given.late[0], given.evict[0]);
        let judging = if self.evicts { judging } else { EventTime::MIN };
        let evict = if given.mode == OutputMode::Complete {
            EventTime::MIN
        } else {
            given.bound(self.evicts, evict)
        };
        let mut dropped = BTreeSet::new();
        let mut changed = BTreeSet::new();
        for (at, row) in given.sides[0].iter().enumerate() {
            let Some(time) = grouped_by(row.cells[self.plan.time.0]) else {
                out.judged.push((0, at, Verdict::NoTime));
                continue;
            };
            let starts = self.grid.starts(time);
            if starts.count == 0 {
                let behind = time < judging - self.plan.lateness;
                out.judged.push((
                    0,
                    at,
                    match self.plan.hole {
                        HoleRule::LateBehind if behind => {
                            Verdict::Late { time, bound: judging, lost: 0, kept: 0 }
                        }
                        HoleRule::NoWindow | HoleRule::LateBehind => Verdict::NoWindow,
                    },
                ));
                continue;
            }
            let key = aggregate::key(&row.cells, &self.plan.keys);
            let lost = self.lost(time, starts, judging - self.plan.lateness);
            for (n, start) in (0..).zip(self.each(starts)) {
                if n < lost {
                    dropped.insert((start, key.clone()));
                    continue;
                }
                let end = self.grid.end(start);
                let (cells, late) = (row.cells.clone(), end <= judging.0);
                let counted = Counted { cells, late, in_pane: false, settled: false };
                let name = (end, start, key.clone());
                self.groups.entry(name.clone()).or_default().rows.push(counted);
                changed.insert(name);
            }
            if 0 < lost {
                let (bound, kept) = (judging, starts.count - lost);
                out.judged.push((0, at, Verdict::Late { time, bound, lost, kept }));
            }
        }
        out.groups_dropped += dropped.len() as u64;
        match given.mode {
            OutputMode::Append => self.panes(judging, evict, given, out),
            OutputMode::Update | OutputMode::Complete => {
                let complete = given.mode == OutputMode::Complete;
                let kind = if complete { EmissionKind::Complete } else { EmissionKind::Update };
                for (name, group) in &self.groups {
                    if if complete { given.triggered } else { changed.contains(name) } {
                        let all: Vec<_> = group.rows.iter().map(|it| &it.cells).collect();
                        out.rows.push(self.figure(name, &all, kind, 0, given));
                    }
                }
            }
        }
        let (held, gone) = (self.groups.len(), evict - self.plan.lateness);
        self.groups.retain(|name, _| gone.0 < name.0);
        out.removed += (held - self.groups.len()) as u64;
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
