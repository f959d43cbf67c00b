//! How a trace goes on: items appended to it, so that something must, or must not, happen.
//!
//! Partitions speak through heartbeats: these move time and add no rows, so that every window that
//! has state at the cut can be followed to its close. A step begins as the plan's trigger wants it. Under
//! an interval the clock first goes to the millisecond before the boundary, so that whoever spoke then
//! is not silent when the step begins.
//!
//! Invariant: the items make sense after the first `cut` items of the trace, whatever they are.

use super::retention;
use crate::trace::{Item, Trace};
use plimsoll_engine::plan::{GuardAction, Trigger};
use plimsoll_engine::row::PartitionId;
use plimsoll_engine::time::{EventTime, ProcTime, Span};

/// What is known at the cut, and the items so far.
#[derive(Clone, Debug)]
pub struct Continuation<'a> {
    trace: &'a Trace,
    cut: usize,
    now: ProcTime,
    /// Who was named before the cut, in order.
    named: Vec<PartitionId>,
    /// Those of them that never finished.
    going_on: Vec<PartitionId>,
    /// The largest legal event time before the cut.
    horizon: Option<EventTime>,
    removed: bool,
    items: Vec<Item>,
}

impl<'a> Continuation<'a> {
    /// Nothing appended yet.
    pub fn new(trace: &'a Trace, cut: usize) -> Self {
        let mut it = Self {
            trace,
            cut,
            now: trace.clock,
            named: Vec::new(),
            going_on: Vec::new(),
            horizon: None,
            removed: false,
            items: Vec::new(),
        };
        let mut finished = Vec::new();
        for item in &trace.items[..cut] {
            match *item {
                Item::Row(row) => {
                    it.names(row.partition);
                    it.shows(trace.time(row));
                }
                Item::Heartbeat { partition, time } => {
                    it.names(partition);
                    it.shows(Some(time));
                }
                Item::Add { partition, .. } | Item::Move { partition, .. } => it.names(partition),
                Item::Finish(partition) => finished.push(partition),
                Item::Remove(_) => it.removed = true,
                Item::Tick(span) => it.now = it.now.max(it.now + span),
                Item::Probe
                | Item::Batch
                | Item::Steer(_)
                | Item::Checkpoint
                | Item::Crash { .. }
                | Item::Restart(_)
                | Item::End => {}
            }
        }
        it.going_on = it.named.iter().copied().filter(|it| !finished.contains(it)).collect();
        it
    }

    fn names(&mut self, partition: PartitionId) {
        if let Err(place) = self.named.binary_search(&partition) {
            self.named.insert(place, partition);
        }
    }

    fn shows(&mut self, time: Option<EventTime>) {
        self.horizon = self.horizon.max(time.filter(|it| it.is_legal()));
    }

    /// Everybody who was named.
    pub fn named(&self) -> &[PartitionId] {
        &self.named
    }

    /// Those who never finished.
    pub fn going_on(&self) -> &[PartitionId] {
        &self.going_on
    }

    /// Whether a partition was taken away.
    pub const fn removed(&self) -> bool {
        self.removed
    }

    /// The instant reached.
    pub const fn now(&self) -> ProcTime {
        self.now
    }

    /// After every window that may have state: `None` where no row came, or where the numbers come near
    /// their ends.
    pub fn last_end(&self) -> Option<EventTime> {
        let plan = &self.trace.plan;
        if plan.flow.is_none() && plan.operator.is_none() {
            return None;
        }
        let gap = match &plan.flow {
            Some(it) => retention::gap(self.trace, it).ok()?,
            None => Span::ZERO,
        };
        let end = self.horizon? + retention::kept(plan, gap);
        let near = |it: i64| EventTime::LEGAL / 4 < it.saturating_abs();
        (!near(end.0) && !near(self.now.0)).then_some(end)
    }

    /// An event time so far ahead that whoever is there has passed every window; the clock moves as
    /// far as a guard wants it to.
    pub fn far_ahead(&mut self) -> Option<EventTime> {
        let end = self.last_end()?;
        let plan = &self.trace.plan;
        let watermark = plan.watermark.as_ref()?;
        let slide = match (&plan.flow, &plan.operator) {
            (Some(_), _) => end.since(self.horizon?),
            (None, operator) => operator.as_ref()?.window.slide,
        };
        let far = end + retention::delay(plan) + slide;
        let guard = watermark.guard.filter(|it| it.action != GuardAction::Accept);
        if let Some(guard) = guard {
            self.tick((EventTime(far.0) - guard.ahead).since(EventTime(self.now.0)));
        }
        Some(far)
    }

    /// The clock moves.
    pub fn tick(&mut self, span: Span) {
        if 0 < span.0 {
            self.items.push(Item::Tick(span));
            self.now = self.now + span;
        }
    }

    /// These speak.
    pub fn speak(&mut self, who: &[PartitionId], time: EventTime) {
        self.items.extend(who.iter().map(|it| Item::Heartbeat { partition: *it, time }));
    }

    /// These speak, then a step begins.
    pub fn step(&mut self, who: &[PartitionId], time: EventTime) {
        match self.trace.plan.trigger {
            Trigger::Row => {
                self.speak(who, time);
                self.items.push(Item::Probe);
            }
            Trigger::Interval(span) => {
                let span = span.0.max(1);
                let done = self.now.since(self.trace.clock).0.rem_euclid(span);
                self.tick(Span(span - done - 1));
                self.speak(who, time);
                self.tick(Span(1));
            }
            Trigger::Batch | Trigger::Once | Trigger::AvailableNow(_) => {
                self.speak(who, time);
                self.items.push(Item::Batch);
            }
        }
    }

    /// The clock stands, and is looked at.
    pub fn probe(&mut self) {
        self.items.push(Item::Probe);
    }

    /// The trace that goes on.
    pub const fn trace(&self) -> &'a Trace {
        self.trace
    }

    /// A batch ends, where batches are cut by items.
    pub fn batch(&mut self) {
        if self.trace.plan.trigger == Trigger::Batch {
            self.items.push(Item::Batch);
        }
    }

    /// The input ends.
    pub fn end(&mut self) {
        self.items.push(Item::End);
    }

    /// How many items the trace has by now, the appended ones included.
    pub const fn len(&self) -> usize {
        self.cut + self.items.len()
    }

    /// Whether there are none at all.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The appended items.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The trace up to the cut and what was appended.
    pub fn into_trace(self) -> Trace {
        let mut items = Vec::with_capacity(self.len());
        items.extend_from_slice(&self.trace.items[..self.cut]);
        items.extend(self.items);
        Trace { items, ..self.trace.clone() }
    }
}
