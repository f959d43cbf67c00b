//! Batches of flows: M3, M4 and M7.
//!
//! Sessions and dedup within a delay look at what has left and what has not, so that more is asked of
//! them than of windows: a batch without rows lets state leave sooner.
//!
//! Invariant: the rows and their partitions are the same in both runs.

use super::super::batches::finer_and_coarser;
use super::super::case::{Draw, check, check_needed};
use super::super::outcome::{Name, Outcome, first};
use super::super::shape::{batched, watermark, without_clock};
use super::super::{Held, Law, No, claim, need};
use super::terms::{FlowTerms, each_session, each_window, flow, flow_terms, settle};
use super::{GAP, KEY, Shape, TIME, VALUE, any, world};
use plimsoll_engine::output::Fate;
use plimsoll_engine::plan::flow::{DedupExpiry, PanePlan, SessionLate, StagePlan, Touching};
use plimsoll_engine::plan::{Effective, Trigger};
use plimsoll_engine::time::Span;
use plimsoll_sim::trace::{Item, Trace};
use std::collections::BTreeMap;

const LAGS: [Effective; 2] = [Effective::NextBatch, Effective::BatchAfterNext];

fn prepare(trace: &mut Trace, draw: &mut Draw) {
    settle(trace);
    without_clock(trace);
    batched(trace, draw, &LAGS);
}

/// What M3 and M4 need.
fn gate(trace: &Trace) -> Result<FlowTerms<'_>, No> {
    let terms = flow_terms(trace)?;
    terms.append()?;
    terms.nothing_in_force_first()?;
    terms.no_fallback()?;
    terms.no_idleness()?;
    terms.effective(&LAGS)?;
    terms.trigger(|it| it == Trigger::Batch)?;
    terms.never_follows()?;
    Ok(terms)
}

pub(in crate::laws) const M3: Law = Law {
    name: "M3 batch splitting of a flow",
    world: any,
    prepare,
    holds: m3,
    covered: 85,
    telling: 48,
};

#[test]
fn m3_splitting_a_batch_of_a_flow_never_admits_more_and_one_single_batch_drops_nothing() {
    check(&M3);
}

fn m3(trace: &Trace, draw: &mut Draw) -> Held {
    gate(trace)?;
    // Of a flow only lateness: who is a duplicate may change with who is late.
    finer_and_coarser(trace, draw, |finer, coarser| coarser.drops_beyond(finer))
}

#[test]
fn where_batches_end_decides_who_is_late() {
    // Splitting never admits more; that it changes nothing is false.
    let says = |trace: &Trace, draw: &mut Draw| {
        let mut split = trace.clone();
        split.items.insert(draw.below(trace.items.len()), Item::Batch);
        let (one, two) = (Outcome::of(trace)?, Outcome::of(&split)?);
        claim(one.lost() == two.lost(), || "other rows are late".to_owned())?;
        Ok(true)
    };
    check_needed(any, prepare, says, 10);
}

pub(in crate::laws) const M4: Law = Law {
    name: "M4 empty batch of a flow",
    world: any,
    prepare: |trace, draw| {
        prepare(trace, draw);
        each_window(trace, |it| it.lateness = Span::ZERO);
        each_session(trace, |it| {
            (it.late, it.lateness) = (SessionLate::Event, Span::ZERO);
            it.touching = Touching::Apart;
        });
    },
    holds: m4,
    covered: 84,
    telling: 43,
};

#[test]
fn m4_an_empty_batch_changes_nothing_that_a_flow_writes_with_lag_one_and_admits_no_more_with_lag_two()
 {
    check(&M4);
}

/// Whether it makes no difference to a stage if state leaves before rows that are not late come, and
/// not after them.
fn leaves_alone(stage: &StagePlan) -> bool {
    match stage {
        StagePlan::Window(it) => it.lateness == Span::ZERO,
        // Under the other rules, and where touching is enough, such a row may meet what has ended.
        StagePlan::Session(it) => {
            it.lateness == Span::ZERO
                && it.late == SessionLate::Event
                && it.touching == Touching::Apart
        }
        // Within a delay an entry drops the rows of the pass in which it leaves.
        StagePlan::Dedup(it) => !matches!(it.expiry, DedupExpiry::After(_)),
        _ => true,
    }
}

fn m4(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = gate(trace)?;
    terms.chained()?;
    let one = terms.watermark.effective == Effective::NextBatch;
    if one {
        terms.all(leaves_alone, "stages that do not notice when state leaves")?;
    }
    m4_says(trace, draw)
}

/// M4 without asking what the stages are.
fn m4_says(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = flow_terms(trace)?;
    let items = trace.items.iter().enumerate();
    let batches: Vec<usize> = items.filter(|it| *it.1 == Item::Batch).map(|it| it.0).collect();
    need(!batches.is_empty(), "a batch to put an empty one behind")?;
    let mut more = trace.clone();
    let mut places = [0; 3].map(|_| draw.pick(&batches) + 1);
    places.sort_unstable();
    for at in places.into_iter().rev() {
        more.items.insert(at, Item::Batch);
    }
    let (without, with) = (Outcome::of(trace)?, Outcome::of(&more)?);
    let beyond = without.drops_beyond(&with);
    claim(beyond.is_none(), || beyond.unwrap_or_default())?;
    if terms.watermark.effective == Effective::NextBatch {
        let (one, two) = (without.lost(), with.lost());
        claim(one == two, || format!("lost windows {one:?}, with empty batches {two:?}"))?;
        let emitted = first(&without.published(), &with.published(), "emission");
        claim(emitted.is_none(), || emitted.unwrap_or_default())?;
    }
    Ok(!without.late.is_empty())
}

#[test]
fn an_empty_batch_tears_sessions_that_late_rows_may_join() {
    let unmeet = |trace: &mut Trace, draw: &mut Draw| {
        prepare(trace, draw);
        watermark(&mut trace.plan).effective = Effective::NextBatch;
        each_session(trace, |it| it.late = SessionLate::Proto);
    };
    check_needed(|seed| world(seed, &[Shape::Session]), unmeet, m4_says, 2);
}

pub(in crate::laws) const M7: Law = Law {
    name: "M7 permutation inside one batch of a flow",
    world: |seed| {
        let shapes = [
            Shape::Window,
            Shape::Session,
            Shape::DedupByTime,
            Shape::Interval,
            Shape::WindowJoin,
            Shape::Global,
            Shape::Cleaned,
            Shape::Nested,
            Shape::Joined,
        ];
        world(seed, &shapes)
    },
    prepare: |trace, draw| {
        if trace.plan.trigger == Trigger::Row {
            trace.plan.trigger = Trigger::Batch;
        }
        let effective = &mut watermark(&mut trace.plan).effective;
        if !LAGS.contains(effective) {
            *effective = draw.pick(&LAGS);
        }
        each_window(trace, |it| it.panes = PanePlan::TOTALS);
        each_session(trace, |it| {
            if it.late == SessionLate::Merged {
                it.late = SessionLate::Proto;
            }
        });
        for stage in &mut flow(trace).stages {
            if let StagePlan::Dedup(it) = stage {
                it.columns = vec![TIME, KEY, VALUE, GAP];
            }
        }
    },
    holds: m7,
    covered: 86,
    telling: 75,
};

#[test]
fn m7_the_order_of_rows_inside_one_batch_changes_nothing_that_a_flow_writes() {
    check(&M7);
}

/// Whether a stage makes the same of the rows of a pass in any order.
fn is_free_of_order(stage: &StagePlan) -> bool {
    match stage {
        StagePlan::Window(it) => it.panes.early_rows.is_none(),
        // A row may be late alone and not once another has come before it.
        StagePlan::Session(it) => it.late != SessionLate::Merged,
        // Equal in everything: whichever is let through is the same.
        StagePlan::Dedup(it) => {
            let all = [TIME, KEY, VALUE, GAP];
            let timed = it.expiry == DedupExpiry::WithItsTime;
            timed && all.iter().all(|column| it.columns.contains(column))
        }
        StagePlan::Join(_) | StagePlan::Global(_) => true,
        StagePlan::Filter(_)
        | StagePlan::Project(_)
        | StagePlan::Rename(..)
        | StagePlan::Compute(_) => true,
        StagePlan::Count(_) | StagePlan::AsOf(_) => false,
    }
}

fn m7(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = flow_terms(trace)?;
    terms.effective(&LAGS)?;
    terms.trigger(|it| matches!(it, Trigger::Batch | Trigger::Interval(_)))?;
    terms.all(is_free_of_order, "stages that are free of order")?;
    m7_says(trace, draw)
}

/// M7 without asking what the stages are.
fn m7_says(trace: &Trace, draw: &mut Draw) -> Held {
    let is_row = |it: &Item| matches!(it, Item::Row(_));
    let mut other = trace.clone();
    let mut runs = 0;
    for run in other.items.chunk_by_mut(|one, two| is_row(one) && is_row(two)) {
        if 1 < run.len() {
            draw.shuffle(run);
            runs += 1;
        }
    }
    need(0 < runs, "rows that stand together")?;
    let (one, two) = (Outcome::of(trace)?.sorted(), Outcome::of(&other)?.sorted());
    let steps = first(&one.steps, &two.steps, "step");
    claim(steps.is_none(), || steps.unwrap_or_default())?;
    let emitted = first(&one.emitted, &two.emitted, "emission");
    claim(emitted.is_none(), || emitted.unwrap_or_default())?;
    let stages = first(&one.stages, &two.stages, "record of a stage");
    claim(stages.is_none(), || stages.unwrap_or_default())?;
    let late = |it: &Outcome| -> Vec<_> {
        let all = it.late.iter();
        all.map(|(name, it)| (*name, it.in_force, it.windows_lost, it.saving)).collect()
    };
    let differs = first(&late(&one), &late(&two), "late row");
    claim(differs.is_none(), || differs.unwrap_or_default())?;
    // Of equal rows the later one is the duplicate.
    let fates = |it: &Outcome| -> (BTreeMap<Name, Fate>, usize) {
        let mut single = it.other.clone();
        single.retain(|_, it| !matches!(it, Fate::Duplicate { .. }));
        let duplicates = it.other.len() - single.len();
        (single, duplicates)
    };
    claim(fates(&one) == fates(&two), || format!("{:?}\n{:?}", one.other, two.other))?;
    Ok(other.items != trace.items)
}

#[test]
fn windows_of_rows_depend_on_the_order_inside_one_batch() {
    check_needed(|seed| world(seed, &[Shape::Count]), M7.prepare, m7_says, 20);
}
