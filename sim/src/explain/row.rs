//! Why a row was counted or lost: the row, its windows, the watermark that judged it, the item that
//! set that watermark, and the smallest delay that keeps the row, tried.
//!
//! Invariant: the proof is two runs, one with the saving value and one a millisecond below it.

use super::history::History;
use super::lines::LineOf;
use super::push::with_delay;
use super::{ExplainError, Quoted, WindowText, clock_at, rule_name};
use crate::golden;
use crate::shrink::place::Place;
use crate::trace::time_text::{SpanText, TimeText};
use crate::trace::{Item, RowItem, Trace};
use plimsoll_engine::late::{InForce, LateRow, Saving, saving};
use plimsoll_engine::output::Fate;
use plimsoll_engine::plan::{Effective, GeneratorPlan, WindowPlan};
use plimsoll_engine::row::ItemId;
use plimsoll_engine::time::{EventTime, ProcTime, Span};
use plimsoll_engine::window::Window;
use plimsoll_engine::window::assign::Assigner;
use serde::Serialize;
use std::fmt;

/// What became of a row, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RowStory {
    /// The row.
    pub row: Quoted,
    /// When it arrived.
    pub arrived: ProcTime,
    /// Its event time.
    pub time: Option<EventTime>,
    /// In one word: `counted`, `late`, `partly late`, `waits`, and so on.
    pub fate: &'static str,
    /// Why, where lateness is not the reason.
    pub because: String,
    /// The item that began the step which judged it.
    pub judged_by: Option<Quoted>,
    /// The watermark that judged it.
    pub in_force: Option<Force>,
    /// Its windows, the earliest first.
    pub windows: Vec<WindowOfRow>,
    /// The rule that judged.
    pub rule: &'static str,
    /// What kind of lateness it is.
    pub cause: Option<&'static str>,
    /// What the two spans of `needs` set: `delay` or `fallback`.
    pub setting: &'static str,
    /// The input (and column) whose delay it is, where the plan has several.
    pub on: String,
    /// The smallest value that keeps one window more than were kept, and the smallest that keeps all.
    pub needs: Option<(Span, Span)>,
    /// What was tried.
    pub trials: Vec<Trial>,
}

/// A watermark and where it comes from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Force {
    /// The value.
    pub watermark: EventTime,
    /// The candidate before the delay was taken off.
    pub candidate: EventTime,
    /// The delay of the plan.
    pub delay: Span,
    /// Where the wall clock gave the value: how far behind it.
    pub fallback: Option<Span>,
    /// What the candidate is, such as `the largest time seen`.
    pub is: &'static str,
    /// The item that showed the candidate.
    pub shown_by: Option<Quoted>,
    /// The item at which the value began to count, where that is another.
    pub effective_by: Option<Quoted>,
}

/// One window of a row.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WindowOfRow {
    /// Which.
    pub window: Window,
    /// Whether the row was counted into it.
    pub counted: bool,
    /// The item that closed it.
    pub closed_by: Option<Quoted>,
}

/// A run with another value of a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Trial {
    /// The value that was tried.
    pub value: Span,
    /// How many of its windows the row was counted into.
    pub kept: u32,
    /// Of how many.
    pub of: u32,
}

/// What became of the row that is this item, and why.
///
/// # Errors
/// Where there is no such row, or the plan is refused.
pub fn row(trace: &Trace, item: ItemId) -> Result<RowStory, ExplainError> {
    let missing = || ExplainError::NoSuchItem { item: item.0, items: trace.items.len() };
    let quoted = Quoted::of(trace, item).ok_or_else(missing)?;
    let at = usize::try_from(item.0 - 1).map_err(|_| missing())?;
    let Item::Row(row) = trace.items[at] else {
        return Err(ExplainError::NotARow { item: item.0, text: quoted.text });
    };
    let history = History::of_engine(trace, &mut |_| {}).map_err(ExplainError::Plan)?;
    let step = history.step_of_row(trace, item);
    let quote = |id| Quoted::of(trace, id);
    let mut story = RowStory {
        row: quoted,
        arrived: clock_at(trace, item),
        time: trace.time(row),
        fate: "counted",
        because: String::new(),
        judged_by: step.and_then(|it| quote(it.0)),
        in_force: None,
        windows: Vec::new(),
        rule: trace.plan.operator.as_ref().map_or("", |it| rule_name(it.late)),
        cause: None,
        setting: "delay",
        on: String::new(),
        needs: None,
        trials: Vec::new(),
    };
    let record = history.fates.get(&item);
    story.name_fate(record.map(|it| &it.fate), step.is_some());
    let late = match record.map(|it| it.fate) {
        Some(Fate::Late(late)) => Some(late),
        Some(Fate::CountedNotAdvancing) | None if step.is_some() => None,
        _ => return Ok(story),
    };
    let Some(operator) = &trace.plan.operator else {
        if let Some(late) = &late {
            story.judge_stage(trace, &history, late);
        }
        return Ok(story);
    };
    story.judge(trace, &history, row, operator, late, item);
    story.try_values(trace, item);
    Ok(story)
}

impl RowStory {
    fn name_fate(&mut self, fate: Option<&Fate>, taken: bool) {
        let (name, because) = match fate {
            None if !taken => ("waits", "No step has taken it from the queue yet."),
            None => ("counted", ""),
            Some(Fate::Late(it)) if it.windows_kept == 0 => ("late", ""),
            Some(Fate::Late(_)) => ("partly late", ""),
            Some(Fate::CountedNotAdvancing) => {
                ("counted", "Its time is from the future: it did not move the watermark.")
            }
            Some(Fate::Guarded) => {
                ("guarded", "Its time is from the future, and the guard rejects.")
            }
            Some(Fate::NoTime) => ("no time", "Its event time is null, so it is in no window."),
            Some(Fate::TimeOutOfRange) => {
                ("time out of range", "Its event time is more than 2^61 ms away from zero.")
            }
            Some(Fate::NoWindow) => ("no window", "It lies in the hole between two windows."),
            Some(Fate::AfterFinish) => {
                ("after finish", "Its partition had declared itself finished.")
            }
            Some(Fate::NotApplicable) => {
                ("not applicable", "The query had ended or stopped before it arrived.")
            }
            Some(Fate::Filtered) => ("filtered", "A filter of the plan did not keep it."),
            Some(Fate::Duplicate { .. }) => ("duplicate", "An equal row had been let through."),
            Some(Fate::NoGap) => ("no gap", "The session gap that it asks for is not positive."),
        };
        (self.fate, self.because) = (name, because.to_owned());
    }

    /// What a stage of a flow compared, and what would have kept the row.
    fn judge_stage(&mut self, trace: &Trace, history: &History, late: &LateRow) {
        self.because = format!("The stage says: {}.", golden::late_line(trace, late));
        self.cause = Some(late.cause.name());
        self.want(late.saving);
        let Some((_, all)) = self.needs else { return };
        let gave = |it: &&LineOf| it.gave(&late.in_force);
        let line = history.lines.iter().rev().flat_map(|it| it.1.iter().filter(gave)).next();
        self.on = line.map_or_else(String::new, |it| it.name(trace));
        let line = line.and_then(|it| Some((it.input, it.mark?.0)));
        let of = late.windows_lost + late.windows_kept;
        for value in [all, all - Span(1)].into_iter().filter(|it| Span::ZERO <= *it) {
            let changed = match (self.setting, line) {
                ("delay", Some(line)) => with_delay(trace, line, value),
                ("delay", None) => return,
                _ => Place::Behind.with(trace, value.0),
            };
            self.try_plan(&changed, late.id, value, of);
        }
    }

    fn want(&mut self, saving: Saving) {
        match saving {
            Saving::Delay { smallest, largest } => self.needs = Some((smallest, largest)),
            Saving::Fallback { smallest, largest } => {
                self.setting = "fallback";
                self.needs = Some((smallest, largest));
            }
            Saving::Nothing => {}
        }
    }

    fn judge(
        &mut self,
        trace: &Trace,
        history: &History,
        row: RowItem,
        operator: &WindowPlan,
        late: Option<LateRow>,
        item: ItemId,
    ) {
        let time = late.map(|it| it.time).or_else(|| window_time(trace, row));
        let Some(time) = time.filter(|it| it.is_legal()) else { return };
        let grid = Assigner::new(operator.window);
        let lost = late.map_or(0, |it| it.windows_lost as usize);
        self.windows = grid
            .windows(time)
            .enumerate()
            .map(|(n, window)| WindowOfRow {
                window,
                counted: lost <= n,
                closed_by: history.closing(window).and_then(|it| Quoted::of(trace, it.0)),
            })
            .collect();
        let Some(watermark) = &trace.plan.watermark else { return };
        let in_force = late.map(|it| it.in_force).or_else(|| judged_by(trace, history, item));
        let Some(in_force) = in_force else { return };
        let rise = history.rise_to(in_force.watermark);
        let effective = rise.filter(|it| it.watermark == in_force.watermark).map(|it| it.item);
        self.in_force = Some(Force {
            watermark: in_force.watermark,
            candidate: in_force.candidate,
            delay: watermark.delay,
            fallback: in_force.fallback,
            is: match watermark.generator {
                GeneratorPlan::GlobalMax => "the largest time seen",
                GeneratorPlan::PartitionMin { .. } if rise.is_some_and(|it| it.flushed) => {
                    "the largest maximum of the partitions, all of them silent"
                }
                GeneratorPlan::PartitionMin { .. } => "the slowest partition's maximum",
            },
            shown_by: in_force.set_by.and_then(|it| Quoted::of(trace, it)),
            effective_by: effective
                .filter(|it| Some(*it) != in_force.set_by)
                .and_then(|it| Quoted::of(trace, it)),
        });
        self.cause = late.map(|it| it.cause.name());
        let all = u32::try_from(self.windows.len()).unwrap_or(u32::MAX);
        let wanted = match late {
            Some(it) => it.saving,
            None => saving(operator.late, &grid, time, all, &in_force),
        };
        self.want(wanted);
    }

    /// Runs the trace again, with the value that keeps the row whole and with one millisecond less.
    fn try_values(&mut self, trace: &Trace, item: ItemId) {
        let Some((_, all)) = self.needs else { return };
        let place = if self.setting == "delay" { Place::Delay } else { Place::Behind };
        for value in [all, all - Span(1)] {
            if value < Span::ZERO {
                continue;
            }
            let of = u32::try_from(self.windows.len()).unwrap_or(u32::MAX);
            self.try_plan(&place.with(trace, value.0), item, value, of);
        }
    }

    /// Runs the trace under another plan.
    fn try_plan(&mut self, changed: &Trace, item: ItemId, value: Span, of: u32) {
        let Ok(history) = History::of_engine(changed, &mut |_| {}) else { return };
        let kept = match history.fates.get(&item).map(|it| it.fate) {
            None | Some(Fate::CountedNotAdvancing) => of,
            Some(Fate::Late(it)) => it.windows_kept,
            Some(_) => 0,
        };
        self.trials.push(Trial { value, kept, of });
    }
}

/// The time that windows are cut on.
fn window_time(trace: &Trace, row: RowItem) -> Option<EventTime> {
    use plimsoll_engine::plan::check::CheckedPlan;
    let (plan, _) = CheckedPlan::new(trace.plan.clone()).ok()?;
    let column = plan.window_column()?;
    trace.cells(row)[column.0].map(EventTime)
}

/// What judged a row that was counted: without the rows behind it in its step it would be the last
/// one, and of the last one the step says it.
fn judged_by(trace: &Trace, history: &History, item: ItemId) -> Option<InForce> {
    let (end, step) = history.step_of_row(trace, item)?;
    let watermark = trace.plan.watermark.as_ref()?;
    let late = if watermark.effective == Effective::Row && 1 < step.rows_in {
        let (at, end) = (usize::try_from(item.0).ok()?, usize::try_from(end.0).ok()?);
        let mut cut = trace.without(end..trace.items.len());
        let behind = cut.items.split_off(at);
        cut.items.extend(behind.into_iter().filter(|it| !matches!(it, Item::Row(_))));
        let again = History::of_engine(&cut, &mut |_| {}).ok()?;
        again.step_of_row(&cut, item)?.1.late
    } else {
        step.late
    };
    let rise = history.rise_to(late);
    let by_data = rise.filter(|it| it.candidate - watermark.delay == it.watermark);
    Some(InForce {
        watermark: late,
        candidate: rise.map_or(EventTime::MIN, |_| late + watermark.delay),
        set_by: by_data.filter(|it| it.watermark == late).and_then(|it| it.shown_by),
        since_step: 0,
        fallback: match (by_data, watermark.fallback) {
            (None, Some(it)) if rise.is_some() => Some(it.behind),
            _ => None,
        },
    })
}

impl fmt::Display for RowStory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}.", self.row, self.fate)?;
        let arrived = TimeText(EventTime(self.arrived.0));
        match &self.judged_by {
            Some(it) if it.item == self.row.item => {
                writeln!(
                    f,
                    "It arrived when the clock stood at {arrived} and was judged at once."
                )?;
            }
            Some(it) => {
                writeln!(f, "It arrived when the clock stood at {arrived}; {it} judged it.")?
            }
            None => writeln!(f, "It arrived when the clock stood at {arrived}.")?,
        }
        if !self.because.is_empty() {
            writeln!(f, "{}", self.because)?;
        }
        self.windows_text(f)?;
        if let Some(it) = &self.in_force {
            write!(f, "{it}")?;
        }
        self.verdict_text(f)?;
        self.trials_text(f)
    }
}

/// More windows than this are counted, not listed.
const LISTED: usize = 6;

impl RowStory {
    fn windows_text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for it in self.windows.iter().take(LISTED) {
            let counted = if it.counted { "was counted into" } else { "missed" };
            write!(f, "It {counted} {}", WindowText(it.window))?;
            match &it.closed_by {
                Some(by) => writeln!(f, ", which {by} closed.")?,
                None => writeln!(f, ", which is open at the end of the trace.")?,
            }
        }
        if LISTED < self.windows.len() {
            let counted = self.windows.iter().filter(|it| it.counted).count();
            let all = self.windows.len();
            writeln!(f, "In all it was counted into {counted} of its {all} windows.")?;
        }
        Ok(())
    }

    fn verdict_text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(time), Some(force)) = (self.time, &self.in_force) else { return Ok(()) };
        if force.watermark == EventTime::MIN {
            return Ok(());
        }
        let (time, w) = (TimeText(time), TimeText(force.watermark));
        let counted = self.fate == "counted";
        let (not, does) = if counted { ("not ", "does not start") } else { ("", "starts") };
        let compares = match (self.rule, self.fate) {
            ("event", _) => format!("{time} is {not}before {w}"),
            ("event_inclusive", _) => format!("{time} is {not}at or before {w}"),
            ("window_end", "counted") => format!("none of its windows ends at or before {w}"),
            ("window_end", _) => format!("what it missed ends at or before {w}"),
            _ => format!("the slide of {time} {does} before that of {w}"),
        };
        writeln!(f, "By the rule `{}`: {compares}.", self.rule)?;
        let meaning = match self.cause {
            Some("straggler") => "its own partition was further on, too",
            Some("lagging partition") => {
                "its own partition alone would have waited; another one is further on"
            }
            Some("wall clock") => "the clock moved the watermark, not data",
            Some(_) => "the input had been declared ended",
            None => return Ok(()),
        };
        writeln!(f, "Kind of lateness: {} ({meaning}).", self.cause.unwrap_or_default())
    }

    fn trials_text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((one, all)) = self.needs else {
            return match (self.fate, &self.in_force) {
                ("late", _) => writeln!(f, "No delay would have kept it."),
                ("counted", Some(_)) => writeln!(f, "It needs no delay at all."),
                _ => Ok(()),
            };
        };
        let what = self.setting;
        let on = match self.on.as_str() {
            "" => String::new(),
            name => format!(" on {name}"),
        };
        if self.fate == "counted" {
            if all <= Span::ZERO || self.trials.is_empty() {
                return writeln!(f, "It needs no {what} at all.");
            }
            writeln!(f, "It needs a {what} of at least {}.", SpanText(all))?;
        } else {
            writeln!(f, "A {what} of {}{on} would have kept all of it.", SpanText(all))?;
            if one != all {
                writeln!(f, "One of {} would have kept one window more.", SpanText(one))?;
            }
        }
        for it in &self.trials {
            let value = SpanText(it.value);
            let (kept, of) = (it.kept, it.of);
            writeln!(
                f,
                "Tried: with a {what} of {value}{on} it is counted into {kept} of {of} windows."
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Force {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let w = TimeText(self.watermark);
        if self.watermark == EventTime::MIN {
            return writeln!(f, "No watermark was in force yet.");
        }
        if self.watermark == EventTime::MAX {
            return writeln!(f, "The watermark in force was +inf: the input had ended.");
        }
        if let Some(it) = self.fallback {
            let behind = SpanText(it);
            writeln!(f, "The watermark in force was {w}: the wall clock less {behind}.")?;
        } else if let Some(it) = &self.shown_by {
            let (c, d) = (TimeText(self.candidate), SpanText(self.delay));
            let what = self.is;
            writeln!(f, "The watermark in force was {w}: {what}, {c}, less the delay of {d}.")?;
            writeln!(f, "{it} set it.")?;
        } else if self.candidate.is_finite() {
            writeln!(f, "The watermark in force was {w}.")?;
        } else {
            writeln!(f, "The watermark in force was {w}, the plan's first.")?;
        }
        match &self.effective_by {
            Some(it) => writeln!(f, "It was computed at {it}, and counts behind it."),
            None => Ok(()),
        }
    }
}
