//! Duplicates put in: M20.
//!
//! A copy is the same row again, from the same partition, anywhere later. Under D1 it is a duplicate
//! or late, wherever it stands; within a delay (D2) it is one while the entry of the first is kept.
//!
//! Invariant: a copy shows a time that its partition has shown before.

use super::case::{Draw, check, check_needed};
use super::flows::terms::{flow_terms, settle};
use super::flows::{self, Shape};
use super::outcome::{Outcome, first};
use super::shape::{without_changes, without_clock};
use super::{Held, Law, No, claim, need};
use plimsoll_engine::output::Fate;
use plimsoll_engine::plan::flow::{DedupExpiry, DedupPlan, StagePlan};
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_sim::trace::{Item, RowItem, Trace};

const SHAPES: [Shape; 3] = [Shape::DedupByTime, Shape::DedupOther, Shape::Cleaned];

fn prepare(trace: &mut Trace) {
    settle(trace);
    without_clock(trace);
    without_changes(trace);
}

pub(super) const M20: Law = Law {
    name: "M20 duplicate injection",
    world: |seed| flows::world(seed, &SHAPES),
    prepare: |trace, _| prepare(trace),
    holds: m20,
    covered: 60,
    telling: 47,
};

#[test]
fn m20_a_copy_of_a_row_is_never_written_while_its_entry_is_kept() {
    check(&M20);
}

/// The dedup that stands first, behind stages without state.
fn dedup(trace: &Trace) -> Result<&DedupPlan, No> {
    match flow_terms(trace)?.first()? {
        StagePlan::Dedup(it) => Ok(it),
        _ => Err(No::Uncovered("a dedup")),
    }
}

/// Rows, each with a place behind it; the last places first.
fn places(trace: &Trace, draw: &mut Draw) -> Result<Vec<(RowItem, usize)>, No> {
    let rows: Vec<usize> =
        (0..trace.items.len()).filter(|it| matches!(trace.items[*it], Item::Row(_))).collect();
    need(!rows.is_empty(), "a row")?;
    let mut places = Vec::new();
    for _ in 0..4 {
        let at = draw.pick(&rows);
        let Item::Row(row) = trace.items[at] else { unreachable!("only rows were picked") };
        // Before the end: behind it nothing is taken.
        let behind = trace.items.len() - 1 - at;
        places.push((row, at + 1 + draw.below(behind.min(12))));
    }
    places.sort_by_key(|it| std::cmp::Reverse(it.1));
    Ok(places)
}

/// An upper bound on what was in force before an item: the furthest time of all, less the shortest
/// delay.
fn in_force_before(trace: &Trace, item: usize) -> EventTime {
    let times = trace.items[..item].iter().filter_map(|it| match it {
        Item::Row(row) => trace.time(*row),
        Item::Heartbeat { time, .. } => Some(*time),
        _ => None,
    });
    let furthest = times.filter(|it| it.is_legal()).max().unwrap_or(EventTime::MIN);
    let marks = trace.plan.flow.iter().flat_map(|it| &it.inputs).flat_map(|it| &it.marks);
    furthest - marks.map(|it| it.delay).min().unwrap_or(Span::ZERO)
}

fn m20(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = flow_terms(trace)?;
    terms.append()?;
    terms.nothing_in_force_first()?;
    terms.no_fallback()?;
    terms.no_idleness()?;
    terms.no_guard()?;
    terms.no_changes()?;
    terms.never_follows()?;
    terms.steps_are_kept()?;
    let expiry = dedup(trace)?.expiry;
    let without = Outcome::of(trace)?;
    let kept = |(row, at): &(RowItem, usize)| {
        let DedupExpiry::After(delay) = expiry else { return true };
        let first = match without.other.get(&row.cells) {
            Some(Fate::Duplicate { of }) => of.0 as u32,
            _ => row.cells,
        };
        let first = trace.time(RowItem { cells: first, ..*row }).unwrap_or(EventTime(0));
        in_force_before(trace, *at) < first + delay
    };
    let mut places = places(trace, draw)?;
    places.retain(kept);
    need(!places.is_empty(), "w < t_first + d")?;
    says(trace, &without, &places)
}

fn says(trace: &Trace, without: &Outcome, places: &[(RowItem, usize)]) -> Held {
    let mut more = trace.clone();
    for (row, at) in places {
        more.push_row(row.partition, trace.cells(*row));
        let copy = more.items.pop().expect("the copy");
        more.items.insert(*at, copy);
    }
    let with = Outcome::of(&more)?;
    let emitted = first(&without.published(), &with.published(), "emission");
    claim(emitted.is_none(), || emitted.unwrap_or_default())?;
    let added: Vec<u32> = with
        .late
        .keys()
        .chain(with.other.keys())
        .copied()
        .filter(|it| !without.rows.contains(it))
        .collect();
    let (mut late, mut other) = (with.lost(), with.other.clone());
    added.iter().for_each(|it| {
        late.remove(it);
        other.remove(it);
    });
    claim(late == without.lost(), || format!("{late:?}\n{:?}", without.lost()))?;
    claim(other == without.other, || format!("{other:?}\n{:?}", without.other))?;
    let w = |it: &Outcome| it.steps.last().map(|it| it.watermark);
    claim(w(&with) == w(without), || format!("{:?} {:?}", w(&with), w(without)))?;
    let duplicate = |it: &u32| matches!(with.other.get(it), Some(Fate::Duplicate { .. }));
    Ok(added.iter().any(duplicate))
}

#[test]
fn within_a_delay_a_copy_is_written_once_the_entry_has_expired() {
    let says = |trace: &Trace, draw: &mut Draw| {
        dedup(trace)?;
        let places = places(trace, draw)?;
        says(trace, &Outcome::of(trace)?, &places)
    };
    let unmeet = |trace: &mut Trace, draw: &mut Draw| {
        prepare(trace);
        let short = Span(1 + draw.below(3) as i64);
        for stage in &mut flows::terms::flow(trace).stages {
            if let StagePlan::Dedup(it) = stage {
                it.expiry = DedupExpiry::After(short);
                it.time = Some(flows::TIME);
            }
        }
    };
    check_needed(|seed| flows::world(seed, &[Shape::DedupOther]), unmeet, says, 2);
}
