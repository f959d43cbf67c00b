//! Whether the laws bite: the planted bugs of the zoo under the laws.
//!
//! A law compares the system with itself, so that a bug may be in both runs and cancel out. Each law
//! is all the same broken by a bug named here.
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

/// Each law, and a planted bug that breaks it.
const BROKEN_BY: [(&Law, &str); 46] = [
    (&delay::M1, "no-final-wm"),
    (&flows::delay::M1, "no-final-wm"),
    (&clocks::M2, "close-by-wallclock"),
    (&clocks::M2_FLOWS, "close-by-wallclock"),
    (&flows::batches::M3, "min-underflow"),
    (&flows::batches::M4, "emit-prev-wm"),
    (&flows::names::M5, "min-underflow"),
    (&flows::names::M6, "consume-after-final"),
    (&flows::batches::M7, "double-count-source"),
    (&keys::M8, "null-key-merged"),
    (&keys::M8_FLOWS, "group-lost"),
    (&flows::order::M9, "double-count-source"),
    (&flows::names::M10, "no-wm-ckpt"),
    (&sessions::M11, "no-final-wm"),
    (&joins::M12_PAIRS, "pair-lost"),
    (&joins::M12_NULLS, "close-by-wallclock"),
    (&flows::delay::M13, "slack-off-by-one"),
    (&inputs::M14_POLICIES, "policy-other"),
    (&clocks::M15, "comb-empty-max"),
    (&clocks::M15_FLOWS, "comb-empty-max"),
    (&flows::order::M16, "min-underflow"),
    (&generators::M21_FLOWS, "group-lost"),
    (&heartbeats::M17, "time-lost"),
    (&heartbeats::M17_FLOWS, "time-lost"),
    (&heartbeats::M17_AHEAD, "evict-touched-only"),
    (&slices::M18, "evict-touched-only"),
    (&slices::M18_FLOWS, "no-empty-step"),
    (&flows::delay::M19, "sentinel-in-min"),
    (&duplicates::M20, "time-lost"),
    (&lateness::M22, "no-final-wm"),
    (&inputs::M23, "not-monotone"),
    (&slices::M24, "no-empty-step"),
    (&flows::names::M25, "time-lost"),
    (&flows::equivalence::EQUIVALENCE, "late-lt-le"),
    (&batches::M3, "min-underflow"),
    (&batches::M4, "double-count-source"),
    (&names::M5, "min-underflow"),
    (&names::M6, "consume-after-final"),
    (&batches::M7, "double-count-source"),
    (&order::M9, "double-count-source"),
    (&names::M10, "idle-sentinel-as-wm"),
    (&delay::M13, "inclusive-mix"),
    (&generators::M14, "comb-empty-max"),
    (&order::M16, "late-lt-le"),
    (&delay::M19, "late-lt-le"),
    (&generators::M21, "late-rule-swapped"),
];

#[test]
fn every_law_is_broken_by_a_planted_bug_and_none_by_the_engine() {
    for (law, plant) in BROKEN_BY {
        assert!(!breaks(law, WORLDS), "{} is broken by the engine", law.name);
        PLANTED.set(zoo::named(plant));
        assert!(PLANTED.get().is_some(), "the zoo has no {plant}");
        let broken = breaks(law, WORLDS);
        PLANTED.set(None);
        assert!(broken, "{plant} does not break {}", law.name);
    }
}
