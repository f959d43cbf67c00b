//! Why rows are missing, and what would have kept them.
//!
//! Invariant: what is said to keep a row of the trace follows from the bound that judged it
//! (semantics 3.3), and is tried; of what a stage wrote for the next one no such thing is said.

use super::cut::{Held, How, Kind, cut};
use super::seen::{Handed, Seen};
use super::stage::Stage;
use super::{GroupRow, Lost, Tried};
use crate::explain::Quoted;
use crate::explain::history::History;
use crate::explain::lines::LineOf;
use crate::explain::push::with_delay;
use crate::golden::compared;
use crate::shrink::place::Place;
use crate::trace::Trace;
use crate::trace::time_text::{SpanText, TimeText};
use plimsoll_engine::late::{InForce, LateCause, LateRow, Saving, saving_until};
use plimsoll_engine::output::Fate;
use plimsoll_engine::output::watch::WatchedLate;
use plimsoll_engine::plan::flow::{Chain, GlobalPlan, Policy, SessionLate, StagePlan};
use plimsoll_engine::plan::{LatePolicy, LateRule};
use plimsoll_engine::row::{ColumnIx, ItemId};
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_engine::window::assign::Assigner;
use std::collections::BTreeMap;

/// Why a row was lost.
pub(super) fn lost(stage: &Stage<'_>, held: &Held, handed: &Handed) -> Option<Lost> {
    let WatchedLate { bound, lost, kept, one, all, .. } = handed.late?;
    let in_force = stage.seen.passes[handed.pass].judging[handed.side];
    let time = stage.time_of(handed).unwrap_or(EventTime::MIN);
    let late = LateRow {
        id: handed.id,
        partition: handed.partition,
        time,
        rule: rule_of(stage.plan),
        in_force: InForce { watermark: bound, ..in_force },
        windows_lost: lost,
        windows_kept: kept,
        saving: Saving::Nothing,
        cause: LateCause::Straggler,
        destination: LatePolicy::Drop,
    };
    let compared = match stage.plan {
        // Of one window that is named already.
        StagePlan::Window(it) if it.late == LateRule::WindowEnd => {
            let and = match it.lateness {
                Span::ZERO => String::new(),
                lateness => format!(" with its lateness of {}", SpanText(lateness)),
            };
            format!("the window{and} ended at or before {}", TimeText(bound))
        }
        _ => compared(stage.trace, stage.at, handed.side, &late, &handed.cells),
    };
    // Under rule W each window has a bound of its own; else a row is lost as a whole.
    let keeps = match (stage.plan, held.window) {
        (StagePlan::Window(it), Some(window)) if it.late == LateRule::WindowEnd => {
            window.end - Span(1) + it.lateness
        }
        _ => one.min(all),
    };
    let saving =
        if stage.is_first() { saving_until(keeps, keeps, &in_force) } else { Saving::Nothing };
    let (setting, needs) = match saving {
        Saving::Delay { largest, .. } => ("delay", Some(largest)),
        Saving::Fallback { largest, .. } => ("fallback", Some(largest)),
        Saving::Nothing => ("delay", None),
    };
    let line = stage.line_of(handed.pass, &in_force);
    Some(Lost {
        behind: bound,
        compared: compared.trim_start_matches(':').trim_start().to_owned(),
        set_by: in_force.set_by.and_then(|it| Quoted::of(stage.trace, it)),
        setting,
        of: line.map_or_else(String::new, |it| it.name(stage.trace)),
        needs,
    })
}

/// The rule that a stage judges by.
const fn rule_of(plan: &StagePlan) -> LateRule {
    match plan {
        StagePlan::Window(it) => it.late,
        StagePlan::Session(it) => match it.late {
            SessionLate::Event => LateRule::Event,
            SessionLate::Proto | SessionLate::Merged => LateRule::WindowEnd,
        },
        StagePlan::Join(it) => it.late,
        StagePlan::Global(GlobalPlan { time: Some((_, rule)), .. }) => *rule,
        _ => LateRule::Event,
    }
}

/// What became of a row that never reached the stage.
pub(super) const fn fate_word(fate: Option<&Fate>) -> &'static str {
    match fate {
        None => "waits",
        Some(Fate::Guarded) => "rejected by the guard",
        Some(Fate::TimeOutOfRange) => "out of range",
        Some(Fate::AfterFinish) => "after its partition had finished",
        Some(Fate::NotApplicable) => "after the query had stopped",
        Some(Fate::Filtered) => "filtered",
        Some(Fate::NoTime) => "without a time",
        Some(Fate::NoWindow) => "in no window",
        Some(Fate::NoGap) => "without a gap",
        Some(Fate::Duplicate { .. }) => "a duplicate",
        Some(Fate::CountedNotAdvancing | Fate::Late(_)) => "not handed on",
    }
}

/// Tries what would have kept the lost rows, and a millisecond less.
pub(super) fn try_delays(stage: &Stage<'_>, held: &Held, rows: &[GroupRow]) -> Vec<Tried> {
    let lost = held.rows.iter().filter(|it| it.how == How::Lost);
    let lost: Vec<_> = lost.map(|it| &stage.seen.rows[it.row]).collect();
    let missed = rows.iter().filter(|it| it.fate == "lost").count();
    if missed == 0 {
        return Vec::new();
    }
    if !stage.is_first() {
        return try_chain(stage, held, missed).into_iter().collect();
    }
    // The longest delay that a row needs, per line; of the wall clock there is only one.
    let mut needs: BTreeMap<Option<(usize, ColumnIx)>, Span> = BTreeMap::new();
    for it in &lost {
        let Some(needed) = self::lost(stage, held, it) else { continue };
        let Some(value) = needed.needs else { continue };
        let in_force = stage.seen.passes[it.pass].judging[it.side];
        let line = stage.line_of(it.pass, &in_force);
        let place = line.and_then(|it| Some((it.input, it.mark?.0)));
        let place = place.filter(|_| needed.setting == "delay");
        let most = needs.entry(place).or_insert(value);
        *most = (*most).max(value);
    }
    let ids: Vec<ItemId> = lost.iter().map(|it| it.id).collect();
    if needs.is_empty() {
        return Vec::new();
    }
    let with = |less: Span| {
        needs.iter().fold(stage.trace.clone(), |trace, (place, value)| match place {
            Some(line) => with_delay(&trace, *line, *value - less),
            None => Place::Behind.with(&trace, (*value - less).0),
        })
    };
    let mut tried = Vec::new();
    for less in [Span::ZERO, Span(1)] {
        if needs.values().any(|it| *it - less < Span::ZERO) {
            continue;
        }
        let Some(kept) = kept(stage, held, &with(less), &ids) else { continue };
        tried.push(Tried { change: change_text(stage, &needs, less), kept, of: missed });
    }
    if tried.first().is_some_and(|it| it.kept < it.of) && stage.flow.policy == Policy::Max {
        tried.extend(try_everywhere(stage, held, &needs, &ids, missed));
    }
    tried
}

/// Under `policy=max` another line may give the watermark then: the same delay for all of them.
fn try_everywhere(
    stage: &Stage<'_>,
    held: &Held,
    needs: &BTreeMap<Option<(usize, ColumnIx)>, Span>,
    ids: &[ItemId],
    of: usize,
) -> Option<Tried> {
    let most = *needs.values().max()?;
    let mut changed = stage.trace.clone();
    for (input, it) in (0..).zip(&stage.flow.inputs) {
        for mark in it.marks.iter().filter(|it| it.delay < most) {
            changed = with_delay(&changed, (input, mark.column), most);
        }
    }
    let kept = kept(stage, held, &changed, ids)?;
    Some(Tried { change: format!("a delay of {} on every input", SpanText(most)), kept, of })
}

fn change_text(
    stage: &Stage<'_>,
    needs: &BTreeMap<Option<(usize, ColumnIx)>, Span>,
    less: Span,
) -> String {
    let lines = stage.seen.history.lines.last().map_or(&[][..], |it| &it.1);
    let one = |(place, value): (&Option<(usize, ColumnIx)>, &Span)| {
        let value = SpanText(*value - less);
        let Some((input, column)) = place else { return format!("a fallback of {value}") };
        let of = |it: &&LineOf| it.input == *input && it.mark.is_some_and(|it| it.0 == *column);
        let name = lines.iter().find(of).map_or_else(String::new, |it| it.name(stage.trace));
        if name.is_empty() {
            format!("a delay of {value}")
        } else {
            format!("a delay of {value} on {name}")
        }
    };
    needs.iter().map(one).collect::<Vec<_>>().join(" and ")
}

/// How many of these rows are not lost for it in a run of another plan.
fn kept(stage: &Stage<'_>, held: &Held, changed: &Trace, ids: &[ItemId]) -> Option<usize> {
    let history = History::of_engine(changed, &mut |_| {}).ok()?;
    let is_lost = |id: &&ItemId| match history.fates.get(id).map(|it| &it.fate) {
        Some(Fate::Late(late)) => {
            let position = match (stage.plan, held.window) {
                (StagePlan::Window(it), Some(window)) => {
                    Assigner::new(it.window).windows(late.time).position(|it| it == window)
                }
                _ => None,
            };
            position.unwrap_or(0) < late.windows_lost as usize
        }
        _ => false,
    };
    Some(ids.len() - ids.iter().filter(is_lost).count())
}

/// Between stages: whether it is the chain that loses them.
fn try_chain(stage: &Stage<'_>, held: &Held, of: usize) -> Option<Tried> {
    if stage.flow.chain != Chain::Same {
        return None;
    }
    let mut changed = stage.trace.clone();
    changed.plan.flow.as_mut()?.chain = Chain::Previous;
    let seen = Seen::of(&changed, stage.at).ok()?;
    let start = held.window.filter(|_| held.kind == Kind::Window).map(|it| it.start);
    let again = cut(stage.plan, changed.plan.output, &seen, start);
    let same = |it: &&Held| it.window == held.window && (held.key.is_none() || it.key == held.key);
    let lost = again.iter().filter(same).flat_map(|it| &it.rows);
    let lost = lost.filter(|it| seen.rows[it.row].is_late()).count();
    Some(Tried { change: "chain=previous".to_owned(), kept: of.saturating_sub(lost), of })
}
