//! Windows of a number of rows per key, in order of arrival.
//!
//! Readings. A row without a time counts; a window of such rows has no time. A window is written on time with its last row, in the
//! order in which windows become full; what is left of a key is written at the end of input. In
//! update mode the windows that changed are written at the end of the pass, full ones with it; in
//! complete mode those that are not full yet.
//!
//! Invariant: a window that is not full yet has fewer rows than asked for.

use super::aggregate;
use super::stage::{Cells, Happening, Pass, Row, Stage};
use plimsoll_engine::output::EmissionKind;
use plimsoll_engine::plan::OutputMode;
use plimsoll_engine::plan::flow::CountPlan;
use plimsoll_engine::time::EventTime;
use std::collections::{BTreeMap, BTreeSet};

/// A count stage.
#[derive(Debug)]
pub(super) struct Count {
    plan: CountPlan,
    /// Rows of the window that is filling, by key.
    filling: BTreeMap<Cells, Vec<Cells>>,
}

impl Count {
    pub(super) fn new(plan: &CountPlan) -> Self {
        Self { plan: plan.clone(), filling: BTreeMap::new() }
    }

    fn write(&self, key: &Cells, kind: EmissionKind, given: &Pass<'_>, out: &mut Happening) {
        let rows: Vec<_> = self.filling[key].iter().collect();
        let time = rows.iter().filter_map(|it| it[self.plan.time.0]).max();
        let mut cells = key.clone();
        aggregate::over(&rows, &self.plan.aggregates, &mut cells);
        cells.push(time);
        let time = time.map_or(EventTime::MIN, EventTime);
        let (id, partition) = (given.cause, Default::default());
        out.rows.push(Row { id, partition, kind, time, pane: 0, cells });
    }
}

impl Stage for Count {
    fn pass(&mut self, given: &Pass<'_>, out: &mut Happening) {
        let full = self.plan.rows.max(1);
        let append = given.mode == OutputMode::Append;
        let mut changed = BTreeSet::new();
        for row in &given.sides[0] {
            let key = aggregate::key(&row.cells, &self.plan.keys);
            let rows = self.filling.entry(key.clone()).or_default();
            rows.push(row.cells.clone());
            if rows.len() as u64 == full {
                let kind = if append { EmissionKind::OnTime } else { EmissionKind::Update };
                self.write(&key, kind, given, out);
                self.filling.remove(&key);
                changed.remove(&key);
                out.removed += 1;
            } else {
                changed.insert(key);
            }
        }
        match given.mode {
            OutputMode::Append => {}
            OutputMode::Update => {
                changed.iter().for_each(|it| self.write(it, EmissionKind::Update, given, out));
            }
            OutputMode::Complete => {
                for it in self.filling.keys().filter(|_| given.triggered) {
                    self.write(it, EmissionKind::Complete, given, out);
                }
                return;
            }
        }
        if given.ends {
            for it in self.filling.keys().filter(|_| append) {
                self.write(it, EmissionKind::OnTime, given, out);
            }
            out.removed += self.filling.len() as u64;
            self.filling.clear();
        }
    }

    fn state_rows(&self) -> u64 {
        self.filling.len() as u64
    }

    fn acts(&self) -> [[bool; 2]; 2] {
        [[false; 2]; 2]
    }

    fn asks(&self) -> bool {
        false
    }
}
