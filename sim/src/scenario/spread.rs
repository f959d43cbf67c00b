//! Which input and which task each partition of a world belongs to.
//!
//! Models number partitions from 0 and know nothing of inputs. A plain plan takes the numbers as they
//! are. In a flow they go round the inputs that speak, then round the tasks of each, so that the
//! first partitions of a world are one of every input. An input that never speaks gets none.
//!
//! Invariant: different numbers are different partitions.

use crate::trace::Item;
use plimsoll_engine::plan::Plan;
use plimsoll_engine::row::PartitionId;

/// How partitions are spread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Spread {
    /// The tasks of every input that speaks; empty for a plain plan.
    tasks: Vec<u32>,
}

impl Spread {
    /// For a plan of which so many inputs, the first ones, speak; `None` for a plain plan.
    pub(super) fn new(plan: &Plan, speaking: Option<u32>) -> Self {
        let levels = plan.flow.as_ref().and_then(|it| it.levels.as_ref());
        let tasks = |input: usize| levels.and_then(|it| it.tasks.get(input)).copied().unwrap_or(1);
        let speaking = speaking.map_or(0, |it| it.max(1)) as usize;
        Self { tasks: (0..speaking).map(|it| tasks(it).max(1)).collect() }
    }

    /// The partition that models call by this number.
    pub(super) fn partition(&self, number: u32) -> PartitionId {
        if self.tasks.is_empty() {
            return PartitionId(number);
        }
        let inputs = self.tasks.len() as u32;
        let (input, within) = (number % inputs, number / inputs);
        let tasks = self.tasks[input as usize];
        PartitionId::of(input, within % tasks, within / tasks)
    }

    /// The same item, of the partition that is meant.
    pub(super) fn item(&self, mut item: Item) -> Item {
        if let Some(partition) = item.partition_mut() {
            *partition = self.partition(partition.0);
        }
        item
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_input_and_every_task_has_its_turn_and_no_two_numbers_are_one_partition() {
        let spread = Spread { tasks: vec![2, 1] };
        let all: Vec<PartitionId> = (0..6).map(|it| spread.partition(it)).collect();
        let places: Vec<_> = all.iter().map(|it| (it.input(), it.task(), it.number())).collect();
        assert_eq!(places, [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 0, 1), (0, 0, 1), (1, 0, 2)]);
        let many: BTreeSet<_> = (0..500).map(|it| spread.partition(it)).collect();
        assert_eq!(many.len(), 500);
        let plain = Spread { tasks: Vec::new() };
        assert_eq!(plain.partition(7), PartitionId(7));
    }
}
