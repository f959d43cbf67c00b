//! Fixed windows as a stage of a flow: tumbling or sliding, with allowed lateness and panes.
//!
//! A (window, key) exists from its first counted row until end + l <= evict, l being the allowed
//! lateness. A row is judged by w - l, w being the late bound (semantics 3), window by window under
//! `WindowEnd`; what is lost are its earliest windows.
//!
//! Append mode writes panes, at most one per (window, key) and pass, at the end of the pass:
//! - *on time*, where end <= evict and the window *owes* its on-time pane. It owes one from a row that
//!   is counted while end > w until it is written. So it is written once, unless w falls back and a row
//!   comes: a restart that forgets the watermark (flink-rules 8);
//! - else *late*, where a row was counted in the pass and end <= w: such a row does not make the window
//!   owe anything (flink-rules 5);
//! - else *early*, where a row was counted in the pass, the window is open, and enough rows were
//!   counted since the last pane.
//!
//! An on-time pane is written also where early ones have carried all rows. Update mode writes what was
//! changed in the pass, also what leaves in it; complete mode everything, and there nothing is late and
//! nothing leaves. The order is (end, start, key); a retraction stands before what replaces it and has
//! the number of the pane that it takes back. Panes are ascribed to the watermark where on time, else
//! to the last row that was counted into them.
//!
//! A late verdict names w, and the largest w that would have kept the row: E t + l, E2 t + l - 1, F the
//! end of the row's slide frame + l - 1, W end + l - 1 of the latest lost window (`one`) and of the
//! earliest (`all`), t + l in a hole. A row that is late in a hole is dropped, and belongs to no group.
//!
//! Invariant: a (window, key) is on exactly one shelf, `open` iff it owes its on-time pane, and none is
//! left with end + l <= evict.

#[cfg(test)]
mod tests;

use super::accumulate::Accumulators;
use super::grouping::shelf::Shelf;
use super::grouping::{Key, Origin, cells_of, key_of, time_of, window_cells};
use super::stage::{Judged, Pass, StageOutput, StageVerdict};
use crate::late::windows_lost;
use crate::output::{EmissionKind, EmissionNote};
use crate::plan::flow::{Carry, HoleRule, WindowStage};
use crate::plan::{Aggregate, LateRule, OutputMode};
use crate::time::{EventTime, Span};
use crate::window::Window;
use crate::window::assign::Assigner;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The windows of a stage.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Panes {
    plan: WindowStage,
    shelves: Shelves,
}

/// The windows by what they owe.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Shelves {
    /// Those that owe their on-time pane, by end.
    open: Shelf<Pane>,
    /// Those that have written it and are kept for late rows.
    fired: Shelf<Pane>,
}

/// One window of one key.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Pane {
    /// Of all rows; where panes are increments, of those since the last pane.
    total: Accumulators,
    /// Rows since the last pane.
    since: u64,
    /// Panes written.
    panes: u32,
    /// What the last pane carried, where it is to be taken back.
    carried: Vec<Option<i64>>,
}

/// The (window, key) groups that a pass changed, each with its last row.
type Touched = Shelf<usize>;

impl Panes {
    /// No windows yet. Panics where size or slide is not positive; the plan check refuses those.
    pub fn new(plan: &WindowStage) -> Self {
        assert!(
            0 < plan.window.size.0 && 0 < plan.window.slide.0,
            "windows have a size and a slide"
        );
        let shelves = Shelves { open: Shelf::new(), fired: Shelf::new() };
        Self { plan: plan.clone(), shelves }
    }

    /// Judges and counts the rows of a pass, evicts, writes.
    pub fn step(&mut self, pass: &Pass<'_>, out: &mut StageOutput) {
        let touched = self.observe(pass, out);
        out.tally.updated += touched.len();
        match pass.mode {
            OutputMode::Append => self.fire(pass, &touched, out),
            OutputMode::Update => self.update(pass, &touched, out),
            OutputMode::Complete if pass.triggered => self.complete(pass, out),
            OutputMode::Complete => {}
        }
        if pass.mode != OutputMode::Complete {
            self.evict(pass.evict[0], out);
        }
    }

    /// (window, key) groups held.
    pub const fn state_rows(&self) -> u64 {
        self.shelves.open.len() + self.shelves.fired.len()
    }

    /// Whether it would ask for a further step without rows when the watermark moved.
    pub fn asks(&self, mode: OutputMode) -> bool {
        mode != OutputMode::Complete
    }

    /// What it lets through of a watermark.
    pub fn passes(&self, w: EventTime) -> EventTime {
        w - self.plan.lateness
    }

    /// Whether a state that was read from a snapshot is one of this plan.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn fit(&self, plan: &WindowStage) -> Result<(), String> {
        if self.plan != *plan {
            return Err("the saved windows are those of another plan".to_owned());
        }
        let keys = plan.keys.len();
        let cells = Accumulators::new(&plan.aggregates).width();
        let of_plan = |(_, key, pane): (EventTime, &Key, &Pane)| {
            let carries = plan.panes.carry == Carry::Retracting && 0 < pane.panes;
            cells_of(key).len() == keys
                && pane.total.fit(&plan.aggregates)
                && pane.carried.len() == if carries { cells } else { 0 }
        };
        let Shelves { open, fired } = &self.shelves;
        if !open.is_sound() || !fired.is_sound() || !self.shelves.all().into_iter().all(of_plan) {
            return Err("the saved windows do not belong to this plan".to_owned());
        }
        Ok(())
    }

    /// Judges the rows and counts those that are taken.
    fn observe(&mut self, pass: &Pass<'_>, out: &mut StageOutput) -> Touched {
        let mut touched = Touched::new();
        let mut dropped = BTreeSet::new();
        let Some(handed) = pass.sides[0] else { return touched };
        let batch = handed.batch;
        let assigner = Assigner::new(self.plan.window);
        let complete = pass.mode == OutputMode::Complete;
        let late = if complete { EventTime::MIN } else { pass.late[0] };
        let mut judge = |row, verdict| out.judged.push(Judged { side: 0, row, verdict });
        for row in handed.rows() {
            let Some(time) = time_of(batch, self.plan.time, row) else {
                judge(row, StageVerdict::NoTime);
                continue;
            };
            let bound = within_reach(late - self.plan.lateness);
            let (lost, count) = windows_lost(self.plan.late, &assigner, time, bound);
            if count == 0 {
                let verdict = self.in_a_hole(time, late, bound);
                out.tally.rows_dropped += u64::from(verdict != StageVerdict::NoWindow);
                judge(row, verdict);
                continue;
            }
            let key = key_of(batch, &self.plan.keys, row);
            if lost != 0 {
                judge(row, self.verdict(&assigner, time, late, lost, count));
                out.tally.rows_dropped += u64::from(lost == count);
                let lost = assigner.windows(time).take(lost as usize);
                dropped.extend(lost.map(|it| (it.end, key.clone())));
            }
            for window in assigner.windows(time).skip(lost as usize) {
                let aggregates = &self.plan.aggregates;
                let pane = self.shelves.pane(window.end, late, &key, aggregates);
                pane.total.observe(aggregates, batch, row);
                pane.since = pane.since.saturating_add(1);
                match touched.get_mut(window.end, &key) {
                    Some(last) => *last = row,
                    None => touched.insert(window.end, key.clone(), row),
                }
            }
        }
        out.tally.groups_dropped += dropped.len() as u64;
        touched
    }

    fn in_a_hole(&self, time: EventTime, late: EventTime, bound: EventTime) -> StageVerdict {
        match self.plan.hole {
            HoleRule::LateBehind if time < bound => {
                let kept_by = time + self.plan.lateness;
                StageVerdict::Late { bound: late, lost: 0, kept: 0, one: kept_by, all: kept_by }
            }
            HoleRule::LateBehind | HoleRule::NoWindow => StageVerdict::NoWindow,
        }
    }

    fn verdict(
        &self,
        of: &Assigner,
        time: EventTime,
        bound: EventTime,
        lost: u32,
        count: u32,
    ) -> StageVerdict {
        let ends = || of.windows(time).take(lost as usize).map(|it| it.end - Span(1));
        let (one, all) = match self.plan.late {
            LateRule::Event => (time, time),
            LateRule::EventInclusive => (time - Span(1), time - Span(1)),
            LateRule::Frame => {
                let last = of.frame(time) + of.slide() - Span(1);
                (last, last)
            }
            LateRule::WindowEnd => (ends().last().unwrap_or(time), ends().next().unwrap_or(time)),
        };
        let (one, all) = (one + self.plan.lateness, all + self.plan.lateness);
        StageVerdict::Late { bound, lost, kept: count - lost, one, all }
    }

    /// Append mode: the panes of this pass.
    fn fire(&mut self, pass: &Pass<'_>, touched: &Touched, out: &mut StageOutput) {
        let (late, evict, cause) = (pass.late[0], pass.evict[0], Origin::cause(pass));
        let mut due = BTreeMap::new();
        while let Some((end, panes)) = self.shelves.open.pop_if(|end| end <= evict) {
            for (key, pane) in panes {
                due.insert((end, key.clone()), (EmissionKind::OnTime, cause));
                self.shelves.fired.insert(end, key, pane);
            }
        }
        let early = self.plan.panes.early_rows;
        for (end, key, origin) in rows_of(pass, touched) {
            let kind = if end <= late {
                EmissionKind::Late
            } else if early.is_some_and(|it| it <= self.shelves.find(end, key).since) {
                EmissionKind::Early
            } else {
                continue;
            };
            due.entry((end, key.clone())).or_insert((kind, origin));
        }
        for ((end, key), (kind, origin)) in due {
            self.write(end, &key, kind, origin, pass.step, out);
        }
    }

    /// Writes a pane and, where it replaces one, takes that back.
    fn write(
        &mut self,
        end: EventTime,
        key: &Key,
        kind: EmissionKind,
        origin: Origin,
        step: u64,
        out: &mut StageOutput,
    ) {
        let mut cells = self.head(end, key);
        let (head, carry) = (cells.len(), self.plan.panes.carry);
        let pane = self.shelves.find(end, key);
        let note = EmissionNote { step, kind, time: end - Span(1), pane: pane.panes };
        match carry {
            Carry::Accumulating => pane.total.cells(&mut cells),
            Carry::Discarding => {
                pane.total.cells(&mut cells);
                pane.total = Accumulators::new(&self.plan.aggregates);
            }
            Carry::Retracting => {
                if 0 < pane.panes {
                    let (kind, before) = (EmissionKind::Retraction, pane.panes - 1);
                    cells.append(&mut pane.carried);
                    origin.emit(&cells, EmissionNote { kind, pane: before, ..note }, out);
                    cells.truncate(head);
                }
                pane.total.cells(&mut cells);
                pane.carried = cells[head..].to_vec();
            }
        }
        pane.since = 0;
        pane.panes = pane.panes.saturating_add(1);
        origin.emit(&cells, note, out);
    }

    /// Update mode: what this pass changed.
    fn update(&mut self, pass: &Pass<'_>, touched: &Touched, out: &mut StageOutput) {
        for (end, key, origin) in rows_of(pass, touched) {
            let mut cells = self.head(end, key);
            self.shelves.find(end, key).total.cells(&mut cells);
            let kind = EmissionKind::Update;
            let note = EmissionNote { step: pass.step, kind, time: end - Span(1), pane: 0 };
            origin.emit(&cells, note, out);
        }
    }

    /// Complete mode: everything.
    fn complete(&self, pass: &Pass<'_>, out: &mut StageOutput) {
        let cause = Origin::cause(pass);
        for (end, key, pane) in self.shelves.all() {
            let mut cells = self.head(end, key);
            pane.total.cells(&mut cells);
            let kind = EmissionKind::Complete;
            let note = EmissionNote { step: pass.step, kind, time: end - Span(1), pane: 0 };
            cause.emit(&cells, note, out);
        }
    }

    fn head(&self, end: EventTime, key: &Key) -> Vec<Option<i64>> {
        window_cells(Window { start: end - self.plan.window.size, end }, key)
    }

    /// Removes what leaves.
    fn evict(&mut self, evict: EventTime, out: &mut StageOutput) {
        let lateness = self.plan.lateness;
        for shelf in [&mut self.shelves.open, &mut self.shelves.fired] {
            while let Some((_, panes)) = shelf.pop_if(|end| end + lateness <= evict) {
                out.tally.removed += panes.len() as u64;
            }
        }
    }
}

impl Shelves {
    /// The pane that a row is counted into, on the shelf where it now belongs.
    fn pane(
        &mut self,
        end: EventTime,
        late: EventTime,
        key: &Key,
        aggregates: &[Aggregate],
    ) -> &mut Pane {
        let new = || Pane {
            total: Accumulators::new(aggregates),
            since: 0,
            panes: 0,
            carried: Vec::new(),
        };
        if self.open.get_mut(end, key).is_none() {
            let pane = self.fired.take(end, key).unwrap_or_else(new);
            let shelf = if end <= late { &mut self.fired } else { &mut self.open };
            shelf.insert(end, key.clone(), pane);
        }
        self.find(end, key)
    }

    fn find(&mut self, end: EventTime, key: &Key) -> &mut Pane {
        let open = self.open.get_mut(end, key);
        open.or_else(|| self.fired.get_mut(end, key)).expect("a (window, key) is on one shelf")
    }

    /// All in order of end, then key.
    fn all(&self) -> Vec<(EventTime, &Key, &Pane)> {
        let mut all: Vec<_> = self.open.iter().chain(self.fired.iter()).collect();
        all.sort_by_key(|it| (it.0, it.1));
        all
    }
}

/// The groups that the pass changed, each with its last row.
fn rows_of<'a>(
    pass: &Pass<'a>,
    touched: &'a Touched,
) -> impl Iterator<Item = (EventTime, &'a Key, Origin)> {
    let batch = pass.sides[0].into_iter().map(|it| it.batch);
    batch.flat_map(|batch| touched.iter().map(|it| (it.0, it.1, Origin::row(batch, *it.2))))
}

/// A late bound that is beyond all windows, brought to where a grid is still exact.
fn within_reach(bound: EventTime) -> EventTime {
    // The furthest time, and a window's length more.
    const FAR: i64 = (3 << 61) + 1;
    if bound.is_finite() { EventTime(bound.0.clamp(-FAR, FAR)) } else { bound }
}
