use super::{Numbers, shrunk, violation, world};
use crate::invariant::Violation;
use crate::shrink::{Limits, Simplicity, candidates, shrink};
use crate::trace::{Item, Trace};
use plimsoll_engine::plan::{Effective, GeneratorPlan, OutputMode, Trigger};
use plimsoll_engine::row::PartitionId;
use std::collections::BTreeSet;

/// The first row that a predicate takes, as position and time.
fn first_row(trace: &Trace, from: usize, takes: impl Fn(i64) -> bool) -> Option<usize> {
    (from..trace.items.len()).find(|at| match trace.items[*at] {
        Item::Row(row) => trace.time(row).is_some_and(|it| takes(it.0)),
        _ => false,
    })
}

/// Fails where a crash comes after a row whose time is a window boundary (not zero).
fn crash_after_boundary(trace: &Trace) -> Option<Violation> {
    let slide = trace.plan.operator.as_ref()?.window.slide.0;
    let row = first_row(trace, 0, |it| it != 0 && it % slide == 0)?;
    let crash =
        (row..trace.items.len()).find(|it| matches!(trace.items[*it], Item::Crash { .. }))?;
    Some(violation("I1 synthetic", crash + 1))
}

#[test]
fn a_boundary_that_is_needed_stays_a_boundary_and_becomes_small() {
    let mut trace = world(3, 60);
    let slide = trace.plan.operator.as_ref().unwrap().window.slide.0;
    trace.push_row(PartitionId(2), &[Some(slide * 130), Some(0), Some(5)]);
    trace.items.push(Item::Crash { stale: true });
    let shrunk = shrunk(&trace, &mut crash_after_boundary);
    let [Item::Row(row), Item::Crash { stale: false }] = shrunk.trace.items[..] else {
        panic!("{:?}", shrunk.trace.items)
    };
    assert_eq!(shrunk.trace.time(row).map(|it| it.0), Some(1_000));
    assert_eq!(row.partition, PartitionId(0));
    assert_eq!(shrunk.trace.cells.len(), 3);
    assert_eq!(shrunk.trace.plan.operator.as_ref().unwrap().window.size.0, 1_000);
    assert!(shrunk.minimal);
    assert!(shrunk.executions < 200, "{} executions", shrunk.executions);
}

#[test]
fn rules_that_do_not_matter_are_taken_back() {
    let trace = world(5, 30);
    let mut fails = |it: &Trace| (!it.items.is_empty()).then(|| violation("I1 synthetic", 1));
    let plan = shrunk(&trace, &mut fails).trace.plan;
    let watermark = plan.watermark.unwrap();
    assert_eq!(watermark.generator, GeneratorPlan::GlobalMax);
    assert_eq!(watermark.effective, Effective::Row);
    assert_eq!((plan.output, plan.trigger), (OutputMode::Append, Trigger::Row));
    let operator = plan.operator.unwrap();
    assert_eq!(operator.window.size, operator.window.slide);
    assert_eq!(operator.aggregates.len(), 1);
}

#[test]
fn a_sum_of_two_times_that_must_be_exact_comes_down_in_pairs() {
    // The time less the delay is the end of a window: neither moves alone.
    let mut fails = |it: &Trace| {
        let delay = it.plan.watermark.as_ref()?.delay.0;
        let size = it.plan.operator.as_ref()?.window.size.0;
        let row = first_row(it, 0, |time| time == delay + size && 0 < delay)?;
        Some(violation("I3 synthetic", row + 1))
    };
    let mut trace = world(8, 20);
    trace.plan.watermark.as_mut().unwrap().delay.0 = 119_994;
    let size = trace.plan.operator.as_ref().unwrap().window.size.0;
    trace.push_row(PartitionId(0), &[Some(119_994 + size), None, None]);
    let shrunk = shrunk(&trace, &mut fails);
    let delay = shrunk.trace.plan.watermark.as_ref().unwrap().delay.0;
    assert_eq!(delay, 1_000);
    assert_eq!(shrunk.trace.items.len(), 1);
}

#[test]
fn another_invariant_is_refused_and_counted() {
    // With fewer than four rows it breaks something else.
    let mut fails = |it: &Trace| {
        let rows = it.items.iter().filter(|it| matches!(it, Item::Row(_))).count();
        let name = if 4 <= rows { "I4 synthetic" } else { "I39 no_panic" };
        (0 < rows).then(|| violation(name, it.items.len()))
    };
    let shrunk = shrunk(&world(1, 40), &mut fails);
    assert_eq!(shrunk.trace.items.len(), 4);
    assert_eq!(shrunk.violation.name, "I4 synthetic");
    let [("I39 no_panic", slips)] = shrunk.slipped[..] else { panic!("{:?}", shrunk.slipped) };
    assert!(4 <= slips, "each single row that was taken away slipped");
}

#[test]
fn no_single_item_can_be_taken_away() {
    for seed in 0..20 {
        // Needs three items that hang together, wherever they are.
        let mut fails = |it: &Trace| {
            let first = first_row(it, 0, |time| time % 3 == 1)?;
            let tick = (first..it.items.len()).find(|at| matches!(it.items[*at], Item::Tick(_)))?;
            let second = first_row(it, tick, |time| 35_000 < time)?;
            Some(violation("I1 synthetic", second + 1))
        };
        let trace = world(seed, 80);
        if fails(&trace).is_none() {
            continue;
        }
        let shrunk = shrunk(&trace, &mut fails);
        assert!(shrunk.minimal);
        assert_eq!(shrunk.trace.items.len(), 3);
        for at in 0..shrunk.trace.items.len() {
            assert!(fails(&shrunk.trace.without(at..at + 1)).is_none());
        }
    }
}

#[test]
fn the_limit_is_kept_whatever_the_predicate_says() {
    for limit in [1, 2, 17, 100] {
        let mut calls = 0;
        let mut fails = |it: &Trace| {
            calls += 1;
            // Capricious: its mood changes from call to call.
            (it.items.len() % 7 != calls as usize % 5).then(|| violation("I1 synthetic", 1))
        };
        let trace = world(2, 61);
        let shrunk = shrink(&trace, &mut fails, Limits { executions: limit }, &mut |_| {});
        assert!(shrunk.is_none_or(|it| it.executions <= limit));
        assert!(calls <= limit);
    }
}

#[test]
fn what_always_fails_becomes_nothing_at_all() {
    let shrunk = shrunk(&world(4, 50), &mut |_| Some(violation("I1 synthetic", 0)));
    assert!(shrunk.trace.items.is_empty() && shrunk.trace.cells.is_empty());
    assert!(shrunk.trace.dictionary.is_empty());
}

#[test]
fn a_trace_that_does_not_fail_is_not_shrunk() {
    assert!(shrink(&world(4, 10), &mut |_| None, Limits::default(), &mut |_| {}).is_none());
}

#[test]
fn the_same_trace_and_predicate_give_the_same_result() {
    let trace = world(6, 70);
    let mut fails = |it: &Trace| {
        let row = first_row(it, 0, |time| time % 1_000 == 77 || 36_100_000 < time)?;
        Some(violation("I1 synthetic", row + 1))
    };
    let (a, b) = (shrunk(&trace, &mut fails), shrunk(&trace, &mut fails));
    assert_eq!((a.trace, a.executions, a.passes), (b.trace, b.executions, b.passes));
}

#[test]
fn progress_is_told_after_every_execution() {
    let mut told = Vec::new();
    let trace = world(6, 40);
    let mut fails = |it: &Trace| (2 < it.items.len()).then(|| violation("I1 synthetic", 3));
    let shrunk = shrink(&trace, &mut fails, Limits::default(), &mut |it| told.push(it)).unwrap();
    assert_eq!(told.len() as u64 + 1, shrunk.executions);
    assert!(told.is_sorted_by_key(|it| std::cmp::Reverse(it.items)));
    assert_eq!(told.last().unwrap().items, 3);
}

#[test]
fn candidates_are_simpler_and_begin_with_large_steps() {
    let trace = world(9, 30);
    let now = Simplicity::of(&trace);
    let mut count = 0;
    for candidate in candidates(&trace) {
        assert!(Simplicity::of(&candidate) < now);
        count += 1;
    }
    assert!(100 < count, "{count} candidates");
    let first = candidates(&trace).next().unwrap();
    assert!(first.items.len() < trace.items.len());
}

#[test]
fn a_loop_that_takes_the_first_failing_candidate_arrives_as_well() {
    let mut trace = world(3, 40);
    trace.items.push(Item::Crash { stale: true });
    let fails = |it: &Trace| {
        let crash = it.items.iter().position(|it| matches!(it, Item::Crash { .. }));
        crash.is_some_and(|it_at| first_row(it, 0, |time| 100 < time).is_some_and(|at| at < it_at))
    };
    let next = |trace: &Trace| candidates(trace).find(fails);
    let mut steps = 0;
    while let Some(simpler) = next(&trace) {
        trace = simpler;
        steps += 1;
        assert!(steps < 1_000, "a descent that does not end");
    }
    assert_eq!(trace.items.len(), 2);
}

#[test]
fn traces_with_nulls_and_extreme_times_are_shrunk_without_a_panic() {
    let mut numbers = Numbers(77);
    for seed in 0..10 {
        let mut trace = world(seed, 25);
        for time in [i64::MIN, i64::MAX, i64::MIN + 1, 1 << 61, -(1 << 61)] {
            trace.push_row(PartitionId(numbers.below(9) as u32), &[Some(time), None, Some(time)]);
        }
        trace.push_row(PartitionId(u32::MAX), &[None, None, None]);
        let kinds = |it: &Trace| {
            let partitions = it.items.iter().filter_map(|it| match it {
                Item::Row(row) => Some(row.partition),
                _ => None,
            });
            partitions.collect::<BTreeSet<_>>().len()
        };
        let wanted = kinds(&trace).min(3);
        let mut fails =
            |it: &Trace| (wanted <= kinds(it)).then(|| violation("I1 synthetic", it.items.len()));
        let shrunk = shrunk(&trace, &mut fails);
        assert_eq!(shrunk.trace.items.len(), wanted);
    }
}
