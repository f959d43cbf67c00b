//! What the order of rows does: M9 (dropped rows leave no trace) and M16 (repairing the order).
//!
//! Invariant: rows are taken out or exchanged, never changed.

use super::case::{Draw, check, plain};
use super::outcome::{Outcome, first, row_name};
use super::shape::{
    any_lag, base, global, late_rule, row_by_row, terms, without_changes, without_clock,
    without_heartbeats,
};
use super::{Held, Law, claim, need};
use plimsoll_engine::plan::{Effective, GeneratorPlan, LateRule, Trigger};
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_sim::trace::{Item, RowItem, Trace};
use std::collections::BTreeMap;

const RULES: [LateRule; 4] =
    [LateRule::Event, LateRule::EventInclusive, LateRule::WindowEnd, LateRule::Frame];

pub(super) const M9: Law = Law {
    name: "M9 deleting the dropped rows",
    world: plain,
    prepare: |trace, draw| {
        base(trace, draw);
        without_clock(trace);
        without_changes(trace);
        late_rule(trace, draw, &RULES);
        any_lag(trace, draw);
        if draw.below(2) == 0 {
            global(trace);
        }
    },
    holds: m9,
    covered: 85,
    telling: 50,
};

#[test]
fn m9_taking_the_dropped_rows_out_of_the_input_changes_nothing() {
    check(&M9);
}

/// Whether each of these rows found its partition at or beyond its own time. A partition that such
/// a row brings along, or moves, is part of the minimum: taking the row out is then no deletion of
/// a row only. Under one maximum for all, a dropped row is never the one that moves it.
pub(super) fn moves_nobody(trace: &Trace, dropped: &[u32]) -> bool {
    let mut furthest = BTreeMap::new();
    trace.items.iter().all(|item| {
        let (partition, time, gone) = match item {
            Item::Row(row) => {
                let time = trace.time(*row).filter(|it| it.is_legal());
                (row.partition, time, dropped.contains(&row.cells))
            }
            Item::Heartbeat { partition, time } => {
                (*partition, Some(*time).filter(|it| it.is_legal()), false)
            }
            _ => return true,
        };
        let time = time.unwrap_or(EventTime::MIN);
        let before = furthest.entry(partition).or_insert(EventTime::MIN);
        let moves = *before < time;
        *before = (*before).max(time);
        !(gone && moves)
    })
}

fn m9(trace: &Trace, _: &mut Draw) -> Held {
    let terms = terms(trace)?;
    terms.append()?;
    terms.nothing_in_force_first()?;
    terms.no_fallback()?;
    terms.no_idleness()?;
    terms.no_changes()?;
    need(Span::ZERO <= terms.watermark.delay, "a delay that is not negative")?;
    // Batches are kept. Where every row is a step, the step goes with the row, and only a watermark
    // that counts from row to row does not notice.
    let kept = trace.plan.trigger != Trigger::Row || terms.watermark.effective == Effective::Row;
    need(kept, "batches that are kept")?;
    let whole = Outcome::of(trace)?;
    let dropped = whole.dropped();
    if terms.watermark.generator != GeneratorPlan::GlobalMax {
        need(moves_nobody(trace, &dropped), "dropped rows that move no minimum")?;
    }
    let mut fewer = trace.clone();
    fewer.items.retain(|it| row_name(*it).is_none_or(|it| !dropped.contains(&it)));
    let without = Outcome::of(&fewer)?;
    let mut expected = whole.late.clone();
    expected.retain(|name, _| !dropped.contains(name));
    let verdicts = |late: &BTreeMap<_, plimsoll_engine::late::LateRow>| -> Vec<(u32, u32)> {
        late.iter().map(|(name, it)| (*name, it.windows_lost)).collect()
    };
    let late = first(&verdicts(&expected), &verdicts(&without.late), "late row");
    claim(late.is_none(), || late.unwrap_or_default())?;
    // Figures in the order in which they were written, whatever the numbers of the steps.
    let figures = |it: &Outcome| -> Vec<_> {
        it.writes.iter().map(|it| (it.window, it.key.clone(), it.values.clone())).collect()
    };
    let figure = first(&figures(&whole), &figures(&without), "figure");
    claim(figure.is_none(), || figure.unwrap_or_default())?;
    Ok(!dropped.is_empty())
}

pub(super) const M16: Law = Law {
    name: "M16 order repair",
    world: plain,
    prepare: |trace, draw| {
        base(trace, draw);
        without_clock(trace);
        global(trace);
        without_changes(trace);
        without_heartbeats(trace);
        late_rule(trace, draw, &[LateRule::Event]);
        row_by_row(trace, draw);
    },
    holds: m16,
    covered: 90,
    telling: 75,
};

#[test]
fn m16_exchanging_two_neighbours_that_are_out_of_order_never_drops_more_and_sorted_rows_drop_nothing()
 {
    check(&M16);
}

/// Places of rows that are followed at once by an earlier row.
fn inversions(trace: &Trace) -> Vec<usize> {
    let time = |at: usize| match trace.items.get(at) {
        Some(Item::Row(row)) => trace.time(*row).filter(|it| it.is_legal()),
        _ => None,
    };
    let falls = |at: &usize| time(*at).zip(time(*at + 1)).is_some_and(|(one, two)| two < one);
    (0..trace.items.len()).filter(falls).collect()
}

/// The rows with a legal time in order of time, at the places of those rows.
fn sorted(trace: &Trace) -> Trace {
    let timed = |item: &Item| match item {
        Item::Row(row) => trace.time(*row).filter(|it| it.is_legal()).map(|it| (it, *row)),
        _ => None,
    };
    let mut rows: Vec<(EventTime, RowItem)> = trace.items.iter().filter_map(timed).collect();
    rows.sort_by_key(|it| it.0);
    let mut rows = rows.into_iter();
    let mut other = trace.clone();
    for item in other.items.iter_mut().filter(|it| timed(it).is_some()) {
        let (_, row) = rows.next().expect("as many rows as places");
        *item = Item::Row(row);
    }
    other
}

fn m16(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = terms(trace)?;
    terms.append()?;
    terms.nothing_in_force_first()?;
    terms.no_fallback()?;
    terms.no_guard()?;
    terms.global()?;
    terms.no_changes()?;
    terms.no_heartbeats()?;
    terms.late_rule(&[LateRule::Event])?;
    terms.effective(&[Effective::Row])?;
    repaired(trace, draw)
}

/// M16 without asking what judges rows.
pub(super) fn repaired(trace: &Trace, draw: &mut Draw) -> Held {
    let first = Outcome::of(trace)?;
    let (mut current, mut before) = (trace.clone(), first.clone());
    for _ in 0..4 {
        let inversions = inversions(&current);
        if inversions.is_empty() {
            break;
        }
        let at = draw.pick(&inversions);
        current.items.swap(at, at + 1);
        let after = Outcome::of(&current)?;
        let beyond = after.drops_beyond(&before);
        claim(beyond.is_none(), || {
            format!("items {at} and {} exchanged: {}", at + 1, beyond.unwrap_or_default())
        })?;
        before = after;
    }
    let in_order = Outcome::of(&sorted(trace))?;
    claim(in_order.late.is_empty(), || format!("sorted rows drop {:?}", in_order.late))?;
    Ok(!first.late.is_empty())
}
