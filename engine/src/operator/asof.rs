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

    /// A restart lost the watermark: it has reached no right row yet.
    pub fn nothing_is_reached(&mut self) {
        let matched = self.right.iter().map(|it| it.0).filter(|it| !it.key.has_null());
        self.unreached = matched.map(|it| ((it.time, it.number), it.key)).collect();
    }

    /// One pass.
    pub fn step(&mut self, pass: &Pass<'_>, out: &mut StageOutput) {
        for (side, rows) in pass.sides.into_iter().enumerate() {
            if let Some(rows) = rows {
                for row in rows.rows() {
                    self.observe(side, rows.batch, row, pass.late[side], out);
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
            if let Some((latest, _)) = latest {
                out.tally.removed += right.remove_before(&key, latest);
            }
        }
        while right.pop_oldest_if(|it| it + plan.tolerance < evict).is_some() {
            out.tally.removed += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::drive::{Draw, KEY, Row, TIME, pass, row, words};
    use crate::plan::LatePolicy;
    use crate::row::ItemId;
    use crate::time::Span;

    fn plan(tolerance: i64, outer: bool) -> AsOfPlan {
        AsOfPlan {
            on: vec![(KEY, KEY)],
            time: [TIME; 2],
            tolerance: Span(tolerance),
            outer,
            late_policy: LatePolicy::Drop,
        }
    }

    fn step(asof: &mut AsOf, rows: &[Row], late: i64, evict: i64) -> StageOutput {
        let at = |it| [EventTime(it); 2];
        pass(8, rows, at(late), at(evict), |pass, out| asof.step(pass, out))
    }

    #[test]
    fn a_left_row_waits_until_no_right_row_at_or_before_it_can_come() {
        let mut asof = AsOf::new(&plan(10, true));
        step(&mut asof, &[row(0, 0, 20, 1), row(1, 1, 15, 1)], 0, 0);
        assert_eq!(words(&step(&mut asof, &[], 0, 20)), "");
        assert_eq!(words(&step(&mut asof, &[row(1, 2, 20, 1)], 20, 20)), "");
        assert_eq!(words(&step(&mut asof, &[row(1, 3, 20, 1)], 20, 21)), "0+3");
        assert_eq!(asof.state_rows(), 1, "the last of the right rows may answer again");
    }

    #[test]
    fn a_partner_is_not_older_than_the_tolerance() {
        for (age, wrote) in [(10, "0+1"), (11, "0+")] {
            let mut asof = AsOf::new(&plan(10, true));
            let rows = [row(0, 0, 20, 1), row(1, 1, 20 - age, 1), row(1, 2, 20, 2)];
            let out = step(&mut asof, &rows, 0, 21);
            assert_eq!(words(&out), wrote);
            assert_eq!((out.rows.ids[0], out.notes[0].time), (ItemId(0), EventTime(20)));
        }
        let mut asof = AsOf::new(&plan(10, false));
        assert_eq!(words(&step(&mut asof, &[row(0, 0, 20, 1)], 0, 21)), "", "not outer");
    }

    #[test]
    fn a_right_row_leaves_when_a_later_one_is_reached_or_when_it_is_too_old() {
        let mut asof = AsOf::new(&plan(10, true));
        let rows = [row(1, 0, 5, 1), row(1, 1, 8, 1), row(1, 2, 6, 2)];
        assert_eq!(step(&mut asof, &rows, 0, 7).tally.removed, 0);
        assert_eq!(step(&mut asof, &[], 7, 8).tally.removed, 1, "8 has taken over from 5");
        assert_eq!(step(&mut asof, &[], 8, 16).tally.removed, 0);
        assert_eq!(step(&mut asof, &[], 16, 17).tally.removed, 1, "6 + 10 < 17");
        assert_eq!(step(&mut asof, &[], 17, i64::MAX).tally.removed, 1);
        assert_eq!((asof.state_rows(), asof.unreached.len()), (0, 0));
    }

    #[test]
    fn an_older_right_row_that_comes_after_a_later_one_was_reached_leaves_at_once() {
        let mut asof = AsOf::new(&plan(100, true));
        step(&mut asof, &[row(1, 0, 8, 1)], 0, 9);
        let out = step(&mut asof, &[row(1, 1, 7, 1), row(0, 2, 7, 1)], 7, 9);
        assert_eq!((words(&out).as_str(), out.tally.removed), ("2+1", 2));
        assert_eq!(asof.state_rows(), 1);
    }

    #[test]
    fn once_the_watermark_is_lost_right_rows_are_reached_again() {
        let mut asof = AsOf::new(&plan(100, true));
        step(&mut asof, &[row(1, 0, 8, 1)], 0, 9);
        asof.nothing_is_reached();
        // 7 was late before; it answers until 8 is reached again.
        assert_eq!(step(&mut asof, &[row(1, 1, 7, 1)], 0, 7).tally.removed, 0);
        let out = step(&mut asof, &[row(0, 2, 7, 1)], 7, 8);
        assert_eq!((words(&out).as_str(), out.tally.removed), ("2+1", 2));
        assert_eq!(asof.state_rows(), 1);
    }

    #[test]
    fn null_keys_find_nobody_and_null_times_are_not_taken() {
        let mut asof = AsOf::new(&plan(10, true));
        let null = |side, number| Row { key: None, ..row(side, number, 5, 0) };
        let timeless = Row { time: None, ..row(0, 4, 0, 1) };
        let rows = [null(0, 0), null(1, 1), null(1, 2), timeless];
        let out = step(&mut asof, &rows, 0, 6);
        assert_eq!(words(&out), "0+");
        assert_eq!(out.judged, [Judged { side: 0, row: 1, verdict: StageVerdict::NoTime }]);
        assert_eq!(asof.state_rows(), 2);
        assert_eq!(step(&mut asof, &[], 6, 16).tally.removed, 2);
    }

    /// Runs a random trace against all admitted rows; says how many answers were wrong or too early.
    fn run(draw: &mut Draw, hasty: i64) -> (usize, usize) {
        let (tolerance, outer) = (draw.within(0, 12), draw.once_in(2));
        let mut asof = AsOf::new(&plan(tolerance, outer));
        let (mut w, mut now, mut number) = (0, [0; 2], 0);
        let mut admitted: Vec<Row> = vec![];
        let mut answers: Vec<String> = vec![];
        for round in 0..30 {
            let mut rows: Vec<_> = (0..draw.within(0, 4))
                .map(|_| {
                    let side = draw.within(0, 1) as usize;
                    now[side] += draw.within(0, 5);
                    number += 1;
                    let time = now[side] - draw.pick(&[0, 0, 2, 7]);
                    row(side, number, time, draw.within(0, 1))
                })
                .collect();
            rows.sort_by_key(|it| it.side);
            let late = w;
            w = w.max(now[0].min(now[1]) - 3);
            let evict = if round == 29 { i64::MAX } else { w + hasty };
            let out = step(&mut asof, &rows, late, evict);
            admitted.extend(rows.iter().filter(|it| late <= it.time.expect("a time")));
            answers.extend(words(&out).split_whitespace().map(str::to_owned));
            let waiting = |it: &&Row| it.side == 0 && evict <= it.time.expect("a time");
            let stays = |it: &&Row| {
                let least = admitted.iter().filter(waiting).filter(|l| l.key == it.key);
                let least = least.filter_map(|it| it.time).min().map_or(evict, |it| it.min(evict));
                let after = |other: &Row| {
                    other.side == 1
                        && other.key == it.key
                        && (it.time, it.number) < (other.time, other.number)
                        && other.time <= Some(least)
                };
                it.side == 1
                    && least <= it.time.expect("a time") + tolerance
                    && !admitted.iter().any(after)
            };
            let count = |it: usize| it as u64;
            let state = count(admitted.iter().filter(waiting).count())
                + count(admitted.iter().filter(stays).count());
            assert_eq!(asof.state_rows(), if round == 29 { 0 } else { state }, "{admitted:?}");
            if draw.once_in(6) {
                let bytes = postcard::to_allocvec(&asof).expect("plain data");
                asof = postcard::from_bytes(&bytes).expect("plain data");
            }
        }
        let mut expected = vec![];
        for left in admitted.iter().filter(|it| it.side == 0) {
            let time = left.time.expect("a time");
            let of_left = |it: &&Row| {
                it.side == 1 && it.key == left.key && {
                    let it = it.time.expect("a time");
                    time - tolerance <= it && it <= time
                }
            };
            let best = admitted.iter().filter(of_left).max_by_key(|it| (it.time, it.number));
            match best {
                Some(right) => expected.push(format!("{}+{}", left.number, right.number)),
                None if outer => expected.push(format!("{}+", left.number)),
                None => {}
            }
        }
        answers.sort_unstable();
        expected.sort_unstable();
        let wrong = expected.iter().filter(|it| answers.binary_search(it).is_err()).count();
        (wrong + answers.len().abs_diff(expected.len()), expected.len())
    }

    #[test]
    fn every_left_row_is_answered_once_with_the_best_of_all_admitted_and_earlier_would_be_wrong() {
        let mut draw = Draw(5);
        let mut sum = |hasty| {
            (0..500).map(|_| run(&mut draw, hasty)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
        };
        let (wrong, answers) = sum(0);
        assert_eq!(wrong, 0);
        assert!(5_000 < answers, "{answers}");
        assert!(20 < sum(1).0);
    }
}
