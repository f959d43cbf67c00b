//! As-of joins: the latest right row at or before each left row, within a tolerance.
//!
//! All admitted right rows are kept; which of them are still held follows from the rule and is only
//! counted. A left row is written in the pass in which evict > l.t holds first.
//!
//! Readings. A row without a time is not taken, under either rule for null times. A dropped right row
//! refutes the null row of a left row with whom it would have been. Under +inf everything leaves.
//! Rows leave where both times are linked to a watermark. Rows of one key are those with equal cells in the right (left) columns of `on`, null included.
//!
//! Invariant: a left row is written at most once. Source: semantics 6.

use super::stage::{Cells, Happening, Pass, Row, Stage, Verdict};
use plimsoll_engine::output::{EmissionKind, RemarkKind};
use plimsoll_engine::plan::flow::{AsOfPlan, NullTime};
use plimsoll_engine::row::{ItemId, PartitionId};
use plimsoll_engine::time::EventTime;

/// An as-of stage.
#[derive(Debug)]
pub(super) struct AsOf {
    plan: AsOfPlan,
    acts: [bool; 2],
    waiting: Vec<Kept>,
    /// Every admitted right row.
    right: Vec<Kept>,
    unmatched: Vec<Kept>,
}

#[derive(Clone, Debug)]
struct Kept {
    id: ItemId,
    partition: PartitionId,
    cells: Cells,
    time: EventTime,
    key: Cells,
    held: bool,
}

impl AsOf {
    pub(super) fn new(plan: &AsOfPlan, acts: [bool; 2], _: NullTime) -> Self {
        let (waiting, right, unmatched) = Default::default();
        Self { plan: plan.clone(), acts, waiting, right, unmatched }
    }

    fn meet(&self, left: &Kept, right: &Kept) -> bool {
        left.key == right.key
            && left.key.iter().all(Option::is_some)
            && right.time <= left.time
            && left.time <= right.time + self.plan.tolerance
    }

    fn kept(&self, side: usize, row: &Row, time: EventTime) -> Kept {
        let on = self.plan.on.iter().map(|it| if side == 0 { it.0 } else { it.1 });
        let key = on.map(|it| row.cells[it.0]).collect();
        let (id, partition, cells) = (row.id, row.partition, row.cells.clone());
        Kept { id, partition, cells, time, key, held: true }
    }

    /// A left row whose time has come.
    fn write(&mut self, left: Kept, out: &mut Happening) {
        let partners = self.right.iter().enumerate().filter(|it| self.meet(&left, it.1));
        let partner = partners.max_by_key(|(at, it)| (it.time, *at)).map(|it| it.1);
        let nulls = vec![None; left.cells.len()];
        let (kind, right) = match partner {
            Some(it) => (EmissionKind::Row, &it.cells),
            None => (EmissionKind::Unmatched, &nulls),
        };
        if partner.is_some() || self.plan.outer {
            let cells = [&left.cells[..], right].concat();
            let (id, partition, time) = (left.id, left.partition, left.time);
            out.rows.push(Row { id, partition, kind, time, pane: 0, cells });
        }
        if partner.is_none() && self.plan.outer {
            self.unmatched.push(left);
        }
    }

    fn let_go(&mut self, evict: EventTime) -> u64 {
        let mut gone = Vec::new();
        for (at, it) in self.right.iter().enumerate().filter(|it| it.1.held) {
            let alike = |other: &Kept| other.key == it.key && it.key.iter().all(Option::is_some);
            let own = self.waiting.iter().filter(|left| alike(left));
            let least = own.map(|it| it.time).min().map_or(evict, |it| it.min(evict));
            let replaced = self.right.iter().enumerate().any(|(n, other)| {
                alike(other) && (it.time, at) < (other.time, n) && other.time <= least
            });
            if least == EventTime::MAX || replaced || it.time + self.plan.tolerance < least {
                gone.push(at);
            }
        }
        gone.iter().for_each(|at| self.right[*at].held = false);
        gone.len() as u64
    }
}

impl Stage for AsOf {
    fn pass(&mut self, given: &Pass<'_>, out: &mut Happening) {
        let judging = [0, 1].map(|it| given.bound(self.acts[it], given.late[it]));
        let evict = given.bound(self.acts == [true; 2], given.evict[0]);
        for side in [0, 1] {
            for (at, row) in given.sides[side].iter().enumerate() {
                let Some(time) = row.cells[self.plan.time[side].0].map(EventTime) else {
                    out.judged.push((side, at, Verdict::NoTime));
                    continue;
                };
                let row = self.kept(side, row, time);
                if time < judging[side] {
                    let bound = judging[side];
                    out.groups_dropped += 1;
                    out.judged.push((side, at, Verdict::Late { time, bound, lost: 1, kept: 0 }));
                    for it in self.unmatched.iter().filter(|it| side == 1 && self.meet(it, &row)) {
                        let kind = RemarkKind::Refuted { unmatched: it.id };
                        out.remarks.push((row.id, kind, false));
                    }
                } else if side == 0 {
                    self.waiting.push(row);
                } else {
                    self.right.push(row);
                }
            }
        }
        let (due, waiting) =
            std::mem::take(&mut self.waiting).into_iter().partition(|it| it.time < evict);
        self.waiting = waiting;
        let mut due: Vec<Kept> = due;
        due.sort_by_key(|it| it.time);
        out.removed += due.len() as u64;
        due.into_iter().for_each(|it| self.write(it, out));
        out.removed += self.let_go(evict);
    }

    fn state_rows(&self) -> u64 {
        (self.waiting.len() + self.right.iter().filter(|it| it.held).count()) as u64
    }

    fn acts(&self) -> [[bool; 2]; 2] {
        [self.acts, [self.acts == [true; 2]; 2]]
    }

    fn asks(&self) -> bool {
        self.acts == [true; 2]
    }

    fn bounds_begin_anew(&mut self) {
        self.right.retain(|it| it.held);
    }
}
