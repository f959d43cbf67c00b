//! Partitions of unequal rate: the first one is busy, the last one hardly speaks.
//!
//! A minimum over partitions goes at the pace of the slowest speaker, a global maximum at that of the
//! fastest; the difference is what a slow partition's rows are late by (S15, S77).
//!
//! Invariant: no row is made or lost, rows only change their partition.

use crate::model::Draft;
use crate::scenario::reader::Reader;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct UnequalRates;

impl UnequalRates {
    pub(super) fn read(_: &mut Reader<'_>) -> Self {
        Self
    }

    pub(super) fn apply(&self, draft: &mut Draft<'_>, name: &str) {
        let mut own = draft.entropy.stream(name);
        let partitions = u64::from(draft.partitions);
        for it in &mut draft.arrivals {
            it.partition = own.power_law(partitions) as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::entropy::Entropy;
    use crate::model::examples::{apply, steady};

    #[test]
    fn the_first_partition_speaks_far_more_often_than_the_last() {
        let entropy = Entropy::from_seed(1);
        let mut draft = steady(&entropy);
        apply(&mut draft, "unequal_rates", "");
        let of = |p: u32| draft.arrivals.iter().filter(|it| it.partition == p).count();
        assert!(of(0) > 2 * of(2) && of(2) > 0, "{} {} {}", of(0), of(1), of(2));
    }
}
