//! The watermark of a flow: how far each input has come, which one the others wait for, and what the
//! stages hold meanwhile.
//!
//! An input that has never spoken holds everybody under `policy=min`, and looks like one that is merely
//! slow: so the table says of each whether it was ever heard. A stage whose time has no watermark is never
//! freed by one; it is named, since its state only grows.
//!
//! Invariant: a remedy is listed with what the watermark was after it had been tried.

use super::{Remedy, WatermarkStory, evaluated, is_open};
use crate::explain::history::History;
use crate::explain::lines::{self, LineOf, LineState};
use crate::explain::{Quoted, push};
use crate::trace::plan_text::stage_texts;
use crate::trace::time_text::{SpanText, TimeText};
use crate::trace::{Item, Trace};
use plimsoll_engine::plan::flow::{Flow, Policy, StagePlan};
use plimsoll_engine::row::{ItemId, PartitionId};
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_engine::watermark::levels::Steer;
use serde::Serialize;
use std::fmt;

/// One line: a watermark of an input, or an input without any.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LineStanding {
    /// The input (and its column, where it has several watermarks).
    pub name: String,
    /// Its watermark; `None` where it has none and no say.
    pub watermark: Option<EventTime>,
    /// The time that it was computed from.
    pub candidate: EventTime,
    /// What is taken off.
    pub delay: Span,
    /// `never heard`, `active`, `idle` or `finished`.
    pub state: &'static str,
    /// The item that showed the time.
    pub shown_by: Option<u64>,
    /// Whether the watermark is where this line is.
    pub holds: bool,
    /// The partition or task that holds the line, where it is one.
    pub holder: Option<String>,
}

/// What a stage holds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StageStanding {
    /// The stage, from 1.
    pub stage: usize,
    /// What it does.
    pub does: String,
    /// What it holds, such as `2 sessions`.
    pub holds: String,
    /// How many that are.
    pub rows: u64,
    /// Why the watermark never frees it; empty where it does.
    pub never: String,
}

/// Puts what is known of a flow into the story.
pub(super) fn fill(story: &mut WatermarkStory, trace: &Trace, flow: &Flow, history: &History) {
    let lines = history.lines.last().map_or(&[][..], |it| &it.1);
    story.policy = Some(match flow.policy {
        Policy::Min => "min",
        Policy::Max => "max",
    });
    story.lines = lines.iter().map(|it| line(trace, it)).collect();
    if let Some(it) = lines.iter().find(|it| it.holds) {
        (story.candidate, story.delay) = (it.candidate, it.mark.map_or(Span::ZERO, |it| it.1));
    }
    story.stages = stages(trace, flow, history);
    for it in &mut story.partitions {
        let partition = PartitionId(it.partition);
        if let Some((_, why)) = history.last.blocked.iter().find(|of| of.0 == partition) {
            it.state = why;
        }
    }
    let held: Vec<&LineOf> = lines.iter().filter(|it| it.holds && is_open(story)).collect();
    if !held.is_empty() && (several(lines) || it_is_one(flow, lines)) {
        story.held_by = match held.as_slice() {
            [one] => one.partition.map(|it| it.0),
            _ => None,
        };
        let named = held.iter().filter_map(|it| {
            let name = it.name(trace);
            it.holder(trace).or(if name.is_empty() { None } else { Some(name) })
        });
        let named: Vec<_> = named.collect();
        story.holder = (!named.is_empty()).then(|| named.join(" and "));
        story.held_since = since(history).and_then(|it| Quoted::of(trace, it));
    }
}

/// Whether there is more than one watermark.
fn several(lines: &[LineOf]) -> bool {
    1 < lines.iter().filter(|it| it.mark.is_some()).count()
}

/// Whether within the only line one partition or task holds it.
fn it_is_one(flow: &Flow, lines: &[LineOf]) -> bool {
    flow.policy == Policy::Min
        && lines.iter().any(|it| it.holds && (it.partition.is_some() || it.task.is_some()))
}

fn line(trace: &Trace, it: &LineOf) -> LineStanding {
    LineStanding {
        name: match it.name(trace) {
            name if name.is_empty() => "input".to_owned(),
            name => name,
        },
        watermark: it.mark.map(|_| it.watermark),
        candidate: it.candidate,
        delay: it.mark.map_or(Span::ZERO, |it| it.1),
        state: match it.standing {
            LineState::Unheard => "never heard",
            LineState::Active => "active",
            LineState::Idle => "idle",
            LineState::Finished => "finished",
        },
        shown_by: it.set_by.map(|it| it.0),
        holds: it.holds,
        holder: it.holder(trace),
    }
}

/// Since which item the same line (partition, task) holds the watermark.
fn since(history: &History) -> Option<ItemId> {
    let held =
        |lines: &[LineOf]| -> Vec<LineOf> { lines.iter().filter(|it| it.holds).cloned().collect() };
    // Where it is a whole input that holds, it does not matter who did within.
    let whole = |it: &LineOf| it.partition.is_none() && it.task.is_none();
    let within = !held(&history.lines.last()?.1).iter().all(whole);
    let holder = |lines: &[LineOf]| -> Vec<_> {
        let of = |it: LineOf| (it.task.filter(|_| within), it.partition.filter(|_| within));
        held(lines).into_iter().map(|it| (it.input, it.mark.map(|it| it.0), of(it))).collect()
    };
    let last = holder(&history.lines.last()?.1);
    let same = history.lines.iter().rev().take_while(|it| holder(&it.1) == last);
    same.last().map(|it| it.0)
}

fn stages(trace: &Trace, flow: &Flow, history: &History) -> Vec<StageStanding> {
    let links = flow.links(&trace.plan.schema);
    let (texts, held) = (stage_texts(&trace.plan), &history.last.held);
    let kept = flow.stages.iter().enumerate().filter(|it| !it.1.is_stateless());
    let standing = |(at, stage): (usize, &StagePlan)| {
        let rows = held.get(at).copied().unwrap_or(0);
        StageStanding {
            stage: at + 1,
            does: texts.get(at).cloned().unwrap_or_default(),
            holds: holds(stage, rows),
            rows,
            never: never(trace, flow, at, stage, links[at]),
        }
    };
    kept.map(standing).collect()
}

fn holds(stage: &StagePlan, rows: u64) -> String {
    let (one, many) = match stage {
        StagePlan::Session(_) => ("session", "sessions"),
        StagePlan::Dedup(_) => ("row to compare with", "rows to compare with"),
        StagePlan::Join(_) | StagePlan::AsOf(_) => ("row", "rows"),
        StagePlan::Count(_) => ("open count window", "open count windows"),
        StagePlan::Window(_) => ("(window, key) group", "(window, key) groups"),
        _ => ("group", "groups"),
    };
    match rows {
        0 => "nothing".to_owned(),
        1 => format!("1 {one}"),
        rows => format!("{rows} {many}"),
    }
}

/// Why a stage is never freed by the watermark.
fn never(trace: &Trace, flow: &Flow, at: usize, stage: &StagePlan, links: [bool; 2]) -> String {
    let schema = &flow.schemas(&trace.plan.schema)[at];
    match stage {
        StagePlan::Count(_) => "it waits for rows, not for the watermark".to_owned(),
        StagePlan::Global(it) if it.time.is_none() => {
            "no time is among its keys; it is kept until the input ends".to_owned()
        }
        _ if trace.plan.output == plimsoll_engine::plan::OutputMode::Complete
            && stage.is_grouping() =>
        {
            "under `output=complete` nothing leaves before the input ends".to_owned()
        }
        StagePlan::Join(_) | StagePlan::AsOf(_) => match links {
            [true, true] => String::new(),
            [false, false] => "neither side has a watermark: nothing leaves".to_owned(),
            // Each side leaves by what the other one still promises.
            [false, true] => "the left side has no watermark: right rows are kept".to_owned(),
            [true, false] => "the right side has no watermark: left rows are kept".to_owned(),
        },
        _ if !links[0] => match stage.times()[0] {
            Some(column) => format!(
                "the watermark says nothing of `{}`: it is kept until the input ends",
                schema.column(column).name
            ),
            None => "it has no time: it is kept until the input ends".to_owned(),
        },
        _ => String::new(),
    }
}

/// Tries what would move the watermark of a flow.
pub(super) fn try_all(story: &mut WatermarkStory, trace: &Trace, flow: &Flow, history: &History) {
    let Some(w) = story.watermark else { return };
    let lines = history.lines.last().map_or(&[][..], |it| &it.1);
    let others = lines.iter().filter(|it| it.mark.is_some() && w < it.watermark);
    let next = others.map(|it| it.watermark).filter(|it| it.is_finite()).min();
    let least = match (w.is_finite(), next) {
        (true, _) => Some(w + Span(1)),
        (false, None) => Some(EventTime(0)),
        (false, Some(_)) => None,
    };
    let held = lines.iter().find(|it| it.holds);
    let unheard = held.is_some_and(|it| it.standing == LineState::Unheard);
    for to in least.filter(|_| !unheard || next.is_none()).into_iter().chain(next) {
        let needed = push::rows_for(trace, history, to);
        if !needed.is_empty() {
            story.try_change(&push::pushed(trace, &needed), push::text(trace, &needed));
        }
    }
    if history.last.blocked.iter().any(|it| it.1 == lines::PAUSED) {
        let mut changed = trace.clone();
        changed.items.push(Item::Steer(Steer::Limit(EventTime::MAX)));
        story.try_change(&evaluated(changed), "no limit of alignment (`limit none`)".to_owned());
    }
    if let Some(timeout) = &flow.levels {
        try_levels(story, trace, timeout.idle_timeout);
    }
    if flow.policy == Policy::Min && several(lines) && flow.levels.is_none() {
        let mut changed = trace.clone();
        if let Some(it) = &mut changed.plan.flow {
            it.policy = Policy::Max;
        }
        let text = "policy=max (rows of the slower inputs are late then)".to_owned();
        story.try_change(&evaluated(changed), text);
    }
}

/// The longest idle timeout under which the holder is left out by now.
fn try_levels(story: &mut WatermarkStory, trace: &Trace, timeout: Option<Span>) {
    let held = story.partitions.iter().find(|it| story.held_by == Some(it.partition));
    let Some(wanted) = held.map(|it| it.silent - Span(1)).filter(|it| Span::ZERO <= *it) else {
        return;
    };
    if timeout.is_some_and(|it| it <= wanted) {
        return;
    }
    let mut changed = trace.clone();
    if let Some(levels) = changed.plan.flow.as_mut().and_then(|it| it.levels.as_mut()) {
        levels.idle_timeout = Some(wanted);
    }
    story.try_change(
        &evaluated(changed),
        format!("an idle timeout of at most {}", SpanText(wanted)),
    );
}

impl WatermarkStory {
    /// The lines, where there are several.
    pub(super) fn lines_text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let marked = self.lines.iter().filter(|it| it.watermark.is_some()).count();
        if self.lines.len() < 2 || self.watermark == Some(EventTime::MAX) {
            return Ok(());
        }
        if 1 < marked {
            let which = if self.policy == Some("max") { "largest" } else { "smallest" };
            let policy = self.policy.unwrap_or_default();
            writeln!(f, "Of several watermarks the {which} counts (policy={policy}):")?;
        }
        let width = self.lines.iter().map(|it| it.name.len()).max().unwrap_or(0).max(9);
        writeln!(
            f,
            "  {:<width$} {:<14} {:<14} {:<8} {:<12} shown by",
            "input", "watermark", "time", "delay", "state"
        )?;
        for it in &self.lines {
            let Some(w) = it.watermark else {
                writeln!(f, "  {:<width$} none: it has no say", it.name)?;
                continue;
            };
            let (w, time) = (TimeText(w).to_string(), TimeText(it.candidate).to_string());
            let delay = SpanText(it.delay).to_string();
            let by = it.shown_by.map_or("-".to_owned(), |it| format!("item {it}"));
            let holds = match (it.holds, self.policy) {
                (false, _) => "",
                (true, Some("max")) => "  gives the watermark",
                (true, _) => "  holds the watermark",
            };
            let line = format!(
                "  {:<width$} {w:<14} {time:<14} {delay:<8} {:<12} {by:<8}{holds}",
                it.name, it.state
            );
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }

    /// What the stages hold.
    pub(super) fn stages_text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ended = self.watermark == Some(EventTime::MAX);
        for it in self.stages.iter().filter(|it| 0 < it.rows || !ended) {
            write!(f, "Stage {}, `{}`, holds {}", it.stage, it.does, it.holds)?;
            match it.never.as_str() {
                "" => writeln!(f, ".")?,
                never => writeln!(f, "; {never}.")?,
            }
        }
        Ok(())
    }

    /// Why who holds it goes on doing so, where the table does not say it.
    pub(super) fn holders_text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.policy == Some("max") || self.watermark == Some(EventTime::MAX) {
            return Ok(());
        }
        let is = |state: &str| self.partitions.iter().any(|it| it.state == state);
        if is(lines::PAUSED) {
            writeln!(
                f,
                "Paused is who is further ahead than alignment allows: its rows wait, its silence does not \
                 count."
            )?;
        }
        if is(lines::PRESSED) {
            writeln!(
                f,
                "Pressed is whose task is kept from writing: its silence does not count, so it does not \
                 become idle."
            )?;
        }
        for it in self.lines.iter().filter(|it| it.holds && it.watermark.is_some()) {
            match it.state {
                "never heard" => writeln!(
                    f,
                    "Nothing has ever been heard from {}: until its first row or heartbeat it holds all.",
                    it.name
                )?,
                "idle" => writeln!(
                    f,
                    "All that is left of {} is idle. Idleness takes partitions out of their input, not the \
                     input out of the others: only its rows or heartbeats move it on.",
                    it.name
                )?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds what was tried, unless it is listed already.
    pub(super) fn add(&mut self, remedy: Remedy) {
        if self.remedies.iter().all(|it| it.change != remedy.change) {
            self.remedies.push(remedy);
        }
    }
}
