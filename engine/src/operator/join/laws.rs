//! Laws of joins over random plans and traces (semantics I15 to I18, I23, I24, I35).
//!
//! Pairs, rows without a partner, state and remarks are recomputed by definition from all rows that
//! the join did not call late.

use super::*;
use crate::operator::drive::{Draw, EXTRA, KEY, Row, TIME, pass, written};
use crate::plan::flow::{Compare, Edge, Expiry, Filter, Range};
use crate::plan::{LatePolicy, LateRule, WindowSpec};

/// Whose watermark judges, and whose removes.
#[derive(Clone, Copy, PartialEq, Debug)]
enum By {
    /// The row's own side judges, the other one removes.
    Side,
    /// The smaller one.
    Min,
    /// The larger one.
    Max,
}

/// When a watermark counts (semantics 2.1).
#[derive(Clone, Copy, PartialEq, Debug)]
enum Lag {
    Row,
    NextBatch,
    BatchAfterNext,
}

#[derive(Clone, Debug)]
struct Case {
    plan: JoinPlan,
    filter: By,
    expiry: By,
    lag: Lag,
    delays: [i64; 2],
    hindsight: i64,
    rows: Vec<Row>,
}

const KINDS: [JoinKind; 6] = [
    JoinKind::Inner,
    JoinKind::Left,
    JoinKind::Right,
    JoinKind::Full,
    JoinKind::Semi,
    JoinKind::Anti,
];

fn edge(draw: &mut Draw) -> Option<Edge> {
    (!draw.once_in(5)).then(|| Edge { at: Span(draw.within(-9, 9)), open: draw.once_in(3) })
}

fn case(draw: &mut Draw) -> Case {
    let ranges = (0..draw.within(0, 5).clamp(1, 2))
        .map(|_| Range { lower: edge(draw), upper: edge(draw) })
        .collect();
    let condition = |draw: &mut Draw| {
        let it = Filter { column: EXTRA, compare: Compare::AtLeast, value: 1 };
        draw.once_in(6).then_some(it)
    };
    let plan = JoinPlan {
        kind: draw.pick(&KINDS),
        on: if draw.once_in(5) { vec![] } else { vec![(KEY, KEY)] },
        time: [TIME; 2],
        ranges,
        window: None,
        only_if: [condition(draw), condition(draw)],
        late: LateRule::Event,
        grace: Span(draw.pick(&[0, 0, 0, 4])),
        expiry: Expiry::EXACT,
        sides: Sides::Own,
        late_policy: LatePolicy::Drop,
    };
    let sides = draw.pick(&[(By::Side, By::Side), (By::Side, By::Min), (By::Min, By::Min)]);
    let mut now = [0; 2];
    let rows = (0..40)
        .map(|number| {
            let side = draw.within(0, 1) as usize;
            now[side] += draw.pick(&[0, 1, 1, 2, 7]);
            let time = now[side] - draw.pick(&[0, 0, 1, 3, 9, 20]);
            let key = (!draw.once_in(15)).then(|| draw.within(0, 1));
            Row { number, side, time: Some(time), key, extra: draw.within(0, 4) }
        })
        .collect();
    Case {
        plan,
        filter: sides.0,
        expiry: sides.1,
        lag: draw.pick(&[Lag::Row, Lag::NextBatch, Lag::BatchAfterNext]),
        delays: [draw.within(0, 9), draw.within(0, 9)],
        hindsight: draw.pick(&[0, 1, 5, 40]),
        rows,
    }
}

fn windowed(draw: &mut Draw) -> Case {
    let mut case = case(draw);
    let size = Span(draw.within(1, 12));
    case.plan.window = Some(WindowSpec { size, slide: size, offset: Span(draw.within(-9, 9)) });
    case.plan.late = draw.pick(&[LateRule::Event, LateRule::EventInclusive, LateRule::WindowEnd]);
    if draw.once_in(2) {
        case.plan.ranges.clear();
    }
    case
}

/// By definition, without the normal form.
fn matches(plan: &JoinPlan, left: &Row, right: &Row) -> bool {
    let (l, r) = (left.time.unwrap(), right.time.unwrap());
    let holds = |it: &Range| {
        it.lower.is_none_or(|e| if e.open { e.at.0 < r - l } else { e.at.0 <= r - l })
            && it.upper.is_none_or(|e| if e.open { r - l < e.at.0 } else { r - l <= e.at.0 })
    };
    let window = |t: i64| plan.window.map(|it| (t - it.offset.0).div_euclid(it.size.0));
    let fits = |it: Option<Filter>, row: &Row| it.is_none_or(|it| it.keeps(Some(row.extra)));
    plan.ranges.iter().all(holds)
        && (plan.on.is_empty() || left.key.is_some() && left.key == right.key)
        && window(l) == window(r)
        && fits(plan.only_if[0], left)
        && fits(plan.only_if[1], right)
}

fn pair_matches(plan: &JoinPlan, one: &Row, other: &Row) -> bool {
    if one.side == 0 { matches(plan, one, other) } else { matches(plan, other, one) }
}

/// The bound of a row; the normal form of ranges is tested elsewhere.
fn bound(plan: &JoinPlan, row: &Row) -> Option<i64> {
    let time = row.time.unwrap();
    let counts = plan.late != LateRule::WindowEnd && plan.expiry.with_grace;
    let grace = if counts { plan.grace.0 } else { 0 };
    let own = |after: i64| if plan.expiry.own_time { after.max(0) } else { after };
    if let Some(it) = plan.window {
        let index = (time - it.offset.0).div_euclid(it.size.0);
        return Some((index + 1) * it.size.0 + it.offset.0 + grace);
    }
    let of = if plan.expiry.loosest { Bounds::loosest } else { Bounds::tightest };
    let Bounds { lower, upper } = of(&plan.ranges);
    let after = if row.side == 0 { upper.map(|it| it.0) } else { lower.map(|it| -it.0) };
    after.map(|it| time + own(it) + grace)
}

fn gone(plan: &JoinPlan, row: &Row, evict: EventTime) -> bool {
    match bound(plan, row) {
        None => evict == EventTime::MAX,
        Some(it) if plan.window.is_some() || plan.expiry.at_bound => it <= evict.0,
        Some(it) => it < evict.0,
    }
}

/// What a run showed.
#[derive(Default)]
struct Seen {
    admitted: Vec<Row>,
    dropped: u64,
    pairs: Vec<(u64, u64)>,
    /// Rows written alone, in which order.
    alone: Vec<u64>,
    remarks: u64,
}

fn by(who: By, w: [EventTime; 2], own: bool) -> [EventTime; 2] {
    match who {
        By::Side if own => w,
        By::Side => [w[1], w[0]],
        By::Min => [w[0].min(w[1]); 2],
        By::Max => [w[0].max(w[1]); 2],
    }
}

/// Runs a case and checks what must hold at every step.
fn run(case: &Case, draw: &mut Draw) -> Seen {
    let plan = &case.plan;
    let mut join = Join::new(plan, NullTime::Nowhere, Span(case.hindsight));
    let columns = if matches!(plan.kind, JoinKind::Semi | JoinKind::Anti) { 4 } else { 8 };
    let mut seen = Seen::default();
    let mut published: Vec<Row> = vec![];
    let mut w = [EventTime::MIN; 2];
    let (mut late_next, mut evicted) = ([EventTime::MIN; 2], [EventTime::MIN; 2]);
    let mut passed = EventTime::MIN;
    let mut rows = &case.rows[..];
    loop {
        let end = rows.is_empty();
        let size = if case.lag == Lag::Row { 1 } else { draw.within(0, 4) as usize };
        let (now, rest) = rows.split_at(size.min(rows.len()));
        rows = rest;
        let before = w;
        for it in now {
            let next = EventTime(it.time.unwrap() - case.delays[it.side]);
            w[it.side] = w[it.side].max(next);
        }
        let effective = if case.lag == Lag::Row { w } else { before };
        let mut evict = by(case.expiry, effective, false);
        let late = match case.lag {
            Lag::Row | Lag::NextBatch => by(case.filter, before, true),
            Lag::BatchAfterNext => late_next,
        };
        late_next = by(case.filter, before, true);
        if end {
            evict = [EventTime::MAX; 2];
        }
        let out = pass(columns, now, late, evict, |pass, out| join.step(pass, out));

        // The judgement, and who is refuted by it.
        let mut expected_remarks = vec![];
        let mut judged = out.judged.iter();
        for (side, bound_of_side) in late.into_iter().enumerate() {
            for (number, it) in now.iter().filter(|it| it.side == side).enumerate() {
                let end = bound(plan, it).filter(|_| plan.window.is_some());
                let time = it.time.unwrap() + plan.grace.0;
                let is_late = match plan.late {
                    LateRule::Event => time < bound_of_side.0,
                    LateRule::EventInclusive => time <= bound_of_side.0,
                    _ => end.unwrap() <= bound_of_side.0,
                };
                if !is_late {
                    seen.admitted.push(*it);
                    continue;
                }
                seen.dropped += 1;
                let judged = judged.next().expect("a late row is judged");
                assert_eq!((judged.side, judged.row), (side, number));
                let mut refuted: Vec<_> =
                    published.iter().filter(|old| pair_matches(plan, it, old)).collect();
                refuted.retain(|old| old.side != side);
                refuted.sort_by_key(|old| old.number);
                expected_remarks.extend(refuted.iter().map(|old| (it.number, old.number)));
            }
        }
        assert_eq!(judged.next(), None, "only late rows are judged");
        let mut remarks: Vec<_> = out
            .remarks
            .iter()
            .map(|it| match it {
                (id, RemarkKind::Refuted { unmatched }) => (id.0, unmatched.0),
                other => panic!("{other:?}"),
            })
            .collect();
        remarks.sort_by_key(|it| (case.rows[it.0 as usize].side, *it));
        expected_remarks.sort_by_key(|it| (case.rows[it.0 as usize].side, *it));
        assert_eq!(remarks, expected_remarks, "{case:?}");
        seen.remarks += remarks.len() as u64;

        // What was written.
        for (numbers, note) in written(&out) {
            // Sound only where nothing is removed by more than what judges.
            let sound = case.expiry != By::Max;
            for it in numbers.iter().flatten() {
                let it = &case.rows[*it as usize];
                let on_time = passed.0 <= it.time.unwrap();
                assert!(!sound || on_time, "{case:?} {it:?} behind {passed:?}");
            }
            assert!(!sound || passed <= note.time, "{case:?} {note:?} behind {passed:?}");
            match numbers {
                [Some(l), Some(r)] => {
                    let time = |it: u64| case.rows[it as usize].time.unwrap();
                    assert_eq!((note.kind, note.time.0), (EmissionKind::Row, time(l).max(time(r))));
                    seen.pairs.push((l, r));
                }
                [Some(it), None] | [None, Some(it)] => {
                    let row = case.rows[it as usize];
                    let unmatched = plan.kind != JoinKind::Semi;
                    assert_eq!(note.kind == EmissionKind::Unmatched, unmatched);
                    let fails = plan.only_if[row.side].is_some_and(|f| !f.keeps(Some(row.extra)));
                    if unmatched && !fails {
                        assert!(gone(plan, &row, evict[row.side]), "{case:?} {row:?} too early");
                        published.push(row);
                    }
                    seen.alone.push(it);
                }
                [None, None] => panic!("a row of nobody"),
            }
        }
        // State: exactly what may still be needed.
        let stays = |it: &&Row| {
            plan.only_if[it.side].is_none_or(|f| f.keeps(Some(it.extra)))
                && !gone(plan, it, evict[it.side])
                && !(plan.kind == JoinKind::Semi && seen.alone.contains(&it.number))
        };
        let expected = seen.admitted.iter().filter(stays).count() as u64;
        assert_eq!(join.state_rows(), expected, "{case:?}");
        published.retain(|it| {
            bound(plan, it).is_some_and(|b| evict[it.side].0 < b.saturating_add(case.hindsight))
                && case.hindsight > 0
                && (plan.on.is_empty() || it.key.is_some())
        });
        // What is let through: of what evicted.
        let of = if case.expiry == By::Side { [evict[1], evict[0]] } else { evict };
        let passes = join.passes(of, [true; 2]);
        assert!(evicted.map(|it| it.0) <= evict.map(|it| it.0) && passed <= passes);
        (passed, evicted) = (passes, evict);
        if end {
            assert_eq!(join.state_rows(), 0);
            assert_eq!(passed, EventTime::MAX);
            return seen;
        }
        if draw.once_in(8) {
            let bytes = postcard::to_allocvec(&join).expect("plain data");
            let copy: Join = postcard::from_bytes(&bytes).expect("plain data");
            assert_eq!(copy, join);
            join = copy;
        }
    }
}

/// Compares a run with all admitted rows; says how many pairs or rows alone are missing.
fn missing(case: &Case, mut seen: Seen) -> usize {
    let plan = &case.plan;
    let of = |side| seen.admitted.iter().filter(move |it: &&Row| it.side == side);
    let mut pairs: Vec<_> = of(0)
        .flat_map(|l| of(1).map(move |r| (l, r)))
        .filter(|(l, r)| matches(plan, l, r))
        .map(|(l, r)| (l.number, r.number))
        .collect();
    let has_partner = |it: &Row| of(1 - it.side).any(|other| pair_matches(plan, it, other));
    let alone = |it: &&Row| match plan.kind {
        JoinKind::Semi => it.side == 0 && has_partner(it),
        kind => owed(kind, it.side) && !has_partner(it),
    };
    let mut expected: Vec<_> = seen.admitted.iter().filter(alone).map(|it| it.number).collect();
    if matches!(plan.kind, JoinKind::Semi | JoinKind::Anti) {
        pairs.clear();
    }
    pairs.sort_unstable();
    seen.pairs.sort_unstable();
    expected.sort_unstable();
    seen.alone.sort_unstable();
    for it in &seen.pairs {
        assert!(pairs.binary_search(it).is_ok(), "{case:?} {it:?} does not match");
    }
    assert!(seen.pairs.is_sorted_by(|a, b| a < b), "{case:?} a pair twice");
    assert!(seen.alone.is_sorted_by(|a, b| a < b), "{case:?} a row twice");
    let lost = pairs.len() - seen.pairs.len();
    if lost == 0 {
        let lost = expected.iter().filter(|it| !seen.alone.contains(it)).count();
        let wrong = seen.alone.iter().filter(|it| !expected.contains(it)).count();
        return lost + wrong;
    }
    lost
}

/// Runs many cases, as `change` makes them: how many are missing, and how much was seen at all.
fn total(
    seed: u64,
    make: fn(&mut Draw) -> Case,
    change: impl Fn(&mut Case, &mut Draw),
) -> (usize, [u64; 4]) {
    let mut draw = Draw(seed);
    let (mut lost, mut sum) = (0, [0; 4]);
    for _ in 0..1_000 {
        let mut case = make(&mut draw);
        change(&mut case, &mut draw);
        let seen = run(&case, &mut draw);
        let counts = [seen.pairs.len() as u64, seen.alone.len() as u64, seen.dropped, seen.remarks];
        sum.iter_mut().zip(counts).for_each(|(sum, it)| *sum += it);
        lost += missing(&case, seen);
    }
    (lost, sum)
}

#[test]
fn admitted_rows_that_match_come_out_once_and_rows_alone_exactly_when_they_are() {
    let (lost, sum) = total(1, case, |_, _| ());
    assert_eq!(lost, 0);
    assert!(
        sum.iter().zip([5_000, 5_000, 5_000, 40]).all(|(it, least)| least < *it),
        "a law about nothing: {sum:?}"
    );
}

#[test]
fn window_joins_lose_nothing_either_and_keep_nothing_too_long() {
    let (lost, sum) = total(2, windowed, |_, _| ());
    assert_eq!(lost, 0);
    assert!(
        sum.iter().zip([5_000, 5_000, 5_000, 40]).all(|(it, least)| least < *it),
        "a law about nothing: {sum:?}"
    );
}

#[test]
fn a_millisecond_earlier_loses_rows() {
    let (lost, _) = total(3, case, |it, _| it.plan.expiry.at_bound = true);
    assert!(5 < lost, "{lost}");
}

#[test]
fn where_equality_is_late_a_millisecond_earlier_is_exact() {
    let inclusive = |it: &mut Case, _: &mut Draw| {
        it.plan.late = LateRule::EventInclusive;
        it.plan.expiry.at_bound = true;
    };
    assert_eq!(total(4, case, inclusive).0, 0);
}

#[test]
fn longer_expiries_lose_nothing() {
    let longer = |it: &mut Case, draw: &mut Draw| {
        it.plan.expiry.own_time = draw.once_in(2);
        it.plan.expiry.loosest = draw.once_in(2);
        if draw.once_in(3) {
            it.plan.late = LateRule::EventInclusive;
        }
    };
    assert_eq!(total(5, case, longer).0, 0);
}

#[test]
fn a_grace_that_expiry_does_not_know_of_loses_rows() {
    let hasty = |it: &mut Case, _: &mut Draw| {
        it.plan.grace = Span(4);
        it.plan.expiry.with_grace = false;
    };
    let (lost, _) = total(6, case, hasty);
    assert!(50 < lost, "{lost}");
}

#[test]
fn removal_by_more_than_what_judges_loses_rows() {
    let max = |it: &mut Case, _: &mut Draw| (it.filter, it.expiry) = (By::Side, By::Max);
    let (lost, _) = total(7, case, max);
    assert!(50 < lost, "{lost}");
}
