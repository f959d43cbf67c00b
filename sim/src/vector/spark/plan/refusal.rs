//! How Spark refuses a query, and when.
//!
//! Most refusals follow from a problem of the plan; the ones here without a code are of queries that a
//! plan of ours cannot say: it has no sorting, no distinct aggregate, no third policy, and hides the
//! time column beside a window.
//!
//! Invariant: a refusal that comes while the query runs has let it run until then.

use super::super::{Failure, Phase};
use plimsoll_engine::plan::problem::Code;
use plimsoll_engine::plan::problem::spark::{Condition, Moment, condition};

/// A refusal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// When, in order; a setting is refused before all else.
    pub moment: Option<Moment>,
    condition: Condition,
}

/// A policy of another name.
pub const UNKNOWN_POLICY: Refusal = Refusal {
    moment: None,
    condition: Condition {
        moment: Moment::Building,
        name: Some("INVALID_CONF_VALUE.REQUIREMENT"),
        sqlstate: Some("22022"),
        reason: None,
    },
};

/// An order over rows that never end.
pub(super) const SORT: Refusal = unnamed("sort");

/// A set of values that never shrinks.
pub(super) const DISTINCT: Refusal = unnamed("distinct_aggregate");

/// A dedup within a delay that nothing gives.
pub(super) const NO_TIME_WITHIN: Refusal = unnamed("dedup_within_watermark_without_watermark");

/// A dedup within a delay behind figures that are written again; without a delay Spark lets it pass.
pub(super) const AFTER_REWRITTEN: Refusal = unnamed("stateful_after_non_append_aggregate");

/// An outer or a semi join where results are written again.
pub(super) const JOIN_OUTPUT_MODE: Refusal = unnamed("join_output_mode");

/// A join by nothing that is equal: found when the first batch is planned.
pub(super) const JOIN_WITHOUT_EQUALITY: Refusal = Refusal {
    moment: Some(Moment::FirstBatch),
    condition: Condition {
        moment: Moment::FirstBatch,
        name: None,
        sqlstate: None,
        reason: Some("join_without_equality"),
    },
};

/// A window column beside the event time that it was made from.
pub(super) const TWO_EVENT_TIMES: Refusal = {
    let condition = match condition(Code::KeyIsEventTime) {
        Some(it) => it,
        None => panic!("Spark refuses two event-time columns"),
    };
    Refusal { moment: Some(condition.moment), condition }
};

const fn unnamed(reason: &'static str) -> Refusal {
    let condition = Condition {
        moment: Moment::Start,
        name: Some("_LEGACY_ERROR_TEMP_3102"),
        sqlstate: None,
        reason: Some(reason),
    };
    Refusal { moment: Some(Moment::Start), condition }
}

impl Refusal {
    /// How Spark refuses this problem, if it does.
    pub fn of(code: Code) -> Option<Self> {
        condition(code).map(|condition| Self { moment: Some(condition.moment), condition })
    }

    /// Whether it is about the output mode.
    pub fn is_of_mode(&self) -> bool {
        self.condition.name.is_some_and(|it| it.starts_with("STREAMING_OUTPUT_MODE"))
    }

    /// Whether the query starts, and fails only when rows come.
    pub fn runs(&self) -> bool {
        self.moment.is_some_and(|it| Moment::FirstBatch <= it)
    }

    /// As a record has it.
    pub fn failure(&self) -> Failure {
        let owned = |it: Option<&str>| it.map(str::to_owned);
        Failure {
            phase: match self.moment {
                None => Phase::Configure,
                Some(Moment::Building) => Phase::Plan,
                Some(Moment::Start) => Phase::Start,
                Some(Moment::FirstBatch | Moment::FirstBatchPastInitial) => Phase::Run,
            },
            exception: String::new(),
            condition: owned(self.condition.name),
            sqlstate: owned(self.condition.sqlstate),
            reason: owned(self.condition.reason),
        }
    }
}
