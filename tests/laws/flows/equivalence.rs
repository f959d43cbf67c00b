//! A plain query and the same query as a flow of one input and one stage of windows: equal figures,
//! fates and watermarks, step by step.
//!
//! What ties the two halves of the engine together: the fast path for one window aggregation, and the
//! stages.
//!
//! Invariant: nothing but the form of the plan differs between the two runs.

use super::super::case::{check, plain};
use super::super::outcome::{Emitted, Name, Outcome, Write, first};
use super::super::{Held, Law, No, claim, need};
use plimsoll_engine::output::{EmissionKind, EmissionNote, FiringKind};
use plimsoll_engine::plan::check::window_column;
use plimsoll_engine::plan::flow::{
    Flow, HoleRule, InputPlan, Mark, PanePlan, StagePlan, WindowStage,
};
use plimsoll_engine::plan::{Aggregate, Effective, LineageStep, OutputMode, Plan, Trigger};
use plimsoll_engine::row::{ColumnIx, ColumnKind};
use plimsoll_engine::state::layout::Value;
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_sim::trace::{Item, Trace};

pub(in crate::laws) const EQUIVALENCE: Law = Law {
    name: "a plain query is a flow",
    world: plain,
    prepare: |_, _| {},
    holds: |trace, _| equal(trace),
    covered: 86,
    telling: 40,
};

#[test]
fn a_plain_query_and_the_same_as_a_flow_are_equal() {
    check(&EQUIVALENCE);
}

/// The stages of a lineage, the names that stand behind it, and where each of them came from.
type Lineage = (Vec<StagePlan>, Vec<String>, Vec<ColumnIx>);

fn lineage(plan: &Plan) -> Result<Lineage, No> {
    let mut names: Vec<String> = plan.schema.columns.iter().map(|it| it.name.clone()).collect();
    let mut from: Vec<ColumnIx> = (0..names.len()).map(ColumnIx).collect();
    let mut stages = Vec::new();
    for step in &plan.lineage {
        let at = |name: &String| names.iter().position(|it| it == name);
        let missing = || No::Uncovered("a lineage of columns that are there");
        match step {
            LineageStep::Rename { from, to } => {
                let at = at(from).ok_or_else(missing)?;
                stages.push(StagePlan::Rename(ColumnIx(at), to.clone()));
                names[at].clone_from(to);
            }
            LineageStep::Project(kept) => {
                let kept: Option<Vec<usize>> = kept.iter().map(at).collect();
                let kept = kept.ok_or_else(missing)?;
                names = kept.iter().map(|it| names[*it].clone()).collect();
                from = kept.iter().map(|it| from[*it]).collect();
                stages.push(StagePlan::Project(kept.into_iter().map(ColumnIx).collect()));
            }
            LineageStep::Compute(name) => {
                let at = at(name).ok_or_else(missing)?;
                stages.push(StagePlan::Compute(ColumnIx(at)));
            }
        }
    }
    Ok((stages, names, from))
}

/// The same query as a flow.
fn as_flow(plan: &Plan) -> Result<Plan, No> {
    let operator = plan.operator.as_ref().ok_or(No::Uncovered("windows"))?;
    let (mut stages, names, from) = lineage(plan)?;
    let missing = No::Uncovered("columns that the lineage keeps");
    let time = names.iter().position(|it| *it == operator.time);
    let at = |it: ColumnIx| from.iter().position(|from| *from == it).map(ColumnIx);
    let keys: Option<Vec<ColumnIx>> = operator.keys.iter().map(|it| at(*it)).collect();
    let moved = |it: &Aggregate| {
        Some(match *it {
            Aggregate::Count => Aggregate::Count,
            Aggregate::CountOf(it) => Aggregate::CountOf(at(it)?),
            Aggregate::Sum(it) => Aggregate::Sum(at(it)?),
            Aggregate::Min(it) => Aggregate::Min(at(it)?),
            Aggregate::Max(it) => Aggregate::Max(at(it)?),
            Aggregate::Avg(it) => Aggregate::Avg(at(it)?),
        })
    };
    let aggregates: Option<Vec<Aggregate>> = operator.aggregates.iter().map(moved).collect();
    let (Some(time), Some(keys), Some(aggregates)) = (time, keys, aggregates) else {
        return Err(missing);
    };
    stages.push(StagePlan::Window(WindowStage {
        time: ColumnIx(time),
        window: operator.window,
        keys,
        aggregates,
        late: operator.late,
        late_policy: operator.late_policy,
        lateness: Span::ZERO,
        panes: PanePlan::TOTALS,
        hole: HoleRule::NoWindow,
    }));
    let mark = plan.watermark.as_ref().map(|it| Mark { column: it.column, delay: it.delay });
    let (name, marks) = ("in".to_owned(), mark.into_iter().collect());
    let input = InputPlan::of(name, marks);
    let flow = Some(Flow::of(vec![input], stages));
    Ok(Plan { lineage: Vec::new(), operator: None, flow, ..plan.clone() })
}

/// A figure as a flow would write it.
fn emitted(write: &Write, aggregates: &[Aggregate]) -> Emitted {
    let mut cells = vec![Some(write.window.start.0), Some(write.window.end.0)];
    cells.push(Some((write.window.end - Span(1)).0));
    cells.extend_from_slice(&write.key);
    let nearest = |it: i128| it.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
    for (value, aggregate) in write.values.iter().zip(aggregates) {
        match *value {
            // An average is two columns.
            Value::Null if matches!(aggregate, Aggregate::Avg(_)) => {
                cells.extend([None, Some(0)]);
            }
            Value::Null => cells.push(None),
            Value::Int(it) => cells.push(Some(it)),
            Value::Wide(it) => cells.push(Some(nearest(it))),
            Value::Avg { sum, count } => {
                let sum = (0 < count).then(|| nearest(sum));
                cells.extend([sum, Some(count as i64)]);
            }
        }
    }
    let kind = match write.kind {
        FiringKind::OnTime => EmissionKind::OnTime,
        FiringKind::Update => EmissionKind::Update,
        FiringKind::Complete => EmissionKind::Complete,
    };
    let time = write.window.end - Span(1);
    Emitted { note: EmissionNote { step: write.step, kind, time, pane: 0 }, cells }
}

fn equal(trace: &Trace) -> Held {
    let plan = as_flow(&trace.plan)?;
    // A flow updates at the end of each pass, and has one pass per item where the watermark takes
    // effect per row; a plain query updates at the ends of steps.
    let by_row = trace.plan.watermark.as_ref().is_some_and(|it| it.effective == Effective::Row);
    let in_passes = by_row && trace.plan.trigger != Trigger::Row;
    need(trace.plan.output != OutputMode::Update || !in_passes, "updates at the ends of steps")?;
    // Else a row is asked for the time of its window first, and one without moves no watermark.
    let of_windows = window_column(&trace.plan) == Some(ColumnIx(trace.time_column()));
    need(of_windows, "windows of the times that the watermark is computed from")?;
    // A flow asks every time column for a legal time.
    let columns = trace.plan.schema.columns.iter().enumerate();
    let times = columns.filter(|it| it.1.kind == ColumnKind::Time).map(|it| it.0);
    let others: Vec<usize> = times.filter(|it| *it != trace.time_column()).collect();
    let legal = |it: &Item| match it {
        Item::Row(row) => {
            let cells = trace.cells(*row);
            others.iter().all(|at| cells[*at].is_none_or(|it| EventTime(it).is_legal()))
        }
        _ => true,
    };
    need(trace.items.iter().all(legal), "legal times in all columns")?;
    let plain = Outcome::of(trace)?;
    let flow = Outcome::of(&Trace { plan, ..trace.clone() })?;
    let steps = first(&plain.steps, &flow.steps, "step");
    claim(steps.is_none(), || steps.unwrap_or_default())?;
    // Since when the first watermark judges, a plain query says anew where a maximum rises below it.
    let late = |it: &Outcome| {
        let mut late = it.late.clone();
        for it in late.values_mut().filter(|it| !it.in_force.candidate.is_finite()) {
            it.in_force.since_step = 0;
        }
        late.into_iter().collect::<Vec<(Name, _)>>()
    };
    let differs = first(&late(&plain), &late(&flow), "late row");
    claim(differs.is_none(), || differs.unwrap_or_default())?;
    let other = |it: &Outcome| it.other.clone().into_iter().collect::<Vec<(Name, _)>>();
    let differs = first(&other(&plain), &other(&flow), "fate");
    claim(differs.is_none(), || differs.unwrap_or_default())?;
    let aggregates = trace.plan.operator.as_ref().map_or(&[][..], |it| &it.aggregates);
    let mut figures: Vec<Emitted> = plain.writes.iter().map(|it| emitted(it, aggregates)).collect();
    figures.sort();
    let differs = first(&figures, &flow.sorted().emitted, "figure");
    claim(differs.is_none(), || differs.unwrap_or_default())?;
    Ok(!figures.is_empty() && !plain.late.is_empty())
}
