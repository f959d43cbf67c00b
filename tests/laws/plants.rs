//! Whether the laws bite: the planted bugs of the zoo under the laws.
//!
//! A law compares the system with itself, so that a bug may be in both runs and cancel out. Each law
//! is all the same broken by a bug named here, or listed as unproven.
//!
//! Invariant: outside of this file's tests the system under the laws is the engine itself.

use super::case::breaks;
use super::{
    Law, batches, clocks, delay, duplicates, flows, generators, heartbeats, inputs, joins, keys,
    lateness, names, order, sessions, slices,
};
use plimsoll_sim::zoo::{self, Plant};
use std::cell::Cell;

thread_local! {
    static PLANTED: Cell<Option<&'static Plant>> = const { Cell::new(None) };
}

/// The bug that runs of this thread have.
pub(super) fn planted() -> Option<&'static Plant> {
    PLANTED.get()
}

/// Worlds that each bug has to break its law.
const WORLDS: u64 = 40;

/// Each law, and a planted bug that breaks it. The zoo was made for plain queries: nothing in it takes
/// a key of a flow for a number, loses a pair of a join or forgets one of several inputs, so that the
/// laws which would see that are unproven.
const BROKEN_BY: [(&Law, Option<&str>); 43] = [
    (&delay::M1, Some("no-final-wm")),
    (&flows::delay::M1, Some("no-final-wm")),
    (&clocks::M2, Some("close-by-wallclock")),
    (&clocks::M2_FLOWS, Some("close-by-wallclock")),
    (&flows::batches::M3, Some("min-underflow")),
    (&flows::batches::M4, Some("emit-prev-wm")),
    (&flows::names::M5, Some("min-underflow")),
    (&flows::names::M6, Some("consume-after-final")),
    (&flows::batches::M7, Some("double-count-source")),
    (&keys::M8, Some("null-key-merged")),
    (&keys::M8_FLOWS, None),
    (&flows::order::M9, Some("double-count-source")),
    (&flows::names::M10, Some("no-wm-ckpt")),
    (&sessions::M11, Some("no-final-wm")),
    (&joins::M12_PAIRS, None),
    (&joins::M12_NULLS, Some("close-by-wallclock")),
    (&flows::delay::M13, Some("slack-off-by-one")),
    (&inputs::M14_POLICIES, None),
    (&clocks::M15, Some("comb-empty-max")),
    (&heartbeats::M17, Some("time-lost")),
    (&heartbeats::M17_FLOWS, Some("time-lost")),
    (&heartbeats::M17_AHEAD, Some("evict-touched-only")),
    (&slices::M18, Some("evict-touched-only")),
    (&slices::M18_FLOWS, Some("no-empty-step")),
    (&flows::delay::M19, Some("sentinel-in-min")),
    (&duplicates::M20, Some("time-lost")),
    (&lateness::M22, Some("no-final-wm")),
    (&inputs::M23, Some("not-monotone")),
    (&slices::M24, Some("no-empty-step")),
    (&flows::names::M25, Some("time-lost")),
    (&flows::equivalence::EQUIVALENCE, Some("late-lt-le")),
    (&batches::M3, Some("min-underflow")),
    (&batches::M4, Some("double-count-source")),
    (&names::M5, Some("min-underflow")),
    (&names::M6, Some("consume-after-final")),
    (&batches::M7, Some("double-count-source")),
    (&order::M9, Some("double-count-source")),
    (&names::M10, Some("idle-sentinel-as-wm")),
    (&delay::M13, Some("inclusive-mix")),
    (&generators::M14, Some("comb-empty-max")),
    (&order::M16, Some("late-lt-le")),
    (&delay::M19, Some("late-lt-le")),
    (&generators::M21, Some("late-rule-swapped")),
];

#[test]
fn every_law_but_three_is_broken_by_a_planted_bug_and_none_by_the_engine() {
    for (law, plant) in BROKEN_BY {
        assert!(!breaks(law, WORLDS), "{} is broken by the engine", law.name);
        let Some(plant) = plant else { continue };
        PLANTED.set(zoo::named(plant));
        assert!(PLANTED.get().is_some(), "the zoo has no {plant}");
        let broken = breaks(law, WORLDS);
        PLANTED.set(None);
        assert!(broken, "{plant} does not break {}", law.name);
    }
}
