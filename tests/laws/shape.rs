//! What laws need of a trace: how a drawn one is brought there, and how it is asked.
//!
//! Preparing keeps the rows and their order and changes the plan, and where a law needs it the other
//! items. Shrinking may undo any of it, therefore every law asks anew.
//!
//! Invariant: what prepares a trace is never taken for granted by a law.

use super::case::Draw;
use super::{No, need};
use plimsoll_engine::plan::{
    Aggregate, Effective, GeneratorPlan, LateRule, OutputMode, Plan, Sink, Trigger, WatermarkPlan,
    WindowPlan,
};
use plimsoll_engine::row::ColumnIx;
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_sim::trace::{Item, Trace};
use std::ops::Deref;

/// What laws ask of the watermark, the trigger and the items, whatever the query.
#[derive(Clone, Copy)]
pub(super) struct Rules<'a> {
    pub(super) watermark: &'a WatermarkPlan,
    trace: &'a Trace,
}

/// The rules of a trace with a watermark, that ends.
pub(super) fn rules(trace: &Trace) -> Result<Rules<'_>, No> {
    let watermark = trace.plan.watermark.as_ref().ok_or(No::Uncovered("a watermark"))?;
    let ends = trace.items.iter().filter(|it| **it == Item::End).count();
    need(ends == 1 && trace.items.last() == Some(&Item::End), "one end, at the end")?;
    let goes_on = !matches!(trace.plan.trigger, Trigger::Once | Trigger::AvailableNow(_));
    need(goes_on, "a trigger under which the input ends")?;
    Ok(Rules { watermark, trace })
}

/// The two halves of a plain plan that laws speak of.
#[derive(Clone, Copy)]
pub(super) struct Terms<'a> {
    pub(super) operator: &'a WindowPlan,
    rules: Rules<'a>,
}

impl<'a> Deref for Terms<'a> {
    type Target = Rules<'a>;
    fn deref(&self) -> &Rules<'a> {
        &self.rules
    }
}

/// The terms of a plan with a watermark that is linked to its windows, of a trace that ends.
pub(super) fn terms(trace: &Trace) -> Result<Terms<'_>, No> {
    let rules = rules(trace)?;
    let plan = &trace.plan;
    let operator = plan.operator.as_ref().ok_or(No::Uncovered("windows"))?;
    let column = &plan.schema.columns[rules.watermark.column.0].name;
    need(plan.lineage.is_empty() && operator.time == *column, "a linked watermark")?;
    Ok(Terms { operator, rules })
}

impl Terms<'_> {
    pub(super) fn counts(&self) -> Result<(), No> {
        need(self.operator.aggregates.first() == Some(&Aggregate::Count), "a count, first")
    }

    pub(super) fn late_rule(&self, any_of: &[LateRule]) -> Result<(), No> {
        need(any_of.contains(&self.operator.late), "another late rule")
    }
}

impl Rules<'_> {
    pub(super) fn append(&self) -> Result<(), No> {
        need(self.trace.plan.output == OutputMode::Append, "append mode")
    }

    pub(super) fn nothing_in_force_first(&self) -> Result<(), No> {
        need(self.watermark.initial == EventTime::MIN, "w = -inf before any row")
    }

    pub(super) fn effective(&self, any_of: &[Effective]) -> Result<(), No> {
        need(any_of.contains(&self.watermark.effective), "another lag")
    }

    pub(super) fn trigger(&self, fits: impl Fn(Trigger) -> bool) -> Result<(), No> {
        need(fits(self.trace.plan.trigger), "another trigger")
    }

    pub(super) fn no_fallback(&self) -> Result<(), No> {
        need(self.watermark.fallback.is_none(), "no wall clock")
    }

    pub(super) fn no_guard(&self) -> Result<(), No> {
        need(self.watermark.guard.is_none(), "no guard")
    }

    pub(super) fn no_idleness(&self) -> Result<(), No> {
        need(!self.has_idleness(), "no idle timeout")
    }

    pub(super) const fn has_idleness(&self) -> bool {
        matches!(self.watermark.generator, GeneratorPlan::PartitionMin { idle: Some(_) })
    }

    pub(super) fn global(&self) -> Result<(), No> {
        need(self.watermark.generator == GeneratorPlan::GlobalMax, "one maximum for all")
    }

    pub(super) fn no_changes(&self) -> Result<(), No> {
        need(!self.trace.items.iter().any(is_change), "partitions that stay")
    }

    /// A row or a heartbeat more or less is no step more or less that anything depends on.
    pub(super) fn steps_are_kept(&self) -> Result<(), No> {
        let counts_at_once = matches!(self.watermark.effective, Effective::Row | Effective::Probe);
        let kept = self.trace.plan.trigger != Trigger::Row || counts_at_once;
        need(kept, "batches that are kept")
    }

    pub(super) fn no_heartbeats(&self) -> Result<(), No> {
        need(!self.trace.items.iter().any(is_heartbeat), "no heartbeats")
    }
}

const fn is_change(item: &Item) -> bool {
    matches!(item, Item::Add { .. } | Item::Remove(_) | Item::Move { .. } | Item::Finish(_))
}

const fn is_heartbeat(item: &Item) -> bool {
    matches!(item, Item::Heartbeat { .. })
}

/// Append mode, a linked watermark, one end at the end, a count, and often a short delay.
pub(super) fn base(trace: &mut Trace, draw: &mut Draw) {
    let column = ColumnIx(trace.time_column());
    let plan = &mut trace.plan;
    plan.lineage.clear();
    (plan.output, plan.sink) = (OutputMode::Append, Sink::Append);
    if matches!(plan.trigger, Trigger::Once | Trigger::AvailableNow(_)) {
        plan.trigger = Trigger::Batch;
    }
    let watermark = plan.watermark.get_or_insert(WatermarkPlan {
        column,
        delay: Span::ZERO,
        generator: GeneratorPlan::GlobalMax,
        effective: Effective::NextBatch,
        fallback: None,
        guard: None,
        initial: EventTime::MIN,
    });
    watermark.initial = EventTime::MIN;
    if let Some(operator) = &mut plan.operator {
        operator.time.clone_from(&plan.schema.columns[column.0].name);
        operator.aggregates.retain(|it| *it != Aggregate::Count);
        operator.aggregates.insert(0, Aggregate::Count);
        let size = operator.window.size.0;
        watermark.delay = draw.pick(&[Span(0), Span(size / 8), Span(size / 2), watermark.delay]);
    }
    trace.items.retain(|it| *it != Item::End);
    trace.items.push(Item::End);
}

/// The watermark of a prepared plan.
pub(super) fn watermark(plan: &mut Plan) -> &mut WatermarkPlan {
    plan.watermark.as_mut().expect("prepared plans have a watermark")
}

/// No clock has a say in the watermark: no fallback, no guard, no idle timeout.
pub(super) fn without_clock(trace: &mut Trace) {
    let watermark = watermark(&mut trace.plan);
    (watermark.fallback, watermark.guard) = (None, None);
    if let GeneratorPlan::PartitionMin { idle } = &mut watermark.generator {
        *idle = None;
    }
}

/// One maximum for all partitions.
pub(super) fn global(trace: &mut Trace) {
    watermark(&mut trace.plan).generator = GeneratorPlan::GlobalMax;
}

/// Another late rule: one of these.
pub(super) fn late_rule(trace: &mut Trace, draw: &mut Draw, any_of: &[LateRule]) {
    let Some(operator) = &mut trace.plan.operator else { return };
    let whole = operator.window.size.0 % operator.window.slide.0 == 0;
    operator.late = draw.pick(any_of);
    if operator.late == LateRule::Frame && !whole {
        operator.late = LateRule::Event;
    }
}

/// The watermark counts from row to row, in steps of a row or of a batch.
pub(super) fn row_by_row(trace: &mut Trace, draw: &mut Draw) {
    watermark(&mut trace.plan).effective = Effective::Row;
    trace.plan.trigger = draw.pick(&[Trigger::Row, Trigger::Batch]);
    if trace.plan.trigger == Trigger::Batch {
        cut(trace, draw);
    }
}

/// Batches that the trace cuts, with one of these lags.
pub(super) fn batched(trace: &mut Trace, draw: &mut Draw, any_of: &[Effective]) {
    watermark(&mut trace.plan).effective = draw.pick(any_of);
    trace.plan.trigger = Trigger::Batch;
    cut(trace, draw);
}

/// Any of the three lags.
pub(super) fn any_lag(trace: &mut Trace, draw: &mut Draw) {
    if draw.below(3) == 0 {
        row_by_row(trace, draw);
    } else {
        batched(trace, draw, &[Effective::NextBatch, Effective::BatchAfterNext]);
    }
}

/// Cuts batches of a few rows where the trace has few of its own.
fn cut(trace: &mut Trace, draw: &mut Draw) {
    let rows = trace.items.iter().filter(|it| matches!(it, Item::Row(_))).count();
    let batches = trace.items.iter().filter(|it| **it == Item::Batch).count();
    if rows < batches * 10 {
        return;
    }
    let (every, mut since) = (2 + draw.below(6), 0);
    let items = std::mem::take(&mut trace.items);
    for item in items {
        trace.items.push(item);
        since += usize::from(matches!(item, Item::Row(_)));
        if every <= since {
            trace.items.push(Item::Batch);
            since = 0;
        }
    }
}

/// Partitions stay as they are.
pub(super) fn without_changes(trace: &mut Trace) {
    trace.items.retain(|it| !is_change(it));
}

/// Nothing but rows moves time.
pub(super) fn without_heartbeats(trace: &mut Trace) {
    trace.items.retain(|it| !is_heartbeat(it));
}
