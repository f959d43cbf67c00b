//! What Spark says to the same mistake.
//!
//! A plan that is meant to become a Spark query is better off with Spark's own words for its problems:
//! they are what one searches for. Spark 4.3.0 refuses each of these (recorded; spark-rules 9), also
//! some that run here and are only warned about. A code that is missing here is no problem to Spark,
//! or was not recorded.
//!
//! Invariant: a table; nothing is decided by it but what is said.

use super::Code;
use std::fmt;

/// How Spark refuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Condition {
    /// When it notices.
    pub moment: Moment,
    /// The name of the error condition; some have none.
    pub name: Option<&'static str>,
    /// Its SQLSTATE.
    pub sqlstate: Option<&'static str>,
    /// Our word for a condition whose name says nothing.
    pub reason: Option<&'static str>,
}

/// When Spark notices.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Moment {
    /// While the query is built.
    Building,
    /// When it is started.
    Start,
    /// In the first batch.
    FirstBatch,
    /// In the first batch whose watermark is past the initial one; those before it are committed.
    FirstBatchPastInitial,
}

impl Moment {
    /// The words that complete "Spark refuses this ..".
    pub const fn words(self) -> &'static str {
        match self {
            Self::Building => "while the query is built",
            Self::Start => "when the query is started",
            Self::FirstBatch => "in the first batch",
            Self::FirstBatchPastInitial => "in the first batch after the watermark has moved",
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.unwrap_or("an exception without a condition");
        write!(f, "Spark refuses this {}: {name}", self.moment.words())?;
        self.sqlstate.map_or(Ok(()), |it| write!(f, " ({it})"))
    }
}

/// A condition without a name of its own; only its text tells it apart.
const LEGACY: &str = "_LEGACY_ERROR_TEMP_3102";

/// What Spark says to a problem, where it refuses.
pub const fn condition(code: Code) -> Option<Condition> {
    Some(match code {
        Code::NegativeDelay => unnamed(Moment::Building, "negative_delay"),
        Code::WatermarkColumnUnknown => {
            named(Moment::Building, "UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703")
        }
        Code::WatermarkColumnNotTime => {
            named(Moment::Building, "EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE", "42K09")
        }
        Code::WindowSizeNotPositive | Code::WindowSlideNotPositive => {
            named(Moment::Building, "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE", "42K09")
        }
        Code::WindowsWithHoles | Code::OffsetOutsideSlide => {
            named(Moment::Building, "DATATYPE_MISMATCH.PARAMETER_CONSTRAINT_VIOLATION", "42K09")
        }
        Code::AppendWithoutWatermark
        | Code::CompleteWithoutAggregation
        | Code::GroupNeverCloses
        | Code::LinkRecomputed
        | Code::SessionRewritten
        | Code::UnionLinkLost
        | Code::WindowOffWatermark => {
            named(Moment::Start, "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION", "42KDE")
        }
        Code::NullRowsNeverWritten | Code::SemiSideGrows => legacy("join_without_removal_point"),
        Code::NullRowsNotRevised => legacy("join_output_mode"),
        Code::AntiRowsWait => legacy("left_anti_join"),
        Code::DedupNeverExpires => legacy("dedup_within_watermark_without_watermark"),
        Code::FigureCountedTwice => legacy("stateful_after_non_append_aggregate"),
        Code::SessionWithoutKey => unnamed(Moment::FirstBatch, "session_without_key"),
        Code::KeyIsEventTime => Condition {
            moment: Moment::FirstBatch,
            name: Some("MULTIPLE_EVENT_TIME_COLUMNS"),
            sqlstate: None,
            reason: None,
        },
        Code::WatermarkRedefined => unnamed(Moment::FirstBatchPastInitial, "watermark_redefined"),
        _ => return None,
    })
}

const fn named(moment: Moment, name: &'static str, sqlstate: &'static str) -> Condition {
    Condition { moment, name: Some(name), sqlstate: Some(sqlstate), reason: None }
}

const fn unnamed(moment: Moment, reason: &'static str) -> Condition {
    Condition { moment, name: None, sqlstate: None, reason: Some(reason) }
}

const fn legacy(reason: &'static str) -> Condition {
    Condition { moment: Moment::Start, name: Some(LEGACY), sqlstate: None, reason: Some(reason) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_has_a_name_or_a_reason() {
        let conditions: Vec<_> = Code::ALL.into_iter().filter_map(condition).collect();
        assert!(conditions.len() > 15);
        for it in conditions {
            assert!(it.name.is_some() || it.reason.is_some(), "{it:?}");
        }
    }

    #[test]
    fn a_condition_reads_as_a_sentence() {
        let of = |code| condition(code).expect("refused").to_string();
        assert_eq!(
            of(Code::AppendWithoutWatermark),
            "Spark refuses this when the query is started: \
             STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION (42KDE)"
        );
        assert_eq!(
            of(Code::NegativeDelay),
            "Spark refuses this while the query is built: an exception without a condition"
        );
    }

    #[test]
    fn what_spark_runs_has_no_condition() {
        for code in [Code::JoinSideGrows, Code::OneSideNeverWritten, Code::GrowsWithoutWatermark] {
            assert_eq!(condition(code), None);
        }
    }
}
