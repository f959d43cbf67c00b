//! The parts of a drawn plan that have a size: windows, aggregates, and the unit of all spans.
//!
//! Invariant: a world covers about as many slides of its window as it says, in a unit that a person
//! can read where spans are long enough for one.

use super::{Measure, Shape};
use crate::entropy::Entropy;
use crate::model::divided;
use plimsoll_engine::plan::{Aggregate, GeneratorPlan, Plan, Trigger, WindowSpec};
use plimsoll_engine::row::{ColumnIx, ColumnKind, Schema};
use plimsoll_engine::time::Span;

/// Windows of which the world holds the stated number.
pub(super) fn window(shape: Shape, entropy: &Entropy<'_>, of: &Measure) -> WindowSpec {
    let mut own = entropy.field("plan", "window_size");
    let slide = round(of.span / of.windows.max(1));
    let size = match shape {
        Shape::Tumbling => slide,
        Shape::Sliding => slide * own.range(2, 4),
        Shape::Uneven => (slide * own.range(9, 23) / 8).max(slide + 1),
        Shape::Holes => (slide * own.range(3, 7) / 8).max(1),
    };
    let offset = if own.chance(250) { round(own.range(1, slide)) } else { 0 };
    WindowSpec { size: Span(size), slide: Span(slide), offset: Span(offset) }
}

/// A span that a person can read, where it is long enough for one.
pub(super) fn round(span: i64) -> i64 {
    let unit = match span {
        1_200_000.. => 60_000,
        20_000.. => 1_000,
        _ => 1,
    };
    (span / unit * unit).max(1)
}

/// Some of all aggregates, over the first column of plain integers.
pub(super) fn aggregates(schema: &Schema, count: usize, entropy: &Entropy<'_>) -> Vec<Aggregate> {
    let integer = schema.columns.iter().position(|it| it.kind == ColumnKind::Integer);
    let Some(of) = integer.map(ColumnIx) else { return vec![Aggregate::Count] };
    let all = [
        Aggregate::Count,
        Aggregate::Sum(of),
        Aggregate::Min(of),
        Aggregate::Max(of),
        Aggregate::Avg(of),
        Aggregate::CountOf(of),
    ];
    let mut order = [0, 1, 2, 3, 4, 5];
    entropy.field("plan", "agg_order").shuffle(&mut order);
    let mut chosen = order[..count.min(6)].to_vec();
    chosen.sort_unstable();
    chosen.into_iter().map(|it| all[it]).collect()
}

/// Divides every span of a plan.
pub(super) fn scale(plan: &mut Plan, by: i64) {
    let divide = |it: &mut Span| *it = Span(divided(it.0, by));
    if let Some(operator) = &mut plan.operator {
        let window = &mut operator.window;
        [&mut window.size, &mut window.slide, &mut window.offset].into_iter().for_each(divide);
    }
    if let Trigger::Interval(every) = &mut plan.trigger {
        divide(every);
    }
    if let Some(it) = &mut plan.flow {
        super::flow::scale(it, by);
    }
    let Some(watermark) = &mut plan.watermark else { return };
    divide(&mut watermark.delay);
    watermark.fallback.iter_mut().for_each(|it| divide(&mut it.behind));
    watermark.guard.iter_mut().for_each(|it| divide(&mut it.ahead));
    if let GeneratorPlan::PartitionMin { idle: Some(idle) } = &mut watermark.generator {
        divide(&mut idle.timeout);
    }
}
