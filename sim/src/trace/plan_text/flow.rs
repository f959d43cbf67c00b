//! Flows as text: inputs with their watermarks, and stages one behind the other.
//!
//! ```text
//! inputs=left(5s),right(ts2:10s,v>=5),other(none)
//! stages=filter(v>=5)|join(left,on=k,from=-10min,to=5min)|window(tumbling(1h),key=l_k,agg=count+sum(r_v))
//! ```
//! An input is `NAME(..)` with a `SPAN` for each of its watermarks, `COLUMN:SPAN` where the watermark
//! is on another column than the plan's `on`, `none` where it has no watermark, and `COLUMN>=NUMBER`
//! for what is gone before the watermark sees it. Who says no span has the plan's `delay`. Without
//! `inputs` there is one, called `in`. The plan's own column and delay are those of the first watermark.
//!
//! A stage is `NAME(..)` with arguments, most of them `KEY=VALUE`; a list in an argument has `+` between
//! its parts, since commas part arguments. The names of columns are those that the stage is handed, and
//! where two columns have one name, it means the first. The time column, where none is named, is what
//! the plan's `on` is called there: `window_time` behind windows, `l_` and its name behind a join.
//!
//! Of a join's bounds on `r.t - l.t`, a lower one (`from`, open `after`) begins a range, and an upper one
//! (`to`, open `before`) ends it, or is one by itself; `from=none` and `to=none` are ends that are not there.
//!
//! Levels of combination ([`levels`]) have a key of their own.
//!
//! Invariant: the reader and the writer take defaults from the same functions, those of this file.

mod args;
mod bounds;
mod columns;
mod inputs;
pub(super) mod levels;
mod stage;
mod stage_text;

pub(super) use columns::{Columns, pair_filters_text};
pub(super) use inputs::{inputs, inputs_text};
pub(super) use stage::stages;
pub(super) use stage_text::stage_texts;

use plimsoll_engine::plan::flow::{DedupExpiry, Flow, InputPlan, Mark, StagePlan};
use plimsoll_engine::plan::{Plan, WatermarkPlan};
use plimsoll_engine::profile::Profile;
use plimsoll_engine::row::{ColumnIx, ColumnKind, Schema};
use plimsoll_engine::time::Span;

/// What the only input is called where `inputs` is not said.
const INPUT: &str = "in";

/// What stages take from the rest of the plan.
#[derive(Clone, Copy)]
pub(super) struct Rules<'a> {
    /// The column of the first watermark, or the first time column.
    pub(super) on: &'a str,
    /// The delay of the first watermark.
    pub(super) delay: Option<Span>,
    /// Where what is not said comes from.
    pub(super) profile: &'a Profile,
}

/// The rules that the text of a plan is written against.
pub(super) fn rules(plan: &Plan) -> Rules<'_> {
    let first = plan.schema.columns.iter().position(|it| it.kind == ColumnKind::Time).unwrap_or(0);
    let on = plan.watermark.as_ref().map_or(ColumnIx(first), |it| it.column);
    Rules {
        on: super::values::name(&plan.schema, on),
        delay: plan.watermark.as_ref().map(|it| it.delay),
        profile: super::read::SEED,
    }
}

/// `inputs` where it is not said.
pub(super) fn default_inputs(watermark: Option<&WatermarkPlan>) -> Vec<InputPlan> {
    let mark = watermark.map(|it| Mark { column: it.column, delay: it.delay });
    let marks = mark.into_iter().collect();
    vec![InputPlan::of(INPUT.to_owned(), marks)]
}

/// The first watermark of a flow.
pub(super) fn first_mark(flow: &Flow) -> Option<Mark> {
    flow.inputs.iter().find_map(|it| it.marks.first().copied())
}

/// The time column of a stage that names none: the one that is called so, or the first of its kind.
fn default_time(handed: &Schema, name: &str) -> Option<ColumnIx> {
    let first = || handed.columns.iter().position(|it| it.kind == ColumnKind::Time).map(ColumnIx);
    handed.position(name).or_else(first)
}

/// What the time column is called behind a stage.
fn time_behind(stage: &StagePlan, handed: &Schema, name: &str) -> String {
    let name_of = |column: ColumnIx| super::values::name(handed, column);
    match stage {
        StagePlan::Rename(column, to) if name_of(*column) == name => to.clone(),
        StagePlan::Filter(_)
        | StagePlan::Project(_)
        | StagePlan::Rename(..)
        | StagePlan::Compute(_)
        | StagePlan::Dedup(_) => name.to_owned(),
        StagePlan::Window(_) | StagePlan::Session(_) | StagePlan::Count(_) => {
            "window_time".to_owned()
        }
        StagePlan::Global(it) => it.time.map_or(name, |it| name_of(it.0)).to_owned(),
        StagePlan::Join(it) => format!("l_{}", name_of(it.time[0])),
        StagePlan::AsOf(it) => format!("l_{}", name_of(it.time[0])),
    }
}

/// `key` where it is not said.
fn default_key(handed: &Schema) -> Vec<ColumnIx> {
    handed.position("k").or_else(|| handed.position("l_k")).into_iter().collect()
}

/// `on` of a join where it is not said.
fn default_on(handed: &Schema) -> Vec<(ColumnIx, ColumnIx)> {
    handed.position("k").map(|it| (it, it)).into_iter().collect()
}

/// When a dedup forgets, where it is not said.
fn default_expiry(
    columns: &[ColumnIx],
    time: Option<ColumnIx>,
    delay: Option<Span>,
) -> DedupExpiry {
    match (time, delay) {
        (Some(time), _) if columns.contains(&time) => DedupExpiry::WithItsTime,
        (Some(_), Some(delay)) => DedupExpiry::After(delay),
        _ => DedupExpiry::Never,
    }
}
