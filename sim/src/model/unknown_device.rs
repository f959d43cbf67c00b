//! An unknown device: it first appears when the world has long been running, on a partition of its
//! own, and nobody had waited for it (S10).
//!
//! "All have reported" cannot be known. Under a partition minimum the new partition starts with
//! nothing and holds the watermark until it has spoken.
//!
//! Invariant: neither the device nor its partition is seen before its day.

use crate::model::{Arrival, Draft, traffic};
use crate::scenario::reader::Reader;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct UnknownDevice {
    after: [i64; 2],
    /// How much it sends, as a share of all rows.
    rows: u32,
}

impl UnknownDevice {
    pub(super) fn read(table: &mut Reader<'_>) -> Self {
        Self { after: table.spans("after", [7 * 86_400_000; 2]), rows: table.share("rows", 150) }
    }

    pub(super) fn apply(&self, draft: &mut Draft<'_>, name: &str) {
        let mut own = draft.entropy.stream(name);
        let first = draft.start + draft.span_of(&mut own, self.after);
        let end = (draft.start + draft.span).max(first + 1);
        // Half of them bring old rows along from before they were known.
        let brings = if own.chance(500) { draft.delay + 2 * draft.window.size.0 } else { 0 };
        let count = draft.rows_of(self.rows) as i64;
        for row in 0..count {
            let at =
                first + ((i128::from(end - first) * i128::from(row)) / i128::from(count)) as i64;
            let time = if row == 0 { at - brings } else { at };
            let sent = Arrival::row(draft.partitions, time, draft.keys, traffic::value(&mut own));
            draft.arrivals.push(Arrival { at, ..sent });
        }
        draft.partitions += 1;
        draft.keys += 1;
    }
}

#[cfg(test)]
mod tests {
    use crate::entropy::Entropy;
    use crate::model::examples::{MINUTE, TEN, apply, steady};

    #[test]
    fn nobody_knew_the_device_before_its_day() {
        let entropy = Entropy::from_seed(1);
        let mut draft = steady(&entropy);
        apply(&mut draft, "unknown_device", "after = \"2h\"");
        assert_eq!((draft.partitions, draft.keys), (4, 5));
        let new: Vec<_> = draft.arrivals.iter().filter(|it| it.partition == 3).collect();
        assert_eq!(new.len(), 27);
        assert!(new.iter().all(|it| it.key == Some(4) && it.at >= TEN + 120 * MINUTE));
    }
}
