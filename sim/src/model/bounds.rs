//! Times at the bounds of a flow: exactly a gap, a bound of a join or a retention away from an
//! earlier row, or exactly where the watermark meets such a bound, and one millisecond to either side.
//!
//! Windows have edges that every row can find; the bounds of sessions, joins and dedup lie between
//! two rows. So a share of the rows is moved to where an earlier row decides about them: to its bound,
//! under its key, or to the time that puts the watermark of their own input exactly on that bound.
//!
//! Invariant: only event times and keys move; a plain plan has no such bounds, and nothing moves.

use crate::model::Draft;
use crate::scenario::reader::Reader;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Bounds {
    /// Rows of 1,000 that are moved.
    rows: u32,
}

/// How far back an earlier row is looked for.
const BACK: usize = 8;

impl Bounds {
    pub(super) fn read(table: &mut Reader<'_>) -> Self {
        Self { rows: table.share("rows", 300) }
    }

    pub(super) fn apply(&self, draft: &mut Draft<'_>, name: &str) {
        let mut own = draft.entropy.stream(name);
        if draft.bounds.is_empty() || draft.delays.is_empty() {
            return;
        }
        for at in 1..draft.arrivals.len() {
            if !draft.arrivals[at].is_row() || !own.chance(self.rows) {
                continue;
            }
            let back = 1 + own.below(BACK.min(at) as u64) as usize;
            let earlier = draft.arrivals[at - back];
            let span = *own.choose(&draft.bounds);
            let away = if own.chance(300) { -span } else { span };
            let by = *own.choose(&[0, 0, -1, 1]);
            let moves_watermark = own.chance(400);
            let Some(time) = earlier.time else { continue };
            let input = draft.arrivals[at].partition as usize % draft.delays.len();
            let it = &mut draft.arrivals[at];
            if moves_watermark {
                it.time = Some(time + span + draft.delays[input] + by);
            } else {
                it.time = Some(time + away + by);
                it.key = earlier.key;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::entropy::Entropy;
    use crate::model::examples::{MINUTE, apply, steady};

    #[test]
    fn many_rows_sit_on_a_bound_of_an_earlier_row() {
        let entropy = Entropy::from_seed(1);
        let mut draft = steady(&entropy);
        draft.bounds = vec![7 * MINUTE];
        apply(&mut draft, "bounds", "rows = 500");
        let mut near = [0; 3];
        for (at, it) in draft.arrivals.iter().enumerate() {
            for before in &draft.arrivals[at.saturating_sub(8)..at] {
                let away = it.time.unwrap() - before.time.unwrap() - 7 * MINUTE + 1;
                if let Some(n) = usize::try_from(away).ok().filter(|it| *it < 3) {
                    near[n] += usize::from(it.key == before.key);
                }
            }
        }
        assert!(near.iter().all(|it| *it >= 3), "{near:?}");
    }

    #[test]
    fn without_bounds_nothing_moves() {
        let entropy = Entropy::from_seed(1);
        let (before, mut draft) = (steady(&entropy).arrivals, steady(&entropy));
        apply(&mut draft, "bounds", "");
        assert_eq!(draft.arrivals, before);
    }
}
