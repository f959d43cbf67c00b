//! Sessions of many small random traces against their plain definition.
//!
//! The definition sorts the rows of a key and begins a new session wherever a row starts at or after
//! the largest end so far; it knows no watermark.
//!
//! Invariant: the traces are the same on every run.

use super::*;

/// Numbers in a fixed order (an xorshift).
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as i64 % n
    }
}

/// (key, start, end, sum), sorted.
type Figure = (i64, i64, i64, i64);

/// The sessions of rows (key, start, end, value).
fn batch(rows: &[Figure]) -> Vec<Figure> {
    let mut rows = rows.to_vec();
    rows.sort_unstable();
    let mut all: Vec<Figure> = Vec::new();
    for (key, start, end, value) in rows {
        match all.last_mut() {
            Some(last) if last.0 == key && start < last.2 => {
                last.2 = last.2.max(end);
                last.3 += value;
            }
            _ => all.push((key, start, end, value)),
        }
    }
    all
}

/// What a trace made: the admitted rows and the written sessions, and how many splits were remarked.
struct Ran {
    admitted: Vec<Figure>,
    written: Vec<Figure>,
    splits: usize,
}

/// A trace in passes of up to `most` rows, judged and evicted by max - delay of the pass before.
fn trace(draw: &mut Draw, late: SessionLate, most: i64) -> Ran {
    let plan = SessionPlan { gap: Gap::Column(VALUE), ..plan(late) };
    let mut it = Sessions::new(&plan, Span(1_000));
    let mut ran = Ran { admitted: Vec::new(), written: Vec::new(), splits: 0 };
    let (delay, mut max, mut w, mut now) = (draw.below(15), 0, NEVER, 0);
    let mut close = |it: &mut Sessions, of: &[(u64, i64, i64, i64)], late, evict| {
        let made = run(it, of, late, evict, Append);
        for (row, (_, time, key, gap)) in of.iter().enumerate() {
            if !made.judged().iter().any(|it| it.row == row) {
                ran.admitted.push((*key, *time, time + gap, *gap));
            }
        }
        let cell = |it: Option<i64>| it.unwrap_or_default();
        ran.written.extend(
            made.rows.iter().map(|it| (cell(it.3[3]), cell(it.3[0]), cell(it.3[1]), cell(it.3[4]))),
        );
        ran.splits += made.remarks().len();
        assert_eq!(it.names().count() as u64, it.state_rows());
    };
    for _ in 0..draw.below(8) {
        let rows: Vec<_> = (0..draw.below(most + 1))
            .map(|id| {
                now += draw.below(6);
                (id as u64, now - draw.below(30), draw.below(2), 1 + draw.below(9))
            })
            .collect();
        close(&mut it, &rows, w, w);
        max = rows.iter().map(|it| it.1).fold(max, i64::max);
        w = w.max(max - delay);
    }
    close(&mut it, &[], NEVER, END);
    assert_eq!(it.state_rows(), 0);
    ran.written.sort_unstable();
    ran
}

#[test]
fn under_the_event_rule_sessions_are_the_batch_sessions_of_the_admitted_rows() {
    let mut draw = Draw(0x5E55);
    for case in 0..2_000 {
        let ran = trace(&mut draw, SessionLate::Event, 1 + case % 5);
        assert_eq!(ran.written, batch(&ran.admitted), "trace {case}");
        assert_eq!(ran.splits, 0, "trace {case}: none overlaps a published one");
    }
}

#[test]
fn under_the_other_rules_they_differ_only_where_a_split_is_remarked() {
    for late in [SessionLate::Proto, SessionLate::Merged] {
        let (mut draw, mut splits) = (Draw(0x5E56), 0);
        for case in 0..1_000 {
            let ran = trace(&mut draw, late, 1 + case % 5);
            let rows = |of: &[Figure]| of.iter().map(|it| it.3).sum::<i64>();
            assert_eq!(rows(&ran.written), rows(&ran.admitted), "trace {case}: no row is lost");
            let differs = ran.written != batch(&ran.admitted);
            assert_eq!(differs, 0 < ran.splits, "{late:?}, trace {case}");
            splits += ran.splits;
        }
        assert!(0 < splits, "{late:?}: such traces exist");
    }
}
