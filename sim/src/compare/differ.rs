//! What differs between runs: rows by their fate, figures by their values, then by when.
//!
//! Invariant: differences stand in the order of items and of figures, whatever the order of profiles.

use super::figure::FigureId;
use super::told::{Told, rows_of};
use super::{FigureDifference, RowDifference, Written};
use crate::explain::Quoted;
use crate::trace::Trace;
use plimsoll_engine::row::ItemId;
use std::collections::BTreeSet;

/// Rows with different fates.
pub(super) fn rows(trace: &Trace, told: &[Told]) -> Vec<RowDifference> {
    let difference = |number: u64| {
        let fates: Vec<_> = told.iter().map(|it| it.fates[&number].clone()).collect();
        let differ = fates.iter().any(|it| !it.is_same(&fates[0]));
        let row = Quoted::of(trace, ItemId(number)).expect("the row is in the trace");
        differ.then_some(RowDifference { row, fates })
    };
    rows_of(trace).filter_map(|it| difference(it.0)).collect()
}

fn all_figures(told: &[Told]) -> BTreeSet<&FigureId> {
    told.iter().flat_map(|it| it.figures.keys()).collect()
}

/// How many figures at least one of them wrote.
pub(super) fn figures_written(told: &[Told]) -> usize {
    all_figures(told).len()
}

/// Figures with different values, and those that differ in when alone.
pub(super) fn figures(told: &[Told]) -> (Vec<FigureDifference>, Vec<FigureDifference>) {
    let (mut values, mut times) = (Vec::new(), Vec::new());
    for id in all_figures(told) {
        let written: Vec<_> = told.iter().map(|it| it.figures.get(id).cloned()).collect();
        let value = |it: &Option<Written>| it.as_ref().map(|it| it.values.clone());
        let differ = written.iter().any(|it| value(it) != value(&written[0]));
        let late = written.iter().any(|it| *it != written[0]);
        let it = FigureDifference { figure: id.name.clone(), written };
        if differ {
            values.push(it);
        } else if late {
            times.push(it);
        }
    }
    (values, times)
}
