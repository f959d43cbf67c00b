//! What closed a window, session or group, or what it waits for.
//!
//! Invariant: rows that would close it have been tried.

use super::cut::{Held, Kind, Why};
use super::seen::{PassOf, Seen};
use super::stage::Stage;
use super::{Closing, LineText, Opening};
use crate::explain::lines::{LineOf, LineState};
use crate::explain::{Quoted, push};
use crate::trace::Trace;
use crate::trace::time_text::TimeText;
use plimsoll_engine::plan::OutputMode;
use plimsoll_engine::plan::flow::{Policy, StagePlan};
use plimsoll_engine::time::{EventTime, Span};

/// What closed it.
pub(super) fn closing(stage: &Stage<'_>, held: &Held) -> Option<Closing> {
    let (at, why) = held.closed?;
    let (seen, trace) = (stage.seen, stage.trace);
    let pass = &seen.passes[at];
    let in_force = seen.deciding(at);
    let w = in_force.watermark;
    let by_watermark = why == Why::Watermark;
    let history = &seen.history;
    let rise = history.rise_to(w).filter(|it| it.watermark == w && by_watermark);
    let computed = rise.map(|it| it.item).filter(|it| *it <= pass.item);
    let line = stage.line_of(at, &in_force).filter(|_| by_watermark);
    // What the sides of a join have of their own is not the one watermark that has risen.
    let lines = history.lines_at(computed.unwrap_or(pass.item));
    let others = lines.iter().filter(|it| it.mark.is_some());
    let others = others.filter(|it| line.is_some_and(|line| !is_same(it, line)));
    let idle = history.turns.iter().any(|it| {
        it.2 == plimsoll_engine::watermark::member::MemberState::Idle && it.0 <= pass.item
    });
    Some(Closing {
        by: Quoted::of(trace, pass.item)?,
        reason: match why {
            Why::Watermark if in_force.fallback.is_some() => {
                "the wall clock moved the watermark past its end"
            }
            Why::Watermark if idle => {
                "data moved the watermark past its end, with a silent partition left out"
            }
            Why::Watermark => "data moved the watermark past its end",
            Why::Span => "it had become as long as `max_span` allows",
            Why::Full => "it was full",
            Why::End => "the input ended",
        },
        at: pass.evict[0],
        watermark: w,
        line: line.map(|it| line_text(trace, it)),
        computed_at: computed
            .filter(|it| *it != pass.item && Some(*it) != in_force.set_by)
            .and_then(|it| Quoted::of(trace, it)),
        others: others.map(|it| line_text(trace, it)).collect(),
        gone_at: held
            .gone
            .filter(|it| *it != at)
            .and_then(|it| Quoted::of(trace, seen.passes[it].item)),
    })
}

fn is_same(one: &LineOf, two: &LineOf) -> bool {
    one.input == two.input && one.mark.map(|it| it.0) == two.mark.map(|it| it.0)
}

fn line_text(trace: &Trace, it: &LineOf) -> LineText {
    LineText {
        name: it.name(trace),
        watermark: it.watermark,
        candidate: it.candidate,
        delay: it.mark.map_or(Span::ZERO, |it| it.1),
        fallback: it.fallback,
        set_by: it.set_by.and_then(|it| Quoted::of(trace, it)),
    }
}

/// What it waits for.
pub(super) fn opening(stage: &Stage<'_>, held: &Held) -> Opening {
    let (seen, trace) = (stage.seen, stage.trace);
    let last = seen.passes.iter().rev().find(|it| it.evict[0].is_finite());
    let has = last.map_or(EventTime::MIN, |it| it.evict[0]);
    let lower = |it: &PassOf| it.removing[0].watermark.min(it.removing[1].watermark);
    let why = why_never(stage, held, last.is_none());
    let w = seen.history.last.watermark;
    let mut opening = Opening {
        needs: held.due.filter(|_| why.is_none()),
        has: if stage.at == 0 || stage.is_first() { w } else { has },
        because: why.unwrap_or_default(),
        holder: holder(stage),
        tried: None,
    };
    if seen.history.last.stopped {
        opening.needs = None;
        opening.because = "The query has stopped: nothing closes any more.".to_owned();
        return opening;
    }
    let Some(due) = opening.needs else { return opening };
    // What the stages before it let through is less than the watermark by this much.
    let less = last.map_or(Span::ZERO, |it| lower(it).since(it.evict[0]));
    let less = if less < Span::ZERO { Span::ZERO } else { less };
    let needed = push::rows_for(trace, &seen.history, due + less);
    if needed.is_empty() {
        return opening;
    }
    let changed = push::pushed(trace, &needed);
    let sides = if stage.flow.joins() && stage.at == 0 { 2 } else { 1 };
    if let Ok(again) = Seen::of(&changed, stage.at)
        && again.removing(sides, due, 0).is_some()
    {
        opening.tried = Some(push::text(trace, &needed));
    }
    opening
}

/// Why no watermark closes it.
fn why_never(stage: &Stage<'_>, held: &Held, nothing_yet: bool) -> Option<String> {
    let links = stage.flow.links(&stage.trace.plan.schema);
    let [schema, _] = stage.schemas();
    match (held.kind, stage.plan) {
        (Kind::Count(_), StagePlan::Count(it)) => {
            let more = it.rows.saturating_sub(held.rows.len() as u64);
            let rows = if more == 1 { "1 more row".to_owned() } else { format!("{more} more rows") };
            Some(format!(
                "It waits for {rows} of its key, or for the end of the input; no watermark closes it."
            ))
        }
        (Kind::Group, _) if held.due.is_none() => Some(
            "No time is among its keys, so no watermark closes it: it is kept until the input ends."
                .to_owned(),
        ),
        _ if stage.trace.plan.output == OutputMode::Complete => Some(
            "Under `output=complete` nothing closes before the input ends, and all is kept."
                .to_owned(),
        ),
        _ if !links[stage.at][0] => {
            let column = stage.time_column(0).map(|it| schema.column(it).name.clone());
            Some(format!(
                "The watermark says nothing of `{}`, by which this stage is cut: only the end of the \
                 input closes it. Cut it by a column that has a watermark.",
                column.unwrap_or_default()
            ))
        }
        _ if nothing_yet && stage.seen.history.last.watermark.is_finite() && !stage.is_first() => {
            Some(
                "Nothing of the watermark gets through the stages before it, so only the end of the \
                 input closes it."
                    .to_owned(),
            )
        }
        _ => None,
    }
}

/// Who holds the watermark, as a sentence.
fn holder(stage: &Stage<'_>) -> String {
    let lines = stage.seen.history.lines.last().map_or(&[][..], |it| &it.1);
    let several = 1 < lines.iter().filter(|it| it.mark.is_some()).count();
    let one = |it: &LineOf| {
        let name = match (it.holder(stage.trace), several) {
            (Some(holder), _) => holder,
            (None, true) => it.name(stage.trace),
            (None, false) => return None,
        };
        let w = TimeText(it.watermark);
        Some(if it.standing == LineState::Unheard {
            format!("{name} holds it: nothing has ever been heard from it.")
        } else if stage.flow.policy == Policy::Max {
            format!("{name} is the furthest, at {w}.")
        } else if it.watermark == EventTime::MIN {
            format!("{name} holds it: it has shown no time yet.")
        } else {
            format!("{name} holds it, at {w}.")
        })
    };
    lines.iter().filter(|it| it.holds).filter_map(one).collect::<Vec<_>>().join(" ")
}
