//! As-of joins: each left row with the latest right row at or before it, within a tolerance.
//!
//! The answer for a left row is certain once no right row at or before it can come, w > l.t; until
//! then it waits. Of a key's right rows at or before w only the latest can still answer, and only as
//! long as it is young enough for a left row that may come; later ones all may. Waiting left rows are
//! at or after w, so w itself is the minimum that the law on flows speaks of.
//!
//! A right row is looked at once when w reaches it: then those before it leave. So eviction walks over
//! what is reached and what leaves, never over all.
//!
//! An answer is written for a left row and carries its id and its time. A null in `on` finds nobody
//! and makes way for nobody. A row without a time is not taken.
//!
//! Invariant: an answer never changes by what is admitted after it. Source: semantics 6.

use crate::operator::joined::{Stored, Writer};
use crate::operator::keyed::{Key, Keyed, Place};
use crate::operator::stage::{Judged, Pass, StageOutput, StageVerdict};
use crate::output::EmissionKind;
use crate::plan::OutputMode;
use crate::plan::flow::AsOfPlan;
use crate::row::{ColumnIx, RowBatch};
use crate::time::EventTime;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An as-of join as a stage.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AsOf {
    plan: AsOfPlan,
    /// Left rows.
    waiting: Keyed<Stored>,
    /// Right rows.
    right: Keyed<Stored>,
    /// Right rows that the watermark has not reached, or not been compared with.
    unreached: BTreeMap<(EventTime, u64), Key>,
    /// How many rows were stored.
    arrived: u64,
}

impl AsOf {
    /// With nothing seen yet.
    pub fn new(plan: &AsOfPlan) -> Self {
        Self {
            plan: plan.clone(),
            waiting: Keyed::default(),
            right: Keyed::default(),
            unreached: BTreeMap::new(),
            arrived: 0,
        }
    }

    /// How many rows are stored.
    pub fn state_rows(&self) -> u64 {
        self.waiting.len() as u64 + self.right.len() as u64
    }

    /// Whether it ever evicts: always.
    pub const fn asks(&self, _mode: OutputMode) -> bool {
        true
    }

    /// What is let through of the watermarks of the left and of the right input: an answer has the
    /// time of a left row at or after the smaller one. The time of its right row may be as much
    /// earlier as the tolerance.
    pub fn passes(&self, watermarks: [EventTime; 2]) -> EventTime {
        watermarks[0].min(watermarks[1])
    }

    /// One pass.
    pub fn step(&mut self, pass: &Pass<'_>, out: &mut StageOutput) {
        for (side, rows) in pass.sides.into_iter().enumerate() {
            if let Some(rows) = rows {
                for row in 0..rows.len() {
                    self.observe(side, rows, row, pass.late[side], out);
                }
            }
        }
        let evict = pass.evict[0].min(pass.evict[1]);
        self.answer(evict, pass.step, out);
        self.evict(evict, out);
    }

    fn observe(
        &mut self,
        side: usize,
        rows: &RowBatch,
        row: usize,
        bound: EventTime,
        out: &mut StageOutput,
    ) {
        let Some(time) = rows.columns[self.plan.time[side].0].get(row).map(EventTime) else {
            out.judged.push(Judged { side, row, verdict: StageVerdict::NoTime });
            return;
        };
        if time < bound {
            let verdict = StageVerdict::Late { bound, lost: 1, kept: 0, one: time, all: time };
            out.judged.push(Judged { side, row, verdict });
            out.tally.rows_dropped += 1;
            out.tally.groups_dropped += 1;
            return;
        }
        let column = |on: &(ColumnIx, ColumnIx)| if side == 0 { on.0 } else { on.1 };
        let key = Key::of(rows, row, self.plan.on.iter().map(column));
        let number = self.arrived;
        self.arrived += 1;
        if side == 1 && !key.has_null() {
            self.unreached.insert((time, number), key.clone());
        }
        let place = Place { key, time, number };
        let stored = if side == 0 { &mut self.waiting } else { &mut self.right };
        stored.insert(place, Stored::of(rows, row));
        out.tally.updated += 1;
    }

    /// Writes the left rows for which no other answer can come.
    fn answer(&mut self, evict: EventTime, step: u64, out: &mut StageOutput) {
        let mut writer = Writer::new(out, step, true);
        while let Some((place, row)) = self.waiting.pop_oldest_if(|it| it < evict) {
            writer.out.tally.removed += 1;
            let times = (place.time - self.plan.tolerance, place.time);
            let found = if place.key.has_null() {
                None
            } else {
                self.right.between(&place.key, times).next_back()
            };
            match found {
                Some((_, right)) => {
                    writer.write(EmissionKind::Row, place.time, &row, [Some(&row), Some(right)]);
                }
                None if self.plan.outer => writer.unmatched(place.time, 0, &row),
                None => {}
            }
        }
    }

    /// Removes the right rows that answer no left row from `evict` on.
    fn evict(&mut self, evict: EventTime, out: &mut StageOutput) {
        let Self { plan, right, unreached, .. } = self;
        while let Some(reached) = unreached.first_entry().filter(|it| it.key().0 <= evict) {
            let key = reached.remove();
            let latest = right.between(&key, (EventTime::MIN, evict)).next_back();
            if let Some(latest) = latest.map(|it| it.0.clone()) {
                out.tally.removed += right.remove_before(&latest);
            }
        }
        while right.pop_oldest_if(|it| it + plan.tolerance < evict).is_some() {
            out.tally.removed += 1;
        }
    }
}
