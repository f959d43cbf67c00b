//! How long something of a row can be kept, in event time, and whether it ever goes.
//!
//! Each stage keeps a row for a while: until its window ends, its session's silence is over, its last
//! partner is late. One behind the other they add up. A row is gone once the watermark is that far
//! behind its time, if every stage lets its state go by the watermark and a watermark reaches it.
//!
//! Invariant: what is said is true whatever the rows are; where it depends on them, they are looked at.

use crate::trace::{Item, Trace};
use plimsoll_engine::plan::Plan;
use plimsoll_engine::plan::flow::{
    DedupExpiry, Flow, Gap, GlobalPlan, JoinKind, JoinPlan, NullTime, StagePlan,
};
use plimsoll_engine::row::{ColumnIx, ColumnKind};
use plimsoll_engine::time::Span;

/// The longest gap that a column of a world's rows says, where the rows are not there to be asked.
const GAP_MOST: i64 = 1 << 42;

/// For how long a plan may keep something of a row. `gap` is the longest one that rows say.
pub(crate) fn kept(plan: &Plan, gap: Span) -> Span {
    let Some(flow) = &plan.flow else {
        return plan.operator.as_ref().map_or(Span::ZERO, |it| it.window.size);
    };
    flow.stages.iter().map(|it| by(it, gap)).fold(Span(1), |sum, it| sum + it)
}

/// For how long one stage may.
fn by(stage: &StagePlan, gap: Span) -> Span {
    match stage {
        StagePlan::Window(it) => it.window.size + it.lateness,
        StagePlan::Session(it) => {
            it.lateness
                + match it.gap {
                    Gap::Fixed(it) => it,
                    Gap::Column(_) => gap,
                }
        }
        StagePlan::Dedup(it) => match it.expiry {
            DedupExpiry::After(it) => it + Span(1),
            // How far that is nobody says; `everything_leaves` asks for another.
            DedupExpiry::At(_) => Span(1),
            DedupExpiry::WithItsTime | DedupExpiry::Never => Span(1),
        },
        StagePlan::Join(it) => {
            let edges = it.ranges.iter().flat_map(|it| [it.lower, it.upper]).flatten();
            let furthest = edges.map(|it| it.at.0.saturating_abs()).max().unwrap_or(0);
            let window = it.window.map_or(Span::ZERO, |it| it.size + it.size);
            Span(furthest.saturating_add(2)) + it.grace + window
        }
        StagePlan::AsOf(it) => it.tolerance + Span(2),
        StagePlan::Global(_) => Span(2),
        StagePlan::Filter(_)
        | StagePlan::Project(_)
        | StagePlan::Rename(..)
        | StagePlan::Compute(_)
        | StagePlan::Count(_) => Span::ZERO,
    }
}

/// The largest delay of a plan.
pub(crate) fn delay(plan: &Plan) -> Span {
    let of_plan = plan.watermark.as_ref().map(|it| it.delay);
    let of_flow = plan.flow.iter().flat_map(|it| &it.inputs).flat_map(|it| &it.marks);
    of_flow.map(|it| it.delay).chain(of_plan).max().unwrap_or(Span::ZERO)
}

/// The longest gap that the rows of a trace say.
///
/// # Errors
/// Where that is not known.
pub(super) fn gap(trace: &Trace, flow: &Flow) -> Result<Span, &'static str> {
    let mut most = Span::ZERO;
    for (at, stage) in flow.stages.iter().enumerate() {
        let StagePlan::Session(it) = stage else { continue };
        let Gap::Column(column) = it.gap else { continue };
        let column = origin(flow, at, column).ok_or("gaps that the rows themselves say")?;
        let rows = trace.items.iter().filter_map(|it| match it {
            Item::Row(row) => trace.cells(*row)[column.0],
            _ => None,
        });
        most = most.max(Span(rows.max().unwrap_or(0)));
    }
    if GAP_MOST < most.0 { Err("gaps that are not near the ends of i64") } else { Ok(most) }
}

/// The column of the input that a stage knows as this one.
fn origin(flow: &Flow, stage: usize, column: ColumnIx) -> Option<ColumnIx> {
    let before = flow.stages[..stage].iter().rev();
    before.clone().all(StagePlan::is_stateless).then_some(())?;
    before.into_iter().try_fold(column, |column, stage| match stage {
        StagePlan::Project(kept) => kept.get(column.0).copied(),
        _ => Some(column),
    })
}

/// Whether every stage lets its state go by the watermark.
///
/// # Errors
/// What is missing for it.
pub(super) fn everything_leaves(trace: &Trace, flow: &Flow) -> Result<(), &'static str> {
    let mut reaches = true;
    for (stage, says) in flow.stages.iter().zip(flow.says(&trace.plan.schema)) {
        let gone = reaches && leaves(stage, says.removes);
        if !stage.is_stateless() && !gone {
            return Err("state that the watermark removes");
        }
        reaches &= lets_through(stage);
    }
    let stores = |it: &StagePlan| match it {
        StagePlan::Global(it) => it.time.is_some(),
        it => matches!(it, StagePlan::Dedup(_) | StagePlan::Join(_)),
    };
    let null_left = |it: &StagePlan| match it {
        StagePlan::Join(it) => matches!(it.kind, JoinKind::Right | JoinKind::Full),
        _ => false,
    };
    let nulls = has_null_time(trace) || 1 < flow.stages.len() && flow.stages.iter().any(null_left);
    if flow.null_time == NullTime::Epoch && flow.stages.iter().any(stores) && nulls {
        return Err("rows with an event time: others are kept for ever here");
    }
    Ok(())
}

fn leaves(stage: &StagePlan, linked: [bool; 2]) -> bool {
    match stage {
        StagePlan::Window(_) | StagePlan::Session(_) => linked[0],
        StagePlan::Global(GlobalPlan { time, .. }) => time.is_some() && linked[0],
        StagePlan::Dedup(it) => {
            let leaves = !matches!(it.expiry, DedupExpiry::Never | DedupExpiry::At(_));
            leaves && it.time.is_some() && linked[0]
        }
        StagePlan::Join(it) => linked == [true; 2] && is_bounded(it),
        StagePlan::AsOf(_) => linked == [true; 2],
        StagePlan::Count(_) => false,
        StagePlan::Filter(_)
        | StagePlan::Project(_)
        | StagePlan::Rename(..)
        | StagePlan::Compute(_) => true,
    }
}

fn lets_through(stage: &StagePlan) -> bool {
    match stage {
        StagePlan::Count(_) | StagePlan::Global(_) => false,
        StagePlan::Join(it) => is_bounded(it),
        _ => true,
    }
}

fn is_bounded(join: &JoinPlan) -> bool {
    let some = |end: fn(&plimsoll_engine::plan::flow::Range) -> bool| join.ranges.iter().any(end);
    // The loosest of several bounds is none where one of them says nothing.
    let all = |end: fn(&plimsoll_engine::plan::flow::Range) -> bool| {
        !join.ranges.is_empty() && join.ranges.iter().all(end)
    };
    let (lower, upper) = if join.expiry.loosest {
        (all(|it| it.lower.is_some()), all(|it| it.upper.is_some()))
    } else {
        (some(|it| it.lower.is_some()), some(|it| it.upper.is_some()))
    };
    join.window.is_some() || lower && upper
}

fn has_null_time(trace: &Trace) -> bool {
    let columns = &trace.plan.schema.columns;
    trace.items.iter().any(|it| match it {
        Item::Row(row) => {
            let mut cells = trace.cells(*row).iter().zip(columns);
            cells.any(|(cell, column)| column.kind == ColumnKind::Time && cell.is_none())
        }
        _ => false,
    })
}
