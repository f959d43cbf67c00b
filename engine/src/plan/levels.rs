//! Combination over several levels: the knobs.
//!
//! In Flink a watermark goes through up to three combinations before an operator sees it: the
//! partitions of a task, the tasks (channels) of an input, the inputs of an operator. Each is a
//! minimum over those members that count, yet the levels differ in what becomes of a member that
//! wakes, and of the last one that falls silent; so those are knobs per level. The watermark moves at
//! probes only: when it is asked for, or at an emission interval. Values are ours: w = m - d.
//! Source: flink-rules 1 to 4.
//!
//! # The law on levels
//!
//! *Lines.* At an emission each task asks its partitions: each shows its largest time since it joined,
//! less the delay, idle or not. Then the task combines them once, tells its input, that the operator; then
//! the next task emits, by input and number. Whoever comes further and is idle says first how far it
//! came, awake, and then that it is idle. No line falls; the operator's and an input's start at the
//! watermark's first value. The candidate is W plus the delay of an input; of which, where delays differ,
//! is open.
//!
//! *A combination* is the smallest of the awake that count, of nobody left as it was. Under `catch_up`
//! whoever wakes, joins or is brought along behind what was made of the others counts once it has reached
//! that, and from then on while it is awake. Of several partitions that fall idle at one emission the one
//! that joined last is the last.
//!
//! *Silence* runs on a clock that stands while the partition is paused or its task blocked or pressed.
//! Any row or heartbeat that is read ends it. A task has one of its own too, since it is there (or since
//! its first emission), that nothing ends: it is idle where its partitions say so and that is too long.
//! They say so where all are idle, before there are any, and under `WithProgress` before they first show
//! anything.
//!
//! *Ends.* A finished partition leaves its task, and takes no part in a flush. With the last one, where
//! none is left, the task ends at once. One that is joined later is read like any other, but what was
//! said stays said; alignment looks at what is made of its partitions.
//!
//! *Alignment.* Beyond the limit means larger. Partitions and tasks are looked at with every sample and
//! announcement; at an emission a partition that came further may be paused, none is resumed. A sample is
//! taken of everybody.
//!
//! Invariant: data only; each knob is matched in one file under `watermark/levels`.

use super::Rejoin;
use crate::time::Span;
use serde::{Deserialize, Serialize};

/// How partitions become a watermark, level by level.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LevelsPlan {
    /// How many tasks each input has from the start, by its position; a partition that names another
    /// task brings it along, and those before it. A task without partitions stalls its input.
    pub tasks: Vec<u32>,
    /// What engines differ in.
    pub rules: LevelRules,
    /// Idle is who has been silent for strictly longer than this, at a probe; `None`: nobody ever is.
    pub idle_timeout: Option<Span>,
    /// Probes come at multiples of this, counted from the start; `None`: only when asked for.
    pub emission: Option<Span>,
    /// Who must wait for whom.
    pub alignment: Option<AlignmentPlan>,
}

/// What engines differ in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LevelRules {
    /// From the partitions of a task to the task.
    pub partitions: LevelPlan,
    /// From the tasks of an input to the input.
    pub tasks: LevelPlan,
    /// From the inputs to the operator.
    pub inputs: LevelPlan,
    /// Since when silence is counted.
    pub anchor: IdleAnchor,
    /// What becomes of a task that has lost its last partition.
    pub emptied: Emptied,
    /// What becomes of the end of a task that is idle.
    pub idle_end: IdleEnd,
    /// What becomes of a paused partition that falls idle.
    pub paused_idle: PausedIdle,
}

/// The rules of one level.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LevelPlan {
    /// What becomes of a member that wakes behind what was made of the others.
    pub rejoin: Rejoin,
    /// What becomes of the watermark when nobody is left.
    pub all_idle: LevelAllIdle,
    /// When the level above learns that somebody is awake again.
    pub waking: Waking,
}

/// The watermark when every member is idle. Matched in `watermark/levels/combiner.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum LevelAllIdle {
    /// The largest of all.
    Flush,
    /// The largest of all, but only where the member that fell idle last is one whose watermark is
    /// the one that was made last (Flink up to 2.3.0 between tasks: FLINK-40475).
    FlushIfLast,
    /// Stays where it is.
    Hold,
}

/// When the level above learns that somebody is awake again. Matched in `watermark/levels/combiner.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Waking {
    /// As soon as it is.
    AtOnce,
    /// Only together with a larger watermark: until then its rows flow past a level that takes it
    /// for idle (Flink, from partitions to their task: FLINK-40504).
    WithProgress,
}

/// Since when silence is counted. Matched in `watermark/levels/silence.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum IdleAnchor {
    /// Since the last row (semantics 14).
    LastActivity,
    /// Since the first probe that found nothing new (Flink: FLINK-40503).
    FirstQuietProbe,
}

/// A task that had partitions and has none left. Matched in `watermark/levels/task.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Emptied {
    /// It is as idle as it was: one that was not idle holds everybody back for ever, whatever the
    /// timeout (Flink: FLINK-39586).
    Frozen,
    /// It falls idle like a task that never had a partition: by its own silence.
    TimesOut,
}

/// The end of a task that is idle. Matched in `watermark/levels/task.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum IdleEnd {
    /// It counts: plus infinity.
    Counts,
    /// Nobody hears it: the task stays idle at its last watermark (Flink, recorded).
    Unheard,
}

/// Alignment: partitions that are far ahead wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AlignmentPlan {
    /// Samples are taken at multiples of this, counted from the start.
    pub update: Span,
    /// What is compared with the limit.
    pub sampling: Sampling,
    /// Who says what the limit is.
    pub limit: Limit,
}

/// What is compared with the limit. Matched in `watermark/levels/alignment.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Sampling {
    /// The watermark as it is.
    Newest,
    /// The oldest of this many samples; nothing before there are as many.
    OldestOf(u32),
}

/// Who says what the limit is. Matched in `watermark/levels.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Limit {
    /// Whoever calls.
    Announced,
    /// With each sample: the slowest task that has a watermark, is not idle and has not ended, plus
    /// this. Where there is none, there is no limit.
    Drift(Span),
}

/// A paused partition that falls idle. Matched in `watermark/levels/alignment.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PausedIdle {
    /// The limit is not looked at while it is idle, so it stays paused (Flink: FLINK-40093).
    Stays,
    /// It resumes.
    Resumes,
}
