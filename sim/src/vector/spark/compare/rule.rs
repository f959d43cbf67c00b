//! Which rule decides what was compared, in one sentence with its source.
//!
//! The source is `spark-rules`, the list of rules as measured, by section.
//!
//! Invariant: a rule follows from the query and from what was compared, never from a vector's name.

use super::super::{Operator, OutputMode, Query};

/// What was compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Subject {
    Watermark,
    NextWatermark,
    Batches,
    Operators,
    Emitted,
    StateRows,
    Removed,
    Dropped,
    Failure,
}

/// The rule that decides.
pub(super) fn rule(query: &Query, subject: Subject) -> &'static str {
    match subject {
        Subject::Watermark => "spark-rules 1: E(N+1) = W(N); it starts at 0",
        Subject::NextWatermark => {
            "spark-rules 1: W(N) = max(W(N-1), policy over inputs of max event time - delay)"
        }
        Subject::Batches => {
            "spark-rules 2: a batch without rows runs when W(N) > E(N) and a stateful operator asks; \
             none is pending after a restart"
        }
        Subject::Operators => {
            "spark-rules 6: each stateful operator reports itself, the last first"
        }
        Subject::Failure => "spark-rules 9: what Spark refuses, and when",
        Subject::Emitted => match query.output_mode {
            OutputMode::Update => "spark-rules 4: update emits each group that the batch touched",
            OutputMode::Complete => "spark-rules 4: complete emits everything in each data batch",
            OutputMode::Append => emitted(&query.operator),
        },
        Subject::StateRows | Subject::Removed if query.output_mode == OutputMode::Complete => {
            "spark-rules 3: complete mode removes nothing"
        }
        Subject::StateRows | Subject::Removed => removed(&query.operator),
        Subject::Dropped => dropped(&query.operator),
    }
}

fn emitted(operator: &Operator) -> &'static str {
    match operator {
        Operator::Window { .. } => "spark-rules 4: a group comes out once, when window end <= E",
        Operator::Session { .. } => "spark-rules 4: a session comes out once, when its end <= E",
        Operator::Key { .. } => "spark-rules 4: a group comes out once, when its time <= E",
        Operator::Dedup { .. } => "spark-rules 3: the first row of each kind that is not late",
        Operator::Join(_) => {
            "spark-rules 5: pairs when the second row comes; null rows when E > left.ts + upper"
        }
        Operator::Chain(_) => {
            "spark-rules 6: each operator has its own L and E, going up the plan; L is one batch older"
        }
        Operator::Passthrough | Operator::Project { .. } | Operator::Sort { .. } => {
            "spark-rules 3: a query without state drops nothing"
        }
    }
}

fn removed(operator: &Operator) -> &'static str {
    match operator {
        Operator::Window { .. } => "spark-rules 3: state goes when window end <= E",
        Operator::Session { .. } => {
            "spark-rules 3: state goes when session end <= E; a merge removes what it absorbs"
        }
        Operator::Key { .. } => "spark-rules 3: state goes when the grouped event time <= E",
        Operator::Dedup { within_watermark: true, .. } => {
            "spark-rules 3: state goes at the end of a batch when first time + delay <= E"
        }
        Operator::Dedup { .. } => {
            "spark-rules 3: state goes when time <= E, if time is a column of it"
        }
        _ => "spark-rules 6: each operator evicts by its own E",
    }
}

fn dropped(operator: &Operator) -> &'static str {
    match operator {
        Operator::Window { .. } => {
            "spark-rules 3: late when window end <= L; counted once per window and key of the batch"
        }
        Operator::Session { .. } => {
            "spark-rules 3: late when ts + gap <= L; counted once per key and time of the batch"
        }
        Operator::Key { .. } => "spark-rules 3: late when the grouped event time <= L",
        Operator::Dedup { .. } => "spark-rules 3: late when time <= L; counted once per row",
        Operator::Join(_) => "spark-rules 3: a row of either side is late when time <= L",
        _ => "spark-rules 6: no operator behind another drops what that one emits",
    }
}
