//! A retrying collector: it got no answer, so it sends the same row again, some minutes later.
//!
//! Without a dedup step a duplicate counts twice, or is dropped as late; either way no row of its own
//! is missing (S35).
//!
//! Invariant: a duplicate equals its original in everything but its arrival.

use crate::model::{Arrival, Draft};
use crate::scenario::reader::Reader;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct RetryingCollector {
    /// Rows of 1,000 that are sent again.
    rows: u32,
    after: [i64; 2],
}

impl RetryingCollector {
    pub(super) fn read(table: &mut Reader<'_>) -> Self {
        Self { rows: table.share("rows", 120), after: table.spans("after", [60_000, 1_200_000]) }
    }

    pub(super) fn apply(&self, draft: &mut Draft<'_>, name: &str) {
        let mut own = draft.entropy.stream(name);
        for n in 0..draft.arrivals.len() {
            let it = draft.arrivals[n];
            if it.is_row() && it.at != Arrival::NEVER && own.chance(self.rows) {
                let after = draft.span_of(&mut own, self.after).max(0);
                draft.arrivals.push(Arrival { at: it.at + after, ..it });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::entropy::Entropy;
    use crate::model::Arrival;
    use crate::model::examples::{MINUTE, apply, steady};

    #[test]
    fn every_duplicate_has_an_original() {
        let entropy = Entropy::from_seed(1);
        let mut draft = steady(&entropy);
        apply(&mut draft, "retrying_collector", "");
        let (originals, again) = draft.arrivals.split_at(180);
        assert!((10..40).contains(&again.len()), "{}", again.len());
        for it in again {
            let original = Arrival { at: it.time.unwrap(), ..*it };
            assert!(originals.contains(&original));
            assert!((MINUTE..=20 * MINUTE).contains(&(it.at - original.at)));
        }
    }
}
