//! Joins of two inputs by key and time, or by key and window.
//!
//! A row that is not late first looks for partners among the stored rows of the other side, then is
//! stored until nobody legal can match it any more ([`expiry`]). Left rows of a pass come first, so
//! that its right rows meet them too. A pair is written at once; a row that is owed a null row (or is
//! itself the answer, anti) is written when it leaves and has found nobody.
//!
//! Stored is every row that may have to be written or matched later, with these exceptions: a left
//! row of a semi join leaves at its first match, and is not stored where it is matched on arrival; a
//! right row that is evictable already is not stored, unless it has found nobody and is owed a null
//! row (spark-rules 5); and a row that fails the condition on its own side never is. A null in `on`
//! matches nobody, and such a row waits for its bound like others.
//!
//! Where a null time is the epoch, its row is stored, matches nobody and is written only at the end
//! of input. With hindsight, rows that were published without a partner are remembered, and a late row
//! that would have matched one is remarked.
//!
//! The output time of a pair is the larger time, that of a row alone (unmatched, semi) its own.
//!
//! Invariant: every pair of rows that were not late and match is written once, under an expiry that
//! is not earlier than [`crate::plan::flow::Expiry::EXACT`]. Source: semantics 6, I15 to I18.

mod expiry;
#[cfg(test)]
mod laws;
pub mod range;
#[cfg(test)]
mod stories;

use crate::late;
use crate::operator::joined::{Stored, Writer};
use crate::operator::keyed::{Key, Keyed, Place};
use crate::operator::stage::{Judged, Pass, StageOutput, StageVerdict};
use crate::output::{EmissionKind, RemarkKind};
use crate::plan::OutputMode;
use crate::plan::flow::{JoinKind, JoinPlan, NullTime};
use crate::row::{ColumnIx, ItemId, RowBatch};
use crate::time::{EventTime, Span};
use expiry::{Leaving, window_of};
use range::Bounds;
use serde::{Deserialize, Serialize};

/// A join as a stage.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Join {
    plan: JoinPlan,
    null_time: NullTime,
    hindsight: Span,
    bounds: Bounds,
    leaving: Leaving,
    sides: [Side; 2],
    /// How many rows were stored or looked for partners.
    arrived: u64,
}

/// What is kept of one side.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
struct Side {
    rows: Keyed<Stored>,
    /// Rows without a time, in order of arrival.
    timeless: Vec<Stored>,
    /// Rows that were published without a partner.
    published: Keyed<ItemId>,
}

/// Whether a row of `side` that finds nobody is written.
const fn owed(kind: JoinKind, side: usize) -> bool {
    match kind {
        JoinKind::Inner | JoinKind::Semi => false,
        JoinKind::Left | JoinKind::Anti => side == 0,
        JoinKind::Right => side == 1,
        JoinKind::Full => true,
    }
}

impl Join {
    /// Panics where the window is not tumbling; the plan check refuses such plans.
    pub fn new(plan: &JoinPlan, null_time: NullTime, hindsight: Span) -> Self {
        assert!(
            plan.window.is_none_or(|it| it.slide == it.size),
            "both rows of a window join are in one window"
        );
        Self {
            null_time,
            hindsight,
            bounds: Bounds::tightest(&plan.ranges),
            leaving: Leaving::new(plan),
            sides: Default::default(),
            arrived: 0,
            plan: plan.clone(),
        }
    }

    /// How many rows are stored.
    pub fn state_rows(&self) -> u64 {
        self.held().iter().sum()
    }

    /// Stored rows of each side.
    pub fn held(&self) -> [u64; 2] {
        [0, 1].map(|it| {
            let side = &self.sides[it];
            side.rows.len() as u64 + side.timeless.len() as u64
        })
    }

    /// Whether it ever evicts: at least one side has a bound. Joins know no modes.
    pub const fn asks(&self, _mode: OutputMode) -> bool {
        self.leaving.ever()
    }

    /// What is let through of the watermarks of the left and of the right input.
    pub fn passes(&self, watermarks: [EventTime; 2]) -> EventTime {
        self.leaving.passes(watermarks)
    }

    /// One pass.
    pub fn step(&mut self, pass: &Pass<'_>, out: &mut StageOutput) {
        let both = !matches!(self.plan.kind, JoinKind::Semi | JoinKind::Anti);
        let mut writer = Writer::new(out, pass.step, both);
        for (side, rows) in pass.sides.into_iter().enumerate() {
            if let Some(rows) = rows {
                for row in rows.rows() {
                    self.observe(pass, side, rows.batch, row, &mut writer);
                }
            }
        }
        for side in 0..2 {
            self.evict(side, pass.evict[side], &mut writer);
        }
    }

    /// The times at which a row would find partners.
    fn partners(&self, side: usize, time: EventTime) -> (EventTime, EventTime) {
        let (from, to) = self.bounds.partners(side, time);
        match self.plan.window {
            None => (from, to),
            Some(spec) => {
                let window = window_of(spec, time);
                (from.max(window.start), to.min(window.end - Span(1)))
            }
        }
    }

    fn key(&self, side: usize, rows: &RowBatch, row: usize) -> Key {
        let column = |on: &(ColumnIx, ColumnIx)| if side == 0 { on.0 } else { on.1 };
        Key::of(rows, row, self.plan.on.iter().map(column))
    }

    fn passes_condition(&self, side: usize, rows: &RowBatch, row: usize) -> bool {
        self.plan.only_if[side].is_none_or(|it| it.keeps(rows.columns[it.column.0].get(row)))
    }

    /// The largest watermark at which a row is on time.
    fn last_on_time(&self, time: EventTime) -> EventTime {
        let end = self.plan.window.map_or(time + Span(1), |it| window_of(it, time).end);
        late::last_on_time(self.plan.late, time + self.plan.grace, end)
    }

    fn observe(
        &mut self,
        pass: &Pass<'_>,
        side: usize,
        rows: &RowBatch,
        row: usize,
        writer: &mut Writer<'_>,
    ) {
        let time = rows.columns[self.plan.time[side].0].get(row).map(EventTime);
        if time.is_none() && self.null_time == NullTime::Nowhere {
            writer.out.judged.push(Judged { side, row, verdict: StageVerdict::NoTime });
            return;
        }
        if let Some(time) = time {
            let (one, bound) = (self.last_on_time(time), pass.late[side]);
            if one < bound {
                let verdict = StageVerdict::Late { bound, lost: 1, kept: 0, one, all: one };
                writer.out.judged.push(Judged { side, row, verdict });
                writer.out.tally.rows_dropped += 1;
                writer.out.tally.groups_dropped += 1;
                self.refute(side, rows, row, time, writer);
                return;
            }
        }
        let owed = owed(self.plan.kind, side);
        let mut new = Stored::of(rows, row);
        if !self.passes_condition(side, rows, row) {
            if owed {
                writer.unmatched(time.unwrap_or(EventTime::MIN), side, &new);
            }
            return;
        }
        let Some(time) = time else {
            self.sides[side].timeless.push(new);
            writer.out.tally.updated += 1;
            return;
        };
        let key = self.key(side, rows, row);
        if !key.has_null() {
            self.probe(side, time, &key, &mut new, writer);
        }
        let answered = self.plan.kind == JoinKind::Semi && side == 0 && new.matched;
        let behind =
            side == 1 && (!owed || new.matched) && self.leaving.gone(side, time, pass.evict[side]);
        if !answered && !behind {
            let place = Place { key, time, number: self.arrived };
            self.arrived += 1;
            self.sides[side].rows.insert(place, new);
            writer.out.tally.updated += 1;
        }
    }

    /// Finds the partners of a new row, and writes what that makes.
    fn probe(
        &mut self,
        side: usize,
        time: EventTime,
        key: &Key,
        new: &mut Stored,
        writer: &mut Writer<'_>,
    ) {
        let times = self.partners(side, time);
        let others = &mut self.sides[1 - side].rows;
        match (self.plan.kind, side) {
            (JoinKind::Semi, 0) => {
                new.matched = others.between(key, times).next().is_some();
                if new.matched {
                    writer.write(EmissionKind::Row, time, new, [Some(new), None]);
                }
            }
            (JoinKind::Semi, _) => {
                for (place, left) in others.take_between(key, times) {
                    new.matched = true;
                    writer.out.tally.removed += 1;
                    writer.write(EmissionKind::Row, place.time, new, [Some(&left), None]);
                }
            }
            (JoinKind::Anti, 0) => new.matched = others.between(key, times).next().is_some(),
            (JoinKind::Anti, _) => {
                others.between_mut(key, times).for_each(|(_, left)| left.matched = true);
            }
            (JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full, _) => {
                for (place, other) in others.between_mut(key, times) {
                    other.matched = true;
                    new.matched = true;
                    let pair =
                        if side == 0 { [&*new, &*other] } else { [&*other, &*new] }.map(Some);
                    writer.write(EmissionKind::Row, time.max(place.time), new, pair);
                }
            }
        }
    }

    /// Remarks which published rows a late row would have matched.
    fn refute(
        &self,
        side: usize,
        rows: &RowBatch,
        row: usize,
        time: EventTime,
        writer: &mut Writer<'_>,
    ) {
        let published = &self.sides[1 - side].published;
        if published.len() == 0 || !self.passes_condition(side, rows, row) {
            return;
        }
        let key = self.key(side, rows, row);
        if key.has_null() {
            return;
        }
        for (_, unmatched) in published.between(&key, self.partners(side, time)) {
            let kind = RemarkKind::Refuted { unmatched: *unmatched };
            writer.out.remarks.push((rows.ids[row], kind));
        }
    }

    fn evict(&mut self, side: usize, evict: EventTime, writer: &mut Writer<'_>) {
        let Self { plan, hindsight, leaving, sides, .. } = self;
        let owed = owed(plan.kind, side);
        let it = &mut sides[side];
        let forgotten = |time| leaving.forgotten(side, time, *hindsight, evict);
        while let Some((place, row)) = it.rows.pop_oldest_if(|t| leaving.gone(side, t, evict)) {
            writer.out.tally.removed += 1;
            if owed && !row.matched {
                writer.unmatched(place.time, side, &row);
                if !place.key.has_null() && Span::ZERO < *hindsight && !forgotten(place.time) {
                    it.published.insert(place, row.id);
                }
            }
        }
        if evict == EventTime::MAX {
            for row in it.timeless.drain(..) {
                writer.out.tally.removed += 1;
                if owed {
                    writer.unmatched(EventTime::MIN, side, &row);
                }
            }
        }
        while it.published.pop_oldest_if(forgotten).is_some() {}
    }
}
