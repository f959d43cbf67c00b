//! Rules on columns: do names find something, and does the watermark's column reach the windows?
//!
//! Between watermark and operator a query may rename, drop or compute columns. A renamed column is
//! still the same one (Spark: `watermark_column_renamed`; S44 read so); a computed one is another,
//! even under the old name, and the watermark says nothing about it. The plan is judged, its
//! expressions are not run: where a computed column keeps the name of an input column, windows are
//! cut on the input's values.
//!
//! Invariant: whatever this module lets pass has a position in the schema.

use crate::plan::problem::Problem;
use crate::plan::{Aggregate, LineageStep, OutputMode, Plan};
use crate::row::{ColumnIx, ColumnKind, Schema};
use std::collections::BTreeSet;

/// The most columns that rows may be grouped by.
pub const MAX_KEYS: usize = 32;

/// One column as it arrives at the operator.
struct Arrival<'a> {
    name: &'a str,
    /// Where its values are in the input.
    origin: Option<ColumnIx>,
    computed: bool,
}

/// The columns that arrive at the operator, and the names that were lost on the way.
pub(super) struct Arrivals<'a> {
    columns: Vec<Arrival<'a>>,
    dropped: BTreeSet<&'a str>,
    renamed: Vec<(&'a str, &'a str)>,
}

impl<'a> Arrivals<'a> {
    /// Follows the lineage, and reports steps that name nothing.
    pub(super) fn new(plan: &'a Plan, problems: &mut Vec<Problem>) -> Self {
        let columns = plan.schema.columns.iter().enumerate();
        let columns = columns
            .map(|(at, it)| Arrival { name: &it.name, origin: Some(ColumnIx(at)), computed: false })
            .collect();
        let mut arrivals = Self { columns, dropped: BTreeSet::new(), renamed: Vec::new() };
        for step in &plan.lineage {
            arrivals.follow(step, problems);
        }
        arrivals
    }

    fn follow(&mut self, step: &'a LineageStep, problems: &mut Vec<Problem>) {
        match step {
            LineageStep::Rename { from, to } if from == to => {}
            LineageStep::Rename { from, to } => match self.position(from) {
                None => problems.push(Problem::lineage_column_unknown("the plan renames", from)),
                Some(_) if self.position(to).is_some() => {
                    problems
                        .push(Problem::lineage_column_taken("the plan renames a column to", to));
                }
                Some(at) => {
                    self.columns[at].name = to;
                    self.renamed.push((from, to));
                }
            },
            LineageStep::Project(names) => {
                let kept: BTreeSet<&str> = names.iter().map(String::as_str).collect();
                for name in kept.iter().filter(|it| self.position(it).is_none()) {
                    problems.push(Problem::lineage_column_unknown("the plan keeps", name));
                }
                let gone = self.columns.iter().map(|it| it.name).filter(|it| !kept.contains(it));
                self.dropped.extend(gone);
                self.columns.retain(|it| kept.contains(it.name));
            }
            LineageStep::Compute(name) => match self.position(name) {
                Some(at) => self.columns[at].computed = true,
                None => self.columns.push(Arrival { name, origin: None, computed: true }),
            },
        }
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|it| it.name == name)
    }

    /// What windows are cut on.
    fn windowed(&self, plan: &Plan) -> Option<&Arrival<'a>> {
        let operator = plan.operator.as_ref()?;
        self.position(&operator.time).map(|at| &self.columns[at])
    }

    /// The input column that windows are cut on.
    pub(super) fn window_column(&self, plan: &Plan) -> Option<ColumnIx> {
        self.windowed(plan)?.origin
    }

    /// Whether the watermark is computed from the column that windows are cut on.
    pub(super) fn linked(&self, plan: &Plan) -> bool {
        match (self.windowed(plan), &plan.watermark) {
            (Some(it), Some(watermark)) => !it.computed && it.origin == Some(watermark.column),
            _ => false,
        }
    }

    /// Why an input column is not there any more; completes "but it ..".
    fn lost(&self, plan: &Plan, column: ColumnIx) -> Option<&'static str> {
        if plan.schema.columns.len() <= column.0 {
            return Some("does not exist");
        }
        match self.columns.iter().find(|it| it.origin == Some(column)) {
            None => Some("is dropped by a projection"),
            Some(it) if it.computed => {
                Some("is computed anew, and its new values are not in the input")
            }
            Some(_) => None,
        }
    }
}

pub(super) fn check(plan: &Plan, arrivals: &Arrivals<'_>, problems: &mut Vec<Problem>) {
    unique_names(plan, problems);
    watermark_column(plan, problems);
    window_column(plan, arrivals, problems);
    link(plan, arrivals, problems);
    finishing(plan, problems);
    keys(plan, arrivals, problems);
    aggregates(plan, arrivals, problems);
}

/// Names must find one column.
pub(super) fn unique_names(plan: &Plan, problems: &mut Vec<Problem>) {
    let (mut seen, mut said) = (BTreeSet::new(), BTreeSet::new());
    for column in &plan.schema.columns {
        if !seen.insert(&column.name) && said.insert(&column.name) {
            problems.push(Problem::duplicate_column(&column.name));
        }
    }
}

/// The watermark is computed from a time (Spark refuses others while building the query).
fn watermark_column(plan: &Plan, problems: &mut Vec<Problem>) {
    let Some(watermark) = &plan.watermark else { return };
    match plan.schema.columns.get(watermark.column.0) {
        None => problems
            .push(Problem::watermark_column_unknown(watermark.column.0, plan.schema.columns.len())),
        Some(it) if it.kind != ColumnKind::Time => {
            problems.push(Problem::watermark_column_not_time(&it.name, kind_words(it.kind)));
        }
        Some(_) => {}
    }
}

/// Windows are cut on a time that is there, and whose values are (S44).
fn window_column(plan: &Plan, arrivals: &Arrivals<'_>, problems: &mut Vec<Problem>) {
    let Some(operator) = &plan.operator else { return };
    let name = operator.time.as_str();
    problems.push(match arrivals.windowed(plan) {
        None if arrivals.dropped.contains(name) => Problem::link_dropped(name),
        None => {
            let renamed = arrivals.renamed.iter().rev().find(|it| it.0 == name).map(|it| it.1);
            Problem::window_column_unknown(name, renamed)
        }
        Some(it) => match it.origin.map(|it| plan.schema.column(it).kind) {
            None => Problem::window_column_has_no_values(name),
            Some(ColumnKind::Time) => return,
            Some(kind) => Problem::window_column_not_time(name, kind_words(kind)),
        },
    });
}

/// Append mode waits for a watermark on the very column of its windows (S43, S44). Other modes run
/// without one and are warned, in `advice`.
fn link(plan: &Plan, arrivals: &Arrivals<'_>, problems: &mut Vec<Problem>) {
    let (Some(watermark), Some(it)) = (&plan.watermark, arrivals.windowed(plan)) else { return };
    let Some(column) = plan.schema.columns.get(watermark.column.0) else { return };
    if plan.output != OutputMode::Append || it.origin.is_none() {
        return;
    }
    if it.origin != Some(watermark.column) {
        problems.push(Problem::window_off_watermark(it.name, &column.name));
    } else if it.computed {
        problems.push(Problem::link_recomputed(it.name));
    }
}

/// What a mode writes must be able to come about (S46; Spark for complete mode).
fn finishing(plan: &Plan, problems: &mut Vec<Problem>) {
    match (plan.output, &plan.operator, &plan.watermark) {
        (OutputMode::Append, Some(_), None) => problems.push(Problem::append_without_watermark()),
        (OutputMode::Complete, None, _) => problems.push(Problem::complete_without_aggregation()),
        _ => {}
    }
}

fn keys(plan: &Plan, arrivals: &Arrivals<'_>, problems: &mut Vec<Problem>) {
    let Some(operator) = &plan.operator else { return };
    if MAX_KEYS < operator.keys.len() {
        problems.push(Problem::too_many_keys(operator.keys.len(), MAX_KEYS));
    }
    let (mut seen, mut said) = (BTreeSet::new(), BTreeSet::new());
    for key in &operator.keys {
        if seen.insert(*key) {
            if let Some(why) = arrivals.lost(plan, *key) {
                problems.push(Problem::key_column_unknown(&quoted(&plan.schema, *key), why));
            }
        } else if said.insert(*key) {
            problems.push(Problem::duplicate_key(&name(&plan.schema, *key)));
        }
    }
}

fn aggregates(plan: &Plan, arrivals: &Arrivals<'_>, problems: &mut Vec<Problem>) {
    let Some(operator) = &plan.operator else { return };
    let mut said = Vec::new();
    for (at, aggregate) in operator.aggregates.iter().enumerate() {
        if operator.aggregates[..at].contains(aggregate) {
            if !said.contains(aggregate) {
                problems.push(Problem::duplicate_aggregate(&words(&plan.schema, *aggregate)));
                said.push(*aggregate);
            }
            continue;
        }
        let Some(column) = aggregate.column() else { continue };
        if let Some(why) = arrivals.lost(plan, column) {
            let (aggregate, column) =
                (words(&plan.schema, *aggregate), quoted(&plan.schema, column));
            problems.push(Problem::aggregate_column_unknown(&aggregate, &column, why));
            continue;
        }
        let spec = plan.schema.column(column);
        if !means_something(*aggregate, spec.kind) {
            let aggregate = words(&plan.schema, *aggregate);
            let kind = kind_words(spec.kind);
            problems.push(Problem::aggregate_kind_mismatch(&aggregate, &spec.name, kind));
        }
    }
}

/// A sum of instants is no instant, and the code of a text is the order of its first sight.
pub(super) const fn means_something(aggregate: Aggregate, kind: ColumnKind) -> bool {
    match aggregate {
        Aggregate::Count | Aggregate::CountOf(_) => true,
        Aggregate::Min(_) | Aggregate::Max(_) => !matches!(kind, ColumnKind::Text),
        Aggregate::Sum(_) | Aggregate::Avg(_) => matches!(kind, ColumnKind::Integer),
    }
}

pub(super) const fn kind_words(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Integer => "an integer",
        ColumnKind::Time => "a time",
        ColumnKind::Text => "text",
    }
}

fn name(schema: &Schema, column: ColumnIx) -> String {
    match schema.columns.get(column.0) {
        Some(it) => it.name.clone(),
        None => format!("column number {}", column.0.saturating_add(1)),
    }
}

fn quoted(schema: &Schema, column: ColumnIx) -> String {
    match schema.columns.get(column.0) {
        Some(it) => format!("`{}`", it.name),
        None => name(schema, column),
    }
}

/// An aggregate as plans write it.
pub(super) fn words(schema: &Schema, aggregate: Aggregate) -> String {
    let (function, column) = match aggregate {
        Aggregate::Count => return "count".to_owned(),
        Aggregate::CountOf(it) => ("count", it),
        Aggregate::Sum(it) => ("sum", it),
        Aggregate::Min(it) => ("min", it),
        Aggregate::Max(it) => ("max", it),
        Aggregate::Avg(it) => ("avg", it),
    };
    format!("{function}({})", name(schema, column))
}

#[cfg(test)]
mod tests;
