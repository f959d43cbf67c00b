//! One level of combination: members tell a watermark or silence, the level above hears of both.
//!
//! The result is the minimum over the members that count: those that are not idle and that have caught
//! up. Under `hold` a member that wakes counts at once, so that the result stands still until it has
//! caught up; under `catch_up` it counts once its own watermark has reached the result. When all are
//! idle the result is the largest of all, or stands. Without members nothing changes at all, silence
//! included. What the level above is told is in order: awake, a larger watermark, idle.
//!
//! Invariant: a combination never falls. Source: semantics 2.2, flink-rules 2.

use crate::plan::Rejoin;
use crate::plan::levels::{LevelAllIdle, LevelPlan, Waking};
use crate::row::ItemId;
use crate::time::EventTime;
use serde::{Deserialize, Serialize};

/// A watermark and the item that showed it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Promise {
    /// Rows older than this are no longer waited for.
    pub watermark: EventTime,
    /// Whose event time that is, less the delay; none where it is no row's.
    pub set_by: Option<ItemId>,
}

impl Promise {
    /// Nothing is known.
    pub const NONE: Self = Self { watermark: EventTime::MIN, set_by: None };
    /// Nothing more will come.
    pub const END: Self = Self { watermark: EventTime::MAX, set_by: None };
}

/// What a member has told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Member {
    /// Its watermark.
    pub promise: Promise,
    /// Whether it is silent.
    pub idle: bool,
    /// Whether it has caught up since it was idle or new.
    aligned: bool,
}

/// One thing that a level tells the one above.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum News {
    /// Somebody is awake again.
    Awake,
    /// A larger watermark.
    Watermark(Promise),
    /// Nobody is awake.
    Idle,
}

/// What the level above is to be told, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Somebody is awake again.
    pub woke: bool,
    /// A larger watermark.
    pub moved: Option<Promise>,
    /// Nobody is awake.
    pub fell: bool,
}

impl Progress {
    /// One thing after the other.
    pub fn news(self) -> impl Iterator<Item = News> {
        let woke = self.woke.then_some(News::Awake);
        let fell = self.fell.then_some(News::Idle);
        [woke, self.moved.map(News::Watermark), fell].into_iter().flatten()
    }
}

/// The members of one combination and what was made of them last.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Combiner {
    members: Vec<Member>,
    promise: Promise,
    /// Whether all members were idle when they were last looked at.
    idle: bool,
    /// Whether the level above takes this one for idle.
    taken_for_idle: bool,
    /// The watermark of the member that fell idle last.
    fell_last: EventTime,
}

impl Combiner {
    /// A combination without members. `taken_for_idle` is what the level above thinks of it.
    pub const fn new(taken_for_idle: bool) -> Self {
        Self {
            members: Vec::new(),
            promise: Promise::NONE,
            idle: false,
            taken_for_idle,
            fell_last: EventTime::MIN,
        }
    }

    /// The members, in the order in which they came.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// What was made of them last.
    pub const fn promise(&self) -> Promise {
        self.promise
    }

    /// Whether the level above takes this one for idle.
    pub const fn is_taken_for_idle(&self) -> bool {
        self.taken_for_idle
    }

    /// A member comes, with nothing told yet.
    pub fn add(&mut self, plan: LevelPlan) {
        let aligned = plan.rejoin == Rejoin::Hold || self.promise.watermark == EventTime::MIN;
        self.members.push(Member { promise: Promise::NONE, idle: false, aligned });
    }

    /// A member goes. What was made of it stands until the next combination.
    pub fn remove(&mut self, at: usize) {
        self.members.remove(at);
    }

    /// A member tells something.
    pub fn hear(&mut self, at: usize, news: News, plan: LevelPlan) {
        match news {
            News::Awake => self.wake(at, plan),
            News::Watermark(promise) => {
                self.raise(at, promise);
            }
            News::Idle => self.silence(at),
        }
    }

    /// A member is awake.
    pub fn wake(&mut self, at: usize, plan: LevelPlan) {
        let last = self.promise.watermark;
        let member = &mut self.members[at];
        if member.idle {
            member.idle = false;
            member.aligned = match plan.rejoin {
                Rejoin::Hold => true,
                Rejoin::CatchUp => last <= member.promise.watermark,
            };
        }
    }

    /// A member tells a watermark. True where it is larger than its last.
    pub fn raise(&mut self, at: usize, promise: Promise) -> bool {
        let last = self.promise.watermark;
        let member = &mut self.members[at];
        let rises = member.promise.watermark < promise.watermark;
        if rises {
            member.promise = promise;
            member.aligned |= last <= promise.watermark;
        }
        rises
    }

    /// A member falls silent.
    pub fn silence(&mut self, at: usize) {
        let member = &mut self.members[at];
        if !member.idle {
            member.idle = true;
            self.fell_last = member.promise.watermark;
        }
    }

    /// Looks at the members anew.
    pub fn combine(&mut self, plan: LevelPlan) -> Progress {
        if self.members.is_empty() {
            return Progress::default();
        }
        self.idle = self.members.iter().all(|it| it.idle);
        let candidate = if self.idle {
            self.when_all_are_idle(plan)
        } else {
            let counting = self.members.iter().filter(|it| !it.idle && it.aligned);
            counting.map(|it| it.promise).min_by_key(|it| it.watermark)
        };
        let moved = candidate.filter(|it| self.promise.watermark < it.watermark);
        self.promise = moved.unwrap_or(self.promise);
        let heard = match plan.waking {
            Waking::AtOnce => !self.idle || moved.is_some(),
            Waking::WithProgress => moved.is_some(),
        };
        let woke = self.taken_for_idle && heard;
        let fell = self.idle && (woke || !self.taken_for_idle);
        self.taken_for_idle = self.idle || self.taken_for_idle && !woke;
        Progress { woke, moved, fell }
    }

    fn when_all_are_idle(&self, plan: LevelPlan) -> Option<Promise> {
        let flushes = match plan.all_idle {
            LevelAllIdle::Flush => true,
            LevelAllIdle::FlushIfLast => self.fell_last == self.promise.watermark,
            LevelAllIdle::Hold => false,
        };
        let largest = self.members.iter().map(|it| it.promise).max_by_key(|it| it.watermark);
        largest.filter(|_| flushes)
    }

    /// Without members: it is taken for idle from now on.
    pub const fn give_up(&mut self) {
        self.taken_for_idle = true;
    }

    /// Forgets what members have told (`watermarks`), and that they are silent (`idleness`).
    pub fn forget(&mut self, watermarks: bool, idleness: bool, taken_for_idle: bool) {
        if watermarks {
            self.promise = Promise::NONE;
            self.fell_last = EventTime::MIN;
        }
        if idleness {
            (self.idle, self.taken_for_idle) = (false, taken_for_idle);
        }
        for member in &mut self.members {
            if watermarks {
                (member.promise, member.aligned) = (Promise::NONE, true);
            }
            if idleness {
                (member.idle, member.aligned) = (false, true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLD: LevelPlan =
        LevelPlan { rejoin: Rejoin::Hold, all_idle: LevelAllIdle::Flush, waking: Waking::AtOnce };
    const CATCH_UP: LevelPlan = LevelPlan { rejoin: Rejoin::CatchUp, ..HOLD };
    const IF_LAST: LevelPlan = LevelPlan { all_idle: LevelAllIdle::FlushIfLast, ..CATCH_UP };

    fn at(watermark: i64) -> Promise {
        Promise { watermark: EventTime(watermark), set_by: None }
    }

    fn of(plan: LevelPlan, watermarks: &[i64]) -> Combiner {
        let mut combiner = Combiner::new(false);
        for (member, watermark) in watermarks.iter().enumerate() {
            combiner.add(plan);
            combiner.raise(member, at(*watermark));
        }
        combiner.combine(plan);
        combiner
    }

    #[test]
    fn a_member_that_wakes_behind_holds_or_is_waited_for_by_nobody() {
        for (plan, expected) in [(HOLD, None), (CATCH_UP, Some(at(60)))] {
            let mut combiner = of(plan, &[50, 10]);
            combiner.silence(1);
            assert_eq!(combiner.combine(plan).moved, Some(at(50)));
            combiner.wake(1, plan);
            combiner.raise(1, at(20));
            combiner.raise(0, at(60));
            assert_eq!(combiner.combine(plan).moved, expected, "{plan:?}");
            combiner.raise(1, at(60));
            combiner.raise(0, at(70));
            combiner.combine(plan);
            assert_eq!(combiner.promise(), at(60), "{plan:?}");
        }
    }

    #[test]
    fn the_last_one_to_fall_silent_lets_the_largest_through() {
        let mut combiner = of(HOLD, &[50, 10]);
        combiner.silence(0);
        assert_eq!(combiner.combine(HOLD), Progress::default());
        combiner.silence(1);
        let expected = Progress { woke: false, moved: Some(at(50)), fell: true };
        assert_eq!(combiner.combine(HOLD), expected);
    }

    #[test]
    fn flush_if_last_looks_at_who_fell_silent_last() {
        let mut combiner = of(IF_LAST, &[50, 10]);
        combiner.silence(0);
        combiner.combine(IF_LAST);
        combiner.silence(1);
        assert_eq!(combiner.combine(IF_LAST).moved, Some(at(50)));
        let mut combiner = of(IF_LAST, &[50, 10, 90]);
        combiner.silence(1);
        combiner.combine(IF_LAST);
        assert_eq!(combiner.promise(), at(50));
        combiner.wake(1, IF_LAST);
        combiner.raise(1, at(20));
        for member in [0, 2, 1] {
            combiner.silence(member);
            combiner.combine(IF_LAST);
        }
        assert_eq!(combiner.promise(), at(90), "the one at 90 counted alone for a while");
        let mut combiner = of(IF_LAST, &[50, 10, 90]);
        combiner.silence(1);
        combiner.silence(2);
        combiner.combine(IF_LAST);
        combiner.wake(1, IF_LAST);
        combiner.raise(1, at(20));
        combiner.silence(0);
        combiner.combine(IF_LAST);
        combiner.silence(1);
        let progress = combiner.combine(IF_LAST);
        assert_eq!((progress.moved, progress.fell), (None, true));
    }

    #[test]
    fn without_progress_nobody_hears_that_one_is_awake() {
        let plan = LevelPlan { waking: Waking::WithProgress, ..HOLD };
        let mut combiner = of(plan, &[50]);
        combiner.silence(0);
        assert!(combiner.combine(plan).fell);
        combiner.wake(0, plan);
        assert_eq!(combiner.combine(plan), Progress::default());
        assert!(combiner.is_taken_for_idle());
        combiner.raise(0, at(51));
        let expected = Progress { woke: true, moved: Some(at(51)), fell: false };
        assert_eq!(combiner.combine(plan), expected);
    }

    #[test]
    fn an_empty_combination_is_frozen() {
        let mut combiner = of(HOLD, &[50]);
        combiner.remove(0);
        assert_eq!(combiner.combine(HOLD), Progress::default());
        assert_eq!((combiner.promise(), combiner.is_taken_for_idle()), (at(50), false));
    }
}
