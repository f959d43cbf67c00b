//! One constructor for each rule that refuses a plan.
//!
//! The cause repeats the values that were found, the remedy names the key to change.
//!
//! Invariant: every constructor here makes a refusal.

mod flow;

use super::{Code, Problem, Thousands, Words};
use crate::time::{EventTime, Span};

impl Problem {
    /// S45.
    #[cold]
    pub(crate) fn negative_delay(delay: Span) -> Self {
        let cause = format!(
            "the delay is {}; a watermark ahead of the data would promise what nobody has seen",
            Words(delay)
        );
        Self::new(Code::NegativeDelay, cause, "make it 0s or longer")
    }

    /// A length that may be zero but not less.
    #[cold]
    pub(crate) fn negative_span(what: &str, span: Span) -> Self {
        let cause = format!("the {what} is {}; it cannot be negative", Words(span));
        Self::new(Code::NegativeSpan, cause, "make it 0s or longer")
    }

    /// Semantics 0: arithmetic is exact within 2^61 only.
    #[cold]
    pub(crate) fn span_out_of_range(what: &str, span: Span) -> Self {
        let cause = format!(
            "the {what} is {} milliseconds; the longest legal span is {}",
            span.0,
            Span::LEGAL
        );
        let remedy = "check its unit: this is some seventy million years";
        Self::new(Code::SpanOutOfRange, cause, remedy)
    }

    /// Semantics 0.
    #[cold]
    pub(crate) fn initial_out_of_range(initial: EventTime) -> Self {
        let cause = format!(
            "the watermark starts at {} milliseconds, beyond every legal time: all rows are late",
            initial.0
        );
        let remedy = "leave it out (nothing is known before the first row), or use 0 as Spark does";
        Self::new(Code::InitialOutOfRange, cause, remedy)
    }

    /// Semantics 4.
    #[cold]
    pub(crate) fn window_size_not_positive(size: Span) -> Self {
        let cause = format!("the windows are {} long; no row could be in one", Words(size));
        Self::new(Code::WindowSizeNotPositive, cause, "make them longer than 0s")
    }

    /// Semantics 4.
    #[cold]
    pub(crate) fn window_slide_not_positive(slide: Span) -> Self {
        let cause = format!(
            "a new window starts every {}; each row would be in infinitely many",
            Words(slide)
        );
        let remedy = "make the slide longer than 0s; tumbling windows slide by their own length";
        Self::new(Code::WindowSlideNotPositive, cause, remedy)
    }

    /// One row must not cost a minute.
    #[cold]
    pub(crate) fn too_many_windows_per_row(size: Span, slide: Span, most: i64) -> Self {
        let cause = format!(
            "windows of {} every {} put each row into {} windows; the most is {}",
            Words(size),
            Words(slide),
            Thousands(size.0 / slide.0),
            Thousands(most)
        );
        Self::new(Code::TooManyWindowsPerRow, cause, "slide by more, or make the windows shorter")
    }

    /// Rule F compares whole slides (semantics 3.2).
    #[cold]
    pub(crate) fn frame_rule_uneven(size: Span, slide: Span) -> Self {
        let cause = format!(
            "late=frame judges whole slides, but windows of {} are no whole number of slides of {}",
            Words(size),
            Words(slide)
        );
        let remedy = "make the size a multiple of the slide, or use late=event or late=window_end";
        Self::new(Code::FrameRuleUneven, cause, remedy)
    }

    /// Semantics 10.
    #[cold]
    pub(crate) fn interval_not_positive(interval: Span) -> Self {
        let cause = format!("the trigger fires every {}", Words(interval));
        let remedy = "make the interval longer than 0s, or use trigger=row to step at every row";
        Self::new(Code::IntervalNotPositive, cause, remedy)
    }

    /// Semantics 10.
    #[cold]
    pub(crate) fn empty_batches() -> Self {
        let cause = "available_now(0) takes batches of no rows and would never be done";
        Self::new(Code::EmptyBatches, cause, "take at least one row a batch, or use trigger=once")
    }

    /// Names must find one column.
    #[cold]
    pub(crate) fn duplicate_column(name: &str) -> Self {
        let cause = format!("two columns of the input are called `{name}`");
        Self::new(Code::DuplicateColumn, cause, "rename one of them")
    }

    /// Spark: UNRESOLVED_COLUMN.
    #[cold]
    pub(crate) fn watermark_column_unknown(position: usize, columns: usize) -> Self {
        let cause = format!(
            "the watermark is computed from column number {}, but the input has {columns}",
            position.saturating_add(1)
        );
        Self::new(Code::WatermarkColumnUnknown, cause, "name a time column of the input")
    }

    /// Spark: EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE.
    #[cold]
    pub(crate) fn watermark_column_not_time(name: &str, kind: &str) -> Self {
        let cause = format!("the watermark is computed from `{name}`, which is {kind}");
        let remedy = "name a time column, or declare this one as a time";
        Self::new(Code::WatermarkColumnNotTime, cause, remedy)
    }

    /// A step over nothing.
    #[cold]
    pub(crate) fn lineage_column_unknown(step: &str, name: &str) -> Self {
        let cause = format!("{step} `{name}`, but no column is called so at that point");
        let remedy = "mind the order of the steps: a renamed column has only its new name";
        Self::new(Code::LineageColumnUnknown, cause, remedy)
    }

    /// Names must find one column.
    #[cold]
    pub(crate) fn lineage_column_taken(step: &str, name: &str) -> Self {
        let cause = format!("{step} `{name}`, but a column of that name is there already");
        Self::new(Code::LineageColumnTaken, cause, "choose a free name")
    }

    /// Windows on nothing.
    #[cold]
    pub(crate) fn window_column_unknown(name: &str, renamed_to: Option<&str>) -> Self {
        let cause = format!("windows are cut on `{name}`, but no such column reaches the operator");
        let remedy = match renamed_to {
            Some(now) => format!("name it as it is called by then: `{now}`"),
            None => "name a time column of the input".to_owned(),
        };
        Self::new(Code::WindowColumnUnknown, cause, remedy)
    }

    /// Windows on something else.
    #[cold]
    pub(crate) fn window_column_not_time(name: &str, kind: &str) -> Self {
        let cause = format!("windows are cut on `{name}`, which is {kind}");
        let remedy = "name a time column, or declare this one as a time";
        Self::new(Code::WindowColumnNotTime, cause, remedy)
    }

    /// A plan is judged here, its expressions are not run.
    #[cold]
    pub(crate) fn window_column_has_no_values(name: &str) -> Self {
        let cause = format!(
            "windows are cut on `{name}`, which the plan computes: its values are not in the input"
        );
        let remedy = "compute it before the input, or cut windows on an input column";
        Self::new(Code::WindowColumnHasNoValues, cause, remedy)
    }

    /// S44.
    #[cold]
    pub(crate) fn link_dropped(name: &str) -> Self {
        let cause = format!(
            "windows are cut on `{name}`, which a projection between watermark and operator drops"
        );
        Self::new(Code::LinkDropped, cause, format!("keep `{name}` in the projection"))
    }

    /// S44.
    #[cold]
    pub(crate) fn link_recomputed(name: &str) -> Self {
        let cause = format!(
            "`{name}` is computed anew between watermark and operator: it is another column now, \
             the watermark says nothing about it, and append mode would never write a window"
        );
        let remedy = "compute it before the watermark; renaming is harmless";
        Self::new(Code::LinkRecomputed, cause, remedy)
    }

    /// S43.
    #[cold]
    pub(crate) fn window_off_watermark(window: &str, watermark: &str) -> Self {
        let cause = format!(
            "windows are cut on `{window}`, but the watermark is computed from `{watermark}`: it \
             says nothing about these windows, and append mode would never write one"
        );
        let remedy = format!("cut the windows on `{watermark}`, or watermark `{window}`");
        Self::new(Code::WindowOffWatermark, cause, remedy)
    }

    /// S46.
    #[cold]
    pub(crate) fn append_without_watermark() -> Self {
        let cause = "append mode writes a window once, when it is finished, and without a watermark \
                     none ever is";
        let remedy = "give the event-time column a watermark (delay=..), or use output=update";
        Self::new(Code::AppendWithoutWatermark, cause, remedy)
    }

    /// Spark: STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION.
    #[cold]
    pub(crate) fn complete_without_aggregation() -> Self {
        let cause = "complete mode rewrites the whole result, but the query keeps none: it has no \
                     windowed aggregation";
        Self::new(Code::CompleteWithoutAggregation, cause, "use output=append")
    }

    /// A key of nothing; `why` completes "but it ..".
    #[cold]
    pub(crate) fn key_column_unknown(name: &str, why: &str) -> Self {
        let cause = format!("rows are grouped by {name}, but it {why}");
        Self::new(Code::KeyColumnUnknown, cause, "group by columns that reach the operator")
    }

    /// The same key twice.
    #[cold]
    pub(crate) fn duplicate_key(name: &str) -> Self {
        let cause = format!("rows are grouped by `{name}` twice");
        Self::new(Code::DuplicateKey, cause, "name each grouping column once")
    }

    /// A key is looked up as one composite value.
    #[cold]
    pub(crate) fn too_many_keys(count: usize, most: usize) -> Self {
        let cause = format!("rows are grouped by {count} columns; the most is {most}");
        Self::new(Code::TooManyKeys, cause, "group by fewer, or combine some into one text column")
    }

    /// An aggregate of nothing; `why` completes "but it ..".
    #[cold]
    pub(crate) fn aggregate_column_unknown(aggregate: &str, name: &str, why: &str) -> Self {
        let cause = format!("{aggregate} reads {name}, but it {why}");
        Self::new(Code::AggregateColumnUnknown, cause, "aggregate columns that reach the operator")
    }

    /// Spark refuses these too, while building the query.
    #[cold]
    pub(crate) fn aggregate_kind_mismatch(aggregate: &str, name: &str, kind: &str) -> Self {
        let cause = format!("{aggregate} over `{name}` means nothing: it is {kind}");
        let remedy = "count it instead, or aggregate an integer column";
        Self::new(Code::AggregateKindMismatch, cause, remedy)
    }

    /// The same aggregate twice.
    #[cold]
    pub(crate) fn duplicate_aggregate(aggregate: &str) -> Self {
        let cause = format!("{aggregate} is asked for twice");
        Self::new(Code::DuplicateAggregate, cause, "ask for each aggregate once")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_repeats_the_values_that_were_found() {
        let uneven = Problem::frame_rule_uneven(Span::minutes(10), Span::minutes(3));
        assert!(uneven.cause.contains("10min") && uneven.cause.contains("3min"), "{uneven}");
        let absurd = Problem::too_many_windows_per_row(Span::hours(1), Span(1), 100_000);
        assert!(absurd.cause.contains("3,600,000"), "{absurd}");
        assert!(uneven.is_refusal() && absurd.is_refusal());
    }
}
