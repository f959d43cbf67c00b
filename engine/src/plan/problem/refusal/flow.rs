//! One constructor for each rule that refuses a flow.
//!
//! A stage is named by its number and its word, such as `stage 2 (window)`.
//!
//! Invariant: every constructor here makes a refusal.

use crate::plan::problem::{Code, Problem, Words};
use crate::time::Span;

impl Problem {
    /// Nothing comes in.
    #[cold]
    pub(crate) fn flow_without_input() -> Self {
        let cause = "the flow reads no input: no row would ever come";
        Self::new(Code::FlowWithoutInput, cause, "give it at least one input")
    }

    /// A partition's number has room for so many.
    #[cold]
    pub(crate) fn too_many_inputs(count: usize, most: usize) -> Self {
        let cause = format!("the flow reads {count} inputs; the most is {most}");
        Self::new(Code::TooManyInputs, cause, "unite some of them before the flow")
    }

    /// Names must find one input.
    #[cold]
    pub(crate) fn duplicate_input(name: &str) -> Self {
        let cause = format!("two inputs are called `{name}`");
        Self::new(Code::DuplicateInput, cause, "rename one of them")
    }

    /// One plan, one query.
    #[cold]
    pub(crate) fn flow_beside_operator() -> Self {
        let cause =
            "the plan has a flow and, beside it, a plain window or lineage, which would not run";
        Self::new(Code::FlowBesideOperator, cause, "make them stages of the flow")
    }

    /// `what` completes "the plan has ..".
    #[cold]
    pub(crate) fn probe_outside_flow(what: &str, remedy: &str) -> Self {
        Self::new(Code::ProbeOutsideFlow, format!("the plan has {what}"), remedy)
    }

    /// `what` completes "the plan has levels and ..".
    #[cold]
    pub(crate) fn levels_unfit(what: &str, remedy: &str) -> Self {
        Self::new(Code::LevelsUnfit, format!("the plan has levels and {what}"), remedy)
    }

    /// Left and right.
    #[cold]
    pub(crate) fn join_inputs(count: usize) -> Self {
        let cause =
            format!("a join takes two inputs, the left one first, and the flow has {count}");
        Self::new(Code::JoinInputs, cause, "join two inputs; chain joins as queries of their own")
    }

    /// The inputs are united before the second stage.
    #[cold]
    pub(crate) fn join_not_first(stage: &str) -> Self {
        let cause =
            format!("{stage} comes after another stage, where the inputs are one stream already");
        Self::new(Code::JoinNotFirst, cause, "make the join the first stage")
    }

    /// Names must find a column.
    #[cold]
    pub(crate) fn stage_column_unknown(stage: &str, position: usize, columns: usize) -> Self {
        let cause = format!(
            "{stage} names column number {}, but {columns} reach it",
            position.saturating_add(1)
        );
        Self::new(Code::StageColumnUnknown, cause, "name a column that the stage before hands on")
    }

    /// `what` is what the column is used as.
    #[cold]
    pub(crate) fn stage_column_kind(
        stage: &str,
        what: &str,
        name: &str,
        kind: &str,
        wanted: &str,
    ) -> Self {
        let cause = format!("{stage} takes `{name}` as {what}, but it is {kind}");
        Self::new(Code::StageColumnKind, cause, format!("name a column that is {wanted}"))
    }

    /// Names must find one column.
    #[cold]
    pub(crate) fn stage_column_taken(stage: &str, name: &str) -> Self {
        let cause = format!("{stage} makes a second column `{name}`");
        Self::new(Code::StageColumnTaken, cause, "choose a free name")
    }

    /// Semantics 5.
    #[cold]
    pub(crate) fn gap_not_positive(stage: &str, what: &str, span: Span) -> Self {
        let cause =
            format!("the {what} of {stage} is {}; no session could hold a row", Words(span));
        Self::new(Code::GapNotPositive, cause, "make it longer than 0s")
    }

    /// Semantics 8.
    #[cold]
    pub(crate) fn count_not_positive(stage: &str, what: &str) -> Self {
        let cause = format!("{stage} asks for {what} of 0 rows, which would never be done");
        Self::new(Code::CountNotPositive, cause, "ask for at least one row")
    }

    /// Semantics 7.
    #[cold]
    pub(crate) fn nothing_compared(stage: &str) -> Self {
        let cause =
            format!("{stage} tells rows apart by no column: after the first row all are equal");
        Self::new(Code::NothingCompared, cause, "name the columns that make two rows equal")
    }

    /// Two rows could be in several windows together, and the pair would have several ends.
    #[cold]
    pub(crate) fn join_window_not_tumbling(stage: &str, size: Span, slide: Span) -> Self {
        let cause = format!(
            "{stage} joins over windows of {} every {}: two rows may share several, or none",
            Words(size),
            Words(slide)
        );
        let remedy = "use tumbling windows; for a distance between rows use from= and to=";
        Self::new(Code::JoinWindowNotTumbling, cause, remedy)
    }

    /// Semantics 7, D1.
    #[cold]
    pub(crate) fn dedup_time_not_compared(stage: &str, time: &str) -> Self {
        let cause = format!(
            "{stage} forgets a row with its time, but `{time}` is none of the columns that make two \
             rows equal: an equal row with a later time would find nothing"
        );
        let remedy = format!("compare `{time}` too, or forget after a span (within=..)");
        Self::new(Code::DedupTimeNotCompared, cause, remedy)
    }

    /// Semantics 3.
    #[cold]
    pub(crate) fn late_rule_unfit(stage: &str, rule: &str, fit: &str) -> Self {
        let cause = format!("{stage} has no windows that late={rule} could judge");
        Self::new(Code::LateRuleUnfit, cause, format!("use {fit}"))
    }

    /// Semantics 6: rows that can never match would be kept all the same.
    #[cold]
    pub(crate) fn join_never_matches(lower: i64, upper: i64) -> Self {
        let cause = format!(
            "the join wants right - left to be at least {lower} and at most {upper} milliseconds: \
             no pair of rows is so"
        );
        let remedy = "check signs and open ends: bounds are on the right time minus the left one";
        Self::new(Code::JoinNeverMatches, cause, remedy)
    }

    /// A rule about the end of a window.
    #[cold]
    pub(crate) fn join_without_window() -> Self {
        let cause = "the join judges late rows by the end of their window, and has no window";
        let remedy = "join on a window, or use late=event or late=event_inclusive";
        Self::new(Code::JoinWithoutWindow, cause, remedy)
    }

    /// Semantics 8: panes belong to append mode.
    #[cold]
    pub(crate) fn panes_outside_append(stage: &str, what: &str) -> Self {
        let cause = format!("{stage} has {what}, which only output=append knows");
        Self::new(Code::PanesOutsideAppend, cause, "use output=append, or leave them out")
    }

    /// Spark: STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION.
    #[cold]
    pub(crate) fn group_never_closes(stage: &str) -> Self {
        let cause = format!(
            "append mode writes a group once, when it is finished, and {stage} groups by keys of \
             which none is the event time: no group ever is"
        );
        let remedy = "group by a window or by the event time, or use output=update";
        Self::new(Code::GroupNeverCloses, cause, remedy)
    }

    /// S56; `side` is the outer side, `why` completes "because ..".
    #[cold]
    pub(crate) fn null_rows_never_written(side: &str, why: &str) -> Self {
        let cause = format!(
            "a {side} row without a partner can never be written, because {why}: nothing says when \
             its partner can no longer come"
        );
        let remedy = "give both inputs a watermark, and the join a range (or a window) that bounds \
                      this side";
        Self::new(Code::NullRowsNeverWritten, cause, remedy)
    }

    /// Semantics 7.
    #[cold]
    pub(crate) fn dedup_never_expires(stage: &str) -> Self {
        let cause = format!(
            "{stage} forgets a row once the watermark is a delay past it, and no watermark speaks \
             of its time: it never would"
        );
        let remedy = "give the event-time column a watermark (delay=..), or make it never expire";
        Self::new(Code::DedupNeverExpires, cause, remedy)
    }

    /// Spark refuses the same.
    #[cold]
    pub(crate) fn figure_counted_twice(stage: &str, mode: &str) -> Self {
        let cause = format!(
            "{stage} aggregates figures that an aggregation before it writes again whenever they \
             change (output={mode}): each version would be counted"
        );
        Self::new(Code::FigureCountedTwice, cause, "use output=append, where a figure comes once")
    }

    /// The column of a union is that of its first input.
    #[cold]
    pub(crate) fn union_link_lost(first: &str, other: &str) -> Self {
        let cause = format!(
            "the united rows have the columns of `{first}`, which has no watermark; that of \
             `{other}` says nothing about them, and append mode would never write a window"
        );
        let remedy = format!("give `{first}` a watermark, or name `{other}` first");
        Self::new(Code::UnionLinkLost, cause, remedy)
    }
}
