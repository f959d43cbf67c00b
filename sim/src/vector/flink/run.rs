//! A script of a vector, run by our engine: the same steps, the same records.
//!
//! An event is a row, a clock step a tick, a periodic emission a probe. Checkpoint and restore are a
//! snapshot and what the profile says that a restart remembers of it; the clock goes on, and what is
//! replayed is what the script itself hands in again. A partition is numbered anew when it is assigned
//! to another subtask, since its number names the task that reads it; rows of one that nobody reads
//! just then do not arrive.
//!
//! Invariant: the run sees query and steps only, never what is expected of them.

use super::plan::{Mapped, map};
use super::{Emitted, FlinkVector, Operator, Query, Record, Row, State, Step};
use plimsoll_engine::job::Job;
use plimsoll_engine::late::LateRow;
use plimsoll_engine::output::{Fate, Output};
use plimsoll_engine::profile::{self, Profile};
use plimsoll_engine::row::{ItemId, PartitionId, RowBatch};
use plimsoll_engine::time::{EventTime, ProcTime, Span};
use plimsoll_engine::watermark::levels::Steer;
use plimsoll_engine::watermark::member::{Adoption, Change};
use std::collections::BTreeMap;

/// Runs a vector's query over its steps, under the rules of Flink.
///
/// # Errors
/// Why it cannot be run here.
pub fn run(vector: &FlinkVector) -> Result<Vec<Record>, String> {
    run_under(vector, profile::named("flink").ok_or("there is no profile of the engine")?)
}

/// The same under other rules: whether a vector tells them apart.
///
/// # Errors
/// Why it cannot be run here.
pub fn run_under(vector: &FlinkVector, profile: &Profile) -> Result<Vec<Record>, String> {
    let mut running = Running::new(&vector.query, profile)?;
    let steps = vector.steps.iter().enumerate();
    steps.map(|(ix, step)| running.step(ix, step)).collect()
}

/// A query that runs.
struct Running<'a> {
    query: &'a Query,
    mapped: Mapped,
    job: Job,
    out: Output,
    now: ProcTime,
    items: u64,
    rows: BTreeMap<ItemId, Row>,
    /// Under which number a partition is read now.
    assigned: BTreeMap<u32, PartitionId>,
    /// What each checkpoint has.
    saved: BTreeMap<String, Saved>,
}

#[derive(Clone)]
struct Saved {
    bytes: Vec<u8>,
    assigned: BTreeMap<u32, PartitionId>,
}

impl<'a> Running<'a> {
    fn new(query: &'a Query, profile: &Profile) -> Result<Self, String> {
        let mapped = map(query, profile)?;
        let job = Job::new(mapped.plan.clone(), ProcTime(0), 0);
        let mut running = Self {
            query,
            out: Output::new(&mapped.plan),
            mapped,
            job,
            now: ProcTime(0),
            items: 0,
            rows: BTreeMap::new(),
            assigned: BTreeMap::new(),
            saved: BTreeMap::new(),
        };
        for (input, of) in (0..).zip(&query.inputs) {
            for (subtask, partitions) in (0..).zip(&of.subtasks) {
                for partition in partitions {
                    running.assign(*partition, input, subtask);
                }
            }
        }
        Ok(running)
    }

    fn item(&mut self) -> ItemId {
        self.items += 1;
        ItemId(self.items)
    }

    fn assign(&mut self, partition: u32, input: u32, subtask: u32) {
        let id = PartitionId::of(input, subtask, partition);
        self.assigned.insert(partition, id);
        self.change(Change::Add(id, Adoption::WithoutWatermark));
    }

    fn change(&mut self, change: Change) {
        let id = self.item();
        self.job.change(id, change, self.now, &mut self.out);
    }

    fn steer(&mut self, steer: Steer) {
        let id = self.item();
        self.job.steer(id, steer, &mut self.out);
    }

    fn step(&mut self, ix: usize, step: &Step) -> Result<Record, String> {
        self.out.clear();
        match step {
            Step::Event(row) => self.arrive(row),
            Step::Advance(by) => self.tick(*by)?,
            Step::Probe => {
                let id = self.item();
                self.job.tick(id, self.now, &mut self.out);
            }
            Step::Checkpoint(name) => {
                let assigned = self.assigned.clone();
                self.saved.insert(name.clone(), Saved { bytes: self.job.snapshot(), assigned });
            }
            Step::Restore(name) => self.restore(name)?,
            Step::EndOfInput(partition) => {
                if let Some(id) = self.assigned.get(partition) {
                    self.change(Change::Finish(*id));
                }
            }
            Step::Remove(partition) => {
                if let Some(id) = self.assigned.remove(partition) {
                    self.change(Change::Remove(id));
                }
            }
            Step::Add { partition, subtask, input } => {
                let input = u32::try_from(*input).expect("one or two inputs");
                self.assign(*partition, input, *subtask);
            }
            Step::Backpressure { subtask, on } => {
                self.steer(Steer::Press { input: 0, task: *subtask as usize, on: *on });
            }
            // Flink's f is our f + 1.
            Step::Align(limit) => self.steer(Steer::Limit(EventTime(*limit) + Span(1))),
        }
        Ok(self.record(ix))
    }

    fn arrive(&mut self, row: &Row) {
        let Some(partition) = self.assigned.get(&row.partition).copied() else { return };
        let id = self.item();
        let key = self.job.dictionary.code(&row.k);
        let mut batch = RowBatch::new(self.mapped.plan.schema.columns.len());
        batch.push(id, partition, self.now, &[Some(row.ts), Some(key), Some(row.v)]);
        self.rows.insert(id, row.clone());
        self.job.arrive(&batch, &mut self.out);
    }

    fn tick(&mut self, by: u64) -> Result<(), String> {
        let by = i64::try_from(by).ok().filter(|it| *it <= Span::LEGAL);
        let by = by.ok_or("the clock goes on for longer than a span may be")?;
        // A tick of no length is a probe, which the script would have said.
        if 0 < by {
            self.now = self.now + Span(by);
            let id = self.item();
            self.job.tick(id, self.now, &mut self.out);
        }
        Ok(())
    }

    fn restore(&mut self, name: &str) -> Result<(), String> {
        let saved = self.saved.get(name).ok_or("no such checkpoint")?.clone();
        let (plan, rules) = (self.mapped.plan.clone(), self.mapped.profile.restore);
        self.job = Job::restore(plan, &saved.bytes, 0, rules).map_err(|it| it.to_string())?;
        self.job.wake(self.now);
        self.assigned = saved.assigned;
        Ok(())
    }

    /// What is there after a step.
    fn record(&self, ix: usize) -> Record {
        let watermark = match self.job.watermark() {
            EventTime::MIN => None,
            EventTime::MAX => Some(i64::MAX),
            ours => Some((ours - Span(1)).0),
        };
        let held = self.job.held();
        let [first, second] = held.first().copied().unwrap_or_default();
        Record {
            step: ix,
            watermark,
            idle: self.job.levels().is_some_and(|it| it.is_idle()),
            emitted: self.emitted(),
            late: self.late(),
            state: State { first, second },
        }
    }

    /// Rows of which every window was lost: Flink says nothing of the others.
    fn late(&self) -> Vec<Row> {
        let late = self
            .out
            .records
            .iter()
            .filter(|it| matches!(it.fate, Fate::Late(LateRow { windows_kept: 0, .. })));
        late.filter_map(|it| self.rows.get(&it.id).cloned()).collect()
    }

    fn emitted(&self) -> Vec<Emitted> {
        let emissions = &self.out.emissions;
        let notes = emissions.notes.iter().enumerate();
        notes.map(|(row, note)| self.result(&emissions.rows, row, note.time.0)).collect()
    }

    /// One result. Windows: start, end, time, key, aggregates; joins: ts, k, v of both sides.
    fn result(&self, rows: &RowBatch, row: usize, ts: i64) -> Emitted {
        let cell = |at: usize| rows.columns.get(at).and_then(|it| it.get(row)).unwrap_or(0);
        let text = |at| self.job.dictionary.text(cell(at)).unwrap_or_default().to_owned();
        match self.query.operator {
            Operator::Aggregation(_) => Emitted::Group {
                ts: cell(2),
                key: text(3),
                start: cell(0),
                end: cell(1),
                values: (4..rows.columns.len()).map(cell).collect(),
            },
            Operator::Join(_) => Emitted::Pair {
                ts,
                key: text(1),
                left: (cell(0), cell(2)),
                right: (cell(3), cell(5)),
            },
        }
    }
}
