//! Busy and quiet: in the first half of each period come nearly all rows, in the second nearly none.
//!
//! A window's closing moment depends on traffic alone: at 10:04 in a busy hour, at 10:40 in a quiet
//! one, and neither is a fault (S18).
//!
//! Invariant: the quiet half of a period holds its stated share of the period's rows.

use crate::model::{Draft, traffic};
use crate::scenario::reader::Reader;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Diurnal {
    period: [i64; 2],
    /// Rows of 1,000 that fall into the quiet half.
    quiet: u32,
    rows: u32,
}

impl Diurnal {
    pub(super) fn read(table: &mut Reader<'_>) -> Self {
        Self {
            period: table.spans("period", [86_400_000; 2]),
            quiet: table.share("quiet", 80),
            rows: table.share("rows", 1000),
        }
    }

    pub(super) fn apply(&self, draft: &mut Draft<'_>, name: &str) {
        let mut own = draft.entropy.stream(name);
        let asked = draft.span_of(&mut own, self.period).max(1);
        // Whole periods only, so that the world neither ends nor begins in the middle of a half.
        let periods = i128::from((draft.span / asked).max(1));
        let (start, span) = (draft.start, i128::from(draft.span));
        let (quiet, count) = (i128::from(self.quiet), draft.rows_of(self.rows));
        let busy = 1000 - quiet;
        let place = |row: u64| {
            // Position on a line on which traffic is even, in 1/1000 of a period.
            let line = i128::from(row) * 1000 * periods * 1000 / i128::from(count);
            let (period, inside) = (line / 1_000_000, line % 1_000_000);
            let half = if inside < busy * 1000 || quiet == 0 {
                inside * 500 / busy.max(1)
            } else {
                500_000 + (inside - busy * 1000) * 500 / quiet
            };
            (span * (period * 1_000_000 + half) / (periods * 1_000_000)) as i64
        };
        traffic::rows(draft, name, count, |times, row| {
            let (from, to) = (place(row), place(row + 1));
            start + times.range(from, (to - 1).max(from))
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::entropy::Entropy;
    use crate::model::examples::{MINUTE, TEN, apply, draft};

    #[test]
    fn the_quiet_half_of_each_period_is_quiet() {
        let entropy = Entropy::from_seed(1);
        let mut draft = draft(&entropy);
        apply(&mut draft, "diurnal", "period = \"1h\"\nquiet = 100");
        let quiet = |at: i64| (at - TEN) % (60 * MINUTE) >= 30 * MINUTE;
        let in_quiet = draft.arrivals.iter().filter(|it| quiet(it.at)).count();
        assert_eq!(draft.arrivals.len(), 180);
        assert!((15..=21).contains(&in_quiet), "{in_quiet}");
        assert!(draft.arrivals.is_sorted_by_key(|it| it.at));
        assert!(draft.arrivals.iter().all(|it| (TEN..TEN + draft.span).contains(&it.at)));
    }

    #[test]
    fn a_period_longer_than_the_world_is_the_world() {
        let entropy = Entropy::from_bytes(&[]);
        let mut draft = draft(&entropy);
        apply(&mut draft, "diurnal", "quiet = 0");
        assert!(draft.arrivals.iter().all(|it| it.at < TEN + draft.span / 2));
    }
}
