//! Device clock skew: one device's clock goes wrong by a constant, so all its event times do.
//!
//! Set forward, it drags the watermark along and makes everybody else late; set back, its own rows
//! are late for ever, and its partition holds a minimum back.
//!
//! Invariant: arrivals stand; only the event times of one key move, all by the same span.

use crate::model::Draft;
use crate::scenario::reader::Reader;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ClockSkew {
    by: [i64; 2],
}

impl ClockSkew {
    pub(super) fn read(table: &mut Reader<'_>) -> Self {
        Self { by: table.spans("by", [-300_000, 300_000]) }
    }

    pub(super) fn apply(&self, draft: &mut Draft<'_>, name: &str) {
        let mut own = draft.entropy.stream(name);
        let device = own.below(u64::from(draft.keys)) as u32;
        let by = draft.span_of(&mut own, self.by);
        for it in draft.arrivals.iter_mut().filter(|it| it.key == Some(device)) {
            it.time = it.time.map(|it| it + by);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::entropy::Entropy;
    use crate::model::examples::{MINUTE, apply, steady};

    #[test]
    fn one_device_is_wrong_by_a_constant() {
        let entropy = Entropy::from_seed(1);
        let mut draft = steady(&entropy);
        apply(&mut draft, "clock_skew", "by = \"-7min\"");
        let wrong: Vec<_> = draft.arrivals.iter().filter(|it| it.time != Some(it.at)).collect();
        assert!(!wrong.is_empty() && wrong.len() < 180);
        assert!(wrong.iter().all(|it| it.key == wrong[0].key));
        assert!(wrong.iter().all(|it| it.time == Some(it.at - 7 * MINUTE)));
    }
}
