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

mod reborn;
pub mod saved;
#[cfg(test)]
mod tests;
mod window;

use crate::late;
use crate::operator::LateBound;
use crate::plan::check::window_column;
use crate::plan::{LateRule, OutputMode, Plan};
use crate::row::RowBatch;
use crate::state::fold::{Any, CountAndSum, Fold};
use crate::state::layout::{CHANGED, Layout, STAMP};
pub use crate::state::slices::Closing;
use crate::state::slices::{Part, Slices};
use crate::state::table::{Columns, Index, Keys, OneColumn, RUN};
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
    block: Block,
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
        Self {
            rule: window.late,
            mode: plan.output,
            time: window_column(plan).expect("a checked plan with windows has a time column").0,
            slices: Slices::new(Assigner::new(window.window), layout, hash_seed),
            evicted: EventTime::MIN,
            scratch: Index::new(hash_seed),
            block: Block::default(),
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
        assert!(u32::try_from(rows.len()).is_ok(), "a batch has fewer than 2^32 rows");
        self.slices.step = step;
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

    /// Rows are taken in blocks and sorted by slice, which costs no branch per row; then each
    /// slice's rows go into its table in one run.
    fn apply_by<K: Keys, F: Fold>(
        &mut self,
        rows: Rows<'_>,
        start: usize,
        keys: K,
        fold: F,
        exceptions: &mut Vec<Exception>,
    ) -> u64 {
        let mut counted = 0;
        let mut block = std::mem::take(&mut self.block);
        for from in (start..rows.end).step_by(BLOCK) {
            let before = exceptions.len();
            block.start(from..rows.end.min(from + BLOCK), rows.skip);
            for round in 0.. {
                let Some(first) = block.first() else { break };
                let time = EventTime(rows.times[first]);
                // Rows all over time: not sorted any further, each one looked up.
                let alone = round == ROUNDS;
                let slice = if alone { EVERYWHERE } else { self.slices.slice(time) };
                let doubtful = block.split(rows, slice, self.evicted.0);
                if alone || doubtful {
                    for i in 0..block.inside {
                        let row = [block.list[i]];
                        let time = EventTime(rows.times[row[0] as usize]);
                        let bound = rows.late.of(row[0] as usize);
                        if let Some(number) = self.judge(row[0] as usize, time, bound, exceptions) {
                            self.put(number, keys, fold, &row);
                            counted += 1;
                        }
                    }
                } else if let Some(number) = self.slices.main(time) {
                    self.put(number, keys, fold, &block.list[..block.inside]);
                    counted += block.inside as u64;
                } else {
                    for row in &block.list[..block.inside] {
                        let row = *row as usize;
                        let bound = rows.late.of(row);
                        exceptions.push(Exception {
                            row,
                            lost: 0,
                            kept: 0,
                            no_window: true,
                            bound,
                        });
                    }
                }
            }
            exceptions[before..].sort_unstable_by_key(|it| it.row);
        }
        self.block = block;
        counted
    }

    /// Puts rows into a part.
    #[inline]
    fn put<K: Keys, F: Fold>(&mut self, number: usize, keys: K, fold: F, rows: &[u32]) {
        let part = self.slices.part_mut(number);
        if self.mode == OutputMode::Update {
            match F::STRIDE {
                4 => put::<K, F, 4, true>(part, keys, fold, rows),
                _ => put::<K, F, 0, true>(part, keys, fold, rows),
            }
            let name = (part.slice.start, part.from);
            if !part.changed.is_empty() {
                self.slices.changed.insert(name);
            }
        } else {
            match F::STRIDE {
                4 => put::<K, F, 4, false>(part, keys, fold, rows),
                _ => put::<K, F, 0, false>(part, keys, fold, rows),
            }
        }
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
        if self.slices.assigner.one_slice_per_window() {
            return self.slices.iter().next().map(|it| it.last_end);
        }
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

/// Rows per block, how many slices of a block get a run of their own.
const BLOCK: usize = 1024;
const ROUNDS: usize = 12;
const EVERYWHERE: Window = Window { start: EventTime::MIN, end: EventTime::MAX };

/// A block of rows, being sorted by slice. Used again for every block.
#[derive(Debug, Default)]
struct Block {
    /// Its first row.
    from: usize,
    /// Rows of the slice at hand: the first `inside`.
    list: Vec<u32>,
    inside: usize,
    /// Rows of other slices, counted from `from`: the first `outside`.
    rest: Vec<u32>,
    outside: usize,
    /// Nothing was sorted yet and no row is passed over: `rest` is 0, 1, 2 and so on, unwritten.
    whole: bool,
}

impl Block {
    fn start(&mut self, rows: Range<usize>, skip: &[bool]) {
        let count = rows.len();
        if self.list.len() < count {
            self.list.resize(count, 0);
            self.rest.resize(count, 0);
        }
        (self.from, self.outside, self.whole) = (rows.start, count, skip.is_empty());
        if !skip.is_empty() {
            self.outside = 0;
            for (i, skip) in (0..).zip(&skip[rows]) {
                self.rest[self.outside] = i;
                self.outside += usize::from(!skip);
            }
        }
    }

    fn first(&self) -> Option<usize> {
        match self.outside {
            0 => None,
            _ if self.whole => Some(self.from),
            _ => Some(self.from + self.rest[0] as usize),
        }
    }

    /// Moves the rows of a slice from the rest to the list, both in order. Whether any of them is
    /// not later than its bound and what was evicted, and so may be lost for some window.
    fn split(&mut self, rows: Rows<'_>, slice: Window, evicted: i64) -> bool {
        let times = &rows.times[self.from..rows.end];
        match rows.late {
            LateBound::Same(bound) => {
                let latest = bound.0.max(evicted);
                self.split_by(times, slice, |_| latest)
            }
            LateBound::PerRow(bounds) => {
                let bounds = &bounds[self.from..rows.end];
                self.split_by(times, slice, |i| bounds[i].0.max(evicted))
            }
        }
    }

    #[inline(always)]
    fn split_by(&mut self, times: &[i64], slice: Window, latest: impl Fn(usize) -> i64) -> bool {
        if std::mem::take(&mut self.whole) {
            self.sort::<true>(times, slice, latest)
        } else {
            self.sort::<false>(times, slice, latest)
        }
    }

    #[inline(always)]
    fn sort<const WHOLE: bool>(
        &mut self,
        times: &[i64],
        slice: Window,
        latest: impl Fn(usize) -> i64,
    ) -> bool {
        let low = slice.start.0;
        let span = slice.end.0.wrapping_sub(low) as u64;
        let from = self.from as u32;
        let rest = &mut self.rest[..self.outside];
        let list = &mut self.list[..rest.len()];
        let (mut inside, mut outside) = (0, 0);
        let mut doubtful = false;
        for i in 0..rest.len() {
            let at = if WHOLE { i as u32 } else { rest[i] };
            let time = times[at as usize];
            let is_inside = (time.wrapping_sub(low) as u64) < span;
            list[inside] = from + at;
            rest[outside] = at;
            inside += usize::from(is_inside);
            outside += usize::from(!is_inside);
            doubtful |= is_inside & (time <= latest(at as usize));
        }
        (self.inside, self.outside) = (inside, outside);
        doubtful
    }
}

/// Puts rows into a part, in order.
#[inline(always)]
fn put<K: Keys, F: Fold, const STRIDE: usize, const UPDATE: bool>(
    part: &mut Part,
    keys: K,
    fold: F,
    rows: &[u32],
) {
    let stamp = part.table.groups.layout.stamp();
    for run in rows.chunks(RUN) {
        let mut open = part.table.index.open(&mut part.table.groups, run.len());
        for row in run {
            let row = *row as usize;
            let group = open.find_or_add::<K, STRIDE>(keys, row);
            let layout = open.layout;
            let (words, side) = open.both::<STRIDE>(group);
            fold.fold(layout, words, side, group, row);
            if UPDATE && words[stamp] & CHANGED == 0 {
                words[stamp] |= CHANGED;
                part.changed.push(group as u32);
            }
        }
        open.close();
    }
}
