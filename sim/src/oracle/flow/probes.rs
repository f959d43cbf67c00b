//! The steps of a flow with levels.
//!
//! Every item that is no tick is a step of its own; of a tick every instant at which something falls due
//! ([`Levels::due`]), and its end. What a step resumes it reads: after its emission or sample, by the W
//! that this gave.
//!
//! Readings. A row is a `Data` step also where it waits: then nothing is read, and the bounds are those of
//! a probe. A row or heartbeat that waits names its partition at once; a heartbeat that
//! is not believed does not wait. Finishing waits where something of
//! its partition does, and nothing comes behind it; adding, removing and moving do not wait, and removing
//! takes back an end that waits. Rows of a partition that
//! was taken away meanwhile wait until it is there again and read, or for the `End` step, which reads
//! all that waits and judges nobody.
//!
//! Invariant: everything that waits is read once, and what one partition sends in its order.
//!
//! [`Levels::due`]: super::levels::Levels::due

use super::FlowOracle;
use super::bounds::Given;
use super::expected::FlowStep;
use super::levels::Due;
use super::source::Values;
use super::stage::Row;
use crate::oracle::members::Members;
use crate::oracle::schedule::Queued;
use crate::trace::{Item, Trace};
use plimsoll_engine::output::{IgnoredWhy, StepKind};
use plimsoll_engine::row::ItemId;
use plimsoll_engine::time::ProcTime;

impl FlowOracle {
    /// Takes an item; `since` is the clock before it.
    pub(super) fn observe_levels(
        &mut self,
        trace: &Trace,
        id: ItemId,
        item: &Item,
        since: ProcTime,
    ) {
        let now = self.now;
        match *item {
            Item::Checkpoint | Item::Crash { .. } | Item::Restart(_) => {}
            Item::Batch => self.ignore(id, IgnoredWhy::TriggerDecides),
            Item::Tick(_) if since < now => self.tick(trace, id, since),
            Item::Tick(_) | Item::Probe => {
                let emission = Due { at: now, emission: true, sample: false };
                self.probe(trace, id, Some(emission));
            }
            Item::Steer(steer) => {
                if let Err(why) = self.source.levels_mut().steer(steer) {
                    self.ignore(id, why);
                }
                self.probe(trace, id, None);
            }
            Item::End => self.end(trace, id),
            _ => {
                let arrived = Queued { id, item: *item, arrival: now };
                self.arrive(trace, arrived);
            }
        }
    }

    /// A tick: the instants at which something falls due, and its end.
    fn tick(&mut self, trace: &Trace, id: ItemId, mut since: ProcTime) {
        let until = self.now;
        while since < until {
            let due = self.source.levels().due(since, until);
            since = due.map_or(until, |it| it.at);
            self.now = since;
            self.probe(trace, id, due);
        }
    }

    /// A step that nothing arrives in.
    fn probe(&mut self, trace: &Trace, id: ItemId, due: Option<Due>) {
        let step = self.level_step(StepKind::Probe);
        let late = self.source.values();
        if let Some(it) = due {
            self.source.levels_mut().happen(it);
        }
        let evict = self.source.values();
        self.go_on(trace, step, id, Vec::new(), Given { late, evict, leaves: true });
    }

    /// The step of an item that arrives, read or not.
    fn arrive(&mut self, trace: &Trace, it: Queued) {
        let mut step = self.level_step(if it.is_row() { StepKind::Data } else { StepKind::Probe });
        let waits = self.source.waits(&it);
        let late = self.source.values();
        let rows = if waits {
            self.source.wait(it);
            Vec::new()
        } else {
            self.take(trace, &mut step, &[it])
        };
        let leaves = !it.is_row() || waits;
        let evict = if leaves { self.source.values() } else { Values::NOTHING };
        self.go_on(trace, step, it.id, rows, Given { late, evict, leaves });
    }

    /// The pass of a step; then one for each item that it resumes, as in a step of its own, and one in
    /// which what they passed leaves.
    fn go_on(
        &mut self,
        trace: &Trace,
        mut step: FlowStep,
        id: ItemId,
        rows: Vec<Row>,
        given: Given,
    ) {
        let resumed = self.source.levels_mut().resume();
        step.last_pass = resumed.is_empty();
        self.pass(&mut step, id, rows, given);
        self.evicted = given.evict;
        if !resumed.is_empty() {
            for it in resumed {
                let late = self.source.values();
                let rows = self.take(trace, &mut step, &[it]);
                let given = Given { late, evict: Values::NOTHING, leaves: false };
                self.pass(&mut step, it.id, rows, given);
            }
            let now = self.source.values();
            step.last_pass = true;
            let given = Given { late: now, evict: now, leaves: true };
            self.pass(&mut step, id, Vec::new(), given);
            self.evicted = now;
        }
        self.close(step);
    }

    /// The input ends: what waits is read, and nobody is judged.
    fn end(&mut self, trace: &Trace, id: ItemId) {
        let mut step = self.level_step(StepKind::End);
        for it in self.source.levels_mut().drain() {
            step.last_pass = false;
            let rows = self.take(trace, &mut step, &[it]);
            self.pass(&mut step, it.id, rows, Given::NOBODY);
        }
        step.last_pass = true;
        self.source.each(Members::finish_all);
        self.source.end(id);
        self.pass(&mut step, id, Vec::new(), Given::END);
        self.evicted = self.source.values();
        self.close(step);
        self.stopped = true;
    }

    fn level_step(&mut self, kind: StepKind) -> FlowStep {
        self.source.levels_mut().at(self.now);
        FlowStep::new(self.steps, kind, self.now, self.stages.len())
    }
}
