//! Plants about partitions: who counts, who has left, who has ended.
//!
//! Invariant: each is one mistake in how changes of partitions and silence are taken.

use crate::system::engine::Engine;
use crate::system::{System, View};
use crate::zoo::fault::Fault;
use crate::zoo::{Build, Plant};
use plimsoll_engine::output::Output;
use plimsoll_engine::row::{ItemId, PartitionId, RowBatch};
use plimsoll_engine::time::{EventTime, ProcTime};
use plimsoll_engine::watermark::member::{Adoption, Change, Member, MemberState};
use std::collections::BTreeSet;

/// Wrong partitions.
pub const PLANTS: &[Plant] = &[
    Plant {
        name: "revoked-in-min",
        modelled_on: &["JET-1388", "FLINK-2577"],
        what: "a partition that was taken away stays in the minimum",
        killed_by: &["I43"],
        build: Build::Fault(|_| Box::new(Changes(revoked))),
    },
    Plant {
        name: "finished-in-min",
        modelled_on: &["FLINK-2577"],
        what: "a partition that has finished stays in the minimum",
        killed_by: &["I43", "I32", "I42"],
        build: Build::Fault(|_| Box::new(Changes(finished))),
    },
    Plant {
        name: "counts-from-first-row",
        modelled_on: &["FLINK-32828"],
        what: "a partition counts from its first row on, not from its assignment",
        killed_by: &["I43"],
        build: Build::Fault(|_| Box::new(Changes(missing))),
    },
    Plant {
        name: "stale-wm-reassign",
        modelled_on: &["RW-6309", "RW-8719"],
        what: "a partition that moved without its watermark keeps it",
        killed_by: &["I43"],
        build: Build::Fault(|_| Box::new(Changes(stale))),
    },
    Plant {
        name: "moved-not-read",
        modelled_on: &["NUMA-453"],
        what: "after a partition has moved its new owner never reads it",
        killed_by: &["L1", "I37", "I43", "I42", "I40"],
        build: Build::Fault(|_| Box::<NotRead>::default()),
    },
    Plant {
        name: "adopts-group-wm",
        modelled_on: &[],
        what: "a partition that starts anew is taken to be as far as the others",
        killed_by: &["I43"],
        build: Build::Fault(|_| Box::new(Changes(adopts))),
    },
    Plant {
        name: "comb-empty-max",
        modelled_on: &["FLINK-7721", "FLINK-8001"],
        what: "the minimum over nobody is plus infinity: when everybody is idle, everything closes",
        killed_by: &["I43", "I2", "I8", "I41", "I37"],
        build: Build::Fault(|_| Box::new(EmptyMax)),
    },
    Plant {
        name: "idle-sentinel-as-wm",
        modelled_on: &["JET-674"],
        what: "the mark that says idle is taken for a watermark",
        killed_by: &["I43", "I2", "I8", "I37"],
        build: Build::Fault(|_| Box::new(IdleSentinel)),
    },
    Plant {
        name: "idle-vs-inflight",
        modelled_on: &["NUMA-2943"],
        what: "rows that wait for a batch are not noticed as activity",
        killed_by: &["I37", "I43", "I10", "I42"],
        build: Build::Fault(|_| Box::new(InFlight(Vec::new()))),
    },
    Plant {
        name: "return-never-counts",
        modelled_on: &[],
        what: "a partition that was idle once is shown as one that has not caught up, for ever",
        killed_by: &["I10", "I8"],
        build: Build::Fault(|_| Box::<NeverCounts>::default()),
    },
    Plant {
        name: "consume-after-final",
        modelled_on: &["JET-1073"],
        what: "rows of a partition that has finished are counted for another one",
        killed_by: &["I32", "I42", "I14"],
        build: Build::Fault(|_| Box::new(AfterFinal)),
    },
    Plant {
        name: "no-final-wm",
        modelled_on: &["BYTEWAX-5bef8fa2", "FLINK-3554", "FLINK-18820"],
        what: "the end of input does nothing",
        killed_by: &["I32", "I41", "I43", "L5"],
        build: Build::Fault(|_| Box::new(NoFinal)),
    },
];

/// Changes one change into another, or into none.
#[derive(Clone, Copy, Debug)]
struct Changes(fn(Change) -> Option<Change>);

fn revoked(change: Change) -> Option<Change> {
    (!matches!(change, Change::Remove(_))).then_some(change)
}

fn finished(change: Change) -> Option<Change> {
    (!matches!(change, Change::Finish(_))).then_some(change)
}

fn missing(change: Change) -> Option<Change> {
    (!matches!(change, Change::Add(..))).then_some(change)
}

fn stale(change: Change) -> Option<Change> {
    Some(match change {
        Change::Move(it, _) => Change::Move(it, Adoption::WithWatermark),
        Change::Add(..) | Change::Remove(_) | Change::Finish(_) => change,
    })
}

fn adopts(change: Change) -> Option<Change> {
    Some(match change {
        Change::Move(it, Adoption::WithoutWatermark) => Change::Move(it, Adoption::AtGroup),
        Change::Add(it, _) => Change::Add(it, Adoption::AtGroup),
        Change::Move(..) | Change::Remove(_) | Change::Finish(_) => change,
    })
}

impl Fault for Changes {
    fn copy(&self) -> Box<dyn Fault> {
        Box::new(*self)
    }

    fn change(
        &mut self,
        engine: &mut Engine,
        id: ItemId,
        change: Change,
        at: ProcTime,
        out: &mut Output,
    ) {
        if let Some(change) = (self.0)(change) {
            engine.change(id, change, at, out);
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct EmptyMax;

impl Fault for EmptyMax {
    fn copy(&self) -> Box<dyn Fault> {
        Box::new(*self)
    }

    fn tick(&mut self, engine: &mut Engine, id: ItemId, now: ProcTime, out: &mut Output) {
        engine.tick(id, now, out);
        let members = engine.job().members();
        let idle = members.iter().any(|it| it.state == MemberState::Idle);
        if idle && members.iter().all(|it| it.state != MemberState::Active) {
            engine.end(id, out);
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct IdleSentinel;

impl Fault for IdleSentinel {
    fn copy(&self) -> Box<dyn Fault> {
        Box::new(*self)
    }

    fn tick(&mut self, engine: &mut Engine, id: ItemId, now: ProcTime, out: &mut Output) {
        let idle = |engine: &Engine| -> BTreeSet<PartitionId> {
            let members = engine.job().members().iter();
            members.filter(|it| it.state == MemberState::Idle).map(|it| it.partition).collect()
        };
        let before = idle(engine);
        engine.tick(id, now, out);
        for partition in idle(engine).difference(&before) {
            engine.heartbeat(id, *partition, EventTime(EventTime::LEGAL), now, out);
        }
    }
}

/// Rows are kept back until the batch ends.
#[derive(Clone, Debug)]
struct InFlight(Vec<RowBatch>);

impl InFlight {
    fn let_go(&mut self, engine: &mut Engine, out: &mut Output) {
        for rows in self.0.drain(..) {
            engine.arrive(&rows, out);
        }
    }
}

impl Fault for InFlight {
    fn copy(&self) -> Box<dyn Fault> {
        // What waits is read again after a restart.
        Box::new(Self(Vec::new()))
    }

    fn arrive(&mut self, engine: &mut Engine, rows: &RowBatch, out: &mut Output) {
        let batches = engine.job().plan().trigger == plimsoll_engine::plan::Trigger::Batch;
        if batches && !engine.job().stopped() {
            self.0.push(rows.clone());
        } else {
            engine.arrive(rows, out);
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
        self.let_go(engine, out);
        engine.heartbeat(id, beat.0, beat.1, at, out);
    }

    fn change(
        &mut self,
        engine: &mut Engine,
        id: ItemId,
        change: Change,
        at: ProcTime,
        out: &mut Output,
    ) {
        self.let_go(engine, out);
        engine.change(id, change, at, out);
    }

    fn batch(&mut self, engine: &mut Engine, id: ItemId, out: &mut Output) {
        self.let_go(engine, out);
        engine.batch(id, out);
    }

    fn end(&mut self, engine: &mut Engine, id: ItemId, out: &mut Output) {
        self.let_go(engine, out);
        engine.end(id, out);
    }
}

/// Partitions that have moved.
#[derive(Clone, Debug, Default)]
struct NotRead(BTreeSet<PartitionId>);

impl Fault for NotRead {
    fn copy(&self) -> Box<dyn Fault> {
        Box::new(self.clone())
    }

    fn arrive(&mut self, engine: &mut Engine, rows: &RowBatch, out: &mut Output) {
        if rows.partitions.iter().all(|it| !self.0.contains(it)) {
            engine.arrive(rows, out);
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
        if !self.0.contains(&beat.0) {
            engine.heartbeat(id, beat.0, beat.1, at, out);
        }
    }

    fn change(
        &mut self,
        engine: &mut Engine,
        id: ItemId,
        change: Change,
        at: ProcTime,
        out: &mut Output,
    ) {
        if let Change::Move(partition, _) = change {
            self.0.insert(partition);
        }
        engine.change(id, change, at, out);
    }
}

/// Who was idle, and the partitions as they are shown.
#[derive(Clone, Debug, Default)]
struct NeverCounts {
    idle: BTreeSet<PartitionId>,
    shown: Vec<Member>,
}

impl Fault for NeverCounts {
    fn copy(&self) -> Box<dyn Fault> {
        Box::new(self.clone())
    }

    fn after(&mut self, engine: &Engine, _: &mut Output) {
        self.shown = engine.job().members().to_vec();
        for it in &mut self.shown {
            if it.state == MemberState::Idle {
                self.idle.insert(it.partition);
            }
            it.aligned &= !self.idle.contains(&it.partition);
        }
    }

    fn show<'a>(&'a self, view: View<'a>) -> View<'a> {
        View { members: &self.shown, ..view }
    }
}

#[derive(Clone, Copy, Debug)]
struct AfterFinal;

impl Fault for AfterFinal {
    fn copy(&self) -> Box<dyn Fault> {
        Box::new(*self)
    }

    fn arrive(&mut self, engine: &mut Engine, rows: &RowBatch, out: &mut Output) {
        let members = engine.job().members();
        let state = |partition: &PartitionId| {
            members.iter().find(|it| it.partition == *partition).map(|it| it.state)
        };
        let other = members.iter().find(|it| it.state != MemberState::Finished);
        let mut rows = rows.clone();
        for partition in &mut rows.partitions {
            if let (Some(MemberState::Finished), Some(other)) = (state(partition), other) {
                *partition = other.partition;
            }
        }
        engine.arrive(&rows, out);
    }
}

#[derive(Clone, Copy, Debug)]
struct NoFinal;

impl Fault for NoFinal {
    fn copy(&self) -> Box<dyn Fault> {
        Box::new(*self)
    }

    fn end(&mut self, _: &mut Engine, _: ItemId, _: &mut Output) {}
}
