//! Which windows a time is in, counted from the definition.
//!
//! Starts are `k * slide + offset`; a time t is in every window with `start <= t < start + size`.
//! So k runs from the first start after `t - size` to the last start at or before t, and there is
//! none where t falls into a hole (slide larger than size).
//!
//! Invariant: every start returned satisfies the two inequalities, and no other grid point does.
//! Source: semantics 4.

use plimsoll_engine::plan::WindowSpec;
use plimsoll_engine::time::EventTime;

/// The grid of a plan's windows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    size: i64,
    slide: i64,
    offset: i64, // 0 <= offset < slide
}

/// Consecutive windows, from the earliest: `count` of them, `slide` apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Starts {
    pub(super) first: i64,
    pub(super) count: u64,
}

impl Grid {
    pub(super) fn new(spec: WindowSpec) -> Self {
        let (size, slide) = (spec.size.0, spec.slide.0);
        assert!(0 < size && 0 < slide, "plan::check refuses windows without length or slide");
        Self { size, slide, offset: spec.offset.0.rem_euclid(slide) }
    }

    /// The end of the window that starts there.
    pub(super) const fn end(self, start: i64) -> i64 {
        start + self.size
    }

    pub(super) const fn slide(self) -> i64 {
        self.slide
    }

    /// All windows of a legal time.
    pub(super) const fn starts(self, time: EventTime) -> Starts {
        let t = time.0 - self.offset;
        let last = t.div_euclid(self.slide);
        let before_first = (t - self.size).div_euclid(self.slide);
        let first = (before_first + 1) * self.slide + self.offset;
        Starts { first, count: (last - before_first) as u64 }
    }

    /// Start of the slide frame that a time is in; wide, since a watermark may be anything.
    pub(super) fn frame(self, time: EventTime) -> i128 {
        let (slide, offset) = (i128::from(self.slide), i128::from(self.offset));
        (i128::from(time.0) - offset).div_euclid(slide) * slide + offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_engine::time::Span;

    fn grid(size: i64, slide: i64, offset: i64) -> Grid {
        Grid::new(WindowSpec { size: Span(size), slide: Span(slide), offset: Span(offset) })
    }

    #[test]
    fn every_start_is_found_by_trying_all_of_them() {
        for (size, slide, offset) in
            [(10, 10, 0), (10, 1, 0), (10, 3, -4), (7, 10, 2), (1, 5, 29), (3, 2, 1)]
        {
            for t in -40..40 {
                let on_grid = |s: i64| (s - offset).rem_euclid(slide) == 0;
                let want: Vec<i64> = (t - size + 1..=t).filter(|s| on_grid(*s)).collect();
                let starts = grid(size, slide, offset).starts(EventTime(t));
                let found = (0..starts.count as i64).map(|i| starts.first + i * slide);
                assert_eq!(found.collect::<Vec<_>>(), want, "{size} {slide} {offset} at {t}");
            }
        }
    }

    #[test]
    fn a_boundary_belongs_to_the_window_that_starts_there() {
        let starts = grid(600, 600, 0).starts(EventTime(-600));
        assert_eq!(starts, Starts { first: -600, count: 1 });
    }

    #[test]
    fn the_largest_legal_numbers_do_not_overflow() {
        let legal = EventTime::LEGAL;
        for t in [-legal, legal] {
            let starts = grid(legal, legal, i64::MIN).starts(EventTime(t));
            assert_eq!(starts.count, 1);
            assert!(starts.first <= t && t < starts.first + legal);
        }
    }

    #[test]
    fn a_frame_is_the_start_at_or_before_a_time() {
        assert_eq!(grid(10, 5, 2).frame(EventTime(1)), -3);
        assert_eq!(grid(10, 5, 2).frame(EventTime(2)), 2);
    }
}
