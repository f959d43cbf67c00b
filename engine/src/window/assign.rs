//! Which windows hold a time: starts are `k * slide + offset`, for every integer k.
//!
//! The start at or before t is found by floor division, so that negative times fall into the window
//! below them, not above. A time is in `size / slide` windows when that divides; with a slide larger
//! than the size it may be in none.
//!
//! A *slice* is a stretch of time whose instants all lie in the same windows: it is cut at every
//! window start and every window end and nowhere else, at most two per slide. One row updates one
//! slice; a window is the sum of its slices.
//!
//! Invariant: slices do not overlap, and every window is a whole number of slices.
//! Source: semantics section 4.

use crate::plan::WindowSpec;
use crate::time::{EventTime, Span};
use crate::window::Window;

/// The grid of a [`WindowSpec`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assigner {
    size: i64,
    slide: i64,
    offset: i64,
    /// Where inside a slide the windows that opened earlier end: size mod slide.
    cut: i64,
}

impl Assigner {
    /// Panics where size or slide is not positive; the plan check refuses such plans.
    pub fn new(spec: WindowSpec) -> Self {
        assert!(0 < spec.size.0 && 0 < spec.slide.0, "a window has a positive size and slide");
        Self {
            size: spec.size.0,
            slide: spec.slide.0,
            offset: spec.offset.0.rem_euclid(spec.slide.0),
            cut: spec.size.0.rem_euclid(spec.slide.0),
        }
    }

    /// Start of the slide that holds `time`: the largest grid point at or before it.
    #[inline]
    pub fn frame(&self, time: EventTime) -> EventTime {
        EventTime(time.0 - (time.0 - self.offset).rem_euclid(self.slide))
    }

    /// The windows that hold `time`, in order of start.
    pub fn windows(&self, time: EventTime) -> impl DoubleEndedIterator<Item = Window> + use<> {
        let Self { size, slide, .. } = *self;
        let last = self.frame(time).0;
        // The earliest start s with time < s + size, on the grid.
        let back = (size - 1 - (time.0 - last)).div_euclid(slide);
        (0..=back).rev().map(move |n| Self::window_at(last - n * slide, size))
    }

    /// How many windows hold `time`.
    #[inline]
    pub fn window_count(&self, time: EventTime) -> i64 {
        (self.size - 1 - (time.0 - self.frame(time).0)).div_euclid(self.slide) + 1
    }

    const fn window_at(start: i64, size: i64) -> Window {
        Window { start: EventTime(start), end: EventTime(start + size) }
    }

    /// The window that starts at `start`, a grid point.
    #[inline]
    pub const fn window_from(&self, start: EventTime) -> Window {
        Self::window_at(start.0, self.size)
    }

    /// The slice that holds `time`.
    #[inline]
    pub fn slice(&self, time: EventTime) -> Window {
        let frame = self.frame(time).0;
        let cut = frame + self.cut;
        if self.cut == 0 {
            Window { start: EventTime(frame), end: EventTime(frame + self.slide) }
        } else if time.0 < cut {
            Window { start: EventTime(frame), end: EventTime(cut) }
        } else {
            Window { start: EventTime(cut), end: EventTime(frame + self.slide) }
        }
    }

    /// The smallest window end after `watermark`: until it is reached nothing new can close.
    /// `MIN` and `MAX` for the reserved ends.
    #[inline]
    pub fn next_end(&self, watermark: EventTime) -> EventTime {
        if !watermark.is_finite() {
            return watermark;
        }
        // Ends lie on the grid shifted by `cut`.
        let below = i128::from(watermark.0) - i128::from(self.offset) - i128::from(self.cut);
        let frame = i128::from(watermark.0) - below.rem_euclid(i128::from(self.slide));
        let end = frame + i128::from(self.slide);
        EventTime(i64::try_from(end).unwrap_or(i64::MAX - 1))
    }

    /// Length of the windows.
    pub const fn size(&self) -> Span {
        Span(self.size)
    }

    /// Distance between starts.
    pub const fn slide(&self) -> Span {
        Span(self.slide)
    }

    /// Whether every window is exactly one slice (tumbling, or with holes).
    pub const fn one_slice_per_window(&self) -> bool {
        self.size <= self.slide
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assigner(size: i64, slide: i64, offset: i64) -> Assigner {
        Assigner::new(WindowSpec { size: Span(size), slide: Span(slide), offset: Span(offset) })
    }

    fn starts(of: Assigner, time: i64) -> Vec<i64> {
        of.windows(EventTime(time)).map(|it| it.start.0).collect()
    }

    #[test]
    fn a_boundary_row_starts_the_next_window_also_below_zero() {
        let tumbling = assigner(10, 10, 0);
        assert_eq!(starts(tumbling, 9), [0]);
        assert_eq!(starts(tumbling, 10), [10]);
        assert_eq!(starts(tumbling, -1), [-10]);
        assert_eq!(starts(tumbling, -10), [-10]);
        assert_eq!(starts(assigner(10, 10, 3), 2), [-7]);
    }

    #[test]
    fn ten_windows_of_ten_minutes_every_minute_hold_each_row() {
        let sliding = assigner(10, 1, 0);
        assert_eq!(starts(sliding, 5), [-4, -3, -2, -1, 0, 1, 2, 3, 4, 5]);
        assert_eq!(sliding.window_count(EventTime(5)), 10);
    }

    #[test]
    fn a_slide_larger_than_the_size_leaves_holes() {
        let holes = assigner(4, 10, 0);
        assert_eq!(starts(holes, 3), [0]);
        assert!(starts(holes, 4).is_empty());
        assert_eq!(holes.window_count(EventTime(4)), 0);
    }

    #[test]
    fn slices_are_cut_at_window_starts_and_ends_only() {
        let uneven = assigner(10, 4, 1);
        for time in -50..50 {
            let slice = uneven.slice(EventTime(time));
            assert!(slice.contains(EventTime(time)));
            for inside in slice.start.0..slice.end.0 {
                assert_eq!(starts(uneven, inside), starts(uneven, time), "slice of {time}");
            }
            assert_ne!(starts(uneven, slice.end.0), starts(uneven, time));
        }
    }

    #[test]
    fn the_next_end_is_the_first_instant_at_which_something_new_may_close() {
        let uneven = assigner(10, 4, 1);
        for watermark in -50..50 {
            let end = uneven.next_end(EventTime(watermark)).0;
            assert!(watermark < end && end <= watermark + 4);
            assert!(starts(uneven, end - 1).iter().any(|it| it + 10 == end));
        }
    }
}
