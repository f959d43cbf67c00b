//! Rules that one engine runs and a second does not: what a planted bug looks like from outside.

use super::{shrunk, violation, world};
use crate::invariant::Violation;
use crate::run::Run;
use crate::shrink::Shrunk;
use crate::system::engine::Engine;
use crate::trace::{Item, Trace};
use plimsoll_engine::output::{Output, StepRecord};
use plimsoll_engine::plan::{Effective, GeneratorPlan, LateRule, Plan, Rejoin};
use plimsoll_engine::time::Span;

/// What an engine says after each item: figures, fates, watermarks.
fn says(trace: &Trace) -> Option<Vec<[String; 3]>> {
    let mut engine = Engine::new(trace, 1).ok()?;
    let mut run = Run::new(trace, &mut engine, false);
    let mut all = Vec::new();
    while let Some(step) = run.step() {
        let seen = step.ok()?;
        all.push([figures(seen.output), fates(seen.output), watermarks(&seen.output.steps)]);
    }
    Some(all)
}

fn figures(output: &Output) -> String {
    let firings = output.firings.iter().map(|it| (it.step, it.window, it.groups.len(), it.kind));
    format!("{:?}", firings.collect::<Vec<_>>())
}

fn fates(output: &Output) -> String {
    let late = output.records.iter().map(|it| (it.id, std::mem::discriminant(&it.fate)));
    format!("{:?}", late.collect::<Vec<_>>())
}

fn watermarks(steps: &[StepRecord]) -> String {
    format!("{:?}", steps.iter().map(|it| (it.candidate, it.watermark)).collect::<Vec<_>>())
}

/// The first difference between the trace's plan and a planted one.
fn differs(trace: &Trace, plant: fn(&mut Plan)) -> Option<Violation> {
    let mut planted = trace.clone();
    plant(&mut planted.plan);
    let (right, wrong) = (says(trace)?, says(&planted)?);
    const NAMES: [&str; 3] = ["I41 oracle_agrees", "I42 verdict_agrees", "I43 candidate_agrees"];
    right.iter().zip(&wrong).enumerate().find_map(|(at, (right, wrong))| {
        let kind = (0..3).find(|it| right[*it] != wrong[*it])?;
        Some(violation(NAMES[kind], at + 1))
    })
}

fn watermark(plan: &mut Plan) -> &mut plimsoll_engine::plan::WatermarkPlan {
    plan.watermark.as_mut().expect("the worlds have a watermark")
}

const PLANTS: [(&str, fn(&mut Plan)); 8] = [
    ("late at equality", |it| {
        it.operator.iter_mut().for_each(|it| it.late = LateRule::EventInclusive)
    }),
    ("window end instead of event", |it| {
        it.operator.iter_mut().for_each(|it| it.late = LateRule::WindowEnd);
    }),
    ("maximum instead of minimum", |it| watermark(it).generator = GeneratorPlan::GlobalMax),
    ("no idleness", |it| {
        watermark(it).generator = GeneratorPlan::PartitionMin { idle: None };
    }),
    ("rejoins at once", |it| {
        if let GeneratorPlan::PartitionMin { idle: Some(it) } = &mut watermark(it).generator {
            it.rejoin = Rejoin::Hold;
        }
    }),
    ("a delay of one millisecond less", |it| {
        let it = watermark(it);
        it.delay = Span((it.delay.0 - 1).max(0));
    }),
    ("idle at equality", |it| {
        if let GeneratorPlan::PartitionMin { idle: Some(it) } = &mut watermark(it).generator {
            it.timeout = Span((it.timeout.0 - 1).max(0));
        }
    }),
    ("effective a batch later", |it| watermark(it).effective = Effective::BatchAfterNext),
];

fn results(plant: fn(&mut Plan)) -> Vec<Shrunk> {
    let worlds = (0..12).map(|seed| world(seed, 80));
    let failing = worlds.filter(|it| differs(it, plant).is_some());
    failing.map(|it| shrunk(&it, &mut |it| differs(it, plant))).collect()
}

fn median(mut numbers: Vec<u64>) -> u64 {
    numbers.sort_unstable();
    numbers[numbers.len() / 2]
}

#[test]
fn planted_rules_end_as_a_few_items_after_a_few_hundred_executions() {
    let (mut items, mut executions) = (Vec::new(), Vec::new());
    for (name, plant) in PLANTS {
        let results = results(plant);
        assert!(!results.is_empty(), "{name}: no world shows it");
        for it in &results {
            assert!(it.minimal, "{name}: not shown to be minimal");
            items.push(it.trace.items.len() as u64);
            executions.push(it.executions);
        }
        if std::env::var_os("SHOW").is_some() {
            show(name, &results);
        }
    }
    assert!(median(items.clone()) <= 5, "items {items:?}");
    assert!(median(executions.clone()) <= 400, "executions {executions:?}");
    assert!(items.iter().all(|it| *it <= 9), "items {items:?}");
}
fn show(name: &str, results: &[Shrunk]) {
    let items = median(results.iter().map(|it| it.trace.items.len() as u64).collect());
    let ex = median(results.iter().map(|it| it.executions).collect());
    let mut distinct: Vec<&Trace> = Vec::new();
    for it in results {
        if !distinct.contains(&&it.trace) {
            distinct.push(&it.trace);
        }
    }
    eprintln!(
        "== {name}: n={} items={items} ex={ex} max={:?} distinct={}",
        results.len(),
        results.iter().map(|it| it.executions).max(),
        distinct.len()
    );
    for t in distinct.iter().take(4) {
        let pairs = crate::trace::plan_text::pairs_of(&t.plan, t.clock);
        eprintln!(
            "   {}",
            pairs.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" ")
        );
        for i in &t.items {
            match i {
                Item::Row(r) => eprintln!("     row p{} {:?}", r.partition.0, t.cells(*r)),
                o => eprintln!("     {o:?}"),
            }
        }
    }
    eprintln!("{:?}", results[0].passes);
}
