//! Which windows a legal time is in, for the checks: first and last start, and how many.
//!
//! Invariant: `first <= last` iff there is a window; both are on the grid. Source: semantics 4.

use plimsoll_engine::plan::WindowSpec;
use plimsoll_engine::time::EventTime;
use plimsoll_engine::window::Window;

/// The grid of a plan's windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grid {
    size: i64,
    slide: i64,
    offset: i64,
}

/// The windows of a time: `count` of them, the last one starts at `last`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Starts {
    /// Start of the last window.
    pub last: i64,
    /// How many there are.
    pub count: u32,
}

impl Grid {
    /// `None` where the windows have no length or no slide.
    pub fn new(spec: WindowSpec) -> Option<Self> {
        let (size, slide) = (spec.size.0, spec.slide.0);
        let sound = 0 < size && 0 < slide;
        sound.then(|| Self { size, slide, offset: spec.offset.0.rem_euclid(slide) })
    }

    /// The windows of a legal time.
    #[inline]
    pub const fn starts(&self, time: EventTime) -> Starts {
        // How far the time is into its slide decides how many windows reach it.
        let into = (time.0 - self.offset).rem_euclid(self.slide);
        let count = if into < self.size { (self.size - 1 - into) / self.slide + 1 } else { 0 };
        Starts { last: time.0 - into, count: count as u32 }
    }

    /// Start of window `n` of these, counted from the earliest.
    #[inline]
    pub const fn start(&self, of: Starts, n: u32) -> i64 {
        of.last - (of.count - 1 - n) as i64 * self.slide
    }

    /// The end of the window that starts there.
    #[inline]
    pub const fn end(&self, start: i64) -> EventTime {
        EventTime(start.saturating_add(self.size))
    }

    /// The window that starts there.
    pub const fn window(&self, start: i64) -> Window {
        Window { start: EventTime(start), end: self.end(start) }
    }

    /// Whether this is a window of the plan.
    pub const fn holds(&self, window: Window) -> bool {
        let Window { start, end } = window;
        let on_grid = (start.0 as i128 - self.offset as i128).rem_euclid(self.slide as i128) == 0;
        on_grid && end.0 == start.0.saturating_add(self.size)
    }

    /// A small number that differs between neighbouring windows.
    #[inline]
    pub const fn residue(&self, start: i64) -> usize {
        // Cheaper than a division, and any spread will do: it only picks a place in a cache.
        (start as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) as usize >> 59
    }

    /// Whether a time is in more than one window, the same number for every time.
    pub const fn slides_evenly(&self) -> bool {
        self.slide < self.size && self.size % self.slide == 0
    }

    /// Windows per row where [`slides_evenly`](Self::slides_evenly).
    pub const fn per_row(&self) -> i64 {
        self.size / self.slide
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_engine::time::Span;

    #[test]
    fn every_start_is_found_by_trying_all_of_them() {
        for (size, slide, offset) in [(10, 10, 0), (10, 1, 0), (10, 3, -4), (7, 10, 2), (3, 2, 1)] {
            let spec = WindowSpec { size: Span(size), slide: Span(slide), offset: Span(offset) };
            let grid = Grid::new(spec).expect("sound");
            for time in -40..40 {
                let on_grid = |it: &i64| (it - offset).rem_euclid(slide) == 0;
                let want: Vec<i64> = (time - size + 1..=time).filter(on_grid).collect();
                let of = grid.starts(EventTime(time));
                let found: Vec<i64> = (0..of.count).map(|n| grid.start(of, n)).collect();
                assert_eq!(found, want, "{size} {slide} {offset} at {time}");
                assert!(found.iter().all(|it| grid.holds(grid.window(*it))));
            }
        }
    }

    #[test]
    fn the_largest_legal_numbers_do_not_overflow() {
        let most = Span(EventTime::LEGAL);
        let spec = WindowSpec { size: most, slide: most, offset: Span(i64::MIN) };
        let grid = Grid::new(spec).expect("sound");
        for time in [-EventTime::LEGAL, EventTime::LEGAL] {
            let of = grid.starts(EventTime(time));
            assert_eq!(of.count, 1);
            assert!(grid.window(of.last).contains(EventTime(time)));
        }
        assert!(!grid.holds(Window { start: EventTime::MIN, end: EventTime::MAX }));
        assert_eq!(Grid::new(WindowSpec { size: Span(0), slide: Span(1), offset: Span(0) }), None);
    }
}
