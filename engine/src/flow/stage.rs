//! The stages of a flow behind one call.
//!
//! Invariant: no stage knows what stands before or behind it.

use crate::operator::asof::AsOf;
use crate::operator::count::Counted;
use crate::operator::dedup::Dedup;
use crate::operator::global::Global;
use crate::operator::join::Join;
use crate::operator::panes::Panes;
use crate::operator::session::Sessions;
use crate::operator::stage::{Pass, StageOutput};
use crate::output::{EmissionKind, EmissionNote};
use crate::plan::OutputMode;
use crate::plan::flow::{Filter, Flow, StagePlan};
use crate::row::{ColumnIx, RowBatch};
use crate::time::EventTime;
use serde::{Deserialize, Serialize};

/// One stage, with what it keeps.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Stage {
    /// Keeps rows that compare so.
    Filter(Filter),
    /// Keeps these columns.
    Project(Vec<ColumnIx>),
    /// Changes nothing in the rows: a rename, a column computed anew from itself.
    Same,
    /// Fixed windows.
    Window(Panes),
    /// Sessions.
    Session(Sessions),
    /// Groups by keys alone.
    Global(Global),
    /// Windows of a number of rows.
    Count(Counted),
    /// Drops what was seen before.
    Dedup(Dedup),
    /// An interval or window join.
    Join(Box<Join>),
    /// An as-of join.
    AsOf(Box<AsOf>),
}

impl Stage {
    /// A stage without state.
    pub fn new(plan: &StagePlan, flow: &Flow) -> Self {
        match plan {
            StagePlan::Filter(it) => Self::Filter(*it),
            StagePlan::Project(it) => Self::Project(it.clone()),
            StagePlan::Rename(..) | StagePlan::Compute(_) => Self::Same,
            StagePlan::Window(it) => Self::Window(Panes::new(it)),
            StagePlan::Session(it) => Self::Session(Sessions::new(it, flow.hindsight)),
            StagePlan::Global(it) => Self::Global(Global::new(it, flow.null_time)),
            StagePlan::Count(it) => Self::Count(Counted::new(it)),
            StagePlan::Dedup(it) => Self::Dedup(Dedup::new(it, flow.null_time, flow.hindsight)),
            StagePlan::Join(it) => {
                let judged =
                    |side: usize| flow.inputs.get(side).map(|it| it.judged).unwrap_or_default();
                let join = Join::new(it, flow.null_time, flow.hindsight);
                Self::Join(Box::new(join.judging([0, 1].map(judged)).asking(&flow.pairs)))
            }
            StagePlan::AsOf(it) => Self::AsOf(Box::new(AsOf::new(it))),
        }
    }

    /// This stage, without state, with the state of one from a snapshot that fits: what follows from
    /// the plan alone is not in a snapshot, and a delay may have changed since.
    pub fn with_state_of(self, saved: Self) -> Self {
        match (self, saved) {
            (Self::Global(new), Self::Global(saved)) => Self::Global(new.with_state_of(saved)),
            (Self::Dedup(new), Self::Dedup(saved)) => Self::Dedup(new.with_state_of(saved)),
            (Self::Join(new), Self::Join(saved)) => Self::Join(Box::new(new.with_state_of(*saved))),
            (_, saved) => saved,
        }
    }

    /// Whether a stage from a snapshot is one that this plan can have.
    ///
    /// # Errors
    /// The sentence of one that is not.
    pub fn fit(&self, plan: &StagePlan, flow: &Flow) -> Result<(), String> {
        match (self, plan) {
            (Self::Filter(a), StagePlan::Filter(b)) if a == b => Ok(()),
            (Self::Project(a), StagePlan::Project(b)) if a == b => Ok(()),
            (Self::Same, StagePlan::Rename(..) | StagePlan::Compute(_)) => Ok(()),
            (Self::Window(it), StagePlan::Window(plan)) => it.fit(plan),
            (Self::Session(it), StagePlan::Session(plan)) => it.fit(plan, flow.hindsight),
            (Self::Global(it), StagePlan::Global(plan)) => it.fit(plan),
            (Self::Count(it), StagePlan::Count(plan)) => it.fit(plan),
            (Self::Dedup(_), StagePlan::Dedup(_))
            | (Self::Join(_), StagePlan::Join(_))
            | (Self::AsOf(_), StagePlan::AsOf(_)) => Ok(()),
            _ => Err("stages of another kind".to_owned()),
        }
    }

    /// One pass.
    pub fn step(&mut self, pass: &Pass<'_>, out: &mut StageOutput) {
        match self {
            Self::Filter(filter) => {
                let keeps = |rows: &RowBatch, row: usize| {
                    filter.keeps(rows.columns[filter.column.0].get(row))
                };
                hand_on(pass, out, keeps, None);
            }
            Self::Project(kept) => hand_on(pass, out, |_, _| true, Some(kept)),
            Self::Same => hand_on(pass, out, |_, _| true, None),
            Self::Window(it) => it.step(pass, out),
            Self::Session(it) => it.step(pass, out),
            Self::Global(it) => it.step(pass, out),
            Self::Count(it) => it.step(pass, out),
            Self::Dedup(it) => it.step(pass, out),
            Self::Join(it) => it.step(pass, out),
            Self::AsOf(it) => it.step(pass, out),
        }
    }

    /// A restart lost the watermark and brings back what the stage keeps.
    pub fn watermark_lost(&mut self) {
        if let Self::AsOf(it) = self {
            it.nothing_is_reached();
        }
    }

    /// Groups, entries or stored rows held.
    pub fn state_rows(&self) -> u64 {
        match self {
            Self::Filter(_) | Self::Project(_) | Self::Same => 0,
            Self::Window(it) => it.state_rows(),
            Self::Session(it) => it.state_rows(),
            Self::Global(it) => it.state_rows(),
            Self::Count(it) => it.state_rows(),
            Self::Dedup(it) => it.state_rows(),
            Self::Join(it) => it.state_rows(),
            Self::AsOf(it) => it.state_rows(),
        }
    }

    /// The same, of a join per side.
    pub fn held(&self) -> [u64; 2] {
        match self {
            Self::Join(it) => it.held(),
            it => [it.state_rows(), 0],
        }
    }

    /// Whether it asks for a step without data when the watermark has moved.
    pub fn asks(&self, mode: OutputMode) -> bool {
        match self {
            Self::Filter(_) | Self::Project(_) | Self::Same => false,
            Self::Window(it) => it.asks(mode),
            Self::Session(it) => it.asks(mode),
            Self::Global(it) => it.asks(mode),
            Self::Count(it) => it.asks(mode),
            Self::Dedup(it) => it.asks(mode),
            Self::Join(it) => it.asks([true; 2]),
            Self::AsOf(it) => it.asks(mode),
        }
    }

    /// What it lets through of a watermark, by line. `removes` says of which side a watermark removes
    /// rows at all.
    pub fn passes(&self, lines: [EventTime; 2], removes: [bool; 2]) -> [EventTime; 2] {
        if lines == [EventTime::MAX; 2] {
            return lines;
        }
        let one = match self {
            Self::Filter(_) | Self::Project(_) | Self::Same => return lines,
            Self::Window(it) => it.passes(lines[0]),
            Self::Session(it) => it.passes(lines[0]),
            Self::Global(it) => it.passes(lines[0]),
            Self::Count(it) => it.passes(lines[0]),
            Self::Dedup(it) => it.passes(lines[0]),
            Self::Join(it) => it.passes(lines, removes),
            Self::AsOf(it) => it.passes(lines),
        };
        [one; 2]
    }
}

/// A stage without state: rows of both sides go through, in order.
fn hand_on(
    pass: &Pass<'_>,
    out: &mut StageOutput,
    keeps: impl Fn(&RowBatch, usize) -> bool,
    kept: Option<&[ColumnIx]>,
) {
    for handed in pass.sides.into_iter().flatten() {
        let rows = handed.batch;
        for row in handed.rows().filter(|it| keeps(rows, *it)) {
            let cells = &mut out.cells;
            cells.clear();
            match kept {
                Some(kept) => cells.extend(kept.iter().map(|it| rows.columns[it.0].get(row))),
                None => cells.extend(rows.columns.iter().map(|it| it.get(row))),
            }
            out.rows.push(rows.ids[row], rows.partitions[row], rows.arrivals[row], cells);
            out.notes.push(EmissionNote {
                step: pass.step,
                kind: EmissionKind::Row,
                time: EventTime::MIN,
                pane: 0,
            });
        }
    }
}
