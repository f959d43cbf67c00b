//! A phone in a tunnel: silent for 4 minutes or for 4 days, then a burst of what it kept.
//!
//! The first three days of both look the same (S9); nothing that has arrived says which it is. A
//! phone is a key here. It goes on recording while it is silent.
//!
//! Invariant: everything that the phone recorded arrives, at the moment at which it is back.

use crate::model::{Arrival, Draft, traffic};
use crate::scenario::reader::Reader;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TunnelPhone {
    length: [i64; 2],
    /// How much it records, as a share of all rows.
    rows: u32,
}

impl TunnelPhone {
    pub(super) fn read(table: &mut Reader<'_>) -> Self {
        Self {
            length: table.spans("length", [4 * 60_000, 4 * 86_400_000]),
            rows: table.share("rows", 120),
        }
    }

    pub(super) fn apply(&self, draft: &mut Draft<'_>, name: &str) {
        let mut own = draft.entropy.stream(name);
        let phone = own.below(u64::from(draft.keys)) as u32;
        let partition = draft.partition(&mut own);
        let from = draft.instant(&mut own, 100, 400);
        let [shortest, longest] = self.length.map(|it| draft.scaled(it));
        let to = from + own.doublings(shortest, longest);
        for it in &mut draft.arrivals {
            if it.is_row() && it.key == Some(phone) && (from..to).contains(&it.at) {
                it.at = to;
            }
        }
        for _ in 0..draft.rows_of(self.rows) {
            let kept =
                Arrival::row(partition, own.range(from, to - 1), phone, traffic::value(&mut own));
            draft.arrivals.push(Arrival { at: to, ..kept });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::entropy::Entropy;
    use crate::model::examples::{MINUTE, apply, steady};

    #[test]
    fn the_phone_comes_back_with_all_that_it_kept() {
        let entropy = Entropy::from_seed(1);
        let mut draft = steady(&entropy);
        apply(&mut draft, "tunnel_phone", "length = \"90min\"");
        draft.sort();
        let kept: Vec<_> = draft.arrivals.iter().filter(|it| it.time < Some(it.at)).collect();
        assert!(kept.len() >= 21, "{}", kept.len());
        assert!(kept.iter().all(|it| it.key == kept[0].key && it.at == kept[0].at));
        assert!(kept.iter().any(|it| it.at - it.time.unwrap() > 60 * MINUTE));
        let silent = (kept[0].at - 90 * MINUTE)..kept[0].at;
        let spoke =
            draft.arrivals.iter().any(|it| it.key == kept[0].key && silent.contains(&it.at));
        assert!(!spoke);
    }

    #[test]
    fn some_tunnels_take_minutes_and_some_take_days() {
        let back = |seed: u64| {
            let entropy = Entropy::from_seed(seed);
            let mut draft = steady(&entropy);
            apply(&mut draft, "tunnel_phone", "");
            draft.arrivals.iter().map(|it| it.at - it.time.unwrap()).max().unwrap()
        };
        let longest: Vec<i64> = (0..100).map(back).collect();
        assert!(longest.iter().any(|it| *it < 10 * MINUTE));
        assert!(longest.iter().any(|it| *it > 24 * 60 * MINUTE));
    }
}
