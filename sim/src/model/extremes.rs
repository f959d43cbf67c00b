//! Rare extremes: nulls in every column, the ends of i64, times that no window can hold.
//!
//! Whatever arrives, nothing may panic, wrap or vanish (I39). A null time is in no window; a time
//! beyond 2^61 is out of range and moves nothing; one at 2^61 is legal and moves everything, so it is
//! the rarest.
//!
//! Invariant: spoiled rows stand where they stood; no row is made or lost.

use crate::model::{Arrival, Draft};
use crate::scenario::reader::Reader;
use plimsoll_engine::time::EventTime;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Extremes {
    /// Rows of 1,000 that are spoiled.
    rows: u32,
}

/// How a row is spoiled.
#[derive(Clone, Copy)]
enum Spoil {
    NullValue,
    NullKey,
    NullTime,
    HugeValue,
    OutOfRange,
    BelowZero,
    Oldest,
    Furthest,
}

const SPOILS: [(u32, Spoil); 8] = [
    (24, Spoil::NullValue),
    (20, Spoil::NullKey),
    (20, Spoil::NullTime),
    (16, Spoil::HugeValue),
    (12, Spoil::OutOfRange),
    (8, Spoil::BelowZero),
    (4, Spoil::Oldest),
    (1, Spoil::Furthest),
];

const LEGAL: i64 = EventTime::LEGAL;

impl Extremes {
    pub(super) fn read(table: &mut Reader<'_>) -> Self {
        Self { rows: table.share("rows", 80) }
    }

    pub(super) fn apply(&self, draft: &mut Draft<'_>, name: &str) {
        let mut own = draft.entropy.stream(name);
        for it in &mut draft.arrivals {
            if !own.chance(self.rows) {
                continue;
            }
            let spoil = own.weighted(&SPOILS);
            let (beyond, value) = (
                *own.choose(&[LEGAL + 1, -LEGAL - 1, i64::MAX, i64::MIN, i64::MAX - 1]),
                *own.choose(&[i64::MAX, i64::MIN, 0, -1, i64::MIN + 1]),
            );
            if it.is_row() {
                spoil_row(it, spoil, beyond, value);
            } else if matches!(spoil, Spoil::OutOfRange) {
                it.time = Some(beyond);
            }
        }
    }
}

fn spoil_row(it: &mut Arrival, spoil: Spoil, beyond: i64, value: i64) {
    match spoil {
        Spoil::NullValue => it.value = None,
        Spoil::NullKey => it.key = None,
        Spoil::NullTime => it.time = None,
        Spoil::HugeValue => it.value = Some(value),
        Spoil::OutOfRange => it.time = Some(beyond),
        Spoil::BelowZero => it.time = it.time.map(|it| -it),
        Spoil::Oldest => it.time = Some(-LEGAL),
        Spoil::Furthest => it.time = Some(LEGAL),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::Entropy;
    use crate::model::examples::{apply, steady};

    #[test]
    fn every_kind_of_extreme_occurs_and_the_furthest_is_the_rarest() {
        let mut seen = [0; 7];
        for seed in 0..40 {
            let entropy = Entropy::from_seed(seed);
            let mut draft = steady(&entropy);
            apply(&mut draft, "extremes", "rows = 100");
            assert_eq!(draft.arrivals.len(), 180);
            for it in &draft.arrivals {
                let time = it.time.map(EventTime);
                seen[0] += usize::from(time.is_none());
                seen[1] += usize::from(it.key.is_none());
                seen[2] += usize::from(it.value.is_none());
                seen[3] += usize::from(matches!(it.value, Some(i64::MAX | i64::MIN)));
                seen[4] += usize::from(time.is_some_and(|it| !it.is_legal()));
                seen[5] += usize::from(time.is_some_and(|it| it.0 < 0 && it.is_legal()));
                seen[6] += usize::from(it.time == Some(LEGAL));
            }
        }
        assert!(seen.iter().all(|it| *it > 0), "{seen:?}");
        assert!(seen[6] < seen[5] && seen[6] < seen[4], "{seen:?}");
    }
}
