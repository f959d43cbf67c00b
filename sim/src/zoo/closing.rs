//! Plants about closing: windows that are written late, twice, never, or born again.
//!
//! Invariant: each changes what comes out, never the engine's state.

use crate::system::System;
use crate::system::engine::Engine;
use crate::zoo::fault::Fault;
use crate::zoo::{Build, Plant};
use plimsoll_engine::output::{Fate, Firing, FiringKind, Output};
use plimsoll_engine::row::{ItemId, PartitionId};
use plimsoll_engine::time::{EventTime, ProcTime};

/// Wrong closings.
pub const PLANTS: &[Plant] = &[
    Plant {
        name: "coarse-segment",
        modelled_on: &["KAFKA-6978"],
        what: "a window that has closed is written one item later",
        killed_by: &["I3", "I41", "L1"],
        build: Build::Fault(|_| Box::new(OneLater(Vec::new()))),
    },
    Plant {
        name: "evict-touched-only",
        modelled_on: &["RW-16045", "KSQL-5605"],
        what: "what closes without a row of its own being there is not written",
        killed_by: &["I3", "I41", "I14", "L2"],
        build: Build::Fault(|_| Box::new(TouchedOnly)),
    },
    Plant {
        name: "no-empty-step",
        modelled_on: &["SPARK-24157"],
        what: "a step runs only when there is new input, even if the watermark has advanced",
        killed_by: &["I43", "I3", "I41"],
        build: Build::Fault(|_| Box::new(NoEmptyStep)),
    },
    Plant {
        name: "written-twice",
        modelled_on: &[],
        what: "a window is written again in the next step",
        killed_by: &["I13", "I4", "I41"],
        build: Build::Fault(|_| Box::new(Again(None))),
    },
    Plant {
        name: "written-twice-at-once",
        modelled_on: &[],
        what: "the last window that a step writes is written twice in that step",
        killed_by: &["I13", "I41"],
        build: Build::Fault(|_| Box::new(AtOnce)),
    },
    Plant {
        name: "resurrection",
        modelled_on: &["KAFKA-7994", "SPARK-18513"],
        what: "a late row gives birth to its window again",
        killed_by: &["I4", "I13", "I41"],
        build: Build::Fault(|_| Box::new(Resurrect(None))),
    },
    Plant {
        name: "update-lost",
        modelled_on: &[],
        what: "some updates are not written",
        killed_by: &["I19", "I41"],
        build: Build::Fault(|_| Box::new(UpdateLost(0))),
    },
    Plant {
        name: "hash-order",
        modelled_on: &[],
        what: "windows are written in an order that depends on a hash",
        killed_by: &["I30", "I3", "I41"],
        build: Build::Fault(|seed| Box::new(HashOrder(seed))),
    },
];

/// Loses about one window in some thousands.
pub fn canary(_: u64) -> Box<dyn Fault> {
    Box::new(Canary)
}

#[derive(Clone, Copy, Debug)]
struct Canary;

impl Fault for Canary {
    fn copy(&self) -> Box<dyn Fault> {
        Box::new(*self)
    }

    fn after(&mut self, _: &Engine, out: &mut Output) {
        out.firings.retain(|it| {
            let word = (it.window.start.0 as u64 ^ (it.groups.len() as u64) << 40)
                .wrapping_mul(0x9E37_79B9_7F4A_7C15);
            !(word >> 32).is_multiple_of(1_500)
        });
    }
}

#[derive(Clone, Debug)]
struct OneLater(Vec<Firing>);

impl Fault for OneLater {
    fn copy(&self) -> Box<dyn Fault> {
        Box::new(self.clone())
    }

    fn after(&mut self, _: &Engine, out: &mut Output) {
        std::mem::swap(&mut self.0, &mut out.firings);
    }
}

#[derive(Clone, Copy, Debug)]
struct TouchedOnly;

impl Fault for TouchedOnly {
    fn copy(&self) -> Box<dyn Fault> {
        Box::new(*self)
    }

    fn tick(&mut self, engine: &mut Engine, id: ItemId, now: ProcTime, out: &mut Output) {
        engine.tick(id, now, out);
        if out.steps.iter().all(|it| it.rows_in == 0) {
            out.firings.clear();
        }
    }

    fn heartbeat(
        &mut self,
        engine: &mut Engine,
        id: ItemId,
        beat: (PartitionId, EventTime),
        at: ProcTime,
        out: &mut Output,
    ) {
        engine.heartbeat(id, beat.0, beat.1, at, out);
        out.firings.clear();
    }

    fn batch(&mut self, engine: &mut Engine, id: ItemId, out: &mut Output) {
        engine.batch(id, out);
        if out.steps.iter().all(|it| it.rows_in == 0) {
            out.firings.clear();
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct NoEmptyStep;

impl Fault for NoEmptyStep {
    fn copy(&self) -> Box<dyn Fault> {
        Box::new(*self)
    }

    fn batch(&mut self, engine: &mut Engine, id: ItemId, out: &mut Output) {
        if 0 < engine.job().rows_queued() {
            engine.batch(id, out);
        }
    }
}

#[derive(Clone, Debug)]
struct Again(Option<Firing>);

impl Fault for Again {
    fn copy(&self) -> Box<dyn Fault> {
        Box::new(self.clone())
    }

    fn after(&mut self, _: &Engine, out: &mut Output) {
        let last = out.firings.iter().rfind(|it| it.kind == FiringKind::OnTime).cloned();
        if !out.steps.is_empty() {
            out.firings.extend(self.0.take());
            self.0 = last;
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct AtOnce;

impl Fault for AtOnce {
    fn copy(&self) -> Box<dyn Fault> {
        Box::new(*self)
    }

    fn after(&mut self, _: &Engine, out: &mut Output) {
        out.firings.extend(out.firings.last().cloned());
    }
}

#[derive(Clone, Debug)]
struct Resurrect(Option<Firing>);

impl Fault for Resurrect {
    fn copy(&self) -> Box<dyn Fault> {
        Box::new(self.clone())
    }

    fn after(&mut self, _: &Engine, out: &mut Output) {
        let late = |window: plimsoll_engine::window::Window| {
            out.records.iter().any(|it| match it.fate {
                Fate::Late(late) => window.contains(late.time),
                _ => false,
            })
        };
        let again = self.0.clone().filter(|it| late(it.window));
        if let Some(last) = out.firings.iter().rfind(|it| it.kind == FiringKind::OnTime) {
            self.0 = Some(last.clone());
        }
        out.firings.extend(again);
    }
}

#[derive(Clone, Copy, Debug)]
struct UpdateLost(u64);

impl Fault for UpdateLost {
    fn copy(&self) -> Box<dyn Fault> {
        Box::new(*self)
    }

    fn after(&mut self, _: &Engine, out: &mut Output) {
        let Self(seen) = self;
        out.firings.retain(|it| {
            *seen += u64::from(it.kind == FiringKind::Update);
            it.kind != FiringKind::Update || !seen.is_multiple_of(5)
        });
    }
}

#[derive(Clone, Copy, Debug)]
struct HashOrder(u64);

impl Fault for HashOrder {
    fn copy(&self) -> Box<dyn Fault> {
        Box::new(*self)
    }

    fn after(&mut self, _: &Engine, out: &mut Output) {
        if self.0.count_ones() % 2 == 1 && 1 < out.records.len() + out.firings.len() {
            out.firings.reverse();
            out.records.reverse();
        }
    }
}
