//! From pairs to a plan.
//!
//! What is not said comes from the profile, and what no profile says from a default of its own. A
//! pair that the plan has no place for is an error; a value of a profile merely does not apply.
//!
//! Invariant: every pair is used or refused, and all errors are reported at once.

use super::flow::levels::{PLAIN, levels};
use super::flow::{self, Rules, inputs, stages};
use super::keys::{
    ALL_IDLE, CHAIN, EFFECTIVE, FOLLOW_UP, KEYS, LATE, LATE_POLICY, NULL_TIME, OF_FLOWS, OF_PLAIN,
    OUTPUT, POLICY, REJOIN, SINK, Wrong, value, wrong,
};
use super::{PlanText, PlanTextError, values};
use crate::trace::nearest;
use plimsoll_engine::plan::flow::{Flow, Policy};
use plimsoll_engine::plan::{
    Aggregate, Effective, Fallback, GeneratorPlan, IdlePlan, LatePolicy, LineageStep, OutputMode,
    Plan, Sink, Trigger, WatermarkPlan, WindowPlan, WindowSpec,
};
use plimsoll_engine::profile::{self, Profile};
use plimsoll_engine::row::{ColumnIx, ColumnKind, Schema};
use plimsoll_engine::time::{ProcTime, Span};
use std::collections::BTreeMap;

/// What `columns` is where it is not said.
pub(super) const COLUMNS: &str = "time:time,k:text,v:int";
/// What `window` is where it is not said.
pub(super) const WINDOW: WindowSpec =
    WindowSpec { size: Span::minutes(10), slide: Span::minutes(10), offset: Span::ZERO };
/// Where everything comes from that is not said: the founding texts.
pub(super) const SEED: &Profile = &profile::all()[0];

/// Reads a plan from its pairs.
///
/// # Errors
/// All pairs that cannot be read.
pub fn plan_from_pairs<'a>(
    pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<PlanText, Vec<PlanTextError>> {
    let mut reader = Reader { given: BTreeMap::new(), profile: SEED, errors: Vec::new() };
    for (key, text) in pairs {
        if !KEYS.contains(&key) {
            let expected = nearest::expected("a key of the plan", key, KEYS);
            reader.error(key, text, wrong(expected, key));
        } else if reader.given.insert(key, text).is_some() {
            reader.error(key, text, wrong("each key once", &format!("{key}={text}")));
        }
    }
    let profile = |name: &str| {
        let names = profile::all().iter().map(|it| it.name);
        let unknown = || wrong(nearest::expected("the name of a profile", name, names), name);
        profile::named(name).ok_or_else(unknown)
    };
    reader.profile = reader.or("profile", SEED, profile);
    let read = reader.plan();
    if reader.errors.iter().any(|it| it.key == "columns") {
        // Without the columns nothing can be said about those that name one.
        reader.errors.retain(|it| !["on", "key", "agg"].contains(&it.key.as_str()));
    }
    if reader.errors.is_empty() { Ok(read) } else { Err(reader.errors) }
}

struct Reader<'a> {
    given: BTreeMap<&'a str, &'a str>,
    /// Where what is not said comes from.
    profile: &'static Profile,
    errors: Vec<PlanTextError>,
}

impl<'a> Reader<'a> {
    fn error(&mut self, key: &str, value: &str, wrong: Wrong) {
        let Wrong { expected, found } = wrong;
        let (key, value) = (key.to_owned(), value.to_owned());
        self.errors.push(PlanTextError { key, value, expected, found });
    }

    fn text(&self, key: &str) -> Option<&'a str> {
        debug_assert!(KEYS.contains(&key), "`{key}` is a key");
        self.given.get(key).copied()
    }

    /// What `key` says; `None` where it says nothing or cannot be read.
    fn maybe<T>(&mut self, key: &str, read: impl FnOnce(&str) -> Result<T, Wrong>) -> Option<T> {
        let text = self.text(key)?;
        match read(text) {
            Ok(it) => Some(it),
            Err(it) => {
                self.error(key, text, it);
                None
            }
        }
    }

    fn or<T>(&mut self, key: &str, default: T, read: impl FnOnce(&str) -> Result<T, Wrong>) -> T {
        self.maybe(key, read).unwrap_or(default)
    }

    /// These keys have no place in the plan: those that were given are errors.
    fn refuse(&mut self, keys: &[&str], because: &str) {
        for key in keys {
            if let Some(text) = self.given.get(key).copied() {
                self.error(key, text, wrong(because, &format!("{key}={text}")));
            }
        }
    }

    fn plan(&mut self) -> PlanText {
        let default = values::columns(COLUMNS).expect("the default columns can be read");
        let schema = self.or("columns", default, values::columns);
        let mut columns = schema.columns.iter();
        let first = columns.position(|it| it.kind == ColumnKind::Time).map(ColumnIx);
        if first.is_none() {
            let expected = "at least one column of kind `time`: every row has an event time";
            let text = self.text("columns").unwrap_or(COLUMNS);
            self.error("columns", text, wrong(expected, text));
        }
        let first = first.unwrap_or(ColumnIx(0));
        let is_flow = OF_FLOWS.iter().any(|it| self.given.contains_key(it));
        let mut watermark = self.watermark(&schema, first);
        let flow = is_flow.then(|| self.flow(&schema, &mut watermark, first));
        let (lineage, operator) = if is_flow {
            self.refuse(&OF_PLAIN, "it inside of a stage: in a flow each stage says it for itself");
            (Vec::new(), None)
        } else {
            if self.text("effective") == Some("probe") {
                self.refuse(&["effective"], "`stages` with it: only a flow has probes");
            }
            let lineage = self.or("lineage", Vec::new(), values::lineage);
            let on = watermark.as_ref().map_or(first, |it| it.column);
            let operator = self.operator(&schema, on, &lineage);
            (lineage, operator)
        };
        let trigger = default_trigger(watermark.as_ref());
        let plan = Plan {
            flow,
            watermark,
            lineage,
            operator,
            output: self.or("output", OutputMode::Append, |it| value(OUTPUT, it)),
            sink: self.or("sink", Sink::Append, |it| value(SINK, it)),
            trigger: self.or("trigger", trigger, values::trigger),
            schema,
        };
        let clock = self.or("clock", ProcTime(0), values::clock);
        PlanText { plan, clock, profile: self.profile }
    }

    /// What `key` says, where it may say several wrong things at once.
    fn many<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&str) -> Result<T, Vec<Wrong>>,
    ) -> Option<T> {
        let text = self.text(key)?;
        match read(text) {
            Ok(it) => Some(it),
            Err(all) => {
                all.into_iter().for_each(|it| self.error(key, text, it));
                None
            }
        }
    }

    /// The flow; column and delay of the watermark become those of its first one.
    fn flow(
        &mut self,
        schema: &Schema,
        watermark: &mut Option<WatermarkPlan>,
        first: ColumnIx,
    ) -> Flow {
        let text = self.text("columns").unwrap_or(COLUMNS);
        let named = schema.columns.iter().find(|it| !values::is_flow_name(&it.name));
        if let Some(it) = named {
            let expected = "a name without `|+<>!` in a flow, whose values have more parts";
            self.error("columns", text, wrong(expected, &it.name));
        }
        let known = self.errors.iter().all(|it| it.key != "columns").then_some(schema);
        let columns = flow::Columns::new(known);
        let read = self.many("inputs", |it| inputs(it, columns, watermark.as_ref()));
        if let (Some(read), Some(_)) = (&read, &watermark) {
            let all = "no such key: every input says its own";
            self.refuse(if read.takes_delay { &[] } else { &["delay"] }, all);
            self.refuse(if read.takes_on { &[] } else { &["on"] }, all);
        }
        let inputs = read.map(|it| it.inputs);
        let mut flow = Flow::of(
            inputs.unwrap_or_else(|| flow::default_inputs(watermark.as_ref())),
            Vec::new(),
        );
        if let (Some(it), Some(mark)) = (watermark.as_mut(), flow::first_mark(&flow)) {
            (it.column, it.delay) = (mark.column, mark.delay);
        }
        let on = watermark.as_ref().map_or(first, |it| it.column);
        let rules = Rules {
            on: values::name(schema, on),
            delay: watermark.as_ref().map(|it| it.delay),
            profile: self.profile,
        };
        flow.stages = self.many("stages", |it| stages(it, known, rules)).unwrap_or_default();
        let Profile { chain, follow_up, null_time, levels: rules, .. } = *self.profile;
        let (count, rules) = (flow.inputs.len(), rules.unwrap_or(PLAIN));
        flow.levels = self.many("levels", |it| levels(it, count, rules));
        flow.policy = self.or("policy", Policy::Min, |it| value(POLICY, it));
        flow.chain = self.or("chain", chain, |it| value(CHAIN, it));
        flow.follow_up = self.or("follow_up", follow_up, |it| value(FOLLOW_UP, it));
        flow.null_time = self.or("null_time", null_time, |it| value(NULL_TIME, it));
        flow.hindsight = self.or("hindsight", Span::ZERO, values::span);
        let columns = flow::Columns::new(known);
        flow.pairs = self.or("pairs", Vec::new(), |it| columns.pair_filters(it));
        flow
    }

    fn watermark(&mut self, schema: &Schema, first: ColumnIx) -> Option<WatermarkPlan> {
        let generator = match (self.text("watermark"), self.profile.generator) {
            (Some("global"), _) | (None, GeneratorPlan::GlobalMax) => GeneratorPlan::GlobalMax,
            (Some("partition"), _) | (None, GeneratorPlan::PartitionMin { .. }) => {
                GeneratorPlan::PartitionMin { idle: self.idle() }
            }
            (Some("none"), _) => {
                let of = ["delay", "idle", "rejoin", "all_idle", "fallback", "fallback_always"];
                let because = "a watermark: with `watermark=none` this has no meaning";
                self.refuse(&of, because);
                self.refuse(&["guard", "initial", "effective", "on"], because);
                return None;
            }
            (Some(other), _) => {
                let expected = "`global`, `partition` or `none`";
                self.error("watermark", other, wrong(expected, other));
                GeneratorPlan::PartitionMin { idle: self.idle() }
            }
        };
        if generator == GeneratorPlan::GlobalMax {
            let because = "`watermark=partition` with it: one global maximum knows no idleness";
            self.refuse(&["idle", "rejoin", "all_idle"], because);
        }
        let Profile { delay, effective, initial, .. } = *self.profile;
        // Only a flow has probes: one window under such a profile waits for the next batch.
        let is_flow = OF_FLOWS.iter().any(|it| self.given.contains_key(it));
        let effective = match effective {
            Effective::Probe if !is_flow => SEED.effective,
            it => it,
        };
        Some(WatermarkPlan {
            column: self.or("on", first, |it| values::column(schema, it)),
            delay: self.or("delay", delay, values::span),
            generator,
            effective: self.or("effective", effective, |it| value(EFFECTIVE, it)),
            fallback: self.fallback(),
            guard: self.or("guard", None, values::guard),
            initial: self.or("initial", initial, values::time),
        })
    }

    fn idle(&mut self) -> Option<IdlePlan> {
        if self.text("idle").unwrap_or("none") == "none" {
            self.refuse(&["rejoin", "all_idle"], "`idle=SPAN` with it: nothing is ever idle here");
            return None;
        }
        let Profile { rejoin, all_idle, .. } = *self.profile;
        let timeout = self.maybe("idle", values::span);
        let rejoin = self.or("rejoin", rejoin, |it| value(REJOIN, it));
        let all_idle = self.or("all_idle", all_idle, |it| value(ALL_IDLE, it));
        timeout.map(|timeout| IdlePlan { timeout, rejoin, all_idle })
    }

    fn fallback(&mut self) -> Option<Fallback> {
        let always = self.text("fallback_always").is_some();
        if always && self.text("fallback").is_some() {
            self.refuse(&["fallback_always"], "either this or `fallback`, not both");
        }
        let key = if always { "fallback_always" } else { "fallback" };
        self.maybe(key, values::span).map(|behind| Fallback { behind, always })
    }

    fn operator(
        &mut self,
        schema: &Schema,
        on: ColumnIx,
        lineage: &[LineageStep],
    ) -> Option<WindowPlan> {
        let Some(window) = self.or("window", Some(WINDOW), values::window) else {
            let because = "a window: with `window=none` this has no meaning";
            self.refuse(&["window_on", "key", "agg", "late", "late_policy"], because);
            return None;
        };
        let name = |it: &str| {
            let name = values::is_name(it).then(|| it.to_owned());
            name.ok_or_else(|| wrong("the name of a column", it))
        };
        Some(WindowPlan {
            time: self.or("window_on", default_window_on(schema, on, lineage), name),
            window,
            keys: self.or("key", default_key(schema), |it| values::key(schema, it)),
            aggregates: self.or("agg", vec![Aggregate::Count], |it| values::aggregates(schema, it)),
            late: self.or("late", self.profile.late, |it| value(LATE, it)),
            late_policy: self.or("late_policy", LatePolicy::Drop, |it| value(LATE_POLICY, it)),
        })
    }
}

/// `trigger` where it is not said: a step per row where the watermark counts per row.
pub(super) fn default_trigger(watermark: Option<&WatermarkPlan>) -> Trigger {
    match watermark.map(|it| it.effective) {
        Some(Effective::Row | Effective::Probe) => Trigger::Row,
        Some(Effective::NextBatch | Effective::BatchAfterNext) | None => Trigger::Batch,
    }
}

/// `key` where it is not said.
pub(super) fn default_key(schema: &Schema) -> Vec<ColumnIx> {
    schema.position("k").into_iter().collect()
}

/// `window_on` where it is not said: what the watermark's column is called after the lineage.
pub(super) fn default_window_on(schema: &Schema, on: ColumnIx, lineage: &[LineageStep]) -> String {
    let mut name = schema.columns.get(on.0).map_or("", |it| it.name.as_str());
    for step in lineage {
        if let LineageStep::Rename { from, to } = step
            && from == name
        {
            name = to;
        }
    }
    name.to_owned()
}
