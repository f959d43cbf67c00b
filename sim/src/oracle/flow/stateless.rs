//! Filters, projections, renames and computed columns: rows one by one.
//!
//! Invariant: a row keeps its time, kind and pane.

use super::stage::{Happening, Pass, Row, Stage, Verdict};
use plimsoll_engine::plan::flow::StagePlan;

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
            match &self.plan {
                StagePlan::Filter(it) if !it.keeps(row.cells[it.column.0]) => {
                    out.judged.push((0, at, Verdict::Filtered));
                }
                StagePlan::Project(kept) => {
                    let cells = kept.iter().map(|it| row.cells[it.0]).collect();
                    out.rows.push(Row { cells, ..row.clone() });
                }
                _ => out.rows.push(row.clone()),
            }
        }
    }

    fn state_rows(&self) -> u64 {
        0
    }

    fn keeps(&self) -> bool {
        false
    }

    fn asks(&self) -> bool {
        false
    }
}
