//! A stalled source: a partition stops for 40 minutes and then delivers everything at once.
//!
//! A partition minimum holds all windows back meanwhile (S16). A global maximum goes on, and if the
//! stall is longer than the delay the whole backlog is late when it comes (S78).
//!
//! Invariant: no row is lost; a backlog keeps its own order.

use crate::model::Draft;
use crate::model::silence::SilenceSpec;
use crate::scenario::reader::Reader;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct StalledSource {
    silence: SilenceSpec,
}

impl StalledSource {
    pub(super) fn read(table: &mut Reader<'_>) -> Self {
        Self { silence: SilenceSpec::read(table) }
    }

    pub(super) fn apply(&self, draft: &mut Draft<'_>, _: &str) {
        let silence = self.silence.draw(draft);
        for it in draft.arrivals.iter_mut().filter(|it| silence.covers(it)) {
            it.at = silence.to;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::entropy::Entropy;
    use crate::model::examples::{MINUTE, apply, steady};

    #[test]
    fn a_backlog_comes_at_one_instant_and_in_order() {
        let entropy = Entropy::from_seed(1);
        let mut draft = steady(&entropy);
        apply(&mut draft, "stalled_source", "");
        draft.sort();
        let held: Vec<_> = draft.arrivals.iter().filter(|it| it.time < Some(it.at)).collect();
        assert!(held.len() > 5 && draft.arrivals.len() == 180);
        assert!(held.iter().all(|it| it.at == held[0].at && it.partition == held[0].partition));
        assert!(held.is_sorted_by_key(|it| it.time));
        assert!(held[0].at - held[0].time.unwrap() > 30 * MINUTE);
    }
}
