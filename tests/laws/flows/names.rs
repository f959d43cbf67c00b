//! What only renames in a flow, and what should not be noticed: M5 (all times shifted), M6 (partitions
//! numbered anew), M10 (a restart) and M25 (a checkpoint).
//!
//! Invariant: the two runs are the same in everything, once the names are brought back.

use super::super::case::{Draw, check, check_needed, plain};
use super::super::names::{m6, m10, same, shift_times};
use super::super::outcome::Outcome;
use super::super::shape::watermark;
use super::super::{Held, Law, need};
use super::terms::{flow_terms, settle};
use super::{Shape, TIME, any, leveled, world};
use plimsoll_engine::plan::flow::{CountPlan, GlobalPlan, StagePlan};
use plimsoll_engine::plan::{Aggregate, GeneratorPlan};
use plimsoll_engine::row::PartitionId;
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_sim::scenario::flow_world;
use plimsoll_sim::trace::{Item, Trace};

pub(in crate::laws) const M5: Law = Law {
    name: "M5 time translation of a flow",
    world: any,
    prepare: |trace, _| {
        let (output, follow_up) =
            (trace.plan.output, trace.plan.flow.as_ref().map(|it| it.follow_up));
        settle(trace);
        trace.plan.output = output;
        let flow = super::terms::flow(trace);
        flow.follow_up = follow_up.unwrap_or(flow.follow_up);
        flow.null_time = plimsoll_engine::plan::flow::NullTime::Nowhere;
        let rows: Vec<usize> = trace
            .items
            .iter()
            .filter_map(|it| if let Item::Row(row) = it { Some(row.cells as usize) } else { None })
            .collect();
        for at in rows {
            let time = &mut trace.cells[at + TIME.0];
            *time = time.filter(|it| EventTime(*it).is_legal());
        }
    },
    holds: m5,
    covered: 88,
    telling: 76,
};

#[test]
fn m5_shifting_all_times_shifts_all_that_comes_out_of_a_flow() {
    check(&M5);
}

/// The grid on which a stage stands; 1 where it stands on none.
fn slide(stage: &StagePlan) -> i64 {
    match stage {
        StagePlan::Window(it) => it.window.slide.0,
        StagePlan::Join(it) => it.window.map_or(1, |it| it.slide.0),
        _ => 1,
    }
}

/// The first stage looks at no time as at a number.
fn takes_time_for_time(stage: &StagePlan) -> bool {
    let reads = |all: &[Aggregate]| all.iter().any(|it| it.column() == Some(TIME));
    match stage {
        StagePlan::Filter(it) => it.column != TIME,
        StagePlan::Window(it) => !reads(&it.aggregates) && !it.keys.contains(&TIME),
        StagePlan::Session(it) => !reads(&it.aggregates) && !it.keys.contains(&TIME),
        // Grouped by the time, which so comes out as a time.
        StagePlan::Global(GlobalPlan { aggregates, .. })
        | StagePlan::Count(CountPlan { aggregates, .. }) => !reads(aggregates),
        StagePlan::Join(it) => it.only_if.iter().flatten().all(|it| it.column != TIME),
        _ => true,
    }
}

fn m5(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = flow_terms(trace)?;
    terms.nothing_in_force_first()?;
    terms.no_fallback()?;
    terms.no_guard()?;
    terms.null_is_nowhere()?;
    let sources = terms.flow.inputs.iter().flat_map(|it| &it.before);
    let at_source = sources.into_iter().all(|it| it.column != TIME);
    let stages = terms.flow.stages.iter().take(2);
    need(at_source && stages.into_iter().all(takes_time_for_time), "a time that is only a time")?;
    // Far less than 2^59: any number of slides of at most 2^20 ms.
    let grid: i64 = terms.flow.stages.iter().map(slide).product();
    need(grid < 1 << 20, "slides that leave room")?;
    shifted(trace, grid, draw)
}

/// M5 without asking on which grid the stages stand: by some multiple of this.
fn shifted(trace: &Trace, grid: i64, draw: &mut Draw) -> Held {
    let by = Span(grid * draw.pick(&[1, -1, 7, -1_000, 123_456]));
    let columns = flow_terms(trace)?.times_out();
    let shifted = shift_times(trace, TIME, by)?;
    let one = Outcome::of(trace)?;
    let tells = !one.emitted.is_empty() && one.steps.iter().any(|it| it.evict.is_finite());
    same(&one.shifted(by, &columns), &Outcome::of(&shifted)?)?;
    Ok(tells)
}

#[test]
fn windows_stay_on_their_grid_when_times_move_by_less_than_a_slide() {
    let says = |trace: &Trace, draw: &mut Draw| shifted(trace, 1, draw);
    check_needed(|seed| world(seed, &[Shape::Window]), M5.prepare, says, 40);
}

#[test]
fn two_partitions_under_one_number_are_another_input() {
    let unmeet = |trace: &mut Trace, _: &mut Draw| {
        settle(trace);
        watermark(&mut trace.plan).generator = GeneratorPlan::PartitionMin { idle: None };
    };
    let says = |trace: &Trace, _: &mut Draw| {
        let mut other = trace.clone();
        for partition in other.items.iter_mut().filter_map(Item::partition_mut) {
            *partition = PartitionId::of(partition.input() as u32, 0, 0);
        }
        same(&Outcome::of(trace)?, &Outcome::of(&other)?).map(|()| true)
    };
    check_needed(any, unmeet, says, 10);
}

/// Flows of every kind: drawn ones, some with levels, and those of the embedded scenarios.
fn all_kinds(seed: u64) -> Trace {
    match seed % 4 {
        0 => leveled(seed),
        1 => flow_world(seed).trace,
        _ => any(seed),
    }
}

pub(in crate::laws) const M6: Law = Law {
    name: "M6 relabelling partitions of a flow",
    world: all_kinds,
    prepare: |_, _| {},
    holds: m6,
    covered: 88,
    telling: 64,
};

#[test]
fn m6_numbering_the_partitions_of_a_flow_anew_changes_nothing() {
    check(&M6);
}

pub(in crate::laws) const M10: Law = Law {
    name: "M10 restart of a flow",
    world: all_kinds,
    prepare: |_, _| {},
    holds: m10,
    covered: 88,
    telling: 76,
};

#[test]
fn m10_a_restart_of_a_flow_at_any_place_changes_nothing() {
    check(&M10);
}

pub(in crate::laws) const M25: Law = Law {
    name: "M25 checkpoints that nobody needs",
    world: |seed| if seed % 5 == 4 { plain(seed) } else { all_kinds(seed) },
    prepare: |_, _| {},
    holds: m25,
    covered: 88,
    telling: 76,
};

#[test]
fn m25_a_checkpoint_changes_nothing() {
    check(&M25);
}

fn m25(trace: &Trace, draw: &mut Draw) -> Held {
    let mut other = trace.clone();
    for _ in 0..1 + draw.below(6) {
        other.items.insert(draw.below(trace.items.len() + 1), Item::Checkpoint);
    }
    let (without, with) = (Outcome::of(trace)?, Outcome::of(&other)?);
    same(&without, &with)?;
    Ok(!with.steps.is_empty())
}
