//! How values go into accumulators: from rows, and from the groups of another slice.
//!
//! Values that are null do not count in sums, minima, maxima and averages. Where a plan is the usual
//! one and its columns hold no null, a row costs one count, one addition and one stamp.
//!
//! Invariant: folding rows one after the other equals folding any two parts of them and merging.

use crate::plan::Aggregate;
use crate::row::Column;
use crate::state::layout::{CHANGED, Groups, STAMP};

/// Puts a row's values into a group.
pub(crate) trait Fold: Copy {
    /// Words per group where that is known beforehand; 0 where the layout says.
    const STRIDE: usize;
    /// Folds row `row` into group `group`.
    fn fold(self, groups: &mut Groups, group: usize, row: usize);
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
    fn fold(self, groups: &mut Groups, group: usize, row: usize) {
        let value = self.values[row];
        let [_, stamp, count, sum] = &mut groups.words[group * 4..group * 4 + 4] else {
            unreachable!("the usual plan takes four words")
        };
        // No key is null and the sum has a value now: the only flag that may stay is this one.
        *stamp = *stamp & CHANGED | self.stamp;
        *count = count.wrapping_add(1);
        match sum.checked_add(value) {
            Some(fits) => *sum = fits,
            None => {
                let left = std::mem::replace(sum, value);
                groups.carry(group, 3, i128::from(left));
            }
        }
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
    fn fold(self, groups: &mut Groups, group: usize, row: usize) {
        let Groups { layout, words, side } = groups;
        let stride = layout.stride();
        let words = &mut words[group * stride..(group + 1) * stride];
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
                Aggregate::Sum(_) | Aggregate::Avg(_) => {
                    let (sum, left) = words[at].overflowing_add(value);
                    if left {
                        let entry = side.entry((group as u32, at as u32)).or_insert(0);
                        *entry = entry.saturating_add(i128::from(words[at]));
                        words[at] = value;
                    } else {
                        words[at] = sum;
                    }
                    if let Aggregate::Avg(_) = it.aggregate {
                        words[at + 1] = words[at + 1].wrapping_add(1);
                        continue;
                    }
                }
            }
            words[it.none.word] &= !it.none.bit;
        }
    }
}

/// Adds group `from_group` of `from` to group `into_group` of `into`; both have the same layout.
#[inline]
pub(crate) fn merge(into: &mut Groups, into_group: usize, from: &Groups, from_group: usize) {
    let theirs = from.of(from_group);
    let Groups { layout, words, side } = into;
    let stride = layout.stride();
    let ours = &mut words[into_group * stride..(into_group + 1) * stride];
    let mut carry = |at: usize, value: i128| {
        let entry = side.entry((into_group as u32, at as u32)).or_insert(0);
        *entry = entry.saturating_add(value);
    };
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
                let (sum, left) = ours[at].overflowing_add(theirs[at]);
                if left {
                    carry(at, i128::from(ours[at]));
                    ours[at] = theirs[at];
                } else {
                    ours[at] = sum;
                }
                if !from.side.is_empty()
                    && let Some(more) = from.side.get(&(from_group as u32, at as u32))
                {
                    carry(at, *more);
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

/// [`merge`] for the usual plan.
#[inline(always)]
pub(crate) fn merge_usual(into: &mut Groups, into_group: usize, from: &Groups, from_group: usize) {
    let theirs = &from.words[from_group * 4..from_group * 4 + 4];
    let ours = &mut into.words[into_group * 4..into_group * 4 + 4];
    match ours[3].checked_add(theirs[3]) {
        Some(sum) if from.side.is_empty() => {
            ours[2] = ours[2].wrapping_add(theirs[2]);
            ours[3] = sum;
            // The flag of the sum stays only where neither had a value.
            ours[1] &= theirs[1] | !(CHANGED << 2);
        }
        _ => merge(into, into_group, from, from_group),
    }
}
