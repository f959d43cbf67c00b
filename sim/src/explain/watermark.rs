//! Why the watermark stands where it stands: who holds it, since when, and the smallest change that
//! frees it, tried.
//!
//! A partition that falls silent and one that is cut off look the same from here; the table says what
//! was heard and when, no more.
//!
//! Invariant: a remedy is listed with what the watermark was after it had been tried.

mod flow;
#[cfg(test)]
mod tests;

pub use flow::{LineStanding, StageStanding};

use super::history::History;
use super::push::evaluate_again;
use super::{ExplainError, Quoted};
use crate::trace::time_text::{SpanText, TimeText};
use crate::trace::{Item, Trace};
use plimsoll_engine::plan::{AllIdle, GeneratorPlan, IdlePlan, Rejoin};
use plimsoll_engine::row::{ItemId, PartitionId};
use plimsoll_engine::time::{EventTime, ProcTime, Span};
use plimsoll_engine::watermark::member::{Member, MemberState};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Why the watermark stands where it stands, at the end of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WatermarkStory {
    /// Where it stands; `None` for a query without one.
    pub watermark: Option<EventTime>,
    /// The candidate before the delay is taken off.
    pub candidate: EventTime,
    /// The delay.
    pub delay: Span,
    /// The clock.
    pub now: ProcTime,
    /// Whether each partition counts for itself, and not one maximum over all.
    pub per_partition: bool,
    /// Whether a wall clock may move it, too.
    pub has_fallback: bool,
    /// The item at which it last rose.
    pub rose_at: Option<Quoted>,
    /// The item that showed this value.
    pub shown_by: Option<Quoted>,
    /// The last restart that forgot where it stood, and where that was.
    pub forgotten: Option<(Quoted, EventTime)>,
    /// Partitions, in order of their numbers.
    pub partitions: Vec<Standing>,
    /// The partition that holds it down.
    pub held_by: Option<u32>,
    /// Its name.
    pub holder: Option<String>,
    /// The item since which that partition holds it.
    pub held_since: Option<Quoted>,
    /// The end of the earliest window that is open.
    pub oldest_end: Option<EventTime>,
    /// Rows and heartbeats that wait for a step.
    pub arrivals_queued: u64,
    /// How the watermarks of several inputs become one; `None` for a plan without stages.
    pub policy: Option<&'static str>,
    /// The watermarks of the inputs of a flow.
    pub lines: Vec<LineStanding>,
    /// What the stages of a flow hold.
    pub stages: Vec<StageStanding>,
    /// What would move it, tried.
    pub remedies: Vec<Remedy>,
}

/// One partition.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Standing {
    /// Its number.
    pub partition: u32,
    /// Its name, as the trace writes it.
    pub name: String,
    /// The largest time that it has shown.
    pub max: EventTime,
    /// `active`, `idle`, `finished`, or `catching up`.
    pub state: &'static str,
    /// When it was last heard.
    pub last_heard: ProcTime,
    /// How long ago that was.
    pub silent: Span,
    /// The item that showed its maximum.
    pub shown_by: Option<u64>,
}

/// A change that was tried.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Remedy {
    /// What was changed.
    pub change: String,
    /// Where the watermark stood then.
    pub watermark: EventTime,
    /// The end of the earliest window that was open then.
    pub oldest_end: Option<EventTime>,
}

/// Why the watermark stands where it stands, at the end of a trace.
///
/// # Errors
/// Where the plan is refused.
pub fn watermark(trace: &Trace) -> Result<WatermarkStory, ExplainError> {
    let history = History::of_engine(trace, &mut |_| {}).map_err(ExplainError::Plan)?;
    let last = &history.last;
    let plan = trace.plan.watermark.as_ref();
    let per_partition = plan.is_some_and(|it| it.generator != GeneratorPlan::GlobalMax);
    let forgotten = history.forgotten.last();
    let rise =
        history.rises.last().filter(|it| forgotten.is_none_or(|restart| restart.0 < it.item));
    let held_by = per_partition
        .then(|| history.holders.last().and_then(|it| it.1))
        .flatten()
        .filter(|_| last.watermark != EventTime::MAX);
    let heard = heard(trace);
    let mut story = WatermarkStory {
        watermark: plan.map(|_| last.watermark),
        candidate: last.candidate,
        delay: plan.map_or(Span::ZERO, |it| it.delay),
        now: last.now,
        per_partition,
        has_fallback: plan.is_some_and(|it| it.fallback.is_some()),
        rose_at: rise.and_then(|it| Quoted::of(trace, it.item)),
        shown_by: rise.and_then(|it| it.shown_by).and_then(|it| Quoted::of(trace, it)),
        forgotten: forgotten.and_then(|it| Some((Quoted::of(trace, it.0)?, it.1))),
        partitions: last.members.iter().map(|it| standing(trace, it, last.now, &heard)).collect(),
        held_by: held_by.map(|it| it.0),
        holder: held_by.map(|it| trace.partition_text(it).to_string()),
        held_since: held_by.and(history.holders.last()).and_then(|it| Quoted::of(trace, it.0)),
        oldest_end: last.oldest_end,
        arrivals_queued: last.arrivals_queued,
        policy: None,
        lines: Vec::new(),
        stages: Vec::new(),
        remedies: Vec::new(),
    };
    if let Some(flow) = &trace.plan.flow {
        flow::fill(&mut story, trace, flow, &history);
    }
    if plan.is_some() && !last.stopped && is_open(&story) {
        let held_by = story.held_by.map(PartitionId);
        let holder = held_by.and_then(|it| last.members.iter().find(|m| m.partition == it));
        if let Some(holder) = holder {
            story.try_idleness(trace, holder);
        }
        match &trace.plan.flow {
            Some(flow) => flow::try_all(&mut story, trace, flow, &history),
            None => story.try_rows(trace, holder.map(|it| it.partition)),
        }
    }
    Ok(story)
}

/// Whether there is a watermark that can still move.
fn is_open(story: &WatermarkStory) -> bool {
    story.watermark.is_some_and(|it| it != EventTime::MAX)
}

/// When a row or heartbeat of each partition came last. An engine need not remember it where silence
/// means nothing.
fn heard(trace: &Trace) -> BTreeMap<PartitionId, ProcTime> {
    let (mut now, mut heard) = (trace.clock, BTreeMap::new());
    for item in &trace.items {
        match item {
            Item::Tick(span) => now = now.max(now + *span),
            Item::Row(row) => {
                heard.insert(row.partition, now);
            }
            Item::Heartbeat { partition, .. } => {
                heard.insert(*partition, now);
            }
            _ => {}
        }
    }
    heard
}

fn standing(
    trace: &Trace,
    member: &Member,
    now: ProcTime,
    heard: &BTreeMap<PartitionId, ProcTime>,
) -> Standing {
    let last_heard = heard.get(&member.partition).copied().unwrap_or(member.last_activity);
    Standing {
        partition: member.partition.0,
        name: trace.partition_text(member.partition).to_string(),
        max: member.max,
        state: match member.state {
            MemberState::Active if member.aligned => "active",
            MemberState::Active => "catching up",
            MemberState::Idle => "idle",
            MemberState::Finished => "finished",
        },
        last_heard,
        silent: now.since(last_heard),
        shown_by: member.max_set_by.map(|it| it.0),
    }
}

impl WatermarkStory {
    /// The longest idle timeout under which the holder is left out by now.
    fn try_idleness(&mut self, trace: &Trace, holder: &Member) {
        let standing = self.partitions.iter().find(|it| it.partition == holder.partition.0);
        let timeout = standing.map_or(Span::ZERO, |it| it.silent) - Span(1);
        if timeout < Span::ZERO {
            return;
        }
        let mut changed = trace.clone();
        let Some(plan) = &mut changed.plan.watermark else { return };
        match &mut plan.generator {
            GeneratorPlan::GlobalMax => return,
            GeneratorPlan::PartitionMin { idle: Some(idle) } => {
                if idle.timeout <= timeout {
                    return;
                }
                idle.timeout = timeout;
            }
            GeneratorPlan::PartitionMin { idle } => {
                *idle = Some(IdlePlan { timeout, rejoin: Rejoin::Hold, all_idle: AllIdle::Flush });
            }
        }
        evaluate_again(&mut changed);
        let text = format!("an idle timeout of at most {}", SpanText(timeout));
        self.try_change(&changed, text);
    }

    /// The earliest row that moves it, and the rows that close the earliest open window.
    fn try_rows(&mut self, trace: &Trace, holder: Option<PartitionId>) {
        let Some(w) = self.watermark else { return };
        let partition = holder
            .or_else(|| {
                self.partitions.iter().max_by_key(|it| it.max).map(|it| PartitionId(it.partition))
            })
            .unwrap_or(PartitionId(0));
        let own = self.partitions.iter().find(|it| it.partition == partition.0).map(|it| it.max);
        // To move w, c must pass w + d, wherever the partition itself stands.
        let least = if w.is_finite() { w + self.delay + Span(1) } else { EventTime(0) };
        let least = own.filter(|it| it.is_finite()).map_or(least, |it| least.max(it + Span(1)));
        let whose = if self.per_partition { "" } else { " (or of any other partition)" };
        let changed = with_rows(trace, &[(partition, least)]);
        let who = trace.partition_text(partition);
        let text = format!("a row of {who}{whose} at {} or later", TimeText(least));
        self.try_change(&changed, text);
        let Some(end) = self.oldest_end else { return };
        let needed = end + self.delay;
        let behind: Vec<(PartitionId, EventTime)> = if self.per_partition {
            let counting =
                self.partitions.iter().filter(|it| it.state == "active" && it.max < needed);
            counting.map(|it| (PartitionId(it.partition), needed)).collect()
        } else {
            vec![(partition, needed)]
        };
        if behind.is_empty() || behind == [(partition, least)] {
            return;
        }
        let who = behind.iter().map(|it| trace.partition_text(it.0).to_string());
        let who = who.collect::<Vec<_>>().join(" and ");
        let changed = with_rows(trace, &behind);
        let (at, end) = (TimeText(needed), TimeText(end));
        self.try_change(
            &changed,
            format!("a row of {who} at {at} or later (closes the window that ends at {end})"),
        );
    }

    fn try_change(&mut self, changed: &Trace, change: String) {
        let Ok(history) = History::of_engine(changed, &mut |_| {}) else { return };
        let (watermark, oldest_end) = (history.last.watermark, history.last.oldest_end);
        if self.watermark.is_some_and(|it| it < watermark) {
            self.add(Remedy { change, watermark, oldest_end });
        }
    }
}

/// The trace, with steps in which what is there counts.
fn evaluated(mut trace: Trace) -> Trace {
    evaluate_again(&mut trace);
    trace
}

/// The trace with rows at its end.
fn with_rows(trace: &Trace, rows: &[(PartitionId, EventTime)]) -> Trace {
    let mut changed = trace.clone();
    let on = trace.time_column();
    let columns = trace.plan.schema.columns.len();
    for (partition, time) in rows {
        let cells: Vec<Option<i64>> = (0..columns).map(|it| (it == on).then_some(time.0)).collect();
        changed.push_row(*partition, &cells);
    }
    evaluate_again(&mut changed);
    changed
}

impl fmt::Display for WatermarkStory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(w) = self.watermark else {
            return writeln!(f, "The plan has no watermark: nothing is ever late, nothing closes.");
        };
        match w {
            EventTime::MIN => writeln!(f, "There is no watermark yet.")?,
            EventTime::MAX => writeln!(f, "The watermark is +inf: the input has ended.")?,
            _ => {
                writeln!(f, "The watermark is {}.", TimeText(w))?;
                let (c, d) = (TimeText(self.candidate), SpanText(self.delay));
                let what = if self.per_partition { "slowest partition" } else { "largest time" };
                match self.lines.len() {
                    0 => writeln!(f, "The {what} stands at {c}; the delay of {d} is taken off.")?,
                    1 => writeln!(f, "It is {c} less the delay of {d}.")?,
                    _ => {}
                }
                if self.candidate - self.delay < w {
                    let kept = if self.has_fallback { "the clock or an item" } else { "an item" };
                    writeln!(
                        f,
                        "That would be less: a watermark never goes back, and {kept} had moved it on."
                    )?;
                }
            }
        }
        self.lines_text(f)?;
        if let Some(it) = &self.rose_at {
            match self.shown_by.as_ref().filter(|by| *by != it) {
                Some(by) => writeln!(f, "It last rose at {it}; {by} showed the value.")?,
                None => writeln!(f, "It last rose at {it}.")?,
            }
        }
        if let Some((restart, stood)) = &self.forgotten {
            let stood = TimeText(*stood);
            writeln!(f, "It had stood at {stood}; the restart at {restart} forgot that.")?;
        }
        let width = self.partitions.iter().map(|it| it.name.len()).max().unwrap_or(0).max(9);
        if !self.partitions.is_empty() {
            writeln!(
                f,
                "  {:<width$} {:<16} {:<12} {:<10} last heard",
                "partition", "maximum", "state", "silent"
            )?;
        }
        for it in &self.partitions {
            let p = &it.name;
            let max = match it.max {
                EventTime::MIN if it.state == "finished" => "-".to_owned(),
                max => TimeText(max).to_string(),
            };
            let silent = SpanText(it.silent).to_string();
            let heard = TimeText(EventTime(it.last_heard.0));
            let holds =
                if self.held_by == Some(it.partition) { "  holds the watermark" } else { "" };
            writeln!(f, "  {p:<width$} {max:<16} {:<12} {silent:<10} {heard}{holds}", it.state)?;
        }
        if let (Some(by), Some(since)) = (&self.holder, &self.held_since) {
            let does = match (self.policy == Some("max"), by.contains(" and ")) {
                (false, false) => "holds",
                (false, true) => "hold",
                (true, false) => "gives",
                (true, true) => "give",
            };
            writeln!(f, "{by} {does} it since {since}.")?;
        }
        self.holders_text(f)?;
        if 0 < self.arrivals_queued {
            writeln!(f, "{} rows and heartbeats wait for a step.", self.arrivals_queued)?;
        }
        if let Some(end) = self.oldest_end {
            writeln!(f, "The earliest open window ends at {}.", TimeText(end))?;
        }
        self.stages_text(f)?;
        if !self.remedies.is_empty() {
            writeln!(f, "What would move it (tried):")?;
        }
        for it in &self.remedies {
            writeln!(f, "  {}: the watermark is {} then.", it.change, TimeText(it.watermark))?;
        }
        Ok(())
    }
}

impl WatermarkStory {
    /// The item since which the watermark stands, by number.
    pub fn stands_since(&self) -> Option<ItemId> {
        self.rose_at.as_ref().map(|it| ItemId(it.item))
    }
}
