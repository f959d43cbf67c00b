//! The integers of a flow: spans, numbers of rows, what filters compare with.
//!
//! The delay of the first watermark is the plan's, and so not here. While windows are tumbling, size and
//! slide are one number.
//!
//! Invariant: a change of one number changes how many there are for nobody; a number that is not there at
//! the moment keeps its place.

use plimsoll_engine::plan::WindowSpec;
use plimsoll_engine::plan::flow::{DedupExpiry, Edge, Filter, Flow, Gap, StagePlan};
use plimsoll_engine::plan::levels::Limit;
use plimsoll_engine::time::Span;

/// What a number is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Number {
    /// What a reader calls it.
    pub(super) name: String,
    /// What stands there.
    pub(super) value: Option<i64>,
    /// The smallest value that makes sense there.
    pub(super) least: i64,
    /// Whether it is a span; others are plain numbers.
    pub(super) is_span: bool,
}

/// All numbers of a flow, in order.
pub(super) fn numbers(flow: &Flow) -> Vec<Number> {
    let mut all = Vec::new();
    walk(&mut flow.clone(), &mut |it| {
        all.push(it);
        None
    });
    all
}

/// Puts a value at the place of a number.
pub(super) fn set(flow: &mut Flow, at: usize, value: i64) {
    let mut count = 0;
    walk(flow, &mut |_| {
        count += 1;
        (count == at + 1).then_some(value)
    });
}

/// Shows every number, and takes the answer in its place.
fn walk(flow: &mut Flow, change: &mut dyn FnMut(Number) -> Option<i64>) {
    let mut walk = Walk { change, place: String::new() };
    walk.span("hindsight", 0, Some(&mut flow.hindsight));
    let mut first = true;
    for input in &mut flow.inputs {
        walk.place = format!("of {}", input.name);
        for mark in &mut input.marks {
            if !std::mem::take(&mut first) {
                walk.span("delay", 0, Some(&mut mark.delay));
            }
        }
        let filters = input.before.iter_mut().chain(&mut input.behind);
        filters.for_each(|it| walk.filter(it));
    }
    for (number, stage) in (1..).zip(&mut flow.stages) {
        walk.place = format!("of stage {number}");
        walk.stage(stage);
    }
    if let Some(levels) = &mut flow.levels {
        walk.place = "of the levels".to_owned();
        walk.span("idle timeout", 0, levels.idle_timeout.as_mut());
        walk.span("emission interval", 1, levels.emission.as_mut());
        if let Some(it) = &mut levels.alignment {
            walk.span("alignment interval", 1, Some(&mut it.update));
            let drift = match &mut it.limit {
                Limit::Drift(it) => Some(it),
                Limit::Announced => None,
            };
            walk.span("drift", 0, drift);
        }
    }
}

struct Walk<'a> {
    change: &'a mut dyn FnMut(Number) -> Option<i64>,
    /// Where the numbers stand that come now.
    place: String,
}

impl Walk<'_> {
    fn number(&mut self, what: &str, least: i64, is_span: bool, value: Option<i64>) -> Option<i64> {
        let name = format!("the {what} {}", self.place).trim_end().to_owned();
        (self.change)(Number { name, value, least, is_span })
    }

    fn span(&mut self, what: &str, least: i64, span: Option<&mut Span>) {
        let new = self.number(what, least, true, span.as_ref().map(|it| it.0));
        if let (Some(new), Some(span)) = (new, span) {
            span.0 = new;
        }
    }

    fn rows(&mut self, what: &str, rows: Option<&mut u64>) {
        let now = rows.as_ref().map(|it| i64::try_from(**it).unwrap_or(i64::MAX));
        let new = self.number(what, 1, false, now);
        if let (Some(new), Some(rows)) = (new, rows) {
            *rows = new.unsigned_abs();
        }
    }

    fn filter(&mut self, filter: &mut Filter) {
        let new = self.number("filter's number", i64::MIN, false, Some(filter.value));
        filter.value = new.unwrap_or(filter.value);
    }

    fn window(&mut self, window: &mut WindowSpec) {
        let tumbling = window.size == window.slide;
        self.span("window's size", 1, Some(&mut window.size));
        if tumbling {
            window.slide = window.size;
        }
        self.span("window's slide", 1, Some(&mut window.slide).filter(|_| !tumbling));
        self.span("window's offset", i64::MIN, Some(&mut window.offset));
    }

    fn edge(&mut self, what: &str, edge: &mut Option<Edge>) {
        self.span(what, i64::MIN, edge.as_mut().map(|it| &mut it.at));
    }

    fn stage(&mut self, stage: &mut StagePlan) {
        match stage {
            StagePlan::Filter(it) => self.filter(it),
            StagePlan::Window(it) => {
                self.window(&mut it.window);
                self.span("lateness", 0, Some(&mut it.lateness));
                self.rows("rows of an early pane", it.panes.early_rows.as_mut());
            }
            StagePlan::Session(it) => {
                let gap = match &mut it.gap {
                    Gap::Fixed(it) => Some(it),
                    Gap::Column(_) => None,
                };
                self.span("gap", 1, gap);
                self.span("longest session", 1, it.max_span.as_mut());
                self.span("lateness", 0, Some(&mut it.lateness));
            }
            StagePlan::Count(it) => self.rows("rows of a window", Some(&mut it.rows)),
            StagePlan::Dedup(it) => {
                let within = match &mut it.expiry {
                    DedupExpiry::After(it) => Some(it),
                    DedupExpiry::WithItsTime | DedupExpiry::Never | DedupExpiry::At(_) => None,
                };
                self.span("time until it forgets", 0, within);
            }
            StagePlan::Join(it) => {
                for range in &mut it.ranges {
                    self.edge("lower bound", &mut range.lower);
                    self.edge("upper bound", &mut range.upper);
                }
                it.window.iter_mut().for_each(|it| self.window(it));
                it.only_if.iter_mut().flatten().for_each(|it| self.filter(it));
                self.span("grace", 0, Some(&mut it.grace));
            }
            StagePlan::AsOf(it) => self.span("tolerance", 0, Some(&mut it.tolerance)),
            StagePlan::Project(_)
            | StagePlan::Rename(..)
            | StagePlan::Compute(_)
            | StagePlan::Global(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::plan_text::draw::Draw;

    #[test]
    fn a_number_that_is_set_is_the_only_one_that_changes() {
        let mut draw = Draw(11);
        for _ in 0..300 {
            let Some(flow) = draw.plan().flow else { continue };
            let before = numbers(&flow);
            for at in (0..before.len()).filter(|it| before[*it].value.is_some()) {
                let mut changed = flow.clone();
                set(&mut changed, at, 77);
                let mut expected = before.clone();
                expected[at].value = Some(77);
                let found = numbers(&changed);
                let slide = before[at].name.contains("window's s");
                for (expected, found) in expected.iter().zip(&found) {
                    // Size and slide are one while they are equal.
                    let coupled = slide && found.name.contains("window's slide");
                    assert!(coupled || expected == found, "{expected:?} {found:?}");
                }
                assert_eq!(expected.len(), found.len());
            }
        }
    }
}
