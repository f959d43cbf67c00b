//! Joins: pairs are sound (I15) and complete (I16).
//!
//! Rows with equal cells are alike to a join, so pairs are counted by their cells: of a left and b
//! right copies come at most a * b pairs (I15), and where the condition holds and the expiry is exact
//! exactly as many (I16), in the step in which the later one is taken.
//!
//! Invariant: a pair is compared when something of it has changed.

use super::super::past::{Past, Scope};
use super::super::{Invariant, Observation};
use super::followed;
use super::past::{Taken, cells, written};
use super::words;
use crate::oracle::flow::pairs::{meets, pairs_are_complete};
use plimsoll_engine::output::EmissionKind;
use plimsoll_engine::plan::flow::{JoinKind, JoinPlan, StagePlan};
use std::collections::{BTreeMap, BTreeSet};

/// I15.
pub const SOUND: &str = "I15 pairs_sound";
/// I16.
pub const COMPLETE: &str = "I16 pairs_complete";

type Cells = Vec<Option<i64>>;

/// The join, where it is the whole flow and writes pairs.
pub(super) fn alone(scope: &Scope) -> Result<&JoinPlan, &'static str> {
    let flow = &followed(scope)?.flow;
    if !flow.pairs.is_empty() {
        return Err("a join that asks nothing of pairs besides keys and times");
    }
    match flow.stages.as_slice() {
        [StagePlan::Join(it)] if !matches!(it.kind, JoinKind::Semi | JoinKind::Anti) => Ok(it),
        _ => Err("a join alone that writes pairs"),
    }
}

/// Admitted rows and written pairs, by their cells.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) plan: JoinPlan,
    pub(super) admitted: [BTreeMap<Cells, u64>; 2],
    pub(super) pairs: BTreeMap<(Cells, Cells), u64>,
    /// Rows that were written without a partner.
    pub(super) alone: [BTreeMap<Cells, u64>; 2],
}

/// What a step changed.
#[derive(Debug, Default)]
pub(super) struct Changed {
    pub(super) admitted: [BTreeSet<Cells>; 2],
    pub(super) pairs: BTreeSet<(Cells, Cells)>,
    pub(super) alone: [BTreeSet<Cells>; 2],
}

impl Tally {
    pub(super) fn new(plan: &JoinPlan) -> Self {
        let (plan, pairs) = (plan.clone(), BTreeMap::new());
        Self { plan, admitted: Default::default(), pairs, alone: Default::default() }
    }

    /// Takes notice of a step's rows and of what it wrote.
    pub(super) fn step(
        &mut self,
        seen: &Observation<'_>,
        step: u64,
        rows: &[super::past::FlowRow],
    ) -> Changed {
        let mut changed = Changed::default();
        for it in rows.iter().filter(|it| matches!(it.taken, Taken::Admitted { .. })) {
            let side = it.row.partition.input().min(1);
            let cells = seen.trace.cells(it.row).to_vec();
            *self.admitted[side].entry(cells.clone()).or_default() += 1;
            changed.admitted[side].insert(cells);
        }
        let columns = seen.trace.plan.schema.columns.len();
        for at in written(seen, step) {
            let both = cells(seen, at);
            let (left, right) = both.split_at(columns.min(both.len()));
            let (left, right) = (left.to_vec(), right.to_vec());
            if seen.output.emissions.notes[at].kind == EmissionKind::Unmatched {
                // A row of nulls alone looks the same on both sides.
                let none = |it: &Cells| it.iter().all(Option::is_none);
                let own = none(&right) && self.copies(0, &left) > self.lonely(0, &left);
                let side = usize::from(none(&left) && !own);
                let own = if side == 0 { left } else { right };
                *self.alone[side].entry(own.clone()).or_default() += 1;
                changed.alone[side].insert(own);
            } else {
                *self.pairs.entry((left.clone(), right.clone())).or_default() += 1;
                changed.pairs.insert((left, right));
            }
        }
        changed
    }

    pub(super) fn copies(&self, side: usize, cells: &Cells) -> u64 {
        self.admitted[side].get(cells).copied().unwrap_or(0)
    }

    pub(super) fn lonely(&self, side: usize, cells: &Cells) -> u64 {
        self.alone[side].get(cells).copied().unwrap_or(0)
    }

    pub(super) fn written(&self, left: &Cells, right: &Cells) -> u64 {
        self.pairs.get(&(left.clone(), right.clone())).copied().unwrap_or(0)
    }

    /// The admitted rows of the other side that a row meets.
    pub(super) fn partners<'a>(
        &'a self,
        side: usize,
        cells: &'a Cells,
    ) -> impl Iterator<Item = &'a Cells> {
        self.admitted[1 - side].keys().filter(move |other| {
            let (left, right) = if side == 0 { (cells, *other) } else { (*other, cells) };
            meets(&self.plan, left, right)
        })
    }
}

/// A pair in words.
pub(super) fn pair(seen: &Observation<'_>, left: &Cells, right: &Cells) -> String {
    let columns = &seen.trace.plan.schema.columns;
    format!("{} with {}", words::row(left, columns), words::row(right, columns))
}

pub(in super::super) fn sound(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    Ok(Box::new(Sound(Tally::new(alone(scope)?))))
}

#[derive(Debug)]
struct Sound(Tally);

impl Invariant for Sound {
    fn name(&self) -> &'static str {
        SOUND
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        let Some(flow) = &past.flow else { return Ok(()) };
        for (step, rows) in flow.steps_of(seen) {
            for (left, right) in self.0.step(seen, step.step, rows).pairs {
                let (a, b) = (self.0.copies(0, &left), self.0.copies(1, &right));
                let found = self.0.written(&left, &right);
                let what = if a == 0 || b == 0 {
                    "one of them was never admitted".to_owned()
                } else if !meets(&self.0.plan, &left, &right) {
                    "they do not meet the condition".to_owned()
                } else if a * b < found {
                    format!("{} pairs at most, {found} were written", a * b)
                } else {
                    continue;
                };
                let pair = pair(seen, &left, &right);
                return Err(format!("step {} joined {pair}: {what}", step.step));
            }
        }
        Ok(())
    }
}

pub(in super::super) fn complete(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    let plan = alone(scope)?;
    if !pairs_are_complete(plan) || !followed(scope)?.removes_what_nobody_meets() {
        return Err("an expiry that keeps every row until its last partner is late");
    }
    Ok(Box::new(Complete(Tally::new(plan))))
}

#[derive(Debug)]
struct Complete(Tally);

impl Invariant for Complete {
    fn name(&self) -> &'static str {
        COMPLETE
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        let Some(flow) = &past.flow else { return Ok(()) };
        for (step, rows) in flow.steps_of(seen) {
            let changed = self.0.step(seen, step.step, rows);
            for side in 0..2 {
                for own in &changed.admitted[side] {
                    for other in self.0.partners(side, own) {
                        let (left, right) = if side == 0 { (own, other) } else { (other, own) };
                        let due = self.0.copies(0, left) * self.0.copies(1, right);
                        let found = self.0.written(left, right);
                        if found < due {
                            let pair = pair(seen, left, right);
                            return Err(format!(
                                "{pair}: both are admitted and meet the condition; {due} pairs are \
                                 due by step {}, {found} were written",
                                step.step
                            ));
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
