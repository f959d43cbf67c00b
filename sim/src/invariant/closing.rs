//! Closing: a window fires when it is passed, not before and not after (I3); once closed it never
//! comes back (I4); and an admitted row finds its windows live (I5).
//!
//! Which windows have state follows from the records: those that rows were counted into. The
//! frontier of a step is the highest value that evicted in any step *before* it, so that a row that
//! fires its own window in its own step (lag 2, or per row) is no offence.
//!
//! I4 is told from I5 by how much is lost: a row all of whose windows had closed, or a window written
//! once more, is a resurrection; a row that was counted also into one that had closed broke the
//! interlock.
//!
//! Invariant: the frontier never falls, except where a restart loses the watermark: then nothing is closed.

use super::past::{FiringFacts, Past, Scope};
use super::words::{time, window};
use super::{Invariant, Observation};
use plimsoll_engine::output::{Firing, FiringKind};
use plimsoll_engine::plan::OutputMode;
use plimsoll_engine::time::EventTime;

/// I3.
pub const FIRES: &str = "I3 fires_when_passed";
/// I4.
pub const RESURRECTION: &str = "I4 no_resurrection";
/// I5.
pub const LIVE: &str = "I5 admitted_into_live_state";

const NEEDS: &str = "windows on the watermark's column that close (append or update)";

fn closes(scope: &Scope) -> Result<(), &'static str> {
    if scope.grid.is_some() && scope.mode != OutputMode::Complete { Ok(()) } else { Err(NEEDS) }
}

pub(super) fn fires(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    closes(scope)?;
    Ok(Box::new(Fires))
}

#[derive(Debug)]
struct Fires;

impl Invariant for Fires {
    fn name(&self) -> &'static str {
        FIRES
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        let mut last: Option<(u64, EventTime)> = None;
        for (firing, facts) in seen.output.firings.iter().zip(&past.firings) {
            let end = firing.window.end;
            if let Some((step, before)) = last.filter(|it| it.0 == firing.step && end < it.1) {
                return Err(format!(
                    "windows of a step are written in the order of their ends: in step {step} {} \
                     stands after one that ends at {}",
                    window(firing.window),
                    time(before)
                ));
            }
            last = Some((firing.step, end));
            written(firing, facts, seen, past)?;
        }
        if seen.output.steps.is_empty() {
            return Ok(());
        }
        let missing = past.steps.iter().find_map(|it| it.unwritten);
        if let Some(it) = missing.filter(|_| past.scope.mode == OutputMode::Append) {
            return Err(format!(
                "{} was passed by {} with {} rows in it and was not written",
                window(it.window),
                time(past.frontier),
                it.counted
            ));
        }
        match seen.view.oldest_end {
            Some(end) if end <= past.frontier => Err(format!(
                "a window that ends at {} still has state after {} has closed what it passed",
                time(end),
                time(past.frontier)
            )),
            _ => Ok(()),
        }
    }
}

fn written(
    firing: &Firing,
    facts: &FiringFacts,
    seen: &Observation<'_>,
    past: &Past,
) -> Result<(), String> {
    let it = firing.window;
    if facts.off_grid {
        return Err(format!("{} is no window of this plan", window(it)));
    }
    if firing.kind != FiringKind::OnTime {
        return Ok(());
    }
    let record = seen.output.steps.get(facts.step);
    let evict = record.and_then(|it| past.scope.evicts(it.kind, it.evict));
    let evict = evict.unwrap_or(EventTime::MIN);
    if evict < it.end {
        return Err(format!(
            "{} was written too early: what closes windows stands at {}",
            window(it),
            time(evict)
        ));
    }
    // One that was written before is not for want of rows here.
    if facts.counted == 0 && past.frontier < it.end {
        return Err(format!("{} was written without a row in it", window(it)));
    }
    Ok(())
}

pub(super) fn resurrection(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    closes(scope)?;
    Ok(Box::new(Resurrection))
}

#[derive(Debug)]
struct Resurrection;

impl Invariant for Resurrection {
    fn name(&self) -> &'static str {
        RESURRECTION
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        for (firing, facts) in seen.output.firings.iter().zip(&past.firings) {
            let frontier = past.steps.get(facts.step).map_or(past.frontier, |it| it.frontier);
            if firing.window.end <= frontier && !facts.off_grid {
                let (it, frontier) = (window(firing.window), time(frontier));
                return Err(format!("{it} had closed (by {frontier}) and was written again"));
            }
        }
        admitted(past, |row, frontier| row.1 <= frontier).map_or(Ok(()), |(id, end, frontier)| {
            Err(format!(
                "row {id} was counted into a window that ends at {}, and {} had closed it before",
                time(end),
                time(frontier)
            ))
        })
    }
}

/// The first admitted row of which `breaks` is true; it is given the ends of the first and the last
/// window that the row was counted into, and the frontier of its step.
#[inline]
fn admitted(
    past: &Past,
    breaks: impl Fn((EventTime, EventTime), EventTime) -> bool,
) -> Option<(u64, EventTime, EventTime)> {
    for facts in &past.steps {
        for row in past.rows_of(facts) {
            if breaks((row.first_end, row.last_end), facts.frontier) && row.first_end.is_finite() {
                return Some((row.id.0, row.first_end, facts.frontier));
            }
        }
    }
    None
}

pub(super) fn live(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    closes(scope)?;
    Ok(Box::new(Live))
}

#[derive(Debug)]
struct Live;

impl Invariant for Live {
    fn name(&self) -> &'static str {
        LIVE
    }

    fn observe(&mut self, _: &Observation<'_>, past: &Past) -> Result<(), String> {
        admitted(past, |row, frontier| row.0 <= frontier).map_or(Ok(()), |(id, end, frontier)| {
            Err(format!(
                "row {id} was admitted into a window that ends at {}, but {} had evicted it",
                time(end),
                time(frontier)
            ))
        })
    }
}
