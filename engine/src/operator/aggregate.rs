//! The windowed aggregation: counts, sums and extremes per window and key.
//!
//! Judging is [`late::windows_lost`]; a row later than its bound and later than what was evicted is
//! lost for none of its windows under any rule, so the usual row needs one comparison. Above the rule
//! stands one thing more: a window that was evicted is never written again, whatever a bound says.
//!
//! Output modes differ in what is kept in mind: append writes a window's groups once, when it closes;
//! update writes those that changed; complete writes all, judges nobody and evicts nothing.
//!
//! Invariant: a row is counted into exactly those of its windows that it has not lost.
//! Source: semantics sections 3, 4 and 8.

pub mod saved;
#[cfg(test)]
mod tests;
mod window;

use crate::late;
use crate::operator::LateBound;
use crate::plan::{LateRule, OutputMode, Plan};
use crate::row::{ColumnKind, RowBatch};
use crate::state::fold::{Any, CountAndSum, Fold};
use crate::state::layout::{CHANGED, Groups, Layout, STAMP};
use crate::state::slices::{Part, Slices};
use crate::state::table::{Columns, Index, Keys, OneColumn};
use crate::time::EventTime;
use crate::window::Window;
use crate::window::assign::Assigner;
use std::ops::Range;
use std::sync::Arc;

/// The windowed aggregation of one plan.
#[derive(Debug)]
pub struct WindowAggregate {
    rule: LateRule,
    mode: OutputMode,
    /// Position of the event-time column.
    time: usize,
    slices: Slices,
    /// The highest value that evicted so far.
    evicted: EventTime,
    /// Used while a window is put together from its slices.
    scratch: Index,
}

/// A row that was not simply counted into all its windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exception {
    /// Its number in the batch.
    pub row: usize,
    /// How many of its windows it lost: the earliest ones.
    pub lost: u32,
    /// How many it was counted into.
    pub kept: u32,
    /// It is in no window at all.
    pub no_window: bool,
    /// The bound that it was judged by; `MIN` in complete mode, where nobody is judged.
    pub bound: EventTime,
}

/// One window to be written: what the pipeline turns into a firing.
#[derive(Clone, Debug)]
pub struct Closing {
    /// The window.
    pub window: Window,
    /// Its groups, those that are to be written.
    pub groups: Groups,
}

/// What stays the same over one call of [`WindowAggregate::apply`].
#[derive(Clone, Copy)]
struct Rows<'a> {
    times: &'a [i64],
    end: usize,
    skip: &'a [bool],
    late: LateBound<'a>,
}

impl WindowAggregate {
    /// The operator of a checked plan, without state.
    pub fn new(plan: &Plan, hash_seed: u64) -> Self {
        let Some(window) = &plan.operator else { panic!("this plan has no operator") };
        let layout = Arc::new(Layout::new(window));
        let mut columns = plan.schema.columns.iter();
        let time = match &plan.watermark {
            Some(watermark) => Some(watermark.column.0),
            None => columns.position(|it| it.kind == ColumnKind::Time),
        };
        Self {
            rule: window.late,
            mode: plan.output,
            time: time.expect("a checked plan with windows has a time column"),
            slices: Slices::new(Assigner::new(window.window), layout, hash_seed),
            evicted: EventTime::MIN,
            scratch: Index::new(hash_seed),
        }
    }

    /// Judges and applies `rows[range]`, and returns how many rows were counted into a window.
    ///
    /// Rows with `skip[row]` are passed over; an empty `skip` passes over none. Times must be legal
    /// and not null. In complete mode nothing is late.
    pub fn apply(
        &mut self,
        rows: &RowBatch,
        range: Range<usize>,
        skip: &[bool],
        late: LateBound<'_>,
        step: u64,
        exceptions: &mut Vec<Exception>,
    ) -> u64 {
        let late = match self.mode {
            OutputMode::Complete => LateBound::Same(EventTime::MIN),
            OutputMode::Append | OutputMode::Update => late,
        };
        let start = range.start;
        let times = &rows.columns[self.time].values;
        let rows_here = Rows { times, end: range.end.min(times.len()), skip, late };
        let columns = &rows.columns[..];
        let stamp = step as i64 & STAMP;
        let layout = Arc::clone(&self.slices.layout);
        let fold = Any { columns, stamp };
        match &layout.keys[..] {
            [key] if !columns[key.0].has_nulls() => {
                let null = layout.null_key(0).bit;
                let keys = OneColumn { values: &columns[key.0].values, null };
                match layout.usual().map(|it| &columns[it.0]) {
                    Some(column) if !column.has_nulls() => {
                        let fold = CountAndSum { values: &column.values, stamp };
                        self.apply_by(rows_here, start, keys, fold, exceptions)
                    }
                    _ => self.apply_by(rows_here, start, keys, fold, exceptions),
                }
            }
            _ => {
                let keys = Columns { layout: &layout, columns };
                self.apply_by(rows_here, start, keys, fold, exceptions)
            }
        }
    }

    fn apply_by<K: Keys, F: Fold>(
        &mut self,
        rows: Rows<'_>,
        start: usize,
        keys: K,
        fold: F,
        exceptions: &mut Vec<Exception>,
    ) -> u64 {
        let update = self.mode == OutputMode::Update;
        let mut counted = 0;
        let mut row = start;
        while row < rows.end {
            if !rows.skip.is_empty() && rows.skip[row] {
                row += 1;
                continue;
            }
            let time = EventTime(rows.times[row]);
            let bound = rows.late.of(row);
            // Rows that are later than both are lost for no window.
            let part = if bound.max(self.evicted) < time { self.slices.lately(time) } else { None };
            let number = match part {
                Some(number) => number,
                None => match self.judge(row, time, bound, exceptions) {
                    Some(number) => number,
                    None => {
                        row += 1;
                        continue;
                    }
                },
            };
            let after = self.evicted.0.saturating_add(1);
            let part = self.slices.part_mut(number);
            let from = row;
            put(part, keys, fold, row, update);
            row += 1;
            if part.from == EventTime::MIN {
                row = match rows.late {
                    LateBound::Same(bound) => {
                        let after = after.max(bound.0.saturating_add(1));
                        run(part, rows, row, after, |_, _| true, keys, fold, update)
                    }
                    LateBound::PerRow(bounds) => {
                        let bounds = &bounds[..rows.end];
                        let is_later = |row: usize, time: i64| bounds[row].0 < time;
                        run(part, rows, row, after, is_later, keys, fold, update)
                    }
                };
            }
            counted += (row - from) as u64;
            if !part.changed.is_empty() {
                let name = (part.slice.start, part.from);
                self.slices.changed.insert(name);
            }
        }
        counted
    }

    /// Judges a row in full; the part that it goes to, if it counts anywhere.
    fn judge(
        &mut self,
        row: usize,
        time: EventTime,
        bound: EventTime,
        exceptions: &mut Vec<Exception>,
    ) -> Option<usize> {
        let assigner = &self.slices.assigner;
        let (mut lost, count) = late::windows_lost(self.rule, assigner, time, bound);
        let mut from = EventTime::MIN;
        if self.mode == OutputMode::Complete {
            lost = 0;
        } else if lost < count {
            let closed = |it: &Window| it.closes_at(self.evicted);
            lost = lost.max(assigner.windows(time).take_while(closed).count() as u32);
            if 0 < lost
                && let Some(last) = assigner.windows(time).nth(lost as usize - 1)
            {
                from = if last.closes_at(self.evicted) { EventTime::MIN } else { last.end };
            }
        }
        let kept = count - lost;
        if 0 < lost || count == 0 {
            exceptions.push(Exception { row, lost, kept, no_window: count == 0, bound });
        }
        if kept == 0 { None } else { Some(self.slices.open(time, from)) }
    }

    /// From this watermark on, until it reaches the returned one, nothing new can close.
    #[inline]
    pub fn next_end(&self, watermark: EventTime) -> EventTime {
        self.slices.assigner.next_end(watermark)
    }

    /// End of the earliest window that has state and is not closed.
    pub fn oldest_end(&self) -> Option<EventTime> {
        let mut after = self.evicted;
        while let Some(window) = self.slices.next_window(after) {
            if self.slices.of_window(window).next().is_some() {
                return Some(window.end);
            }
            after = window.end;
        }
        None
    }

    /// Bytes of memory held, used or kept for later.
    pub fn memory_bytes(&self) -> u64 {
        self.slices.memory_bytes() + self.scratch.memory_bytes()
    }
}

/// Puts one row into a part.
#[inline(always)]
fn put<K: Keys, F: Fold>(part: &mut Part, keys: K, fold: F, row: usize, update: bool) {
    let groups = &mut part.table.groups;
    let group = match F::STRIDE {
        4 => part.table.index.find_or_add::<K, 4>(groups, keys, row),
        _ => part.table.index.find_or_add::<K, 0>(groups, keys, row),
    };
    fold.fold(groups, group, row);
    if update {
        let at = groups.layout.stamp();
        let word = &mut groups.of_mut(group)[at];
        if *word & CHANGED == 0 {
            *word |= CHANGED;
            part.changed.push(group as u32);
        }
    }
}

/// Puts rows into a part as long as they belong there without doubt; the number of the first that
/// does not.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the hot loop: everything it needs, in registers")]
fn run<K: Keys, F: Fold>(
    part: &mut Part,
    rows: Rows<'_>,
    start: usize,
    after: i64,
    is_later: impl Fn(usize, i64) -> bool,
    keys: K,
    fold: F,
    update: bool,
) -> usize {
    let low = part.slice.start.0.max(after);
    let span = part.slice.end.0.saturating_sub(low).max(0) as u64;
    let times = &rows.times[..rows.end];
    let mut row = start;
    while row < times.len() {
        let time = times[row];
        if span <= time.wrapping_sub(low) as u64
            || !is_later(row, time)
            || (!rows.skip.is_empty() && rows.skip[row])
        {
            break;
        }
        put(part, keys, fold, row, update);
        row += 1;
    }
    row
}
