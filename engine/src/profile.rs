//! Profiles: the rules of known engines as values for our knobs.
//!
//! Engines agree on the words and differ in the rules. A profile is one engine's set of values; a
//! plan takes its defaults from one and may override each. No code path looks at a profile, so an
//! engine that differs in something for which there is no knob is *not* that engine here: what is
//! missing is listed, by name, and reports repeat it.
//!
//! A profile is believed only because it reproduces the original (`verified`): the worked examples of
//! the founding texts for `seed`, recordings of the real engine for the others. Bytewax is left out:
//! it has a watermark per key, and there is no knob that comes near.
//!
//! Invariant: values only, and every name here finds its profile. Source: semantics section 19.

use crate::plan::flow::{
    Chain, Expiry, FollowUp, HoleRule, NullTime, SessionLate, Sides, Touching,
};
use crate::plan::levels::{
    Emptied, IdleAnchor, IdleEnd, LevelAllIdle, LevelPlan, LevelRules, PausedIdle, Waking,
};
use crate::plan::problem::Dialect;
use crate::plan::restore::RestoreRules;
use crate::plan::{AllIdle, Effective, GeneratorPlan, LateRule, Rejoin};
use crate::time::{EventTime, Span};

/// One engine's values for our knobs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Profile {
    /// The name that plans use.
    pub name: &'static str,
    /// One sentence on where the values come from.
    pub about: &'static str,
    /// Whether tests reproduce the original with it.
    pub verified: bool,
    /// What the original does and no knob can say yet.
    pub missing: &'static [&'static str],
    /// Who computes the candidate.
    pub generator: GeneratorPlan,
    /// When a watermark takes effect.
    pub effective: Effective,
    /// Who is late for a window.
    pub late: LateRule,
    /// Who is late where no window is: dedup, a group by the event time.
    pub late_bare: LateRule,
    /// What a row in the hole between two windows is.
    pub hole: HoleRule,
    /// Who is late for a session.
    pub session_late: SessionLate,
    /// Whether touching sessions are one.
    pub touching: Touching,
    /// Who is late in a join, and what leaves it when.
    pub join: JoinRules,
    /// Which value judges rows that a stage hands to the next.
    pub chain: Chain,
    /// Whether batches without data follow a batch that moved the watermark.
    pub follow_up: FollowUp,
    /// What a null event time is.
    pub null_time: NullTime,
    /// What a restart remembers.
    pub restore: RestoreRules,
    /// How an idle partition returns, where a plan sets an idle timeout.
    pub rejoin: Rejoin,
    /// The candidate when all partitions are idle, where a plan sets an idle timeout.
    pub all_idle: AllIdle,
    /// How a watermark goes through levels, where the engine has them; a plan says how many tasks
    /// there are and how long silence is.
    pub levels: Option<LevelRules>,
    /// The watermark before the first row.
    pub initial: EventTime,
    /// Whose words problems of a plan are told in, beside ours.
    pub dialect: Dialect,
    /// The delay where a plan says none. Only the founding text has one of its own; elsewhere it is
    /// zero, about which the plan check warns.
    pub delay: Span,
}

/// An engine's rules for joins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JoinRules {
    /// Who is late.
    pub late: LateRule,
    /// How long a row may be behind before it is late.
    pub grace: Span,
    /// When a stored row leaves.
    pub expiry: Expiry,
    /// Whose watermark judges and removes.
    pub sides: Sides,
}

/// Spark: one watermark for both sides; t <= w is late, and a row leaves strictly after its bound,
/// of several the loosest (spark-rules 3 and 5), if both sides have a watermark
/// (StreamingSymmetricHashJoinHelper, `getOneSideStateWatermarkPredicate`).
const SPARK_JOIN: JoinRules = JoinRules {
    late: LateRule::EventInclusive,
    grace: Span::ZERO,
    expiry: Expiry { at_bound: false, with_grace: false, own_time: false, loosest: true },
    sides: Sides::Both,
};

/// Flink: late iff t < w - 1 in our numbers, gone at its own time at the earliest, the millisecond of
/// grace not counted there: the boundary hole (flink-rules 7, FLINK-33524).
const FLINK_JOIN: JoinRules = JoinRules {
    late: LateRule::Event,
    grace: Span(1),
    expiry: Expiry { at_bound: false, with_grace: false, own_time: true, loosest: false },
    sides: Sides::Combined,
};

/// One level of Flink: who wakes behind holds the others up, who is last flushes.
const FLINK_LEVEL: LevelPlan =
    LevelPlan { rejoin: Rejoin::Hold, all_idle: LevelAllIdle::Flush, waking: Waking::AtOnce };

/// Flink 2.3.0, its open bugs included (flink-rules 2 and 3): a task that wakes below its old watermark
/// is not heard (FLINK-40504); between tasks the flush depends on who is last (FLINK-40475); a task
/// that lost its last partition is never idle (FLINK-39586).
const FLINK_LEVELS: LevelRules = LevelRules {
    partitions: LevelPlan { waking: Waking::WithProgress, ..FLINK_LEVEL },
    tasks: LevelPlan {
        rejoin: Rejoin::CatchUp,
        all_idle: LevelAllIdle::FlushIfLast,
        ..FLINK_LEVEL
    },
    inputs: FLINK_LEVEL,
    anchor: IdleAnchor::FirstQuietProbe,
    emptied: Emptied::Frozen,
    idle_end: IdleEnd::Unheard,
    paused_idle: PausedIdle::Stays,
};

const EPOCH: EventTime = EventTime(0);
const PARTITION_MIN: GeneratorPlan = GeneratorPlan::PartitionMin { idle: None };

/// The founding texts: one maximum, the row's own time decides, the next batch feels it.
const SEED: Profile = Profile {
    name: "seed",
    about: "the founding texts (S1 to S96)",
    verified: true,
    missing: &[],
    generator: GeneratorPlan::GlobalMax,
    effective: Effective::NextBatch,
    late: LateRule::Event,
    late_bare: LateRule::Event,
    hole: HoleRule::NoWindow,
    session_late: SessionLate::Event,
    touching: Touching::Apart,
    join: JoinRules {
        late: LateRule::Event,
        grace: Span::ZERO,
        expiry: Expiry::EXACT,
        sides: Sides::Own,
    },
    chain: Chain::Previous,
    follow_up: FollowUp::Never,
    null_time: NullTime::Nowhere,
    restore: RestoreRules::EXACT,
    rejoin: Rejoin::Hold,
    all_idle: AllIdle::Flush,
    levels: None,
    initial: EventTime::MIN,
    dialect: Dialect::Own,
    delay: Span::minutes(10),
};

/// What all of Spark has in common.
const SPARK: Profile = Profile {
    verified: true,
    late: LateRule::WindowEnd,
    late_bare: LateRule::EventInclusive,
    session_late: SessionLate::Proto,
    touching: Touching::Merge,
    join: SPARK_JOIN,
    follow_up: FollowUp::WhenMoved,
    null_time: NullTime::Epoch,
    restore: RestoreRules::GLOBAL_ONLY,
    initial: EPOCH,
    dialect: Dialect::Spark,
    delay: Span::ZERO,
    ..SEED
};

const ALL: [Profile; 9] = [
    SEED,
    Profile {
        name: "spark-4",
        about: "Spark Structured Streaming 4, several stateful operators allowed (the default)",
        effective: Effective::BatchAfterNext,
        ..SPARK
    },
    Profile {
        name: "spark-compat",
        about: "Spark with spark.sql.streaming.statefulOperator.allowMultiple=false",
        chain: Chain::Same,
        ..SPARK
    },
    Profile {
        name: "flink",
        about: "Flink 2.3, DataStream windows, sessions and interval joins",
        verified: true,
        missing: &[],
        generator: PARTITION_MIN,
        effective: Effective::Probe,
        late: LateRule::WindowEnd,
        hole: HoleRule::LateBehind,
        session_late: SessionLate::Merged,
        touching: Touching::Merge,
        join: FLINK_JOIN,
        restore: RestoreRules::NO_WATERMARK,
        rejoin: Rejoin::CatchUp,
        levels: Some(FLINK_LEVELS),
        delay: Span::ZERO,
        ..SEED
    },
    Profile {
        name: "kafka",
        about: "Kafka Streams, one task",
        verified: false,
        missing: &["a stream time per task and per operator", "grace", "a restart forgets it"],
        effective: Effective::Row,
        late: LateRule::WindowEnd,
        session_late: SessionLate::Merged,
        touching: Touching::Merge,
        restore: RestoreRules::NO_WATERMARK,
        delay: Span::ZERO,
        ..SEED
    },
    Profile {
        name: "risingwave",
        about: "RisingWave, one actor",
        verified: false,
        missing: &[
            "a maximum per actor",
            "late rows are filtered at the source",
            "a restart and an idle actor take the largest watermark of all",
        ],
        delay: Span::ZERO,
        ..SEED
    },
    Profile {
        name: "feldera",
        about: "Feldera",
        verified: false,
        missing: &["late rows are filtered at the input", "results are incremental, not windows"],
        delay: Span::ZERO,
        ..SEED
    },
    Profile {
        name: "jet",
        about: "Hazelcast Jet",
        verified: false,
        missing: &["watermarks are throttled to frames", "a restart reads again"],
        generator: PARTITION_MIN,
        effective: Effective::Row,
        late: LateRule::Frame,
        delay: Span::ZERO,
        ..SEED
    },
    Profile {
        name: "arroyo",
        about: "Arroyo",
        verified: false,
        missing: &[
            "a watermark per subtask, from the smallest time of a batch",
            "a watermark may go back",
            "a restart forgets it",
        ],
        generator: PARTITION_MIN,
        late: LateRule::Frame,
        all_idle: AllIdle::Hold,
        delay: Span::ZERO,
        ..SEED
    },
];

/// All profiles, `seed` first.
pub const fn all() -> &'static [Profile] {
    const { &ALL }
}

/// The profile of this name.
pub fn named(name: &str) -> Option<&'static Profile> {
    all().iter().find(|it| it.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_found_by_its_name() {
        for it in all() {
            assert_eq!(named(it.name), Some(it), "two profiles are called {}", it.name);
        }
        assert_eq!(named("bytewax"), None);
    }

    #[test]
    fn a_profile_that_misses_something_does_not_claim_to_be_verified() {
        for it in all() {
            assert_eq!(it.verified, it.missing.is_empty(), "{}", it.name);
        }
    }

    #[test]
    fn spark_is_one_maximum_from_1970_on_whose_filter_lags_two_batches() {
        let spark = named("spark-4").expect("listed");
        assert_eq!(spark.generator, GeneratorPlan::GlobalMax);
        assert_eq!((spark.effective, spark.initial.0), (Effective::BatchAfterNext, 0));
    }
}
