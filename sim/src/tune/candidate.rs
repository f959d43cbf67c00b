//! Behind what a row is behind: four candidates of the same rows, side by side.
//!
//! - One maximum over all partitions (Spark): the fastest decides.
//! - The own partition's maximum: a row is judged by its own kind only.
//! - The minimum over the partitions' maxima (Flink without idleness): every partition of the
//!   recording is known to exist from the start, so nothing is late before all have spoken.
//! - The same with idleness: a partition that has been silent for strictly longer than the timeout leaves
//!   the minimum until it is heard again (rejoin `hold`); where all are silent the largest maximum counts
//!   (all idle `flush`). Silence is judged at the instant of each arrival, before the row; a partition
//!   that has not spoken has been silent since the first arrival. Other arrivals, also those without
//!   an event time, are activity (semantics 14).
//!
//! Invariant: none of the four ever falls; the minimum is kept as its running maximum c*.

use plimsoll_engine::time::{EventTime, Span};
use std::collections::BTreeMap;

/// The candidate that a row is judged by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Behind {
    /// One maximum over all partitions.
    Global,
    /// The row's own partition's maximum.
    OwnPartition,
    /// The minimum over the partitions' maxima.
    Slowest,
    /// The minimum over those that are not idle.
    SlowestIdle,
}

impl Behind {
    /// All four, in the order of reports.
    pub const ALL: [Self; 4] = [Self::Global, Self::OwnPartition, Self::Slowest, Self::SlowestIdle];

    /// The words inside a sentence.
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Global => "one maximum",
            Self::OwnPartition => "the own partition",
            Self::Slowest => "the slowest partition",
            Self::SlowestIdle => "the slowest partition that is not idle",
        }
    }

    /// The words over a column.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Global => "one maximum",
            Self::OwnPartition => "own partition",
            Self::Slowest => "slowest partition",
            Self::SlowestIdle => "slowest not idle",
        }
    }
}

/// All candidates, as the rows so far have made them.
#[derive(Debug)]
pub(super) struct Candidates {
    global: EventTime,
    own: Vec<EventTime>,
    all: Multiset,
    idle: Option<Idle>,
}

/// What the minimum with idleness remembers.
#[derive(Debug)]
struct Idle {
    timeout: Span,
    /// When each partition was last heard; `None` where it is idle.
    heard: Vec<Option<i64>>,
    active: Multiset,
    /// No partition becomes idle up to this instant.
    none_until: i64,
    candidate_max: EventTime,
}

impl Candidates {
    /// `idle` is the first arrival and the timeout.
    pub(super) fn new(partitions: u32, idle: Option<(i64, Span)>) -> Self {
        let all = Multiset(BTreeMap::from([(EventTime::MIN, partitions)]));
        let idle = idle.map(|(start, timeout)| Idle {
            timeout,
            heard: vec![Some(start); partitions as usize],
            active: Multiset(all.0.clone()),
            none_until: start.saturating_add(timeout.0),
            candidate_max: EventTime::MIN,
        });
        let own = vec![EventTime::MIN; partitions as usize];
        Self { global: EventTime::MIN, own, all, idle }
    }

    /// The clock moves; silence is judged.
    pub(super) fn tick(&mut self, now: i64) {
        if let Some(idle) = &mut self.idle {
            idle.tick(now, &self.own, self.global);
        }
    }

    /// What a row of this partition is judged by.
    pub(super) fn of(&self, behind: Behind, partition: u32) -> EventTime {
        match behind {
            Behind::Global => self.global,
            Behind::OwnPartition => self.own[partition as usize],
            Behind::Slowest => self.all.least().unwrap_or(EventTime::MIN),
            Behind::SlowestIdle => match &self.idle {
                Some(idle) => idle.candidate_max,
                None => EventTime::MIN,
            },
        }
    }

    /// A row of this partition was seen; `time` is `MIN` where it has none.
    pub(super) fn observe(&mut self, partition: u32, time: EventTime, now: i64) {
        let own = &mut self.own[partition as usize];
        let before = std::mem::replace(own, time.max(*own));
        self.all.replace(before, *own);
        self.global = self.global.max(time);
        if let Some(idle) = &mut self.idle {
            let heard = &mut idle.heard[partition as usize];
            if heard.replace(now).is_some() {
                idle.active.remove(before);
            }
            idle.active.insert(*own);
            idle.none_until = idle.none_until.min(now.saturating_add(idle.timeout.0));
            idle.advance(self.global);
        }
    }
}

impl Idle {
    fn tick(&mut self, now: i64, own: &[EventTime], global: EventTime) {
        if now <= self.none_until {
            return;
        }
        self.none_until = i64::MAX;
        for (heard, own) in self.heard.iter_mut().zip(own) {
            let Some(at) = *heard else { continue };
            if self.timeout.0 < now.saturating_sub(at) {
                *heard = None;
                self.active.remove(*own);
            } else {
                self.none_until = self.none_until.min(at.saturating_add(self.timeout.0));
            }
        }
        self.advance(global);
    }

    fn advance(&mut self, global: EventTime) {
        // Where nobody is active all are idle, and the largest maximum of the idle is that of all.
        let candidate = self.active.least().unwrap_or(global);
        self.candidate_max = self.candidate_max.max(candidate);
    }
}

/// Times with their counts.
#[derive(Debug)]
struct Multiset(BTreeMap<EventTime, u32>);

impl Multiset {
    fn least(&self) -> Option<EventTime> {
        self.0.first_key_value().map(|it| *it.0)
    }

    fn insert(&mut self, time: EventTime) {
        *self.0.entry(time).or_default() += 1;
    }

    fn remove(&mut self, time: EventTime) {
        let count = self.0.get_mut(&time).expect("only what was inserted is removed");
        *count -= 1;
        if *count == 0 {
            self.0.remove(&time);
        }
    }

    fn replace(&mut self, before: EventTime, after: EventTime) {
        if before != after {
            self.remove(before);
            self.insert(after);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three(candidates: &Candidates) -> (i64, i64, i64) {
        let of = |behind| candidates.of(behind, 0).0;
        (of(Behind::Global), of(Behind::Slowest), of(Behind::SlowestIdle))
    }

    #[test]
    fn a_partition_that_has_not_spoken_holds_the_minimum_until_it_is_idle() {
        let mut candidates = Candidates::new(2, Some((0, Span(60))));
        candidates.observe(0, EventTime(750), 1);
        assert_eq!(three(&candidates), (750, i64::MIN, i64::MIN));
        candidates.observe(0, EventTime(760), 40);
        candidates.tick(60);
        assert_eq!(three(&candidates), (760, i64::MIN, i64::MIN), "idleness is strict");
        candidates.tick(61);
        assert_eq!(three(&candidates), (760, i64::MIN, 760));
    }

    #[test]
    fn a_partition_that_returns_holds_what_was_reached() {
        let mut candidates = Candidates::new(2, Some((0, Span(60))));
        candidates.observe(0, EventTime(750), 50);
        candidates.tick(61);
        candidates.observe(1, EventTime(200), 61);
        assert_eq!(three(&candidates), (750, 200, 750));
        candidates.observe(0, EventTime(900), 62);
        assert_eq!(three(&candidates), (900, 200, 750));
        candidates.observe(1, EventTime(800), 63);
        assert_eq!(three(&candidates), (900, 800, 800));
    }

    #[test]
    fn where_all_are_silent_the_largest_maximum_counts() {
        let mut candidates = Candidates::new(2, Some((0, Span(60))));
        candidates.observe(0, EventTime(750), 1);
        candidates.observe(1, EventTime(100), 2);
        assert_eq!(three(&candidates), (750, 100, 100));
        candidates.tick(100);
        assert_eq!(three(&candidates), (750, 100, 750));
    }
}
