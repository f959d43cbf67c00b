//! What waits for its time.
//!
//! Times come in about the order in which they will be over, far more of them than are over at once.
//! So only what is near stands sorted, in a heap. What is further off lies unsorted in buckets, by the
//! highest bit in which its time differs from a base that all of them are behind: everything in a
//! bucket is earlier than everything in a later one. A bucket is opened when its earliest time is
//! reached: that becomes the base, and what lies in it goes to nearer buckets or, where it is little,
//! into the heap. An entry so moves a few times at most, each time from one list to another.
//!
//! Invariant: entries leave in ascending order, among those that are there; a bucket is empty or
//! knows its earliest time.

use crate::time::EventTime;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A bucket of no more entries goes into the heap as it is.
const LITTLE: usize = 32;

/// Entries by time.
#[derive(Clone, Debug)]
pub(crate) struct Queue<T> {
    near: BinaryHeap<Reverse<(EventTime, T)>>,
    /// Later than this is what lies in buckets.
    base: EventTime,
    /// Bucket i: the highest bit that differs is bit i.
    buckets: Vec<Bucket<T>>,
    /// Bit i: bucket i is not empty.
    filled: u64,
    len: usize,
}

#[derive(Clone, Debug)]
struct Bucket<T> {
    entries: Vec<(EventTime, T)>,
    earliest: EventTime,
}

impl<T: Copy + Ord> Default for Queue<T> {
    fn default() -> Self {
        let bucket = Bucket { entries: Vec::new(), earliest: EventTime::MAX };
        Self {
            near: BinaryHeap::new(),
            base: EventTime::MIN,
            buckets: vec![bucket; 64],
            filled: 0,
            len: 0,
        }
    }
}

impl<T: Copy + Ord> Queue<T> {
    /// How many entries wait.
    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Puts an entry in.
    #[inline]
    pub(crate) fn push(&mut self, time: EventTime, of: T) {
        self.len += 1;
        self.place(time, of);
    }

    #[inline]
    fn place(&mut self, time: EventTime, of: T) {
        if time <= self.base {
            self.near.push(Reverse((time, of)));
            return;
        }
        let differ = (time.0 ^ self.base.0) as u64;
        let at = differ.ilog2() as usize;
        let bucket = &mut self.buckets[at];
        bucket.entries.push((time, of));
        bucket.earliest = bucket.earliest.min(time);
        self.filled |= 1 << at;
    }

    /// The earliest entry, taken out if its time is `gone`; what is earlier than something gone is
    /// gone.
    #[inline]
    pub(crate) fn pop_if(&mut self, gone: impl Fn(EventTime) -> bool) -> Option<(EventTime, T)> {
        loop {
            let near = self.near.peek().map(|it| it.0.0);
            if self.filled != 0 {
                let at = self.filled.trailing_zeros() as usize;
                let earliest = self.buckets[at].earliest;
                if near.is_none_or(|it| earliest <= it) {
                    if !gone(earliest) {
                        return None;
                    }
                    self.open(at);
                    continue;
                }
            }
            if !gone(near?) {
                return None;
            }
            self.len -= 1;
            return self.near.pop().map(|it| it.0);
        }
    }

    /// Empties the first bucket that is filled.
    fn open(&mut self, at: usize) {
        let bucket = &mut self.buckets[at];
        self.base = std::mem::replace(&mut bucket.earliest, EventTime::MAX);
        self.filled &= !(1 << at);
        let mut entries = std::mem::take(&mut bucket.entries);
        if entries.len() <= LITTLE {
            self.near.extend(entries.drain(..).map(Reverse));
        } else {
            entries.drain(..).for_each(|(time, of)| self.place(time, of));
        }
        // Its memory is for those that will come.
        self.buckets[at].entries = entries;
    }

    /// Forgets the entries that are not kept.
    pub(crate) fn retain(&mut self, kept: impl Fn(EventTime, T) -> bool) {
        let mut entries: Vec<_> =
            std::mem::take(&mut self.near).into_iter().map(|it| it.0).collect();
        for it in &mut self.buckets {
            entries.append(&mut it.entries);
            it.earliest = EventTime::MAX;
        }
        (self.filled, self.len) = (0, 0);
        entries.retain(|it| kept(it.0, it.1));
        entries.into_iter().for_each(|(time, of)| self.push(time, of));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::drive::Draw;
    use std::collections::BTreeSet;

    #[test]
    fn entries_leave_as_from_a_sorted_set_wherever_they_come_and_however_the_bound_moves() {
        let mut draw = Draw(3);
        for spread in [1, 30, 100_000, i64::MAX / 4] {
            let (mut queue, mut model) = (Queue::default(), BTreeSet::new());
            let mut bound = EventTime(-spread);
            for number in 0..3_000 {
                let far = if draw.once_in(20) { -spread } else { spread };
                let time =
                    EventTime(bound.0.saturating_add(draw.within(0, far.abs()) * far.signum()));
                queue.push(time, number);
                model.insert((time, number));
                if draw.once_in(3) {
                    bound = EventTime(bound.0.saturating_add(draw.within(-1, spread / 100 + 2)));
                    loop {
                        let first = model.first().copied().filter(|it| it.0 <= bound);
                        assert_eq!(queue.pop_if(|it| it <= bound), first);
                        if first.is_none() {
                            break;
                        }
                        model.pop_first();
                    }
                }
                if draw.once_in(500) {
                    queue.retain(|_, it| it % 3 != 0);
                    model.retain(|it| it.1 % 3 != 0);
                }
                assert_eq!(queue.len(), model.len());
            }
            let rest: Vec<_> = std::iter::from_fn(|| queue.pop_if(|_| true)).collect();
            assert_eq!(rest, model.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn both_ends_of_time_are_times() {
        let mut queue = Queue::default();
        let ends = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
        for it in ends.into_iter().rev() {
            queue.push(EventTime(it), ());
        }
        let all = std::iter::from_fn(|| queue.pop_if(|_| true)).map(|it| it.0.0);
        assert_eq!(all.collect::<Vec<_>>(), ends);
    }
}
