//! Heartbeats: a partition says how far it is without sending a row.
//!
//! They move time and end silence, and never count (semantics 2.4). Most say the present; some say
//! less, and must then change nothing.
//!
//! Invariant: no row is touched.

use crate::model::{Arrival, Draft, What};
use crate::scenario::reader::Reader;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Heartbeats {
    /// As many as this share of the rows.
    rows: u32,
}

impl Heartbeats {
    pub(super) fn read(table: &mut Reader<'_>) -> Self {
        Self { rows: table.share("rows", 60) }
    }

    pub(super) fn apply(&self, draft: &mut Draft<'_>, name: &str) {
        let mut own = draft.entropy.stream(name);
        let slide = draft.window.slide.0;
        for _ in 0..draft.rows_of(self.rows) {
            let at = draft.instant(&mut own, 20, 1000);
            let behind = if own.chance(300) { own.range(1, slide) } else { 0 };
            let beat = Arrival::row(draft.partition(&mut own), at, 0, 0);
            let time = Some(at - behind);
            draft.arrivals.push(Arrival {
                time,
                key: None,
                value: None,
                what: What::Heartbeat,
                ..beat
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::entropy::Entropy;
    use crate::model::examples::{apply, steady};

    #[test]
    fn heartbeats_are_added_and_no_row_is_touched() {
        let entropy = Entropy::from_seed(1);
        let before = steady(&entropy).arrivals;
        let mut draft = steady(&entropy);
        apply(&mut draft, "heartbeats", "rows = 100");
        assert_eq!(draft.arrivals[..180], before);
        let beats = &draft.arrivals[180..];
        assert_eq!(beats.len(), 18);
        assert!(beats.iter().all(|it| !it.is_row() && it.time <= Some(it.at)));
        assert!(beats.iter().any(|it| it.time < Some(it.at)));
    }
}
