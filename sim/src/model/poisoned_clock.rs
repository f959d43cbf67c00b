//! A poisoned clock: one row from the year 9999.
//!
//! Where times from the future are taken at their word, one such row closes every window and makes
//! the rest of the day late, for ever: a watermark never falls. A guard stops it (semantics 2.6).
//!
//! Invariant: one row is spoiled, in the middle of the world.

use crate::model::Draft;
use crate::scenario::reader::Reader;

/// 9999-12-31T23:59:59.999, the last instant that many date types know.
pub(super) const YEAR_9999: i64 = 253_402_300_799_999;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PoisonedClock;

impl PoisonedClock {
    pub(super) fn read(_: &mut Reader<'_>) -> Self {
        Self
    }

    pub(super) fn apply(&self, draft: &mut Draft<'_>, name: &str) {
        let mut own = draft.entropy.stream(name);
        let count = draft.arrivals.len() as i64;
        let from = own.range(count * 2 / 5, count * 4 / 5).max(0) as usize;
        if let Some(it) = draft.arrivals.iter_mut().skip(from).find(|it| it.is_row()) {
            it.time = Some(YEAR_9999);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::Entropy;
    use crate::model::examples::{apply, draft, steady};

    #[test]
    fn one_row_comes_from_the_year_9999() {
        let entropy = Entropy::from_seed(1);
        let mut world = steady(&entropy);
        apply(&mut world, "poisoned_clock", "");
        let poisoned = world.arrivals.iter().position(|it| it.time == Some(YEAR_9999)).unwrap();
        assert!((72..=144).contains(&poisoned));
        assert_eq!(world.arrivals.iter().filter(|it| it.time != Some(it.at)).count(), 1);
        let mut empty = draft(&entropy);
        apply(&mut empty, "poisoned_clock", "");
        assert!(empty.arrivals.is_empty());
    }
}
