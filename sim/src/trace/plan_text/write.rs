//! From a plan to its pairs.
//!
//! Written is what differs from the profile `seed` and the defaults, in the order of [`KEYS`](super::KEYS), and always the
//! window and the delay, the two that everybody looks for first.
//!
//! Invariant: the pairs say the whole plan; no value has a blank in it.

use super::keys::{ALL_IDLE, EFFECTIVE, LATE, LATE_POLICY, OUTPUT, REJOIN, SINK, word};
use super::read::{COLUMNS, SEED, default_key, default_trigger, default_window_on};
use super::values;
use crate::trace::time_text::{SpanText, TimeText};
use plimsoll_engine::plan::{
    Aggregate, GeneratorPlan, LatePolicy, OutputMode, Plan, Sink, WatermarkPlan, WindowPlan,
};
use plimsoll_engine::row::{ColumnIx, ColumnKind};
use plimsoll_engine::time::ProcTime;

type Pairs = Vec<(&'static str, String)>;

/// The pairs of a plan and the start of its clock.
pub fn pairs_of(plan: &Plan, clock: ProcTime) -> Vec<(&'static str, String)> {
    let mut pairs = Pairs::new();
    let window = plan.operator.as_ref().map(|it| values::window_text(it.window));
    pairs.push(("window", window.unwrap_or_else(|| "none".to_owned())));
    match &plan.watermark {
        Some(it) => watermark(&mut pairs, it),
        None => pairs.push(("watermark", "none".to_owned())),
    }
    if let Some(it) = &plan.operator {
        unless(&mut pairs, "late", it.late == SEED.late, || word(LATE, it.late));
        let dropped = it.late_policy == LatePolicy::Drop;
        unless(&mut pairs, "late_policy", dropped, || word(LATE_POLICY, it.late_policy));
    }
    let append = plan.output == OutputMode::Append;
    unless(&mut pairs, "output", append, || word(OUTPUT, plan.output));
    unless(&mut pairs, "sink", plan.sink == Sink::Append, || word(SINK, plan.sink));
    let trigger = plan.trigger == default_trigger(plan.watermark.as_ref());
    unless(&mut pairs, "trigger", trigger, || values::trigger_text(plan.trigger));

    let columns = values::columns_text(&plan.schema);
    unless(&mut pairs, "columns", columns == COLUMNS, || columns.clone());
    let mut kinds = plan.schema.columns.iter().map(|it| it.kind);
    let first = ColumnIx(kinds.position(|it| it == ColumnKind::Time).unwrap_or(0));
    let on = plan.watermark.as_ref().map_or(first, |it| it.column);
    unless(&mut pairs, "on", on == first, || plan.schema.column(on).name.clone());
    if let Some(it) = &plan.operator {
        operator(&mut pairs, plan, on, it);
    }
    unless(&mut pairs, "lineage", plan.lineage.is_empty(), || values::lineage_text(&plan.lineage));
    unless(&mut pairs, "clock", clock == ProcTime(0), || values::clock_text(clock));
    pairs
}

fn unless<T: Into<String>>(
    pairs: &mut Pairs,
    key: &'static str,
    is_default: bool,
    value: impl FnOnce() -> T,
) {
    if !is_default {
        pairs.push((key, value().into()));
    }
}

fn watermark(pairs: &mut Pairs, watermark: &WatermarkPlan) {
    let it = watermark;
    pairs.push(("delay", SpanText(it.delay).to_string()));
    if let GeneratorPlan::PartitionMin { idle } = it.generator {
        pairs.push(("watermark", "partition".to_owned()));
        if let Some(idle) = idle {
            pairs.push(("idle", SpanText(idle.timeout).to_string()));
            unless(pairs, "rejoin", idle.rejoin == SEED.rejoin, || word(REJOIN, idle.rejoin));
            let same = idle.all_idle == SEED.all_idle;
            unless(pairs, "all_idle", same, || word(ALL_IDLE, idle.all_idle));
        }
    }
    if let Some(fallback) = it.fallback {
        let key = if fallback.always { "fallback_always" } else { "fallback" };
        pairs.push((key, SpanText(fallback.behind).to_string()));
    }
    if let Some(guard) = it.guard {
        pairs.push(("guard", values::guard_text(guard)));
    }
    let same = it.initial == SEED.initial;
    unless(pairs, "initial", same, || TimeText(it.initial).to_string());
    let same = it.effective == SEED.effective;
    unless(pairs, "effective", same, || word(EFFECTIVE, it.effective));
}

fn operator(pairs: &mut Pairs, plan: &Plan, on: ColumnIx, operator: &WindowPlan) {
    let (schema, it) = (&plan.schema, operator);
    let same = it.time == default_window_on(schema, on, &plan.lineage);
    unless(pairs, "window_on", same, || it.time.clone());
    let key = it.keys == default_key(schema);
    unless(pairs, "key", key, || values::key_text(schema, &it.keys));
    let count = it.aggregates == [Aggregate::Count];
    unless(pairs, "agg", count, || values::aggregates_text(schema, &it.aggregates));
}
