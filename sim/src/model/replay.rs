//! A replay of yesterday: somebody runs yesterday's file into the live stream.
//!
//! Each row is a day old when it comes; a delay of minutes drops all of them, and a partition
//! minimum that takes the replay for a partition stands still (S35, S75).
//!
//! Invariant: live rows are untouched; a replayed row has the event time of yesterday.

use crate::model::{Arrival, Draft};
use crate::scenario::reader::Reader;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Replay {
    age: [i64; 2],
    /// How many rows, as a share of all.
    rows: u32,
}

impl Replay {
    pub(super) fn read(table: &mut Reader<'_>) -> Self {
        Self { age: table.spans("age", [86_400_000; 2]), rows: table.share("rows", 150) }
    }

    pub(super) fn apply(&self, draft: &mut Draft<'_>, name: &str) {
        let mut own = draft.entropy.stream(name);
        let live = draft.arrivals.len();
        if live == 0 {
            return;
        }
        let age = draft.span_of(&mut own, self.age);
        let at = draft.instant(&mut own, 300, 800);
        // On a partition of its own, or mixed into the live ones.
        let apart = own.chance(500);
        let first = own.below(live as u64) as usize;
        let count = draft.rows_of(self.rows) as usize;
        for n in 0..count {
            let it = draft.arrivals[(first + n) % live];
            let partition = if apart { draft.partitions } else { it.partition };
            let time = it.time.map(|it| it - age);
            if it.is_row() {
                draft.arrivals.push(Arrival { at, partition, time, ..it });
            }
        }
        draft.partitions += u32::from(apart);
    }
}

#[cfg(test)]
mod tests {
    use crate::entropy::Entropy;
    use crate::model::examples::{MINUTE, TEN, apply, steady};

    #[test]
    fn replayed_rows_are_a_day_old() {
        let entropy = Entropy::from_seed(1);
        let before = steady(&entropy).arrivals;
        let mut draft = steady(&entropy);
        apply(&mut draft, "replay", "");
        assert_eq!(draft.arrivals[..180], before);
        assert_eq!(draft.arrivals.len(), 207);
        let day = 24 * 60 * MINUTE;
        let yesterday = (TEN - day)..(TEN - day + draft.span);
        assert!(draft.arrivals[180..].iter().all(|it| yesterday.contains(&it.time.unwrap())));
    }

    #[test]
    fn a_world_without_rows_has_no_yesterday() {
        let entropy = Entropy::from_seed(1);
        let mut draft = crate::model::examples::draft(&entropy);
        apply(&mut draft, "replay", "");
        assert!(draft.arrivals.is_empty());
    }
}
