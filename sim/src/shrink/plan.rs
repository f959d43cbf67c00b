//! A plainer plan: every rule that the failure does not need is taken back to the plain one.
//!
//! A trace with a rule that does not matter makes its reader look in the wrong place.
//!
//! Invariant: each edit takes back one rule (or one rule and the items that only it reads).

use super::{Edit, Edits, Pass};
use crate::trace::{Item, Trace};
use plimsoll_engine::plan::{
    Aggregate, AllIdle, Effective, GeneratorPlan, GuardAction, IdlePlan, LatePolicy, LateRule,
    OutputMode, Plan, Rejoin, Sink, Trigger, WatermarkPlan, WindowPlan,
};
use plimsoll_engine::row::{ColumnIx, ColumnKind};
use plimsoll_engine::time::{EventTime, Span};

pub(super) const PASS: Pass = Pass { name: "plan", edits, run: |search| search.sweep(edits) };

/// Rules and their plain values, the coarsest first.
const PLAIN: [fn(&mut Plan); 28] = [
    |it| {
        watermark(it, |it| it.effective = Effective::Row);
        it.trigger = Trigger::Row;
    },
    |it| watermark(it, |it| it.effective = Effective::Row),
    |it| watermark(it, |it| it.effective = Effective::NextBatch),
    |it| it.trigger = Trigger::Row,
    |it| it.trigger = Trigger::Batch,
    |it| it.trigger = Trigger::Once,
    |it| it.output = OutputMode::Append,
    |it| it.output = OutputMode::Update,
    |it| it.sink = Sink::Append,
    |it| {
        it.output = OutputMode::Append;
        it.sink = Sink::Append;
    },
    |it| it.lineage.clear(),
    |it| watermark(it, |it| it.fallback = None),
    |it| watermark(it, |it| it.guard = None),
    |it| watermark(it, |it| it.initial = EventTime::MIN),
    |it| watermark(it, |it| it.generator = GeneratorPlan::GlobalMax),
    |it| watermark(it, |it| it.generator = GeneratorPlan::PartitionMin { idle: None }),
    |it| idle(it, |it| it.rejoin = Rejoin::Hold),
    |it| idle(it, |it| it.all_idle = AllIdle::Flush),
    |it| {
        watermark(it, |it| {
            if let Some(it) = &mut it.fallback {
                it.always = false;
            }
        });
    },
    |it| {
        watermark(it, |it| {
            if let Some(it) = &mut it.guard {
                it.action = GuardAction::Reject;
            }
        });
    },
    |it| operator(it, |it| it.window.slide = it.window.size),
    |it| operator(it, |it| it.window.size = it.window.slide),
    |it| operator(it, |it| it.window.offset = Span::ZERO),
    |it| operator(it, |it| it.late = LateRule::Event),
    |it| operator(it, |it| it.late_policy = LatePolicy::Drop),
    |it| operator(it, |it| it.aggregates = vec![Aggregate::Count]),
    |it| watermark(it, |it| it.delay = Span::ZERO),
    |it| {
        let key = it.schema.position("k");
        if let Some(it) = &mut it.operator {
            it.keys = key.into_iter().collect();
        }
    },
];

fn watermark(plan: &mut Plan, change: fn(&mut WatermarkPlan)) {
    plan.watermark.iter_mut().for_each(change);
}

fn operator(plan: &mut Plan, change: fn(&mut WindowPlan)) {
    plan.operator.iter_mut().for_each(change);
}

fn idle(plan: &mut Plan, change: fn(&mut IdlePlan)) {
    if let Some(it) = &mut plan.watermark
        && let GeneratorPlan::PartitionMin { idle: Some(idle) } = &mut it.generator
    {
        change(idle);
    }
}

fn edits(trace: &Trace) -> Edits<'_> {
    let batches = trace.items.contains(&Item::Batch);
    let plain = PLAIN.iter().flat_map(move |rule| {
        let mut plan = trace.plan.clone();
        rule(&mut plan);
        agree(&mut plan);
        let differs = plan != trace.plan;
        // Where batches are no longer asked for, their lines go first.
        let ways = [true, false].into_iter().filter(move |it| differs && (batches || !it));
        ways.map(move |without_batches| -> Edit<'_> {
            let plan = plan.clone();
            Box::new(move || of_plan(trace, plan, without_batches))
        })
    });
    Box::new(plain.chain(one_less(trace)).chain(columns(trace)))
}

/// The delay of a flow's first watermark is the plan's.
fn agree(plan: &mut Plan) {
    if let (Some(flow), Some(watermark)) = (&mut plan.flow, &plan.watermark) {
        let first = flow.inputs.iter_mut().flat_map(|it| &mut it.marks).next();
        first.into_iter().for_each(|it| it.delay = watermark.delay);
    }
}

pub(super) fn of_plan(trace: &Trace, plan: Plan, without_batches: bool) -> Trace {
    let mut changed = Trace { plan, ..trace.clone() };
    if without_batches {
        changed.items.retain(|it| *it != Item::Batch);
    }
    changed
}

/// One aggregate less, one key less, one lineage step less.
fn one_less(trace: &Trace) -> Edits<'_> {
    let counts = trace.plan.operator.as_ref();
    let aggregates =
        counts.map_or(0, |it| if 1 < it.aggregates.len() { it.aggregates.len() } else { 0 });
    let keys = counts.map_or(0, |it| it.keys.len());
    let less = move |change: fn(&mut Plan, usize), at: usize| -> Edit<'_> {
        Box::new(move || {
            let mut plan = trace.plan.clone();
            change(&mut plan, at);
            of_plan(trace, plan, false)
        })
    };
    let aggregates = (0..aggregates).rev().map(move |at| less(without_aggregate, at));
    let keys = (0..keys).rev().map(move |at| less(without_key, at));
    let lineage = (0..trace.plan.lineage.len()).rev().map(move |at| less(without_step, at));
    Box::new(aggregates.chain(keys).chain(lineage))
}

fn without_aggregate(plan: &mut Plan, at: usize) {
    if let Some(it) = &mut plan.operator {
        it.aggregates.remove(at);
    }
}

fn without_key(plan: &mut Plan, at: usize) {
    if let Some(it) = &mut plan.operator {
        it.keys.remove(at);
    }
}

fn without_step(plan: &mut Plan, at: usize) {
    plan.lineage.remove(at);
}

/// Without a column that nothing reads. Time, key and value stay: every story has them.
fn columns(trace: &Trace) -> Edits<'_> {
    let columns = &trace.plan.schema.columns;
    let links = !trace.plan.lineage.is_empty() || trace.plan.flow.is_some();
    if columns.len() <= 3 || links {
        return Box::new(std::iter::empty());
    }
    let unread = (0..columns.len()).rev().filter(move |column| {
        let ix = ColumnIx(*column);
        let of_operator = trace.plan.operator.as_ref().is_some_and(|it| {
            it.time == columns[*column].name
                || it.keys.contains(&ix)
                || it.aggregates.iter().any(|it| it.column() == Some(ix))
        });
        let of_watermark = match &trace.plan.watermark {
            Some(it) => it.column == ix,
            None => columns[*column].kind == ColumnKind::Time,
        };
        !of_operator && !of_watermark
    });
    Box::new(
        unread.map(move |column| -> Edit<'_> { Box::new(move || without_column(trace, column)) }),
    )
}

fn without_column(trace: &Trace, column: usize) -> Trace {
    let mut changed = Trace { items: Vec::new(), cells: Vec::new(), ..trace.clone() };
    changed.plan.schema.columns.remove(column);
    let moved = |it: ColumnIx| ColumnIx(it.0 - usize::from(column < it.0));
    if let Some(it) = &mut changed.plan.watermark {
        it.column = moved(it.column);
    }
    if let Some(it) = &mut changed.plan.operator {
        it.keys.iter_mut().for_each(|it| *it = moved(*it));
        for it in &mut it.aggregates {
            *it = match *it {
                Aggregate::Count => Aggregate::Count,
                Aggregate::CountOf(it) => Aggregate::CountOf(moved(it)),
                Aggregate::Sum(it) => Aggregate::Sum(moved(it)),
                Aggregate::Min(it) => Aggregate::Min(moved(it)),
                Aggregate::Max(it) => Aggregate::Max(moved(it)),
                Aggregate::Avg(it) => Aggregate::Avg(moved(it)),
            };
        }
    }
    for item in &trace.items {
        match item {
            Item::Row(row) => {
                let mut cells = trace.cells(*row).to_vec();
                cells.remove(column);
                changed.push_row(row.partition, &cells);
            }
            other => changed.items.push(*other),
        }
    }
    changed
}
