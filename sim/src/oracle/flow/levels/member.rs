//! The members: what a partition shows at an emission, and how long one has been silent.
//!
//! A partition shows its largest time since it joined, less the delay, at the emissions of its task and
//! not before. It is idle at an emission where its own clock went on for longer than the timeout since
//! it was last heard, or since the first emission that found nothing new of it.
//!
//! Readings. An idle partition shows what it has read all the same. A task has a silence of its own beside
//! that of its partitions, since it is there or since its first emission, whatever it reads; it is
//! idle where its partitions say so and that is too long too (flink-rules 3: the main generator). The
//! partitions say so where they are idle, before there are any, and under `with_progress` before they
//! first show anything; of a task that has lost them all, once it is too long (`times_out`) or as when it had
//! them (`frozen`). A task that has ended is asked no more, until it gets another
//! partition: then it is like any other, but the end that was shown is not taken back.
//!
//! Invariant: only entries since the member joined are looked at. Source: flink-rules 1 and 3, semantics
//! 14.

use super::journal::{Event, Journal, Line, Picture, Quiet, Seat, Task, Who};
use plimsoll_engine::plan::levels::{Emptied, IdleAnchor, IdleEnd};
use plimsoll_engine::row::PartitionId;
use plimsoll_engine::time::{EventTime, ProcTime, Span};

/// Since when one is silent.
struct Silence {
    quiet: Quiet,
    /// The entry since which the clock counts.
    since: usize,
}

impl Journal {
    /// What everybody shows after this has happened too.
    pub(super) fn picture(&self, at: ProcTime, event: Event) -> Picture {
        let mut after = self.last().clone();
        match event {
            Event::Start => {}
            Event::Joined { partition, .. } => {
                let Task(input, task) = Task::of(partition);
                let tasks = &mut after.tasks[input];
                let count = tasks.len().max(task + 1);
                tasks.resize(count, Seat::NEW);
                after.partitions.insert(partition, Seat::NEW);
            }
            Event::Left(it) | Event::Finished(it) => _ = after.partitions.remove(&it),
            Event::Heard(it, _) => {
                if let Some(seat) = after.partitions.get_mut(&it)
                    && self.plan.idle_timeout.is_some()
                {
                    seat.quiet = Quiet::Heard;
                }
            }
            Event::Pressed(Task(input, task), on) => after.tasks[input][task].pressed = on,
            Event::Limited(limit) => {
                after.limit = limit;
                self.stop(&mut after, true);
            }
            Event::Sampled => self.sample(&mut after),
            Event::Ended(it) => {
                let line = &mut after.tasks[it.0][it.1].line;
                if !line.idle || self.plan.rules.idle_end == IdleEnd::Counts {
                    *line = Line { at: EventTime::MAX, idle: false };
                }
                self.above(&mut after, it);
            }
            Event::Turn(it) => {
                self.turn(&mut after, it, at);
                self.above(&mut after, it);
                self.stop(&mut after, false);
            }
        }
        after
    }

    /// A task emits: its partitions, then what is made of them.
    fn turn(&self, after: &mut Picture, task: Task, at: ProcTime) {
        let mut members = Vec::new();
        let own = after.partitions.iter_mut().filter(|it| Task::of(*it.0) == task);
        for (partition, seat) in own {
            let who = Who::Partition(*partition);
            let (quiet, idle) = self.silence(who, at);
            seat.line = Line { at: self.shown(*partition), idle };
            seat.own = seat.line.at;
            seat.quiet = quiet;
            members.push((who, seat.line));
        }
        if self.has_ended(task) {
            return;
        }
        let seat = &mut after.tasks[task.0][task.1];
        let before = Line { at: seat.own, idle: seat.rests };
        let made = self.made(&self.plan.rules.partitions, before, &members);
        let lost_all = members.is_empty() && self.plan.rules.emptied == Emptied::TimesOut;
        let (quiet, silent) = self.silence(Who::Task(task), at);
        seat.quiet = quiet;
        if !members.is_empty() {
            seat.awake = members.iter().any(|it| !it.1.idle);
        }
        seat.rests = made.idle || lost_all && silent;
        seat.own = made.at;
        seat.line = Line { at: seat.line.at.max(made.at), idle: seat.rests && silent };
    }

    /// The levels above a task: whoever comes further and falls idle at once says so in this order.
    fn above(&self, after: &mut Picture, Task(input, task): Task) {
        let (before, rules) = (self.last(), &self.plan.rules);
        let mut tasks: Vec<_> = before.tasks[input].iter().map(|it| it.line).collect();
        tasks.resize(after.tasks[input].len(), Line::NOTHING);
        for own in tasks[task].towards(after.tasks[input][task].line) {
            tasks[task] = own;
            let members =
                tasks.iter().enumerate().map(|(at, it)| (Who::Task(Task(input, at)), *it));
            let then = after.inputs[input];
            let made = self.made(&rules.tasks, then, &members.collect::<Vec<_>>());
            for own in then.towards(made) {
                after.inputs[input] = own;
                let inputs = after.inputs.iter().enumerate();
                let members = inputs.map(|(at, it)| (Who::Input(at), *it)).collect::<Vec<_>>();
                after.all = self.made(&rules.inputs, after.all, &members);
            }
        }
    }

    /// The largest time since it joined, less the delay.
    fn shown(&self, partition: PartitionId) -> EventTime {
        let mut most = EventTime::MIN;
        for it in self.entries.iter().rev() {
            match it.event {
                Event::Heard(who, Some(time)) if who == partition => most = most.max(time),
                Event::Joined { partition: who, from, .. } if who == partition => {
                    most = most.max(from);
                    break;
                }
                _ => {}
            }
        }
        most - self.delays[partition.input()]
    }

    /// Whether a task would be idle if its own silence were too long.
    pub(super) fn may_fall(&self, task: Task) -> bool {
        let picture = self.last();
        let empty = picture.members(task).next().is_none();
        let rests = picture.task(task).is_some_and(|it| it.rests);
        let lost_all = empty && self.plan.rules.emptied == Emptied::TimesOut;
        (rests || lost_all) && !self.has_ended(task)
    }

    pub(super) fn has_ended(&self, task: Task) -> bool {
        let mut events = self.entries.iter().rev().map(|it| it.event);
        let last = events.find(|it| match it {
            Event::Ended(it) => *it == task,
            Event::Joined { partition, .. } => Task::of(*partition) == task,
            _ => false,
        });
        last == Some(Event::Ended(task))
    }

    /// What an emission now finds of a partition, or of a task without one, and whether it is idle.
    fn silence(&self, who: Who, at: ProcTime) -> (Quiet, bool) {
        let Some(timeout) = self.plan.idle_timeout else { return (Quiet::Noted, false) };
        let Silence { quiet, since } = self.silent(who);
        let anchored = match self.plan.rules.anchor {
            IdleAnchor::LastActivity => true,
            IdleAnchor::FirstQuietProbe => quiet != Quiet::Noted,
        };
        (quiet, anchored && timeout < self.clock(who, since, at))
    }

    /// How much longer an awake member may be silent as it stands; `None` where its silence is not counted.
    pub(super) fn patience(&self, who: Who, at: ProcTime) -> Option<Span> {
        let timeout = self.plan.idle_timeout?;
        let Silence { since, .. } = self.silent(who);
        let goes = self.last().runs(who) && since < self.entries.len();
        goes.then(|| Span(timeout.0 - self.clock(who, since, at).0))
    }

    /// Walks back to when a member was last heard, through the emissions since.
    fn silent(&self, who: Who) -> Silence {
        let task = match who {
            Who::Partition(it) => Task::of(it),
            Who::Task(it) => it,
            Who::Input(_) => unreachable!("silence is counted of partitions and tasks"),
        };
        // This emission is the latest.
        let mut emissions = vec![self.entries.len()];
        let (mut begins, mut heard) = (0, false);
        for (at, it) in self.entries.iter().enumerate().rev() {
            let (ends, speaks) = match (who, it.event) {
                (Who::Partition(who), Event::Heard(it, _)) => (it == who, it == who),
                (Who::Partition(who), Event::Joined { partition, .. }) => (partition == who, false),
                (Who::Task(who), _) => (it.after.task(who).is_none(), false),
                _ => (false, false),
            };
            if ends {
                // A task came with the entry behind this one.
                begins = if matches!(who, Who::Task(_)) { at + 1 } else { at };
                heard = speaks;
                break;
            }
            if it.event == Event::Turn(task) {
                emissions.push(at);
            }
        }
        // The first emission behind a row only notes it.
        let first = emissions.iter().rev().nth(usize::from(heard)).copied();
        let quiet = first.map_or(Quiet::Noted, Quiet::Since);
        let since = match (self.plan.rules.anchor, quiet) {
            (IdleAnchor::FirstQuietProbe, Quiet::Since(it)) => it,
            _ => begins,
        };
        Silence { quiet, since }
    }
}
