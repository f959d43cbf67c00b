//! Writing: a (window, key) is written once (I13), updates add up to the complete result (I19), and
//! complete mode keeps everything (I20).
//!
//! I13 looks at every small firing and at one in some of the large ones for a key that stands twice.
//! I19 plays the keyed sink: last write wins. What it holds for a window must count the rows that the
//! records counted into it, after every step that touched the window. I20: nothing is removed or
//! late, every trigger writes all windows that ever had a row.
//!
//! A restart that loses the windows empties the sink and the state: counts begin at 0 again.
//!
//! Invariant: the sink of I19 holds open windows only.

use super::past::open::Seedless;
use super::past::{Past, Scope, fold_key};
use super::words::window;
use super::{Invariant, Observation};
use hashbrown::HashMap;
use plimsoll_engine::output::{Fate, Firing, FiringKind, StepKind};
use plimsoll_engine::plan::OutputMode;
use plimsoll_engine::state::layout::{Groups, Value};
use plimsoll_engine::time::EventTime;
use plimsoll_engine::window::Window;
use std::collections::BTreeMap;

/// I13.
pub const ONCE: &str = "I13 written_once";
/// I19.
pub const UPDATE: &str = "I19 update_equals_complete";
/// I20.
pub const COMPLETE: &str = "I20 complete_keeps_all";

/// Firings with at most this many groups are all searched for a key that stands twice.
const SMALL: usize = 64;
/// Of the others one in so many.
const SAMPLED: u64 = 16;

pub(super) fn once(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    if scope.grid.is_none() {
        return Err("windows on the watermark's column");
    }
    Ok(Box::new(Once::default()))
}

#[derive(Debug, Default)]
struct Once {
    keys: Vec<u128>,
    large: u64,
}

impl Invariant for Once {
    fn name(&self) -> &'static str {
        ONCE
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        for (firing, facts) in seen.output.firings.iter().zip(&past.firings) {
            if facts.again {
                let (it, step) = (window(firing.window), firing.step);
                return Err(format!("{it} was written twice in step {step}"));
            }
            if SMALL < firing.groups.len() {
                self.large += 1;
                if !self.large.is_multiple_of(SAMPLED) {
                    continue;
                }
            }
            let (groups, columns) = (&firing.groups, past.scope.keys.len());
            self.keys.clear();
            self.keys.extend((0..groups.len()).map(|it| key(groups, it, columns)));
            self.keys.sort_unstable();
            if self.keys.windows(2).any(|it| it[0] == it[1]) {
                let it = window(firing.window);
                return Err(format!("a key stands twice in what was written for {it}"));
            }
        }
        Ok(())
    }
}

fn key(groups: &Groups, group: usize, columns: usize) -> u128 {
    (0..columns).fold(0, |key, column| fold_key(key, groups.key(group, column)))
}

pub(super) fn update(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    if scope.mode != OutputMode::Update {
        return Err("update mode");
    }
    match (scope.count, scope.grid) {
        (Some(count), Some(_)) => {
            Ok(Box::new(Update { count, columns: scope.keys.len(), sink: BTreeMap::new() }))
        }
        _ => Err("a count of rows per window"),
    }
}

#[derive(Debug)]
struct Update {
    count: usize,
    columns: usize,
    /// By start of the window.
    sink: BTreeMap<EventTime, Held>,
}

/// What the sink holds of one window.
#[derive(Debug, Default)]
struct Held {
    rows: u64,
    last: HashMap<u128, u64, Seedless>,
}

impl Update {
    /// The sink takes a firing.
    fn take(&mut self, firing: &Firing) -> Result<u64, String> {
        let held = self.sink.entry(firing.window.start).or_default();
        for group in 0..firing.groups.len() {
            let Value::Int(rows) = firing.groups.value(group, self.count) else { continue };
            let rows = rows as u64;
            let key = key(&firing.groups, group, self.columns);
            let before = held.last.insert(key, rows).unwrap_or(0);
            if rows <= before {
                return Err(format!(
                    "an update of {} says {rows} rows after {before}: a group is written when it has \
                     changed, and its count only grows",
                    window(firing.window)
                ));
            }
            held.rows = held.rows - before + rows;
        }
        Ok(held.rows)
    }

    fn held(&self, of: Window) -> u64 {
        self.sink.get(&of.start).map_or(0, |it| it.rows)
    }
}

fn differs(of: Window, held: u64, counted: u64) -> Result<(), String> {
    if held == counted {
        return Ok(());
    }
    Err(format!(
        "a sink that keeps the last update of each key holds {held} rows for {}; by the records \
         {counted} were counted into it",
        window(of)
    ))
}

impl Invariant for Update {
    fn name(&self) -> &'static str {
        UPDATE
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        if past.windows_lost() {
            self.sink.clear();
        }
        for (firing, facts) in seen.output.firings.iter().zip(&past.firings) {
            let held = self.take(firing)?;
            differs(firing.window, held, facts.counted)?;
        }
        // Of an item with several steps the last one only: before it the sink was behind.
        let last = past.steps.len().wrapping_sub(1);
        for (_, touched, counted) in past.touched.iter().filter(|it| it.0 == last) {
            differs(*touched, self.held(*touched), *counted)?;
        }
        let Some(grid) = past.scope.grid else { return Ok(()) };
        while let Some(first) = self.sink.first_entry()
            && grid.end(first.key().0) <= past.frontier
        {
            first.remove();
        }
        Ok(())
    }
}

pub(super) fn complete(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    if scope.mode != OutputMode::Complete {
        return Err("complete mode");
    }
    Ok(Box::new(Complete { groups: 0 }))
}

#[derive(Debug)]
struct Complete {
    groups: u64,
}

impl Invariant for Complete {
    fn name(&self) -> &'static str {
        COMPLETE
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        if past.windows_lost() {
            self.groups = 0;
        }
        for record in &seen.output.steps {
            if 0 < record.groups_removed {
                let (step, groups) = (record.step, record.groups_removed);
                return Err(format!("step {step} removed {groups} groups"));
            }
        }
        if let Some(it) = seen.output.records.iter().find(|it| matches!(it.fate, Fate::Late(_))) {
            return Err(format!("row {} is late, though nothing ever closes", it.id.0));
        }
        if let Some(groups) = seen.view.groups {
            let before = std::mem::replace(&mut self.groups, groups);
            if groups < before {
                return Err(format!("state fell from {before} to {groups} groups"));
            }
        }
        let Some(last) = seen.output.steps.last().filter(|it| it.kind != StepKind::Probe) else {
            return Ok(());
        };
        let of_last = |it: &&Firing| it.step == last.step && it.kind == FiringKind::Complete;
        let written = seen.output.firings.iter().filter(of_last).count();
        let expected = past.windows_with_state();
        if past.scope.grid.is_some() && written != expected {
            let step = last.step;
            return Err(format!(
                "step {step} wrote {written} windows, but {expected} have had a row so far"
            ));
        }
        Ok(())
    }
}
