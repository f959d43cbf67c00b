//! How a group's words are laid out: the key, one word of stamp and flags, then the accumulators.
//!
//! The groups of a table are one vector of words, one run of words per group, so that a row touches
//! one cache line: `[key words.., stamp and flags, more flags.., accumulators..]`. The usual plan
//! (one key, count and sum) takes four words, 32 bytes.
//!
//! - The stamp is the number of the step that touched the group last, modulo 2^48.
//! - Flags: changed since it was last written (update mode), one per key column (it is null, its word
//!   is 0), one per sum, minimum and maximum (no value that is not null went in so far). The first 16
//!   share the stamp's word, so that most plans need no more.
//! - A sum is one word as long as it fits. When it leaves i64 the word's amount moves to a list on the
//!   side and the word starts anew: the sum is always word + side, 128 bits wide.
//!
//! Invariant: equal plans give equal layouts, so that words can be written to a snapshot as they are.

use crate::plan::{Aggregate, WindowPlan};
use crate::row::ColumnIx;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A computed aggregate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Value {
    /// No value that is not null went in.
    Null,
    /// An integer.
    Int(i64),
    /// A sum that has left i64.
    Wide(i128),
    /// An average, as sum and count.
    Avg {
        /// Sum of the values.
        sum: i128,
        /// How many.
        count: u64,
    },
}

/// The bits of the stamp's word that hold the stamp.
pub(crate) const STAMP: i64 = (1 << 48) - 1;
/// The flag that says: changed since it was last written.
pub(crate) const CHANGED: i64 = 1 << 48;

/// One bit of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Flag {
    /// The word, counted from the group's first.
    pub(crate) word: usize,
    /// The bit.
    pub(crate) bit: i64,
}

/// Where an aggregate's words stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Accumulator {
    /// What is computed.
    pub(crate) aggregate: Aggregate,
    /// Its first word.
    pub(crate) at: usize,
    /// Set while no value went in; of no meaning for counts and averages.
    pub(crate) none: Flag,
}

/// The layout for a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    pub(crate) keys: Vec<ColumnIx>,
    pub(crate) accumulators: Vec<Accumulator>,
    /// A group before any value went in, its key columns 0 and not null.
    pub(crate) initial: Vec<i64>,
}

impl Layout {
    /// The layout for a plan.
    pub fn new(plan: &WindowPlan) -> Self {
        let keys = plan.keys.len();
        let nullable = plan.aggregates.iter().filter(|it| Self::is_nullable(**it)).count();
        let flag_words = (1 + keys + nullable).saturating_sub(16).div_ceil(64);
        let mut layout =
            Self { keys: plan.keys.clone(), accumulators: Vec::new(), initial: Vec::new() };
        layout.initial.resize(keys + 1 + flag_words, 0);
        let mut flag = 1 + keys;
        for aggregate in &plan.aggregates {
            let none = layout.flag(flag);
            layout.accumulators.push(Accumulator {
                aggregate: *aggregate,
                at: layout.initial.len(),
                none,
            });
            if Self::is_nullable(*aggregate) {
                layout.initial[none.word] |= none.bit;
                flag += 1;
            }
            match aggregate {
                Aggregate::Count | Aggregate::CountOf(_) | Aggregate::Sum(_) => {
                    layout.initial.push(0);
                }
                Aggregate::Min(_) => layout.initial.push(i64::MAX),
                Aggregate::Max(_) => layout.initial.push(i64::MIN),
                Aggregate::Avg(_) => layout.initial.extend([0, 0]),
            }
        }
        layout
    }

    /// Whether its being without any value shows in a flag.
    pub(crate) const fn is_nullable(aggregate: Aggregate) -> bool {
        matches!(aggregate, Aggregate::Sum(_) | Aggregate::Min(_) | Aggregate::Max(_))
    }

    /// Words per group.
    #[inline]
    pub(crate) const fn stride(&self) -> usize {
        self.initial.len()
    }

    /// Position of the word with the stamp and the first flags.
    #[inline]
    pub(crate) const fn stamp(&self) -> usize {
        self.keys.len()
    }

    /// Flag number `n`.
    #[inline]
    const fn flag(&self, n: usize) -> Flag {
        match n.checked_sub(16) {
            None => Flag { word: self.stamp(), bit: CHANGED << n },
            Some(more) => Flag { word: self.stamp() + 1 + more / 64, bit: 1 << (more % 64) },
        }
    }

    /// Set where key column `column` is null.
    #[inline]
    pub(crate) const fn null_key(&self, column: usize) -> Flag {
        self.flag(1 + column)
    }

    /// Key column `column` of a group's words.
    #[inline]
    pub(crate) fn key(&self, words: &[i64], column: usize) -> Option<i64> {
        let null = self.null_key(column);
        if words[null.word] & null.bit == 0 { Some(words[column]) } else { None }
    }

    /// The summed column where the plan is the usual one: one key, count and sum, in this order.
    pub(crate) fn usual(&self) -> Option<ColumnIx> {
        match (&self.keys[..], &self.accumulators[..]) {
            ([_], [count, sum]) if count.aggregate == Aggregate::Count => match sum.aggregate {
                Aggregate::Sum(column) => Some(column),
                _ => None,
            },
            _ => None,
        }
    }
}

/// What sums have left over, by group and word.
pub(crate) type Side = BTreeMap<(u32, u32), i128>;

/// Groups of one window or slice, in the order in which their keys first arrived. A window that is
/// put together from several slices has the keys of its first slice first.
#[derive(Clone, Debug)]
pub struct Groups {
    pub(crate) layout: Arc<Layout>,
    /// Words of the groups; those behind the last group mean nothing.
    pub(crate) words: Vec<i64>,
    /// How many groups.
    pub(crate) len: usize,
    /// What sums have left over.
    pub(crate) side: Side,
}

impl Groups {
    /// No groups.
    pub(crate) const fn new(layout: Arc<Layout>) -> Self {
        Self { layout, words: Vec::new(), len: 0, side: Side::new() }
    }

    /// Empty groups in used memory, if there is any.
    pub(crate) fn from_spare(spare: &mut Vec<Self>, layout: &Arc<Layout>) -> Self {
        match spare.pop() {
            Some(mut used) => {
                used.clear();
                if !Arc::ptr_eq(&used.layout, layout) {
                    used.layout = Arc::clone(layout);
                }
                used
            }
            None => Self::new(Arc::clone(layout)),
        }
    }

    /// Forgets all groups, keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.side.clear();
    }

    /// How many groups.
    #[inline]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Key column `column` (position in the plan's `keys`) of group `group`; `None` is null.
    #[inline]
    pub fn key(&self, group: usize, column: usize) -> Option<i64> {
        assert!(group < self.len, "there is no group {group}");
        assert!(column < self.layout.keys.len(), "a key has no column {column}");
        self.layout.key(self.of(group), column)
    }

    /// Aggregate `aggregate` (position in the plan's `aggregates`) of group `group`.
    #[inline]
    pub fn value(&self, group: usize, aggregate: usize) -> Value {
        assert!(group < self.len, "there is no group {group}");
        let words = self.of(group);
        let Accumulator { aggregate, at, none } = self.layout.accumulators[aggregate];
        match aggregate {
            Aggregate::Count | Aggregate::CountOf(_) => Value::Int(words[at]),
            Aggregate::Sum(_) | Aggregate::Min(_) | Aggregate::Max(_) if self.has(words, none) => {
                Value::Null
            }
            Aggregate::Min(_) | Aggregate::Max(_) => Value::Int(words[at]),
            Aggregate::Sum(_) => {
                let sum = self.sum(group, at);
                i64::try_from(sum).map_or(Value::Wide(sum), Value::Int)
            }
            Aggregate::Avg(_) if words[at + 1] == 0 => Value::Null,
            Aggregate::Avg(_) => {
                Value::Avg { sum: self.sum(group, at), count: words[at + 1] as u64 }
            }
        }
    }

    /// The words of all groups.
    pub(crate) fn all(&self) -> &[i64] {
        &self.words[..self.len * self.layout.stride()]
    }

    /// The words of a group.
    #[inline]
    pub(crate) fn of(&self, group: usize) -> &[i64] {
        let stride = self.layout.stride();
        &self.words[group * stride..(group + 1) * stride]
    }

    /// The words of each group, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[i64]> {
        self.all().chunks_exact(self.layout.stride())
    }

    /// The words of a group, to be changed.
    #[inline]
    pub(crate) fn of_mut(&mut self, group: usize) -> &mut [i64] {
        let stride = self.layout.stride();
        &mut self.words[group * stride..(group + 1) * stride]
    }

    /// The words of a group and what sums have left over, to be changed.
    #[inline]
    pub(crate) fn both(&mut self, group: usize) -> (&mut [i64], &mut Side) {
        let stride = self.layout.stride();
        (&mut self.words[group * stride..(group + 1) * stride], &mut self.side)
    }

    #[inline]
    fn has(&self, words: &[i64], flag: Flag) -> bool {
        words[flag.word] & flag.bit != 0
    }

    /// The sum whose word is `at`.
    #[inline]
    pub(crate) fn sum(&self, group: usize, at: usize) -> i128 {
        let word = i128::from(self.of(group)[at]);
        if self.side.is_empty() {
            return word;
        }
        let side = self.side.get(&(group as u32, at as u32)).copied().unwrap_or(0);
        side.saturating_add(word)
    }

    /// Bytes of memory held.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.words.capacity() * 8 + self.side.len() * 24) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{LatePolicy, LateRule, WindowSpec};
    use crate::time::Span;

    fn layout(keys: usize, aggregates: Vec<Aggregate>) -> Layout {
        Layout::new(&WindowPlan {
            time: "t".to_owned(),
            window: WindowSpec { size: Span(1), slide: Span(1), offset: Span(0) },
            keys: (0..keys).map(ColumnIx).collect(),
            aggregates,
            late: LateRule::Event,
            late_policy: LatePolicy::Drop,
        })
    }

    #[test]
    fn the_usual_plan_takes_four_words() {
        let usual = layout(1, vec![Aggregate::Count, Aggregate::Sum(ColumnIx(2))]);
        assert_eq!((usual.stride(), usual.usual()), (4, Some(ColumnIx(2))));
        assert_eq!(layout(2, vec![Aggregate::Count, Aggregate::Sum(ColumnIx(2))]).usual(), None);
    }

    #[test]
    fn many_columns_and_aggregates_have_a_flag_each() {
        let many = layout(70, vec![Aggregate::Sum(ColumnIx(0)); 70]);
        let keys = (0..70).map(|it| many.null_key(it));
        let flags = keys.chain(many.accumulators.iter().map(|it| it.none));
        let mut bits: Vec<_> = flags.map(|it| (it.word, it.bit as u64)).collect();
        assert!(bits.iter().all(|it| 70 <= it.0 && it.0 < many.accumulators[0].at));
        assert!(!bits.contains(&(70, CHANGED as u64)));
        bits.sort_unstable();
        bits.dedup();
        assert_eq!(bits.len(), 140);
    }
}
