//! Which row is late for which of its windows, and what would have saved it.
//!
//! E: t < w. E2: t <= w. F: the row's slide frame starts before the watermark's. All three lose
//! every window. W loses the windows with end <= w, which are the earliest ones. The saving delay
//! of one lost window follows from c* alone: c* - t (E), c* - t + 1 (E2), c* - end + 1 (W),
//! c* - (frame + slide) + 1 (F).
//!
//! Readings: after the end of input nothing saves. w is the largest of c* - d, of now - f at the
//! latest clock that counted, and of the start value. Where c* - d alone is the largest, the delay
//! is named; where now - f alone is and c* - d would not lose the row, the same formulas hold with
//! that clock for c*. Elsewhere (two agree, both lose the row, the start value decides) semantics
//! 3.3 is silent.
//!
//! Invariant: lost + kept = the windows of the row. Source: semantics 3.

use super::expected::Lateness;
use super::watermark::Value;
use super::windows::{Grid, Starts};
use plimsoll_engine::late::Saving;
use plimsoll_engine::plan::{Fallback, LateRule};
use plimsoll_engine::time::{EventTime, Span};

/// The operator's late rule with what it needs to be applied.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judge {
    pub(super) rule: LateRule,
    pub(super) grid: Grid,
    pub(super) delay: Span,
    pub(super) fallback: Option<Fallback>,
    pub(super) initial: EventTime,
}

impl Judge {
    /// How many of its windows a row misses under this watermark.
    pub(super) fn lost(&self, time: EventTime, starts: Starts, w: EventTime) -> u64 {
        let all_if = |late: bool| if late { starts.count } else { 0 };
        match self.rule {
            LateRule::Event => all_if(time < w),
            LateRule::EventInclusive => all_if(time <= w),
            LateRule::WindowEnd => {
                let ends = self.ends(starts);
                ends.take_while(|end| *end <= w.0).count() as u64
            }
            LateRule::Frame => all_if(match w {
                EventTime::MIN => false,
                EventTime::MAX => true,
                w => self.grid.frame(time) < self.grid.frame(w),
            }),
        }
    }

    /// The lateness of a row that misses `lost` windows under `value`.
    pub(super) fn lateness(
        &self,
        time: EventTime,
        starts: Starts,
        lost: u64,
        value: Value,
    ) -> Lateness {
        let kept = starts.count - lost;
        let watermark = value.watermark;
        if self.from_the_start(value) {
            // Nobody set it, and no setting but the initial value itself would have saved the row.
            let (candidate, set_by, saving) = (EventTime::MIN, None, Some(Saving::Nothing));
            return Lateness { time, lost, kept, watermark, candidate, set_by, saving };
        }
        Lateness {
            time,
            lost,
            kept,
            watermark,
            candidate: value.candidate_max,
            set_by: value.set_by,
            saving: self.saving(time, starts, lost, value),
        }
    }

    /// Whether the value in force is the initial one, above what data and wall clock have made.
    fn from_the_start(&self, value: Value) -> bool {
        let Value { candidate_max, wall, .. } = value;
        let clock = wall.zip(self.fallback).map(|(n, it)| EventTime(n.0) - it.behind);
        candidate_max - self.delay < self.initial && clock.is_none_or(|it| it <= self.initial)
    }

    fn saving(&self, time: EventTime, starts: Starts, lost: u64, value: Value) -> Option<Saving> {
        let Value { candidate_max, wall, .. } = value;
        if candidate_max == EventTime::MAX {
            return Some(Saving::Nothing);
        }
        let data = candidate_max - self.delay;
        let clock = wall.zip(self.fallback).map(|(n, it)| (n, EventTime(n.0) - it.behind));
        if self.initial < data && clock.is_none_or(|(_, it)| it < data) {
            let (smallest, largest) = self.distances(time, starts, lost, candidate_max.0);
            return Some(Saving::Delay { smallest, largest });
        }
        let (n, by_clock) = clock?;
        if data.max(self.initial) < by_clock && self.lost(time, starts, data) == 0 {
            let (smallest, largest) = self.distances(time, starts, lost, n.0);
            return Some(Saving::Fallback { smallest, largest });
        }
        None
    }

    /// How far behind `front` a value must stay to save the latest, and the earliest, lost window.
    fn distances(&self, time: EventTime, starts: Starts, lost: u64, front: i64) -> (Span, Span) {
        let behind = |what: i64| Span(front.saturating_sub(what));
        let beyond = |what: i64| Span(front.saturating_sub(what).saturating_add(1));
        match self.rule {
            LateRule::Event => (behind(time.0), behind(time.0)),
            LateRule::EventInclusive => (beyond(time.0), beyond(time.0)),
            LateRule::WindowEnd => {
                let first = self.grid.end(starts.first);
                let last = first + (lost as i64 - 1) * self.grid.slide();
                (beyond(last), beyond(first))
            }
            LateRule::Frame => {
                let next = self.grid.frame(time) + i128::from(self.grid.slide());
                let next = i64::try_from(next).expect("a legal time plus a legal span");
                (beyond(next), beyond(next))
            }
        }
    }

    fn ends(&self, starts: Starts) -> impl Iterator<Item = i64> {
        let first = self.grid.end(starts.first);
        let slide = self.grid.slide();
        (0..starts.count as i64).map(move |i| first + i * slide)
    }
}
