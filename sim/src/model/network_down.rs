//! A network that is down: rows are made and sent, and never arrive.
//!
//! What arrives is the same, item for item, as from a source that is idle ([`super::idle_source`]).
//! No engine can tell the two apart, and no figure says which it was (S7, S8).
//!
//! Invariant: rows sent during the silence are lost, all others are untouched.

use crate::model::silence::SilenceSpec;
use crate::model::{Arrival, Draft};
use crate::scenario::reader::Reader;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct NetworkDown {
    silence: SilenceSpec,
}

impl NetworkDown {
    pub(super) fn read(table: &mut Reader<'_>) -> Self {
        Self { silence: SilenceSpec::read(table) }
    }

    pub(super) fn apply(&self, draft: &mut Draft<'_>, _: &str) {
        let silence = self.silence.draw(draft);
        for it in draft.arrivals.iter_mut().filter(|it| silence.covers(it)) {
            it.at = Arrival::NEVER;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::entropy::Entropy;
    use crate::model::examples::{apply, steady};

    #[test]
    fn what_arrives_is_what_arrives_from_an_idle_source() {
        for seed in 0..200 {
            let entropy = Entropy::from_seed(seed);
            let (mut down, mut idle) = (steady(&entropy), steady(&entropy));
            apply(&mut down, "network_down", "length = \"30min\"");
            apply(&mut idle, "idle_source", "length = \"30min\"");
            assert_ne!(down.arrivals, idle.arrivals, "rows were made, then lost");
            down.sort();
            idle.sort();
            assert_eq!(down.arrivals, idle.arrivals);
        }
    }
}
