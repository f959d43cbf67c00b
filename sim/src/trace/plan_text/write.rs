//! From a plan to its pairs.
//!
//! Written is what differs from the profile `seed` and the defaults, in the order of [`KEYS`](super::KEYS), and always the
//! window and the delay, the two that everybody looks for first; of a flow always the delays and the
//! stages.
//!
//! Invariant: the pairs say the whole plan; no value has a blank in it.

use super::flow::levels::levels_text;
use super::flow::{default_inputs, inputs_text, pair_filters_text, rules};
use super::keys::{
    ALL_IDLE, CHAIN, EFFECTIVE, FOLLOW_UP, LATE, LATE_POLICY, NULL_TIME, OUTPUT, POLICY, REJOIN,
    SINK, word,
};
use super::read::{COLUMNS, SEED, default_key, default_trigger, default_window_on};
use super::values;
use crate::trace::time_text::{SpanText, TimeText};
use plimsoll_engine::plan::flow::{Flow, Policy};
use plimsoll_engine::plan::{
    Aggregate, GeneratorPlan, LatePolicy, OutputMode, Plan, Sink, WatermarkPlan, WindowPlan,
};
use plimsoll_engine::row::{ColumnIx, ColumnKind, Schema};
use plimsoll_engine::time::{ProcTime, Span};

type Pairs = Vec<(&'static str, String)>;

/// The pairs of a plan and the start of its clock.
pub fn pairs_of(plan: &Plan, clock: ProcTime) -> Vec<(&'static str, String)> {
    let mut pairs = Pairs::new();
    let mut kinds = plan.schema.columns.iter().map(|it| it.kind);
    let first = ColumnIx(kinds.position(|it| it == ColumnKind::Time).unwrap_or(0));
    let on = plan.watermark.as_ref().map_or(first, |it| it.column);
    match &plan.flow {
        Some(it) => inputs(&mut pairs, plan, it, on),
        None => {
            let window = plan.operator.as_ref().map(|it| values::window_text(it.window));
            pairs.push(("window", window.unwrap_or_else(|| "none".to_owned())));
            pairs.extend(plan.watermark.as_ref().map(delay));
        }
    }
    match &plan.watermark {
        Some(it) => watermark(&mut pairs, it),
        None => pairs.push(("watermark", "none".to_owned())),
    }
    if let Some(it) = &plan.flow {
        knobs(&mut pairs, it, &plan.schema);
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
    unless(&mut pairs, "on", on == first, || plan.schema.column(on).name.clone());
    if let Some(it) = &plan.operator {
        operator(&mut pairs, plan, on, it);
    }
    unless(&mut pairs, "lineage", plan.lineage.is_empty(), || values::lineage_text(&plan.lineage));
    if let Some(it) = &plan.flow {
        pairs.push(("stages", stage_texts(plan).join("|")));
        pairs.extend(it.levels.as_ref().map(|of| ("levels", levels_text(of, it.inputs.len()))));
    }
    unless(&mut pairs, "clock", clock == ProcTime(0), || values::clock_text(clock));
    pairs
}

/// The text of each stage of a flow, as `stages` has them between `|`.
pub fn stage_texts(plan: &Plan) -> Vec<String> {
    let of = |it: &Flow| super::flow::stage_texts(it, &plan.schema, rules(plan));
    plan.flow.as_ref().map(of).unwrap_or_default()
}

fn inputs(pairs: &mut Pairs, plan: &Plan, flow: &Flow, on: ColumnIx) {
    if flow.inputs == default_inputs(plan.watermark.as_ref()) {
        pairs.extend(plan.watermark.as_ref().map(delay));
    } else {
        pairs.push(("inputs", inputs_text(&flow.inputs, &plan.schema, on)));
    }
    unless(pairs, "policy", flow.policy == Policy::Min, || word(POLICY, flow.policy));
}

fn knobs(pairs: &mut Pairs, flow: &Flow, schema: &Schema) {
    let Flow { chain, follow_up, null_time, hindsight, .. } = *flow;
    unless(pairs, "chain", chain == SEED.chain, || word(CHAIN, chain));
    unless(pairs, "follow_up", follow_up == SEED.follow_up, || word(FOLLOW_UP, follow_up));
    unless(pairs, "null_time", null_time == SEED.null_time, || word(NULL_TIME, null_time));
    unless(pairs, "hindsight", hindsight == Span::ZERO, || SpanText(hindsight).to_string());
    unless(pairs, "pairs", flow.pairs.is_empty(), || pair_filters_text(schema, &flow.pairs));
}

fn delay(watermark: &WatermarkPlan) -> (&'static str, String) {
    ("delay", SpanText(watermark.delay).to_string())
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
