//! Which columns somebody reads.
//!
//! Spark's optimizer takes away a column that nobody behind reads, also one that carries the event time:
//! then the operator in front has no event time any more, judges nobody and removes nothing (rule
//! ColumnPruning; measured).
//!
//! Invariant: what is read of a stage's output follows from the stages behind it alone.

use super::super::{Agg, Gap, Operator, Via};
use std::collections::BTreeSet;

/// The names that are read; `None`: all.
pub(super) type Read = Option<BTreeSet<String>>;

/// The stages of an operator, in order.
pub(super) fn flat(operator: &Operator) -> Vec<&Operator> {
    match operator {
        Operator::Chain(stages) => stages.iter().flat_map(flat).collect(),
        it => vec![it],
    }
}

/// What is read of the output of each stage.
pub(super) fn reads(stages: &[&Operator]) -> Vec<Read> {
    let mut behind = None;
    let mut all = Vec::new();
    for stage in stages.iter().rev() {
        all.push(behind.clone());
        behind = read(stage, behind);
    }
    all.reverse();
    all
}

/// What a stage reads of its input, where this is read of its output.
fn read(stage: &Operator, behind: Read) -> Read {
    let and = |columns: &[String]| {
        behind.clone().map(|it| it.into_iter().chain(columns.iter().cloned()).collect())
    };
    match stage {
        Operator::Window { keys, aggs, time, .. } => {
            let time = match time.via {
                Via::Window | Via::WindowTime => "window",
                Via::Direct | Via::Rename | Via::Computed => time.column.as_deref().unwrap_or("ts"),
            };
            Some(grouped(keys, aggs, Some(time)))
        }
        Operator::Session { gap, keys, aggs } => {
            let mut read = grouped(keys, aggs, Some("ts"));
            if let Gap::Column(it) = gap {
                read.insert(it.clone());
            }
            Some(read)
        }
        Operator::Key { keys, aggs } => Some(grouped(keys, aggs, None)),
        Operator::Dedup { columns, .. } | Operator::Sort { columns } => and(columns),
        Operator::Project { columns } => Some(match behind {
            Some(behind) => columns.iter().filter(|it| behind.contains(*it)).cloned().collect(),
            None => columns.iter().cloned().collect(),
        }),
        Operator::Passthrough | Operator::Join(_) | Operator::Chain(_) => behind,
    }
}

fn grouped(keys: &[String], aggs: &[Agg], time: Option<&str>) -> BTreeSet<String> {
    let time = time.map(str::to_owned);
    keys.iter().cloned().chain(aggs.iter().filter_map(|it| it.column.clone())).chain(time).collect()
}

/// The time column that the next grouping behind a join needs to be there, if one does: what finds no
/// partner on that side is not kept (rule EliminateOuterJoin).
pub(super) fn needed_time<'a>(behind: &[&'a Operator]) -> Option<&'a str> {
    let stateless =
        |it: &&&Operator| matches!(it, Operator::Project { .. } | Operator::Passthrough);
    match behind.iter().find(|it| !stateless(it)) {
        Some(Operator::Window { time, .. }) => time.column.as_deref(),
        _ => None,
    }
}
