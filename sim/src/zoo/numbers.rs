//! Plants about numbers: counters, notes and watermarks that are shown wrongly.
//!
//! Invariant: figures and fates stay right; only what is said about them is wrong.

use crate::system::View;
use crate::system::engine::Engine;
use crate::zoo::fault::Fault;
use crate::zoo::{Build, Plant};
use plimsoll_engine::late::Saving;
use plimsoll_engine::output::{Completeness, Fate, Output, RowRecord};
use plimsoll_engine::time::{EventTime, Span};

/// Wrong numbers.
pub const PLANTS: &[Plant] = &[
    Plant {
        name: "drops-uncounted",
        modelled_on: &["SPARK-38549"],
        what: "dropped rows are not in the counter",
        killed_by: &["I40"],
        build: Build::Fault(|_| Box::new(Numbers(uncounted))),
    },
    Plant {
        name: "drops-unrecorded",
        modelled_on: &[],
        what: "late rows leave no record",
        killed_by: &["I14", "I42", "I40"],
        build: Build::Fault(|_| Box::new(Numbers(unrecorded))),
    },
    Plant {
        name: "partly-late-silent",
        modelled_on: &["JET-675"],
        what: "a row that is late for some of its windows only is said to be in all of them",
        killed_by: &["I5", "I42", "I40"],
        build: Build::Fault(|_| Box::new(Numbers(partly))),
    },
    Plant {
        name: "late-leaves-group",
        modelled_on: &["FLINK-5713"],
        what: "a late row leaves an empty group behind",
        killed_by: &["I29", "I40"],
        build: Build::Fault(|_| Box::new(LeftBehind(0))),
    },
    Plant {
        name: "late-sets-maximum",
        modelled_on: &["KAFKA-7072"],
        what: "a late row is taken for the furthest: the candidate that is shown goes back to it",
        killed_by: &["I29", "I8", "I43"],
        build: Build::Fault(|_| Box::new(Numbers(goes_back))),
    },
    Plant {
        name: "ledger-empty",
        modelled_on: &[],
        what: "figures say that no row was dropped for them",
        killed_by: &["I33"],
        build: Build::Fault(|_| Box::new(Numbers(ledger))),
    },
    Plant {
        name: "always-known",
        modelled_on: &[],
        what: "every figure calls itself complete",
        killed_by: &["I34"],
        build: Build::Fault(|_| Box::new(Numbers(known))),
    },
    Plant {
        name: "slack-off-by-one",
        modelled_on: &[],
        what: "the delay that would have saved a row is one millisecond too small",
        killed_by: &["I42"],
        build: Build::Fault(|_| Box::new(Numbers(slack))),
    },
    Plant {
        name: "not-monotone",
        modelled_on: &["JET-1879"],
        what: "the watermark that is shown follows the candidate down",
        killed_by: &["I1", "I43"],
        build: Build::Fault(|_| Box::new(Down(None))),
    },
    Plant {
        name: "state-gauge-stale",
        modelled_on: &[],
        what: "the state gauge does not see what was removed",
        killed_by: &["I40"],
        build: Build::Fault(|_| Box::new(Gauge)),
    },
];

/// Changes what is said after the fact.
#[derive(Clone, Copy, Debug)]
struct Numbers(fn(&Engine, &mut Output));

impl Fault for Numbers {
    fn copy(&self) -> Box<dyn Fault> {
        Box::new(*self)
    }

    fn after(&mut self, engine: &Engine, out: &mut Output) {
        (self.0)(engine, out);
    }
}

fn uncounted(_: &Engine, out: &mut Output) {
    out.steps.iter_mut().for_each(|it| it.rows_dropped = 0);
}

fn unrecorded(_: &Engine, out: &mut Output) {
    out.records.retain(|it| !matches!(it.fate, Fate::Late(_)));
}

fn partly(_: &Engine, out: &mut Output) {
    out.records.retain(|it| !matches!(it.fate, Fate::Late(it) if 0 < it.windows_kept));
}

fn goes_back(_: &Engine, out: &mut Output) {
    let late = |it: &RowRecord| match it.fate {
        Fate::Late(it) => Some(it.time),
        _ => None,
    };
    if let (Some(step), Some(time)) =
        (out.steps.last_mut(), out.records.iter().rev().find_map(late))
    {
        step.candidate = step.candidate.min(time);
    }
}

fn ledger(_: &Engine, out: &mut Output) {
    out.firings.iter_mut().for_each(|it| it.note.rows_dropped = 0);
}

fn known(_: &Engine, out: &mut Output) {
    out.firings.iter_mut().for_each(|it| it.note.completeness = Completeness::Known);
}

fn slack(_: &Engine, out: &mut Output) {
    for record in &mut out.records {
        if let Fate::Late(late) = &mut record.fate
            && let Saving::Delay { smallest, .. } = &mut late.saving
        {
            *smallest = *smallest - Span(1);
        }
    }
}

/// The watermark that the last step should have shown.
#[derive(Clone, Copy, Debug)]
struct Down(Option<EventTime>);

impl Fault for Down {
    fn copy(&self) -> Box<dyn Fault> {
        Box::new(*self)
    }

    fn after(&mut self, engine: &Engine, out: &mut Output) {
        let delay = engine.job().plan().watermark.as_ref().map_or(Span::ZERO, |it| it.delay);
        for step in &mut out.steps {
            step.watermark = step.watermark.min(step.candidate - delay);
            self.0 = Some(step.watermark);
        }
    }

    fn show<'a>(&'a self, view: View<'a>) -> View<'a> {
        View { watermark: self.0.unwrap_or(view.watermark), ..view }
    }
}

#[derive(Clone, Copy, Debug)]
struct Gauge;

impl Fault for Gauge {
    fn copy(&self) -> Box<dyn Fault> {
        Box::new(*self)
    }

    fn show<'a>(&'a self, view: View<'a>) -> View<'a> {
        let groups = view.groups.map(|it| if it == 0 && 3 < view.steps { 1 } else { it });
        View { groups, ..view }
    }
}

/// How many groups late rows have left behind.
#[derive(Clone, Copy, Debug)]
struct LeftBehind(u64);

impl Fault for LeftBehind {
    fn copy(&self) -> Box<dyn Fault> {
        Box::new(*self)
    }

    fn after(&mut self, _: &Engine, out: &mut Output) {
        let whole = |it: &&RowRecord| matches!(it.fate, Fate::Late(it) if it.windows_kept == 0);
        self.0 += out.records.iter().filter(whole).count() as u64;
    }

    fn show<'a>(&'a self, view: View<'a>) -> View<'a> {
        View { groups: view.groups.map(|it| it + self.0), ..view }
    }
}
