//! Joins: every pair of rows is tried, in the pass in which its later row is taken.
//!
//! Left rows come first, in order, then right rows (a semi join under `both` and `either` takes the
//! right ones first). A row is stored until the rule of its side
//! removes it; a pair needs the earlier row to be stored. Under an exact expiry that is every pair of
//! admitted rows that the condition allows.
//!
//! Readings. The order of fates: no time, late, then the condition on a side alone. Under
//! [`NullTime::Epoch`] a row without a time is stored, and only +inf removes it, with
//! the null row that it is owed. The grace counts for a window's expiry, but not under
//! `WindowEnd`. A left row
//! that semi has written is gone at once; under anti a matched left row stays until its bound. The
//! time of a semi, anti or null row is that of its one row. Partners of a row are written in the order
//! of their times, and so is what leaves in one pass, left rows first. By which column a side is judged says its
//! input; one without a value there is not late.
//!
//! Invariant: a row gets at most one null row, and none once it has met somebody. Source: semantics 6.

mod reach;

pub(super) use reach::{Reach, leaves_window, window_start, within};

use super::links::Acts;
use super::pairs;
use super::published::Memory;
use super::stage::{Cells, Happening, Pass, Row, Stage, Verdict};
use plimsoll_engine::output::{EmissionKind, RemarkKind};
use plimsoll_engine::plan::LateRule;
use plimsoll_engine::plan::flow::{Flow, JoinKind, JoinPlan, Judged, NullTime, PairFilter, Sides};
use plimsoll_engine::row::{ItemId, PartitionId};
use plimsoll_engine::time::{EventTime, Span};

const LEFT: usize = 0;

/// A join stage.
#[derive(Debug)]
pub(super) struct Join {
    plan: JoinPlan,
    judged: [Judged; 2],
    pairs: Vec<PairFilter>,
    acts: Acts,
    null: NullTime,
    stored: [Vec<Stored>; 2],
    unmatched: [Memory<Stored>; 2],
}

#[derive(Clone, Debug)]
struct Stored {
    id: ItemId,
    partition: PartitionId,
    cells: Cells,
    time: Option<EventTime>,
    matched: bool,
}

impl Join {
    pub(super) fn new(
        plan: &JoinPlan,
        flow: &Flow,
        acts: Acts,
        null: NullTime,
        hindsight: Span,
    ) -> Self {
        let stored = Default::default();
        let unmatched = [Memory::new(hindsight), Memory::new(hindsight)];
        let judged =
            [0, 1].map(|it: usize| flow.inputs.get(it).map_or(Judged::ItsTime, |it| it.judged));
        let (plan, pairs) = (plan.clone(), flow.pairs.clone());
        Self { plan, judged, pairs, acts, null, stored, unmatched }
    }

    fn writes_pairs(&self) -> bool {
        !matches!(self.plan.kind, JoinKind::Semi | JoinKind::Anti)
    }

    fn is_late(&self, side: usize, time: EventTime, w: EventTime) -> bool {
        match self.plan.late {
            LateRule::WindowEnd if matches!(self.judged[side], Judged::Column(_)) => {
                time + self.plan.grace <= w
            }
            LateRule::WindowEnd => reach::window_end(&self.plan, time).is_some_and(|it| it <= w),
            LateRule::EventInclusive => time + self.plan.grace <= w,
            LateRule::Event | LateRule::Frame => time + self.plan.grace < w,
        }
    }

    fn pair(&self, left: &Stored, right: &Stored, by: &Stored) -> Row {
        let cells = [&left.cells[..], &right.cells].concat();
        self.row(by, EmissionKind::Row, left.time.max(right.time), cells)
    }

    /// The row of one side alone.
    fn single(&self, side: usize, row: &Stored, kind: EmissionKind) -> Row {
        let nulls = vec![None; row.cells.len()];
        let cells = match (self.writes_pairs(), side) {
            (false, _) => row.cells.clone(),
            (true, LEFT) => [&row.cells[..], &nulls].concat(),
            (true, _) => [&nulls[..], &row.cells].concat(),
        };
        self.row(row, kind, row.time, cells)
    }

    fn row(&self, by: &Stored, kind: EmissionKind, time: Option<EventTime>, cells: Cells) -> Row {
        let time = time.unwrap_or(EventTime::MIN);
        Row { id: by.id, partition: by.partition, kind, time, pane: 0, cells }
    }

    /// What a row finds among the stored rows of the other side.
    fn probe(&mut self, side: usize, mut row: Stored, evict: EventTime, out: &mut Happening) {
        let mut others = std::mem::take(&mut self.stored[1 - side]);
        let mut gone = Vec::new();
        // Partners in the order of their times, then of their arrival.
        let mut order: Vec<_> = (0..others.len()).collect();
        order.sort_by_key(|at| others[*at].time.unwrap_or(EventTime::MAX));
        for at in order {
            let other = &mut others[at];
            let (left, right) = if side == LEFT { (&row, &*other) } else { (&*other, &row) };
            let asked = self
                .pairs
                .iter()
                .all(|it| it.keeps(left.cells[it.left.0], right.cells[it.right.0]));
            if !asked || !pairs::meets(&self.plan, &left.cells, &right.cells) {
                continue;
            }
            match self.plan.kind {
                JoinKind::Semi if side == LEFT && !row.matched => {
                    out.rows.push(self.single(LEFT, &row, EmissionKind::Row));
                }
                JoinKind::Semi if side != LEFT => {
                    let mut written = self.single(LEFT, left, EmissionKind::Row);
                    (written.id, written.partition) = (row.id, row.partition);
                    out.rows.push(written);
                    gone.push(at);
                }
                JoinKind::Semi | JoinKind::Anti => {}
                _ => out.rows.push(self.pair(left, right, &row)),
            }
            (row.matched, other.matched) = (true, true);
        }
        out.removed += gone.len() as u64;
        gone.sort_unstable();
        for at in gone.into_iter().rev() {
            others.remove(at);
        }
        self.stored[1 - side] = others;
        let written = self.plan.kind == JoinKind::Semi && side == LEFT && row.matched;
        let useless = side != LEFT
            && row.time.is_some()
            && pairs::leaves(&self.plan, side, &row.cells, evict);
        let waits = pairs::owed(&self.plan, side) && !row.matched;
        if !written && (!useless || waits) {
            self.stored[side].push(row);
        }
    }

    /// A dropped row contradicts the null rows of those that it would have met.
    fn refute(&self, side: usize, row: &Stored, out: &mut Happening) {
        for (it, certain) in self.unmatched[1 - side].iter().filter(|_| self.pairs.is_empty()) {
            let (left, right) = if side == LEFT { (row, it) } else { (it, row) };
            if pairs::meets(&self.plan, &left.cells, &right.cells) {
                out.remarks.push((row.id, RemarkKind::Refuted { unmatched: it.id }, certain));
            }
        }
    }

    fn publish(&mut self, side: usize, row: Stored, out: &mut Happening) {
        out.rows.push(self.single(side, &row, EmissionKind::Unmatched));
        let due = pairs::due(&self.plan, side, &row.cells).unwrap_or(EventTime::MIN);
        self.unmatched[side].leaves(row, due);
    }
}

impl Stage for Join {
    fn pass(&mut self, given: &Pass<'_>, out: &mut Happening) {
        let judging = [LEFT, 1].map(|it| given.bound(self.acts.judges[it], given.late[it]));
        let evict = [LEFT, 1].map(|it| given.bound(self.acts.removes[it], given.evict[it]));
        for side in [LEFT, 1] {
            self.unmatched[side].removes(evict[side]);
        }
        let semi = self.plan.kind == JoinKind::Semi;
        let right_first = semi && matches!(self.plan.sides, Sides::Both | Sides::Either);
        for side in if right_first { [1, LEFT] } else { [LEFT, 1] } {
            for (at, row) in given.sides[side].iter().enumerate() {
                let time = row.cells[self.plan.time[side].0].map(EventTime);
                let (id, partition, cells) = (row.id, row.partition, row.cells.clone());
                let row = Stored { id, partition, cells, time, matched: false };
                if time.is_none() && self.null == NullTime::Nowhere {
                    out.judged.push((side, at, Verdict::NoTime));
                    continue;
                }
                let by = match self.judged[side] {
                    Judged::ItsTime => time,
                    Judged::Column(it) => row.cells[it.0].map(EventTime),
                    Judged::Nobody => None,
                };
                if let Some(time) = by.filter(|it| self.is_late(side, *it, judging[side])) {
                    let bound = judging[side];
                    out.groups_dropped += 1;
                    out.judged.push((side, at, Verdict::Late { time, bound, lost: 1, kept: 0 }));
                    self.refute(side, &row, out);
                } else if pairs::passes_alone(&self.plan, side, &row.cells) {
                    self.probe(side, row, evict[side], out);
                } else if pairs::owed(&self.plan, side) {
                    out.rows.push(self.single(side, &row, EmissionKind::Unmatched));
                }
            }
        }
        for side in [LEFT, 1] {
            let stored = std::mem::take(&mut self.stored[side]);
            let (mut gone, kept): (Vec<_>, _) = stored
                .into_iter()
                .partition(|it| pairs::leaves(&self.plan, side, &it.cells, evict[side]));
            self.stored[side] = kept;
            out.removed += gone.len() as u64;
            gone.sort_by_key(|it| it.time.unwrap_or(EventTime::MAX));
            for row in gone {
                if pairs::owed(&self.plan, side) && !row.matched {
                    self.publish(side, row, out);
                }
            }
        }
    }

    fn state_rows(&self) -> u64 {
        self.stored.iter().map(|it| it.len() as u64).sum()
    }

    fn acts(&self) -> [[bool; 2]; 2] {
        [self.acts.judges, self.acts.removes]
    }

    fn asks(&self) -> bool {
        let reach = Reach::of(&self.plan);
        [LEFT, 1].iter().any(|it| self.acts.removes[*it] && reach.expires(&self.plan, *it))
    }

    fn bounds_begin_anew(&mut self) {
        self.unmatched.iter_mut().for_each(Memory::begins_anew);
    }
}
