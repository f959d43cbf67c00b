//! What came out of a run, in a form that two runs can be compared in.
//!
//! A row is named by where its cells stand in the trace, not by its item number: a row keeps its name
//! when items are put in, taken out or moved around it.
//!
//! Invariant: every row of the trace is admitted, late or in `other`, and in one of them only.

use super::{No, plants};
use plimsoll_engine::late::LateRow;
use plimsoll_engine::output::{
    EmissionKind, EmissionNote, Fate, FigureNote, Firing, FiringKind, Remark, RemarkKind,
    StageRecord, StepRecord,
};
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

/// One row as a flow wrote it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Emitted {
    pub(super) note: EmissionNote,
    pub(super) cells: Vec<Option<i64>>,
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
    /// Everything that a flow wrote, in order.
    pub(super) emitted: Vec<Emitted>,
    /// What contradicts it; names instead of item numbers.
    pub(super) remarks: Vec<Remark>,
    /// What each stage of a flow did in each step.
    pub(super) stages: Vec<StageRecord>,
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
        // Behind the first stage a row may have been caused by a batch.
        let named = |id: ItemId| {
            let row = row_name(trace.items[id.0 as usize - 1]);
            ItemId(row.map_or(u64::MAX, u64::from))
        };
        outcome.rows = trace.items.iter().filter_map(|it| row_name(*it)).collect();
        // With digests checkpoints are really taken.
        let mut run = Run::new(trace, &mut *system, trace.items.contains(&Item::Checkpoint));
        while let Some(seen) = run.step() {
            let seen = seen.map_err(|it| No::Broken(it.evidence))?;
            for record in &seen.output.records {
                match record.fate {
                    Fate::Late(late) => {
                        let mut late = LateRow { id: ItemId(0), ..late };
                        late.in_force.set_by = None;
                        outcome.late.insert(name(record.id), late);
                    }
                    Fate::Duplicate { of } => {
                        let fate = Fate::Duplicate { of: named(of) };
                        outcome.other.insert(name(record.id), fate);
                    }
                    fate => {
                        outcome.other.insert(name(record.id), fate);
                    }
                }
            }
            outcome.writes.extend(seen.output.firings.iter().flat_map(|it| writes(trace, it)));
            outcome.steps.extend(&seen.output.steps);
            let (rows, notes) = (&seen.output.emissions.rows, &seen.output.emissions.notes);
            assert_eq!(rows.len(), notes.len(), "one note per row written");
            outcome.emitted.extend(notes.iter().zip(0..).map(|(note, row)| Emitted {
                note: *note,
                cells: rows.columns.iter().map(|it| it.get(row)).collect(),
            }));
            outcome.stages.extend(&seen.output.stages);
            outcome.remarks.extend(seen.output.remarks.iter().map(|it| Remark {
                id: named(it.id),
                kind: match it.kind {
                    RemarkKind::DuplicateAfterExpiry { first } => {
                        RemarkKind::DuplicateAfterExpiry { first: named(first) }
                    }
                    RemarkKind::Refuted { unmatched } => {
                        RemarkKind::Refuted { unmatched: named(unmatched) }
                    }
                    split @ RemarkKind::SessionSplit { .. } => split,
                },
                ..*it
            }));
        }
        Ok(outcome)
    }

    /// The last figure of each window and key.
    pub(super) fn finals(&self) -> Finals {
        let named = |it: &Write| ((it.window, it.key.clone()), it.values.clone());
        self.writes.iter().map(named).collect()
    }

    /// The last total of each window and key of a flow that ends in windows, by its first columns:
    /// start, end, time and keys.
    pub(super) fn flow_finals(&self, keys: usize) -> BTreeMap<Key, Key> {
        let written = self.emitted.iter().filter(|it| it.note.kind != EmissionKind::Retraction);
        let named = written.map(|it| it.cells.split_at(3 + keys));
        named.map(|(name, values)| (name.to_vec(), values.to_vec())).collect()
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

    /// The first row that loses more windows to lateness in this run than in the other. `None` where
    /// the rows that are late here are a subset of those that are late there.
    pub(super) fn drops_beyond(&self, other: &Self) -> Option<String> {
        self.late.iter().find_map(|(name, late)| {
            let lost = other.late.get(name).map_or(0, |it| it.windows_lost);
            (lost < late.windows_lost).then(|| {
                format!(
                    "the row at {:?} (cells from {name}) loses {} windows here and {lost} there",
                    late.time, late.windows_lost
                )
            })
        })
    }

    /// What was written, without its steps, in order of what it says.
    pub(super) fn published(&self) -> Vec<Emitted> {
        let unstepped = |it: &Emitted| {
            let note = EmissionNote { step: 0, ..it.note };
            Emitted { note, cells: it.cells.clone() }
        };
        let mut all: Vec<Emitted> = self.emitted.iter().map(unstepped).collect();
        all.sort();
        all
    }

    /// The same with the writes of each step in order of window and key.
    pub(super) fn sorted(mut self) -> Self {
        self.emitted.sort();
        self.writes.sort_by(|one, two| {
            let rank = |it: &Write| (it.step, it.window, it.key.clone());
            rank(one).cmp(&rank(two))
        });
        self
    }

    /// The same with all of event time moved by a span; `times` are the columns of a flow's output
    /// that hold times.
    pub(super) fn shifted(mut self, by: Span, times: &[usize]) -> Self {
        for it in &mut self.emitted {
            it.note.time = it.note.time + by;
            for column in times {
                if let Some(time) = &mut it.cells[*column] {
                    *time = (EventTime(*time) + by).0;
                }
            }
        }
        for it in &mut self.stages {
            (it.late, it.evict) = (it.late.map(|it| it + by), it.evict.map(|it| it + by));
        }
        for it in &mut self.remarks {
            if let RemarkKind::SessionSplit { start, end } = &mut it.kind {
                (*start, *end) = (*start + by, *end + by);
            }
        }
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
        let emitted = || first(&self.emitted, &other.emitted, "emission");
        let stages = || first(&self.stages, &other.stages, "record of a stage");
        let remarks = || first(&self.remarks, &other.remarks, "remark");
        let of_rows = steps.or_else(late).or_else(fates);
        of_rows.or_else(writes).or_else(emitted).or_else(stages).or_else(remarks)
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
