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
use super::followed;
use super::join::{Tally, alone, pair};
use super::past::{FlowRow, Taken, stage_of};
use super::words;
use crate::oracle::flow::pairs::{self, leaves, meets, owed, pairs_are_complete};
use plimsoll_engine::output::RemarkKind;
use plimsoll_engine::plan::flow::JoinPlan;
use plimsoll_engine::row::{ColumnSpec, ItemId};
use plimsoll_engine::time::{EventTime, Span};
use std::collections::BTreeSet;

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
    let exact = pairs_are_complete(plan) && followed(scope)?.removes_what_nobody_meets();
    if exact { Ok(plan) } else { Err("an outer join with an exact expiry") }
}

pub(in super::super) fn once(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    let plan = exact(scope)?;
    let removes = scope.flow.as_ref().map_or([false; 2], |it| it.says[0].removes);
    let tally = Tally::new(plan);
    Ok(Box::new(Once { removes, tally, met: Default::default(), evict: [EventTime::MIN; 2] }))
}

#[derive(Debug)]
struct Once {
    removes: [bool; 2],
    tally: Tally,
    /// Rows that have met somebody.
    met: [BTreeSet<Vec<Option<i64>>>; 2],
    /// What removes in the step at hand.
    evict: [EventTime; 2],
}

impl Once {
    /// Whether the null row of these cells is due at what removes.
    fn is_due(&self, side: usize, cells: &[Option<i64>]) -> bool {
        let by = self.evict[side];
        by == EventTime::MAX
            || !pairs::passes_alone(&self.tally.plan, side, cells)
            || self.removes[side] && leaves(&self.tally.plan, side, cells, by)
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
            self.evict = stage.evict;
            for side in 0..2 {
                for cells in &changed.alone[side] {
                    if let Some(what) = self.unsound(side, cells, columns) {
                        let (row, step) = (words::row(cells, columns), step.step);
                        return Err(format!("step {step} wrote a null row for {row}: {what}"));
                    }
                }
                self.missing(side, step.step, columns)?;
            }
        }
        Ok(())
    }
}

impl Once {
    /// What is wrong with the null row of these cells.
    fn unsound(
        &self,
        side: usize,
        cells: &Vec<Option<i64>>,
        columns: &[ColumnSpec],
    ) -> Option<String> {
        let (found, most) = (self.tally.lonely(side, cells), self.tally.copies(side, cells));
        if most < found {
            Some(format!("{most} were admitted, {found} written"))
        } else if !owed(&self.tally.plan, side) {
            Some("rows of this side get none".to_owned())
        } else if let Some(other) = self.tally.partners(side, cells).next() {
            Some(format!("it meets {}", words::row(other, columns)))
        } else if !self.is_due(side, cells) {
            Some(format!("its bound is not passed by {}", time(self.evict[side])))
        } else {
            None
        }
    }

    /// Whether a null row that is due was not written.
    fn missing(&mut self, side: usize, step: u64, columns: &[ColumnSpec]) -> Result<(), String> {
        if !owed(&self.tally.plan, side) {
            return Ok(());
        }
        let mut met = Vec::new();
        for (cells, copies) in &self.tally.admitted[side] {
            let found = self.tally.lonely(side, cells);
            if *copies <= found || self.met[side].contains(cells) || !self.is_due(side, cells) {
                continue;
            }
            if self.tally.partners(side, cells).next().is_some() {
                met.push(cells.clone());
                continue;
            }
            let (row, by) = (words::row(cells, columns), time(self.evict[side]));
            return Err(format!(
                "{row} found nobody and its bound is passed by {by}: {copies} null rows are due \
                 after step {step}, {found} were written"
            ));
        }
        self.met[side].extend(met);
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
                let sound = self.0.copies(0, left) * self.0.copies(1, right);
                let found = self.0.written(left, right);
                if most < found && found <= sound {
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

/// An admitted row.
#[derive(Debug)]
struct Known {
    id: ItemId,
    cells: Vec<Option<i64>>,
    met: bool,
    /// Whether its null row was due in a step before.
    published: bool,
}

#[derive(Debug)]
struct Refuted {
    plan: JoinPlan,
    hindsight: Span,
    rows: [Vec<Known>; 2],
    /// The highest values that removed.
    evict: [EventTime; 2],
}

impl Refuted {
    fn meets(&self, side: usize, own: &[Option<i64>], other: &[Option<i64>]) -> bool {
        let (left, right) = if side == 0 { (own, other) } else { (other, own) };
        meets(&self.plan, left, right)
    }

    fn admit(&mut self, side: usize, id: ItemId, cells: &[Option<i64>]) {
        let mut others = std::mem::take(&mut self.rows[1 - side]);
        let mut met = !owed(&self.plan, side) || !pairs::passes_alone(&self.plan, side, cells);
        for other in others.iter_mut().filter(|it| self.meets(side, cells, &it.cells)) {
            (other.met, met) = (true, true);
        }
        self.rows[1 - side] = others;
        self.rows[side].push(Known { id, cells: cells.to_vec(), met, published: false });
    }

    /// A dropped row: what it refutes must be remarked, as far as hindsight reaches for certain.
    fn drop(&self, seen: &Observation<'_>, it: &FlowRow) -> Result<(), String> {
        let side = it.row.partition.input().min(1);
        let cells = seen.trace.cells(it.row);
        let remarks = seen.output.remarks.iter().filter(|remark| remark.id == it.id);
        let named = remarks.filter_map(|remark| match remark.kind {
            RemarkKind::Refuted { unmatched } => Some(unmatched),
            RemarkKind::SessionSplit { .. } | RemarkKind::DuplicateAfterExpiry { .. } => None,
        });
        let mut named: Vec<_> = named.collect();
        let published = self.rows[1 - side].iter().filter(|it| it.published);
        for lonely in published.filter(|it| self.meets(side, cells, &it.cells)) {
            let due = pairs::due(&self.plan, 1 - side, &lonely.cells);
            let certain = due.is_some_and(|due| {
                Span::ZERO < self.hindsight && self.evict[1 - side] < due + self.hindsight
            });
            match named.iter().position(|it| *it == lonely.id) {
                Some(at) => _ = named.remove(at),
                None if certain => {
                    return Err(format!(
                        "row {} was dropped and would have met row {}, whose null row was written: \
                         not remarked",
                        it.id.0, lonely.id.0
                    ));
                }
                None => {}
            }
        }
        named.first().map_or(Ok(()), |id| {
            Err(format!(
                "row {} is said to refute the null row of row {}, which it does not",
                it.id.0, id.0
            ))
        })
    }

    fn publish(&mut self, evict: [EventTime; 2]) {
        for (side, by) in evict.into_iter().enumerate() {
            self.evict[side] = self.evict[side].max(by);
            let plan = &self.plan;
            for it in self.rows[side].iter_mut().filter(|it| !it.met && !it.published) {
                it.published = leaves(plan, side, &it.cells, by);
            }
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
            for it in rows {
                if let Taken::Admitted { .. } = it.taken {
                    let cells = seen.trace.cells(it.row).to_vec();
                    self.admit(it.row.partition.input().min(1), it.id, &cells);
                }
            }
            // Where several passes make a step, null rows are written between its rows.
            let one_pass = !past.scope.per_item || rows.len() <= 1;
            if one_pass {
                let mut dropped = rows.iter().filter(|it| it.taken == Taken::Dropped);
                dropped.try_for_each(|it| self.drop(seen, it))?;
            }
            self.publish(stage.evict);
        }
        Ok(())
    }
}
