//! How values go into accumulators: from rows, and from the groups of another slice.
//!
//! Values that are null do not count in sums, minima, maxima and averages. Where a plan is the usual
//! one and its columns hold no null, a row costs one count, one addition and one stamp.
//!
//! Invariant: folding rows one after the other equals folding any two parts of them and merging.

use crate::plan::Aggregate;
use crate::row::Column;
use crate::state::layout::{CHANGED, Groups, Layout, STAMP, Side};

/// Puts a row's values into a group.
pub(crate) trait Fold: Copy {
    /// Words per group where that is known beforehand; 0 where the layout says.
    const STRIDE: usize;
    /// Folds row `row` into the words of group `group`.
    fn fold(self, layout: &Layout, words: &mut [i64], side: &mut Side, group: usize, row: usize);
}

/// Adds to a word; what does not fit any more goes to the side.
#[inline(always)]
fn add(word: &mut i64, value: i64, side: &mut Side, group: usize, at: usize) {
    match word.checked_add(value) {
        Some(sum) => *word = sum,
        None => carry(side, group, at, i128::from(std::mem::replace(word, value))),
    }
}

#[cold]
#[inline(never)]
fn carry(side: &mut Side, group: usize, at: usize, value: i128) {
    let entry = side.entry((group as u32, at as u32)).or_insert(0);
    *entry = entry.saturating_add(value);
}

/// The usual plan over columns without nulls.
#[derive(Clone, Copy)]
pub(crate) struct CountAndSum<'a> {
    /// The summed column.
    pub(crate) values: &'a [i64],
    /// The stamp of this step.
    pub(crate) stamp: i64,
}

impl Fold for CountAndSum<'_> {
    const STRIDE: usize = 4;

    #[inline(always)]
    fn fold(self, _: &Layout, words: &mut [i64], side: &mut Side, group: usize, row: usize) {
        let [_, stamp, count, sum] = words else { unreachable!("the usual plan takes four words") };
        // No key is null and the sum has a value now: the only flag that may stay is this one.
        *stamp = *stamp & CHANGED | self.stamp;
        *count = count.wrapping_add(1);
        add(sum, self.values[row], side, group, 3);
    }
}

/// Any plan over any columns.
#[derive(Clone, Copy)]
pub(crate) struct Any<'a> {
    /// All columns of the batch.
    pub(crate) columns: &'a [Column],
    /// The stamp of this step.
    pub(crate) stamp: i64,
}

impl Fold for Any<'_> {
    const STRIDE: usize = 0;

    #[inline]
    fn fold(self, layout: &Layout, words: &mut [i64], side: &mut Side, group: usize, row: usize) {
        let stamp = &mut words[layout.stamp()];
        *stamp = *stamp & !STAMP | self.stamp;
        for it in &layout.accumulators {
            let value = match it.aggregate.column() {
                None => 0,
                Some(column) => match self.columns[column.0].get(row) {
                    Some(value) => value,
                    None => continue,
                },
            };
            let at = it.at;
            match it.aggregate {
                Aggregate::Count | Aggregate::CountOf(_) => {
                    words[at] = words[at].wrapping_add(1);
                    continue;
                }
                Aggregate::Min(_) => words[at] = words[at].min(value),
                Aggregate::Max(_) => words[at] = words[at].max(value),
                Aggregate::Sum(_) => add(&mut words[at], value, side, group, at),
                Aggregate::Avg(_) => {
                    add(&mut words[at], value, side, group, at);
                    words[at + 1] = words[at + 1].wrapping_add(1);
                    continue;
                }
            }
            words[it.none.word] &= !it.none.bit;
        }
    }
}

/// Adds group `theirs` of `from` to the words of group `group`; both have the same layout.
#[inline]
pub(crate) fn merge(
    layout: &Layout,
    ours: &mut [i64],
    side: &mut Side,
    group: usize,
    from: &Groups,
    theirs: usize,
) {
    let their_side = |at| {
        if from.side.is_empty() { None } else { from.side.get(&(theirs as u32, at as u32)) }
    };
    let theirs = from.of(theirs);
    for it in &layout.accumulators {
        let at = it.at;
        match it.aggregate {
            Aggregate::Count | Aggregate::CountOf(_) => {
                ours[at] = ours[at].wrapping_add(theirs[at]);
                continue;
            }
            Aggregate::Min(_) => ours[at] = ours[at].min(theirs[at]),
            Aggregate::Max(_) => ours[at] = ours[at].max(theirs[at]),
            Aggregate::Sum(_) | Aggregate::Avg(_) => {
                add(&mut ours[at], theirs[at], side, group, at);
                if let Some(more) = their_side(at) {
                    carry(side, group, at, *more);
                }
                if let Aggregate::Avg(_) = it.aggregate {
                    ours[at + 1] = ours[at + 1].wrapping_add(theirs[at + 1]);
                    continue;
                }
            }
        }
        if theirs[it.none.word] & it.none.bit == 0 {
            ours[it.none.word] &= !it.none.bit;
        }
    }
}

/// [`merge`] for the usual plan, where `from` has nothing on the side.
#[inline(always)]
pub(crate) fn merge_usual(ours: &mut [i64], side: &mut Side, group: usize, theirs: &[i64]) {
    let ([_, flags, count, sum], [_, their_flags, their_count, their_sum]) = (ours, theirs) else {
        unreachable!("the usual plan takes four words")
    };
    // The flag of the sum stays only where neither had a value.
    *flags &= their_flags | !(CHANGED << 2);
    *count = count.wrapping_add(*their_count);
    add(sum, *their_sum, side, group, 3);
}
