//! Alignment: who waits because it is ahead of the limit.
//!
//! A partition is paused, and a task blocked, while what is compared is beyond the limit: its watermark as
//! it was emitted last, or the oldest of the last samples. Asked at every emission, sample and
//! announcement; but an emission resumes no partition, and pauses only who came further.
//!
//! Readings. Equal is not beyond. A sample is taken of everybody, also of who has shown nothing. With a
//! drift each sample sets a new limit, whatever was announced. A task is blocked by what was
//! made of its partitions, idle or not.
//!
//! Invariant: without alignment nobody waits. Source: flink-rules 4.

use super::journal::{Journal, Picture, Seat, Task};
use plimsoll_engine::plan::levels::{AlignmentPlan, Limit, PausedIdle, Sampling};
use plimsoll_engine::time::EventTime;

impl Journal {
    /// Takes a sample of everybody; with a drift the limit follows the slowest.
    pub(super) fn sample(&self, after: &mut Picture) {
        let Some(AlignmentPlan { sampling, limit, .. }) = self.plan.alignment else { return };
        if let Sampling::OldestOf(count) = sampling {
            let count = count.max(1) as usize;
            let tasks = after.tasks.iter_mut().flatten();
            for it in after.partitions.values_mut().chain(tasks) {
                it.samples.push(it.own);
                let older = it.samples.len().saturating_sub(count);
                it.samples.drain(..older);
            }
        }
        if let Limit::Drift(drift) = limit {
            let tasks = after.tasks.iter().enumerate().flat_map(|(input, tasks)| {
                tasks.iter().enumerate().map(move |(at, it)| (Task(input, at), it))
            });
            let told = tasks.filter(|it| !it.1.line.idle && it.1.own.is_finite());
            let slowest = told.filter(|it| !self.has_ended(it.0)).map(|it| it.1.own).min();
            after.limit = slowest.map_or(EventTime::MAX, |it| it + drift);
        }
        self.stop(after, true);
    }

    /// Who waits; whether partitions may also be resumed.
    pub(super) fn stop(&self, after: &mut Picture, resumes: bool) {
        let Some(AlignmentPlan { sampling, .. }) = self.plan.alignment else { return };
        let limit = after.limit;
        let beyond = |it: &Seat| match sampling {
            Sampling::Newest => limit < it.own,
            Sampling::OldestOf(count) => {
                it.samples.len() == count.max(1) as usize && limit < it.samples[0]
            }
        };
        let before = self.last();
        for (who, it) in &mut after.partitions {
            let moved = before.partitions.get(who).is_none_or(|then| then.own < it.own);
            let stops = match (it.line.idle, self.plan.rules.paused_idle) {
                (false, _) => beyond(it),
                (true, PausedIdle::Stays) => it.stopped,
                (true, PausedIdle::Resumes) => false,
            };
            if resumes || moved && stops {
                it.stopped = stops;
            }
        }
        for it in after.tasks.iter_mut().flatten() {
            it.stopped = beyond(it);
        }
    }
}
