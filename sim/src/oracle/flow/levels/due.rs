//! Which instants of a tick are steps.
//!
//! Emissions and samples fall due at multiples of their intervals, counted from the start. One that has
//! found nothing new since anything last changed would find nothing new again, and is left out; only
//! an emission at which somebody's silence gets too long is not. New is whatever a picture shows: lines,
//! who is idle or waits, what was made of them and samples, though not a limit that nobody waits for; and,
//! where silence is counted, that somebody was heard, or that this is the first emission that found
//! nothing new of it.
//!
//! Invariant: what is left out changes nothing that is shown.

use super::Levels;
use super::journal::{Journal, Task, Who};
use plimsoll_engine::time::{ProcTime, Span};

/// What falls due at an instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::oracle::flow) struct Due {
    pub(in crate::oracle::flow) at: ProcTime,
    pub(in crate::oracle::flow) emission: bool,
    pub(in crate::oracle::flow) sample: bool,
}

impl Levels {
    /// The next instant behind `since`, and not behind `until`, at which something falls due.
    pub(in crate::oracle::flow) fn due(&self, since: ProcTime, until: ProcTime) -> Option<Due> {
        let plan = &self.journal.plan;
        let emission = plan.emission.and_then(|every| {
            let from = if self.settled[0] { self.journal.runs_out(since)? } else { since };
            Some(self.multiple_behind(from, every))
        });
        let sample = plan.alignment.filter(|_| !self.settled[1]);
        let sample = sample.map(|it| self.multiple_behind(since, it.update));
        let at = [emission, sample].into_iter().flatten().min().filter(|it| *it <= until)?;
        Some(Due { at, emission: emission == Some(at), sample: sample == Some(at) })
    }

    fn multiple_behind(&self, since: ProcTime, every: Span) -> ProcTime {
        let every = every.0.max(1);
        let gone = since.since(self.start).0.div_euclid(every);
        self.start + Span(gone.saturating_add(1).saturating_mul(every))
    }
}

impl Journal {
    /// The first instant up to which the silence of somebody awake is still short enough.
    fn runs_out(&self, now: ProcTime) -> Option<ProcTime> {
        let picture = self.last();
        let partitions = picture.partitions.iter().filter(|it| !it.1.line.idle);
        let partitions = partitions.map(|it| Who::Partition(*it.0));
        let tasks = picture.tasks.iter().enumerate().flat_map(|(input, tasks)| {
            let awake = tasks.iter().enumerate().filter(|it| !it.1.line.idle);
            awake.map(move |(at, _)| Task(input, at))
        });
        let tasks = tasks.filter(|it| self.may_fall(*it)).map(Who::Task);
        let left = partitions.chain(tasks).filter_map(|it| self.patience(it, now)).min()?;
        Some(now + Span(left.0.max(0)))
    }
}
