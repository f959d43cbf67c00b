//! Sessions per key: stretches of event time that silence of a gap ends (semantics 5).
//!
//! A row is [t, t + gap). It makes one session of itself and of all live sessions of its key that it
//! meets: that share an instant with it, or also touch it ([`crate::plan::flow::Touching`]). Within a pass rows are taken
//! in order; each is judged with w the late bound and l the allowed lateness: `Event` t + l < w, `Proto`
//! t + gap + l <= w, `Merged` the end that the session would have + l <= w (where it is late it changes
//! nothing). Then sessions of at least `max_span` leave (reason span), then those with
//! end + l <= evict.
//!
//! Append mode writes at the end of the pass, a session at most once, with the totals of all its rows:
//! - *span*, where it is too long;
//! - else *on time*, where end <= evict and the session *owes* its writing. It owes it from a row after
//!   which its end is > w, or from a session that owed it and became part of it, until it is written;
//! - else *late*, where a row was counted in the pass and end <= w. A row between one that was written
//!   and one that was not makes a session that owes; between two that were written, it is written late.
//!   Nothing is taken back (flink-rules 6). The panes of a session go on from the largest of its parts'.
//!
//! Update mode writes what was changed in the pass, also what leaves in it. Complete mode writes
//! everything; there nothing leaves, not even for its span, and rows are late only under `Proto`. The order is (end,
//! start, key). A session written late, for its span or as an update is ascribed to its last row, else
//! to the pass's cause.
//!
//! A late verdict names w, and the largest w at which the rule would have kept the row, among the live
//! sessions as they were: t + l, t + gap + l - 1, or the merged end + l - 1.
//!
//! Removed are sessions that left, and those that were there before the pass and whose start is no
//! session's start any more because they became part of an earlier one (Spark's store is keyed by the
//! start; spark-rules 4).
//!
//! Invariant: live sessions of a key do not meet; each is in `due` iff it owes, else in `kept`; none is
//! left with end + l <= evict.

mod published;
pub mod span;
#[cfg(test)]
mod tests;
mod write;

use super::accumulate::Accumulators;
use super::grouping::{Key, cells_of, key_of, time_of};
use super::stage::{Judged, Pass, StageOutput, StageVerdict};
use crate::output::RemarkKind;
use crate::plan::OutputMode;
use crate::plan::flow::{Gap, SessionLate, SessionPlan};
use crate::row::RowBatch;
use crate::time::{EventTime, Span};
use crate::window::Window;
use published::Published;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Where a session stands: end, start, key.
type Place = (EventTime, EventTime, Key);

/// The sessions of a stage.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sessions {
    plan: SessionPlan,
    hindsight: Span,
    /// The sessions of each key, by start.
    live: BTreeMap<Key, BTreeMap<EventTime, Session>>,
    /// Those that owe their writing.
    due: BTreeSet<Place>,
    /// Those that were written and are kept for late rows.
    kept: BTreeSet<Place>,
    /// Those that left, as far as hindsight reaches.
    published: Published,
}

/// One session.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Session {
    end: EventTime,
    total: Accumulators,
    owes: bool,
    panes: u32,
}

/// The sessions that a pass changed, by key and start.
type Touched = BTreeMap<Key, BTreeMap<EventTime, Touch>>;

/// How a pass changed a session.
#[derive(Clone, Copy, Debug)]
struct Touch {
    /// Its last row.
    row: usize,
    /// Whether a session of this start was there before the pass.
    was_there: bool,
}

/// A row that is to be counted.
struct Taken<'a> {
    batch: &'a RowBatch,
    row: usize,
    own: Window,
    late: EventTime,
}

impl Sessions {
    /// No sessions yet.
    pub fn new(plan: &SessionPlan, hindsight: Span) -> Self {
        Self {
            plan: plan.clone(),
            hindsight,
            live: BTreeMap::new(),
            due: BTreeSet::new(),
            kept: BTreeSet::new(),
            published: Published::default(),
        }
    }

    /// Judges and counts the rows of a pass, evicts, writes.
    pub fn step(&mut self, pass: &Pass<'_>, out: &mut StageOutput) {
        let touched = self.observe(pass, out);
        out.tally.updated += touched.values().map(|it| it.len() as u64).sum::<u64>();
        let too_long = self.too_long(&touched, pass.mode);
        self.write(pass, &touched, &too_long, out);
        if pass.mode != OutputMode::Complete {
            self.evict(too_long, pass.evict[0], out);
        }
    }

    /// Sessions held.
    pub fn state_rows(&self) -> u64 {
        (self.due.len() + self.kept.len()) as u64
    }

    /// Whether it would ask for a further step without rows when the watermark moved.
    pub fn asks(&self, mode: OutputMode) -> bool {
        mode != OutputMode::Complete
    }

    /// What it lets through of a watermark.
    pub fn passes(&self, w: EventTime) -> EventTime {
        w - self.plan.lateness
    }

    /// Whether a state that was read from a snapshot is one of this plan.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn fit(&self, plan: &SessionPlan, hindsight: Span) -> Result<(), String> {
        if self.plan != *plan || self.hindsight != hindsight {
            return Err("the saved sessions are those of another plan".to_owned());
        }
        let (mut due, mut kept) = (BTreeSet::new(), BTreeSet::new());
        let mut of_plan = self.published.is_sound();
        for (key, sessions) in &self.live {
            of_plan &= cells_of(key).len() == plan.keys.len() && !sessions.is_empty();
            let mut before: Option<Window> = None;
            for (start, it) in sessions {
                let window = Window { start: *start, end: it.end };
                let apart = before.is_none_or(|it| !span::meet(plan.touching, it, window));
                of_plan &= *start < it.end && apart && it.total.fit(&plan.aggregates);
                before = Some(window);
                let index = if it.owes { &mut due } else { &mut kept };
                index.insert((it.end, *start, key.clone()));
            }
        }
        if !of_plan || due != self.due || kept != self.kept {
            return Err("the saved sessions do not belong to this plan".to_owned());
        }
        Ok(())
    }

    /// Judges the rows and counts those that are taken.
    fn observe(&mut self, pass: &Pass<'_>, out: &mut StageOutput) -> Touched {
        let mut touched = Touched::new();
        let mut dropped = BTreeSet::new();
        let Some(batch) = pass.sides[0] else { return touched };
        let complete = pass.mode == OutputMode::Complete;
        let judges = !complete || self.plan.late == SessionLate::Proto;
        let late = if judges { pass.late[0] } else { EventTime::MIN };
        for row in 0..batch.len() {
            let own = match self.own(batch, row) {
                Ok(own) => own,
                Err(verdict) => {
                    out.judged.push(Judged { side: 0, row, verdict });
                    continue;
                }
            };
            let key = key_of(batch, &self.plan.keys, row);
            let keeps = self.keeps(own, &key);
            if keeps < late {
                let verdict =
                    StageVerdict::Late { bound: late, lost: 1, kept: 0, one: keeps, all: keeps };
                out.judged.push(Judged { side: 0, row, verdict });
                out.tally.rows_dropped += 1;
                dropped.insert((batch.partitions[row].input(), key, own.start));
            } else {
                self.count(Taken { batch, row, own, late }, key, &mut touched, out);
            }
        }
        out.tally.groups_dropped += dropped.len() as u64;
        touched
    }

    /// The row's own stretch of time.
    fn own(&self, batch: &RowBatch, row: usize) -> Result<Window, StageVerdict> {
        let start = time_of(batch, self.plan.time, row).ok_or(StageVerdict::NoTime)?;
        let gap = match self.plan.gap {
            Gap::Fixed(gap) => Some(gap),
            Gap::Column(column) => batch.columns[column.0].get(row).map(Span),
        };
        let gap = gap.filter(|it| 0 < it.0).ok_or(StageVerdict::NoGap)?;
        Ok(Window { start, end: start + gap })
    }

    /// The largest watermark at which the late rule takes such a row.
    fn keeps(&self, own: Window, key: &Key) -> EventTime {
        let last = match self.plan.late {
            SessionLate::Event => own.start,
            SessionLate::Proto => own.end - Span(1),
            SessionLate::Merged => {
                let live = self.live.get(key).into_iter();
                let met = live.flat_map(|it| span::met(self.plan.touching, own, it, |it| it.end));
                met.map(|it| it.end).fold(own.end, EventTime::max) - Span(1)
            }
        };
        last + self.plan.lateness
    }

    /// Makes one session of a row and of all that it meets.
    fn count(&mut self, of: Taken<'_>, key: Key, touched: &mut Touched, out: &mut StageOutput) {
        let Taken { batch, row, own, late } = of;
        let (live, touches) = (of_key(&mut self.live, &key), of_key(touched, &key));
        let met: Vec<_> = span::met(self.plan.touching, own, live, |it| it.end).collect();
        if Span::ZERO < self.hindsight {
            for split in self.published.overlapping(&key, own) {
                if !met.iter().any(|it| span::overlap(*it, split)) {
                    let Window { start, end } = split;
                    out.remarks.push((batch.ids[row], RemarkKind::SessionSplit { start, end }));
                }
            }
        }
        let hull = met.iter().fold(own, |hull, it| span::hull(hull, *it));
        let mut merged: Option<Session> = None;
        let (mut was_there, mut key) = (false, key);
        for it in met {
            let part = live.remove(&it.start).expect("it was met");
            let before = touches.remove(&it.start).is_none_or(|it| it.was_there);
            if it.start == hull.start {
                was_there = before;
            } else {
                out.tally.removed += u64::from(before);
            }
            let index = if part.owes { &mut self.due } else { &mut self.kept };
            let place = (it.end, it.start, key);
            assert!(index.remove(&place), "a live session has its place");
            key = place.2;
            match &mut merged {
                None => merged = Some(part),
                Some(merged) => merged.absorb(&part),
            }
        }
        let new = || Session {
            end: hull.end,
            total: Accumulators::new(&self.plan.aggregates),
            owes: false,
            panes: 0,
        };
        let mut merged = merged.unwrap_or_else(new);
        merged.total.observe(&self.plan.aggregates, batch, row);
        merged.end = hull.end;
        merged.owes |= late < hull.end;
        let index = if merged.owes { &mut self.due } else { &mut self.kept };
        index.insert((hull.end, hull.start, key));
        live.insert(hull.start, merged);
        touches.insert(hull.start, Touch { row, was_there });
    }

    /// The sessions that have become too long.
    fn too_long(&self, touched: &Touched, mode: OutputMode) -> BTreeSet<Place> {
        let Some(max) = self.plan.max_span else { return BTreeSet::new() };
        if mode == OutputMode::Complete {
            return BTreeSet::new();
        }
        let all = touched.iter().flat_map(|(key, of)| of.keys().map(move |start| (key, start)));
        all.filter_map(|(key, start)| {
            let end = self.live[key][start].end;
            (max <= end.since(*start)).then(|| (end, *start, key.clone()))
        })
        .collect()
    }

    /// Removes what leaves, and remembers it.
    fn evict(&mut self, too_long: BTreeSet<Place>, evict: EventTime, out: &mut StageOutput) {
        let lateness = self.plan.lateness;
        let mut leaving = too_long;
        for place in &leaving {
            if !self.due.remove(place) {
                self.kept.remove(place);
            }
        }
        for index in [&mut self.due, &mut self.kept] {
            while index.first().is_some_and(|it| it.0 + lateness <= evict) {
                leaving.extend(index.pop_first());
            }
        }
        for (end, start, key) in leaving {
            let live = self.live.get_mut(&key).expect("it has a place");
            live.remove(&start);
            if live.is_empty() {
                self.live.remove(&key);
            }
            out.tally.removed += 1;
            if Span::ZERO < self.hindsight {
                self.published.remember(key, Window { start, end });
            }
        }
        self.published.forget(self.hindsight + lateness, evict);
    }
}

/// What a map has for a key, made now if there is nothing.
fn of_key<'a, T: Default>(map: &'a mut BTreeMap<Key, T>, key: &Key) -> &'a mut T {
    if !map.contains_key(key) {
        map.insert(key.clone(), T::default());
    }
    map.get_mut(key).expect("it is there now")
}

impl Session {
    /// Takes in what another has.
    fn absorb(&mut self, other: &Self) {
        self.total.merge(&other.total);
        self.owes |= other.owes;
        self.panes = self.panes.max(other.panes);
    }
}
