//! Which stages the watermark has a say in: those whose time column is a mark's, unbroken.
//!
//! A filter, a rename and dedup keep the columns that are linked; a projection keeps those that it
//! keeps; a computed column is a new one. Windows and sessions link `window_start`, `window_end` and
//! `window_time`, a join both sides. A key that is the event time stays linked where it is a key of a
//! global window. Count windows link their `window_time`.
//!
//! Reading: the law is silent on broken links; semantics 3 and the plain query have it that nothing
//! is late then and nothing leaves before the end. A dedup without a time column is such a stage.
//!
//! Invariant: one answer per stage.

use plimsoll_engine::plan::Plan;
use plimsoll_engine::plan::flow::{Flow, StagePlan};
use plimsoll_engine::row::ColumnIx;

/// For each stage, whether the watermark has a say.
pub(super) fn follow(plan: &Plan, flow: &Flow) -> Vec<bool> {
    let schemas = flow.schemas(&plan.schema);
    let marks = flow.inputs.iter().flat_map(|it| &it.marks);
    let mut linked = vec![false; plan.schema.columns.len()];
    for mark in marks {
        if let Some(it) = linked.get_mut(mark.column.0) {
            *it = true;
        }
    }
    let mut acts = Vec::new();
    for (stage, after) in flow.stages.iter().zip(schemas.iter().skip(1)) {
        let on = |it: ColumnIx| linked.get(it.0).copied().unwrap_or(false);
        let width = after.columns.len();
        let (act, next) = match stage {
            StagePlan::Filter(_) | StagePlan::Rename(..) => (false, linked.clone()),
            StagePlan::Project(kept) => (false, kept.iter().map(|it| on(*it)).collect()),
            StagePlan::Compute(at) => {
                let mut next = linked.clone();
                if let Some(it) = next.get_mut(at.0) {
                    *it = false;
                }
                (false, next)
            }
            StagePlan::Window(it) => (on(it.time), times(width)),
            StagePlan::Session(it) => (on(it.time), times(width)),
            StagePlan::Global(it) => {
                let keys = it.keys.iter().map(|key| on(*key));
                let mut next: Vec<_> = keys.collect();
                next.resize(width, false);
                (it.time.is_some_and(|(time, _)| on(time)), next)
            }
            StagePlan::Count(_) => {
                let mut next = vec![false; width];
                next[width - 1] = true;
                (false, next)
            }
            StagePlan::Dedup(it) => (it.time.is_some_and(on), linked.clone()),
            StagePlan::Join(it) => (
                it.time.iter().all(|it| on(*it)),
                [&linked[..], &linked].concat()[..width].to_vec(),
            ),
            StagePlan::AsOf(it) => (
                it.time.iter().all(|it| on(*it)),
                [&linked[..], &linked].concat()[..width].to_vec(),
            ),
        };
        acts.push(act);
        linked = next;
    }
    acts
}

/// The three time columns of windows and sessions come first.
fn times(width: usize) -> Vec<bool> {
    (0..width).map(|it| it < 3).collect()
}
