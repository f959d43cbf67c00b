//! How evidence prints windows and rows. Times: [`TimeText`].
//!
//! Invariant: evidence is built only where something is broken.

use crate::trace::time_text::TimeText;
use plimsoll_engine::time::EventTime;
use plimsoll_engine::window::Window;

/// A window, as traces write it.
pub(super) fn window(it: Window) -> String {
    format!("[{},{})", TimeText(it.start), TimeText(it.end))
}

/// A point in event time.
pub(super) const fn time(it: EventTime) -> TimeText {
    TimeText(it)
}
