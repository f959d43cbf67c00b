//! Stages that group, drawn: windows and their panes, sessions, count windows, global groups.
//!
//! Invariant: each is one that append mode can write, unless another mode was asked for.

use super::story::Story;
use plimsoll_engine::plan::flow::{
    Carry, CountPlan, Gap, GlobalPlan, HoleRule, PanePlan, SessionLate, SessionPlan, StagePlan,
    Touching, WindowStage,
};
use plimsoll_engine::plan::{LateRule, WindowSpec};
use plimsoll_engine::time::Span;

const LATE: [(u32, LateRule); 4] = [
    (38, LateRule::Event),
    (30, LateRule::WindowEnd),
    (16, LateRule::EventInclusive),
    (16, LateRule::Frame),
];

impl Story<'_> {
    /// Fixed windows that fire once.
    pub(super) fn window(&mut self) {
        let spec = self.grid();
        self.windows(spec, Span::ZERO, PanePlan::TOTALS);
    }

    /// Windows over what another stage wrote: longer ones, so that they hold some of its rows.
    pub(super) fn wider_window(&mut self) {
        let size = Span(self.slide * self.own.range(2, 4));
        let slide = if self.own.chance(250) { Span(self.slide) } else { size };
        let offset =
            if self.own.chance(200) { Span(self.own.range(1, self.slide)) } else { Span::ZERO };
        let lateness = if self.own.chance(150) { self.part(&[4, 8]) } else { Span::ZERO };
        self.windows(WindowSpec { size, slide, offset }, lateness, PanePlan::TOTALS);
    }

    /// Windows with allowed lateness and panes.
    pub(super) fn panes(&mut self) {
        self.appends();
        let spec = self.grid();
        let lateness = self.part(&[8, 0, 4, 16]);
        let early = self.own.chance(500);
        let rows = self.own.range(1, 4) as u64;
        let carry = *self.own.choose(&[Carry::Accumulating, Carry::Discarding, Carry::Retracting]);
        self.windows(spec, lateness, PanePlan { early_rows: early.then_some(rows), carry });
    }

    fn windows(&mut self, window: WindowSpec, lateness: Span, panes: PanePlan) {
        let mut late = self.own.weighted(&LATE);
        if late == LateRule::Frame && window.size.0 % window.slide.0 != 0 {
            // Rule F is defined on whole slides only.
            late = LateRule::WindowEnd;
        }
        let (keys, aggregates) = (self.keys(), self.aggregates());
        let (time, late_policy) = (self.time, self.late_policy());
        let hole = *self.own.choose(&[HoleRule::NoWindow, HoleRule::LateBehind]);
        self.push(StagePlan::Window(WindowStage {
            time,
            window,
            keys,
            aggregates,
            late,
            late_policy,
            lateness,
            panes,
            hole,
        }));
    }

    /// Sessions per key.
    pub(super) fn session(&mut self) {
        let fixed = self.part(&[4, 2, 8, 12]).max(Span(1));
        let gap = self.gap.map_or(Gap::Fixed(fixed), Gap::Column);
        let late = *self.own.choose(&[SessionLate::Event, SessionLate::Proto, SessionLate::Merged]);
        let touching = *self.own.choose(&[Touching::Apart, Touching::Merge]);
        let limited = self.own.chance(300);
        let max_span = Span(fixed.0 * self.own.range(2, 6));
        let lateness = if self.own.chance(300) { self.part(&[4, 8, 16]) } else { Span::ZERO };
        let (keys, aggregates) = (self.keys(), self.aggregates());
        let (time, late_policy) = (self.time, self.late_policy());
        self.push(StagePlan::Session(SessionPlan {
            time,
            gap,
            keys,
            aggregates,
            late,
            late_policy,
            touching,
            max_span: limited.then_some(max_span),
            lateness,
        }));
    }

    /// Windows of a number of rows.
    pub(super) fn count(&mut self) {
        let rows = self.own.range(1, 4) as u64;
        let (keys, aggregates, time) = (self.keys(), self.aggregates(), self.time);
        self.push(StagePlan::Count(CountPlan { time, keys, aggregates, rows }));
    }

    /// Groups by keys alone; in append mode one of them is the time, or nothing would ever leave.
    pub(super) fn global(&mut self) {
        let timed = self.own.chance(500) || self.is_append();
        let rule = *self.own.choose(&[LateRule::Event, LateRule::EventInclusive]);
        let mut keys = self.keys();
        if timed {
            keys.insert(0, self.time);
            if self.own.chance(300) {
                keys.reverse();
            }
        }
        let aggregates = self.aggregates();
        let time = timed.then_some((self.time, rule));
        self.push(StagePlan::Global(GlobalPlan { keys, aggregates, time }));
    }
}
