//! What laws need of a flow: how a drawn one is brought there, and how it is asked.
//!
//! Invariant: what prepares a flow is never taken for granted by a law.

use super::super::shape::{Rules, rules, watermark};
use super::super::{No, need};
use super::KEY;
use plimsoll_engine::plan::flow::{
    Chain, CountPlan, Expiry, Flow, FollowUp, GlobalPlan, HoleRule, JoinKind, JoinPlan, NullTime,
    SessionLate, SessionPlan, StagePlan, WindowStage,
};
use plimsoll_engine::plan::{Aggregate, LateRule, OutputMode, Sink};
use plimsoll_engine::row::{ColumnIx, ColumnKind};
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_sim::trace::Trace;
use std::ops::Deref;

/// A flow, and the rules around it.
#[derive(Clone, Copy)]
pub(in crate::laws) struct FlowTerms<'a> {
    pub(in crate::laws) flow: &'a Flow,
    rules: Rules<'a>,
    trace: &'a Trace,
}

impl<'a> Deref for FlowTerms<'a> {
    type Target = Rules<'a>;
    fn deref(&self) -> &Rules<'a> {
        &self.rules
    }
}

/// The terms of a plan with a flow, whose stages all work on times that the watermark speaks of.
pub(in crate::laws) fn flow_terms(trace: &Trace) -> Result<FlowTerms<'_>, No> {
    let rules = rules(trace)?;
    let flow = trace.plan.flow.as_ref().ok_or(No::Uncovered("a flow"))?;
    let first = flow.inputs.iter().flat_map(|it| &it.marks).next();
    let same = first.is_some_and(|it| it.column == rules.watermark.column);
    need(same, "a first mark on the column of the watermark")?;
    Ok(FlowTerms { flow, rules, trace })
}

impl<'a> FlowTerms<'a> {
    /// Delay and lag are fixed: no step comes or stays away because of the watermark.
    pub(in crate::laws) fn never_follows(&self) -> Result<(), No> {
        need(self.flow.follow_up == FollowUp::Never, "no steps that follow")
    }

    /// What a stage hands to the next is judged by what removed before.
    pub(in crate::laws) fn chained(&self) -> Result<(), No> {
        let single = self.stateful().count() < 2;
        need(single || self.flow.chain == Chain::Previous, "stages that lose nothing in between")
    }

    /// The stages that keep state.
    pub(in crate::laws) fn stateful(&self) -> impl Iterator<Item = &'a StagePlan> + use<'a> {
        self.flow.stages.iter().filter(|it| !it.is_stateless())
    }

    /// The first of them.
    pub(in crate::laws) fn first(&self) -> Result<&'a StagePlan, No> {
        self.stateful().next().ok_or(No::Uncovered("a stage that keeps state"))
    }

    /// All of them are such.
    pub(in crate::laws) fn all(
        &self,
        such: impl Fn(&StagePlan) -> bool,
        what: &'static str,
    ) -> Result<(), No> {
        need(self.stateful().all(such), what)
    }

    /// The only stage, which is one of fixed windows.
    pub(in crate::laws) fn window(&self) -> Result<&'a WindowStage, No> {
        match &self.flow.stages[..] {
            [StagePlan::Window(it)] => Ok(it),
            _ => Err(No::Uncovered("one stage of windows")),
        }
    }

    /// The only stage, which is one of sessions.
    pub(in crate::laws) fn session(&self) -> Result<&'a SessionPlan, No> {
        match &self.flow.stages[..] {
            [StagePlan::Session(it)] => Ok(it),
            _ => Err(No::Uncovered("one stage of sessions")),
        }
    }

    /// The only stage, which is a join with an exact expiry.
    pub(in crate::laws) fn join(&self) -> Result<&'a JoinPlan, No> {
        match &self.flow.stages[..] {
            [StagePlan::Join(it)] if it.expiry == Expiry::EXACT => Ok(it),
            _ => Err(No::Uncovered("one join, of exact expiry")),
        }
    }

    /// One input.
    pub(in crate::laws) fn one_input(&self) -> Result<(), No> {
        need(self.flow.inputs.len() == 1, "one input")
    }

    /// Every row shows its time, whatever else is in it.
    pub(in crate::laws) fn nothing_filtered_before(&self) -> Result<(), No> {
        need(self.flow.inputs.iter().all(|it| it.before.is_empty()), "no filter at the source")
    }

    /// A missing time is no time.
    pub(in crate::laws) fn null_is_nowhere(&self) -> Result<(), No> {
        need(self.flow.null_time == NullTime::Nowhere, "a null time that is nowhere")
    }

    /// Where the key stands in what comes out: the first of these columns that is not null. An error
    /// where some stage looks at rows of several keys together, or at the key as at a number.
    pub(in crate::laws) fn keys_out(&self) -> Result<Vec<usize>, No> {
        let schemas = self.flow.schemas(&self.trace.plan.schema);
        let mut at = vec![KEY.0];
        for (stage, schema) in self.flow.stages.iter().zip(&schemas) {
            let next =
                if at.len() == 1 { handed(stage, at[0], schema.columns.len()) } else { None };
            at = next.ok_or(No::Uncovered("stages that work key by key"))?;
        }
        let reads = |it: &plimsoll_engine::plan::flow::InputPlan| {
            it.before.iter().any(|it| it.column == KEY)
        };
        need(!self.flow.inputs.iter().any(reads), "a key that is only a key")?;
        Ok(at)
    }

    /// The columns of what comes out that hold times.
    pub(in crate::laws) fn times_out(&self) -> Vec<usize> {
        let schemas = self.flow.schemas(&self.trace.plan.schema);
        let columns = schemas.last().expect("at least the input's").columns.iter().enumerate();
        columns.filter(|it| it.1.kind == ColumnKind::Time).map(|it| it.0).collect()
    }
}

/// Where a stage leaves the key that it is handed in a column of so many.
fn handed(stage: &StagePlan, key: usize, columns: usize) -> Option<Vec<usize>> {
    let reads = |all: &[Aggregate]| all.iter().any(|it| it.column() == Some(ColumnIx(key)));
    let position = |all: &[ColumnIx]| all.iter().position(|it| it.0 == key);
    let grouped = |keys: &[ColumnIx], aggregates: &[Aggregate], before: usize| {
        let at = position(keys).filter(|_| !reads(aggregates))?;
        Some(vec![before + at])
    };
    match stage {
        StagePlan::Filter(it) => (it.column.0 != key).then(|| vec![key]),
        StagePlan::Rename(..) | StagePlan::Compute(_) => Some(vec![key]),
        StagePlan::Project(kept) => position(kept).map(|it| vec![it]),
        StagePlan::Window(it) => grouped(&it.keys, &it.aggregates, 3),
        StagePlan::Session(it) => grouped(&it.keys, &it.aggregates, 3),
        StagePlan::Global(GlobalPlan { keys, aggregates, .. })
        | StagePlan::Count(CountPlan { keys, aggregates, .. }) => grouped(keys, aggregates, 0),
        StagePlan::Dedup(it) => position(&it.columns).map(|_| vec![key]),
        StagePlan::Join(it) => {
            let filtered = it.only_if.iter().flatten().any(|it| it.column.0 == key);
            let keyed = it.on.contains(&(ColumnIx(key), ColumnIx(key))) && !filtered;
            let right_alone = matches!(it.kind, JoinKind::Right | JoinKind::Full);
            keyed.then(|| if right_alone { vec![key, columns + key] } else { vec![key] })
        }
        StagePlan::AsOf(it) => it.on.contains(&(ColumnIx(key), ColumnIx(key))).then(|| vec![key]),
    }
}

/// Whether lateness at this stage is a matter of the row and of what is in force alone.
pub(in crate::laws) fn judges_alone(stage: &StagePlan) -> bool {
    !matches!(stage, StagePlan::Session(it) if it.late == SessionLate::Merged)
}

/// Whether a row is late at this stage iff its own time is before what is in force.
pub(in crate::laws) fn judges_by_event(stage: &StagePlan) -> bool {
    match stage {
        StagePlan::Window(it) => it.late == LateRule::Event && it.hole == HoleRule::NoWindow,
        StagePlan::Session(it) => it.late == SessionLate::Event,
        StagePlan::Dedup(it) => it.late == LateRule::Event,
        StagePlan::Join(it) => it.late == LateRule::Event,
        StagePlan::Global(it) => it.time.is_none_or(|it| it.1 == LateRule::Event),
        StagePlan::Count(_) | StagePlan::AsOf(_) => true,
        StagePlan::Filter(_)
        | StagePlan::Project(_)
        | StagePlan::Rename(..)
        | StagePlan::Compute(_) => true,
    }
}

/// Every stage judges rows by their own time.
pub(in crate::laws) fn by_event(trace: &mut Trace) {
    for stage in &mut flow(trace).stages {
        match stage {
            StagePlan::Window(it) => {
                (it.late, it.hole) = (LateRule::Event, HoleRule::NoWindow);
            }
            StagePlan::Session(it) => it.late = SessionLate::Event,
            StagePlan::Dedup(it) => it.late = LateRule::Event,
            StagePlan::Join(it) => it.late = LateRule::Event,
            StagePlan::Global(GlobalPlan { time: Some(it), .. }) => it.1 = LateRule::Event,
            _ => {}
        }
    }
}

/// The flow of a plan.
pub(in crate::laws) fn flow(trace: &mut Trace) -> &mut Flow {
    trace.plan.flow.as_mut().expect("a world of flows")
}

/// Every stage of the flow that is a join.
pub(in crate::laws) fn each_join(trace: &mut Trace, change: impl Fn(&mut JoinPlan)) {
    for stage in &mut flow(trace).stages {
        if let StagePlan::Join(it) = stage {
            change(it);
        }
    }
}

/// Every stage of the flow that has sessions.
pub(in crate::laws) fn each_session(trace: &mut Trace, change: impl Fn(&mut SessionPlan)) {
    for stage in &mut flow(trace).stages {
        if let StagePlan::Session(it) = stage {
            change(it);
        }
    }
}

/// Every stage of the flow that has windows.
pub(in crate::laws) fn each_window(trace: &mut Trace, change: impl Fn(&mut WindowStage)) {
    for stage in &mut flow(trace).stages {
        if let StagePlan::Window(it) = stage {
            change(it);
        }
    }
}

/// Append mode, w = -inf first, no wall clock, no guard, no steps that follow, nothing lost between
/// stages.
pub(in crate::laws) fn settle(trace: &mut Trace) {
    (trace.plan.output, trace.plan.sink) = (OutputMode::Append, Sink::Append);
    let watermark = watermark(&mut trace.plan);
    (watermark.fallback, watermark.guard) = (None, None);
    watermark.initial = EventTime::MIN;
    let flow = flow(trace);
    (flow.follow_up, flow.chain) = (FollowUp::Never, Chain::Previous);
}

/// The same flow with another delay of one input: more by a span.
pub(in crate::laws) fn waiting_longer(trace: &Trace, input: usize, by: Span) -> Trace {
    let mut other = trace.clone();
    for mark in &mut flow(&mut other).inputs[input].marks {
        mark.delay = mark.delay + by;
    }
    if input == 0 {
        // The plan's own delay is that of the first mark.
        let watermark = watermark(&mut other.plan);
        watermark.delay = watermark.delay + by;
    }
    other
}
