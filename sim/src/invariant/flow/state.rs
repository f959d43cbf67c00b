//! State never exceeds its bound (I23): what the value that removes has passed is gone.
//!
//! The first stateful stage, over the input's own columns, may hold at most: windows: the (window,
//! key) of admitted rows with end + lateness ahead of what removes; sessions: as many as there are
//! rows whose own interval is; groups by a time: the keys that are; dedup: rows that were let through
//! and are not forgotten; joins: rows whose bound is not passed; as-of joins: left rows that wait, and
//! right rows that the oldest of them could reach.
//!
//! Invariant: the bound follows from admitted rows and from what the stage says has removed.

use super::super::past::grid::Grid;
use super::super::past::{Past, Scope};
use super::super::words::time;
use super::super::{Invariant, Observation};
use super::followed;
use super::past::{Taken, stage_of};
use crate::oracle::flow::pairs;
use plimsoll_engine::plan::flow::{DedupExpiry, Gap, StagePlan};
use plimsoll_engine::plan::{LateRule, OutputMode};
use plimsoll_engine::time::{EventTime, Span};
use std::collections::BTreeSet;

/// I23.
pub const BOUND: &str = "I23 state_within_bound";

pub(in super::super) fn bound(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    let flow = followed(scope)?;
    let (at, stage) = flow.stateful().ok_or("a stage that keeps something")?;
    let grouped = matches!(
        stage,
        StagePlan::Window(_) | StagePlan::Session(_) | StagePlan::Global(_) | StagePlan::Count(_)
    );
    if grouped && scope.mode == OutputMode::Complete {
        return Err("a mode in which something leaves");
    }
    let grid = match stage {
        StagePlan::Window(it) => Grid::new(it.window),
        StagePlan::Global(it) if it.time.is_none() => return Err("groups that leave"),
        StagePlan::Count(_) => return Err("groups that leave"),
        _ => None,
    };
    let waits = matches!(stage, StagePlan::AsOf(_));
    if waits && flow.links[at] != [true; 2] {
        return Err("an as-of join of whose times the watermark speaks");
    }
    if !flow.has_input_columns(at) {
        return Err("a first stateful stage over the columns of the input");
    }
    Ok(Box::new(Bound {
        at,
        stage: stage.clone(),
        grid,
        evict: [EventTime::MIN; 2],
        rows: Vec::new(),
        groups: BTreeSet::new(),
    }))
}

#[derive(Debug)]
struct Bound {
    at: usize,
    stage: StagePlan,
    grid: Option<Grid>,
    /// The highest values that removed.
    evict: [EventTime; 2],
    /// Rows that may be held, with their side.
    rows: Vec<(usize, Vec<Option<i64>>)>,
    /// (end, key) of groups that may be held.
    groups: BTreeSet<(EventTime, Vec<Option<i64>>)>,
}

impl Bound {
    fn admit(&mut self, side: usize, cells: &[Option<i64>], lost: u32) {
        let key = |keys: &[plimsoll_engine::row::ColumnIx]| -> Vec<_> {
            keys.iter().map(|it| cells[it.0]).collect()
        };
        match (&self.stage, self.grid) {
            (StagePlan::Window(it), Some(grid)) => {
                let Some(time) = cells[it.time.0].map(EventTime) else { return };
                let of = grid.starts(time);
                for n in lost..of.count {
                    let end = grid.end(grid.start(of, n));
                    self.groups.insert((end + it.lateness, key(&it.keys)));
                }
            }
            (StagePlan::Global(it), _) => {
                // A group of no time stays.
                let time = it.time.and_then(|it| cells[it.0.0]).map_or(EventTime::MAX, EventTime);
                self.groups.insert((time, key(&it.keys)));
            }
            _ => self.rows.push((side, cells.to_vec())),
        }
    }

    /// Whether a row may still be held.
    fn holds(&self, side: usize, cells: &[Option<i64>]) -> bool {
        let w = self.evict[side];
        match &self.stage {
            StagePlan::Session(it) => {
                let gap = match it.gap {
                    Gap::Fixed(gap) => Some(gap),
                    Gap::Column(column) => cells[column.0].map(Span),
                };
                let end = cells[it.time.0].zip(gap).map(|(t, gap)| EventTime(t) + gap);
                end.is_none_or(|end| w < end + it.lateness)
            }
            StagePlan::Dedup(it) => {
                if w == EventTime::MAX {
                    return false;
                }
                let own = it.time.and_then(|it| cells[it.0]).map(EventTime);
                match (it.expiry, own) {
                    (DedupExpiry::Never, _) => true,
                    (DedupExpiry::At(when), _) => w < when,
                    (DedupExpiry::After(delay), own) => {
                        w < own.unwrap_or(EventTime(0)) + delay || it.time.is_none()
                    }
                    (DedupExpiry::WithItsTime, None) => true,
                    (DedupExpiry::WithItsTime, Some(own)) => match it.late {
                        LateRule::EventInclusive => w < own,
                        _ => w <= own,
                    },
                }
            }
            StagePlan::Join(it) => {
                pairs::passes_alone(it, side, cells) && !pairs::leaves(it, side, cells, w)
            }
            StagePlan::AsOf(it) if side == 0 => {
                cells[it.time[0].0].is_none_or(|own| w <= EventTime(own)) && w != EventTime::MAX
            }
            _ => true,
        }
    }

    fn most(&mut self) -> usize {
        match &self.stage {
            StagePlan::Window(_) => {
                let w = self.evict[0];
                self.groups.retain(|it| w < it.0);
                self.groups.len()
            }
            StagePlan::Global(it) => {
                let w = self.evict[0];
                let inclusive = it.time.is_some_and(|it| it.1 == LateRule::EventInclusive);
                self.groups.retain(|it| if inclusive { w < it.0 } else { w <= it.0 });
                if w == EventTime::MAX { 0 } else { self.groups.len() }
            }
            _ => {
                let rows = std::mem::take(&mut self.rows);
                let mut rows: Vec<_> =
                    rows.into_iter().filter(|it| self.holds(it.0, &it.1)).collect();
                if let StagePlan::AsOf(it) = &self.stage {
                    let waits = rows.iter().filter(|row| row.0 == 0);
                    let oldest = waits.filter_map(|row| row.1[it.time[0].0]).min();
                    let least = oldest.map_or(self.evict[1], |it| self.evict[1].min(EventTime(it)));
                    let reaches = |own: i64| {
                        least != EventTime::MAX && least <= EventTime(own) + it.tolerance
                    };
                    let column = it.time[1].0;
                    rows.retain(|row| row.0 == 0 || row.1[column].is_none_or(reaches));
                }
                self.rows = rows;
                self.rows.len()
            }
        }
    }
}

impl Invariant for Bound {
    fn name(&self) -> &'static str {
        BOUND
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        let Some(flow) = &past.flow else { return Ok(()) };
        let joins = matches!(self.stage, StagePlan::Join(_) | StagePlan::AsOf(_));
        for (step, rows) in flow.steps_of(seen) {
            let Some(stage) = stage_of(seen, step.step, self.at) else { continue };
            // Where only probes remove, nothing leaves between two of them.
            let removes = (0..2).all(|it| self.evict[it] <= stage.evict[it]);
            if removes {
                self.evict = stage.evict;
            }
            for it in rows {
                if let Taken::Admitted { lost } = it.taken {
                    let side = if joins { it.row.partition.input().min(1) } else { 0 };
                    self.admit(side, seen.trace.cells(it.row), lost);
                }
            }
            if !removes {
                continue;
            }
            let most = self.most() as u64;
            if most < stage.state_rows {
                let found = stage.state_rows;
                let [left, right] = self.evict.map(time);
                return Err(format!(
                    "after step {} stage {} holds {found} rows or groups; what removes stands at \
                     {left} (right: {right}) and leaves at most {most}",
                    step.step, self.at
                ));
            }
        }
        Ok(())
    }
}
