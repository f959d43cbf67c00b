//! The figures: what was counted into every (window, key), window by window.
//!
//! Each row is counted into each of its windows directly; there are no slices. A window is open
//! from its first counted row until its end is reached. Append writes a window when it closes;
//! update writes at the end of a step what changed in it; complete writes all, and closes nothing.
//!
//! Readings: a partition was left out while a window was open iff a candidate was computed in that
//! time while the partition was idle. A figure is known iff the watermark that closed its window is
//! +inf (so also where every partition finished without an `end`), nothing was dropped, nobody left
//! out.
//!
//! Invariant: (window, key) is written at most once per step. Source: semantics 4, 8, 13, 15.

use super::expected::{Expected, ExpectedFiring};
use super::keys::{Keys, Seedless};
use super::totals::Total;
use super::windows::{Grid, Starts};
use hashbrown::HashMap;
use plimsoll_engine::output::{Completeness, FiringKind};
use plimsoll_engine::plan::{Aggregate, WindowPlan};
use plimsoll_engine::time::EventTime;
use plimsoll_engine::window::Window;
use std::collections::BTreeMap;

/// All open windows, and what is remembered of closed ones.
#[derive(Debug)]
pub(super) struct Figures {
    pub(super) grid: Grid,
    keys: Vec<usize>,
    aggregates: Vec<Aggregate>,
    known: Keys,
    open: BTreeMap<i64, Open>,
    closed: BTreeMap<i64, u64>,
    dropped: BTreeMap<i64, u64>,
    reached: EventTime, // The largest value that closed, since the watermark began.
    changed: Vec<i64>,  // Windows, in this step.
    groups: u64,
    candidates: u64,      // How many were computed so far,
    idle_candidates: u64, // and the last one that left somebody out.
    key: Vec<Option<i64>>,
    cells: Vec<Option<i64>>,
}

/// One open window. Groups are numbered in the order in which their keys came.
#[derive(Debug, Default)]
struct Open {
    rows: u64,
    since_candidate: u64,
    changed_in: Option<u64>, // The last step that changed it,
    changed: Vec<u32>,       // and the groups that it changed.
    places: HashMap<u32, u32, Seedless>,
    groups: Vec<Group>,
    totals: Vec<Total>,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    key: u32,
    changed_in: Option<u64>,
}

/// What is known of one window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowTotals {
    /// The window.
    pub window: Window,
    /// Rows counted into it.
    pub rows_counted: u64,
    /// Rows dropped for it.
    pub rows_dropped: u64,
    /// Its keys with state; 0 once it is closed.
    pub groups: u64,
    /// Whether it still has state.
    pub open: bool,
}

impl Figures {
    pub(super) fn new(plan: &WindowPlan) -> Self {
        Self {
            grid: Grid::new(plan.window),
            keys: plan.keys.iter().map(|it| it.0).collect(),
            aggregates: plan.aggregates.clone(),
            known: Keys::default(),
            open: BTreeMap::new(),
            closed: BTreeMap::new(),
            dropped: BTreeMap::new(),
            reached: EventTime::MIN,
            changed: Vec::new(),
            groups: 0,
            candidates: 0,
            idle_candidates: 0,
            key: Vec::new(),
            cells: Vec::new(),
        }
    }

    /// Counts a row into its windows, except for the `lost` earliest, for which it is dropped.
    pub(super) fn count(&mut self, starts: Starts, lost: u64, cells: &[Option<i64>], step: u64) {
        for start in self.each(starts.first, lost) {
            *self.dropped.entry(start).or_insert(0) += 1;
        }
        let kept = starts.count - lost;
        if kept == 0 {
            return;
        }
        self.key.clear();
        self.key.extend(self.keys.iter().map(|it| cells[*it]));
        let key = self.known.number(&self.key);
        self.cells.clear();
        let read = |it: &Aggregate| it.column().map_or(Some(1), |column| cells[column.0]);
        self.cells.extend(self.aggregates.iter().map(read));

        let first = starts.first + lost as i64 * self.grid.slide();
        let last = first + (kept as i64 - 1) * self.grid.slide();
        let mut there = 0;
        for (start, open) in self.open.range_mut(first..=last) {
            there += 1;
            if open.changed_in != Some(step) {
                open.changed_in = Some(step);
                open.changed.clear();
                self.changed.push(*start);
            }
            self.groups += open.count(key, step, &self.aggregates, &self.cells);
        }
        if there == kept {
            return;
        }
        for start in self.each(first, kept) {
            if self.open.contains_key(&start) {
                continue;
            }
            let since_candidate = self.candidates;
            let mut open = Open { since_candidate, changed_in: Some(step), ..Open::default() };
            self.groups += open.count(key, step, &self.aggregates, &self.cells);
            self.open.insert(start, open);
            self.changed.push(start);
        }
    }

    /// A candidate was computed, with or without somebody left out as idle.
    pub(super) const fn candidate_computed(&mut self, some_idle: bool) {
        self.candidates += 1;
        if some_idle {
            self.idle_candidates = self.candidates;
        }
    }

    /// Closes every window whose end is reached. Returns how many groups went.
    pub(super) fn evict(
        &mut self,
        evict: EventTime,
        kind: FiringKind,
        step: u64,
        out: &mut Expected,
    ) -> u64 {
        let mut removed = 0;
        self.reached = self.reached.max(evict);
        while let Some(entry) = self.open.first_entry() {
            let start = *entry.key();
            if evict.0 < self.grid.end(start) {
                break;
            }
            let open = entry.remove();
            removed += open.groups.len() as u64;
            self.closed.insert(start, open.rows);
            self.write(start, &open, kind, step, evict == EventTime::MAX, out);
        }
        self.groups -= removed;
        removed
    }

    /// The end of a step in update mode: what changed and is still open.
    pub(super) fn write_changed(&mut self, step: u64, out: &mut Expected) {
        let mut changed = std::mem::take(&mut self.changed);
        changed.sort_unstable();
        for start in &changed {
            if let Some(open) = self.open.get(start) {
                self.write(*start, open, FiringKind::Update, step, false, out);
            }
        }
        changed.clear();
        self.changed = changed;
    }

    /// The end of a step in complete mode: everything.
    pub(super) fn write_all(&self, ended: bool, step: u64, out: &mut Expected) {
        for (start, open) in &self.open {
            self.write(*start, open, FiringKind::Complete, step, ended, out);
        }
    }

    /// Forgets what changed, where nobody asks.
    pub(super) fn step_ends(&mut self) {
        self.changed.clear();
    }

    /// No window is open.
    pub(super) fn forget_open(&mut self) {
        self.open.clear();
        self.groups = 0;
    }

    /// Nothing was dropped for any window.
    pub(super) fn forget_dropped(&mut self) {
        self.dropped.clear();
    }

    /// What was dropped is known of windows that have not been closed.
    pub(super) fn forget_dropped_for_closed(&mut self) {
        let reached = std::mem::replace(&mut self.reached, EventTime::MIN);
        let grid = self.grid;
        self.dropped.retain(|start, _| reached.0 < grid.end(*start));
    }

    /// Groups held.
    pub(super) const fn groups(&self) -> u64 {
        self.groups
    }

    /// Open windows, in order.
    pub(super) fn open(&self) -> impl Iterator<Item = Window> {
        self.open.keys().map(|start| self.window(*start))
    }

    /// What is known of the window that starts there.
    pub(super) fn totals(&self, start: EventTime) -> WindowTotals {
        let open = self.open.get(&start.0);
        let closed = self.closed.get(&start.0).copied().unwrap_or(0);
        WindowTotals {
            window: self.window(start.0),
            rows_counted: open.map_or(closed, |it| it.rows),
            rows_dropped: self.dropped.get(&start.0).copied().unwrap_or(0),
            groups: open.map_or(0, |it| it.groups.len() as u64),
            open: open.is_some(),
        }
    }

    /// Writes a window's groups; in update mode those that this step changed.
    fn write(
        &self,
        start: i64,
        open: &Open,
        kind: FiringKind,
        step: u64,
        ended: bool,
        out: &mut Expected,
    ) {
        let from = out.figures;
        if kind != FiringKind::Update {
            (0..open.groups.len()).for_each(|group| self.write_group(open, group, out));
        } else if open.changed_in == Some(step) {
            open.changed.iter().for_each(|group| self.write_group(open, *group as usize, out));
        }
        if out.figures == from {
            return;
        }
        let rows_dropped = self.dropped.get(&start).copied().unwrap_or(0);
        let idle_excluded = open.since_candidate < self.idle_candidates;
        let known = ended && rows_dropped == 0 && !idle_excluded;
        out.firings.push(ExpectedFiring {
            step,
            window: self.window(start),
            kind,
            figures: from..out.figures,
            rows_counted: open.rows,
            rows_dropped,
            idle_excluded,
            completeness: if known { Completeness::Known } else { Completeness::Guessed },
        });
    }

    fn write_group(&self, open: &Open, group: usize, out: &mut Expected) {
        let width = self.aggregates.len();
        let key = open.groups[group].key;
        out.keys.extend_from_slice(self.known.cells(key, self.keys.len()));
        let totals = &open.totals[group * width..(group + 1) * width];
        let values = totals.iter().zip(&self.aggregates).map(|(it, what)| it.value(*what));
        out.values.extend(values);
        out.figures += 1;
    }

    fn window(&self, start: i64) -> Window {
        Window { start: EventTime(start), end: EventTime(self.grid.end(start)) }
    }

    fn each(&self, first: i64, count: u64) -> impl Iterator<Item = i64> + use<> {
        let slide = self.grid.slide();
        (0..count as i64).map(move |i| first + i * slide)
    }
}

impl Open {
    /// Counts one row. Returns how many groups are new: one or none.
    fn count(
        &mut self,
        key: u32,
        step: u64,
        aggregates: &[Aggregate],
        cells: &[Option<i64>],
    ) -> u64 {
        let next = self.groups.len() as u32;
        let place = *self.places.entry(key).or_insert(next);
        if place == next {
            self.groups.push(Group { key, changed_in: None });
            self.totals.resize(self.totals.len() + aggregates.len(), Total::default());
        }
        self.rows += 1;
        let group = &mut self.groups[place as usize];
        if group.changed_in != Some(step) {
            group.changed_in = Some(step);
            self.changed.push(place);
        }
        let from = place as usize * aggregates.len();
        let totals = &mut self.totals[from..from + aggregates.len()];
        for ((total, aggregate), cell) in totals.iter_mut().zip(aggregates).zip(cells) {
            total.observe(*aggregate, *cell);
        }
        u64::from(place == next)
    }
}
