//! The columns that come out of a stage.
//!
//! Invariant: a stage that names a column which is not there leaves it out; the check refuses it.

use super::{CountPlan, GlobalPlan, JoinKind, JoinPlan, SessionPlan, StagePlan, WindowStage};
use crate::plan::Aggregate;
use crate::row::{ColumnIx, ColumnKind, ColumnSpec, Schema};

impl StagePlan {
    /// The columns that come out of it.
    pub fn output(&self, input: &Schema) -> Schema {
        let named = |name: &str, kind| ColumnSpec { name: name.to_owned(), kind };
        let mut columns = Vec::new();
        let take = |ix: &ColumnIx, columns: &mut Vec<ColumnSpec>| {
            columns.extend(input.columns.get(ix.0).cloned());
        };
        match self {
            Self::Filter(_) | Self::Compute(_) | Self::Dedup(_) => return input.clone(),
            Self::Project(kept) => kept.iter().for_each(|it| take(it, &mut columns)),
            Self::Rename(at, name) => {
                columns.clone_from(&input.columns);
                if let Some(it) = columns.get_mut(at.0) {
                    it.name.clone_from(name);
                }
            }
            Self::Window(WindowStage { keys, aggregates, .. })
            | Self::Session(SessionPlan { keys, aggregates, .. }) => {
                for name in ["window_start", "window_end", "window_time"] {
                    columns.push(named(name, ColumnKind::Time));
                }
                keys.iter().for_each(|it| take(it, &mut columns));
                aggregates.iter().for_each(|it| it.output(input, &mut columns));
            }
            Self::Global(GlobalPlan { keys, aggregates, .. }) => {
                keys.iter().for_each(|it| take(it, &mut columns));
                aggregates.iter().for_each(|it| it.output(input, &mut columns));
            }
            Self::Count(CountPlan { keys, aggregates, .. }) => {
                keys.iter().for_each(|it| take(it, &mut columns));
                aggregates.iter().for_each(|it| it.output(input, &mut columns));
                columns.push(named("window_time", ColumnKind::Time));
            }
            Self::Join(JoinPlan { kind, .. }) => {
                let both = !matches!(kind, JoinKind::Semi | JoinKind::Anti);
                joined(input, both, &mut columns);
            }
            Self::AsOf(_) => joined(input, true, &mut columns),
        }
        Schema { columns }
    }
}

fn joined(input: &Schema, both: bool, columns: &mut Vec<ColumnSpec>) {
    for prefix in if both { &["l_", "r_"][..] } else { &["l_"] } {
        columns.extend(
            input
                .columns
                .iter()
                .map(|it| ColumnSpec { name: format!("{prefix}{}", it.name), kind: it.kind }),
        );
    }
}

impl Aggregate {
    /// The columns that it writes.
    pub fn output(self, input: &Schema, columns: &mut Vec<ColumnSpec>) {
        let of = |it: ColumnIx| input.columns.get(it.0).cloned();
        let spec = |word: &str, column: ColumnIx, kind: Option<ColumnKind>| {
            let column = of(column);
            let name = column.as_ref().map_or("?", |it| it.name.as_str());
            let kind = kind.or(column.as_ref().map(|it| it.kind)).unwrap_or(ColumnKind::Integer);
            ColumnSpec { name: format!("{word}({name})"), kind }
        };
        let integer = Some(ColumnKind::Integer);
        match self {
            Self::Count => {
                columns.push(ColumnSpec { name: "count".to_owned(), kind: ColumnKind::Integer });
            }
            Self::CountOf(it) => columns.push(spec("count", it, integer)),
            Self::Sum(it) => columns.push(spec("sum", it, integer)),
            Self::Min(it) => columns.push(spec("min", it, None)),
            Self::Max(it) => columns.push(spec("max", it, None)),
            Self::Avg(it) => {
                columns.push(spec("avg_sum", it, integer));
                columns.push(spec("avg_count", it, integer));
            }
        }
    }
}
