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
use crate::state::table::{Index, KeysOf, OneKeyOf};
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
            while let Some((window, groups)) = self.slices.take_first(evict, spare) {
                removed += groups.len() as u64;
                out.push(Closing { window, groups });
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
                push(window, groups, spare, out);
            } else {
                let groups = self.changed(window, spare);
                push(window, groups, spare, out);
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
                    push(window, groups, spare, out);
                }
            }
            OutputMode::Update => {
                while let Some(window) = self.slices.next_changed(after) {
                    after = window.end;
                    let groups = self.changed(window, spare);
                    push(window, groups, spare, out);
                }
                self.slices.forget_changes();
            }
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
            if usual {
                let keys = OneKeyOf(groups);
                for group in 0..groups.len() {
                    let at = self.scratch.find_or_add::<_, 4>(&mut into, keys, group);
                    merge_usual(&mut into, at, groups, group);
                }
            } else {
                for group in 0..groups.len() {
                    let at = self.scratch.find_or_add::<_, 0>(&mut into, KeysOf(groups), group);
                    merge(&mut into, at, groups, group);
                }
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
            for group in changed {
                let keys = KeysOf(&part.table.groups);
                self.scratch.find_or_add::<_, 0>(&mut into, keys, group as usize);
            }
        }
        self.scratch.clear();
        for group in 0..into.len() {
            for Part { table, .. } in self.slices.of_window(window) {
                if let Some(theirs) = table.index.find(&table.groups, KeysOf(&into), group) {
                    merge(&mut into, group, &table.groups, theirs);
                }
            }
        }
        into
    }
}

/// Writes a window unless there is nothing to write.
fn push(window: Window, groups: Groups, spare: &mut Vec<Groups>, out: &mut Vec<Closing>) {
    if groups.is_empty() {
        spare.push(groups);
    } else {
        out.push(Closing { window, groups });
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
        for group in 0..groups.len() {
            if counts(groups.of(group)) {
                scratch.find_or_add::<_, 0>(&mut seen, KeysOf(groups), group);
            }
        }
    }
    scratch.clear();
    seen.len() as u64
}
