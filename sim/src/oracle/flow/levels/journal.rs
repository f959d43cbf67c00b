//! The journal: what happened, and what was shown after each of it.
//!
//! Rows shown, partitions that come and go, tasks that emit one after the other, samples and limits: each
//! is an entry, with a picture of every member as it was shown behind it. A question is answered by
//! walking back through the entries.
//!
//! Invariant: an entry is never changed, and a picture is a function of the entries before it.

use plimsoll_engine::plan::levels::LevelsPlan;
use plimsoll_engine::row::PartitionId;
use plimsoll_engine::time::{EventTime, ProcTime, Span};
use std::collections::BTreeMap;

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    /// The clock starts.
    Start,
    /// A partition begins, with what it is taken to have shown.
    Joined { partition: PartitionId, from: EventTime },
    /// It is taken away.
    Left(PartitionId),
    /// It is read: activity, and a time where one was shown.
    Heard(PartitionId, Option<EventTime>),
    /// It has nothing more.
    Finished(PartitionId),
    /// A task has lost its last partition by an end.
    Ended(Task),
    /// A task is (no longer) kept from writing.
    Pressed(Task, bool),
    /// A limit is announced.
    Limited(EventTime),
    /// A sample of every watermark is taken.
    Sampled,
    /// A task emits.
    Turn(Task),
}

/// A task: its input, and its number there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Task(pub(super) usize, pub(super) usize);

impl Task {
    pub(super) const fn of(partition: PartitionId) -> Self {
        Self(partition.input(), partition.task() as usize)
    }
}

/// A member of a combination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Who {
    Partition(PartitionId),
    Task(Task),
    Input(usize),
}

/// What a member shows to the level above.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Line {
    pub(super) at: EventTime,
    pub(super) idle: bool,
}

impl Line {
    pub(super) const NOTHING: Self = Self { at: EventTime::MIN, idle: false };

    /// What is shown one after the other on the way to another line: whoever comes further is awake
    /// to say so, and may be idle behind it.
    pub(super) fn towards(self, then: Self) -> impl Iterator<Item = Self> {
        let says = then.idle && self.at < then.at;
        let first = says.then_some(Self { at: then.at, idle: false });
        first.into_iter().chain([then])
    }
}

/// How long one has been silent, in emissions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Quiet {
    /// It was heard since the last one.
    Heard,
    /// It was heard before the last one, or there was none yet.
    Noted,
    /// The first one that found nothing new of it: an entry.
    Since(usize),
}

/// A partition or a task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Seat {
    pub(super) line: Line,
    /// What the end of a task has no say in: what was made of its partitions.
    pub(super) own: EventTime,
    pub(super) quiet: Quiet,
    /// Its samples, the oldest first; no more than are looked at.
    pub(super) samples: Vec<EventTime>,
    /// A partition that is paused, a task that is blocked.
    pub(super) stopped: bool,
    /// A task that is kept from writing.
    pub(super) pressed: bool,
    /// A task of which some partition was awake when it emitted last.
    pub(super) awake: bool,
    /// A task whose partitions say that nothing comes; so does one that never had any.
    pub(super) rests: bool,
}

impl Seat {
    pub(super) const NEW: Self = Self {
        line: Line::NOTHING,
        own: EventTime::MIN,
        quiet: Quiet::Noted,
        samples: Vec::new(),
        stopped: false,
        pressed: false,
        awake: true,
        rests: true,
    };
}

/// Everything that is shown after an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Picture {
    /// Those that exist and have not finished.
    pub(super) partitions: BTreeMap<PartitionId, Seat>,
    /// Of each input.
    pub(super) tasks: Vec<Vec<Seat>>,
    pub(super) inputs: Vec<Line>,
    /// The operator's.
    pub(super) all: Line,
    /// Whoever is ahead of this waits; +inf: nobody.
    pub(super) limit: EventTime,
}

impl Picture {
    pub(super) fn task(&self, Task(input, task): Task) -> Option<&Seat> {
        self.tasks.get(input)?.get(task)
    }

    /// The partitions of a task.
    pub(super) fn members(&self, task: Task) -> impl Iterator<Item = (PartitionId, &Seat)> {
        self.partitions
            .iter()
            .map(|(it, seat)| (*it, seat))
            .filter(move |it| Task::of(it.0) == task)
    }

    pub(super) fn line(&self, who: Who) -> Option<Line> {
        match who {
            Who::Partition(it) => self.partitions.get(&it).map(|it| it.line),
            Who::Task(it) => self.task(it).map(|it| it.line),
            Who::Input(it) => self.inputs.get(it).copied(),
        }
    }

    /// What was made of a member and the others beside it.
    pub(super) fn made(&self, who: Who) -> EventTime {
        match who {
            Who::Partition(it) => self.task(Task::of(it)).map_or(EventTime::MIN, |it| it.own),
            Who::Task(Task(input, _)) => self.inputs[input].at,
            Who::Input(_) => self.all.at,
        }
    }

    /// Whether the clock of a partition or a task goes.
    pub(super) fn runs(&self, who: Who) -> bool {
        let task = |it| self.task(it).is_none_or(|it| !it.stopped && !it.pressed);
        match who {
            Who::Partition(it) => {
                task(Task::of(it)) && self.partitions.get(&it).is_none_or(|it| !it.stopped)
            }
            Who::Task(it) => task(it),
            Who::Input(_) => true,
        }
    }
}

/// One thing that happened.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) at: ProcTime,
    pub(super) event: Event,
    pub(super) after: Picture,
}

/// All of it.
#[derive(Debug)]
pub(super) struct Journal {
    pub(super) plan: LevelsPlan,
    /// The delay of each input.
    pub(super) delays: Vec<Span>,
    pub(super) entries: Vec<Entry>,
}

impl Journal {
    pub(super) fn new(plan: &LevelsPlan, delays: Vec<Span>, start: ProcTime) -> Self {
        let tasks = |it: &u32| vec![Seat::NEW; *it as usize];
        let after = Picture {
            partitions: BTreeMap::new(),
            tasks: plan.tasks.iter().map(tasks).collect(),
            inputs: vec![Line::NOTHING; plan.tasks.len()],
            all: Line::NOTHING,
            limit: EventTime::MAX,
        };
        let entries = vec![Entry { at: start, event: Event::Start, after }];
        Self { plan: plan.clone(), delays, entries }
    }

    pub(super) fn last(&self) -> &Picture {
        &self.entries.last().expect("the start").after
    }

    /// Appends what happened at an instant.
    pub(super) fn note(&mut self, at: ProcTime, event: Event) {
        let after = self.picture(at, event);
        self.entries.push(Entry { at, event, after });
    }

    /// How far the clock of a member went since an entry, up to an instant: it stands still while it
    /// is paused, and while its task is blocked or kept from writing.
    pub(super) fn clock(&self, who: Who, from: usize, at: ProcTime) -> Span {
        let ends = self.entries[from..].iter().skip(1).map(|it| it.at).chain([at]);
        let spans = self.entries[from..].iter().zip(ends);
        let went = spans.filter(|(it, _)| it.after.runs(who)).map(|(it, end)| end.since(it.at));
        went.fold(Span::ZERO, |all, it| all + it)
    }
}
