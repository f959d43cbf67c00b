//! A run: a trace goes through a system, item by item, and is looked at after each.
//!
//! A crash goes back to the last snapshot that can be read and lets the items since then happen again,
//! at their logged instants and with their logged batch boundaries, those first that waited in the
//! queue when the snapshot was taken: their offsets are not behind it. What comes out of each must
//! be, byte for byte, what came out the first time. The clock of the run does not move meanwhile.
//! A restart happens between two steps: what waited in the queue is handed over again.
//!
//! Invariant: a run is a function of the trace and the system. Item n of a report is `items[n - 1]`.

pub mod digest;

use crate::invariant::{Observation, Violation};
use crate::system::System;
use crate::trace::{Item, Trace};
use digest::Digest;
use plimsoll_engine::output::Output;
use plimsoll_engine::output::watch::Watch;
use plimsoll_engine::plan::restore::RestoreRules;
use plimsoll_engine::row::{ItemId, RowBatch};
use plimsoll_engine::time::ProcTime;
use plimsoll_engine::watermark::member::Change;

/// The name of the violation that a replay reports.
pub const REPLAY: &str = "I25 restart_neutral";

/// Traces longer than this are looked at deeply only now and then.
const ALWAYS_DEEP: usize = 2_000;
/// How often in longer ones.
const DEEP_EVERY: usize = 1_024;

/// A trace on its way through a system.
pub struct Run<'a> {
    trace: &'a Trace,
    system: &'a mut dyn System,
    next: usize,
    now: ProcTime,
    output: Output,
    row: RowBatch,
    /// What happened at each item, kept where the trace has a crash or a restart or the caller wants
    /// digests.
    log: Option<Vec<Logged>>,
    /// Snapshots in order.
    snapshots: Vec<Snapshot>,
    /// Items that wait in the system's queue since its last step.
    queued: Vec<usize>,
}

/// What the log keeps of an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Logged {
    at: ProcTime,
    digest: u64,
}

/// A snapshot that was taken.
#[derive(Debug)]
struct Snapshot {
    /// Items done before it.
    done: usize,
    bytes: Vec<u8>,
    /// Items that had arrived and were in no step yet: their offsets are not behind it.
    queued: Vec<usize>,
}

impl std::fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("next", &self.next).field("now", &self.now).finish()
    }
}

impl<'a> Run<'a> {
    /// Before the first item. `digests` keeps a digest of every item.
    pub fn new(trace: &'a Trace, system: &'a mut dyn System, digests: bool) -> Self {
        let comes_back = |it: &Item| matches!(it, Item::Crash { .. } | Item::Restart(_));
        let crashes = trace.items.iter().any(comes_back);
        Self {
            trace,
            system,
            next: 0,
            now: trace.clock,
            output: Output::new(&trace.plan),
            row: RowBatch::new(trace.plan.schema.columns.len()),
            log: (crashes || digests).then(Vec::new),
            snapshots: Vec::new(),
            queued: Vec::new(),
        }
    }

    /// Asks to see what this stage of a flow does ([`Output::watch`]).
    pub fn watch(&mut self, stage: usize) {
        self.output.watch = Some(Box::new(Watch { stage, passes: Vec::new() }));
    }

    /// One item. `None` after the last.
    ///
    /// # Errors
    /// Where a replay after a crash differs from what was logged.
    pub fn step(&mut self) -> Option<Result<Observation<'_>, Violation>> {
        let item = self.trace.items.get(self.next)?;
        let id = ItemId(self.next as u64 + 1);
        self.output.clear();
        if let Item::Crash { stale } = *item {
            self.next += 1;
            let view = self.system.view(false);
            if let Some(log) = &mut self.log {
                let digest = Digest::of(&self.trace.plan, &self.output, &view);
                log.push(Logged { at: self.now, digest });
            }
            if let Err(violation) = self.crash(stale, id) {
                return Some(Err(violation));
            }
            self.output.clear();
            let view = self.system.view(false);
            return Some(Ok(Observation {
                trace: self.trace,
                id,
                item,
                output: &self.output,
                view,
            }));
        }
        if let Err(evidence) = self.feed(item, id) {
            return Some(Err(Violation { name: REPLAY, at: id, evidence }));
        }
        self.next += 1;
        let view = self.system.view(self.is_deep(self.next));
        if let Some(log) = &mut self.log {
            debug_assert_eq!(log.len() as u64 + 1, id.0, "one entry per item");
            let digest = Digest::of(&self.trace.plan, &self.output, &view);
            log.push(Logged { at: self.now, digest });
        }
        Some(Ok(Observation { trace: self.trace, id, item, output: &self.output, view }))
    }

    /// Whether the state is counted after this many items: only a step can have changed it.
    fn is_deep(&self, done: usize) -> bool {
        let len = self.trace.items.len();
        !self.output.steps.is_empty()
            && (len <= ALWAYS_DEEP || done.is_multiple_of(DEEP_EVERY) || done == len)
    }

    fn feed(&mut self, item: &Item, id: ItemId) -> Result<(), String> {
        let (system, out, at) = (&mut *self.system, &mut self.output, self.now);
        match *item {
            Item::Row(row) => {
                self.row.clear();
                self.row.push(id, row.partition, at, self.trace.cells(row));
                system.arrive(&self.row, out);
            }
            Item::Heartbeat { partition, time } => system.heartbeat(id, partition, time, at, out),
            Item::Tick(span) => {
                self.now = self.now.max(self.now + span);
                system.tick(id, self.now, out);
            }
            Item::Probe => system.tick(id, at, out),
            Item::Batch => system.batch(id, out),
            Item::Add { partition, adoption } => {
                system.change(id, Change::Add(partition, adoption), at, out);
            }
            Item::Remove(partition) => system.change(id, Change::Remove(partition), at, out),
            Item::Move { partition, adoption } => {
                system.change(id, Change::Move(partition, adoption), at, out);
            }
            Item::Finish(partition) => system.change(id, Change::Finish(partition), at, out),
            Item::Steer(steer) => system.steer(id, steer, out),
            Item::Checkpoint => {
                // Without a crash nobody reads it: the work would be for nothing.
                if self.log.is_some() {
                    self.snapshots.push(Snapshot {
                        done: self.next + 1,
                        bytes: system.snapshot(),
                        queued: self.queued.clone(),
                    });
                }
            }
            Item::Crash { .. } => {}
            Item::Restart(rules) => self.restart(rules)?,
            Item::End => system.end(id, out),
        }
        if self.log.is_some() {
            self.note_queue(item);
        }
        Ok(())
    }

    /// The process is stopped and started: what waited is read again.
    fn restart(&mut self, rules: RestoreRules) -> Result<(), String> {
        let refused = |it| format!("what it saved for the restart is refused: {it}");
        self.system.restart(rules).map_err(refused)?;
        let (next, now) = (self.next, self.now);
        for at in std::mem::take(&mut self.queued) {
            self.again(at)?;
        }
        (self.next, self.now) = (next, now);
        self.output.clear();
        Ok(())
    }

    /// A step takes the whole queue.
    fn note_queue(&mut self, item: &Item) {
        if !self.output.steps.is_empty() {
            self.queued.clear();
        } else if is_queued(item) {
            self.queued.push(self.next);
        }
    }

    fn crash(&mut self, stale: bool, id: ItemId) -> Result<(), Violation> {
        let broken = |evidence| Violation { name: REPLAY, at: id, evidence };
        if stale {
            self.snapshots.pop();
        }
        let last = self.snapshots.last();
        let (from, bytes) = last.map_or((0, None), |it| (it.done, Some(it.bytes.as_slice())));
        let queued = last.map_or_else(Vec::new, |it| it.queued.clone());
        self.system
            .restore(bytes)
            .map_err(|it| broken(format!("the snapshot after item {from} is refused: {it}")))?;
        let (until, now) = (self.next, self.now);
        self.queued.clear();
        for at in queued {
            self.again(at).map_err(broken)?;
        }
        for at in from..until {
            if matches!(self.trace.items[at], Item::Crash { .. }) {
                continue;
            }
            self.again(at).map_err(broken)?;
            let Some(logged) = self.log.as_ref().map(|it| it[at]) else { break };
            let view = self.system.view(self.is_deep(at + 1));
            let again = Digest::of(&self.trace.plan, &self.output, &view);
            if again != logged.digest {
                let number = at + 1;
                return Err(broken(format!(
                    "after the restart from item {from}, item {number} happened again and \
                     something else came of it: {}",
                    digest::describe(&self.output, &self.system.view(false))
                )));
            }
        }
        (self.next, self.now) = (until, now);
        Ok(())
    }

    /// An item happens again, at its logged instant.
    fn again(&mut self, at: usize) -> Result<(), String> {
        let item = self.trace.items[at];
        let logged = self.log.as_ref().map_or(self.now, |it| it[at].at);
        // A tick logged the instant after it; all else the instant at which it stood.
        self.now = match item {
            Item::Tick(span) => logged - span,
            _ => logged,
        };
        self.output.clear();
        self.next = at;
        self.feed(&item, ItemId(at as u64 + 1))
    }

    /// The digest of each item so far; empty where none were kept.
    pub fn digests(&self) -> Vec<u64> {
        self.log.iter().flatten().map(|it| it.digest).collect()
    }
}

/// Whether an item waits for a step where none begins at once.
const fn is_queued(item: &Item) -> bool {
    match item {
        Item::Row(_)
        | Item::Heartbeat { .. }
        | Item::Add { .. }
        | Item::Remove(_)
        | Item::Move { .. }
        | Item::Finish(_)
        | Item::Steer(_) => true,
        Item::Tick(_)
        | Item::Probe
        | Item::Batch
        | Item::Checkpoint
        | Item::Crash { .. }
        | Item::Restart(_)
        | Item::End => false,
    }
}
