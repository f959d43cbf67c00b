//! Joins under two delays: M12.
//!
//! Raising both delays may add null rows, because it admits new left ones; so may raising one where
//! both sides are judged by one watermark (semantics M12, 6).
//!
//! Invariant: the candidates do not depend on the delays, and nothing that may still match leaves.

use super::case::{Draw, check, check_needed};
use super::flows::terms::{each_join, flow_terms, settle, waiting_longer};
use super::flows::{self, Shape};
use super::outcome::{Emitted, Outcome};
use super::{Held, Law, No, claim, need};
use plimsoll_engine::output::EmissionKind;
use plimsoll_engine::plan::flow::{JoinKind, Sides};
use plimsoll_engine::time::Span;
use plimsoll_sim::trace::Trace;

fn joins(seed: u64) -> Trace {
    flows::world(seed, &Shape::JOINS)
}

/// What both halves of the law need.
fn gate(trace: &Trace) -> Result<(), No> {
    let terms = flow_terms(trace)?;
    terms.append()?;
    terms.no_fallback()?;
    terms.never_follows()?;
    terms.join().map(|_| ())
}

/// The first that is written here more often than there.
fn more(here: &[Emitted], there: &[Emitted]) -> Option<String> {
    let mut there = there.iter().peekable();
    for it in here {
        while there.next_if(|other| *other < it).is_some() {}
        if there.next_if_eq(&it).is_none() {
            return Some(format!("{it:?}"));
        }
    }
    None
}

/// What a run wrote of this kind, in order.
fn of_kind(outcome: &Outcome, kind: EmissionKind) -> Vec<Emitted> {
    let mut all = outcome.published();
    all.retain(|it| it.note.kind == kind);
    all
}

const PAIRS: [JoinKind; 4] = [JoinKind::Inner, JoinKind::Left, JoinKind::Right, JoinKind::Full];

pub(super) const M12_PAIRS: Law = Law {
    name: "M12 pairs of a join under longer delays",
    world: joins,
    prepare: |trace, draw| {
        settle(trace);
        let kind = draw.pick(&PAIRS);
        each_join(trace, |it| it.kind = kind);
    },
    holds: pairs,
    covered: 88,
    telling: 43,
};

#[test]
fn m12_longer_delays_never_lose_a_pair() {
    check(&M12_PAIRS);
}

fn pairs(trace: &Trace, draw: &mut Draw) -> Held {
    gate(trace)?;
    need(PAIRS.contains(&flow_terms(trace)?.join()?.kind), "a join that writes pairs")?;
    let mut longer = waiting_longer(trace, draw.below(2), Span(draw.pick(&[1, 4, 15])));
    if draw.one_in(2) {
        longer = waiting_longer(&longer, draw.below(2), Span(draw.pick(&[1, 4, 15])));
    }
    let (short, long) = (Outcome::of(trace)?, Outcome::of(&longer)?);
    let beyond = long.drops_beyond(&short);
    claim(beyond.is_none(), || beyond.unwrap_or_default())?;
    let (few, many) = (of_kind(&short, EmissionKind::Row), of_kind(&long, EmissionKind::Row));
    let lost = more(&few, &many);
    claim(lost.is_none(), || format!("not under the longer delay: {}", lost.unwrap_or_default()))?;
    Ok(short.late != long.late)
}

const OUTER: [JoinKind; 3] = [JoinKind::Left, JoinKind::Right, JoinKind::Anti];

pub(super) const M12_NULLS: Law = Law {
    name: "M12 null rows under a longer delay of the other side",
    world: joins,
    prepare: |trace, draw| {
        settle(trace);
        let kind = draw.pick(&OUTER);
        each_join(trace, |it| (it.kind, it.sides) = (kind, Sides::Own));
    },
    holds: nulls,
    covered: 82,
    telling: 47,
};

#[test]
fn m12_a_longer_delay_of_the_other_side_never_adds_a_null_row() {
    check(&M12_NULLS);
}

fn nulls(trace: &Trace, draw: &mut Draw) -> Held {
    gate(trace)?;
    need(flow_terms(trace)?.join()?.sides == Sides::Own, "sides with watermarks of their own")?;
    nulls_say(trace, draw)
}

/// The second half without asking whose watermark judges.
fn nulls_say(trace: &Trace, draw: &mut Draw) -> Held {
    let join = flow_terms(trace)?.join()?;
    need(OUTER.contains(&join.kind), "a join that writes rows of one side without a partner")?;
    let other = if join.kind == JoinKind::Right { 0 } else { 1 };
    let longer = waiting_longer(trace, other, Span(draw.pick(&[1, 4, 15, 40])));
    let (short, long) = (Outcome::of(trace)?, Outcome::of(&longer)?);
    let of = |it| of_kind(it, EmissionKind::Unmatched);
    let added = more(&of(&long), &of(&short));
    claim(added.is_none(), || {
        format!("only under the longer delay: {}", added.unwrap_or_default())
    })?;
    Ok(short.late != long.late)
}

#[test]
fn with_one_watermark_for_both_sides_a_longer_delay_adds_null_rows() {
    let unmeet = |trace: &mut Trace, draw: &mut Draw| {
        settle(trace);
        let kind = draw.pick(&OUTER);
        each_join(trace, |it| (it.kind, it.sides) = (kind, Sides::Combined));
    };
    check_needed(joins, unmeet, nulls_say, 5);
}
