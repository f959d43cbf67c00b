//! One constructor for each rule that warns about a flow.
//!
//! Where state grows for ever, the cause names the side or the key that grows.
//!
//! Invariant: every constructor here makes a warning.

use crate::plan::problem::{Code, Problem, Words};
use crate::time::Span;

impl Problem {
    /// S62 for groups without a time.
    #[cold]
    pub(crate) fn keys_never_evicted(stage: &str, keys: &str) -> Self {
        let cause = format!(
            "{stage} keeps a group for each {keys} for ever: no watermark speaks of a time in its key"
        );
        let remedy =
            "group by a window or by the event time too, unless the keys are few and fixed";
        Self::new(Code::KeysNeverEvicted, cause, remedy)
    }

    /// Semantics 7; `why` completes "because ..".
    #[cold]
    pub(crate) fn dedup_grows(stage: &str, keys: &str, why: &str) -> Self {
        let cause = format!("{stage} remembers each {keys} for ever, because {why}");
        let remedy = "put the event time among the columns, or forget after a delay";
        Self::new(Code::DedupGrows, cause, remedy)
    }

    /// S56; `why` completes "because ..".
    #[cold]
    pub(crate) fn join_side_grows(side: &str, why: &str) -> Self {
        let cause = format!("the join keeps every {side} row for ever, because {why}");
        let remedy = "bound right - left on both ends, and give both inputs a watermark";
        Self::new(Code::JoinSideGrows, cause, remedy)
    }

    /// S56.
    #[cold]
    pub(crate) fn semi_side_grows(why: &str) -> Self {
        let cause = format!(
            "the join keeps every left row that has found no partner for ever, because {why}"
        );
        let remedy = "bound right - left from above, and give the right input a watermark";
        Self::new(Code::SemiSideGrows, cause, remedy)
    }

    /// Accepted by Spark (`join_full_outer_one_bound`).
    #[cold]
    pub(crate) fn one_side_never_written(side: &str, why: &str) -> Self {
        let cause = format!(
            "{side} rows without a partner are kept for ever and never written, because {why}; \
             those of the other side are"
        );
        let remedy = "bound right - left on both ends, or use an outer join of the other side only";
        Self::new(Code::OneSideNeverWritten, cause, remedy)
    }

    /// Accepted by Spark (`union_with_and_without_watermark`).
    #[cold]
    pub(crate) fn unmarked_input_judged(input: &str) -> Self {
        let cause = format!(
            "rows of `{input}` are dropped as late by the watermark of the other inputs, though it \
             has none itself and can never hold that one back"
        );
        let remedy = format!("give `{input}` a watermark with a delay of its own");
        Self::new(Code::UnmarkedInputJudged, cause, remedy)
    }

    /// Semantics 6, where the loosest bounds remove rows (Spark).
    #[cold]
    pub(crate) fn join_matches_nobody(lower: i64, upper: i64) -> Self {
        let cause = format!(
            "the join wants right - left to be at least {lower} and at most {upper} milliseconds: \
             no pair of rows is so, and rows are kept for nothing"
        );
        let remedy = "check signs and open ends: bounds are on the right time minus the left one";
        Self::new(Code::JoinMatchesNobody, cause, remedy)
    }

    /// Accepted by Spark (`null_event_time_join`).
    #[cold]
    pub(crate) fn null_time_kept(side: &str) -> Self {
        let cause = format!(
            "a {side} row without event time is stored, matches nothing, is never written with \
             nulls, and is never removed"
        );
        let remedy = "filter rows without event time before the join, and count them";
        Self::new(Code::NullTimeKept, cause, remedy)
    }

    /// Spark refuses this.
    #[cold]
    pub(crate) fn session_rewritten(stage: &str) -> Self {
        let cause = format!(
            "a session of {stage} that grows or merges is written again under its new start and \
             end: the figures under the old ones stay behind in the sink"
        );
        Self::new(Code::SessionRewritten, cause, "use output=append")
    }

    /// Spark refuses this.
    #[cold]
    pub(crate) fn null_rows_not_revised() -> Self {
        let cause = "output=update changes nothing about an outer join: a row without a partner \
                     still comes out once, when its bound has passed, and not before";
        Self::new(Code::NullRowsNotRevised, cause, "use output=append, which says what happens")
    }

    /// Spark refuses anti joins of two streams.
    #[cold]
    pub(crate) fn anti_rows_wait(bound: Span) -> Self {
        let cause = format!(
            "a left row without a partner comes out only once the watermark is {} past its time",
            Words(bound)
        );
        let remedy = "that is what an anti join is; a shorter bound makes it sooner";
        Self::new(Code::AntiRowsWait, cause, remedy)
    }

    /// Spark refuses this at the first batch.
    #[cold]
    pub(crate) fn session_without_key(stage: &str) -> Self {
        let cause = format!(
            "{stage} has no key: all rows are of one session, which ends only when the whole input \
             is silent for a gap"
        );
        Self::new(Code::SessionWithoutKey, cause, "group by the key whose activity you mean")
    }

    /// Accepted by Spark (`chained_dedup_after_aggregate_update`).
    #[cold]
    pub(crate) fn updates_suppressed(stage: &str) -> Self {
        let cause = format!(
            "{stage} lets the first version of a figure through and drops every later one, since \
             they are equal in the columns that it compares"
        );
        let remedy = "dedup before the aggregation, or use output=append";
        Self::new(Code::UpdatesSuppressed, cause, remedy)
    }

    /// Spark runs one batch and then fails.
    #[cold]
    pub(crate) fn watermark_redefined(input: &str, column: &str) -> Self {
        let cause = format!(
            "`{input}` has two watermarks, the last on `{column}`; with a late value of its own for \
             each stage only one of them can be meant"
        );
        Self::new(Code::WatermarkRedefined, cause, "keep the one with the delay that you want")
    }

    /// `watermark_twice_other_column`.
    #[cold]
    pub(crate) fn watermark_replaced(input: &str, first: &str, last: &str) -> Self {
        let cause = format!(
            "`{input}` has a watermark on `{first}` and then one on `{last}`: stages know only the \
             last, and the first merely takes part in the policy"
        );
        Self::new(Code::WatermarkReplaced, cause, format!("leave out that on `{first}`"))
    }
}
