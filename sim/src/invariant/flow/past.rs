//! The rows of a flow that the system's own records admitted, step by step.
//!
//! A step's record says how many rows it took; they are the next ones of those that wait. A row
//! without a record was taken by the first stateful stage, and so was one that was counted without
//! moving the watermark; one that is late for all was dropped there.
//!
//! Invariant: every row of a step stands in the list once, in order of arrival.

use super::super::Observation;
use crate::trace::{Item, RowItem};
use plimsoll_engine::output::{Fate, StageRecord, StepRecord};
use plimsoll_engine::row::ItemId;
use std::collections::VecDeque;
use std::ops::Range;

/// What became of a row, as far as these checks ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// The first stateful stage has it; of its windows the earliest `lost` have not.
    Admitted {
        /// How many windows it missed.
        lost: u32,
    },
    /// It was late for all.
    Dropped,
    /// It did not come so far, or was not wanted for another reason.
    Other,
}

/// A row that a step took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowRow {
    /// Its item.
    pub id: ItemId,
    /// The row itself.
    pub row: RowItem,
    /// What became of it.
    pub taken: Taken,
}

/// All rows that steps took so far.
#[derive(Debug, Default)]
pub struct FlowPast {
    waiting: VecDeque<(ItemId, RowItem)>,
    /// In order.
    pub rows: Vec<FlowRow>,
    /// For each step of the item, its rows.
    pub steps: Vec<Range<usize>>,
}

impl FlowPast {
    /// Takes notice of an item and of what came out because of it.
    pub fn observe(&mut self, seen: &Observation<'_>, stopped: bool) {
        self.steps.clear();
        if let Item::Row(row) = *seen.item
            && !stopped
        {
            self.waiting.push_back((seen.id, row));
        }
        for step in &seen.output.steps {
            let from = self.rows.len();
            for _ in 0..step.rows_in {
                let Some((id, row)) = self.waiting.pop_front() else { break };
                self.rows.push(FlowRow { id, row, taken: taken(seen, id) });
            }
            self.steps.push(from..self.rows.len());
        }
    }

    /// The steps of the item, with the rows of each.
    pub fn steps_of<'a>(
        &'a self,
        seen: &Observation<'a>,
    ) -> impl Iterator<Item = (&'a StepRecord, &'a [FlowRow])> {
        let rows = self.steps.iter().map(|it| &self.rows[it.clone()]);
        seen.output.steps.iter().zip(rows)
    }
}

fn taken(seen: &Observation<'_>, id: ItemId) -> Taken {
    let record = seen.output.records.iter().find(|it| it.id == id);
    match record.map(|it| it.fate) {
        None | Some(Fate::CountedNotAdvancing) => Taken::Admitted { lost: 0 },
        Some(Fate::Late(it)) if 0 < it.windows_kept => Taken::Admitted { lost: it.windows_lost },
        Some(Fate::Late(_)) => Taken::Dropped,
        Some(_) => Taken::Other,
    }
}

/// What a stage said of a step.
pub fn stage_of<'a>(seen: &Observation<'a>, step: u64, stage: usize) -> Option<&'a StageRecord> {
    seen.output.stages.iter().find(|it| (it.step, it.stage) == (step, stage))
}

/// What the last stage wrote in a step: positions in the emissions.
pub fn written<'a>(seen: &Observation<'a>, step: u64) -> impl Iterator<Item = usize> + use<'a> {
    let notes = &seen.output.emissions.notes;
    (0..notes.len()).filter(move |it| notes[*it].step == step)
}

/// The cells of a row that was written.
pub fn cells(seen: &Observation<'_>, at: usize) -> Vec<Option<i64>> {
    seen.output.emissions.rows.columns.iter().map(|it| it.get(at)).collect()
}
