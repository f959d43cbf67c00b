//! What was done: rows, the clock, probes, restarts, and changes of partitions.
//!
//! Partitions may come back after they were taken away, also under a number that the start did not
//! have; only a number that nothing ever introduced is an error.
//!
//! Invariant: a step names a partition that has been there, a subtask that its input has, a
//! checkpoint that was taken before it.

use super::super::{Errors, Node, Object};
use super::query::{self, Query};

/// One step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// A partition hands a row to its subtask.
    Event(Row),
    /// The clock goes on.
    Advance(u64),
    /// Every subtask does its periodic emission.
    Probe,
    /// A consistent checkpoint, under a name.
    Checkpoint(String),
    /// All tasks are replaced by new ones that start from it.
    Restore(String),
    /// The partition has nothing more.
    EndOfInput(u32),
    /// The partition is taken from its subtask.
    Remove(u32),
    /// A partition is assigned to a subtask of an input, by its place.
    Add {
        /// Which partition.
        partition: u32,
        /// To which subtask.
        subtask: u32,
        /// Of which input.
        input: usize,
    },
    /// A subtask is (no longer) kept from writing.
    Backpressure {
        /// Which one, of the only input.
        subtask: u32,
        /// Whether it is.
        on: bool,
    },
    /// The coordinator's limit reaches every subtask, in Flink's own number.
    Align(i64),
}

/// A row, as handed in and as listed when late.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Row {
    /// The event time.
    pub ts: i64,
    /// The partition.
    pub partition: u32,
    /// The key.
    pub k: String,
    /// The value.
    pub v: i64,
}

/// What the steps so far have introduced.
struct Known<'a> {
    query: &'a Query,
    partitions: Vec<u32>,
    checkpoints: Vec<&'a str>,
}

pub(super) fn read<'a>(
    node: &Node<'a>,
    query: &'a Query,
    errors: &mut Errors,
) -> Option<Vec<Step>> {
    let partitions = (0..query.partitions).collect();
    let mut known = Known { query, partitions, checkpoints: Vec::new() };
    node.each(errors, |it, errors| known.step(it, errors))
}

/// The names of steps.
#[derive(Clone, Copy)]
enum Name {
    Event,
    Advance,
    Probe,
    Checkpoint,
    Restore,
    EndOfInput,
    Remove,
    Add,
    Backpressure,
    Align,
}

const NAMES: [(&str, Name); 10] = [
    ("event", Name::Event),
    ("advance_processing_time_ms", Name::Advance),
    ("emit_periodic_watermark", Name::Probe),
    ("checkpoint", Name::Checkpoint),
    ("restore", Name::Restore),
    ("end_of_input", Name::EndOfInput),
    ("remove_partition", Name::Remove),
    ("add_partition", Name::Add),
    ("backpressure", Name::Backpressure),
    ("align", Name::Align),
];

impl<'a> Known<'a> {
    fn step(&mut self, node: &Node<'a>, errors: &mut Errors) -> Option<Step> {
        let mut step = node.object(errors)?;
        let given = NAMES.map(|(word, name)| step.take(word).map(|it| (name, it)));
        let mut given = given.into_iter().flatten();
        let (Some((name, value)), None) = (given.next(), given.next()) else {
            errors.unexpected(node, "exactly one of the steps");
            step.finish(errors);
            return None;
        };
        step.finish(errors);
        self.named(name, &value, errors)
    }

    fn named(&mut self, name: Name, value: &Node<'a>, errors: &mut Errors) -> Option<Step> {
        Some(match name {
            Name::Event => {
                let row = row(value, errors)?;
                self.has(&value.clone(), row.partition, errors)?;
                Step::Event(row)
            }
            Name::Advance => Step::Advance(value.count(errors)?),
            Name::Probe => {
                if !value.flag(errors)? {
                    errors.unexpected(value, "true");
                    return None;
                }
                Step::Probe
            }
            Name::Checkpoint => {
                let name = value.text(errors)?;
                self.checkpoints.push(name);
                Step::Checkpoint(name.to_owned())
            }
            Name::Restore => {
                let name = value.text(errors)?;
                if !self.checkpoints.contains(&name) {
                    errors.unexpected(value, "a checkpoint that was taken before");
                    return None;
                }
                Step::Restore(name.to_owned())
            }
            Name::EndOfInput => {
                let mut object = value.object(errors)?;
                let partition = self.partition(&mut object, errors);
                object.finish(errors);
                Step::EndOfInput(partition?)
            }
            Name::Remove => {
                let partition = query::number(value, errors)?;
                self.has(value, partition, errors)?;
                Step::Remove(partition)
            }
            Name::Add => self.add(value, errors)?,
            Name::Backpressure => self.backpressure(value, errors)?,
            Name::Align => {
                let mut object = value.object(errors)?;
                let limit = object.require("max_watermark_ms", errors);
                let limit = limit.and_then(|it| it.integer(errors));
                object.finish(errors);
                Step::Align(limit?)
            }
        })
    }

    fn has(&self, node: &Node<'_>, partition: u32, errors: &mut Errors) -> Option<()> {
        let has = self.partitions.contains(&partition);
        if !has {
            let found = format!("partition {partition}");
            errors.push(node.place(), "a partition that has been there", found);
        }
        has.then_some(())
    }

    fn partition(&self, object: &mut Object<'_>, errors: &mut Errors) -> Option<u32> {
        let node = object.require("partition", errors)?;
        let partition = query::number(&node, errors)?;
        self.has(&node, partition, errors)?;
        Some(partition)
    }

    fn subtask(&self, object: &mut Object<'_>, input: usize, errors: &mut Errors) -> Option<u32> {
        let node = object.require("subtask", errors)?;
        let subtask = query::number(&node, errors)?;
        let count = self.query.inputs[input].subtasks.len();
        if count <= subtask as usize {
            errors.unexpected(&node, format!("a subtask below {count}"));
            return None;
        }
        Some(subtask)
    }

    fn add(&mut self, node: &Node<'_>, errors: &mut Errors) -> Option<Step> {
        let mut object = node.object(errors)?;
        let partition = object.require("partition", errors);
        let partition = partition.and_then(|it| query::number(&it, errors));
        let names = || self.query.inputs.iter().map(|it| it.name.as_str());
        let input = match object.take("input") {
            Some(it) => {
                let words: Vec<(&str, usize)> = names().zip(0..).collect();
                it.word(&words, errors)
            }
            None if self.query.inputs.len() == 1 => Some(0),
            None => {
                errors.unexpected(node, "a field `input`, since there are two");
                None
            }
        };
        let subtask = input.and_then(|it| self.subtask(&mut object, it, errors));
        object.finish(errors);
        let (partition, subtask, input) = (partition?, subtask?, input?);
        self.partitions.push(partition);
        Some(Step::Add { partition, subtask, input })
    }

    fn backpressure(&self, node: &Node<'_>, errors: &mut Errors) -> Option<Step> {
        let mut object = node.object(errors)?;
        if self.query.inputs.len() != 1 {
            errors.unexpected(node, "one input only, since the step names none");
        }
        let subtask = self.subtask(&mut object, 0, errors);
        let on = object.require("on", errors).and_then(|it| it.flag(errors));
        object.finish(errors);
        Some(Step::Backpressure { subtask: subtask?, on: on? })
    }
}

/// Reads a row.
pub(super) fn row(node: &Node<'_>, errors: &mut Errors) -> Option<Row> {
    let mut row = node.object(errors)?;
    let partition = row.require("partition", errors).and_then(|it| query::number(&it, errors));
    let ts = row.require("ts", errors).and_then(|it| it.integer(errors));
    let k = row.require("k", errors).and_then(|it| it.text(errors));
    let v = row.require("v", errors).and_then(|it| it.integer(errors));
    row.finish(errors);
    Some(Row { ts: ts?, partition: partition?, k: k?.to_owned(), v: v? })
}
