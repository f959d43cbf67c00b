//! Times at boundaries: exactly at a window's edge, exactly at the watermark, exactly equal, and one
//! millisecond to either side.
//!
//! Most mistakes in event time are `<` where `<=` is meant, and random times never meet one. So a
//! share of the rows is moved to where the rules are decided: starts and ends of windows; the
//! largest time so far minus the delay (the watermark of a global maximum) and the same of the
//! slowest partition; the time that puts the watermark exactly on an edge; the time of the row
//! before.
//!
//! Invariant: only event times move, and only to within a millisecond of such a place.

use crate::entropy::Stream;
use crate::model::Draft;
use crate::scenario::reader::Reader;
use plimsoll_engine::plan::WindowSpec;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Boundary {
    /// Rows of 1,000 that are moved.
    rows: u32,
}

/// Where a row is moved to.
#[derive(Clone, Copy)]
enum Place {
    Edge,
    Watermark,
    SlowestWatermark,
    WatermarkOnEdge,
    Equal,
}

/// How often each place is chosen.
const PLACES: [(u32, Place); 5] = [
    (3, Place::Edge),
    (3, Place::Watermark),
    (2, Place::SlowestWatermark),
    (3, Place::WatermarkOnEdge),
    (1, Place::Equal),
];

/// An edge near `time`: the start of its slide, the next one, or the end of a window.
fn edge(window: WindowSpec, time: i64, own: &mut Stream<'_>) -> i64 {
    let (size, slide) = (window.size.0, window.slide.0);
    let start = time - (time - window.offset.0).rem_euclid(slide);
    let back = (size / slide).clamp(0, 8);
    *own.choose(&[start, start + slide, start + size, start - back * slide + size])
}

impl Boundary {
    pub(super) fn read(table: &mut Reader<'_>) -> Self {
        Self { rows: table.share("rows", 250) }
    }

    pub(super) fn apply(&self, draft: &mut Draft<'_>, name: &str) {
        let mut own = draft.entropy.stream(name);
        let (window, delay) = (draft.window, draft.delay);
        let (mut most, mut before) = (draft.start, draft.start);
        let mut of_partition = vec![i64::MIN; draft.partitions as usize];
        for it in &mut draft.arrivals {
            let Some(mut time) = it.time else { continue };
            if it.is_row() && own.chance(self.rows) {
                let place = match own.weighted(&PLACES) {
                    Place::Edge => edge(window, time, &mut own),
                    Place::Watermark => most - delay,
                    Place::SlowestWatermark => {
                        let heard = of_partition.iter().filter(|it| **it != i64::MIN);
                        heard.min().map_or(time, |it| it - delay)
                    }
                    Place::WatermarkOnEdge => edge(window, time - delay, &mut own) + delay,
                    Place::Equal => before,
                };
                time = place + *own.choose(&[0, -1, 1]);
                it.time = Some(time);
            }
            before = time;
            most = most.max(time);
            let own_most = &mut of_partition[it.partition as usize];
            *own_most = time.max(*own_most);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::entropy::Entropy;
    use crate::model::examples::{MINUTE, apply, steady};

    #[test]
    fn many_rows_sit_on_edges_and_on_the_watermark() {
        let entropy = Entropy::from_seed(1);
        let mut draft = steady(&entropy);
        apply(&mut draft, "boundary", "rows = 500");
        let near = |it: i64| (it + 1).rem_euclid(10 * MINUTE) <= 2;
        let (mut most, mut edges, mut at_watermark, mut moves) = (0, 0, [0; 3], 0);
        for it in &draft.arrivals {
            let time = it.time.unwrap();
            edges += usize::from(near(time));
            moves += usize::from(near(time - 2 * MINUTE));
            if let Some(n) = usize::try_from(time + 1 - (most - 2 * MINUTE)).ok().filter(|n| *n < 3)
            {
                at_watermark[n] += 1;
            }
            most = most.max(time);
        }
        assert!(edges >= 15, "{edges}");
        assert!(moves >= 15, "{moves}");
        assert!(at_watermark.iter().all(|it| *it >= 3), "{at_watermark:?}");
    }
}
