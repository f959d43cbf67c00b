//! The open slices of time, each with its table.
//!
//! A row updates the one slice that holds it; a window is put together from its slices when it is
//! written. The slices used last are remembered, so that the usual row costs one comparison of a range
//! and no division. Windows that touch no slice are never visited.
//!
//! Under rule W a row may be lost for some of its windows and count in the later ones. While a lost
//! window is still to be written the row must not show in it, so such rows go to a *part* of the
//! slice of their own, which counts only in windows that end after `from`. Where the lost windows are
//! written already, the row goes to the main part like any other: nobody reads those again.
//!
//! Invariant: a part exists only while it has a group and a window that holds it is open.

use crate::state::fold::merge;
use crate::state::layout::{CHANGED, Groups, Layout};
use crate::state::table::{KeysOf, Table};
use crate::time::EventTime;
use crate::window::Window;
use crate::window::assign::Assigner;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The name of a part: the start of its slice, and after which window ends it counts.
pub(crate) type PartName = (EventTime, EventTime);

/// The rows of one slice that count in the windows which end after `from`.
#[derive(Debug)]
pub(crate) struct Part {
    /// The slice.
    pub(crate) slice: Window,
    /// It counts in windows with a later end only; `MIN` for the main part.
    pub(crate) from: EventTime,
    /// End of the first window that holds the slice.
    pub(crate) first_end: EventTime,
    /// End of the last window that holds the slice.
    pub(crate) last_end: EventTime,
    /// The step of its first row.
    pub(crate) opened: u64,
    /// The groups.
    pub(crate) table: Table,
    /// Groups that changed since they were written last (update mode only).
    pub(crate) changed: Vec<u32>,
}

/// One window to be written: what the pipeline turns into a firing.
#[derive(Clone, Debug)]
pub struct Closing {
    /// The window.
    pub window: Window,
    /// Its groups, those that are to be written.
    pub groups: Groups,
    /// The step of its first row.
    pub opened: u64,
}

/// All open slices.
#[derive(Debug)]
pub(crate) struct Slices {
    pub(crate) assigner: Assigner,
    pub(crate) layout: Arc<Layout>,
    seed: u64,
    /// Parts by number; those in `free` are empty.
    parts: Vec<Part>,
    free: Vec<usize>,
    order: BTreeMap<PartName, usize>,
    /// The parts with changed groups.
    pub(crate) changed: BTreeSet<PartName>,
    /// The step that is at work: parts that are opened now are opened by it.
    pub(crate) step: u64,
    /// Main parts used lately.
    recent: [usize; RECENT],
}

const RECENT: usize = 8;
const NOWHERE: Window = Window { start: EventTime::MAX, end: EventTime::MAX };

impl Slices {
    /// No slices yet.
    pub(crate) fn new(assigner: Assigner, layout: Arc<Layout>, seed: u64) -> Self {
        Self {
            assigner,
            layout,
            seed,
            parts: Vec::new(),
            free: Vec::new(),
            order: BTreeMap::new(),
            changed: BTreeSet::new(),
            step: 0,
            recent: [usize::MAX; RECENT],
        }
    }

    /// The slice that holds `time`, or the hole between windows that does.
    #[inline]
    pub(crate) fn slice(&self, time: EventTime) -> Window {
        match self.lately(time) {
            Some(number) => self.parts[number].slice,
            None => self.assigner.slice(time),
        }
    }

    /// The main part of a slice that holds `time`; `None` where it is in no window.
    #[inline]
    pub(crate) fn main(&mut self, time: EventTime) -> Option<usize> {
        if let Some(number) = self.lately(time) {
            return Some(number);
        }
        if self.assigner.window_count(time) == 0 {
            return None;
        }
        Some(self.open(time, EventTime::MIN))
    }

    /// The main part of the slice that holds `time`, if it was used lately.
    #[inline]
    fn lately(&self, time: EventTime) -> Option<usize> {
        let holds = |it: &usize| self.parts.get(*it).is_some_and(|it| it.slice.contains(time));
        self.recent.iter().copied().find(holds)
    }

    /// The part of the slice that holds `time` which counts after `from`; made if it is not there.
    /// The time must be in a window.
    pub(crate) fn open(&mut self, time: EventTime, from: EventTime) -> usize {
        let slice = self.assigner.slice(time);
        let name = (slice.start, from);
        let number = match self.order.get(&name) {
            Some(number) => *number,
            None => self.add(slice, from),
        };
        if from == EventTime::MIN {
            self.recent.rotate_right(1);
            self.recent[0] = number;
        }
        number
    }

    fn add(&mut self, slice: Window, from: EventTime) -> usize {
        let windows = self.assigner.windows(slice.start);
        let first_end = windows.map(|it| it.end).next().unwrap_or(EventTime::MIN);
        let last_end = self.assigner.window_from(self.assigner.frame(slice.start)).end;
        assert!(first_end != EventTime::MIN, "a slice is in a window");
        let number = match self.free.pop() {
            Some(number) => {
                let part = &mut self.parts[number];
                (part.slice, part.from) = (slice, from);
                (part.first_end, part.last_end) = (first_end, last_end);
                part.opened = self.step;
                number
            }
            None => {
                let table = Table::new(&self.layout, self.seed);
                let changed = Vec::new();
                let opened = self.step;
                self.parts.push(Part { slice, from, first_end, last_end, opened, table, changed });
                self.parts.len() - 1
            }
        };
        self.order.insert((slice.start, from), number);
        number
    }

    /// The part of this number.
    #[inline]
    pub(crate) fn part_mut(&mut self, number: usize) -> &mut Part {
        &mut self.parts[number]
    }

    /// All parts in order of time.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Part> {
        self.order.values().map(|it| &self.parts[*it])
    }

    /// The parts that count in a window, in order of time.
    pub(crate) fn of_window(&self, window: Window) -> impl Iterator<Item = &Part> {
        let range = (window.start, EventTime::MIN)..(window.end, EventTime::MIN);
        self.order
            .range(range)
            .map(|(_, number)| &self.parts[*number])
            .filter(move |it| it.from < window.end)
    }

    /// The step of the first row of a window.
    pub(crate) fn opened(&self, window: Window) -> u64 {
        self.of_window(window).map(|it| it.opened).min().unwrap_or(self.step)
    }

    /// The first window after `after` (by its end) that touches a part.
    pub(crate) fn next_window(&self, after: EventTime) -> Option<Window> {
        next_window(&self.assigner, after, |start| {
            self.order.range((start, EventTime::MIN)..).next().map(|(name, _)| name.0)
        })
    }

    /// The first window after `after` (by its end) that touches a part with changed groups.
    pub(crate) fn next_changed(&self, after: EventTime) -> Option<Window> {
        next_window(&self.assigner, after, |start| {
            self.changed.range((start, EventTime::MIN)..).next().map(|name| name.0)
        })
    }

    /// From now on nothing has changed.
    pub(crate) fn forget_changes(&mut self) {
        let at = self.layout.stamp();
        for name in std::mem::take(&mut self.changed) {
            let part = &mut self.parts[self.order[&name]];
            for group in part.changed.drain(..) {
                part.table.groups.of_mut(group as usize)[at] &= !CHANGED;
            }
        }
    }

    /// Takes the groups of a window that is one slice out of the state, if it has any.
    pub(crate) fn take_first(
        &mut self,
        evict: EventTime,
        spare: &mut Vec<Groups>,
    ) -> Option<Closing> {
        let entry = self.order.first_entry()?;
        let part = &mut self.parts[*entry.get()];
        if evict < part.last_end {
            return None;
        }
        let groups = part.table.take(Groups::from_spare(spare, &self.layout));
        let window = Window { start: part.slice.start, end: part.last_end };
        let opened = part.opened;
        self.drop_first();
        Some(Closing { window, groups, opened })
    }

    /// Drops all parts whose last window has closed.
    pub(crate) fn drop_closed(&mut self, evict: EventTime) {
        while let Some(entry) = self.order.first_entry()
            && self.parts[*entry.get()].last_end <= evict
        {
            self.drop_first();
        }
    }

    /// What is there now counts in windows only that end after `closed`.
    pub(crate) fn count_after(&mut self, closed: EventTime) {
        self.recent = [usize::MAX; RECENT];
        let latest = self.assigner.next_end(closed) - self.assigner.slide();
        for (name, number) in std::mem::take(&mut self.order) {
            let part = &mut self.parts[number];
            let was_closed = part.first_end <= closed;
            part.from = if was_closed { part.from.max(latest) } else { part.from };
            let now = (part.slice.start, part.from);
            if self.changed.remove(&name) {
                self.changed.insert(now);
            }
            match self.order.get(&now) {
                None => _ = self.order.insert(now, number),
                Some(first) => self.join(*first, number),
            }
        }
    }

    /// Two parts that count in the same windows become one.
    fn join(&mut self, first: usize, second: usize) {
        let stamp = self.layout.stamp();
        let empty = Table::new(&self.layout, self.seed);
        let theirs = std::mem::replace(&mut self.parts[second].table, empty);
        let opened = self.parts[second].opened;
        self.parts[second].slice = NOWHERE;
        self.parts[second].changed.clear();
        self.free.push(second);
        let part = &mut self.parts[first];
        part.opened = part.opened.min(opened);
        let Table { index, groups } = &mut part.table;
        let mut open = index.open(groups, theirs.groups.len());
        for group in 0..theirs.groups.len() {
            let at = open.find_or_add::<_, 0>(KeysOf(&theirs.groups), group);
            let (ours, side) = open.both::<0>(at);
            merge(&self.layout, ours, side, at, &theirs.groups, group);
            if theirs.groups.of(group)[stamp] & CHANGED & !ours[stamp] != 0 {
                ours[stamp] |= CHANGED;
                part.changed.push(at as u32);
            }
        }
        open.close();
    }

    fn drop_first(&mut self) {
        if let Some((name, number)) = self.order.pop_first() {
            let part = &mut self.parts[number];
            part.table.clear();
            part.changed.clear();
            part.slice = NOWHERE;
            self.changed.remove(&name);
            self.free.push(number);
        }
    }

    /// Bytes of memory held.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let part = |it: &Part| {
            it.table.index.memory_bytes()
                + it.table.groups.memory_bytes()
                + (it.changed.capacity() * 4 + size_of::<Part>()) as u64
        };
        self.parts.iter().map(part).sum()
    }
}

/// The first window that ends after `after` and touches a slice; `first_at` says where the first slice
/// at or after a time starts. Jumps over the windows between.
fn next_window(
    assigner: &Assigner,
    after: EventTime,
    first_at: impl Fn(EventTime) -> Option<EventTime>,
) -> Option<Window> {
    if after == EventTime::MAX {
        return None;
    }
    let end = assigner.next_end(after);
    // A slice that starts before this start is in no window that ends at `end` or later.
    let start = EventTime(end.0.saturating_sub(assigner.size().0));
    let slice = first_at(start)?;
    if after.is_finite() && slice < end {
        return Some(Window { start, end });
    }
    assigner.windows(slice).next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::WindowSpec;
    use crate::time::Span;

    #[test]
    fn only_windows_that_touch_a_slice_are_visited() {
        let assigner =
            Assigner::new(WindowSpec { size: Span(10), slide: Span(4), offset: Span(1) });
        let far = 1 << 61;
        let slices: BTreeSet<EventTime> =
            [-far, -5, 3, far].map(|it| assigner.slice(EventTime(it)).start).into();
        let first_at = |start| slices.range(start..).next().copied();
        let mut visited = Vec::new();
        let mut after = EventTime::MIN;
        while let Some(window) = next_window(&assigner, after, first_at) {
            visited.push(window);
            after = window.end;
        }
        let mut expected: Vec<Window> =
            slices.iter().flat_map(|it| assigner.windows(*it)).collect();
        expected.sort_unstable();
        expected.dedup();
        assert_eq!(visited, expected);
    }
}
