//! Drops rows whose columns were seen before.
//!
//! An entry is made by the first row of its kind, which is let through, and lasts as long as an equal
//! row may still come that is not late (semantics 7). With the time among the columns (D1) that is
//! until a row of that time would be late; within a delay (D2) until the time of the first row plus
//! the delay, or until one instant for all; else for ever. Entries leave at the end of a pass: one whose time is up still drops the
//! rows of that pass (spark-rules 3). A row is judged late before it is compared.
//!
//! Null is a value like others. Where a null time is the epoch, it is never late, and its entry lasts
//! until the end of input; within a delay it counts as time 0.
//!
//! With hindsight, what left is remembered, and a row that is let through although an equal one was,
//! is remarked; where several such are remembered, the remark names the one that left last.
//!
//! Invariant: no row is let through that equals an entry. Source: semantics 7, spark-rules 3.

mod saved;

use crate::late;
use crate::operator::keyed::{Key, Keyed, Place};
use crate::operator::stage::{Judged, Pass, StageOutput, StageVerdict};
use crate::output::{EmissionKind, EmissionNote, RemarkKind};
use crate::plan::OutputMode;
use crate::plan::flow::{DedupExpiry, DedupPlan, NullTime};
use crate::row::{ColumnIx, ItemId, RowBatch};
use crate::time::{EventTime, Span};

/// A dedup as a stage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dedup {
    plan: DedupPlan,
    /// The columns that are compared beside the time of D1.
    others: Vec<ColumnIx>,
    null_time: NullTime,
    hindsight: Span,
    live: Entries,
    /// What left and is remembered.
    left: Entries,
}

/// The rows that were let through: what makes them equal but the time of D1, and their expiry; `MAX`
/// for one that stays. Under D1 rows of one key and of several times are several entries, elsewhere a
/// key has one at most.
type Entries = Keyed<ItemId>;

impl Dedup {
    /// With nothing seen yet.
    pub fn new(plan: &DedupPlan, null_time: NullTime, hindsight: Span) -> Self {
        let with_its_time = plan.expiry == DedupExpiry::WithItsTime;
        let other = |it: &ColumnIx| !with_its_time || Some(*it) != plan.time;
        Self {
            plan: plan.clone(),
            others: plan.columns.iter().copied().filter(other).collect(),
            null_time,
            hindsight,
            live: Entries::default(),
            left: Entries::default(),
        }
    }

    /// With the entries of one from a snapshot; each keeps its expiry.
    pub(crate) fn with_state_of(self, saved: Self) -> Self {
        Self { live: saved.live, left: saved.left, ..self }
    }

    /// How many entries there are.
    pub fn state_rows(&self) -> u64 {
        self.live.len() as u64
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
            for row in rows.rows() {
                self.observe(pass, rows.batch, row, out);
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
        let (key, expiry) = self.entry(rows, row, time);
        let equal = match self.plan.expiry {
            DedupExpiry::WithItsTime => (expiry, expiry),
            DedupExpiry::After(_) | DedupExpiry::At(_) | DedupExpiry::Never => {
                (EventTime::MIN, EventTime::MAX)
            }
        };
        let id = rows.ids[row];
        if 0 < self.left.len() && self.live.between(&key, equal).next().is_none() {
            for (_, first) in self.left.take_between(&key, equal, |_| true) {
                out.remarks.push((id, RemarkKind::DuplicateAfterExpiry { first }));
            }
        }
        let place = Place { key, time: expiry, number: 0 };
        if let Some(first) = self.live.insert_unless(place, equal, id) {
            out.judged.push(judge(StageVerdict::Duplicate(*first)));
            out.tally.duplicates += 1;
            return;
        }
        out.tally.updated += 1;
        out.rows.push_from(rows, row);
        out.notes.push(EmissionNote {
            step: pass.step,
            kind: EmissionKind::Row,
            time: time.unwrap_or(EventTime::MIN),
            pane: 0,
        });
    }

    /// What makes a row equal to others of its expiry, and its expiry.
    fn entry(&self, rows: &RowBatch, row: usize, time: Option<EventTime>) -> (Key, EventTime) {
        let key = |columns: &[ColumnIx]| Key::of(rows, row, columns.iter().copied());
        match (self.plan.expiry, time) {
            (DedupExpiry::WithItsTime, Some(time)) => (key(&self.others), time),
            (DedupExpiry::After(delay), Some(time)) => (key(&self.plan.columns), time + delay),
            (DedupExpiry::After(delay), None) if self.plan.time.is_some() => {
                (key(&self.plan.columns), EventTime(0) + delay)
            }
            (DedupExpiry::At(when), _) => (key(&self.plan.columns), when),
            _ => (key(&self.plan.columns), EventTime::MAX),
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
            DedupExpiry::After(_) | DedupExpiry::At(_) => expiry <= evict,
            DedupExpiry::Never => false,
        };
        let forgotten = |expiry: EventTime| expiry + *hindsight <= evict;
        while let Some((place, first)) = live.pop_oldest_if(gone) {
            out.tally.removed += 1;
            if Span::ZERO < *hindsight && !forgotten(place.time) {
                left.insert(place, first);
            }
        }
        while left.pop_oldest_if(forgotten).is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::drive::{Draw, KEY, Row, TIME, pass, row, words};
    use crate::plan::{LatePolicy, LateRule};

    fn plan(expiry: DedupExpiry, late: LateRule) -> DedupPlan {
        let columns = if expiry == DedupExpiry::WithItsTime { vec![KEY, TIME] } else { vec![KEY] };
        DedupPlan { columns, time: Some(TIME), late, expiry, late_policy: LatePolicy::Drop }
    }

    fn step(dedup: &mut Dedup, rows: &[Row], late: i64, evict: i64) -> StageOutput {
        let at = |it| [EventTime(it); 2];
        pass(4, rows, at(late), at(evict), |pass, out| dedup.step(pass, out))
    }

    fn verdicts(out: &StageOutput) -> Vec<StageVerdict> {
        out.judged.iter().map(|it| it.verdict).collect()
    }

    const SPARK: LateRule = LateRule::EventInclusive;

    #[test]
    fn a_row_equal_to_one_of_the_same_pass_is_a_duplicate_of_the_first() {
        let expiry = DedupExpiry::WithItsTime;
        let mut dedup = Dedup::new(&plan(expiry, SPARK), NullTime::Nowhere, Span::ZERO);
        let rows = [row(0, 0, 5, 1), row(0, 1, 5, 1), row(0, 2, 6, 1), row(0, 3, 5, 1)];
        let out = step(&mut dedup, &rows, 0, 0);
        assert_eq!(words(&out), "0 2");
        assert_eq!(verdicts(&out), [StageVerdict::Duplicate(ItemId(0)); 2]);
        let tally = out.tally;
        assert_eq!((tally.updated, tally.duplicates, tally.rows_dropped), (2, 2, 0));
    }

    #[test]
    fn an_entry_with_its_time_leaves_when_its_time_is_late() {
        for (late, stays, goes) in [(LateRule::Event, 5, 6), (SPARK, 4, 5)] {
            let expiry = DedupExpiry::WithItsTime;
            let mut dedup = Dedup::new(&plan(expiry, late), NullTime::Nowhere, Span::ZERO);
            step(&mut dedup, &[row(0, 0, 5, 1)], 0, stays);
            assert_eq!(dedup.state_rows(), 1, "{late:?}");
            let out = step(&mut dedup, &[], 0, goes);
            assert_eq!((out.tally.removed, dedup.state_rows()), (1, 0), "{late:?}");
            let out = step(&mut dedup, &[row(0, 1, 5, 1)], goes, goes);
            let late = StageVerdict::Late {
                bound: EventTime(goes),
                lost: 1,
                kept: 0,
                one: EventTime(stays),
                all: EventTime(stays),
            };
            assert_eq!((verdicts(&out), out.tally.rows_dropped), (vec![late], 1));
        }
    }

    #[test]
    fn an_entry_whose_delay_is_up_still_drops_the_rows_of_the_pass_that_removes_it() {
        // The recording dedup_within_watermark_expired_same_batch, in seconds from 1000.
        let expiry = DedupExpiry::After(Span(5));
        let mut dedup = Dedup::new(&plan(expiry, SPARK), NullTime::Nowhere, Span(100));
        step(&mut dedup, &[row(0, 0, 0, 1)], -5, -5);
        step(&mut dedup, &[row(0, 1, 35, 2)], -5, -5);
        let out = step(&mut dedup, &[row(0, 2, 40, 1)], -5, 30);
        assert_eq!((words(&out).as_str(), out.tally.removed, dedup.state_rows()), ("", 1, 1));
        let out = step(&mut dedup, &[row(0, 3, 40, 1)], 30, 35);
        assert_eq!(words(&out), "3");
        let again = RemarkKind::DuplicateAfterExpiry { first: ItemId(0) };
        assert_eq!(out.remarks, [(ItemId(3), again)]);
    }

    #[test]
    fn a_key_without_time_stays_until_the_end_and_rows_behind_are_dropped_all_the_same() {
        let mut dedup = Dedup::new(&plan(DedupExpiry::Never, SPARK), NullTime::Nowhere, Span(100));
        step(&mut dedup, &[row(0, 0, 5, 1)], 0, 1_000);
        let out = step(&mut dedup, &[row(0, 1, 1_000, 2), row(0, 2, 1_001, 1)], 1_000, 1_000);
        assert!(matches!(verdicts(&out)[0], StageVerdict::Late { .. }));
        assert_eq!(verdicts(&out)[1], StageVerdict::Duplicate(ItemId(0)));
        let out = step(&mut dedup, &[], i64::MIN, i64::MAX);
        assert_eq!((out.tally.removed, dedup.state_rows()), (1, 0));
    }

    #[test]
    fn a_null_time_is_not_taken_or_stays_or_counts_as_the_epoch() {
        let null = |number| Row { time: None, ..row(0, number, 0, 1) };
        let rows = [null(0), null(1), row(0, 2, 5, 1)];
        let with_its_time = plan(DedupExpiry::WithItsTime, SPARK);
        let mut dedup = Dedup::new(&with_its_time, NullTime::Nowhere, Span::ZERO);
        let out = step(&mut dedup, &rows, 0, 0);
        assert_eq!(words(&out), "2");
        assert_eq!(verdicts(&out), [StageVerdict::NoTime; 2]);

        let mut dedup = Dedup::new(&with_its_time, NullTime::Epoch, Span::ZERO);
        let out = step(&mut dedup, &rows, 0, 50);
        assert_eq!((words(&out).as_str(), out.tally.removed), ("0 2", 1));
        assert_eq!(out.notes[0].time, EventTime::MIN);
        assert_eq!(words(&step(&mut dedup, &rows[1..2], 50, 50)), "", "never late");

        let within = plan(DedupExpiry::After(Span(10)), SPARK);
        let mut dedup = Dedup::new(&within, NullTime::Epoch, Span::ZERO);
        assert_eq!(words(&step(&mut dedup, &rows, 3, 9)), "0");
        assert_eq!(dedup.state_rows(), 1);
        step(&mut dedup, &[], 9, 10);
        assert_eq!(dedup.state_rows(), 0);
    }

    #[test]
    fn without_a_time_nothing_is_late_and_nothing_leaves() {
        let timeless = DedupPlan { time: None, ..plan(DedupExpiry::After(Span(1)), SPARK) };
        let mut dedup = Dedup::new(&timeless, NullTime::Nowhere, Span(9));
        let out = step(&mut dedup, &[row(0, 0, 5, 1), row(0, 1, 6, 1)], 100, 100);
        assert_eq!((words(&out).as_str(), dedup.state_rows()), ("0", 1));
        assert_eq!(out.notes[0].time, EventTime::MIN);
    }

    #[test]
    fn what_left_is_remembered_as_far_as_hindsight_reaches() {
        let within = plan(DedupExpiry::After(Span(10)), LateRule::Event);
        for (evict, remarks) in [(16, 1), (17, 0)] {
            let mut dedup = Dedup::new(&within, NullTime::Nowhere, Span(7));
            step(&mut dedup, &[row(0, 0, 0, 1)], 0, 0);
            step(&mut dedup, &[], 0, evict);
            let out = step(&mut dedup, &[row(0, 1, 20, 1)], 0, evict);
            assert_eq!((words(&out).as_str(), out.remarks.len()), ("1", remarks));
        }
    }

    /// Runs a random trace against a list of all rows that were let through; says how often an equal
    /// row passed too early. `hasty` removes entries that much too early.
    fn run(draw: &mut Draw, expiry: DedupExpiry, hasty: i64) -> (usize, usize) {
        let delay = if let DedupExpiry::After(it) = expiry { it.0 } else { 0 };
        let rule = draw.pick(&[LateRule::Event, SPARK]);
        let hindsight = draw.pick(&[0, 5, 30]);
        let mut dedup = Dedup::new(&plan(expiry, rule), NullTime::Nowhere, Span(hindsight));
        // Row, expiry, whether it was removed.
        let mut passed: Vec<(Row, i64, bool)> = vec![];
        let (mut w, mut evicted, mut too_early, mut duplicates) = (i64::MIN, i64::MIN, 0, 0);
        for round in 0..25 {
            let rows: Vec<_> = (0..draw.within(0, 4))
                .map(|it| {
                    row(
                        0,
                        (round * 4 + it) as u64,
                        2 * round - draw.within(0, 12),
                        draw.within(0, 2),
                    )
                })
                .collect();
            let late = w;
            w = rows
                .iter()
                .filter_map(|it| it.time)
                .map(|it| it - 6)
                .max()
                .map_or(w, |it| w.max(it));
            let out = step(&mut dedup, &rows, late, w + hasty);
            let mut through = words(&out);
            through.push(' ');
            let mut remarks = vec![];
            for it in &rows {
                let time = it.time.expect("a time");
                if time < late || rule == SPARK && time <= late {
                    continue;
                }
                let same = |old: &Row| old.key == it.key && (delay > 0 || old.time == it.time);
                let equal = passed.iter().filter(|old| same(&old.0));
                if equal.clone().any(|old| !old.2) {
                    duplicates += 1;
                    continue;
                }
                let lasts = |old: &&(Row, i64, bool)| evicted < old.1 + hindsight;
                remarks.extend(equal.clone().rfind(lasts).map(|old| (it.number, old.0.number)));
                too_early += usize::from(equal.clone().any(|old| time < old.1 || delay == 0));
                passed.push((*it, time + delay, false));
                let word = format!("{} ", it.number);
                assert!(through.starts_with(&word), "{through} {it:?}");
                through.drain(..word.len());
            }
            assert_eq!(through.trim(), "");
            let found = out.remarks.iter().map(|it| match it {
                (id, RemarkKind::DuplicateAfterExpiry { first }) => (id.0, first.0),
                other => panic!("{other:?}"),
            });
            assert_eq!(found.collect::<Vec<_>>(), remarks);
            evicted = w.saturating_add(hasty);
            for it in &mut passed {
                let inclusive = delay > 0 || rule == SPARK;
                it.2 |= it.1 < evicted || inclusive && it.1 <= evicted;
            }
            let live = passed.iter().filter(|it| !it.2).count() as u64;
            assert_eq!(dedup.state_rows(), live, "no entry stays behind its expiry");
            if draw.once_in(5) {
                let bytes = postcard::to_allocvec(&dedup).expect("plain data");
                dedup = postcard::from_bytes(&bytes).expect("plain data");
            }
        }
        (too_early, duplicates)
    }

    #[test]
    fn no_equal_row_passes_before_its_time_and_a_millisecond_earlier_some_would() {
        for expiry in [DedupExpiry::WithItsTime, DedupExpiry::After(Span(8))] {
            let mut draw = Draw(11);
            let mut sum = |hasty| {
                (0..500)
                    .map(|_| run(&mut draw, expiry, hasty))
                    .fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
            };
            let (too_early, duplicates) = sum(0);
            assert_eq!(too_early, 0, "{expiry:?}");
            assert!(1_000 < duplicates, "{expiry:?} {duplicates}");
            assert!(0 < sum(1).0, "{expiry:?}");
        }
    }
}
