//! Which stretches of time are one session.
//!
//! Two stretches meet where they share an instant, or also where one ends at the instant at which the
//! other starts ([`Touching`]). What meets is one, from the first start to the last end; that is
//! commutative and associative, so that sessions do not depend on the order of rows.
//!
//! Invariant: of sessions that do not meet, those that a stretch meets stand side by side.

use crate::operator::keyed::rows::Rows;
use crate::plan::flow::Touching;
use crate::time::{EventTime, Span};
use crate::window::Window;

/// Whether two stretches are one session.
pub fn meet(touching: Touching, one: Window, two: Window) -> bool {
    let touch = one.end == two.start || two.end == one.start;
    overlap(one, two) || (touching == Touching::Merge && touch)
}

/// Whether two stretches share an instant.
pub fn overlap(one: Window, two: Window) -> bool {
    one.start < two.end && two.start < one.end
}

/// From the first start to the last end.
pub fn hull(one: Window, two: Window) -> Window {
    Window { start: one.start.min(two.start), end: one.end.max(two.end) }
}

/// Those of a key's sessions, by start, that a stretch meets; the latest first.
#[inline]
pub(super) fn met<T>(
    touching: Touching,
    own: Window,
    sessions: &Rows<EventTime, T>,
    end: impl Fn(&T) -> EventTime,
) -> impl Iterator<Item = Window> {
    let until = match touching {
        Touching::Apart => own.end - Span(1),
        Touching::Merge => own.end,
    };
    let before = sessions.between((EventTime::MIN, until)).rev();
    let windows = before.map(move |(start, it)| Window { start, end: end(it) });
    windows.take_while(move |it| meet(touching, own, *it))
}
