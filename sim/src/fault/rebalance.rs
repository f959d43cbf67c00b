//! Rebalances: partitions move, appear, go away and finish.
//!
//! A move takes the watermark along, or starts with nothing, or adopts the group's, which makes rows
//! late that nobody lost (semantics 12). An added partition may be new or be there already; then the
//! item makes no sense and is ignored.
//!
//! Invariant: only partitions below the count are named, or the next one, which then counts.

use crate::entropy::Stream;
use crate::trace::Item;
use plimsoll_engine::row::PartitionId;
use plimsoll_engine::watermark::member::Adoption;

/// How many partitions a world may grow to by faults.
const MOST: u32 = 12;

/// Any partition.
pub(super) fn anyone(own: &mut Stream<'_>, partitions: u32) -> PartitionId {
    PartitionId(own.below(u64::from(partitions)) as u32)
}

/// A partition moves to another owner.
pub(super) fn moved(own: &mut Stream<'_>, partitions: u32, with_watermark: u32) -> Item {
    let partition = anyone(own, partitions);
    let adoption = if own.chance(with_watermark) {
        Adoption::WithWatermark
    } else {
        *own.choose(&[Adoption::WithoutWatermark, Adoption::WithoutWatermark, Adoption::AtGroup])
    };
    Item::Move { partition, adoption }
}

/// A partition appears.
pub(super) fn added(own: &mut Stream<'_>, partitions: &mut u32) -> Item {
    let adoption = *own.choose(&[Adoption::WithoutWatermark, Adoption::AtGroup]);
    if *partitions < MOST && own.chance(700) {
        *partitions += 1;
        return Item::Add { partition: PartitionId(*partitions - 1), adoption };
    }
    Item::Add { partition: anyone(own, *partitions), adoption }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::Entropy;

    #[test]
    fn partitions_move_with_and_without_their_watermark() {
        let entropy = Entropy::from_seed(1);
        let mut own = entropy.stream("move");
        let mut seen = [0; 3];
        for _ in 0..300 {
            match moved(&mut own, 4, 500) {
                Item::Move { partition: PartitionId(0..=3), adoption } => {
                    seen[adoption as usize] += 1;
                }
                other => panic!("{other:?} is no move of one of four partitions"),
            }
        }
        assert!(seen.iter().all(|it| *it > 20), "{seen:?}");
    }

    #[test]
    fn a_new_partition_is_the_next_one_and_there_are_never_too_many() {
        let entropy = Entropy::from_seed(2);
        let mut own = entropy.stream("add");
        let mut partitions = 2;
        for _ in 0..200 {
            let before = partitions;
            let Item::Add { partition, .. } = added(&mut own, &mut partitions) else {
                panic!("no partition was added")
            };
            assert!(partition.0 < partitions && partitions - before <= 1);
        }
        assert_eq!(partitions, MOST);
    }
}
