//! Whether the laws bite: the planted bugs of the zoo under the laws.
//!
//! A law compares the system with itself, so that a bug may be in both runs and cancel out. Each law
//! is all the same broken by a bug named here, or listed as unproven.
//!
//! Invariant: outside of this file's tests the system under the laws is the engine itself.

use super::case::breaks;
use super::{Law, batches, delay, generators, names, order};
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
const WORLDS: u64 = 30;

/// Each law, and a planted bug that breaks it. Nothing in the zoo looks at the number of a
/// partition, so that nothing breaks M6 yet: it is unproven.
const BROKEN_BY: [(&Law, Option<&str>); 13] = [
    (&delay::M1, Some("no-final-wm")),
    (&batches::M3, Some("min-underflow")),
    (&batches::M4, Some("double-count-source")),
    (&names::M5, Some("min-underflow")),
    (&names::M6, None),
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
fn every_law_but_one_is_broken_by_a_planted_bug_and_none_by_the_engine() {
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
