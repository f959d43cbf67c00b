//! What only renames: M5 (all times shifted), M6 (partitions numbered anew) and M10 (a restart).
//!
//! Invariant: the two runs are the same in everything, once the names are brought back.

use super::case::{Draw, check, plain};
use super::outcome::Outcome;
use super::shape::{any_lag, base, late_rule, terms, watermark};
use super::{Held, Law, No, claim, need};
use plimsoll_engine::plan::LateRule;
use plimsoll_engine::row::{ColumnIx, PartitionId};
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_sim::trace::{Item, Trace};
use std::collections::BTreeSet;

/// Times and spans of M5 stay this far from the ends.
const ROOM: i64 = 1 << 59;

pub(super) fn same(one: &Outcome, two: &Outcome) -> Result<(), No> {
    let difference = one.difference(two);
    claim(difference.is_none(), || difference.unwrap_or_default())
}

pub(super) const M5: Law = Law {
    name: "M5 time translation",
    world: plain,
    prepare: |trace, draw| {
        let output = trace.plan.output;
        base(trace, draw);
        trace.plan.output = output;
        let rules =
            [LateRule::Event, LateRule::EventInclusive, LateRule::WindowEnd, LateRule::Frame];
        late_rule(trace, draw, &rules);
        if draw.below(2) == 0 {
            any_lag(trace, draw);
        }
        let watermark = watermark(&mut trace.plan);
        (watermark.fallback, watermark.guard) = (None, None);
    },
    holds: m5,
    covered: 80,
    telling: 75,
};

#[test]
fn m5_shifting_all_times_by_slides_shifts_all_that_comes_out() {
    check(&M5);
}

fn m5(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = terms(trace)?;
    terms.nothing_in_force_first()?;
    // An idle timeout may be there: it compares processing times.
    terms.no_fallback()?;
    terms.no_guard()?;
    let (spec, column) = (terms.operator.window, terms.watermark.column);
    let reads = |it: &plimsoll_engine::plan::Aggregate| it.column() == Some(column);
    let elsewhere =
        !terms.operator.keys.contains(&column) && !terms.operator.aggregates.iter().any(reads);
    need(elsewhere, "a time that is only a time")?;
    let spans = [spec.size.0, spec.slide.0, spec.offset.0, terms.watermark.delay.0];
    need(spans.iter().all(|it| it.unsigned_abs() < ROOM.unsigned_abs()), "spans that leave room")?;
    let slides = draw.pick(&[1, -1, 7, -1_000, 123_456]);
    let by = spec.slide.0.checked_mul(slides).filter(|it| it.unsigned_abs() < ROOM.unsigned_abs());
    let by = Span(by.ok_or(No::Uncovered("a shift that leaves room"))?);
    let shifted = shift_times(trace, column, by)?;
    let one = Outcome::of(trace)?;
    let tells = !one.writes.is_empty() && one.steps.iter().any(|it| it.evict.is_finite());
    same(&one.shifted(by, &[]), &Outcome::of(&shifted)?)?;
    Ok(tells)
}

/// The trace with all event times of a column, and of heartbeats, moved.
pub(super) fn shift_times(trace: &Trace, column: ColumnIx, by: Span) -> Result<Trace, No> {
    let mut shifted = trace.clone();
    let near = |time: i64| time.unsigned_abs() < ROOM.unsigned_abs();
    let room = |time: i64| near(time) && near(time.saturating_add(by.0));
    let mut fits = true;
    for item in &mut shifted.items {
        match item {
            Item::Row(row) => {
                if let Some(time) = &mut shifted.cells[row.cells as usize + column.0] {
                    fits &= room(*time);
                    *time = EventTime(*time).0.saturating_add(by.0);
                }
            }
            Item::Heartbeat { time, .. } => {
                fits &= time.is_finite() && room(time.0);
                *time = *time + by;
            }
            _ => {}
        }
    }
    need(fits, "times that leave room")?;
    Ok(shifted)
}

pub(super) const M6: Law = Law {
    name: "M6 relabelling partitions",
    world: plain,
    // No plan says anything about a single partition, and ties are never broken by number.
    prepare: |_, _| {},
    holds: m6,
    covered: 96,
    telling: 80,
};

#[test]
fn m6_numbering_partitions_anew_changes_nothing() {
    check(&M6);
}

pub(super) fn m6(trace: &Trace, draw: &mut Draw) -> Held {
    let mut other = trace.clone();
    let named = other.items.iter_mut().filter_map(Item::partition_mut).map(|it| *it);
    let old: Vec<PartitionId> = named.collect::<BTreeSet<_>>().into_iter().collect();
    // Each keeps its input and its task.
    let mut new = Vec::new();
    for group in old.chunk_by(|one, two| one.0 >> 20 == two.0 >> 20) {
        let first = group[0];
        let of = |number| PartitionId::of(first.input() as u32, first.task(), number);
        let mut numbers: Vec<PartitionId> = (0..group.len() as u32 * 2).map(of).collect();
        draw.shuffle(&mut numbers);
        new.extend_from_slice(&numbers[..group.len()]);
    }
    let to = |it: PartitionId| new[old.binary_search(&it).expect("a partition of the trace")];
    for partition in other.items.iter_mut().filter_map(Item::partition_mut) {
        *partition = to(*partition);
    }
    same(&Outcome::of(trace)?.renumbered(to), &Outcome::of(&other)?)?;
    Ok(1 < old.len() && old.iter().any(|it| to(*it) != *it))
}

pub(super) const M10: Law = Law {
    name: "M10 restart",
    world: plain,
    prepare: |_, _| {},
    holds: m10,
    covered: 96,
    telling: 85,
};

#[test]
fn m10_a_restart_at_any_place_changes_nothing() {
    check(&M10);
}

pub(super) fn m10(trace: &Trace, draw: &mut Draw) -> Held {
    need(!trace.items.is_empty(), "an item")?;
    let len = trace.items.len();
    let (one, two) = (draw.below(len + 1), draw.below(len + 1));
    let (kept, lost) = (one.min(two), one.max(two));
    let mut other = trace.clone();
    let stale = draw.below(4) == 0;
    other.items.insert(lost, Item::Crash { stale });
    other.items.insert(kept, Item::Checkpoint);
    // Its own crashes stay: a restart may fall on another.
    let (without, with) = (Outcome::of(trace)?, Outcome::with_hashers(&other, 11)?);
    same(&without, &with)?;
    Ok(kept < lost && !with.steps.is_empty())
}
