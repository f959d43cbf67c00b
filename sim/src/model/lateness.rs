//! Heavy-tailed lateness: most rows arrive at once, some after minutes, a few after hours.
//!
//! Log-logistic with shape 1: with a median of 2 s one row in ten takes more than 18 s and one in a
//! hundred more than 198 s. No delay short of the cut waits for all of them (S12).
//!
//! Invariant: rows only arrive later, their event times stand.

use crate::model::Draft;
use crate::scenario::reader::Reader;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Lateness {
    median: [i64; 2],
    longest: [i64; 2],
}

impl Lateness {
    pub(super) fn read(table: &mut Reader<'_>) -> Self {
        Self {
            median: table.spans("median", [2_000; 2]),
            longest: table.spans("longest", [4 * 3_600_000; 2]),
        }
    }

    pub(super) fn apply(&self, draft: &mut Draft<'_>, name: &str) {
        let mut own = draft.entropy.stream(name);
        let median = draft.span_of(&mut own, self.median).max(0) as u64;
        let longest = draft.span_of(&mut own, self.longest).max(0) as u64;
        for it in &mut draft.arrivals {
            it.postpone(own.log_logistic(median, longest) as i64);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::entropy::Entropy;
    use crate::model::examples::{MINUTE, apply, steady};

    #[test]
    fn a_tenth_of_the_rows_takes_nine_times_the_median() {
        let entropy = Entropy::from_seed(1);
        let mut draft = steady(&entropy);
        apply(&mut draft, "lateness", "median = \"1min\"\nlongest = \"1h\"");
        let late =
            |it: &i64| draft.arrivals.iter().filter(|a| a.at - a.time.unwrap() > *it).count();
        assert!((75..105).contains(&late(&MINUTE)), "{}", late(&MINUTE));
        assert!((9..27).contains(&late(&(9 * MINUTE))), "{}", late(&(9 * MINUTE)));
        assert_eq!(late(&(60 * MINUTE)), 0);
    }
}
