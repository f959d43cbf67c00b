//! A script of a vector, told to the reference instead of the engine.
//!
//! The same steps as in [`super::run()`], as the items of a trace. A restart that forgets is the
//! engine's business: to the reference a crash is invisible, so scripts with one are not told.
//!
//! Invariant: the reference sees query and steps only, never what is expected of them.

use super::plan::map;
use super::{Emitted, FlinkVector, Operator, Record, Row, State, Step};
use crate::oracle::flow::{EmissionExpected, ExpectedFlow, FlowFate, FlowOracle, covers};
use crate::trace::{Item, Trace};
use plimsoll_engine::profile;
use plimsoll_engine::row::{Dictionary, ItemId, PartitionId};
use plimsoll_engine::time::{EventTime, ProcTime, Span};
use plimsoll_engine::watermark::levels::Steer;
use plimsoll_engine::watermark::member::Adoption;
use std::collections::BTreeMap;

/// What the reference says of each step; what is held is not said.
///
/// # Errors
/// Why it says nothing of this script.
pub fn reference(vector: &FlinkVector) -> Result<Vec<Record>, String> {
    if vector.steps.iter().any(|it| matches!(it, Step::Restore(_))) {
        return Err("a restart that forgets".to_owned());
    }
    let profile = profile::named("flink").ok_or("there is no profile of the engine")?;
    let mapped = map(&vector.query, profile)?;
    let plan = (*mapped.plan).clone();
    let (items, cells, dictionary) = (Vec::new(), Vec::new(), Dictionary::default());
    let trace = Trace { plan, clock: ProcTime(0), dictionary, items, cells };
    covers(&trace)?;
    let oracle = FlowOracle::new(&trace);
    let (assigned, rows) = (BTreeMap::new(), BTreeMap::new());
    let mut told = Told { vector, trace, oracle, assigned, rows };
    for (input, of) in (0..).zip(&vector.query.inputs) {
        for (subtask, partitions) in (0..).zip(&of.subtasks) {
            for partition in partitions {
                let add = told.assign(*partition, input, subtask);
                told.item(add);
            }
        }
    }
    Ok(vector.steps.iter().enumerate().map(|(ix, step)| told.step(ix, step)).collect())
}

struct Told<'a> {
    vector: &'a FlinkVector,
    trace: Trace,
    oracle: FlowOracle,
    /// Under which number a partition is read now.
    assigned: BTreeMap<u32, PartitionId>,
    rows: BTreeMap<ItemId, Row>,
}

impl Told<'_> {
    fn assign(&mut self, partition: u32, input: u32, subtask: u32) -> Item {
        let id = PartitionId::of(input, subtask, partition);
        self.assigned.insert(partition, id);
        Item::Add { partition: id, adoption: Adoption::WithoutWatermark }
    }

    fn item(&mut self, item: Item) -> ExpectedFlow {
        self.trace.items.push(item);
        let id = ItemId(self.trace.items.len() as u64);
        self.oracle.observe(&self.trace, id, &item).clone()
    }

    fn row(&mut self, row: &Row) -> Option<Item> {
        let partition = self.assigned.get(&row.partition).copied()?;
        let key = self.trace.dictionary.code(&row.k);
        self.trace.push_row(partition, &[Some(row.ts), Some(key), Some(row.v)]);
        let item = self.trace.items.pop();
        self.rows.insert(ItemId(self.trace.items.len() as u64 + 1), row.clone());
        item
    }

    fn step(&mut self, ix: usize, step: &Step) -> Record {
        let item = match step {
            Step::Event(row) => self.row(row),
            Step::Advance(by) => {
                i64::try_from(*by).ok().filter(|it| 0 < *it).map(|it| Item::Tick(Span(it)))
            }
            Step::Probe => Some(Item::Probe),
            Step::Checkpoint(_) | Step::Restore(_) => None,
            Step::EndOfInput(partition) => self.assigned.get(partition).map(|it| Item::Finish(*it)),
            Step::Remove(partition) => self.assigned.remove(partition).map(Item::Remove),
            Step::Add { partition, subtask, input } => {
                let input = u32::try_from(*input).expect("one or two inputs");
                Some(self.assign(*partition, input, *subtask))
            }
            Step::Backpressure { subtask, on } => {
                let task = *subtask as usize;
                Some(Item::Steer(Steer::Press { input: 0, task, on: *on }))
            }
            // Flink's f is our f + 1.
            Step::Align(limit) => Some(Item::Steer(Steer::Limit(EventTime(*limit) + Span(1)))),
        };
        let expected = item.map(|it| self.item(it)).unwrap_or_default();
        let watermark = match self.oracle.watermark() {
            EventTime::MIN => None,
            EventTime::MAX => Some(i64::MAX),
            ours => Some((ours - Span(1)).0),
        };
        // Flink says nothing of a row that is late for some of its windows only.
        let late = |it: FlowFate| matches!(it, FlowFate::Late { kept: 0, .. });
        let late = expected.verdicts.iter().filter(|it| late(it.fate));
        Record {
            step: ix,
            watermark,
            idle: self.oracle.is_idle(),
            emitted: expected.emissions.iter().map(|it| self.emitted(it)).collect(),
            late: late.filter_map(|it| self.rows.get(&it.id).cloned()).collect(),
            state: State::default(),
        }
    }

    /// Windows: start, end, time, key, aggregates; joins: ts, k, v of both sides.
    fn emitted(&self, it: &EmissionExpected) -> Emitted {
        let cell = |at: usize| it.cells.get(at).copied().flatten().unwrap_or(0);
        let text = |at| self.trace.dictionary.text(cell(at)).unwrap_or_default().to_owned();
        match self.vector.query.operator {
            Operator::Aggregation(_) => Emitted::Group {
                ts: cell(2),
                key: text(3),
                start: cell(0),
                end: cell(1),
                values: (4..it.cells.len()).map(cell).collect(),
            },
            Operator::Join(_) => Emitted::Pair {
                ts: it.time.0,
                key: text(1),
                left: (cell(0), cell(2)),
                right: (cell(3), cell(5)),
            },
        }
    }
}
