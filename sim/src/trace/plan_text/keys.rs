//! The keys of a plan and the words of its knobs.
//!
//! One table per knob, read in both directions, so that what is written can be read.
//!
//! Invariant: no word stands twice in a table, and every variant of a knob has one.

use crate::trace::words::shown;
use plimsoll_engine::plan::{
    AllIdle, Effective, GuardAction, LatePolicy, LateRule, OutputMode, Rejoin, Sink,
};
use plimsoll_engine::row::ColumnKind;

/// All keys, in the order in which they are written.
pub const KEYS: [&str; 24] = [
    "profile",
    "window",
    "delay",
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
    "output",
    "sink",
    "trigger",
    "columns",
    "on",
    "window_on",
    "key",
    "agg",
    "lineage",
    "clock",
];

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
