//! The keys of a plan and the words of its knobs.
//!
//! One table per knob, read in both directions, so that what is written can be read.
//!
//! Invariant: no word stands twice in a table, and every variant of a knob has one.

use crate::trace::words::shown;
use plimsoll_engine::plan::flow::{
    Carry, Chain, Compare, FollowUp, HoleRule, JoinKind, NullTime, Policy, SessionLate, Sides,
    Touching,
};
use plimsoll_engine::plan::{
    AllIdle, Effective, GuardAction, LatePolicy, LateRule, OutputMode, Rejoin, Sink,
};
use plimsoll_engine::row::ColumnKind;

/// All keys, in the order in which they are written.
pub const KEYS: [&str; 33] = [
    "profile",
    "window",
    "delay",
    "inputs",
    "policy",
    "watermark",
    "idle",
    "rejoin",
    "all_idle",
    "fallback",
    "fallback_always",
    "guard",
    "initial",
    "effective",
    "late",
    "late_policy",
    "chain",
    "follow_up",
    "null_time",
    "hindsight",
    "pairs",
    "output",
    "sink",
    "trigger",
    "columns",
    "on",
    "window_on",
    "key",
    "agg",
    "lineage",
    "stages",
    "levels",
    "clock",
];

/// The keys that only a flow has: with one of them the plan is one.
pub(super) const OF_FLOWS: [&str; 9] = [
    "inputs",
    "policy",
    "chain",
    "follow_up",
    "null_time",
    "hindsight",
    "pairs",
    "stages",
    "levels",
];

/// The keys that only a plan of one window has: in a flow each stage says them for itself.
pub(super) const OF_PLAIN: [&str; 7] =
    ["window", "window_on", "key", "agg", "late", "late_policy", "lineage"];

/// What was expected and what was found instead.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) expected: String,
    pub(super) found: String,
}

/// `found` is shown as it stands.
pub(super) fn wrong(expected: impl Into<String>, found: &str) -> Wrong {
    Wrong { expected: expected.into(), found: shown(found) }
}

pub(super) type Words<T> = &'static [(&'static str, T)];

pub(super) const REJOIN: Words<Rejoin> = &[("hold", Rejoin::Hold), ("catch_up", Rejoin::CatchUp)];

pub(super) const ALL_IDLE: Words<AllIdle> = &[("flush", AllIdle::Flush), ("hold", AllIdle::Hold)];

pub(super) const EFFECTIVE: Words<Effective> = &[
    ("row", Effective::Row),
    ("next_batch", Effective::NextBatch),
    ("batch_after_next", Effective::BatchAfterNext),
    ("probe", Effective::Probe),
];

pub(super) const GUARD: Words<GuardAction> = &[
    ("reject", GuardAction::Reject),
    ("count", GuardAction::CountButNotAdvance),
    ("accept", GuardAction::Accept),
];

pub(super) const LATE: Words<LateRule> = &[
    ("event", LateRule::Event),
    ("event_inclusive", LateRule::EventInclusive),
    ("window_end", LateRule::WindowEnd),
    ("frame", LateRule::Frame),
];

pub(super) const LATE_POLICY: Words<LatePolicy> =
    &[("drop", LatePolicy::Drop), ("side_output", LatePolicy::SideOutput)];

pub(super) const OUTPUT: Words<OutputMode> = &[
    ("append", OutputMode::Append),
    ("update", OutputMode::Update),
    ("complete", OutputMode::Complete),
];

pub(super) const SINK: Words<Sink> =
    &[("append", Sink::Append), ("keyed", Sink::Keyed), ("log", Sink::Log)];

pub(super) const POLICY: Words<Policy> = &[("min", Policy::Min), ("max", Policy::Max)];

pub(super) const CHAIN: Words<Chain> = &[("previous", Chain::Previous), ("same", Chain::Same)];

pub(super) const FOLLOW_UP: Words<FollowUp> =
    &[("never", FollowUp::Never), ("when_moved", FollowUp::WhenMoved)];

pub(super) const NULL_TIME: Words<NullTime> =
    &[("nowhere", NullTime::Nowhere), ("epoch", NullTime::Epoch)];

/// Longer ones before those that begin like them.
pub(super) const COMPARE: Words<Compare> = &[
    ("<=", Compare::AtMost),
    (">=", Compare::AtLeast),
    ("!=", Compare::Unequal),
    ("<", Compare::Less),
    (">", Compare::Greater),
    ("=", Compare::Equal),
];

pub(super) const HOLE: Words<HoleRule> =
    &[("no_window", HoleRule::NoWindow), ("late", HoleRule::LateBehind)];

pub(super) const CARRY: Words<Carry> = &[
    ("accumulating", Carry::Accumulating),
    ("discarding", Carry::Discarding),
    ("retracting", Carry::Retracting),
];

pub(super) const SESSION_LATE: Words<SessionLate> = &[
    ("event", SessionLate::Event),
    ("proto", SessionLate::Proto),
    ("merged", SessionLate::Merged),
];

pub(super) const TOUCHING: Words<Touching> =
    &[("apart", Touching::Apart), ("merge", Touching::Merge)];

pub(super) const JOIN: Words<JoinKind> = &[
    ("inner", JoinKind::Inner),
    ("left", JoinKind::Left),
    ("right", JoinKind::Right),
    ("full", JoinKind::Full),
    ("semi", JoinKind::Semi),
    ("anti", JoinKind::Anti),
];

pub(super) const SIDES: Words<Sides> = &[
    ("own", Sides::Own),
    ("combined", Sides::Combined),
    ("both", Sides::Both),
    ("either", Sides::Either),
];

pub(super) const KIND: Words<ColumnKind> =
    &[("int", ColumnKind::Integer), ("time", ColumnKind::Time), ("text", ColumnKind::Text)];

/// The value of a word.
pub(super) fn value<T: Copy>(words: Words<T>, text: &str) -> Result<T, Wrong> {
    match words.iter().find(|it| it.0 == text) {
        Some((_, value)) => Ok(*value),
        None => Err(wrong(one_of(words.iter().map(|it| it.0)), text)),
    }
}

/// The word for a value.
pub(super) fn word<T: Copy + PartialEq>(words: Words<T>, value: T) -> &'static str {
    let entry = words.iter().find(|it| it.1 == value);
    entry.expect("every variant of a knob has its word").0
}

/// `a`, `b` or `c`.
pub(super) fn one_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.map(|it| format!("`{it}`")).collect();
    match words.split_last() {
        None => "nothing".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}
