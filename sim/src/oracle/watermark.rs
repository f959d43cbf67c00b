//! From the candidate to the watermark, and which watermark counts when.
//!
//! w = max(w before, c - d, and now - f where the fallback's condition is met). A value remembers
//! the c* that stood when it was computed and the wall clock that gave it, if one did. Two values
//! are kept: after the last step, and after the one before; the lag picks between them.
//!
//! Invariant: w never decreases, except where a restart loses it. Source: semantics 2, 2.3, 3.3.

use plimsoll_engine::plan::{Effective, WatermarkPlan};
use plimsoll_engine::row::ItemId;
use plimsoll_engine::time::{EventTime, ProcTime};

/// A watermark and where it came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Value {
    pub(super) watermark: EventTime,
    /// c*.
    pub(super) candidate_max: EventTime,
    /// The item that raised c* to this value.
    pub(super) set_by: Option<ItemId>,
    /// The latest clock that met the fallback's condition.
    pub(super) wall: Option<ProcTime>,
}

impl Value {
    /// Nothing is known and nothing is late.
    pub(super) const NOTHING: Self =
        Self { watermark: EventTime::MIN, candidate_max: EventTime::MIN, set_by: None, wall: None };
}

/// The watermark of the query.
#[derive(Debug)]
pub(super) struct Watermark {
    plan: Option<WatermarkPlan>,
    last: Value,
    before_last: Value,
}

impl Watermark {
    pub(super) fn new(plan: Option<WatermarkPlan>) -> Self {
        let mut first = Self { plan, last: Value::NOTHING, before_last: Value::NOTHING };
        first.starts_anew();
        first
    }

    /// As before the first row, nothing counted yet.
    pub(super) fn starts_anew(&mut self) {
        let initial = self.plan.as_ref().map_or(EventTime::MIN, |it| it.initial);
        self.last = Value { watermark: initial, ..Value::NOTHING };
        self.before_last = self.last;
    }

    /// The value computed last.
    pub(super) const fn last(&self) -> Value {
        self.last
    }

    /// Whether every single item moves it.
    pub(super) fn is_per_item(&self) -> bool {
        self.plan.as_ref().is_some_and(|it| it.effective == Effective::Row)
    }

    /// The value that judges the next row.
    pub(super) fn judging(&self) -> Value {
        match self.plan.as_ref().map(|it| it.effective) {
            Some(Effective::BatchAfterNext) => self.before_last,
            Some(Effective::Row | Effective::NextBatch | Effective::Probe) | None => self.last,
        }
    }

    /// Computes w anew from c.
    pub(super) fn advance(&mut self, c: EventTime, cause: ItemId, now: ProcTime, all_idle: bool) {
        self.before_last = self.last;
        let Some(plan) = &self.plan else { return };
        if self.last.candidate_max < c {
            (self.last.candidate_max, self.last.set_by) = (c, Some(cause));
        }
        let mut w = self.last.watermark.max(c - plan.delay);
        if let Some(fallback) = plan.fallback
            && (fallback.always || all_idle)
        {
            self.last.wall = Some(now);
            w = w.max(EventTime(now.0) - fallback.behind);
        }
        self.last.watermark = w;
    }

    /// Nothing more will come.
    pub(super) fn end(&mut self, cause: ItemId) {
        self.before_last = self.last;
        if self.last.candidate_max < EventTime::MAX {
            self.last.set_by = Some(cause);
        }
        (self.last.candidate_max, self.last.watermark) = (EventTime::MAX, EventTime::MAX);
    }
}
