//! Checks of flows: joins, sessions, panes, the size of state, chains, inputs.
//!
//! Each compares what the last stage wrote with the rows that the records of the system admitted
//! ([`past`]). A check asks for the shape of the flow that its statement is about, and is skipped for
//! others: a join alone for joins, a session last for sessions, and so on.
//!
//! Invariant: only what the system said and what the trace held so far is looked at.

pub mod chain;
pub mod inputs;
pub mod join;
pub mod null_row;
pub mod pane;
pub mod past;
pub mod session;
pub mod state;
#[cfg(test)]
mod tests;
mod words;

use super::past::Scope;
use plimsoll_engine::plan::OutputMode;
use plimsoll_engine::plan::flow::{Flow, Judged, Says, Sides, StagePlan};

/// Traces with more items are not followed row by row.
const ITEMS_UP_TO: usize = 2_000;

/// The flow of a plan, and the columns of its inputs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowScope {
    /// The flow.
    pub flow: Flow,
    /// For every stage and side, whether the watermark speaks of its time.
    pub links: Vec<[bool; 2]>,
    /// For every stage, in what the watermark has a say.
    pub says: Vec<Says>,
    /// Whether the trace is short enough to look at every row.
    pub short: bool,
}

impl FlowScope {
    pub(super) fn new(trace: &crate::trace::Trace) -> Option<Self> {
        let flow = trace.plan.flow.clone()?;
        let links = flow.links(&trace.plan.schema);
        let says = flow.says(&trace.plan.schema);
        Some(Self { flow, links, says, short: trace.items.len() <= ITEMS_UP_TO })
    }

    /// Whether whoever could meet what a join has removed is late: rows of one side leave only where
    /// those of the other are judged, and by the time that the join works on; and none is left out
    /// that a row of its own pass may meet.
    fn removes_what_nobody_meets(&self) -> bool {
        let Some(says) = self.says.first().filter(|_| self.flow.joins()) else { return true };
        let all = |it: &StagePlan| match it {
            StagePlan::Join(it) => matches!(it.sides, Sides::Own | Sides::Combined),
            _ => true,
        };
        if !self.flow.stages.iter().all(all) {
            return false;
        }
        let own =
            |it: usize| self.flow.inputs.get(it).is_none_or(|it| it.judged == Judged::ItsTime);
        (0..2).all(|it| !says.removes[it] || says.judges[1 - it] && own(1 - it))
    }

    /// The first stage that keeps anything, and where it stands.
    fn stateful(&self) -> Option<(usize, &StagePlan)> {
        self.flow.stages.iter().enumerate().find(|it| !it.1.is_stateless())
    }

    /// Whether the columns at a stage are still those of the input.
    fn has_input_columns(&self, stage: usize) -> bool {
        self.flow.stages[..stage].iter().all(|it| {
            matches!(it, StagePlan::Filter(_) | StagePlan::Rename(..) | StagePlan::Compute(_))
        })
    }
}

/// The flow, where the trace is short enough to follow its rows.
fn followed(scope: &Scope) -> Result<&FlowScope, &'static str> {
    match &scope.flow {
        None => Err("a flow"),
        Some(it) if !it.short => Err("a trace that is followed row by row"),
        // A paused partition's rows wait at their source, and nobody sees when they are taken.
        Some(it) if it.flow.levels.as_ref().is_some_and(|it| it.alignment.is_some()) => {
            Err("rows that are taken when they come")
        }
        Some(it) => Ok(it),
    }
}

/// Whether append mode is what the plan writes.
fn appends(scope: &Scope) -> Result<(), &'static str> {
    if scope.mode == OutputMode::Append { Ok(()) } else { Err("append mode") }
}
