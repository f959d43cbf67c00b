//! A failure as a story: what each item did to the watermark, the windows and the rows, where the
//! system stood when the invariant broke, and what of it all matters.
//!
//! Invariant: at most [`LINES`] lines of timeline, whatever the length of the trace.

use super::Quoted;
use super::history::{History, Last};
use super::matters::{Matters, matters};
use crate::golden::Scribe;
use crate::invariant::Violation;
use crate::shrink::Limits;
use crate::system::System;
use crate::trace::Trace;
use crate::trace::time_text::TimeText;
use plimsoll_engine::time::EventTime;
use serde::Serialize;
use std::fmt;

/// The most lines of a timeline.
const LINES: usize = 20;

/// A failure as a story.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FailureStory {
    /// The invariant that broke.
    pub invariant: &'static str,
    /// The item at which it showed.
    pub at: u64,
    /// What was expected and what was found.
    pub evidence: String,
    /// The items that did something, at most [`LINES`] lines.
    pub timeline: Vec<Moment>,
    /// The state at the end, in a few lines.
    pub state: Vec<String>,
    /// What matters.
    pub matters: Matters,
}

/// One item and what came out of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Moment {
    /// The item.
    pub item: Quoted,
    /// What came out, a line each.
    pub effects: Vec<String>,
    /// How many items without a line stand before it.
    pub skipped: u64,
}

/// A failure as a story: of a trace that breaks an invariant in a system, and of a predicate that
/// tells in which way another trace fails. `None` where the system refuses the trace.
pub fn failure(
    trace: &Trace,
    violation: &Violation,
    system: &mut dyn FnMut(&Trace) -> Option<Box<dyn System>>,
    fails: &mut dyn FnMut(&Trace) -> Option<Violation>,
    limits: Limits,
) -> Option<FailureStory> {
    let until = usize::try_from(violation.at.0).unwrap_or(usize::MAX).min(trace.items.len());
    let seen = trace.without(until..trace.items.len());
    let mut system = system(&seen)?;
    let mut scribe = Scribe::new(&seen);
    let mut moments = Vec::new();
    let history = History::of(&seen, &mut *system, &mut |seen| {
        let effects = scribe.observe(seen);
        let item = Quoted::of(seen.trace, seen.id).expect("the item is in the trace");
        moments.push(Moment { item, effects, skipped: 0 });
    });
    if let Some(item) = Quoted::of(trace, violation.at)
        && moments.last().is_none_or(|it| it.item != item)
    {
        // The run itself ended there.
        moments.push(Moment { item, effects: Vec::new(), skipped: 0 });
    }
    Some(FailureStory {
        invariant: violation.name,
        at: violation.at.0,
        evidence: violation.evidence.clone(),
        timeline: shortened(moments),
        state: state(&seen, &history.last),
        matters: matters(&seen, violation.name, fails, limits),
    })
}

/// The last moments with effects, as many as there is room for; of a short trace all.
fn shortened(moments: Vec<Moment>) -> Vec<Moment> {
    const EFFECTS: usize = 4;
    let lines = |it: &Moment| 1 + it.effects.len();
    let whole = moments.iter().map(lines).sum::<usize>() <= LINES;
    let mut kept: Vec<Moment> = Vec::new();
    let mut used = 0;
    let last = moments.len();
    for (at, mut moment) in moments.into_iter().enumerate().rev() {
        if !whole
            && moment.effects.is_empty()
            && at + 1 < last
            && let Some(it) = kept.last_mut()
        {
            it.skipped += 1;
            continue;
        }
        if EFFECTS < moment.effects.len() && !whole {
            let more = moment.effects.len() + 1 - EFFECTS;
            moment.effects.truncate(EFFECTS - 1);
            moment.effects.push(format!(".. and {more} lines more"));
        }
        // One line is kept for what is skipped.
        let gap = usize::from(kept.last().is_some_and(|it| 0 < it.skipped));
        if LINES - 1 < used + gap + lines(&moment) && !whole {
            if let Some(it) = kept.last_mut() {
                it.skipped += at as u64 + 1;
            }
            break;
        }
        used += gap + lines(&moment);
        kept.push(moment);
    }
    kept.reverse();
    kept
}

fn state(trace: &Trace, last: &Last) -> Vec<String> {
    let watermark = format!("watermark {}", TimeText(last.watermark));
    let open = match (last.groups, last.oldest_end) {
        (Some(0), _) | (None, None) => "no window is open".to_owned(),
        (groups, end) => {
            let groups = groups.map_or("some".to_owned(), |it| it.to_string());
            let end = end.map_or("+inf".to_owned(), |it| TimeText(it).to_string());
            format!("{groups} groups are held, the earliest until {end}")
        }
    };
    let mut lines = vec![format!("{watermark}, candidate {}", TimeText(last.candidate)), open];
    let partitions = last.members.iter().map(|it| {
        let state = format!("{:?}", it.state).to_lowercase();
        format!("{} {} {state}", trace.partition_text(it.partition), TimeText(it.max))
    });
    let partitions = partitions.collect::<Vec<_>>().join(", ");
    if !partitions.is_empty() {
        lines.push(format!("partitions: {partitions}"));
    }
    if 0 < last.arrivals_queued {
        lines.push(format!("{} rows and heartbeats wait", last.arrivals_queued));
    }
    if last.stopped {
        lines.push("the query has stopped".to_owned());
    }
    let now = TimeText(EventTime(last.now.0));
    lines.push(format!("the clock stands at {now}"));
    lines
}

impl fmt::Display for FailureStory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} broke at item {}.", self.invariant, self.at)?;
        writeln!(f, "{}", self.evidence)?;
        writeln!(f, "\nWhat happened:")?;
        for it in &self.timeline {
            write!(f, "{it}")?;
        }
        writeln!(f, "\nThen:")?;
        self.state.iter().try_for_each(|it| writeln!(f, "  {it}"))?;
        writeln!(f, "\nWhat matters:")?;
        self.matters.lines(usize::MAX).iter().try_for_each(|it| writeln!(f, "  {it}"))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if 0 < self.skipped {
            writeln!(f, "      .. {} items", self.skipped)?;
        }
        writeln!(f, "{:>5}  {}", self.item.item, self.item.text)?;
        self.effects.iter().try_for_each(|it| writeln!(f, "       => {it}"))
    }
}
