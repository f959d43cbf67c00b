//! The account of a run: what became of every row that went in.
//!
//! Rows that were counted are known from the steps, all others from their records: two sources that must
//! add up to the rows that were handed over (semantics I14).
//!
//! Invariant: nothing is counted twice, and a difference is shown, not hidden.

use plimsoll_engine::late::LateCause;
use plimsoll_engine::output::{Fate, Output};
use serde::{Deserialize, Serialize};

/// Counts since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Rows handed to the system.
    pub rows: u64,
    /// Rows that steps counted into at least one window.
    pub counted: u64,
    /// Of these, rows that were late for some of their windows.
    pub partly_late: u64,
    /// Rows late for all of their windows, by [`LateCause::ALL`].
    pub late: [u64; LateCause::ALL.len()],
    /// Rows without an event time.
    pub no_time: u64,
    /// Rows with an event time outside the legal range.
    pub time_out_of_range: u64,
    /// Rows in no window.
    pub no_window: u64,
    /// Rows from the future that were rejected.
    pub guarded: u64,
    /// Rows of finished partitions.
    pub after_finish: u64,
    /// Rows after the query had stopped.
    pub not_applicable: u64,
    /// Windows written.
    pub windows: u64,
    /// (window, key) groups written.
    pub groups: u64,
    /// Steps done.
    pub steps: u64,
    /// Rows that a filter of a flow did not keep.
    #[serde(default)]
    pub filtered: u64,
    /// Rows that were seen before.
    #[serde(default)]
    pub duplicates: u64,
    /// Rows whose own gap is not positive.
    #[serde(default)]
    pub no_gap: u64,
    /// Rows that a flow wrote.
    #[serde(default)]
    pub emitted: u64,
}

impl Tally {
    /// Takes what came out. Rows are counted by the caller, in [`rows`](Self::rows).
    pub fn observe(&mut self, out: &Output) {
        self.windows += out.firings.len() as u64;
        self.groups += out.firings.iter().map(|it| it.groups.len() as u64).sum::<u64>();
        self.steps += out.steps.len() as u64;
        self.emitted += out.emissions.notes.len() as u64;
        self.counted += out.steps.iter().map(|it| it.rows_counted).sum::<u64>();
        for record in &out.records {
            match record.fate {
                Fate::Late(late) if late.windows_kept == 0 => {
                    let cause = LateCause::ALL.iter().position(|it| *it == late.cause);
                    self.late[cause.unwrap_or(0)] += 1;
                }
                Fate::Late(_) => self.partly_late += 1,
                Fate::CountedNotAdvancing => {}
                Fate::Guarded => self.guarded += 1,
                Fate::NoTime => self.no_time += 1,
                Fate::TimeOutOfRange => self.time_out_of_range += 1,
                Fate::NoWindow => self.no_window += 1,
                Fate::AfterFinish => self.after_finish += 1,
                Fate::NotApplicable => self.not_applicable += 1,
                Fate::Filtered => self.filtered += 1,
                Fate::Duplicate { .. } => self.duplicates += 1,
                Fate::NoGap => self.no_gap += 1,
            }
        }
    }

    /// Rows late for all of their windows.
    pub fn late_rows(&self) -> u64 {
        self.late.iter().sum()
    }

    /// The parts that must add up to the rows, with their names; zeros but for the first two are left
    /// out.
    pub fn parts(&self, queued: u64) -> Vec<(&'static str, u64)> {
        let mut parts = vec![("counted", self.counted), ("late", self.late_rows())];
        let others = [
            ("held for the next step", queued),
            ("without a time", self.no_time),
            ("with a time out of range", self.time_out_of_range),
            ("in no window", self.no_window),
            ("filtered", self.filtered),
            ("seen before", self.duplicates),
            ("without a gap", self.no_gap),
            ("from the future", self.guarded),
            ("of finished partitions", self.after_finish),
            ("after the query had stopped", self.not_applicable),
        ];
        parts.extend(others.into_iter().filter(|it| it.1 != 0));
        parts
    }

    /// The line `rows in = counted + late + ..`, and whether it is true.
    pub fn conservation(&self, queued: u64) -> (String, bool) {
        let parts = self.parts(queued);
        let sum: u64 = parts.iter().map(|it| it.1).sum();
        let texts: Vec<_> = parts.iter().map(|(name, count)| format!("{count} {name}")).collect();
        let sign = if sum == self.rows { "=" } else { "IS NOT" };
        (format!("{} rows in {sign} {}", self.rows, texts.join(" + ")), sum == self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_went_missing_shows() {
        let tally = Tally { rows: 5, counted: 3, late: [1, 0, 0, 0, 0], ..Tally::default() };
        assert_eq!(
            tally.conservation(1),
            ("5 rows in = 3 counted + 1 late + 1 held for the next step".to_owned(), true)
        );
        assert_eq!(
            tally.conservation(0),
            ("5 rows in IS NOT 3 counted + 1 late".to_owned(), false)
        );
    }
}
