//! An idle source: it has nothing to say for a while, so nothing is made.
//!
//! Seen from here it is the same as a network that is down ([`super::network_down`]); that is the
//! point (S7). A partition minimum stands still meanwhile, unless idleness takes the partition out
//! (S16, S17); a global maximum does not care (S77).
//!
//! Invariant: during the silence nothing exists that could arrive later.

use crate::model::Draft;
use crate::model::silence::SilenceSpec;
use crate::scenario::reader::Reader;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct IdleSource {
    silence: SilenceSpec,
}

impl IdleSource {
    pub(super) fn read(table: &mut Reader<'_>) -> Self {
        Self { silence: SilenceSpec::read(table) }
    }

    pub(super) fn apply(&self, draft: &mut Draft<'_>, _: &str) {
        let silence = self.silence.draw(draft);
        draft.arrivals.retain(|it| !silence.covers(it));
    }
}

#[cfg(test)]
mod tests {
    use crate::entropy::Entropy;
    use crate::model::examples::{MINUTE, TEN, apply, steady};

    #[test]
    fn one_partition_is_silent_for_40_minutes_and_the_others_are_not() {
        let entropy = Entropy::from_seed(1);
        let mut draft = steady(&entropy);
        apply(&mut draft, "idle_source", "");
        let longest = |p: u32| {
            let all = draft.arrivals.iter().filter(|it| it.partition == p).map(|it| it.at);
            let gaps: Vec<i64> = all.clone().zip(all.skip(1)).map(|(a, b)| b - a).collect();
            gaps.into_iter().max().unwrap()
        };
        assert_eq!((0..3).filter(|p| longest(*p) >= 40 * MINUTE).count(), 1);
    }

    #[test]
    fn everybody_may_be_silent_at_once() {
        let entropy = Entropy::from_seed(1);
        let mut draft = steady(&entropy);
        apply(&mut draft, "idle_source", "everybody = true");
        let gap = |it: &[crate::model::Arrival]| it[1].at - it[0].at >= 38 * MINUTE;
        assert!(draft.arrivals.windows(2).any(gap));
        assert!(draft.arrivals[0].at < TEN + 10 * MINUTE);
    }
}
