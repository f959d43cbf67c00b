//! Sessions: intervals of admitted rows, merged anew each time anybody asks.
//!
//! Every admitted row is kept as [t, t + gap) until its session leaves. The sessions of a key are
//! the connected stretches of its rows.
//!
//! Readings. A pane on time is owed once a row came that was counted while its session's end after
//! merging was ahead of the late bound; one counted behind it owes a late pane at the end of its
//! pass, unless a later row of the pass has carried the session on. Panes are numbered on from
//! the largest number among the session's rows. A session that became too long is written as `Span`
//! in append mode, as `Update` in update mode, and stays in complete mode. A row splits a session
//! iff its own after merging overlaps a published one of its key that none of the merged did; touching
//! is not overlapping, whatever `touching` says. A session that rows of a pass carried
//! back to an earlier start, or merged into another, counts as removed (spark-rules 4).
//!
//! Invariant: the sessions of a key are apart. Source: semantics 5.

use super::aggregate;
use super::published::Memory;
use super::stage::{Cells, Happening, Pass, Row, Stage, Verdict, grouped_by};
use plimsoll_engine::output::{EmissionKind, RemarkKind};
use plimsoll_engine::plan::OutputMode;
use plimsoll_engine::plan::flow::{Gap, SessionLate, SessionPlan, Touching};
use plimsoll_engine::time::{EventTime, Span};
use std::collections::BTreeSet;

/// A session stage.
#[derive(Debug)]
pub(super) struct Sessions {
    plan: SessionPlan,
    evicts: bool,
    /// Whether anything ever leaves in this mode.
    leaves: bool,
    /// Admitted rows whose session has not left.
    rows: Vec<Live>,
    published: Memory<Session>,
}

#[derive(Clone, Debug)]
struct Live {
    key: Cells,
    start: EventTime,
    end: EventTime,
    cells: Cells,
    /// Counted in the pass at hand.
    fresh: bool,
    /// Whether its session's end had been passed when it was counted.
    late: bool,
    settled: bool,
    pane: Option<u32>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Session {
    key: Cells,
    start: EventTime,
    end: EventTime,
    /// Positions of its rows.
    rows: Vec<usize>,
}

impl Session {
    fn overlaps(&self, other: &Self) -> bool {
        self.start < other.end && other.start < self.end
    }
}

impl Sessions {
    pub(super) fn new(plan: &SessionPlan, evicts: bool, leaves: bool, hindsight: Span) -> Self {
        let plan = plan.clone();
        let published = Memory::new(hindsight);
        Self { plan, evicts, leaves, rows: Vec::new(), published }
    }

    /// The sessions of a key among these rows.
    fn of_key(&self, key: &Cells) -> Vec<Session> {
        let own = self.rows.iter().enumerate().filter(|it| it.1.key == *key);
        let mut own: Vec<_> = own.map(|(at, it)| (it.start, it.end, at)).collect();
        own.sort_unstable();
        let mut sessions: Vec<Session> = Vec::new();
        for (start, end, at) in own {
            match sessions.last_mut() {
                Some(last)
                    if start < last.end
                        || start == last.end && self.plan.touching == Touching::Merge =>
                {
                    last.end = last.end.max(end);
                    last.rows.push(at);
                }
                _ => sessions.push(Session { key: key.clone(), start, end, rows: vec![at] }),
            }
        }
        sessions
    }

    fn all(&self) -> Vec<Session> {
        let keys: BTreeSet<_> = self.rows.iter().map(|it| &it.key).collect();
        keys.into_iter().flat_map(|it| self.of_key(it)).collect()
    }

    fn gap(&self, cells: &Cells) -> Option<Span> {
        let gap = match self.plan.gap {
            Gap::Fixed(it) => Some(it),
            Gap::Column(it) => cells[it.0].map(Span),
        };
        gap.filter(|it| 0 < it.0)
    }

    fn take(&mut self, row: &Row, judging: EventTime, out: &mut Happening) -> Option<Verdict> {
        let Some(start) = grouped_by(row.cells[self.plan.time.0]) else {
            return Some(Verdict::NoTime);
        };
        let Some(gap) = self.gap(&row.cells) else { return Some(Verdict::NoGap) };
        let key = aggregate::key(&row.cells, &self.plan.keys);
        let before = self.of_key(&key);
        let (cells, end) = (row.cells.clone(), start + gap);
        let (late, fresh, settled, pane) = (false, true, false, None);
        self.rows.push(Live { key: key.clone(), start, end, cells, fresh, late, settled, pane });
        let at = self.rows.len() - 1;
        let mut after = self.of_key(&key).into_iter();
        let merged = after.find(|it| it.rows.contains(&at)).expect("a row is in a session");
        let bound = judging - self.plan.lateness;
        let is_late = match self.plan.late {
            SessionLate::Event => start < bound,
            SessionLate::Proto => end <= bound,
            SessionLate::Merged => merged.end <= bound,
        };
        if is_late {
            self.rows.pop();
            return Some(Verdict::Late { time: start, bound: judging, lost: 1, kept: 0 });
        }
        self.rows[at].late = merged.end <= judging;
        let parts = before.iter().filter(|it| it.rows.iter().all(|it| merged.rows.contains(it)));
        let parts: Vec<_> = parts.collect();
        let mut named = Vec::new();
        for (it, certain) in self.published.iter().rev() {
            if named.contains(&it) {
                continue;
            }
            let known = parts.iter().any(|part| part.overlaps(it));
            if it.key == key && merged.overlaps(it) && !known {
                let kind = RemarkKind::SessionSplit { start: it.start, end: it.end };
                out.remarks.push((row.id, kind, certain));
                named.push(it);
            }
        }
        None
    }

    fn write(&mut self, it: &Session, kind: EmissionKind, given: &Pass<'_>, out: &mut Happening) {
        let rows: Vec<_> = it.rows.iter().map(|at| &self.rows[*at].cells).collect();
        let last = EventTime(it.end.0 - 1);
        let mut cells = vec![Some(it.start.0), Some(it.end.0), Some(last.0)];
        cells.extend(&it.key);
        aggregate::over(&rows, &self.plan.aggregates, &mut cells);
        let before = it.rows.iter().filter_map(|at| self.rows[*at].pane).max();
        let numbered = given.mode == OutputMode::Append;
        let pane = before.filter(|_| numbered).map_or(0, |it| it + 1);
        for at in &it.rows {
            let row = &mut self.rows[*at];
            (row.pane, row.settled) = (Some(pane), true);
        }
        let (id, partition) = (given.cause, Default::default());
        out.rows.push(Row { id, partition, kind, time: last, pane, cells });
    }

    /// Takes sessions away.
    fn leave(&mut self, gone: &[Session], out: &mut Happening) {
        let mut rows: Vec<_> = gone.iter().flat_map(|it| it.rows.iter().copied()).collect();
        rows.sort_unstable();
        for at in rows.into_iter().rev() {
            self.rows.remove(at);
        }
        out.removed += gone.len() as u64;
        for it in gone {
            let due = it.end + self.plan.lateness;
            self.published.leaves(Session { rows: Vec::new(), ..it.clone() }, due);
        }
    }

    fn changed(&self, it: &Session) -> bool {
        it.rows.iter().any(|at| self.rows[*at].fresh)
    }

    fn spans(&mut self, given: &Pass<'_>, out: &mut Happening) {
        let Some(most) = self.plan.max_span else { return };
        let mut gone = self.all();
        gone.retain(|it| most <= it.end.since(it.start));
        for it in &gone {
            match given.mode {
                OutputMode::Append => self.write(it, EmissionKind::Span, given, out),
                _ => self.write(it, EmissionKind::Update, given, out),
            }
        }
        self.leave(&gone, out);
    }

    fn panes(
        &mut self,
        judging: EventTime,
        evict: EventTime,
        given: &Pass<'_>,
        out: &mut Happening,
    ) {
        for it in self.all() {
            let owed = |late: bool| {
                it.rows.iter().any(|at| !self.rows[*at].settled && self.rows[*at].late == late)
            };
            if it.end <= evict && owed(false) {
                self.write(&it, EmissionKind::OnTime, given, out);
            } else if it.end <= evict.max(judging) && owed(true) {
                self.write(&it, EmissionKind::Late, given, out);
            }
        }
    }
}

impl Stage for Sessions {
    fn pass(&mut self, given: &Pass<'_>, out: &mut Happening) {
        let before = out.rows.len();
        self.take_and_write(given, out);
        // Groups come by (end, start, key): the stage behind may count them.
        let keys = 3..3 + self.plan.keys.len();
        out.rows[before..]
            .sort_by_key(|it| (it.cells[1], it.cells[0], it.cells[keys.clone()].to_vec()));
    }

    fn state_rows(&self) -> u64 {
        self.all().len() as u64
    }

    fn acts(&self) -> [[bool; 2]; 2] {
        [[self.evicts, false]; 2]
    }

    fn asks(&self) -> bool {
        self.leaves
    }

    fn bounds_begin_anew(&mut self) {
        self.published.begins_anew();
    }
}

impl Sessions {
    fn take_and_write(&mut self, given: &Pass<'_>, out: &mut Happening) {
        let complete = given.mode == OutputMode::Complete;
        let judging = if self.evicts { given.late[0] } else { EventTime::MIN };
        let evict = given.bound(self.evicts, given.evict[0]);
        self.published.removes(evict);
        self.rows.iter_mut().for_each(|it| it.fresh = false);
        let before = self.all();
        let mut dropped = BTreeSet::new();
        for (at, row) in given.sides[0].iter().enumerate() {
            let Some(verdict) = self.take(row, judging, out) else { continue };
            if let Verdict::Late { time, .. } = verdict {
                dropped.insert((aggregate::key(&row.cells, &self.plan.keys), time));
            }
            out.judged.push((0, at, verdict));
        }
        out.groups_dropped += dropped.len() as u64;
        let after = self.all();
        let stands =
            |old: &&Session| after.iter().any(|it| (&it.key, it.start) == (&old.key, old.start));
        out.removed += (before.len() - before.iter().filter(stands).count()) as u64;
        if complete {
            if given.triggered {
                for it in self.all() {
                    self.write(&it, EmissionKind::Complete, given, out);
                }
            }
            return;
        }
        self.spans(given, out);
        if given.mode == OutputMode::Append {
            self.panes(judging, evict, given, out);
        } else {
            for it in self.all().iter().filter(|it| self.changed(it)).cloned().collect::<Vec<_>>() {
                self.write(&it, EmissionKind::Update, given, out);
            }
        }
        let mut gone = self.all();
        gone.retain(|it| it.end <= evict - self.plan.lateness);
        self.leave(&gone, out);
    }
}
