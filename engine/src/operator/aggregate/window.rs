//! Writing windows: what closes, what changed, what there is.
//!
//! A window that is one slice gives its groups away as they are. A window of several is put together
//! in used memory, over one index that is used again.
//!
//! Invariant: windows are written in ascending order of end, each (window, key) at most once a call.

use super::{Closing, WindowAggregate};
use crate::plan::OutputMode;
use crate::state::fold::{merge, merge_usual};
use crate::state::layout::{Groups, STAMP};
use crate::state::slices::{Part, Slices};
use crate::state::table::{Index, Keys, KeysOf, OneKeyOf, Open, RUN};
use crate::time::EventTime;
use crate::window::Window;
use std::sync::Arc;

impl WindowAggregate {
    /// Closes every window with end <= `evict`, in ascending order of end, and returns how many
    /// (window, key) groups were removed.
    ///
    /// In append mode its groups are written; in update mode those that changed since they were
    /// written last; in complete mode nothing happens at all.
    pub fn evict(
        &mut self,
        evict: EventTime,
        spare: &mut Vec<Groups>,
        out: &mut Vec<Closing>,
    ) -> u64 {
        if self.mode == OutputMode::Complete || evict <= self.evicted {
            return 0;
        }
        let mut removed = 0;
        if self.mode == OutputMode::Append && self.slices.assigner.one_slice_per_window() {
            while let Some(closing) = self.slices.take_first(evict, spare) {
                removed += closing.groups.len() as u64;
                out.push(closing);
            }
            self.evicted = evict;
            return removed;
        }
        let mut after = self.evicted;
        while let Some(window) = self.slices.next_window(after)
            && window.end <= evict
        {
            after = window.end;
            if self.mode == OutputMode::Append {
                let groups = self.whole(window, spare);
                removed += groups.len() as u64;
                self.push(window, groups, spare, out);
            } else {
                let groups = self.changed(window, spare);
                self.push(window, groups, spare, out);
                removed += count(&self.slices, window, &mut self.scratch, |_| true);
            }
        }
        self.slices.drop_closed(evict);
        self.evicted = evict;
        removed
    }

    /// Writes open windows, in ascending order of end: in update mode the groups that changed since
    /// the last call, in complete mode all groups, in append mode nothing.
    pub fn emit(&mut self, spare: &mut Vec<Groups>, out: &mut Vec<Closing>) {
        let mut after = self.evicted;
        match self.mode {
            OutputMode::Append => {}
            OutputMode::Complete => {
                while let Some(window) = self.slices.next_window(after) {
                    after = window.end;
                    let groups = self.whole(window, spare);
                    self.push(window, groups, spare, out);
                }
            }
            OutputMode::Update => {
                while let Some(window) = self.slices.next_changed(after) {
                    after = window.end;
                    let groups = self.changed(window, spare);
                    self.push(window, groups, spare, out);
                }
                self.slices.forget_changes();
            }
        }
    }

    /// Writes a window unless there is nothing to write.
    fn push(
        &self,
        window: Window,
        groups: Groups,
        spare: &mut Vec<Groups>,
        out: &mut Vec<Closing>,
    ) {
        if groups.is_empty() {
            spare.push(groups);
        } else {
            out.push(Closing { window, groups, opened: self.slices.opened(window) });
        }
    }

    /// (window, key) groups held, counted now.
    pub fn groups(&self) -> u64 {
        self.count_open(|_| true)
    }

    /// (window, key) groups that were touched in a step and are still held, counted now.
    pub fn groups_updated(&self, step: u64) -> u64 {
        let stamp = step as i64 & STAMP;
        let at = self.slices.layout.stamp();
        self.count_open(|words| words[at] & STAMP == stamp)
    }

    fn count_open(&self, counts: impl Fn(&[i64]) -> bool) -> u64 {
        let mut scratch = Index::new(0);
        let mut total = 0;
        let mut after = self.evicted;
        while let Some(window) = self.slices.next_window(after) {
            after = window.end;
            total += count(&self.slices, window, &mut scratch, &counts);
        }
        total
    }

    /// All groups of a window.
    fn whole(&mut self, window: Window, spare: &mut Vec<Groups>) -> Groups {
        let mut into = Groups::from_spare(spare, &self.slices.layout);
        let usual = self.slices.layout.usual().is_some();
        for part in self.slices.of_window(window) {
            let groups = &part.table.groups;
            if usual && groups.side.is_empty() {
                let keys = OneKeyOf(groups);
                for_each_added::<_, 4>(&mut self.scratch, &mut into, keys, groups.len(), {
                    |open, at, group| {
                        let (ours, side) = open.both::<4>(at);
                        merge_usual(ours, side, at, &groups.words[group * 4..group * 4 + 4]);
                    }
                });
            } else {
                let keys = KeysOf(groups);
                for_each_added::<_, 0>(&mut self.scratch, &mut into, keys, groups.len(), {
                    |open, at, group| {
                        let layout = open.layout;
                        let (ours, side) = open.both::<0>(at);
                        merge(layout, ours, side, at, groups, group);
                    }
                });
            }
        }
        self.scratch.clear();
        into
    }

    /// Those groups of a window that changed since they were written last.
    fn changed(&mut self, window: Window, spare: &mut Vec<Groups>) -> Groups {
        let mut into = Groups::from_spare(spare, &self.slices.layout);
        for part in self.slices.of_window(window) {
            let mut changed = part.changed.clone();
            changed.sort_unstable();
            let mut open = self.scratch.open(&mut into, changed.len());
            for group in changed {
                open.find_or_add::<_, 0>(KeysOf(&part.table.groups), group as usize);
            }
            open.close();
        }
        for Part { table, .. } in self.slices.of_window(window) {
            for group in 0..into.len() {
                if let Some(theirs) = table.index.find(&table.groups, KeysOf(&into), group) {
                    let layout = &self.slices.layout;
                    let (ours, side) = into.both(group);
                    merge(layout, ours, side, group, &table.groups, theirs);
                }
            }
        }
        self.scratch.clear();
        into
    }
}

/// Adds the keys numbered up to `count`, and calls `with` the number of the group that each has and
/// its own.
#[inline(always)]
fn for_each_added<K: Keys, const STRIDE: usize>(
    index: &mut Index,
    into: &mut Groups,
    keys: K,
    count: usize,
    mut with: impl FnMut(&mut Open<'_>, usize, usize),
) {
    // In runs, so that keys which are there already do not make the index grow.
    for from in (0..count).step_by(RUN) {
        let to = count.min(from + RUN);
        let mut open = index.open(into, to - from);
        for group in from..to {
            let at = open.find_or_add::<_, STRIDE>(keys, group);
            with(&mut open, at, group);
        }
        open.close();
    }
}

/// How many keys of a window have words that count.
fn count(
    slices: &Slices,
    window: Window,
    scratch: &mut Index,
    counts: impl Fn(&[i64]) -> bool,
) -> u64 {
    let mut parts = slices.of_window(window);
    let all = |it: &Part| it.table.groups.iter().filter(|words| counts(words)).count() as u64;
    let Some(first) = parts.next() else { return 0 };
    let Some(second) = parts.next() else { return all(first) };
    let mut seen = Groups::new(Arc::clone(&slices.layout));
    for part in [first, second].into_iter().chain(parts) {
        let groups = &part.table.groups;
        let mut open = scratch.open(&mut seen, groups.len());
        for (group, words) in groups.iter().enumerate() {
            if counts(words) {
                open.find_or_add::<_, 0>(KeysOf(groups), group);
            }
        }
        open.close();
    }
    scratch.clear();
    seen.len() as u64
}
