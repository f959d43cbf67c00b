//! Dedup: a row is a duplicate iff an equal one was let through and is not forgotten.
//!
//! All rows that were let through are kept; whether one is forgotten follows from its time and from
//! the highest value that removed since.
//!
//! Readings. A row without a time under [`NullTime::Epoch`] is never late; where entries expire after a
//! delay it expires as one of time 0. `first` of a remark is the latest equal row let through before.
//! Without a time column, or without a time, what it writes has no time.
//!
//! Invariant: of equal rows at most one is remembered. Source: semantics 7.

use super::published::Memory;
use super::stage::{Cells, Happening, Pass, Row, Stage, Verdict};
use plimsoll_engine::output::{EmissionKind, RemarkKind};
use plimsoll_engine::plan::LateRule;
use plimsoll_engine::plan::flow::{DedupExpiry, DedupPlan, NullTime};
use plimsoll_engine::row::ItemId;
use plimsoll_engine::time::{EventTime, Span};

/// A dedup stage.
#[derive(Debug)]
pub(super) struct Dedup {
    plan: DedupPlan,
    acts: bool,
    null: NullTime,
    /// Rows that were let through and are remembered.
    entries: Vec<Entry>,
    forgotten: Memory<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    id: ItemId,
    cells: Cells,
    time: Option<EventTime>,
}

impl Dedup {
    pub(super) fn new(plan: &DedupPlan, acts: bool, null: NullTime, hindsight: Span) -> Self {
        let (entries, forgotten) = (Vec::new(), Memory::new(hindsight));
        Self { plan: plan.clone(), acts, null, entries, forgotten }
    }

    fn behind(&self, time: EventTime, w: EventTime) -> bool {
        match self.plan.late {
            LateRule::EventInclusive => time <= w,
            _ => time < w,
        }
    }

    /// The time that counts for a row; `Err` where it needs one.
    fn time(&self, row: &Row) -> Result<Option<EventTime>, Verdict> {
        let Some(column) = self.plan.time else { return Ok(None) };
        match (row.cells[column.0], self.null, self.plan.expiry) {
            (Some(it), _, _) => Ok(Some(EventTime(it))),
            (None, NullTime::Nowhere, _) => Err(Verdict::NoTime),
            (None, NullTime::Epoch, DedupExpiry::After(_)) => Ok(Some(EventTime(0))),
            (None, NullTime::Epoch, _) => Ok(None),
        }
    }

    fn expired(&self, it: &Entry, evict: EventTime) -> bool {
        let time = || it.time.expect("a row without a time is there for ever");
        match self.plan.expiry {
            _ if evict == EventTime::MAX => true,
            DedupExpiry::Never => false,
            _ if it.time.is_none() => false,
            DedupExpiry::WithItsTime => self.behind(time(), evict),
            DedupExpiry::After(delay) => time() + delay <= evict,
        }
    }

    /// By its own times an entry could leave at this value.
    fn due(&self, it: &Entry) -> EventTime {
        let time = it.time.unwrap_or(EventTime::MIN);
        match self.plan.expiry {
            DedupExpiry::After(delay) => time + delay,
            DedupExpiry::WithItsTime | DedupExpiry::Never => time,
        }
    }
}

impl Stage for Dedup {
    fn pass(&mut self, given: &Pass<'_>, out: &mut Happening) {
        let judging = if self.acts { given.late[0] } else { EventTime::MIN };
        let evict = given.bound(self.acts, given.evict[0]);
        self.forgotten.removes(evict);
        for (at, row) in given.sides[0].iter().enumerate() {
            let time = match self.time(row) {
                Ok(it) => it,
                Err(verdict) => {
                    out.judged.push((0, at, verdict));
                    continue;
                }
            };
            let judged = self.plan.time.and_then(|it| row.cells[it.0]).map(EventTime);
            if let Some(time) = judged.filter(|it| self.behind(*it, judging)) {
                out.groups_dropped += 1;
                out.judged.push((0, at, Verdict::Late { time, bound: judging, lost: 1, kept: 0 }));
                continue;
            }
            let cells: Cells = self.plan.columns.iter().map(|it| row.cells[it.0]).collect();
            if let Some(first) = self.entries.iter().find(|it| it.cells == cells) {
                out.judged.push((0, at, Verdict::Duplicate(first.id)));
                continue;
            }
            let mut forgotten = self.forgotten.iter().rev();
            if let Some((it, certain)) = forgotten.find(|it| it.0.cells == cells) {
                let kind = RemarkKind::DuplicateAfterExpiry { first: it.id };
                out.remarks.push((row.id, kind, certain));
            }
            self.entries.push(Entry { id: row.id, cells, time });
            let own = self.plan.time.and_then(|it| row.cells[it.0]).map(EventTime);
            let (kind, pane, time) = (EmissionKind::Row, 0, own.unwrap_or(EventTime::MIN));
            out.rows.push(Row { kind, time, pane, ..row.clone() });
        }
        let (gone, kept) =
            std::mem::take(&mut self.entries).into_iter().partition(|it| self.expired(it, evict));
        self.entries = kept;
        let gone: Vec<Entry> = gone;
        out.removed += gone.len() as u64;
        for it in gone {
            let due = self.due(&it);
            self.forgotten.leaves(it, due);
        }
    }

    fn state_rows(&self) -> u64 {
        self.entries.len() as u64
    }

    fn acts(&self) -> [[bool; 2]; 2] {
        [[self.acts, false]; 2]
    }

    fn asks(&self) -> bool {
        true
    }

    fn bounds_begin_anew(&mut self) {
        self.forgotten.begins_anew();
    }
}
