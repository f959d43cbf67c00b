//! After a restart that lost the watermark nothing has been closed: a window that was written is born
//! again with the rows that come now (flink-rules 8).
//!
//! A slice may be there still for later windows, with rows that the window was written with. They count
//! in these later windows only, like rows that were late for the earlier ones.
//!
//! Invariant: no row is written twice in one window.

use super::WindowAggregate;
use crate::time::EventTime;

impl WindowAggregate {
    /// A restart lost what has evicted.
    pub fn nothing_is_closed(&mut self) {
        let evicted = std::mem::replace(&mut self.evicted, EventTime::MIN);
        self.slices.count_after(evicted);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Figures, apply, evict, plan, time, usual};
    use super::*;
    use crate::plan::{LateRule, OutputMode};
    use crate::state::layout::Value;

    const OPEN: EventTime = EventTime::MIN;

    fn counts(of: &Figures) -> Vec<(i64, Value)> {
        of.iter().flat_map(|it| it.2.iter().map(|group| (it.1, group.1[0]))).collect()
    }

    fn counted(times: &[i64], into: &mut WindowAggregate, bound: EventTime) {
        let rows: Vec<_> = times.iter().map(|it| time(*it, 1, 1)).collect();
        apply(into, &rows, bound);
    }

    #[test]
    fn a_window_is_born_again_with_what_comes_now_alone() {
        for mode in [OutputMode::Append, OutputMode::Update] {
            let plan = plan((10, 5, 0), &[1], usual(), LateRule::WindowEnd, mode);
            let mut ours = WindowAggregate::new(&plan, 3);
            // 7 counts in [0, 10) and [5, 15); 6 is late for the first, which is still to be written.
            counted(&[7], &mut ours, OPEN);
            counted(&[6], &mut ours, EventTime(10));
            let first = counts(&evict(&mut ours, EventTime(10)));
            assert_eq!(ours.groups(), 1, "[5, 15)");
            ours.nothing_is_closed();
            assert_eq!((ours.groups(), ours.oldest_end()), (1, Some(EventTime(15))));
            assert!(evict(&mut ours, EventTime(9)).is_empty());
            counted(&[8], &mut ours, OPEN);
            assert_eq!((ours.groups(), ours.oldest_end()), (2, Some(EventTime(10))));
            let saved = ours.save();
            let mut ours = WindowAggregate::load(&plan, 4, &saved).expect("its own state");
            let again = counts(&evict(&mut ours, EventTime(10)));
            let last = counts(&evict(&mut ours, EventTime(15)));
            assert_eq!(first, [(10, Value::Int(1))]);
            assert_eq!(again, [(10, Value::Int(1))], "8 alone");
            assert_eq!(last, [(15, Value::Int(3))], "6, 7 and 8");
        }
    }

    #[test]
    fn where_nothing_was_closed_nothing_changes() {
        let plan = plan((10, 5, 0), &[1], usual(), LateRule::WindowEnd, OutputMode::Append);
        let mut ours = WindowAggregate::new(&plan, 3);
        counted(&[7, 12], &mut ours, OPEN);
        let before = ours.save();
        ours.nothing_is_closed();
        assert_eq!(ours.save(), before);
    }
}
