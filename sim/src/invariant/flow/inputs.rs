//! Inputs: under the smallest, none of them vanishes because it does not report (I7).
//!
//! Every input with a watermark bounds W from above: by its largest event time so far less its delay,
//! whatever became of its rows. One that has shown nothing holds W at its first value. An input all of
//! whose partitions have finished bounds nothing more; a wall clock may add to every one.
//!
//! Invariant: an input's largest time never falls.

use super::super::past::{Past, Scope};
use super::super::words::time;
use super::super::{Invariant, Observation};
use super::followed;
use crate::trace::{Item, Trace};
use plimsoll_engine::output::{Fate, StepKind};
use plimsoll_engine::plan::Fallback;
use plimsoll_engine::plan::flow::{Mark, NullTime, Policy};
use plimsoll_engine::row::{ItemId, PartitionId};
use plimsoll_engine::time::EventTime;
use std::collections::BTreeMap;

/// I7.
pub const VANISHES: &str = "I7 no_input_vanishes";

pub(in super::super) fn vanishes(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    let flow = &followed(scope)?.flow;
    let marked = flow.inputs.iter().filter(|it| !it.marks.is_empty());
    if marked.count() < 2 || flow.policy != Policy::Min || flow.levels.is_some() {
        return Err("the smallest of several inputs");
    }
    let inputs = flow.inputs.iter().map(|it| Input {
        name: it.name.clone(),
        marks: it.marks.iter().map(|it| (*it, EventTime::MIN)).collect(),
        partitions: BTreeMap::new(),
        finished: false,
    });
    Ok(Box::new(Vanishes {
        inputs: inputs.collect(),
        initial: scope.initial,
        fallback: scope.fallback,
        epoch: flow.null_time == NullTime::Epoch,
        clock: EventTime::MIN,
    }))
}

#[derive(Debug)]
struct Input {
    name: String,
    /// What each mark has seen.
    marks: Vec<(Mark, EventTime)>,
    /// Whether each partition has finished.
    partitions: BTreeMap<PartitionId, bool>,
    /// Whether all had, at some time.
    finished: bool,
}

impl Input {
    fn most(&self) -> EventTime {
        if self.finished {
            return EventTime::MAX;
        }
        let most = self.marks.iter().map(|(mark, seen)| *seen - mark.delay);
        most.min().unwrap_or(EventTime::MAX)
    }
}

#[derive(Debug)]
struct Vanishes {
    inputs: Vec<Input>,
    initial: EventTime,
    fallback: Option<Fallback>,
    epoch: bool,
    /// What the wall clock alone justifies.
    clock: EventTime,
}

impl Vanishes {
    fn show(&mut self, trace: &Trace, id: ItemId, fates: &BTreeMap<ItemId, Fate>) {
        let Some(item) = trace.items.get((id.0 as usize).wrapping_sub(1)) else { return };
        let partition = match *item {
            Item::Row(row) => row.partition,
            Item::Heartbeat { partition, .. } | Item::Add { partition, .. } => partition,
            Item::Finish(partition) | Item::Remove(partition) => partition,
            _ => return,
        };
        let Some(input) = self.inputs.get_mut(partition.input()) else { return };
        match *item {
            Item::Row(row) => {
                input.partitions.entry(partition).or_insert(false);
                let gone = matches!(
                    fates.get(&id),
                    Some(Fate::TimeOutOfRange | Fate::AfterFinish | Fate::NotApplicable)
                );
                for (mark, seen) in input.marks.iter_mut().filter(|_| !gone) {
                    let own = trace.cells(row)[mark.column.0].or(self.epoch.then_some(0));
                    *seen = (*seen).max(own.map_or(EventTime::MIN, EventTime));
                }
            }
            Item::Heartbeat { time, .. } => {
                input.partitions.entry(partition).or_insert(false);
                for (_, seen) in input.marks.iter_mut().filter(|_| time.is_legal()) {
                    *seen = (*seen).max(time);
                }
            }
            Item::Add { .. } => _ = input.partitions.entry(partition).or_insert(false),
            Item::Finish(_) => {
                if let Some(it) = input.partitions.get_mut(&partition) {
                    *it = true;
                }
            }
            _ => _ = input.partitions.remove(&partition),
        }
        input.finished |= !input.partitions.is_empty() && input.partitions.values().all(|it| *it);
    }
}

impl Invariant for Vanishes {
    fn name(&self) -> &'static str {
        VANISHES
    }

    fn observe(&mut self, seen: &Observation<'_>, _: &Past) -> Result<(), String> {
        let fates = seen.output.records.iter().map(|it| (it.id, it.fate)).collect();
        self.show(seen.trace, seen.id, &fates);
        for step in seen.output.steps.iter().filter(|it| it.kind != StepKind::End) {
            if let Some(it) = self.fallback {
                self.clock = self.clock.max(EventTime(step.now.0) - it.behind);
            }
            for input in &self.inputs {
                let most = input.most().max(self.initial).max(self.clock);
                if most < step.watermark {
                    return Err(format!(
                        "W is {} after step {}, but the input {} has not shown more than {}",
                        time(step.watermark),
                        step.step,
                        input.name,
                        time(input.most())
                    ));
                }
            }
        }
        Ok(())
    }
}
