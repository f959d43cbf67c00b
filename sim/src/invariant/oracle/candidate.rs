//! I43: steps, candidate, watermark and partitions are what the definition says.
//!
//! Not compared: the bound that judged rows where none was judged, bounds without effect (complete
//! mode), a partition's maximum where there is no watermark, its alignment unless it is active, and
//! partitions after the query has stopped.
//!
//! Invariant: only values that semantics section 2 fixes are compared.

use super::text;
use crate::invariant::Observation;
use crate::oracle::{ExpectedStep, Oracle};
use plimsoll_engine::output::StepRecord;
use plimsoll_engine::time::EventTime;
use plimsoll_engine::watermark::member::{Member, MemberState};

/// The first thing that differs.
pub(super) fn disagreement(oracle: &Oracle, seen: &Observation<'_>) -> Option<String> {
    let (expected, found) = (&oracle.expected().steps, &seen.output.steps);
    let different = expected
        .iter()
        .zip(found)
        .find_map(|(expected, found)| step(expected, found))
        .or_else(|| count(expected, found))
        .or_else(|| after(oracle, seen))
        .or_else(|| members(oracle, seen))?;
    let members = |it| text::members(seen.trace, it);
    let (ours, theirs) = (members(oracle.members()), members(seen.view.members));
    Some(format!("{different}; partitions expected: {ours}; found: {theirs}"))
}

fn step(expected: &ExpectedStep, found: &StepRecord) -> Option<String> {
    let at = expected.step;
    if at != found.step {
        return Some(format!("step number: expected {at}, found {}", found.step));
    }
    if expected.kind != found.kind {
        let (ours, theirs) = (expected.kind, found.kind);
        return Some(format!("kind of step {at}: expected {ours:?}, found {theirs:?}"));
    }
    if expected.now != found.now {
        let (ours, theirs) = (expected.now.0, found.now.0);
        return Some(format!("clock of step {at}: expected {ours}, found {theirs} milliseconds"));
    }
    let time = |what: &str, ours: EventTime, theirs: EventTime| {
        let differ = || differ(&format!("{what} step {at}"), ours, theirs);
        (ours != theirs).then(differ)
    };
    None.or_else(|| expected.late.and_then(|it| time("watermark that judged", it, found.late)))
        .or_else(|| expected.evict.and_then(|it| time("watermark that closed in", it, found.evict)))
        .or_else(|| time("candidate after", expected.candidate, found.candidate))
        .or_else(|| time("watermark after", expected.watermark, found.watermark))
}

fn count(expected: &[ExpectedStep], found: &[StepRecord]) -> Option<String> {
    let (ours, theirs) = (expected.len(), found.len());
    (ours != theirs).then(|| format!("steps of this item: expected {ours}, found {theirs}"))
}

fn after(oracle: &Oracle, seen: &Observation<'_>) -> Option<String> {
    let view = &seen.view;
    let pairs = [
        ("candidate", oracle.candidate(), view.candidate),
        ("largest candidate", oracle.candidate_max(), view.candidate_max),
        ("watermark", oracle.watermark(), view.watermark),
    ];
    let times = pairs.into_iter().find(|(_, ours, theirs)| ours != theirs);
    if let Some((what, ours, theirs)) = times {
        return Some(differ(&format!("{what} after the item"), ours, theirs));
    }
    if oracle.stopped() != view.stopped {
        let (ours, theirs) = (oracle.stopped(), view.stopped);
        return Some(format!("query stopped: expected {ours}, found {theirs}"));
    }
    None
}

fn members(oracle: &Oracle, seen: &Observation<'_>) -> Option<String> {
    if oracle.stopped() {
        return None;
    }
    let (ours, theirs) = (oracle.members(), seen.view.members);
    if ours.len() != theirs.len() {
        let (ours, theirs) = (ours.len(), theirs.len());
        return Some(format!("number of partitions: expected {ours}, found {theirs}"));
    }
    let with_maximum = seen.trace.plan.watermark.is_some();
    let differ = |(ours, theirs): (&Member, &Member)| {
        let p = seen.trace.partition_text(ours.partition);
        if ours.partition != theirs.partition {
            let theirs = seen.trace.partition_text(theirs.partition);
            Some(format!("partition: expected {p}, found {theirs}"))
        } else if ours.state != theirs.state {
            let (ours, theirs) = (ours.state, theirs.state);
            Some(format!("state of {p}: expected {ours:?}, found {theirs:?}"))
        } else if with_maximum && ours.max != theirs.max {
            Some(differ(&format!("largest time of {p}"), ours.max, theirs.max))
        } else if ours.state == MemberState::Active && ours.aligned != theirs.aligned {
            let (ours, theirs) = (ours.aligned, theirs.aligned);
            Some(format!("{p} aligned: expected {ours}, found {theirs}"))
        } else {
            None
        }
    };
    ours.iter().zip(theirs).find_map(differ)
}

fn differ(what: &str, ours: EventTime, theirs: EventTime) -> String {
    format!("{what}: expected {}, found {}", text::time(ours), text::time(theirs))
}
