//! Chains: nothing that a stage writes is late at the next, and stages hand over what they say (I24).
//!
//! What one stage wrote in a step the next was handed in that step. Behind the first stateful stage no
//! row is dropped, and no stage judges by more than what removed there in the step before. The values
//! that remove never fall, and those of a stage are not ahead of the stage before.
//!
//! A row may be late all the same where both bounds are the same at every stage, where a row may be
//! behind by a grace, and where a time that equals the bound is late: such flows are skipped.
//!
//! Invariant: only records of one step, and the highest values so far, are compared.

use super::super::past::{Past, Scope};
use super::super::words::time;
use super::super::{Invariant, Observation};
use super::followed;
use plimsoll_engine::output::StageRecord;
use plimsoll_engine::plan::flow::{Chain, StagePlan};
use plimsoll_engine::plan::{LateRule, OutputMode};
use plimsoll_engine::time::{EventTime, Span};

/// I24.
pub const LATE: &str = "I24 nothing_is_late_inside";
/// I24, the records.
pub const HANDED: &str = "I24 stages_hand_over";

pub(in super::super) fn late(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    let flow = followed(scope)?;
    let first = flow.stateful().map_or(usize::MAX, |it| it.0);
    let behind = flow.flow.stages.iter().skip(first.saturating_add(1));
    if behind.clone().all(StagePlan::is_stateless) {
        return Err("several stateful stages");
    }
    if flow.flow.chain != Chain::Previous {
        return Err("a chain that judges by what removed in the pass before");
    }
    let joins = flow.flow.joins();
    let judges = |(at, link): (usize, &[bool; 2])| {
        flow.flow.stages[at].is_stateless() || link[0] && (!joins || at > 0 || link[1])
    };
    if !flow.links.iter().enumerate().all(judges) {
        return Err("stages that all judge by the watermark");
    }
    let inclusive = |it: &StagePlan| match it {
        StagePlan::Window(it) => it.late == LateRule::EventInclusive,
        StagePlan::Dedup(it) => it.late == LateRule::EventInclusive,
        StagePlan::Global(it) => it.time.is_some_and(|it| it.1 == LateRule::EventInclusive),
        _ => false,
    };
    if behind.clone().any(inclusive) {
        return Err("later stages at which a time that equals the bound is on time");
    }
    if !flow.removes_what_nobody_meets() {
        return Err("a join that lets through no more than it may still write");
    }
    let graceful = |it: &StagePlan| matches!(it, StagePlan::Join(it) if it.grace != Span::ZERO);
    if flow.flow.stages.iter().any(graceful) {
        return Err("a join without a grace");
    }
    Ok(Box::new(Late { first }))
}

#[derive(Debug)]
struct Late {
    first: usize,
}

impl Invariant for Late {
    fn name(&self) -> &'static str {
        LATE
    }

    fn observe(&mut self, seen: &Observation<'_>, _: &Past) -> Result<(), String> {
        let behind = |it: &&StageRecord| self.first < it.stage && 0 < it.rows_dropped;
        match seen.output.stages.iter().find(behind) {
            None => Ok(()),
            Some(it) => Err(format!(
                "in step {} stage {} dropped {} of the {} rows that the stage before it had \
                 written; it judged by {}",
                it.step,
                it.stage,
                it.rows_dropped,
                it.rows_in,
                time(it.late[0])
            )),
        }
    }
}

pub(in super::super) fn handed(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    let flow = followed(scope)?;
    let stages = flow.flow.stages.len();
    if stages < 2 {
        return Err("several stages");
    }
    let linked = flow.says.iter().map(|it| it.removes.contains(&true)).collect();
    // In complete mode groups keep all and judge nobody, and stages beside them forget as ever.
    if scope.mode == OutputMode::Complete && flow.flow.stages.iter().any(StagePlan::is_grouping) {
        return Err("an output mode in which groups leave");
    }
    Ok(Box::new(Handed { linked, evict: vec![scope.initial; stages] }))
}

#[derive(Debug)]
struct Handed {
    /// Whether the watermark has a say at a stage.
    linked: Vec<bool>,
    /// The highest value that removed at each stage.
    evict: Vec<EventTime>,
}

impl Invariant for Handed {
    fn name(&self) -> &'static str {
        HANDED
    }

    fn observe(&mut self, seen: &Observation<'_>, _: &Past) -> Result<(), String> {
        for pair in seen.output.stages.windows(2) {
            let [before, after] = pair else { continue };
            if before.step != after.step {
                continue;
            }
            let (step, at) = (after.step, after.stage);
            if before.rows_out != after.rows_in {
                let (out, into) = (before.rows_out, after.rows_in);
                return Err(format!(
                    "in step {step} stage {} wrote {out} rows and stage {at} was handed {into}",
                    before.stage
                ));
            }
            let ahead = before.evict[0].max(before.evict[1]);
            let linked = self.linked.get(at - 1) == Some(&true);
            if linked && ahead < after.evict[0] {
                let (own, ahead) = (time(after.evict[0]), time(ahead));
                return Err(format!(
                    "in step {step} stage {at} removes by {own}, ahead of the stage before it ({ahead})"
                ));
            }
        }
        for it in &seen.output.stages {
            let Some(highest) = self.evict.get_mut(it.stage) else { continue };
            let late = it.late[0];
            if *highest < late && 0 < it.stage && it.evict[0] < late {
                return Err(format!(
                    "in step {} stage {} judged by {}, which nothing has removed by",
                    it.step,
                    it.stage,
                    time(late)
                ));
            }
            *highest = (*highest).max(it.evict[0]);
        }
        Ok(())
    }
}
