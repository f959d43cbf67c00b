//! What came out of a run, in a form that two runs can be compared in.
//!
//! A row is named by where its cells stand in the trace, not by its item number: a row keeps its name
//! when items are put in, taken out or moved around it.
//!
//! Invariant: every row of the trace is admitted, late or in `other`, and in one of them only.

use super::{No, plants};
use plimsoll_engine::late::LateRow;
use plimsoll_engine::output::{Fate, FigureNote, Firing, FiringKind, StepRecord};
use plimsoll_engine::row::{ItemId, PartitionId};
use plimsoll_engine::state::layout::Value;
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_engine::window::Window;
use plimsoll_sim::run::Run;
use plimsoll_sim::system::System;
use plimsoll_sim::system::engine::Engine;
use plimsoll_sim::trace::{Item, Trace};
use std::collections::BTreeMap;

/// Where a row's first cell stands.
pub(super) type Name = u32;

/// A key: one cell per grouping column.
pub(super) type Key = Vec<Option<i64>>;

/// The last figure of each window and key.
pub(super) type Finals = BTreeMap<(Window, Key), Vec<Value>>;

/// One figure as it was written.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Write {
    pub(super) step: u64,
    pub(super) kind: FiringKind,
    pub(super) window: Window,
    pub(super) key: Key,
    pub(super) values: Vec<Value>,
    pub(super) note: FigureNote,
}

/// A whole run.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Outcome {
    /// All rows.
    pub(super) rows: Vec<Name>,
    /// Rows late for some or all of their windows; item numbers are left out.
    pub(super) late: BTreeMap<Name, LateRow>,
    /// Rows with another record.
    pub(super) other: BTreeMap<Name, Fate>,
    /// Everything written, in order.
    pub(super) writes: Vec<Write>,
    /// All steps.
    pub(super) steps: Vec<StepRecord>,
}

impl Outcome {
    /// Runs a trace.
    pub(super) fn of(trace: &Trace) -> Result<Self, No> {
        Self::with_hashers(trace, 7)
    }

    /// Runs a trace under another seed of the hashers.
    pub(super) fn with_hashers(trace: &Trace, seed: u64) -> Result<Self, No> {
        let mut outcome = Self::default();
        let system = match plants::planted() {
            None => Engine::new(trace, seed).map(|it| Box::new(it) as Box<dyn System>),
            Some(plant) => plant.system(trace, seed),
        };
        let mut system = system.map_err(|_| No::Uncovered("a plan that is accepted"))?;
        let name = |id: ItemId| match trace.items[id.0 as usize - 1] {
            Item::Row(row) => row.cells,
            other => panic!("a record of item {}, which is no row: {other:?}", id.0),
        };
        outcome.rows = trace.items.iter().filter_map(|it| row_name(*it)).collect();
        let mut run = Run::new(trace, &mut *system, false);
        while let Some(seen) = run.step() {
            let seen = seen.map_err(|it| No::Broken(it.evidence))?;
            for record in &seen.output.records {
                match record.fate {
                    Fate::Late(late) => {
                        let mut late = LateRow { id: ItemId(0), ..late };
                        late.in_force.set_by = None;
                        outcome.late.insert(name(record.id), late);
                    }
                    fate => {
                        outcome.other.insert(name(record.id), fate);
                    }
                }
            }
            outcome.writes.extend(seen.output.firings.iter().flat_map(|it| writes(trace, it)));
            outcome.steps.extend(&seen.output.steps);
        }
        Ok(outcome)
    }

    /// The last figure of each window and key.
    pub(super) fn finals(&self) -> Finals {
        let named = |it: &Write| ((it.window, it.key.clone()), it.values.clone());
        self.writes.iter().map(named).collect()
    }

    /// How many windows each late row lost.
    pub(super) fn lost(&self) -> BTreeMap<Name, u32> {
        self.late.iter().map(|(name, it)| (*name, it.windows_lost)).collect()
    }

    /// Rows that were counted into no window because they were late.
    pub(super) fn dropped(&self) -> Vec<Name> {
        let whole = self.late.iter().filter(|it| it.1.windows_kept == 0);
        whole.map(|it| *it.0).collect()
    }

    /// The first row that this run admits into more windows than the other. `None` where the rows
    /// admitted here are a subset of those admitted there.
    pub(super) fn admits_beyond(&self, other: &Self) -> Option<String> {
        let there = self.other.iter().find(|it| other.other.get(it.0) != Some(it.1));
        if let Some((name, fate)) = there {
            return Some(format!("row {name} is {fate:?} in one run only"));
        }
        other.late.iter().find_map(|(name, late)| {
            let lost = self.late.get(name).map_or(0, |it| it.windows_lost);
            let more = lost < late.windows_lost && !self.other.contains_key(name);
            more.then(|| {
                format!(
                    "the row at {:?} (cells from {name}) loses {lost} windows here and {} there",
                    late.time, late.windows_lost
                )
            })
        })
    }

    /// The same with the writes of each step in order of window and key.
    pub(super) fn sorted(mut self) -> Self {
        self.writes.sort_by(|one, two| {
            let rank = |it: &Write| (it.step, it.window, it.key.clone());
            rank(one).cmp(&rank(two))
        });
        self
    }

    /// The same with all of event time moved by a span.
    pub(super) fn shifted(mut self, by: Span) -> Self {
        for late in self.late.values_mut() {
            late.time = late.time + by;
            late.in_force.watermark = late.in_force.watermark + by;
            late.in_force.candidate = late.in_force.candidate + by;
        }
        for write in &mut self.writes {
            let Window { start, end } = write.window;
            write.window = Window { start: start + by, end: end + by };
            write.note.watermark = write.note.watermark + by;
            write.note.candidate = write.note.candidate + by;
        }
        for step in &mut self.steps {
            let times: [&mut EventTime; 6] = [
                &mut step.late,
                &mut step.evict,
                &mut step.candidate,
                &mut step.watermark,
                &mut step.event_time_min,
                &mut step.event_time_max,
            ];
            for time in times {
                *time = *time + by;
            }
            step.event_time_sum += i128::from(by.0) * i128::from(step.event_time_rows);
        }
        self
    }

    /// The same with other numbers of partitions.
    pub(super) fn renumbered(mut self, to: impl Fn(PartitionId) -> PartitionId) -> Self {
        for late in self.late.values_mut() {
            late.partition = to(late.partition);
        }
        self
    }

    /// The first difference, in words.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        let steps = first(&self.steps, &other.steps, "step");
        let writes = || first(&self.writes, &other.writes, "figure");
        let late = || {
            let pairs = |it: &Self| it.late.clone().into_iter().collect::<Vec<_>>();
            first(&pairs(self), &pairs(other), "late row")
        };
        let fates = || {
            let pairs = |it: &Self| it.other.clone().into_iter().collect::<Vec<_>>();
            first(&pairs(self), &pairs(other), "fate")
        };
        steps.or_else(writes).or_else(late).or_else(fates)
    }
}

/// The first place at which two lists differ.
pub(super) fn first<T: PartialEq + std::fmt::Debug>(
    one: &[T],
    two: &[T],
    what: &str,
) -> Option<String> {
    let at = (0..one.len().max(two.len())).find(|at| one.get(*at) != two.get(*at))?;
    Some(format!("{what} {at} differs:\n  {:?}\n  {:?}", one.get(at), two.get(at)))
}

/// The name of an item that is a row.
pub(super) const fn row_name(item: Item) -> Option<Name> {
    match item {
        Item::Row(row) => Some(row.cells),
        _ => None,
    }
}

fn writes<'a>(trace: &'a Trace, firing: &'a Firing) -> impl Iterator<Item = Write> + 'a {
    let operator = trace.plan.operator.as_ref().expect("only windows fire");
    (0..firing.groups.len()).map(|group| Write {
        step: firing.step,
        kind: firing.kind,
        window: firing.window,
        key: (0..operator.keys.len()).map(|it| firing.groups.key(group, it)).collect(),
        values: (0..operator.aggregates.len()).map(|it| firing.groups.value(group, it)).collect(),
        note: firing.note,
    })
}
