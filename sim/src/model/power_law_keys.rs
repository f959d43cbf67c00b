//! Power-law keys: a few keys have most rows, most keys have few (density 1/sqrt).
//!
//! Rare keys have windows of one row, so that a single lost row is a lost group.
//!
//! Invariant: no row is made or lost, rows only change their key.

use crate::model::Draft;
use crate::scenario::reader::Reader;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PowerLawKeys;

impl PowerLawKeys {
    pub(super) fn read(_: &mut Reader<'_>) -> Self {
        Self
    }

    pub(super) fn apply(&self, draft: &mut Draft<'_>, name: &str) {
        let mut own = draft.entropy.stream(name);
        let keys = u64::from(draft.keys);
        for it in &mut draft.arrivals {
            it.key = Some(own.power_law(keys) as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::entropy::Entropy;
    use crate::model::examples::{apply, steady};

    #[test]
    fn half_of_the_rows_have_the_first_quarter_of_the_keys() {
        let entropy = Entropy::from_seed(1);
        let mut draft = steady(&entropy);
        apply(&mut draft, "power_law_keys", "");
        let of = |k: u32| draft.arrivals.iter().filter(|it| it.key == Some(k)).count();
        assert!((70..110).contains(&of(0)), "{}", of(0));
        assert!(of(3) > 0 && of(3) < of(0) / 2, "{}", of(3));
    }
}
