//! The engine, and somebody who changes what comes out of it.
//!
//! Invariant: without the doctor it is the engine.

use crate::system::engine::Engine;
use crate::system::{System, View};
use crate::trace::Trace;
use plimsoll_engine::output::Output;
use plimsoll_engine::plan::restore::RestoreRules;
use plimsoll_engine::row::{ItemId, PartitionId, RowBatch};
use plimsoll_engine::time::{EventTime, ProcTime};
use plimsoll_engine::watermark::member::{Change, Member};

/// What a doctor may change: the output of one call, and how the system shows itself.
pub(super) struct Shown {
    pub(super) call: u64,
    pub(super) members: Vec<Member>,
    pub(super) view: View<'static>,
}

pub(super) type Doctor<'a> = &'a mut dyn FnMut(&mut Output, &mut Shown);

/// The engine, and somebody who changes what comes out.
pub(super) struct Doctored<'a> {
    engine: Engine,
    doctor: Doctor<'a>,
    shown: Shown,
}

impl<'a> Doctored<'a> {
    pub(super) fn new(trace: &Trace, doctor: Doctor<'a>) -> Self {
        let engine = Engine::new(trace, 1).expect("a plan without refusals");
        let view = View { members: &[], sources: None, ..engine.view(true) };
        let shown = Shown { call: 0, members: Vec::new(), view };
        Self { engine, doctor, shown }
    }

    fn look(&mut self) {
        let view = self.engine.view(true);
        self.shown.members = view.members.to_vec();
        self.shown.view = View { members: &[], sources: None, ..view };
    }

    fn after(&mut self, out: &mut Output) {
        self.look();
        self.shown.call += 1;
        (self.doctor)(out, &mut self.shown);
    }
}

impl System for Doctored<'_> {
    fn arrive(&mut self, rows: &RowBatch, out: &mut Output) {
        self.engine.arrive(rows, out);
        self.after(out);
    }
    fn heartbeat(
        &mut self,
        id: ItemId,
        partition: PartitionId,
        time: EventTime,
        at: ProcTime,
        out: &mut Output,
    ) {
        self.engine.heartbeat(id, partition, time, at, out);
        self.after(out);
    }
    fn tick(&mut self, id: ItemId, now: ProcTime, out: &mut Output) {
        self.engine.tick(id, now, out);
        self.after(out);
    }
    fn change(&mut self, id: ItemId, change: Change, at: ProcTime, out: &mut Output) {
        self.engine.change(id, change, at, out);
        self.after(out);
    }
    fn batch(&mut self, id: ItemId, out: &mut Output) {
        self.engine.batch(id, out);
        self.after(out);
    }
    fn end(&mut self, id: ItemId, out: &mut Output) {
        self.engine.end(id, out);
        self.after(out);
    }
    fn snapshot(&self) -> Vec<u8> {
        self.engine.snapshot()
    }
    fn restore(&mut self, snapshot: Option<&[u8]>) -> Result<(), String> {
        self.engine.restore(snapshot)
    }
    fn restart(&mut self, rules: RestoreRules) -> Result<(), String> {
        self.engine.restart(rules)?;
        self.look();
        Ok(())
    }
    fn view(&self, _: bool) -> View<'_> {
        View { members: &self.shown.members, ..self.shown.view }
    }
}
