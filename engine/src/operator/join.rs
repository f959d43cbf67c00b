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
//! Where a null time is the epoch, its row is stored and leaves only at the end of input, with the null
//! row that it is owed. It meets whoever has its key where the join asks nothing of times; where the
//! time is a key ([`Sides::Either`]), rows without one too; else nobody (Spark). With hindsight, rows that were published without a partner are remembered, and a late row
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
use crate::operator::joined::{Cells, Stored, Writer};
use crate::operator::keyed::{Key, Keyed, Place};
use crate::operator::stage::{Judged, Pass, StageOutput, StageVerdict};
use crate::output::{EmissionKind, RemarkKind};
use crate::plan::LateRule;
use crate::plan::flow::{JoinKind, JoinPlan, Judged as Judging, NullTime, PairFilter, Sides};
use crate::row::{ColumnIx, ItemId, RowBatch};
use crate::time::{EventTime, Span};
use expiry::{Leaving, window_of};
use range::Bounds;
use serde::{Deserialize, Serialize};

/// A join as a stage.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Join {
    plan: JoinPlan,
    /// Known from the plan: by what rows of each side are judged.
    #[serde(skip)]
    judged: [Judging; 2],
    /// Known from the plan: what two rows must be to one another besides.
    #[serde(skip)]
    pairs: Vec<PairFilter>,
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

/// The output time of a row that stands there: `MIN` where it has none.
const fn told(standing: EventTime) -> EventTime {
    if standing.is_finite() { standing } else { EventTime::MIN }
}

impl Join {
    /// Panics where the window is not tumbling; the plan check refuses such plans.
    pub fn new(plan: &JoinPlan, null_time: NullTime, hindsight: Span) -> Self {
        assert!(
            plan.window.is_none_or(|it| it.slide == it.size),
            "both rows of a window join are in one window"
        );
        Self {
            judged: Default::default(),
            pairs: Vec::new(),
            null_time,
            hindsight,
            bounds: Bounds::tightest(&plan.ranges),
            leaving: Leaving::new(plan),
            sides: Default::default(),
            arrived: 0,
            plan: plan.clone(),
        }
    }

    /// By what rows of each side are judged, where that is not their time.
    pub fn judging(self, judged: [Judging; 2]) -> Self {
        Self { judged, ..self }
    }

    /// Where two rows must be something to one another besides.
    pub fn asking(self, pairs: &[PairFilter]) -> Self {
        Self { pairs: pairs.to_vec(), ..self }
    }

    /// With the rows of one from a snapshot.
    pub(crate) fn with_state_of(self, saved: Self) -> Self {
        Self { sides: saved.sides, arrived: saved.arrived, ..self }
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

    /// Whether it ever evicts, `removes` saying of which side a watermark does: at least one has a
    /// bound. Joins know no modes.
    pub const fn asks(&self, removes: [bool; 2]) -> bool {
        removes[0] && self.leaving.ever(0) || removes[1] && self.leaving.ever(1)
    }

    /// What is let through of the watermarks of the left and of the right input.
    pub fn passes(&self, watermarks: [EventTime; 2], removes: [bool; 2]) -> EventTime {
        self.leaving.passes(watermarks, removes)
    }

    /// One pass.
    pub fn step(&mut self, pass: &Pass<'_>, out: &mut StageOutput) {
        let both = !matches!(self.plan.kind, JoinKind::Semi | JoinKind::Anti);
        let mut writer = Writer::new(out, pass.step, both);
        let semi = self.plan.kind == JoinKind::Semi;
        let right_first = semi && matches!(self.plan.sides, Sides::Both | Sides::Either);
        for side in if right_first { [1, 0] } else { [0, 1] } {
            if let Some(rows) = pass.sides[side] {
                for row in rows.rows() {
                    self.observe(pass, side, rows.batch, row, &mut writer);
                }
            }
        }
        for side in 0..2 {
            self.evict(side, pass.evict[side], &mut writer);
        }
    }

    /// Where a row stands among the others: at its time, or behind all where it has none and meets
    /// somebody all the same.
    fn standing(&self, time: Option<EventTime>) -> Option<EventTime> {
        let timed = self.plan.window.is_some() || self.plan.sides != Sides::Either;
        let meets = !timed || self.asks_nothing_of_times();
        time.or(meets.then_some(EventTime::MAX))
    }

    fn asks_nothing_of_times(&self) -> bool {
        self.plan.window.is_none() && self.bounds.lower.is_none() && self.bounds.upper.is_none()
    }

    /// The times at which a row would find partners.
    fn partners(&self, side: usize, time: EventTime) -> (EventTime, EventTime) {
        if self.asks_nothing_of_times() {
            return (EventTime::MIN, EventTime::MAX);
        }
        if time == EventTime::MAX {
            return (time, time);
        }
        let (from, to) = self.bounds.partners(side, time);
        let to = to.min(EventTime(i64::MAX - 1));
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
    fn last_on_time(&self, side: usize, time: EventTime) -> EventTime {
        let late = match self.judged[side] {
            // The column is not what windows are cut on.
            Judging::Column(_) if self.plan.late == LateRule::WindowEnd => LateRule::EventInclusive,
            _ => self.plan.late,
        };
        let end = self.plan.window.map_or(time + Span(1), |it| window_of(it, time).end);
        late::last_on_time(late, time + self.plan.grace, end)
    }

    /// The time by which a row is judged; none: it is never late.
    fn judged_by(
        &self,
        side: usize,
        rows: &RowBatch,
        row: usize,
        time: Option<EventTime>,
    ) -> Option<EventTime> {
        match self.judged[side] {
            Judging::ItsTime => time,
            Judging::Column(it) => rows.columns[it.0].get(row).map(EventTime),
            Judging::Nobody => None,
        }
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
        if let Some(judged) = self.judged_by(side, rows, row, time) {
            let (one, bound) = (self.last_on_time(side, judged), pass.late[side]);
            if one < bound {
                let verdict = StageVerdict::Late { bound, lost: 1, kept: 0, one, all: one };
                writer.out.judged.push(Judged { side, row, verdict });
                writer.out.tally.rows_dropped += 1;
                writer.out.tally.groups_dropped += 1;
                if let Some(time) = self.standing(time) {
                    self.refute(side, rows, row, time, writer);
                }
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
        let Some(time) = self.standing(time) else {
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
        let (pairs, own) = (&self.pairs, &new.cells);
        let may = |other: &Cells| {
            let (left, right) = if side == 0 { (own, other) } else { (other, own) };
            pairs.iter().all(|it| it.keeps(left.get(it.left.0), right.get(it.right.0)))
        };
        let others = &mut self.sides[1 - side].rows;
        let mut matched = false;
        match (self.plan.kind, side) {
            (JoinKind::Semi, 0) => {
                matched = others.between(key, times).any(|it| may(&it.1.cells));
                if matched {
                    writer.write(EmissionKind::Row, told(time), new, [Some(new), None]);
                }
            }
            (JoinKind::Semi, _) => {
                for (place, left) in others.take_between(key, times, |it| may(&it.cells)) {
                    matched = true;
                    writer.out.tally.removed += 1;
                    writer.write(EmissionKind::Row, told(place.time), new, [Some(&left), None]);
                }
            }
            (JoinKind::Anti, 0) => {
                matched = others.between(key, times).any(|it| may(&it.1.cells));
            }
            (JoinKind::Anti, _) => {
                let met = others.between_mut(key, times).filter(|it| may(&it.1.cells));
                met.for_each(|(_, left)| left.matched = true);
            }
            (JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full, _) => {
                let met = others.between_mut(key, times).filter(|it| may(&it.1.cells));
                for (place, other) in met {
                    other.matched = true;
                    matched = true;
                    let pair =
                        if side == 0 { [&*new, &*other] } else { [&*other, &*new] }.map(Some);
                    let time = told(time).max(told(place.time));
                    writer.write(EmissionKind::Row, time, new, pair);
                }
            }
        }
        new.matched = matched;
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
        // Of rows that are gone only their keys are remembered.
        let unknown = published.len() == 0 || !self.pairs.is_empty();
        if unknown || !self.passes_condition(side, rows, row) {
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
        let ends = evict == EventTime::MAX;
        let gone = |time| ends || leaving.gone(side, time, evict);
        while let Some((place, row)) = it.rows.pop_oldest_if(gone) {
            writer.out.tally.removed += 1;
            if owed && !row.matched {
                writer.unmatched(told(place.time), side, &row);
                if !place.key.has_null() && Span::ZERO < *hindsight && !forgotten(place.time) {
                    it.published.insert(place, row.id);
                }
            }
        }
        if ends {
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
