//! Rules on inputs and their watermarks.
//!
//! Invariant: whatever passes has marks on time columns, with delays that can be computed with.

use super::{kind_words, levels, numbers};
use crate::plan::Plan;
use crate::plan::flow::{Flow, InputPlan, Judged, Mark};
use crate::plan::problem::Problem;
use crate::row::{ColumnIx, ColumnKind, PartitionId};
use crate::time::Span;
use std::collections::BTreeSet;

pub(super) fn check(plan: &Plan, flow: &Flow, problems: &mut Vec<Problem>) {
    if flow.inputs.is_empty() {
        problems.push(Problem::flow_without_input());
    }
    let most = PartitionId::INPUT_MAX as usize + 1;
    if most < flow.inputs.len() {
        problems.push(Problem::too_many_inputs(flow.inputs.len(), most));
    }
    let (mut seen, mut said) = (BTreeSet::new(), BTreeSet::new());
    for input in &flow.inputs {
        if !seen.insert(&input.name) && said.insert(&input.name) {
            problems.push(Problem::duplicate_input(&input.name));
        }
    }
    for input in &flow.inputs {
        input.marks.iter().for_each(|it| mark(plan, *it, problems));
        several(plan, flow, input, problems);
        for filter in input.before.iter().chain(&input.behind) {
            known(plan, filter.column, problems);
        }
        if let Judged::Column(it) = input.judged {
            known(plan, it, problems);
        }
    }
    if Span::ZERO > flow.hindsight {
        problems.push(Problem::negative_span("hindsight", flow.hindsight));
    } else {
        numbers::legal("hindsight", flow.hindsight, problems);
    }
    if let Some(it) = &flow.levels {
        levels::check(plan, flow, it, problems);
    }
    for it in &flow.pairs {
        known(plan, it.left, problems);
        known(plan, it.right, problems);
    }
    joins(flow, problems);
}

/// A watermark is on a time column and not ahead of it.
fn mark(plan: &Plan, mark: Mark, problems: &mut Vec<Problem>) {
    let columns = &plan.schema.columns;
    match columns.get(mark.column.0) {
        None => problems.push(Problem::watermark_column_unknown(mark.column.0, columns.len())),
        Some(it) if it.kind != ColumnKind::Time => {
            problems.push(Problem::watermark_column_not_time(&it.name, kind_words(it.kind)));
        }
        Some(_) => {}
    }
    numbers::delay(mark.delay, problems);
}

/// Of several watermarks on one input the stages know the last.
fn several(plan: &Plan, flow: &Flow, input: &InputPlan, problems: &mut Vec<Problem>) {
    let Some((last, others)) = input.marks.split_last() else { return };
    let name = |it: ColumnIx| plan.schema.columns.get(it.0).map_or("?", |it| it.name.as_str());
    if let Some(other) = others.iter().find(|it| it.column != last.column) {
        let (first, last) = (name(other.column), name(last.column));
        problems.push(Problem::watermark_replaced(&input.name, first, last));
    }
    let chained = flow.chain == crate::plan::flow::Chain::Previous;
    // Spark finds the one below the other, whatever they are on (WatermarkPropagator).
    if chained && !others.is_empty() {
        problems.push(Problem::watermark_redefined(&input.name, name(last.column)));
    }
}

fn known(plan: &Plan, column: ColumnIx, problems: &mut Vec<Problem>) {
    let count = plan.schema.columns.len();
    if count <= column.0 {
        problems.push(Problem::stage_column_unknown(
            "the filter before the watermark",
            column.0,
            count,
        ));
    }
}

/// A join has a left and a right input, and is the first stage.
fn joins(flow: &Flow, problems: &mut Vec<Problem>) {
    if flow.joins() && flow.inputs.len() != 2 {
        problems.push(Problem::join_inputs(flow.inputs.len()));
    }
}
