//! Windows of a number of rows per key, in order of arrival.
//!
//! Nothing is late and no watermark closes anything: a window is full with its last row, and what is
//! left of a key is written at the end of input. A row whose time is null is counted like others; the
//! output time is the largest time that was counted, null where there was none.
//!
//! Append mode writes a window with its last row, so windows in the order in which they fill, and at the
//! end the rest in order of key. Update mode writes at the end of the pass the windows that were changed
//! in it, the full ones as they filled, then the open ones in order of key. Complete mode writes
//! everything, full windows too, and so keeps them.
//!
//! Invariant: an open window holds at least one row, and fewer than make it full.

use super::accumulate::Accumulators;
use super::grouping::{Key, Origin, cells_of, key_of, time_of};
use super::stage::{Pass, StageOutput};
use crate::output::{EmissionKind, EmissionNote};
use crate::plan::OutputMode;
use crate::plan::flow::CountPlan;
use crate::row::RowBatch;
use crate::time::EventTime;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The windows of a stage.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Counted {
    plan: CountPlan,
    /// The open window of each key.
    open: BTreeMap<Key, Fill>,
    /// Full windows in the order in which they filled, as the cells that are written; in complete mode.
    full: Vec<(Vec<Option<i64>>, EventTime)>,
}

/// An open window.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Fill {
    total: Accumulators,
    rows: u64,
    latest: Option<EventTime>,
}

impl Counted {
    /// No windows yet.
    pub fn new(plan: &CountPlan) -> Self {
        Self { plan: plan.clone(), open: BTreeMap::new(), full: Vec::new() }
    }

    /// Counts the rows of a pass, writes.
    pub fn step(&mut self, pass: &Pass<'_>, out: &mut StageOutput) {
        let mut touched = BTreeMap::new();
        if let Some(handed) = pass.sides[0] {
            let batch = handed.batch;
            for row in handed.rows() {
                self.observe(pass, batch, row, &mut touched, out);
            }
            out.tally.updated += touched.len() as u64;
            if pass.mode == OutputMode::Update {
                for (key, row) in touched {
                    let (cells, latest) = self.open[&key].cells(&key);
                    write(pass, EmissionKind::Update, &cells, latest, Origin::row(batch, row), out);
                }
            }
        }
        let cause = Origin::cause(pass);
        if pass.mode == OutputMode::Complete {
            if pass.triggered {
                let kind = EmissionKind::Complete;
                for (cells, latest) in &self.full {
                    write(pass, kind, cells, *latest, cause, out);
                }
                for (key, fill) in &self.open {
                    let (cells, latest) = fill.cells(key);
                    write(pass, kind, &cells, latest, cause, out);
                }
            }
        } else if pass.evict[0] == EventTime::MAX {
            out.tally.removed += self.open.len() as u64;
            for (key, fill) in std::mem::take(&mut self.open) {
                let (cells, latest) = fill.cells(&key);
                if pass.mode == OutputMode::Append {
                    write(pass, EmissionKind::OnTime, &cells, latest, cause, out);
                }
            }
        }
    }

    /// Windows held.
    pub fn state_rows(&self) -> u64 {
        (self.open.len() + self.full.len()) as u64
    }

    /// Whether it would ask for a further step without rows when the watermark moved: it never evicts.
    pub const fn asks(&self, _mode: OutputMode) -> bool {
        false
    }

    /// What it lets through of a watermark: nothing before the end.
    pub fn passes(&self, w: EventTime) -> EventTime {
        if w == EventTime::MAX { w } else { EventTime::MIN }
    }

    /// Whether a state that was read from a snapshot is one of this plan.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn fit(&self, plan: &CountPlan) -> Result<(), String> {
        if self.plan != *plan {
            return Err("the saved count windows are those of another plan".to_owned());
        }
        let (keys, aggregates) = (plan.keys.len(), Accumulators::new(&plan.aggregates));
        let columns = keys + aggregates.width() + 1;
        let open = self.open.iter().all(|(key, it)| {
            cells_of(key).len() == keys
                && it.total.fit(&plan.aggregates)
                && 0 < it.rows
                && it.rows < plan.rows
        });
        if !open || !self.full.iter().all(|it| it.0.len() == columns) {
            return Err("the saved count windows do not belong to this plan".to_owned());
        }
        Ok(())
    }

    /// Counts one row into the open window of its key, and writes the window if that makes it full.
    fn observe(
        &mut self,
        pass: &Pass<'_>,
        batch: &RowBatch,
        row: usize,
        touched: &mut BTreeMap<Key, usize>,
        out: &mut StageOutput,
    ) {
        let key = key_of(batch, &self.plan.keys, row);
        let new =
            || Fill { total: Accumulators::new(&self.plan.aggregates), rows: 0, latest: None };
        let mut fill = self.open.remove(&key).unwrap_or_else(new);
        fill.total.observe(&self.plan.aggregates, batch, row);
        fill.rows += 1;
        fill.latest = fill.latest.max(time_of(batch, self.plan.time, row));
        if fill.rows < self.plan.rows {
            touched.insert(key.clone(), row);
            self.open.insert(key, fill);
            return;
        }
        touched.remove(&key);
        let (cells, latest) = fill.cells(&key);
        out.tally.updated += 1;
        let kind = match pass.mode {
            OutputMode::Append => EmissionKind::OnTime,
            OutputMode::Update => EmissionKind::Update,
            OutputMode::Complete => {
                self.full.push((cells, latest));
                return;
            }
        };
        out.tally.removed += 1;
        write(pass, kind, &cells, latest, Origin::row(batch, row), out);
    }
}

impl Fill {
    /// The row that is written, and its output time.
    fn cells(&self, key: &Key) -> (Vec<Option<i64>>, EventTime) {
        let mut cells = cells_of(key).to_vec();
        self.total.cells(&mut cells);
        cells.push(self.latest.map(|it| it.0));
        (cells, self.latest.unwrap_or(EventTime::MIN))
    }
}

fn write(
    pass: &Pass<'_>,
    kind: EmissionKind,
    cells: &[Option<i64>],
    time: EventTime,
    origin: Origin,
    out: &mut StageOutput,
) {
    origin.emit(cells, EmissionNote { step: pass.step, kind, time, pane: 0 }, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::grouping::drive::{CAUSE, KEY, Made, TIME, VALUE, pass, rows};
    use crate::plan::Aggregate;
    use EmissionKind::{Complete, OnTime, Update};

    fn stage() -> Counted {
        let aggregates = vec![Aggregate::Sum(VALUE)];
        Counted::new(&CountPlan { time: TIME, keys: vec![KEY], aggregates, rows: 2 })
    }

    fn run(it: &mut Counted, of: &[(u64, i64, i64, i64)], evict: i64, mode: OutputMode) -> Made {
        pass(&rows(of), 1_000, evict, mode, |pass, out| it.step(pass, out), 3)
    }

    const FIVE: [(u64, i64, i64, i64); 5] =
        [(1, 50, 7, 1), (2, 40, 8, 2), (3, 30, 8, 4), (4, 20, 7, 8), (5, 10, 8, 16)];

    #[test]
    fn a_window_is_written_with_its_last_row_and_the_rest_at_the_end() {
        let mut it = stage();
        let made = run(&mut it, &FIVE, 1_000, OutputMode::Append);
        assert_eq!(made.cells(), [(OnTime, vec![8, 6, 40]), (OnTime, vec![7, 9, 50])]);
        assert_eq!((made.rows[0].0, made.rows[1].0), (3, 4));
        assert_eq!((made.out.tally.updated, made.out.tally.removed, it.state_rows()), (3, 2, 1));
        let made = run(&mut it, &[], i64::MAX, OutputMode::Append);
        assert_eq!(made.cells(), [(OnTime, vec![8, 16, 10])]);
        assert_eq!((made.rows[0].0, it.state_rows()), (CAUSE.0, 0));
    }

    #[test]
    fn nothing_is_late_however_far_behind_the_watermark() {
        let mut it = stage();
        assert!(run(&mut it, &FIVE, 1_000, OutputMode::Append).judged().is_empty());
        assert_eq!(it.passes(EventTime(1_000)), EventTime::MIN);
        assert_eq!(it.passes(EventTime::MAX), EventTime::MAX);
    }

    #[test]
    fn update_writes_full_windows_as_they_fill_and_then_the_open_ones_that_changed() {
        let mut it = stage();
        let made = run(&mut it, &FIVE, 1_000, OutputMode::Update);
        let expected =
            [(Update, vec![8, 6, 40]), (Update, vec![7, 9, 50]), (Update, vec![8, 16, 10])];
        assert_eq!(made.cells(), expected);
        assert!(run(&mut it, &[], i64::MAX, OutputMode::Update).rows.is_empty());
        assert_eq!(it.state_rows(), 0);
    }

    #[test]
    fn complete_keeps_full_windows_and_writes_them_each_time() {
        let mut it = stage();
        run(&mut it, &FIVE, 1_000, OutputMode::Complete);
        let made = run(&mut it, &[], i64::MAX, OutputMode::Complete);
        let all =
            [(Complete, vec![8, 6, 40]), (Complete, vec![7, 9, 50]), (Complete, vec![8, 16, 10])];
        assert_eq!((made.cells(), it.state_rows()), (all.to_vec(), 3));
    }

    #[test]
    fn a_window_of_rows_without_times_has_no_output_time() {
        let mut it = stage();
        let mut batch = rows(&[]);
        for id in 0..2 {
            let cells = [None, Some(7), Some(1)];
            batch.push(crate::row::ItemId(id), Default::default(), Default::default(), &cells);
        }
        let made = pass(&batch, 0, 0, OutputMode::Append, |pass, out| it.step(pass, out), 3);
        assert_eq!(made.rows[0].3, [Some(7), Some(2), None]);
        assert_eq!(made.out.notes[0].time, EventTime::MIN);
    }
}
