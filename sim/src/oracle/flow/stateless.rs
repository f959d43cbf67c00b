//! Filters, projections, renames and computed columns: rows one by one.
//!
//! Invariant: a row keeps its cells; it is written as a plain row, without a time.

use super::stage::{Happening, Pass, Row, Stage, Verdict};
use plimsoll_engine::output::EmissionKind;
use plimsoll_engine::plan::flow::StagePlan;
use plimsoll_engine::time::EventTime;

/// A stage that keeps nothing.
#[derive(Debug)]
pub(super) struct Stateless {
    plan: StagePlan,
}

impl Stateless {
    pub(super) fn new(plan: &StagePlan) -> Self {
        Self { plan: plan.clone() }
    }
}

impl Stage for Stateless {
    fn pass(&mut self, given: &Pass<'_>, out: &mut Happening) {
        for (at, row) in given.sides[0].iter().enumerate() {
            let (kind, time, pane) = (EmissionKind::Row, EventTime::MIN, 0);
            let plain = Row { kind, time, pane, ..row.clone() };
            match &self.plan {
                StagePlan::Filter(it) if !it.keeps(row.cells[it.column.0]) => {
                    out.judged.push((0, at, Verdict::Filtered));
                }
                StagePlan::Project(kept) => {
                    let cells = kept.iter().map(|it| row.cells[it.0]).collect();
                    out.rows.push(Row { cells, ..plain });
                }
                _ => out.rows.push(plain),
            }
        }
    }

    fn state_rows(&self) -> u64 {
        0
    }

    fn acts(&self) -> [[bool; 2]; 2] {
        [[false; 2]; 2]
    }

    fn asks(&self) -> bool {
        false
    }
}
