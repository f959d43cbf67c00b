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
//! A queue wakes a session when it may be written or leave. A row that prolongs a session leaves the
//! queue alone: a session that is woken too early is put back for when it is time.
//!
//! Invariant: live sessions of a key do not meet; none is left with end + l <= evict; the queue names
//! each at or before its time.

mod published;
mod saved;
pub mod span;
#[cfg(test)]
mod tests;
mod write;

use super::accumulate::Accumulators;
use super::grouping::{Key, cells_of, key_of, time_of};
use super::keyed::queue::Queue;
use super::keyed::rows::Rows;
use super::keyed::slots::Slots;
use super::stage::{Judged, Pass, StageOutput, StageVerdict};
use crate::output::RemarkKind;
use crate::plan::OutputMode;
use crate::plan::flow::{Gap, SessionLate, SessionPlan};
use crate::row::RowBatch;
use crate::time::{EventTime, Span};
use crate::window::Window;
use published::Published;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use write::Due;

/// Where a session stands: end, start, key.
type Place = (EventTime, EventTime, Key);

/// The slot of a session's key, and its start.
type Name = (u32, EventTime);

/// The sessions of a stage.
#[derive(Clone, Debug)]
pub struct Sessions {
    plan: SessionPlan,
    hindsight: Span,
    /// The sessions of each key, by start.
    live: Slots<Rows<EventTime, Session>>,
    /// How many there are.
    count: usize,
    /// When to look at which; some are gone, and some have another time to be woken at.
    queue: Queue<Name>,
    /// Those that left, as far as hindsight reaches.
    published: Published,
    /// What the pass has changed, some of it gone. This and what follows is the memory of a pass.
    touched: Vec<Name>,
    /// What the row meets.
    met: Vec<Window>,
    woken: Woken,
    /// What is written.
    due: Vec<Due>,
}

/// One session.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Session {
    end: EventTime,
    total: Accumulators,
    owes: bool,
    panes: u32,
    /// The earliest time at which the queue names it.
    #[serde(skip, default = "never")]
    wakes: EventTime,
    /// How the pass has changed it.
    #[serde(skip)]
    touch: Option<Touch>,
}

const fn never() -> EventTime {
    EventTime::MAX
}

/// How a pass changed a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Touch {
    /// Its last row.
    row: usize,
    /// Whether a session of this start was there before the pass.
    was_there: bool,
}

/// What a pass wakes.
#[derive(Clone, Debug, Default)]
struct Woken {
    /// Is written on time.
    due: Vec<Name>,
    /// Leaves.
    leaving: Vec<Name>,
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
            live: Slots::default(),
            count: 0,
            queue: Queue::default(),
            published: Published::default(),
            touched: Vec::new(),
            met: Vec::new(),
            woken: Woken::default(),
            due: Vec::new(),
        }
    }

    /// Judges and counts the rows of a pass, evicts, writes.
    pub fn step(&mut self, pass: &Pass<'_>, out: &mut StageOutput) {
        let groups = self.observe(pass, out);
        out.tally.groups_dropped += groups;
        let Self { live, touched, .. } = self;
        touched.retain(|(slot, start)| live.of(*slot).get(*start).is_some());
        out.tally.updated += touched.len() as u64;
        let too_long = self.too_long(pass.mode);
        if pass.mode != OutputMode::Complete {
            self.wake(pass);
        }
        self.write(pass, &too_long, out);
        for (slot, start) in self.touched.drain(..) {
            if let Some(it) = self.live.of_mut(slot).get_mut(start) {
                it.touch = None;
            }
        }
        if pass.mode != OutputMode::Complete {
            self.evict(too_long, pass.evict[0], out);
        }
        self.tidy();
    }

    /// Sessions held.
    pub fn state_rows(&self) -> u64 {
        self.count as u64
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
        let mut of_plan = self.published.is_sound();
        for (key, sessions) in self.live.iter() {
            let mut before: Option<Window> = None;
            for (start, it) in sessions.between((EventTime::MIN, EventTime::MAX)) {
                let window = Window { start, end: it.end };
                let apart = before.is_none_or(|it| !span::meet(plan.touching, it, window));
                of_plan &= cells_of(key).len() == plan.keys.len();
                of_plan &= start < it.end && apart && it.total.fit(&plan.aggregates);
                before = Some(window);
            }
        }
        if !of_plan {
            return Err("the saved sessions do not belong to this plan".to_owned());
        }
        Ok(())
    }

    /// Judges the rows and counts those that are taken; the number of (key, time) of those that are not.
    fn observe(&mut self, pass: &Pass<'_>, out: &mut StageOutput) -> u64 {
        let mut dropped = BTreeSet::new();
        let Some(handed) = pass.sides[0] else { return 0 };
        let batch = handed.batch;
        let complete = pass.mode == OutputMode::Complete;
        let judges = !complete || self.plan.late == SessionLate::Proto;
        let late = if judges { pass.late[0] } else { EventTime::MIN };
        for row in handed.rows() {
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
                self.count(Taken { batch, row, own, late }, key, out);
            }
        }
        dropped.len() as u64
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
                let live = self.live.find(key).map(|it| self.live.of(it));
                let met = live
                    .into_iter()
                    .flat_map(|it| span::met(self.plan.touching, own, it, |it| it.end));
                met.map(|it| it.end).fold(own.end, EventTime::max) - Span(1)
            }
        };
        last + self.plan.lateness
    }

    /// Makes one session of a row and of all that it meets.
    fn count(&mut self, of: Taken<'_>, key: Key, out: &mut StageOutput) {
        let Taken { batch, row, own, late } = of;
        let slot = self.live.find_or_take(key);
        self.met.clear();
        self.met.extend(span::met(self.plan.touching, own, self.live.of(slot), |it| it.end));
        if Span::ZERO < self.hindsight {
            for split in self.published.overlapping(self.live.key(slot), own) {
                if !self.met.iter().any(|it| span::overlap(*it, split)) {
                    let Window { start, end } = split;
                    out.remarks.push((batch.ids[row], RemarkKind::SessionSplit { start, end }));
                }
            }
        }
        let hull = self.met.iter().fold(own, |hull, it| span::hull(hull, *it));
        let of_key = self.live.of_mut(slot);
        let mut parts: Option<Session> = None;
        for it in self.met.iter().filter(|it| it.start != hull.start) {
            let part = of_key.take(it.start).expect("it was met");
            out.tally.removed += u64::from(part.was_there());
            self.count -= 1;
            match &mut parts {
                None => parts = Some(part),
                Some(parts) => parts.absorb(&part),
            }
        }
        let new = of_key.get(hull.start).is_none();
        if new {
            of_key.insert(hull.start, Session::new(Accumulators::new(&self.plan.aggregates)));
            self.count += 1;
        }
        let session = of_key.get_mut(hull.start).expect("it is there now");
        if let Some(parts) = parts {
            session.absorb(&parts);
        }
        session.total.observe(&self.plan.aggregates, batch, row);
        session.end = hull.end;
        session.owes |= late < hull.end;
        if session.touch.is_none() {
            self.touched.push((slot, hull.start));
        }
        session.touch = Some(Touch { row, was_there: !new && session.was_there() });
        let wakes = session.next(self.plan.lateness);
        if wakes < session.wakes {
            session.wakes = wakes;
            self.queue.push(wakes, (slot, hull.start));
        }
    }

    /// The sessions that have become too long.
    fn too_long(&self, mode: OutputMode) -> Vec<Name> {
        let Some(max) = self.plan.max_span else { return Vec::new() };
        if mode == OutputMode::Complete {
            return Vec::new();
        }
        let too_long = |(slot, start): &Name| max <= self.session(*slot, *start).end.since(*start);
        self.touched.iter().copied().filter(too_long).collect()
    }

    /// Looks at the sessions whose time has come.
    fn wake(&mut self, pass: &Pass<'_>) {
        let (lateness, evict) = (self.plan.lateness, pass.evict[0]);
        let Self { live, queue, woken, .. } = self;
        while let Some((at, name)) = queue.pop_if(|it| it <= evict) {
            // One that became part of another, or that is named at an earlier time too.
            let session = live.of_mut(name.0).get_mut(name.1);
            let Some(session) = session.filter(|it| it.wakes == at) else { continue };
            if pass.mode == OutputMode::Append && session.owes && session.end <= evict {
                session.owes = false;
                woken.due.push(name);
            }
            if session.end + lateness <= evict {
                session.wakes = EventTime::MAX;
                woken.leaving.push(name);
            } else {
                let owes = session.owes && evict < session.end;
                session.wakes = if owes { session.end } else { session.end + lateness };
                queue.push(session.wakes, name);
            }
        }
    }

    /// What is gone and never comes due would be named for ever.
    fn tidy(&mut self) {
        if 2 * self.count + 64 < self.queue.len() {
            let live = &self.live;
            self.queue.retain(|at, (slot, start)| {
                live.of(slot).get(start).is_some_and(|it| it.wakes == at)
            });
        }
    }

    fn session(&self, slot: u32, start: EventTime) -> &Session {
        self.live.of(slot).get(start).expect("it is live")
    }

    /// Removes what leaves, and remembers it.
    fn evict(&mut self, too_long: Vec<Name>, evict: EventTime, out: &mut StageOutput) {
        let mut leaving = std::mem::take(&mut self.woken.leaving);
        leaving.extend(too_long);
        for (slot, start) in leaving.drain(..) {
            let of_key = self.live.of_mut(slot);
            let Some(session) = of_key.take(start) else { continue };
            let last = of_key.is_empty();
            self.count -= 1;
            out.tally.removed += 1;
            if Span::ZERO < self.hindsight {
                let window = Window { start, end: session.end };
                self.published.remember(self.live.key(slot).clone(), window);
            }
            if last {
                self.live.give_back(slot);
            }
        }
        self.woken.leaving = leaving;
        self.published.forget(self.hindsight + self.plan.lateness, evict);
    }
}

impl Session {
    const fn new(total: Accumulators) -> Self {
        Self { end: EventTime::MIN, total, owes: false, panes: 0, wakes: never(), touch: None }
    }

    /// Whether a session of this start was there before the pass.
    fn was_there(&self) -> bool {
        self.touch.is_none_or(|it| it.was_there)
    }

    /// When to look at it next.
    fn next(&self, lateness: Span) -> EventTime {
        if self.owes { self.end } else { self.end + lateness }
    }

    /// Takes in what another has.
    fn absorb(&mut self, other: &Self) {
        self.total.merge(&other.total);
        self.owes |= other.owes;
        self.panes = self.panes.max(other.panes);
    }
}
