//! Who is late, and what would have saved the row.
//!
//! A watermark w is an inclusive lower bound on what is still legal. The four rules differ in what
//! they compare with it (semantics 3): the row's time (E: t < w, E2: t <= w), each window's end
//! (W: end <= w), or the row's slide frame (F). Under W a row may be late for its earlier windows
//! only: it is *partly late*, counted into the others.
//!
//! With c* the candidate in force (the watermark before the delay was taken off), a row is dropped
//! under E iff its slack c* - t exceeds the delay, so the smallest delay that saves it is the slack
//! itself; under W, E2 and F it is dropped at equality too, so one millisecond more (semantics 3.3).
//!
//! Invariant: nothing is silent. Every late row leaves a [`LateRow`] with its reason.

use crate::plan::{LatePolicy, LateRule};
use crate::row::{ItemId, PartitionId};
use crate::time::{EventTime, Span};
use crate::window::assign::Assigner;
use serde::{Deserialize, Serialize};

/// Why a row is late for some or all of its windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LateRow {
    /// The caller's number of the row.
    pub id: ItemId,
    /// Where it came from.
    pub partition: PartitionId,
    /// Its event time.
    pub time: EventTime,
    /// The rule that decided.
    pub rule: LateRule,
    /// The watermark that it was judged by.
    pub in_force: InForce,
    /// How many of its windows it missed: the earliest ones of [`Assigner::windows`].
    pub windows_lost: u32,
    /// How many it was still counted into.
    pub windows_kept: u32,
    /// What would have saved it.
    pub saving: Saving,
    /// What kind of lateness this is.
    pub cause: LateCause,
    /// Where it went.
    pub destination: LatePolicy,
}

/// The watermark that judges rows, and where it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InForce {
    /// The value w.
    pub watermark: EventTime,
    /// The candidate c* that it was computed from, before the delay was taken off.
    pub candidate: EventTime,
    /// The item that raised the candidate to this value; `None` before any did.
    pub set_by: Option<ItemId>,
    /// The step from which on it judges rows.
    pub since_step: u64,
    /// The wall-clock distance f, where the wall clock and not the candidate gave the value.
    pub fallback: Option<Span>,
}

impl InForce {
    /// In force before anything was seen.
    pub const fn initial(watermark: EventTime) -> Self {
        let candidate = EventTime::MIN;
        Self { watermark, candidate, set_by: None, since_step: 0, fallback: None }
    }
}

/// The smallest change of a setting that would have kept the row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Saving {
    /// A delay of at least `smallest` saves one of the lost windows, `largest` all of them.
    Delay {
        /// Saves the latest of the lost windows.
        smallest: Span,
        /// Saves all of them.
        largest: Span,
    },
    /// No delay does; a wall-clock fallback at least this far behind would.
    Fallback {
        /// Saves the latest of the lost windows.
        smallest: Span,
        /// Saves all of them.
        largest: Span,
    },
    /// Nothing: the input was declared ended, or the initial watermark was in force.
    Nothing,
}

/// The kinds of lateness that are counted apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum LateCause {
    /// Too far behind its own partition too: a straggler, a retry, an offline device.
    Straggler,
    /// Its own partition alone would have waited: another partition is further on.
    LaggingPartition,
    /// The wall clock moved the watermark, not data.
    WallClock,
    /// The input had ended.
    EndOfInput,
    /// The watermark began there; nothing that was seen has moved it yet.
    InitialWatermark,
}

impl LateCause {
    /// All causes, in the order of reports.
    pub const ALL: [Self; 5] = [
        Self::Straggler,
        Self::LaggingPartition,
        Self::WallClock,
        Self::EndOfInput,
        Self::InitialWatermark,
    ];

    /// The word that reports use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Straggler => "straggler",
            Self::LaggingPartition => "lagging partition",
            Self::WallClock => "wall clock",
            Self::EndOfInput => "after the end of input",
            Self::InitialWatermark => "initial watermark",
        }
    }
}

/// How many of the earliest windows of `time` are lost under `rule` at watermark `w`, of how many.
#[inline]
pub fn windows_lost(rule: LateRule, of: &Assigner, time: EventTime, w: EventTime) -> (u32, u32) {
    let count = of.window_count(time) as u32;
    let whole = |late: bool| if late { (count, count) } else { (0, count) };
    match rule {
        LateRule::Event => whole(time < w),
        LateRule::EventInclusive => whole(time <= w),
        LateRule::Frame => {
            whole(w == EventTime::MAX || (w.is_finite() && of.frame(time) < of.frame(w)))
        }
        LateRule::WindowEnd => {
            (of.windows(time).take_while(|it| it.closes_at(w)).count() as u32, count)
        }
    }
}

/// The largest watermark at which a row is on time, where it is judged as a whole: it is late iff
/// this is `< w`. `end` is the end of its (tumbling) window, for the rules that judge windows.
#[inline]
pub fn last_on_time(rule: LateRule, time: EventTime, end: EventTime) -> EventTime {
    match rule {
        LateRule::Event => time,
        LateRule::EventInclusive => time - Span(1),
        LateRule::WindowEnd | LateRule::Frame => end - Span(1),
    }
}

/// What is left of a grace that is granted to the times of rows: nothing where windows are judged.
#[inline]
pub const fn grace(rule: LateRule, granted: Span) -> Span {
    match rule {
        LateRule::Event | LateRule::EventInclusive => granted,
        LateRule::WindowEnd | LateRule::Frame => Span::ZERO,
    }
}

/// What would have saved a row that lost its `lost` earliest windows.
pub fn saving(
    rule: LateRule,
    of: &Assigner,
    time: EventTime,
    lost: u32,
    in_force: &InForce,
) -> Saving {
    // The latest watermark at which this bound is still kept is `bound` (E) or `bound - 1 ms`.
    let ends = || of.windows(time).take(lost as usize).map(|it| it.end);
    let (first, last, strict) = match rule {
        LateRule::Event => (time, time, 0),
        LateRule::EventInclusive => (time, time, 1),
        LateRule::Frame => {
            let end = of.frame(time) + of.slide();
            (end, end, 1)
        }
        LateRule::WindowEnd => (ends().next().unwrap_or(time), ends().last().unwrap_or(time), 1),
    };
    saving_until(last - Span(strict), first - Span(strict), in_force)
}

/// What would have saved a row that one more window (or whatever it missed) would have taken up to a
/// watermark of `one`, and all of them up to `all`.
pub fn saving_until(one: EventTime, all: EventTime, in_force: &InForce) -> Saving {
    let from_the_start = in_force.fallback.is_none() && !in_force.candidate.is_finite();
    if in_force.watermark == EventTime::MAX || from_the_start {
        return Saving::Nothing;
    }
    match in_force.fallback {
        None => Saving::Delay {
            smallest: in_force.candidate.since(one),
            largest: in_force.candidate.since(all),
        },
        Some(behind) => Saving::Fallback {
            smallest: in_force.watermark.since(one) + behind,
            largest: in_force.watermark.since(all) + behind,
        },
    }
}

/// What kind of lateness it is. `own` is the watermark that the row's own partition alone would have
/// made.
pub fn cause(
    rule: LateRule,
    of: &Assigner,
    time: EventTime,
    own: EventTime,
    in_force: &InForce,
) -> LateCause {
    cause_if(windows_lost(rule, of, time, own).0 == 0, in_force)
}

/// The same, where it is known whether the row's own partition alone would have waited for it.
pub const fn cause_if(own_waits: bool, in_force: &InForce) -> LateCause {
    if in_force.watermark.0 == EventTime::MAX.0 {
        LateCause::EndOfInput
    } else if in_force.fallback.is_some() {
        LateCause::WallClock
    } else if !in_force.candidate.is_finite() {
        LateCause::InitialWatermark
    } else if own_waits {
        LateCause::LaggingPartition
    } else {
        LateCause::Straggler
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::WindowSpec;

    fn sliding() -> Assigner {
        Assigner::new(WindowSpec { size: Span(10), slide: Span(5), offset: Span(0) })
    }

    #[test]
    fn a_row_at_the_watermark_is_on_time_under_e_and_late_under_e2() {
        let (at, w) = (EventTime(12), EventTime(12));
        assert_eq!(windows_lost(LateRule::Event, &sliding(), at, w), (0, 2));
        assert_eq!(windows_lost(LateRule::EventInclusive, &sliding(), at, w), (2, 2));
    }

    #[test]
    fn a_row_of_one_window_is_late_as_a_whole_behind_its_last_watermark() {
        let grid = WindowSpec { size: Span(10), slide: Span(10), offset: Span(3) };
        let grid = Assigner::new(grid);
        let rules =
            [LateRule::Event, LateRule::EventInclusive, LateRule::WindowEnd, LateRule::Frame];
        for (time, w) in (-25..25).flat_map(|t| (-45..45).map(move |w| (t, EventTime(w)))) {
            let time = EventTime(time);
            let end = grid.window_from(grid.frame(time)).end;
            for rule in rules {
                let late = last_on_time(rule, time, end) < w;
                assert_eq!(windows_lost(rule, &grid, time, w).0, u32::from(late), "{rule:?}");
            }
        }
    }

    #[test]
    fn under_w_a_row_misses_its_closed_windows_only() {
        // Windows of 12: [5, 15) and [10, 20).
        let at = EventTime(12);
        assert_eq!(windows_lost(LateRule::WindowEnd, &sliding(), at, EventTime(14)), (0, 2));
        assert_eq!(windows_lost(LateRule::WindowEnd, &sliding(), at, EventTime(15)), (1, 2));
        assert_eq!(windows_lost(LateRule::WindowEnd, &sliding(), at, EventTime(20)), (2, 2));
    }

    #[test]
    fn under_f_the_frame_decides() {
        let at = EventTime(12);
        assert_eq!(windows_lost(LateRule::Frame, &sliding(), at, EventTime(14)), (0, 2));
        assert_eq!(windows_lost(LateRule::Frame, &sliding(), at, EventTime(15)), (2, 2));
    }

    #[test]
    fn the_saving_delay_is_the_slack_and_one_millisecond_more_where_equality_loses() {
        let in_force = InForce {
            watermark: EventTime(20),
            candidate: EventTime(25),
            ..InForce::initial(EventTime::MIN)
        };
        let of = |rule, lost| saving(rule, &sliding(), EventTime(12), lost, &in_force);
        let delay =
            |smallest, largest| Saving::Delay { smallest: Span(smallest), largest: Span(largest) };
        assert_eq!(of(LateRule::Event, 2), delay(13, 13));
        assert_eq!(of(LateRule::EventInclusive, 2), delay(14, 14));
        assert_eq!(of(LateRule::WindowEnd, 2), delay(6, 11));
        assert_eq!(of(LateRule::WindowEnd, 1), delay(11, 11));
        assert_eq!(of(LateRule::Frame, 2), delay(11, 11));
    }
}
