//! Null rows of outer joins: exactly once iff nobody came, never before the bound (I17), nothing after
//! them (I18), and refuted iff a dropped row would have been the partner (I35).
//!
//! Rows with equal cells are alike, so they are counted by cells. I17 and I35 need an exact expiry:
//! else a row may be admitted whose partner has left.
//!
//! Invariant: a null row counts from the step that wrote it.

use super::super::past::{Past, Scope};
use super::super::words::time;
use super::super::{Invariant, Observation};
use super::join::{Tally, alone, pair};
use super::past::{FlowRow, Taken, stage_of};
use super::words;
use crate::oracle::flow::pairs::{self, leaves, meets, owed, pairs_are_complete};
use crate::trace::Item;
use plimsoll_engine::output::RemarkKind;
use plimsoll_engine::plan::flow::JoinPlan;
use plimsoll_engine::row::ItemId;
use plimsoll_engine::time::{EventTime, Span};

/// I17.
pub const ONCE: &str = "I17 null_row_iff_nobody_came";
/// I18.
pub const LAST: &str = "I18 no_pair_after_null_row";
/// I35.
pub const REFUTED: &str = "I35 refuted_iff_a_dropped_row_matches";

fn outer(scope: &Scope) -> Result<&JoinPlan, &'static str> {
    let plan = alone(scope)?;
    if owed(plan, 0) || owed(plan, 1) { Ok(plan) } else { Err("an outer join alone") }
}

fn exact(scope: &Scope) -> Result<&JoinPlan, &'static str> {
    let plan = outer(scope)?;
    if pairs_are_complete(plan) { Ok(plan) } else { Err("an outer join with an exact expiry") }
}

pub(in super::super) fn once(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    let plan = exact(scope)?;
    let links = scope.flow.as_ref().map_or([false; 2], |it| it.links[0]);
    Ok(Box::new(Once { links, tally: Tally::new(plan) }))
}

#[derive(Debug)]
struct Once {
    links: [bool; 2],
    tally: Tally,
}

impl Once {
    /// Whether the null row of these cells is due at what removes.
    fn is_due(&self, side: usize, cells: &[Option<i64>], evict: [EventTime; 2]) -> bool {
        let by = evict[side];
        by == EventTime::MAX
            || !pairs::passes_alone(&self.tally.plan, side, cells)
            || self.links[1 - side] && leaves(&self.tally.plan, side, cells, by)
    }
}

impl Invariant for Once {
    fn name(&self) -> &'static str {
        ONCE
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        let Some(flow) = &past.flow else { return Ok(()) };
        let columns = &seen.trace.plan.schema.columns;
        for (step, rows) in flow.steps_of(seen) {
            let changed = self.tally.step(seen, step.step, rows);
            let Some(stage) = stage_of(seen, step.step, 0) else { continue };
            for side in 0..2 {
                for cells in &changed.alone[side] {
                    let (found, most) =
                        (self.tally.lonely(side, cells), self.tally.copies(side, cells));
                    let what = if most < found {
                        format!("{most} were admitted, {found} written")
                    } else if !owed(&self.tally.plan, side) {
                        "rows of this side get none".to_owned()
                    } else if let Some(other) = self.tally.partners(side, cells).next() {
                        format!("it meets {}", words::row(other, columns))
                    } else if !self.is_due(side, cells, stage.evict) {
                        format!("its bound is not passed by {}", time(stage.evict[side]))
                    } else {
                        continue;
                    };
                    let row = words::row(cells, columns);
                    return Err(format!("step {} wrote a null row for {row}: {what}", step.step));
                }
                if !owed(&self.tally.plan, side) {
                    continue;
                }
                for (cells, copies) in &self.tally.admitted[side] {
                    let found = self.tally.lonely(side, cells);
                    if found < *copies
                        && self.is_due(side, cells, stage.evict)
                        && self.tally.partners(side, cells).next().is_none()
                    {
                        let row = words::row(cells, columns);
                        let by = time(stage.evict[side]);
                        return Err(format!(
                            "{row} found nobody and its bound is passed by {by}: {copies} null rows \
                             are due after step {}, {found} were written",
                            step.step
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}

pub(in super::super) fn last(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    Ok(Box::new(Last(Tally::new(outer(scope)?))))
}

#[derive(Debug)]
struct Last(Tally);

impl Invariant for Last {
    fn name(&self) -> &'static str {
        LAST
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        let Some(flow) = &past.flow else { return Ok(()) };
        for (step, rows) in flow.steps_of(seen) {
            let changed = self.0.step(seen, step.step, rows);
            for (left, right) in &changed.pairs {
                let free = |side, cells| {
                    self.0.copies(side, cells).saturating_sub(self.0.lonely(side, cells))
                };
                let most = free(0, left) * free(1, right);
                if most < self.0.written(left, right) {
                    let pair = pair(seen, left, right);
                    return Err(format!(
                        "step {} joined {pair}, one of which had been written without a partner",
                        step.step
                    ));
                }
            }
        }
        Ok(())
    }
}

pub(in super::super) fn refuted(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    let plan = exact(scope)?.clone();
    let flow = scope.flow.as_ref().ok_or("a flow")?;
    Ok(Box::new(Refuted {
        hindsight: flow.flow.hindsight,
        plan,
        rows: [Vec::new(), Vec::new()],
        evict: [EventTime::MIN; 2],
    }))
}

/// An admitted row that has met nobody yet.
#[derive(Debug)]
struct Lonely {
    id: ItemId,
    cells: Vec<Option<i64>>,
    /// Whether its null row was due in a step before.
    published: bool,
}

#[derive(Debug)]
struct Refuted {
    plan: JoinPlan,
    hindsight: Span,
    rows: [Vec<Lonely>; 2],
    evict: [EventTime; 2],
}

impl Refuted {
    fn meets(&self, side: usize, own: &[Option<i64>], other: &[Option<i64>]) -> bool {
        let (left, right) = if side == 0 { (own, other) } else { (other, own) };
        meets(&self.plan, left, right)
    }

    fn admit(&mut self, side: usize, id: ItemId, cells: &[Option<i64>]) {
        let other = std::mem::take(&mut self.rows[1 - side]);
        let (met, apart): (Vec<_>, Vec<_>) =
            other.into_iter().partition(|it| !it.published && self.meets(side, cells, &it.cells));
        self.rows[1 - side] = apart;
        let alone = pairs::passes_alone(&self.plan, side, cells);
        if met.is_empty() && owed(&self.plan, side) && alone {
            self.rows[side].push(Lonely { id, cells: cells.to_vec(), published: false });
        }
    }

    /// A dropped row: what it refutes must be remarked, as far as hindsight reaches for certain.
    fn drop(&self, seen: &Observation<'_>, it: &FlowRow, evict: [EventTime; 2]) -> Result<(), String> {
        let side = it.row.partition.input().min(1);
        let cells = seen.trace.cells(it.row);
        let remarks = seen.output.remarks.iter().filter(|remark| remark.id == it.id);
        let named: Vec<_> = remarks
            .filter_map(|remark| match remark.kind {
                RemarkKind::Refuted { unmatched } => Some(unmatched),
                _ => None,
            })
            .collect();
        for lonely in &self.rows[1 - side] {
            let refuted = lonely.published && self.meets(side, cells, &lonely.cells);
            let due = pairs::due(&self.plan, 1 - side, &lonely.cells);
            let certain = due.is_some_and(|due| evict[1 - side] < due + self.hindsight);
            if refuted && certain && !named.contains(&lonely.id) {
                return Err(format!(
                    "row {} was dropped and would have met row {}, whose null row was written: not \
                     remarked",
                    it.id.0, lonely.id.0
                ));
            }
        }
        let known = |id: &ItemId| {
            let mut lonely = self.rows[1 - side].iter();
            lonely.any(|it| it.id == *id && it.published && self.meets(side, cells, &it.cells))
        };
        match named.iter().find(|it| !known(it)) {
            Some(id) => Err(format!(
                "row {} is said to refute the null row of row {}, which it does not",
                it.id.0, id.0
            )),
            None => Ok(()),
        }
    }
}

impl Invariant for Refuted {
    fn name(&self) -> &'static str {
        REFUTED
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        let Some(flow) = &past.flow else { return Ok(()) };
        for (step, rows) in flow.steps_of(seen) {
            let Some(stage) = stage_of(seen, step.step, 0) else { continue };
            // Left rows come first in a pass; where several passes make a step, order is arrival.
            let sides: &[usize] = if past.scope.per_item { &[2] } else { &[0, 1] };
            for side in sides {
                for it in rows.iter().filter(|it| *side == 2 || it.row.partition.input() == *side) {
                    match it.taken {
                        Taken::Admitted { .. } => {
                            let cells = seen.trace.cells(it.row).to_vec();
                            self.admit(it.row.partition.input().min(1), it.id, &cells);
                        }
                        Taken::Dropped if !past.scope.per_item || rows.len() == 1 => {
                            self.drop(seen, it, stage.evict)?;
                        }
                        Taken::Dropped | Taken::Other => {}
                    }
                }
            }
            self.evict = stage.evict;
            for side in 0..2 {
                let plan = &self.plan;
                for it in &mut self.rows[side] {
                    it.published |= stage.evict[side] == EventTime::MAX
                        || leaves(plan, side, &it.cells, stage.evict[side]);
                }
            }
        }
        let foreign = |id: ItemId| {
            let item = seen.trace.items.get((id.0 as usize).wrapping_sub(1));
            !matches!(item, Some(Item::Row(_)))
        };
        match seen.output.remarks.iter().find(|it| foreign(it.id)) {
            Some(it) => Err(format!("item {} is no row and refutes nothing", it.id.0)),
            None => Ok(()),
        }
    }
}
