//! Golden lines: what came out of each item, as a person at three in the morning wants to read it.
//!
//! A trace alternates between items and `=>` lines, and the lines below an item say everything that
//! came out because of it. They stand in the order in which it happened: items that made no sense,
//! partitions that fell silent or spoke again, then per step the rows that were not simply counted,
//! the watermark where it rose, and the figures. Where a new watermark counts only later
//! (`effective`), the figures come before it, since an older one wrote them.
//!
//! ```text
//! => ignored: no such partition here
//! => idle p1                        and: active p1
//! => late k=a 10:09:55 behind 10:10:00 (set by item 2); a delay of 2min5s would have kept it
//! => no_time                        and: out of range, no window, guarded: ..
//! => watermark 10:10:00             and: (from the next batch), (forgotten) by a restart
//! => emit [10:00:00,10:10:00) k=a count=1 sum(v)=1
//! ```
//! Of a flow come out rows, and what contradicts earlier ones:
//!
//! ```text
//! => emit l_time=10:00:00 l_k=a r_time=- r_k=-
//! => emit late pane=1 [10:00:00,10:10:00) k=a count=3
//! => split: overlaps the session [10:00:00,10:07:00), which was written before
//! => late at stage 2: a row behind 10:10:00
//! ```
//! They stand where figures do, remarks with the rows that caused them; in order of their text.
//!
//! A row that was judged at a later item is named there: `late item 3 k=a ..`. Figures are sorted by
//! the window's end, its start and the text of the key; `update` and `total` take the place of `emit`
//! in the other output modes. An average is sum and count, `avg(v)=7/2`.
//!
//! Invariant: the same trace and output give the same lines; a file that has golden lines has all of
//! them, so that an item without any is an item out of which nothing comes.

mod bless;
mod fate;
mod figure;
mod flow;
mod judge;

pub use bless::{Mismatch, bless, check};
pub(crate) use fate::compared;
pub(crate) use figure::cell as cell_of;
pub(crate) use flow::cells as cells_of;

use crate::invariant::Observation;
use crate::trace::time_text::TimeText;
use crate::trace::{Item, Trace};
use plimsoll_engine::late::LateRow;
use plimsoll_engine::output::{Fate, Firing, Output, RowRecord, StepKind, StepRecord};
use plimsoll_engine::plan::Effective;
use plimsoll_engine::row::ItemId;
use plimsoll_engine::time::EventTime;
use plimsoll_engine::watermark::member::{Member, MemberState};
use std::collections::BTreeMap;

/// Writes down a run, item by item; remembers what a rise is a rise from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scribe {
    watermark: EventTime,
    members: Vec<Member>,
}

impl Scribe {
    /// Before the first item of a trace.
    pub fn new(trace: &Trace) -> Self {
        let watermark = trace.plan.watermark.as_ref().map_or(EventTime::MIN, |it| it.initial);
        Self { watermark, members: Vec::new() }
    }

    /// The golden lines of the next item, without `=>`.
    pub fn observe(&mut self, seen: &Observation<'_>) -> Vec<String> {
        let mut lines = ignored(seen.id, seen.output);
        lines.extend(changed(seen.trace, &self.members, seen.view.members));
        lines.extend(steps(seen.trace, seen.id, seen.output, self.watermark));
        if matches!(seen.item, Item::Restart(_)) && seen.view.watermark < self.watermark {
            lines.push(format!("watermark {} (forgotten)", TimeText(seen.view.watermark)));
            self.watermark = seen.view.watermark;
        }
        self.watermark = self.watermark.max(seen.view.watermark);
        self.members.clear();
        self.members.extend_from_slice(seen.view.members);
        lines
    }
}

/// Items that made no sense where they stood.
fn ignored(id: ItemId, output: &Output) -> Vec<String> {
    let line = |it: &plimsoll_engine::output::Ignored| {
        format!("ignored{}: {}", other_item(id, it.id), it.why.sentence())
    };
    output.ignored.iter().map(line).collect()
}

/// ` item 3`, where it is not the item at hand that is spoken of.
fn other_item(id: ItemId, of: ItemId) -> String {
    if of == id { String::new() } else { format!(" item {}", of.0) }
}

/// Partitions that fell silent, or spoke again.
fn changed(trace: &Trace, before: &[Member], after: &[Member]) -> Vec<String> {
    let idle = |it: &Member| it.state == MemberState::Idle;
    let line = |it: &Member| {
        let was = before.iter().find(|old| old.partition == it.partition);
        let name = trace.partition_text(it.partition);
        match (was.is_some_and(idle), it.state) {
            (false, MemberState::Idle) => Some(format!("idle {name}")),
            (true, MemberState::Active) => Some(format!("active {name}")),
            _ => None,
        }
    };
    after.iter().filter_map(line).collect()
}

/// What came out of one step.
#[derive(Default)]
struct Step<'a> {
    record: Option<&'a StepRecord>,
    rows: Vec<&'a RowRecord>,
    firings: Vec<&'a Firing>,
    remarks: Vec<String>,
    emitted: Vec<String>,
}

fn steps(trace: &Trace, id: ItemId, output: &Output, mut watermark: EventTime) -> Vec<String> {
    let mut steps: BTreeMap<u64, Step<'_>> = BTreeMap::new();
    for it in &output.records {
        steps.entry(it.step).or_default().rows.push(it);
    }
    for it in &output.firings {
        steps.entry(it.step).or_default().firings.push(it);
    }
    for it in &output.steps {
        steps.entry(it.step).or_default().record = Some(it);
    }
    let remarks = output.remarks.iter().map(|it| (it.step, flow::remark(id, it)));
    for (step, line) in remarks.chain(flow::lost_between(trace, &output.stages)) {
        steps.entry(step).or_default().remarks.push(line);
    }
    for (step, line) in flow::emissions(trace, &output.emissions) {
        steps.entry(step).or_default().emitted.push(line);
    }
    let mut lines = Vec::new();
    for step in steps.values_mut() {
        step.rows.sort_by_key(|it| it.id); // The engine finds them cause by cause.
        lines.extend(step.rows.iter().map(|it| {
            let who = other_item(id, it.id);
            match &it.fate {
                Fate::Late(late) => fate::late(trace, &who, late),
                other => fate::not_counted(trace, &who, it.id, other),
            }
        }));
        step.remarks.sort();
        lines.append(&mut step.remarks);
        let mut figures = figure::lines(trace, &step.firings);
        figures.append(&mut step.emitted);
        let Some(record) = step.record.filter(|it| watermark < it.watermark) else {
            lines.extend(figures);
            continue;
        };
        watermark = record.watermark;
        let line = format!("watermark {}", TimeText(watermark));
        match later(trace, record) {
            None => lines.extend(std::iter::once(line).chain(figures)),
            Some(when) => lines.extend(figures.into_iter().chain([line + when])),
        }
    }
    lines
}

/// When a new watermark counts, where that is not at once.
fn later(trace: &Trace, record: &StepRecord) -> Option<&'static str> {
    match trace.plan.watermark.as_ref()?.effective {
        _ if record.kind == StepKind::End => None,
        Effective::Row | Effective::Probe => None,
        Effective::NextBatch => Some(" (from the next batch)"),
        Effective::BatchAfterNext => {
            Some(" (evicts from the next batch, judges from the one after)")
        }
    }
}

/// The line of a late row, as traces have it.
pub(crate) fn late_line(trace: &Trace, late: &LateRow) -> String {
    fate::late(trace, "", late)
}

#[cfg(test)]
mod tests;
