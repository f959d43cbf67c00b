//! From a query of a vector to a plan of ours, with the rules of Spark's profile.
//!
//! The mapping knows what Spark's optimizer does before the first row: a filter that is written after
//! the watermark and does not name the event time is moved below it, so that its rows never show their
//! time; so are the null keys and the conditions of a side that a join cannot write alone
//! (spark-rules 1). A setting for one stateful operator only selects the other of Spark's two
//! profiles. What Spark refuses is taken from the problems of the plan
//! ([`plimsoll_engine::plan::problem::spark`]); what a plan of ours cannot even say is in [`refusal`].
//!
//! Invariant: the mapping sees the query only, never what is expected of it.

mod columns;
mod join;
mod reads;
pub mod refusal;
mod stages;

use super::{Against, Comparator, Input, OutputMode, Policy, Query, Step};
use columns::Columns;
use plimsoll_engine::plan::check::CheckedPlan;
use plimsoll_engine::plan::flow::{self, Compare, Filter, Flow, FollowUp, InputPlan, Mark};
use plimsoll_engine::plan::{self, Plan, Sink, Trigger, WatermarkPlan};
use plimsoll_engine::profile::{self, Profile};
use plimsoll_engine::row::{ColumnIx, ColumnKind, ColumnSpec, Dictionary, Schema};
use plimsoll_engine::time::Span;
use refusal::Refusal;

/// A query as we run it.
#[derive(Clone, Debug)]
pub struct Mapped {
    /// The plan; it has no refusal.
    pub plan: CheckedPlan,
    /// The columns that the sink gets.
    pub output: Columns,
    /// What fails once it runs.
    pub fails: Option<Refusal>,
    /// The rules of the engine.
    pub profile: Profile,
    /// Whether a key that is null equals another, as in a full outer join: nothing takes them away
    /// there, and Spark finds stored rows by the bytes of their keys.
    nulls_are_keys: bool,
}

impl Mapped {
    /// Whether a null key equals another.
    pub(super) fn nulls_are_keys(&self) -> bool {
        self.nulls_are_keys
    }
}

/// Why there is no plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unmapped {
    /// Spark refuses the query.
    Refused(Refusal),
    /// The query cannot be said here; the reason.
    Foreign(String),
}

/// The columns of every row, and those that a vector may add.
const COLUMNS: [(&str, ColumnKind); 5] = [
    ("ts", ColumnKind::Time),
    ("k", ColumnKind::Text),
    ("v", ColumnKind::Integer),
    ("ts2", ColumnKind::Time),
    ("gap", ColumnKind::Integer),
];

/// Maps a query, under the profile that its settings select.
///
/// # Errors
/// How Spark refuses it, or why it cannot be run here.
pub fn map(query: &Query) -> Result<Mapped, Unmapped> {
    map_under(query, profile_of(query)?)
}

/// Maps a query, under these rules.
///
/// # Errors
/// As [`map`].
pub fn map_under(query: &Query, profile: Profile) -> Result<Mapped, Unmapped> {
    if let Policy::Other(_) = query.watermark_policy {
        return Err(Unmapped::Refused(refusal::UNKNOWN_POLICY));
    }
    let schema = schema(query);
    let inputs = query.inputs.iter().map(|it| input_plan(it, &schema));
    let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
    let watermark = inputs.iter().flat_map(|it| &it.marks).next();
    let watermark = watermark.map(|it| watermark_plan(&profile, *it));
    let mut mapping = stages::Mapping {
        profile,
        mode: query.output_mode,
        times: stages::Time::of(inputs.first(), &schema, "").into_iter().collect(),
        inputs,
        stages: Vec::new(),
        columns: Columns::of(&schema),
        fails: Vec::new(),
        nulls_are_keys: false,
        as_asked: None,
        pairs: Vec::new(),
    };
    mapping.all(&query.operator)?;
    let stages::Mapping { inputs, stages, columns: output, mut fails, .. } = mapping;
    let (nulls_are_keys, as_asked) = (mapping.nulls_are_keys, mapping.as_asked);
    let flow = Flow {
        policy: match query.watermark_policy {
            Policy::Max => flow::Policy::Max,
            Policy::Min | Policy::Other(_) => flow::Policy::Min,
        },
        chain: profile.chain,
        follow_up: if query.no_data_batches { profile.follow_up } else { FollowUp::Never },
        null_time: profile.null_time,
        pairs: mapping.pairs,
        ..Flow::of(inputs, stages)
    };
    let plan = Plan {
        schema,
        watermark,
        lineage: Vec::new(),
        operator: None,
        output: output_mode(query.output_mode),
        sink: Sink::Keyed,
        trigger: Trigger::Batch,
        flow: Some(flow),
    };
    fails.extend(refusals(&as_it_was_asked(&plan, as_asked)));
    checked(plan, output, fails, profile, nulls_are_keys)
}

/// The plan with the join that was asked for.
fn as_it_was_asked(plan: &Plan, kind: Option<flow::JoinKind>) -> Plan {
    let mut plan = plan.clone();
    let first = plan.flow.as_mut().and_then(|it| it.stages.first_mut());
    if let (Some(flow::StagePlan::Join(join)), Some(kind)) = (first, kind) {
        join.kind = kind;
    }
    plan
}

/// How Spark refuses a plan.
fn refusals(plan: &Plan) -> Vec<Refusal> {
    plan::check::check(plan).iter().filter_map(|it| Refusal::of(it.code)).collect()
}

/// The plan if Spark does not refuse it, and we do not either.
fn checked(
    plan: Plan,
    output: Columns,
    mut refusals: Vec<Refusal>,
    profile: Profile,
    nulls_are_keys: bool,
) -> Result<Mapped, Unmapped> {
    // Of several at one moment Spark asks for the output mode first (UnsupportedOperationChecker).
    refusals.sort_by_key(|it| (it.moment, !it.is_of_mode()));
    let first = refusals.into_iter().next();
    if let Some(first) = first.filter(|it| !it.runs()) {
        return Err(Unmapped::Refused(first));
    }
    match CheckedPlan::new(plan) {
        Ok((plan, _)) => Ok(Mapped { plan, output, fails: first, profile, nulls_are_keys }),
        Err(problems) => {
            let refused: Vec<String> =
                problems.iter().filter(|it| it.is_refusal()).map(ToString::to_string).collect();
            Err(Unmapped::Foreign(refused.join("; ")))
        }
    }
}

fn foreign(what: impl Into<String>) -> Unmapped {
    Unmapped::Foreign(what.into())
}

/// The setting under which all operators share one pair of watermarks.
const ONE_WATERMARK: &str = "spark.sql.streaming.statefulOperator.allowMultiple";

/// The profile that the settings of a query select.
///
/// # Errors
/// A setting that has no profile.
pub fn profile_of(query: &Query) -> Result<Profile, Unmapped> {
    let mut name = "spark-4";
    for (setting, value) in &query.engine_conf {
        match (setting.as_str(), value.as_str()) {
            (ONE_WATERMARK, "false") => name = "spark-compat",
            (ONE_WATERMARK, "true") => {}
            _ => return Err(foreign(format!("the setting {setting}={value}"))),
        }
    }
    Ok(*profile::named(name).expect("a profile of ours"))
}

/// The query with the numbers of texts in their place.
pub(super) fn numbered(query: &Query, texts: &mut Dictionary) -> Query {
    let mut query = query.clone();
    for filter in query.inputs.iter_mut().filter_map(|it| it.filter.as_mut()) {
        if let Against::Text(text) = &filter.value {
            filter.value = Against::Number(texts.code(text));
        }
    }
    query
}

/// The columns of all inputs together. Texts are numbers in the order of the texts, so that they can be
/// compared.
fn schema(query: &Query) -> Schema {
    let extra =
        |name: &str| query.inputs.iter().flat_map(|it| &it.extra_columns).any(|it| it == name);
    let there = |(at, (name, _)): &(usize, &(&str, ColumnKind))| *at < 3 || extra(name);
    let columns = COLUMNS.iter().enumerate().filter(there);
    let column = |(_, (name, kind)): (usize, &(&str, ColumnKind))| ColumnSpec {
        name: (*name).to_owned(),
        kind: if *kind == ColumnKind::Text { ColumnKind::Integer } else { *kind },
    };
    Schema { columns: columns.map(column).collect() }
}

/// An input.
fn input_plan(input: &Input, schema: &Schema) -> Result<InputPlan, Unmapped> {
    // A column that is not there is left to the check: no column has that number.
    let position = |name: &str| schema.position(name).unwrap_or(ColumnIx(schema.columns.len()));
    let mark = |column: &str, delay: i64| Mark { column: position(column), delay: Span(delay) };
    let mut marks: Vec<Mark> = input.delay.iter().map(|it| mark(&input.column, *it)).collect();
    marks.extend(input.further.iter().map(|it| mark(&it.column, it.delay)));
    let mut plan = InputPlan::of(input.name.clone(), marks);
    if let Some(it) = &input.filter {
        let column = schema.position(&it.column);
        let column = column.ok_or_else(|| foreign(format!("a filter on `{}`", it.column)))?;
        let Against::Number(value) = it.value else {
            return Err(foreign("a text that has no number"));
        };
        push(&mut plan, Filter { column, compare: compare(it.op), value });
    }
    Ok(plan)
}

/// A condition that the optimizer moves as far down as it may: below every watermark that is on
/// another column.
fn push(input: &mut InputPlan, filter: Filter) {
    let marked = input.marks.iter().any(|it| it.column == filter.column);
    if marked { input.behind.push(filter) } else { input.before.push(filter) }
}

const fn compare(op: Comparator) -> Compare {
    match op {
        Comparator::Lt => Compare::Less,
        Comparator::Le => Compare::AtMost,
        Comparator::Gt => Compare::Greater,
        Comparator::Ge => Compare::AtLeast,
        Comparator::Eq => Compare::Equal,
        Comparator::Ne => Compare::Unequal,
    }
}

/// Keeps the rows in which the column is not null.
const fn known(column: ColumnIx) -> Filter {
    Filter { column, compare: Compare::AtLeast, value: i64::MIN }
}

const fn watermark_plan(profile: &Profile, first: Mark) -> WatermarkPlan {
    WatermarkPlan {
        column: first.column,
        delay: first.delay,
        generator: profile.generator,
        effective: profile.effective,
        fallback: None,
        guard: None,
        initial: profile.initial,
    }
}

const fn output_mode(mode: OutputMode) -> plan::OutputMode {
    match mode {
        OutputMode::Append => plan::OutputMode::Append,
        OutputMode::Update => plan::OutputMode::Update,
        OutputMode::Complete => plan::OutputMode::Complete,
    }
}

/// The query after a change at a restart. The policy stands in the checkpoint and does not change
/// (spark-rules 7).
pub fn changed(query: &Query, step: &Step) -> Query {
    let mut query = query.clone();
    if let Step::Restart(change) = step {
        for (input, change) in query.inputs.iter_mut().zip(&change.inputs) {
            input.delay = change.delay.or(input.delay);
        }
        query.no_data_batches = change.no_data_batches.unwrap_or(query.no_data_batches);
    }
    query
}

#[cfg(test)]
mod tests;
