//! Steady traffic: rows at an even pace, jittered by less than the distance between two of them.
//!
//! The plain background on which everything else shows.
//!
//! Invariant: rows are made in the order of their event times.

use crate::model::{Draft, traffic};
use crate::scenario::reader::Reader;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Steady {
    rows: u32,
}

impl Steady {
    pub(super) fn read(table: &mut Reader<'_>) -> Self {
        Self { rows: table.share("rows", 1000) }
    }

    pub(super) fn apply(&self, draft: &mut Draft<'_>, name: &str) {
        let (start, span, count) = (draft.start, draft.span, draft.rows_of(self.rows));
        let slot = |row: u64| (i128::from(span) * i128::from(row) / i128::from(count)) as i64;
        traffic::rows(draft, name, count, |times, row| {
            let (from, to) = (slot(row), slot(row + 1));
            start + times.range(from, (to - 1).max(from))
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::entropy::Entropy;
    use crate::model::examples::{TEN, apply, draft, steady};

    #[test]
    fn rows_come_in_order_and_cover_the_world() {
        let entropy = Entropy::from_seed(1);
        let draft = steady(&entropy);
        assert_eq!(draft.arrivals.len(), 180);
        assert!(draft.arrivals.is_sorted_by_key(|it| it.time));
        assert!(draft.arrivals.iter().all(|it| it.time == Some(it.at) && TEN <= it.at));
        assert!(draft.arrivals[179].at >= TEN + draft.span - draft.span / 180);
    }

    #[test]
    fn a_share_of_the_rows_still_covers_the_world() {
        let entropy = Entropy::from_seed(1);
        let mut draft = draft(&entropy);
        apply(&mut draft, "steady", "rows = 100");
        assert_eq!(draft.arrivals.len(), 18);
        assert!(draft.arrivals[17].at >= TEN + draft.span - draft.span / 18);
    }
}
