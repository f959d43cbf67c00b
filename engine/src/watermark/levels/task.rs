//! A task: the partitions that one reader reads, and what it tells its input at a probe.
//!
//! At a probe every partition says whether it is silent or how far it is, then they are combined once.
//! A task is idle when its partitions are and it has itself been there for the timeout: so one that
//! never had a partition falls idle too, counted from its first probe, while one that has lost its last
//! partition may never do so ([`Emptied`]). When its last partition has ended, the task ends.
//!
//! Invariant: rows move maxima only; nothing that is told changes between probes, except by an end.
//! Source: flink-rules 1 and 3.

use super::alignment::Alignment;
use super::combiner::{Combiner, Progress, Promise};
use super::silence::{Patience, Silence};
use crate::plan::levels::{Emptied, IdleEnd, LevelsPlan};
use crate::row::{ItemId, PartitionId};
use crate::time::{EventTime, ProcTime, Span};
use serde::{Deserialize, Serialize};

/// A partition as its reader knows it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Partition {
    /// Who.
    pub id: PartitionId,
    /// The largest event time read; `MIN` before any.
    pub max: EventTime,
    /// The item that showed it.
    pub max_set_by: Option<ItemId>,
    pub(super) silence: Silence,
    pub(super) alignment: Alignment,
}

/// A task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Task {
    /// In the order in which they came; as many as `combiner` has members.
    partitions: Vec<Partition>,
    combiner: Combiner,
    /// Nothing ever comes to the task itself.
    silence: Silence,
    pub(super) alignment: Alignment,
    /// Whether it is kept from writing.
    pub(super) pressed: bool,
    /// Whether its input takes it for idle.
    idle: bool,
    ended: bool,
}

impl Task {
    /// A task without partitions.
    pub fn new(now: ProcTime) -> Self {
        Self {
            partitions: Vec::new(),
            combiner: Combiner::new(true),
            silence: Silence::new(now),
            alignment: Alignment::default(),
            pressed: false,
            idle: false,
            ended: false,
        }
    }

    /// Its partitions, in the order in which they came.
    pub fn partitions(&self) -> &[Partition] {
        &self.partitions
    }

    /// What was made of its partitions at the last probe.
    pub const fn promise(&self) -> Promise {
        self.combiner.promise()
    }

    /// Whether its input takes it for idle.
    pub const fn is_idle(&self) -> bool {
        self.idle
    }

    /// Whether it is kept from writing.
    pub const fn is_pressed(&self) -> bool {
        self.pressed
    }

    /// Whether its last partition has ended.
    pub const fn has_ended(&self) -> bool {
        self.ended
    }

    pub(super) fn find(&self, id: PartitionId) -> Option<usize> {
        self.partitions.iter().position(|it| it.id == id)
    }

    /// Whether a partition is idle, as of the last probe, and what it told there.
    pub fn told(&self, at: usize) -> (bool, Promise) {
        let member = self.combiner.members()[at];
        (member.idle, member.promise)
    }

    /// Whether a partition is kept from reading: by alignment, its own or the task's.
    pub fn holds(&self, at: usize) -> bool {
        self.alignment.waits() || self.partitions[at].alignment.waits()
    }

    /// A partition comes.
    pub(super) fn add(&mut self, plan: &LevelsPlan, partition: Partition) {
        self.partitions.push(partition);
        self.combiner.add(plan.rules.partitions);
        self.ended = false;
    }

    /// A partition goes.
    pub(super) fn remove(&mut self, at: usize) -> Partition {
        self.combiner.remove(at);
        self.partitions.remove(at)
    }

    /// A partition ends. The last one ends the task.
    pub(super) fn finish(&mut self, plan: &LevelsPlan, at: usize) -> Progress {
        self.remove(at);
        if !self.partitions.is_empty() {
            return Progress::default();
        }
        self.ended = true;
        let heard = !self.idle || plan.rules.idle_end == IdleEnd::Counts;
        let woke = heard && std::mem::take(&mut self.idle);
        Progress { woke, moved: heard.then_some(Promise::END), fell: false }
    }

    /// The task ends, whatever it has told before.
    pub(super) fn end(&mut self) -> Progress {
        while !self.partitions.is_empty() {
            self.remove(0);
        }
        self.ended = true;
        let woke = std::mem::take(&mut self.idle);
        Progress { woke, moved: Some(Promise::END), fell: false }
    }

    /// Whether it is a task that can be: a snapshot may have been made up.
    pub(super) fn is_whole(&self) -> bool {
        self.partitions.len() == self.combiner.members().len()
    }

    /// A partition is heard.
    pub(super) fn hear(&mut self, at: usize, now: ProcTime) {
        self.partitions[at].silence.hear(now);
    }

    /// A partition shows an event time.
    pub(super) fn observe(&mut self, at: usize, time: EventTime, id: ItemId) {
        let partition = &mut self.partitions[at];
        if partition.max < time {
            (partition.max, partition.max_set_by) = (time, Some(id));
        }
    }

    /// Time passes: who is kept from reading or writing does not fall silent.
    pub(super) fn stand(&mut self, span: Span) {
        let stands = self.pressed || self.alignment.waits();
        for partition in &mut self.partitions {
            if stands || partition.alignment.waits() {
                partition.silence.stand(span);
            }
        }
        if stands {
            self.silence.stand(span);
        }
    }

    /// So much of the past was nobody's silence.
    pub(super) fn excuse(&mut self, span: Span) {
        self.partitions.iter_mut().for_each(|it| it.silence.stand(span));
        self.silence.stand(span);
    }

    /// For how long from now no probe can find something new, if nobody reads or writes meanwhile:
    /// until a partition falls idle, or the task itself where its partitions rest.
    pub(super) fn left(&self, plan: &LevelsPlan, now: ProcTime) -> Option<Span> {
        let patience = patience(plan)?;
        let stands = self.pressed || self.alignment.waits();
        if stands || self.ended {
            return None;
        }
        let told = self.partitions.iter().zip(self.combiner.members());
        let awake = told.filter(|(it, told)| !told.idle && !it.alignment.waits());
        let of_partitions = awake.filter_map(|(it, _)| it.silence.left(now, patience)).min();
        let rests = self.combiner.is_taken_for_idle()
            || self.partitions.is_empty() && plan.rules.emptied == Emptied::TimesOut;
        let own = self.silence.left(now, patience).filter(|_| rests && !self.idle);
        of_partitions.into_iter().chain(own).min()
    }

    /// A probe: what the input is to be told.
    pub(super) fn probe(
        &mut self,
        plan: &LevelsPlan,
        delay: Span,
        limit: EventTime,
        now: ProcTime,
    ) -> Progress {
        if self.ended {
            return Progress::default();
        }
        let patience = patience(plan);
        for (at, partition) in self.partitions.iter_mut().enumerate() {
            let silent = patience.is_some_and(|it| partition.silence.probe(now, it));
            let watermark = partition.max - delay;
            let promise = Promise { watermark, set_by: partition.max_set_by };
            if silent {
                // What it said before it fell silent counts.
                if self.combiner.members()[at].promise.watermark < watermark {
                    self.combiner.wake(at, plan.rules.partitions);
                    self.combiner.raise(at, promise);
                }
                self.combiner.silence(at);
                continue;
            }
            self.combiner.wake(at, plan.rules.partitions);
            if self.combiner.raise(at, promise)
                && let Some(it) = &plan.alignment
            {
                partition.alignment.pause(it, limit, watermark);
            }
        }
        let Progress { woke, moved, .. } = self.combiner.combine(plan.rules.partitions);
        let silent = patience.is_some_and(|it| self.silence.probe(now, it));
        if self.partitions.is_empty() && silent && plan.rules.emptied == Emptied::TimesOut {
            self.combiner.give_up();
        }
        if let (Some(promise), Some(it)) = (moved, &plan.alignment) {
            self.alignment.judge(it, limit, promise.watermark);
        }
        let woke = self.idle && woke;
        let idle = self.combiner.is_taken_for_idle() && silent;
        let fell = idle && (woke || !self.idle);
        self.idle = idle || self.idle && !woke;
        Progress { woke, moved, fell }
    }

    /// There is a new limit or a new sample.
    pub(super) fn align(&mut self, plan: &LevelsPlan, limit: EventTime) {
        let Some(it) = &plan.alignment else { return };
        self.alignment.judge(it, limit, self.combiner.promise().watermark);
        for (partition, member) in self.partitions.iter_mut().zip(self.combiner.members()) {
            if member.idle {
                partition.alignment.judge_idle(plan.rules.paused_idle);
            } else {
                partition.alignment.judge(it, limit, member.promise.watermark);
            }
        }
    }

    /// An update interval has passed.
    pub(super) fn sample(&mut self, plan: &LevelsPlan) {
        let Some(it) = &plan.alignment else { return };
        self.alignment.sample(it, self.combiner.promise().watermark);
        for (partition, member) in self.partitions.iter_mut().zip(self.combiner.members()) {
            partition.alignment.sample(it, member.promise.watermark);
        }
    }

    /// Forgets what a restart does not bring back.
    pub(super) fn forget(&mut self, watermarks: bool, maxima: bool, idleness: bool, now: ProcTime) {
        self.combiner.forget(watermarks, idleness, true);
        if watermarks {
            (self.alignment, self.pressed, self.ended) = (Alignment::default(), false, false);
        }
        if idleness {
            (self.silence, self.idle) = (Silence::new(now), false);
        }
        for partition in &mut self.partitions {
            if maxima {
                (partition.max, partition.max_set_by) = (EventTime::MIN, None);
            }
            if watermarks {
                partition.alignment = Alignment::default();
            }
            if idleness {
                partition.silence = Silence::new(now);
            }
        }
    }
}

fn patience(plan: &LevelsPlan) -> Option<Patience> {
    plan.idle_timeout.map(|timeout| Patience { timeout, anchor: plan.rules.anchor })
}
