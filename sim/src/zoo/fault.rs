//! A fault at the seam: everything passes through, except what a plant changes.
//!
//! What a fault remembers belongs to the system's state: it is kept beside each snapshot and comes
//! back with it, so that a restart by itself does not give a plant away.
//!
//! Invariant: the default of every method changes nothing.

use crate::system::engine::Engine;
use crate::system::{System, View};
use plimsoll_engine::output::Output;
use plimsoll_engine::plan::restore::RestoreRules;
use plimsoll_engine::row::{ItemId, PartitionId, RowBatch};
use plimsoll_engine::time::{EventTime, ProcTime};
use plimsoll_engine::watermark::levels::Steer;
use plimsoll_engine::watermark::member::Change;
use std::cell::RefCell;

/// What a plant may change. Every method's default passes on.
pub trait Fault: std::fmt::Debug {
    /// The same fault, with what it remembers.
    fn copy(&self) -> Box<dyn Fault>;

    /// Rows arrive.
    fn arrive(&mut self, engine: &mut Engine, rows: &RowBatch, out: &mut Output) {
        engine.arrive(rows, out);
    }

    /// A heartbeat arrives.
    fn heartbeat(
        &mut self,
        engine: &mut Engine,
        id: ItemId,
        beat: (PartitionId, EventTime),
        at: ProcTime,
        out: &mut Output,
    ) {
        engine.heartbeat(id, beat.0, beat.1, at, out);
    }

    /// The clock moved.
    fn tick(&mut self, engine: &mut Engine, id: ItemId, now: ProcTime, out: &mut Output) {
        engine.tick(id, now, out);
    }

    /// Partitions change.
    fn change(
        &mut self,
        engine: &mut Engine,
        id: ItemId,
        change: Change,
        at: ProcTime,
        out: &mut Output,
    ) {
        engine.change(id, change, at, out);
    }

    /// A batch ends.
    fn batch(&mut self, engine: &mut Engine, id: ItemId, out: &mut Output) {
        engine.batch(id, out);
    }

    /// The input ends.
    fn end(&mut self, engine: &mut Engine, id: ItemId, out: &mut Output) {
        engine.end(id, out);
    }

    /// Something came out.
    fn after(&mut self, _engine: &Engine, _out: &mut Output) {}

    /// A restart is done.
    fn restored(&mut self) {}

    /// How the system shows itself.
    fn show<'a>(&'a self, view: View<'a>) -> View<'a> {
        view
    }
}

/// A snapshot, and the fault as it was then.
type Kept = (Vec<u8>, Box<dyn Fault>);

/// The engine behind a fault.
#[derive(Debug)]
pub struct Faulty {
    engine: Engine,
    fault: Box<dyn Fault>,
    fresh: Box<dyn Fault>,
    /// The fault as it was at each snapshot.
    kept: RefCell<Vec<Kept>>,
}

impl Faulty {
    /// An engine behind a fault.
    pub fn new(engine: Engine, fault: Box<dyn Fault>) -> Self {
        let fresh = fault.copy();
        Self { engine, fault, fresh, kept: RefCell::new(Vec::new()) }
    }
}

impl System for Faulty {
    fn arrive(&mut self, rows: &RowBatch, out: &mut Output) {
        self.fault.arrive(&mut self.engine, rows, out);
        self.fault.after(&self.engine, out);
    }

    fn heartbeat(
        &mut self,
        id: ItemId,
        partition: PartitionId,
        time: EventTime,
        at: ProcTime,
        out: &mut Output,
    ) {
        self.fault.heartbeat(&mut self.engine, id, (partition, time), at, out);
        self.fault.after(&self.engine, out);
    }

    fn tick(&mut self, id: ItemId, now: ProcTime, out: &mut Output) {
        self.fault.tick(&mut self.engine, id, now, out);
        self.fault.after(&self.engine, out);
    }

    fn change(&mut self, id: ItemId, change: Change, at: ProcTime, out: &mut Output) {
        self.fault.change(&mut self.engine, id, change, at, out);
        self.fault.after(&self.engine, out);
    }

    fn steer(&mut self, id: ItemId, steer: Steer, out: &mut Output) {
        self.engine.steer(id, steer, out);
        self.fault.after(&self.engine, out);
    }

    fn batch(&mut self, id: ItemId, out: &mut Output) {
        self.fault.batch(&mut self.engine, id, out);
        self.fault.after(&self.engine, out);
    }

    fn end(&mut self, id: ItemId, out: &mut Output) {
        self.fault.end(&mut self.engine, id, out);
        self.fault.after(&self.engine, out);
    }

    fn snapshot(&self) -> Vec<u8> {
        let bytes = self.engine.snapshot();
        self.kept.borrow_mut().push((bytes.clone(), self.fault.copy()));
        bytes
    }

    fn restore(&mut self, snapshot: Option<&[u8]>) -> Result<(), String> {
        self.engine.restore(snapshot)?;
        let kept = self.kept.borrow();
        let kept = kept.iter().rev().find(|it| Some(it.0.as_slice()) == snapshot);
        self.fault = kept.map_or_else(|| self.fresh.copy(), |it| it.1.copy());
        self.fault.restored();
        Ok(())
    }

    fn restart(&mut self, rules: RestoreRules) -> Result<(), String> {
        self.engine.restart(rules)?;
        self.fault.restored();
        Ok(())
    }

    fn view(&self, deep: bool) -> View<'_> {
        self.fault.show(self.engine.view(deep))
    }
}
