//! One level: what is made of its members.
//!
//! The smallest of those that are awake and count; of nobody, where all are idle, what the rules say.
//! It never goes back. Who counts, and who fell idle last, is read in the journal.
//!
//! Readings. A member that has caught up counts as long as it stays awake. Where several fall idle at one
//! emission of their task, the one that joined last is the last. Who joins
//! behind, a partition or a task, is like who wakes behind. A combination of
//! nobody is left as it was.
//!
//! Invariant: the numbers of members do not matter.

use super::journal::{Entry, Event, Journal, Line, Who};
use plimsoll_engine::plan::Rejoin;
use plimsoll_engine::plan::levels::{LevelAllIdle, LevelPlan, Waking};
use plimsoll_engine::time::EventTime;

impl Journal {
    /// What the members show together; `before` is what they showed so far.
    pub(super) fn made(&self, rules: &LevelPlan, before: Line, members: &[(Who, Line)]) -> Line {
        if members.is_empty() {
            return before;
        }
        let awake = || members.iter().filter(|it| !it.1.idle);
        if awake().next().is_none() {
            let flushes = match rules.all_idle {
                LevelAllIdle::Flush => true,
                LevelAllIdle::FlushIfLast => self.last_is_at(before.at, members),
                LevelAllIdle::Hold => false,
            };
            let most = members.iter().map(|it| it.1.at).max().filter(|_| flushes);
            return Line { at: most.map_or(before.at, |it| it.max(before.at)), idle: true };
        }
        let counting = awake().filter(|it| rules.rejoin == Rejoin::Hold || self.counts(it.0, it.1));
        let least = counting.map(|it| it.1.at).min();
        let at = least.map_or(before.at, |it| it.max(before.at));
        let idle = match rules.waking {
            Waking::AtOnce => false,
            Waking::WithProgress => before.idle && at == before.at,
        };
        Line { at, idle }
    }

    /// Whether one that is awake has reached what was made of the others at some moment since it
    /// woke or joined. Who is there from the start counts.
    fn counts(&self, who: Who, now: Line) -> bool {
        if self.last().made(who) <= now.at {
            return true;
        }
        for pair in self.entries.windows(2).rev() {
            let [before, it] = pair else { unreachable!("two") };
            let Some(line) = it.after.line(who) else { return false };
            if line.idle {
                return false;
            }
            if before.after.made(who) <= line.at {
                return true;
            }
            if self.joins(it, who) {
                return false;
            }
        }
        true
    }

    /// Whether who fell idle last is where the level is.
    fn last_is_at(&self, made: EventTime, members: &[(Who, Line)]) -> bool {
        let last = members.iter().max_by_key(|it| (self.fell(it.0, it.1), self.joined(it.0)));
        last.is_some_and(|it| it.1.at == made)
    }

    /// The entry at which a partition joined last; nothing else falls idle together with others.
    fn joined(&self, who: Who) -> Option<usize> {
        self.entries.iter().rposition(|it| self.joins(it, who))
    }

    fn joins(&self, it: &Entry, who: Who) -> bool {
        matches!(it.event, Event::Joined { partition, .. } if who == Who::Partition(partition))
    }

    /// The entry at which one that is idle fell so where it is now; the number of entries where that
    /// is now.
    fn fell(&self, who: Who, now: Line) -> usize {
        let same = |it: &usize| self.entries[*it].after.line(who) == Some(now);
        (0..self.entries.len()).rev().take_while(same).last().unwrap_or(self.entries.len())
    }
}
