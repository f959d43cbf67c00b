//! The plan of a run, read and checked.
//!
//! Invariant: a plan with a refusal does not run; its warnings are said before the first row.

use crate::console::Console;
use crate::diagnose::{diagnose, plan_mistake};
use crate::source;
use anyhow::{Result, bail};
use plimsoll_engine::plan::Plan;
use plimsoll_engine::plan::check::CheckedPlan;
use plimsoll_engine::row::{ColumnIx, ColumnKind};
use plimsoll_engine::time::ProcTime;
use plimsoll_sim::plan_toml::plan_from_toml;
use std::io::Write as _;
use std::path::Path;

/// A plan that may run.
pub(crate) struct Query {
    pub(crate) checked: CheckedPlan,
    /// Where the clock starts; 0 is the first arrival.
    pub(crate) clock: ProcTime,
    /// The event-time column.
    pub(crate) event: ColumnIx,
    /// For each column, whether the plan needs it.
    pub(crate) used: Vec<bool>,
}

/// Reads a plan.
pub(crate) fn read(path: &Path, console: &mut Console) -> Result<Query> {
    let source = source::read_text(path)?;
    let read = plan_from_toml(&source.text, &[]).map_err(|mistakes| {
        let mistakes: Vec<_> = mistakes.iter().map(plan_mistake).collect();
        diagnose(&source, &mistakes, console.err_colour)
    })?;
    let dialect = read.profile.dialect;
    let (checked, warnings) = match CheckedPlan::new(read.plan) {
        Ok(it) => it,
        Err(problems) => {
            let problems: Vec<_> = problems.iter().map(|it| it.told(dialect)).collect();
            bail!("{} cannot run:\n{}", source.name, problems.join("\n"))
        }
    };
    for warning in warnings {
        writeln!(console.err, "{}", warning.told(dialect))?;
    }
    let event = event(&checked)?;
    let used = used(&checked, event);
    Ok(Query { checked, clock: read.clock, event, used })
}

/// The watermark's column, or else the first one that holds times.
fn event(plan: &Plan) -> Result<ColumnIx> {
    if let Some(watermark) = &plan.watermark {
        return Ok(watermark.column);
    }
    let mut columns = plan.schema.columns.iter();
    match columns.position(|it| it.kind == ColumnKind::Time) {
        Some(at) => Ok(ColumnIx(at)),
        None => bail!("the plan has no column of times; write one such as columns = \"time:time\""),
    }
}

fn used(plan: &CheckedPlan, event: ColumnIx) -> Vec<bool> {
    // A flow hands on whole rows.
    let mut used = vec![plan.flow.is_some(); plan.schema.columns.len()];
    let operator = plan.operator.iter();
    let keys = operator.clone().flat_map(|it| it.keys.iter().copied());
    let values = operator.flat_map(|it| it.aggregates.iter().filter_map(|it| it.column()));
    for column in keys.chain(values).chain(plan.window_column()).chain([event]) {
        used[column.0] = true;
    }
    used
}
