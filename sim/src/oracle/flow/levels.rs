//! Levels of combination: partitions -> task, tasks -> input, inputs -> operator.
//!
//! The law is the documentation of [`plimsoll_engine::plan::levels`] and the paragraph on levels of
//! [`crate::trace`]. What happened is kept whole ([`journal`]), and what is shown after each of it is
//! worked out from what was shown before: the line of a partition from all that it was read to say
//! ([`member`]), who is silent and who counts by walking back, what a level makes of its members by its
//! definition ([`combine`]), who waits by its samples ([`alignment`]), and which instants of a tick are
//! steps ([`due`]).
//!
//! Readings. Tasks emit one after the other, by input and number, and the levels above learn of each
//! before the next: what is made of some between two of them is never taken back. A partition that names
//! a task brings along that task and those before it. `at_group` means as far as the partition's task. Of
//! a task that has read its last partition's end the level above learns at once, of anything else at
//! emissions. A finished partition leaves its task with nothing. The candidate is the watermark
//! before its delay; which one that is, of several, is left open.
//!
//! Invariant: no line of a task, an input or the operator ever falls.
//!
//! [`alignment`]: self::alignment

mod alignment;
mod combine;
mod due;
mod journal;
mod member;

pub(super) use due::Due;

use super::source::Values;
use crate::oracle::schedule::Queued;
use crate::trace::Item;
use journal::{Event, Journal, Task, Who};
use plimsoll_engine::output::IgnoredWhy;
use plimsoll_engine::plan::levels::LevelsPlan;
use plimsoll_engine::row::PartitionId;
use plimsoll_engine::time::{EventTime, ProcTime, Span};
use plimsoll_engine::watermark::levels::Steer;
use plimsoll_engine::watermark::member::Adoption;

/// The journal of a run, and what waits in its sources.
#[derive(Debug)]
pub(super) struct Levels {
    journal: Journal,
    start: ProcTime,
    now: ProcTime,
    /// The first W.
    initial: EventTime,
    /// Rows, heartbeats and ends of partitions that are not read, in order.
    waiting: Vec<Queued>,
    /// Whether an emission, a sample has found nothing new since anything last changed.
    settled: [bool; 2],
}

impl Levels {
    pub(super) fn new(
        plan: &LevelsPlan,
        delays: Vec<Span>,
        start: ProcTime,
        initial: EventTime,
    ) -> Self {
        let journal = Journal::new(plan, delays, start);
        Self { journal, start, now: start, initial, waiting: Vec::new(), settled: [false; 2] }
    }

    /// W and the own w.
    pub(super) fn values(&self) -> Values {
        let picture = self.journal.last();
        let own = |it: usize| picture.inputs.get(it).map_or(EventTime::MIN, |it| it.at);
        let (all, own) = (picture.all.at, [own(0), own(1)]);
        Values { all: all.max(self.initial), own: own.map(|it| it.max(self.initial)) }
    }

    /// Whether the operator is told that nothing comes.
    pub(super) fn is_idle(&self) -> bool {
        self.journal.last().all.idle
    }

    /// c, where all inputs have one delay.
    pub(super) fn candidate(&self) -> Option<EventTime> {
        let delay = *self.journal.delays.first()?;
        let same = self.journal.delays.iter().all(|it| *it == delay);
        let all = self.journal.last().all.at;
        same.then_some(if all < self.initial { EventTime::MIN } else { all + delay })
    }

    /// (c, w) of every input.
    pub(super) fn marks(&self) -> Vec<(EventTime, EventTime)> {
        let inputs = self.journal.last().inputs.iter().zip(&self.journal.delays);
        inputs.map(|(it, delay)| (it.at + *delay, it.at)).collect()
    }

    /// The clock.
    pub(super) const fn at(&mut self, now: ProcTime) {
        self.now = now;
    }

    fn note(&mut self, event: Event) {
        self.journal.note(self.now, event);
        if !matches!(event, Event::Turn(_) | Event::Sampled) {
            self.settled = [false; 2];
        }
    }

    /// A partition is read.
    pub(super) fn hear(&mut self, partition: PartitionId, time: Option<EventTime>) {
        self.note(Event::Heard(partition, time));
    }

    /// A partition begins, or begins anew.
    pub(super) fn join(&mut self, partition: PartitionId, adoption: Adoption) {
        let made = self.journal.last().made(Who::Partition(partition));
        let from = match adoption {
            Adoption::AtGroup if made.is_finite() => made + self.journal.delays[partition.input()],
            _ => EventTime::MIN,
        };
        self.note(Event::Joined { partition, from });
    }

    pub(super) fn has(&self, partition: PartitionId) -> bool {
        self.journal.last().partitions.contains_key(&partition)
    }

    pub(super) fn leave(&mut self, partition: PartitionId) {
        self.waiting.retain(|it| it.item != Item::Finish(partition));
        self.note(Event::Left(partition));
    }

    /// A partition has nothing more; its task ends with its last one.
    pub(super) fn finish(&mut self, partition: PartitionId) {
        self.note(Event::Finished(partition));
        let task = Task::of(partition);
        if self.journal.last().members(task).next().is_none() {
            self.note(Event::Ended(task));
        }
    }

    pub(super) fn steer(&mut self, steer: Steer) -> Result<(), IgnoredWhy> {
        match steer {
            Steer::Limit(limit) => self.note(Event::Limited(limit)),
            Steer::Press { input, task, on } => {
                let task = Task(input, task);
                self.journal.last().task(task).ok_or(IgnoredWhy::NoSuchTask)?;
                self.note(Event::Pressed(task, on));
            }
        }
        Ok(())
    }

    /// What falls due happens: first the emission of every task, then the sample.
    pub(super) fn happen(&mut self, due: Due) {
        if due.emission {
            let tasks = self.journal.last().tasks.iter().enumerate();
            let turns = tasks
                .flat_map(|(input, it)| (0..it.len()).map(move |at| Event::Turn(Task(input, at))));
            self.look(0, turns.collect());
        }
        if due.sample {
            self.look(1, vec![Event::Sampled]);
        }
    }

    fn look(&mut self, kind: usize, events: Vec<Event>) {
        let mut before = self.journal.last().clone();
        events.into_iter().for_each(|it| self.note(it));
        // A limit that nobody waits for is nothing new.
        before.limit = self.journal.last().limit;
        if before == *self.journal.last() {
            self.settled[kind] = true;
        } else {
            self.settled = [false; 2];
        }
    }

    /// Whether what a partition sends is not read now.
    pub(super) fn waits(&self, partition: PartitionId) -> bool {
        let picture = self.journal.last();
        let own = picture.partitions.get(&partition).is_some_and(|it| it.stopped);
        own || picture.task(Task::of(partition)).is_some_and(|it| it.stopped)
    }

    /// Whether the end of a partition waits: nothing comes behind it.
    pub(super) fn ends(&self, partition: PartitionId) -> bool {
        let is_end = |it: &Queued| it.item == Item::Finish(partition);
        self.waiting.iter().any(is_end)
    }

    /// Whether something of a partition waits.
    pub(super) fn holds(&self, partition: PartitionId) -> bool {
        self.has(partition) && self.waiting.iter().any(|it| it.item.partition() == Some(partition))
    }

    /// It waits.
    pub(super) fn wait(&mut self, it: Queued) {
        self.waiting.push(it);
    }

    /// What waited for a partition that is read again, in order.
    pub(super) fn resume(&mut self) -> Vec<Queued> {
        let waiting = std::mem::take(&mut self.waiting);
        let of = |it: &Queued| it.item.partition().expect("rows, heartbeats and ends wait");
        let reads = |it: &Queued| self.has(of(it)) && !self.waits(of(it));
        let (read, wait) = waiting.into_iter().partition(reads);
        self.waiting = wait;
        read
    }

    /// All that still waits: the input ends.
    pub(super) fn drain(&mut self) -> Vec<Queued> {
        std::mem::take(&mut self.waiting)
    }
}
