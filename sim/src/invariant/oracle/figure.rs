//! I41: what is written is what the definition says, as a multiset per step.
//!
//! The order of figures is free. Firings are paired by window and their figures by key, at the
//! first try in the order in which both sides stand, then sorted; only where that fails is
//! everything flattened to find what to say.
//!
//! Invariant: two sides agree iff their multisets of (window, kind, key, values) are equal.

use super::text;
use crate::invariant::Observation;
use crate::oracle::{Expected, ExpectedFiring, ExpectedStep, Oracle};
use crate::trace::Trace;
use plimsoll_engine::output::{Firing, FiringKind};
use plimsoll_engine::state::layout::{Groups, Value};
use plimsoll_engine::window::Window;
use std::cmp::Ordering;

/// Figures as the system shows them.
pub(super) trait Table {
    fn len(&self) -> usize;
    fn key(&self, figure: usize, column: usize) -> Option<i64>;
    fn value(&self, figure: usize, aggregate: usize) -> Value;
}

impl Table for Groups {
    fn len(&self) -> usize {
        Self::len(self)
    }

    fn key(&self, figure: usize, column: usize) -> Option<i64> {
        Self::key(self, figure, column)
    }

    fn value(&self, figure: usize, aggregate: usize) -> Value {
        Self::value(self, figure, aggregate)
    }
}

/// Memory of comparisons, used again.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    ours: Vec<usize>,
    theirs: Vec<usize>,
}

impl Comparison {
    /// The first thing that differs.
    pub(super) fn disagreement(
        &mut self,
        oracle: &Oracle,
        seen: &Observation<'_>,
    ) -> Option<String> {
        let (expected, firings) = (oracle.expected(), &seen.output.firings);
        if expected.firings.is_empty() && firings.is_empty() {
            return None;
        }
        if self.pairs_agree(expected, firings) {
            return None;
        }
        let foreign = |it: &&Firing| expected.steps.iter().all(|step| step.step != it.step);
        if let Some(it) = firings.iter().find(foreign) {
            let (window, step) = (text::window(it.window), it.step);
            return Some(format!("{window} was written in step {step}, which is not of this item"));
        }
        expected.steps.iter().find_map(|step| {
            let theirs = firings.iter().filter(|it| it.step == step.step);
            let theirs = theirs.flat_map(|it| flat(seen.trace, it.window, it.kind, &it.groups));
            first_difference(seen.trace, step, ours(expected, step), theirs.collect())
        })
    }

    fn pairs_agree(&mut self, expected: &Expected, firings: &[Firing]) -> bool {
        expected.firings.len() == firings.len()
            && expected.firings.iter().zip(firings).all(|(ours, theirs)| {
                ours.step == theirs.step
                    && ours.window == theirs.window
                    && ours.kind == theirs.kind
                    && self.tables_agree(expected, ours, &theirs.groups)
            })
    }

    /// Whether two tables hold the same figures, in any order.
    pub(super) fn tables_agree(
        &mut self,
        expected: &Expected,
        firing: &ExpectedFiring,
        table: &impl Table,
    ) -> bool {
        let (from, len) = (firing.figures.start, firing.figures.len());
        if len != table.len() {
            return false;
        }
        if (0..len).all(|it| same(expected, from + it, table, it)) {
            return true;
        }
        let width = expected.key(from).len();
        self.ours.clear();
        self.ours.extend(firing.figures.clone());
        self.ours.sort_unstable_by(|a, b| expected.key(*a).cmp(expected.key(*b)));
        self.theirs.clear();
        self.theirs.extend(0..len);
        self.theirs.sort_unstable_by(|a, b| by_key(table, width, *a, *b));
        let mut pairs = self.ours.iter().zip(&self.theirs);
        pairs.all(|(ours, theirs)| same(expected, *ours, table, *theirs))
    }
}

fn same(expected: &Expected, ours: usize, table: &impl Table, theirs: usize) -> bool {
    let mut key = expected.key(ours).iter().enumerate();
    let mut values = expected.values(ours).iter().enumerate();
    key.all(|(at, it)| table.key(theirs, at) == *it)
        && values.all(|(at, it)| table.value(theirs, at) == *it)
}

fn by_key(table: &impl Table, width: usize, a: usize, b: usize) -> Ordering {
    let cells = |figure| (0..width).map(move |it| table.key(figure, it));
    cells(a).cmp(cells(b))
}

/// A figure by itself.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Figure {
    window: Window,
    kind: u8,
    key: Vec<Option<i64>>,
    values: Vec<Value>,
}

fn ours(expected: &Expected, step: &ExpectedStep) -> Vec<Figure> {
    let firings = expected.firings[step.firings.clone()].iter();
    let figures = firings.flat_map(|firing| {
        firing.figures.clone().map(|it| Figure {
            window: firing.window,
            kind: firing.kind as u8,
            key: expected.key(it).to_vec(),
            values: expected.values(it).to_vec(),
        })
    });
    figures.collect()
}

/// The figures of a table of the system.
pub(super) fn flat(
    trace: &Trace,
    window: Window,
    kind: FiringKind,
    table: &impl Table,
) -> impl Iterator<Item = Figure> {
    let operator = trace.plan.operator.as_ref();
    let keys = operator.map_or(0, |it| it.keys.len());
    let aggregates = operator.map_or(0, |it| it.aggregates.len());
    (0..table.len()).map(move |figure| Figure {
        window,
        kind: kind as u8,
        key: (0..keys).map(|it| table.key(figure, it)).collect(),
        values: (0..aggregates).map(|it| table.value(figure, it)).collect(),
    })
}

/// The first figure in which two multisets differ, as a sentence.
pub(super) fn first_difference(
    trace: &Trace,
    step: &ExpectedStep,
    mut ours: Vec<Figure>,
    mut theirs: Vec<Figure>,
) -> Option<String> {
    ours.sort_unstable();
    theirs.sort_unstable();
    let common = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
    let name = |it: &Figure| (it.window, it.kind, it.key.clone());
    let (expected, found) = (ours.get(common), theirs.get(common));
    let at = |it: &Figure| {
        let kind = match it.kind {
            0 => "on time",
            1 => "update",
            _ => "complete",
        };
        let (window, key) = (text::window(it.window), text::key(trace, &it.key));
        format!("step {}: {window} {key} ({kind})", step.step)
    };
    let values = |it: &Figure| text::values(&it.values);
    match (expected, found) {
        (None, None) => None,
        (Some(a), Some(b)) if name(a) == name(b) => {
            Some(format!("{}: expected {}, found {}", at(a), values(a), values(b)))
        }
        (Some(a), Some(b)) if name(b) < name(a) => {
            Some(format!("{}: expected nothing, found {}", at(b), values(b)))
        }
        (Some(a), _) => Some(format!("{}: expected {}, found nothing", at(a), values(a))),
        (None, Some(b)) => Some(format!("{}: expected nothing, found {}", at(b), values(b))),
    }
}
