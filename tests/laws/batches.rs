//! Where batches end: M3 (splitting), M4 (empty batches) and M7 (order inside one batch).
//!
//! "Batching does not matter" is not among them: it is false (semantics M3, 18).
//!
//! Invariant: the rows and their partitions are the same in both runs.

use super::case::{Draw, check, plain};
use super::outcome::{Outcome, first};
use super::shape::{base, batched, late_rule, terms, watermark, without_clock};
use super::{Held, Law, claim, need};
use plimsoll_engine::plan::{Effective, GeneratorPlan, LateRule, Trigger};
use plimsoll_sim::trace::{Item, Trace};

const RULES: [LateRule; 4] =
    [LateRule::Event, LateRule::EventInclusive, LateRule::WindowEnd, LateRule::Frame];
const LAGS: [Effective; 2] = [Effective::NextBatch, Effective::BatchAfterNext];

fn prepare(trace: &mut Trace, draw: &mut Draw) {
    base(trace, draw);
    without_clock(trace);
    late_rule(trace, draw, &RULES);
    batched(trace, draw, &LAGS);
}

pub(super) const M3: Law =
    Law { name: "M3 batch splitting", world: plain, prepare, holds: m3, covered: 90, telling: 45 };

#[test]
fn m3_splitting_a_batch_never_admits_more_and_one_single_batch_drops_nothing() {
    check(&M3);
}

fn m3(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = terms(trace)?;
    terms.append()?;
    terms.nothing_in_force_first()?;
    terms.no_fallback()?;
    terms.no_idleness()?;
    terms.effective(&LAGS)?;
    terms.trigger(|it| it == Trigger::Batch)?;
    finer_and_coarser(trace, draw, Outcome::admits_beyond)
}

/// The batches of a trace split, cut after every row, and made one. `beyond` says in what the finer
/// run goes beyond the coarser one.
pub(super) fn finer_and_coarser(
    trace: &Trace,
    draw: &mut Draw,
    beyond: impl Fn(&Outcome, &Outcome) -> Option<String>,
) -> Held {
    let whole = Outcome::of(trace)?;

    let mut parts = trace.clone();
    for _ in 0..1 + draw.below(4) {
        let at = draw.below(parts.items.len());
        parts.items.insert(at, Item::Batch);
    }
    let split = Outcome::of(&parts)?;
    let found = beyond(&split, &whole);
    claim(found.is_none(), || format!("split: {}", found.unwrap_or_default()))?;

    let mut rows = trace.clone();
    watermark(&mut rows.plan).effective = Effective::Row;
    let by_row = Outcome::of(&rows)?;
    let found = beyond(&by_row, &split);
    claim(found.is_none(), || format!("row by row: {}", found.unwrap_or_default()))?;

    let mut one = trace.clone();
    one.items.retain(|it| *it != Item::Batch);
    let single = Outcome::of(&one)?;
    claim(single.late.is_empty(), || format!("a single batch drops {:?}", single.late))?;
    Ok(by_row.lost() != whole.lost())
}

pub(super) const M4: Law =
    Law { name: "M4 empty batch", world: plain, prepare, holds: m4, covered: 90, telling: 45 };

#[test]
fn m4_an_empty_batch_changes_no_final_figure_with_lag_one_and_admits_no_more_with_lag_two() {
    check(&M4);
}

fn m4(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = terms(trace)?;
    terms.append()?;
    terms.no_fallback()?;
    terms.no_idleness()?;
    terms.effective(&LAGS)?;
    terms.trigger(|it| it == Trigger::Batch)?;
    let items = trace.items.iter().enumerate();
    let batches: Vec<usize> = items.filter(|it| *it.1 == Item::Batch).map(|it| it.0).collect();
    need(!batches.is_empty(), "a batch to put an empty one behind")?;
    let mut more = trace.clone();
    more.items.insert(draw.pick(&batches) + 1, Item::Batch);
    let (without, with) = (Outcome::of(trace)?, Outcome::of(&more)?);
    claim(with.steps.len() == without.steps.len() + 1, || "no step more".to_owned())?;
    let beyond = with.admits_beyond(&without);
    claim(beyond.is_none(), || beyond.unwrap_or_default())?;
    if terms.watermark.effective == Effective::NextBatch {
        let (one, two) = (without.lost(), with.lost());
        claim(one == two, || format!("lost windows {one:?}, with the empty batch {two:?}"))?;
        let pairs = |it: &Outcome| it.finals().into_iter().collect::<Vec<_>>();
        let differs = first(&pairs(&without), &pairs(&with), "final figure");
        claim(differs.is_none(), || differs.unwrap_or_default())?;
    }
    Ok(!without.late.is_empty())
}

pub(super) const M7: Law = Law {
    name: "M7 permutation inside one batch",
    world: plain,
    prepare: |trace, draw| {
        let output = trace.plan.output;
        base(trace, draw);
        trace.plan.output = output;
        late_rule(trace, draw, &RULES);
        if draw.below(3) == 0 {
            watermark(&mut trace.plan).effective = draw.pick(&LAGS);
            trace.plan.trigger = Trigger::Interval(plimsoll_engine::time::Span::minutes(1));
        } else {
            batched(trace, draw, &LAGS);
        }
    },
    holds: m7,
    covered: 90,
    telling: 85,
};

#[test]
fn m7_the_order_of_rows_inside_one_batch_changes_nothing_that_is_written() {
    check(&M7);
}

fn m7(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = terms(trace)?;
    terms.effective(&LAGS)?;
    terms.trigger(|it| matches!(it, Trigger::Batch | Trigger::Interval(_)))?;
    // Rows with nothing between them are in one batch and arrive at one instant. All aggregates of
    // a plan are free of order.
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
    let writes = first(&one.writes, &two.writes, "figure");
    claim(writes.is_none(), || writes.unwrap_or_default())?;
    claim(one.other == two.other, || format!("{:?} {:?}", one.other, two.other))?;
    // The cause of lateness is not part of the law: it looks at the partition's maximum so far.
    let verdicts = |it: &Outcome| -> Vec<_> {
        let all = it.late.iter();
        all.map(|(name, it)| (*name, it.in_force, it.windows_lost, it.saving)).collect()
    };
    let late = first(&verdicts(&one), &verdicts(&two), "late row");
    claim(late.is_none(), || late.unwrap_or_default())?;
    Ok(other.items != trace.items)
}

const fn is_row(item: &Item) -> bool {
    matches!(item, Item::Row(_))
}

#[test]
fn preparing_for_batches_takes_every_clock_away() {
    let idle = |it: &GeneratorPlan| matches!(it, GeneratorPlan::PartitionMin { idle: Some(_) });
    let mut had_idle = 0;
    for seed in 0..40 {
        let mut trace = plimsoll_sim::scenario::default_world(seed).trace;
        had_idle += u32::from(trace.plan.watermark.as_ref().is_some_and(|it| idle(&it.generator)));
        base(&mut trace, &mut Draw::from(seed));
        without_clock(&mut trace);
        let watermark = watermark(&mut trace.plan);
        assert!(watermark.fallback.is_none() && !idle(&watermark.generator), "seed {seed}");
    }
    assert!(5 < had_idle, "only {had_idle} of 40 worlds have an idle timeout");
}
