//! A lagging consumer: a partition moves to another owner, and from then on is 4 minutes behind.
//!
//! One of the four causes of lateness after a rebalance (S35). Where the lag is longer than the
//! delay it loses rows continuously, and every metric looks healthy (S78).
//!
//! Invariant: event times stand; the partition's order stands; nobody else is touched.

use crate::model::{Arrival, Draft, What};
use crate::scenario::reader::Reader;
use plimsoll_engine::watermark::member::Adoption;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LaggingConsumer {
    behind: [i64; 2],
    /// In how many seeds of 1,000 the watermark moves along.
    with_watermark: u32,
}

impl LaggingConsumer {
    pub(super) fn read(table: &mut Reader<'_>) -> Self {
        Self {
            behind: table.spans("behind", [240_000; 2]),
            with_watermark: table.share("with_watermark", 500),
        }
    }

    pub(super) fn apply(&self, draft: &mut Draft<'_>, name: &str) {
        let mut own = draft.entropy.stream(name);
        let partition = draft.partition(&mut own);
        let from = draft.instant(&mut own, 150, 500);
        let behind = draft.span_of(&mut own, self.behind).max(0);
        let with = own.chance(self.with_watermark);
        for it in draft.arrivals.iter_mut().filter(|it| it.partition == partition && from <= it.at)
        {
            it.postpone(behind);
        }
        let adoption = if with { Adoption::WithWatermark } else { Adoption::WithoutWatermark };
        draft
            .arrivals
            .push(Arrival { what: What::Move(adoption), ..Arrival::row(partition, from, 0, 0) });
    }
}

#[cfg(test)]
mod tests {
    use crate::entropy::Entropy;
    use crate::model::What;
    use crate::model::examples::{MINUTE, apply, steady};

    #[test]
    fn after_the_move_one_partition_is_4_minutes_behind() {
        let entropy = Entropy::from_seed(1);
        let mut draft = steady(&entropy);
        apply(&mut draft, "lagging_consumer", "");
        let moved = *draft.arrivals.last().unwrap();
        assert!(matches!(moved.what, What::Move(_)));
        for it in &draft.arrivals[..180] {
            let lagging = it.partition == moved.partition && it.time >= Some(moved.at);
            let behind = if lagging { 4 * MINUTE } else { 0 };
            assert_eq!(it.at - it.time.unwrap(), behind);
        }
    }
}
