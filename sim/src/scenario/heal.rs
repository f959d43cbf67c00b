//! Healing and draining: after the chaos, everything that can close must close.
//!
//! In some rounds every partition speaks, with event times that grow until the watermark has passed
//! the end of the last window of the chaos, and the clock keeps up with them. Some more steps let a
//! watermark that takes effect late do so. Then the input ends, or each partition finishes, or
//! neither. Liveness is judged here (semantics 16, L1 to L6).
//!
//! Invariant: no fault strikes; partitions that a fault added or took away speak too.

use super::layout::Layout;
use super::reader::Reader;
use crate::entropy::{Entropy, Stream};
use crate::liveness::retention;
use crate::model::Arrival;
use crate::trace::Item;
use plimsoll_engine::plan::{Effective, Trigger};
use plimsoll_engine::row::PartitionId;
use plimsoll_engine::time::{EventTime, Span};

/// The `[phases]` table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Phases {
    /// How often each partition speaks while healing.
    rounds: [i64; 2],
    ends: Vec<Drain>,
}

/// How a world ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Drain {
    /// `end`.
    End,
    /// Each partition finishes.
    Finish,
    /// Neither.
    Open,
}

impl Phases {
    pub(super) fn read(table: Option<Reader<'_>>) -> Self {
        let all = vec![Drain::End, Drain::Finish, Drain::Open];
        let Some(mut table) = table else { return Self { rounds: [2, 3], ends: all } };
        let rounds = table.numbers("heal", [2, 3], 1..=10);
        let ends = table.list("drain", "one or more of `end`, `finish`, `open`", |it| {
            match it.as_str()? {
                "end" => Some(Drain::End),
                "finish" => Some(Drain::Finish),
                "open" => Some(Drain::Open),
                _ => None,
            }
        });
        table.finish();
        Self { rounds, ends: ends.unwrap_or(all) }
    }

    /// How many items healing and draining take, about.
    pub(super) fn cost(&self, partitions: i64, trigger: Trigger) -> i64 {
        let step = if trigger == Trigger::Row { 1 } else { 2 };
        (partitions + step) * self.rounds[0] + partitions / 2 + 3 * step
    }
}

/// Lets the clock pass `time`. Before an interval trigger it stops a millisecond short of the next
/// step: partitions that speak then are not idle in it, however short their timeout.
fn wait_until(layout: &mut Layout<'_>, time: i64) {
    let mut to = time.max(layout.now + 1);
    if let Trigger::Interval(Span(every)) = layout.trace.plan.trigger {
        let start = layout.trace.clock.0;
        let steps = (to + 1 - start + every - 1) / every;
        to = start + steps * every - 1;
    }
    layout.tick(to - layout.now);
}

/// Ends a step, where it needs saying.
fn step(layout: &mut Layout<'_>) {
    match layout.trace.plan.trigger {
        Trigger::Batch => layout.item(Item::Batch),
        Trigger::Interval(every) => {
            let since = layout.now - layout.trace.clock.0;
            layout.tick(every.0 - since.rem_euclid(every.0));
        }
        // Where levels combine at probes only, somebody has to ask.
        Trigger::Row if layout.probes() => layout.item(Item::Probe),
        Trigger::Row | Trigger::Once | Trigger::AvailableNow(_) => {}
    }
}

/// Appends healing and draining.
pub(super) fn heal(layout: &mut Layout<'_>, phases: &Phases, entropy: &Entropy<'_>, last: i64) {
    let mut own = entropy.stream("heal");
    let plan = &layout.trace.plan;
    let (size, slide) = match (&plan.operator, &plan.flow) {
        (Some(it), _) => (it.window.size.0, it.window.slide.0),
        (None, Some(_)) => (retention::kept(plan, layout.gap_most()).0, layout.slide),
        (None, None) => (1, 1),
    };
    let watermark = plan.watermark.as_ref();
    let delay = retention::delay(plan).0;
    let lag = watermark.map_or(Effective::NextBatch, |it| it.effective);
    let rounds = own.range(phases.rounds[0], phases.rounds[1]);
    // Past the end of the last window by the delay, and a little more.
    let stride = (size + slide + delay) / rounds + 1;
    for round in 1..=rounds {
        let time = last + stride * round;
        wait_until(layout, time);
        for partition in 0..layout.partitions {
            speak(layout, &mut own, partition, time);
        }
        step(layout);
    }
    let more = if lag == Effective::BatchAfterNext { 3 } else { 2 };
    let settles = layout.trace.plan.trigger != Trigger::Row;
    for _ in 0..if settles { more } else { 1 } {
        layout.tick((slide / 2).max(1));
        step(layout);
    }
    drain(layout, &mut own, *entropy.stream("drain").choose(&phases.ends), more);
}

fn speak(layout: &mut Layout<'_>, own: &mut Stream<'_>, partition: u32, time: i64) {
    if own.chance(200) {
        let partition = PartitionId(partition);
        layout.item(Item::Heartbeat { partition, time: EventTime(time) });
    } else {
        let key = own.below(2) as u32;
        layout.arrive(&Arrival::row(partition, time, key, 1));
    }
}

fn drain(layout: &mut Layout<'_>, own: &mut Stream<'_>, how: Drain, steps: u32) {
    if matches!(layout.trace.plan.trigger, Trigger::Once | Trigger::AvailableNow(_)) {
        // The query takes all that is there and stops.
        layout.item(if how == Drain::End { Item::End } else { Item::Batch });
        after_the_end(layout, own, 400);
        return;
    }
    match how {
        Drain::Open => {}
        Drain::End => {
            layout.item(Item::End);
            after_the_end(layout, own, 150);
        }
        Drain::Finish => {
            for partition in 0..layout.partitions {
                layout.item(Item::Finish(PartitionId(partition)));
            }
            for _ in 0..if layout.trace.plan.trigger == Trigger::Row { 1 } else { steps } {
                layout.tick(1_000.min(layout.span).max(1));
                step(layout);
            }
        }
    }
}

/// Somebody may still speak when nobody listens any more.
fn after_the_end(layout: &mut Layout<'_>, own: &mut Stream<'_>, share: u32) {
    if own.chance(share) {
        let now = layout.now;
        layout.arrive(&Arrival::row(0, now, 0, 1));
        layout.item(Item::Tick(Span(1)));
    }
}
