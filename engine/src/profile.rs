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
    /// Who is late.
    pub late: LateRule,
    /// How an idle partition returns, where a plan sets an idle timeout.
    pub rejoin: Rejoin,
    /// The candidate when all partitions are idle, where a plan sets an idle timeout.
    pub all_idle: AllIdle,
    /// The watermark before the first row.
    pub initial: EventTime,
    /// The delay where a plan says none. Only the founding text has one of its own; elsewhere it is
    /// zero, about which the plan check warns.
    pub delay: Span,
}

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
    rejoin: Rejoin::Hold,
    all_idle: AllIdle::Flush,
    initial: EventTime::MIN,
    delay: Span::minutes(10),
};

const ALL: [Profile; 9] = [
    SEED,
    Profile {
        name: "spark-4",
        about: "Spark Structured Streaming 4, several stateful operators allowed (the default)",
        verified: false,
        missing: &[
            "batches without data after a batch that moved the watermark",
            "a null event time counts as 0 for the watermark",
            "a restart forgets what each input has shown",
        ],
        effective: Effective::BatchAfterNext,
        late: LateRule::WindowEnd,
        initial: EPOCH,
        delay: Span::ZERO,
        ..SEED
    },
    Profile {
        name: "spark-compat",
        about: "Spark with spark.sql.streaming.statefulOperator.allowMultiple=false",
        verified: false,
        missing: &[
            "batches without data after a batch that moved the watermark",
            "a null event time counts as 0 for the watermark",
            "a restart forgets what each input has shown",
        ],
        late: LateRule::WindowEnd,
        initial: EPOCH,
        delay: Span::ZERO,
        ..SEED
    },
    Profile {
        name: "flink",
        about: "Flink 2.3, DataStream windows",
        verified: false,
        missing: &[
            "periodic probes: the watermark moves, and windows close, at emissions only",
            "idleness counts from the first quiet probe",
            "two levels of combination with different rules for a partition that wakes",
            "allowed lateness",
            "a restart forgets every watermark",
        ],
        generator: PARTITION_MIN,
        late: LateRule::WindowEnd,
        rejoin: Rejoin::CatchUp,
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
