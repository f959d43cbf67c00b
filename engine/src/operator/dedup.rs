//! Drops rows whose columns were seen before.
//!
//! An entry is made by the first row of its kind, which is let through, and lasts as long as an equal
//! row may still come that is not late (semantics 7). With the time among the columns (D1) that is
//! until a row of that time would be late; within a delay (D2) until the time of the first row plus
//! the delay; else for ever. Entries leave at the end of a pass: one whose time is up still drops the
//! rows of that pass (spark-rules 3). A row is judged late before it is compared.
//!
//! Null is a value like others. Where a null time is the epoch, it is never late, and its entry lasts
//! until the end of input; within a delay it counts as time 0.
//!
//! With hindsight, what left is remembered, and a row that is let through although an equal one was,
//! is remarked; where several such are remembered, the remark names the one that left last.
//!
//! Invariant: no row is let through that equals an entry. Source: semantics 7, spark-rules 3.

use crate::late;
use crate::operator::keyed::Key;
use crate::operator::stage::{Judged, Pass, StageOutput, StageVerdict};
use crate::output::{EmissionKind, EmissionNote, RemarkKind};
use crate::plan::OutputMode;
use crate::plan::flow::{DedupExpiry, DedupPlan, NullTime};
use crate::row::{ItemId, RowBatch};
use crate::time::{EventTime, Span};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A dedup as a stage.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Dedup {
    plan: DedupPlan,
    null_time: NullTime,
    hindsight: Span,
    live: Entries,
    /// What left and is remembered.
    left: Entries,
}

/// Which rows are equal: those of one time under D1 (`MIN` elsewhere) with these other columns. So the
/// entries of D1 stand in the order in which they leave.
type Place = (EventTime, Key);

/// An entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Entry {
    /// The row that made it.
    first: ItemId,
    /// Its expiry; `MAX` for an entry that stays.
    expiry: EventTime,
}

/// Entries by what makes them equal, and by expiry.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
struct Entries {
    entries: BTreeMap<Place, Entry>,
    /// Those that leave, where `entries` has them in another order.
    by_expiry: BTreeSet<(EventTime, Key)>,
}

impl Entries {
    const fn is_indexed(time: EventTime, expiry: EventTime) -> bool {
        !time.is_finite() && expiry.is_finite()
    }

    /// Puts an entry where no equal one is.
    fn insert(&mut self, place: Place, entry: Entry) {
        if Self::is_indexed(place.0, entry.expiry) {
            self.by_expiry.insert((entry.expiry, place.1.clone()));
        }
        let before = self.entries.insert(place, entry);
        assert!(before.is_none(), "an entry is made only where there is no equal one");
    }

    fn remove(&mut self, place: &Place) -> Option<Entry> {
        let entry = self.entries.remove(place)?;
        if Self::is_indexed(place.0, entry.expiry) {
            self.by_expiry.remove(&(entry.expiry, place.1.clone()));
        }
        Some(entry)
    }

    /// The entry that leaves first, taken out if its expiry is `gone`.
    fn pop_if(&mut self, gone: impl Fn(EventTime) -> bool) -> Option<(Place, Entry)> {
        if let Some((expiry, _)) = self.by_expiry.first() {
            if !gone(*expiry) {
                return None;
            }
            let (_, key) = self.by_expiry.pop_first()?;
            let place = (EventTime::MIN, key);
            let entry = self.entries.remove(&place).expect("what is indexed is there");
            return Some((place, entry));
        }
        let first_with_time = (EventTime(i64::MIN + 1), Key::LEAST);
        let (place, entry) = self.entries.range(first_with_time..).next()?;
        if !gone(entry.expiry) {
            return None;
        }
        let place = place.clone();
        self.entries.remove_entry(&place)
    }
}

impl Dedup {
    /// With nothing seen yet.
    pub fn new(plan: &DedupPlan, null_time: NullTime, hindsight: Span) -> Self {
        Self {
            plan: plan.clone(),
            null_time,
            hindsight,
            live: Entries::default(),
            left: Entries::default(),
        }
    }

    /// How many entries there are.
    pub fn state_rows(&self) -> u64 {
        self.live.entries.len() as u64
    }

    /// Whether it asks for batches without data: always, whatever its expiry (spark-rules 2).
    pub const fn asks(&self, _mode: OutputMode) -> bool {
        true
    }

    /// What is let through of a watermark: all of it.
    pub const fn passes(&self, watermark: EventTime) -> EventTime {
        watermark
    }

    /// One pass.
    pub fn step(&mut self, pass: &Pass<'_>, out: &mut StageOutput) {
        if let Some(rows) = pass.sides[0] {
            for row in 0..rows.len() {
                self.observe(pass, rows, row, out);
            }
        }
        self.evict(pass.evict[0], out);
    }

    fn observe(&mut self, pass: &Pass<'_>, rows: &RowBatch, row: usize, out: &mut StageOutput) {
        let judge = |verdict| Judged { side: 0, row, verdict };
        let cell = self.plan.time.map(|it| rows.columns[it.0].get(row));
        if cell == Some(None) && self.null_time == NullTime::Nowhere {
            out.judged.push(judge(StageVerdict::NoTime));
            return;
        }
        let time = cell.flatten().map(EventTime);
        if let Some(time) = time {
            let one = late::last_on_time(self.plan.late, time, time + Span(1));
            let bound = pass.late[0];
            if one < bound {
                let late = StageVerdict::Late { bound, lost: 1, kept: 0, one, all: one };
                out.judged.push(judge(late));
                out.tally.rows_dropped += 1;
                out.tally.groups_dropped += 1;
                return;
            }
        }
        let (place, expiry) = self.entry(rows, row, time);
        if let Some(entry) = self.live.entries.get(&place) {
            out.judged.push(judge(StageVerdict::Duplicate(entry.first)));
            out.tally.duplicates += 1;
            return;
        }
        let id = rows.ids[row];
        if let Some(Entry { first, .. }) = self.left.remove(&place) {
            out.remarks.push((id, RemarkKind::DuplicateAfterExpiry { first }));
        }
        self.live.insert(place, Entry { first: id, expiry });
        out.tally.updated += 1;
        out.rows.extend_from(rows, row..row + 1);
        out.notes.push(EmissionNote {
            step: pass.step,
            kind: EmissionKind::Row,
            time: time.unwrap_or(EventTime::MIN),
            pane: 0,
        });
    }

    /// Where a row's entry stands, and its expiry.
    fn entry(&self, rows: &RowBatch, row: usize, time: Option<EventTime>) -> (Place, EventTime) {
        let columns = self.plan.columns.iter().copied();
        let all = |columns| (EventTime::MIN, Key::of(rows, row, columns));
        match (self.plan.expiry, time) {
            (DedupExpiry::WithItsTime, Some(time)) => {
                let others = columns.filter(|it| Some(*it) != self.plan.time);
                ((time, Key::of(rows, row, others)), time)
            }
            (DedupExpiry::After(delay), Some(time)) => (all(columns), time + delay),
            (DedupExpiry::After(delay), None) if self.plan.time.is_some() => {
                (all(columns), EventTime(0) + delay)
            }
            _ => (all(columns), EventTime::MAX),
        }
    }

    fn evict(&mut self, evict: EventTime, out: &mut StageOutput) {
        if evict == EventTime::MAX {
            out.tally.removed += self.state_rows();
            self.live = Entries::default();
            self.left = Entries::default();
            return;
        }
        let Self { plan, hindsight, live, left, .. } = self;
        let gone = |expiry: EventTime| match plan.expiry {
            DedupExpiry::WithItsTime => {
                late::last_on_time(plan.late, expiry, expiry + Span(1)) < evict
            }
            DedupExpiry::After(_) => expiry <= evict,
            DedupExpiry::Never => false,
        };
        let forgotten = |expiry: EventTime| expiry + *hindsight <= evict;
        while let Some((place, entry)) = live.pop_if(gone) {
            out.tally.removed += 1;
            if Span::ZERO < *hindsight && !forgotten(entry.expiry) {
                left.insert(place, entry);
            }
        }
        while left.pop_if(forgotten).is_some() {}
    }
}
