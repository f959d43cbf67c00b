//! Which plants prove which check.
//!
//! A check that no planted bug breaks may be one that cannot fail. That another check speaks first on
//! the same trace says nothing of it: the comparison with the reference sees almost everything, and
//! a named check could rot behind it. So each is held against plants that it must see with all other
//! checks switched off ([`Plant::breaks_alone`]). Where a check has several sides that show from
//! outside, there is a plant for each.
//!
//! Invariant: every name that a verdict can report stands in the list once, with a plant.

use super::Plant;
use crate::invariant::oracle::NAMES;
use crate::invariant::{
    closing, combined, conservation, counters, ending, flow, inert, note, resumed, silence, twin,
    watermark, writing,
};
use crate::liveness;
use crate::verdict::PANICS;

/// A check, and the names of the plants that it must see.
type Entry = (&'static str, &'static [&'static str]);

/// All checks, in the order of reports.
const PROOFS: &[Entry] = &[
    (silence::IDLE, &["idle-at-timeout", "idle-shard-no-adopt"]),
    (resumed::RESUMED, &["idle-vs-inflight", "return-never-counts"]),
    (inert::GUARDED, &["poisoned-clock"]),
    (inert::DROPPED, &["late-sets-maximum", "resurrection", "late-leaves-group"]),
    (combined::LOWERS, &["all-idle-no-flush", "comb-empty-max"]),
    (combined::MINIMUM, &["comb-max"]),
    (watermark::JUSTIFIED, &["delay-forgotten", "close-by-wallclock"]),
    (ending::ENDS, &["no-final-wm", "consume-after-final"]),
    (writing::COMPLETE, &["complete-evicts"]),
    (writing::ONCE, &["written-twice-at-once", "key-too-fine"]),
    (closing::RESURRECTION, &["written-twice", "drops-unrecorded"]),
    (closing::LIVE, &["partly-late-silent"]),
    (closing::FIRES, &["coarse-segment", "hop-first"]),
    (watermark::INTERLOCK, &["effective-at-once"]),
    (note::DROPPED, &["ledger-empty"]),
    (note::KNOWN, &["always-known"]),
    (writing::UPDATE, &["update-lost"]),
    (conservation::SLIDING, &["hop-first", "double-count-source"]),
    (conservation::CONSERVATION, &["double-count-source", "sentinel-in-min"]),
    (counters::COUNTERS, &["drops-uncounted", "state-gauge-stale"]),
    (watermark::MONOTONE, &["not-monotone"]),
    (flow::inputs::VANISHES, &["input-unwatched", "policy-other"]),
    (flow::chain::HANDED, &["handover-lost", "stage-ahead"]),
    (flow::chain::LATE, &["chain-same"]),
    (flow::null_row::LAST, &["null-row-early"]),
    (flow::null_row::ONCE, &["null-row-lost", "null-row-twice"]),
    (flow::join::SOUND, &["pair-twice", "join-bounds-swapped"]),
    (flow::join::COMPLETE, &["pair-lost", "join-bounds-swapped"]),
    (flow::null_row::REFUTED, &["no-hindsight"]),
    (flow::session::APART, &["session-late-proto", "session-in-parts"]),
    (flow::pane::BACK, &["retraction-lost"]),
    (flow::pane::ORDER, &["pane-first"]),
    (flow::state::BOUND, &["dedup-never-forgets"]),
    (NAMES[0], &["inclusive-mix", "policy-other"]),
    (NAMES[1], &["late-lt-le", "duplicate-silent"]),
    (NAMES[2], &["update-lost", "group-lost"]),
    (PANICS, &["overflow-panic"]),
    (twin::HASHERS, &["hash-order"]),
    (twin::RESTART, &["no-wm-ckpt", "min-only-ckpt"]),
    (twin::IDLE_ORDER, &["all-idle-no-flush"]),
    (liveness::ADVANCES, &["moved-not-read"]),
    (liveness::IDLES, &["idle-shard-no-adopt"]),
    (liveness::WALL, &["fallback-forgotten"]),
    (liveness::FROZEN, &["close-by-wallclock"]),
    (liveness::ENDS, &["no-final-wm"]),
    (liveness::RESUMES, &["paused-idle-stays"]),
];

/// Each check with each plant that it must see.
pub fn all() -> impl Iterator<Item = (&'static str, &'static Plant)> {
    PROOFS.iter().flat_map(|(check, plants)| {
        let known = |it: &&str| super::named(it).expect("a plant that is named is there");
        plants.iter().map(move |it| (*check, known(it)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::names;
    use std::collections::BTreeSet;

    #[test]
    fn every_check_stands_once_with_plants_that_exist() {
        let listed: Vec<&str> = PROOFS.iter().map(|it| it.0).collect();
        assert_eq!(listed, names().collect::<Vec<_>>());
        assert_eq!(listed.iter().collect::<BTreeSet<_>>().len(), listed.len());
        assert!(PROOFS.iter().all(|it| !it.1.is_empty()));
        assert!(PROOFS.len() < all().count());
    }
}
