//! The engine against the oracle of flows: random flows, random items.
//!
//! This is the only place of this oracle that meets the engine; it runs it and reads nothing of it.

mod levels;
mod plans;

use super::random::Lcg;
use super::restart::strew;
use crate::invariant::for_trace;
use crate::invariant::oracle::OracleAgreement;
use crate::run::Run;
use crate::system::engine::Engine;
use crate::trace::Trace;
use plans::{Kind, random_flow, random_items};
use std::collections::BTreeMap;

/// Seeds from here on meet restarts that forget.
const CALM: u64 = 600;

/// What came of random flows.
#[derive(Debug, Default)]
struct Tried {
    refused: Vec<String>,
    broken: Vec<(u64, String)>,
    /// How many plans each named check was for.
    active: BTreeMap<&'static str, u64>,
}

fn tried(kind: Kind, seeds: std::ops::Range<u64>) -> Tried {
    let mut tried = Tried::default();
    for seed in seeds {
        let mut draw = Lcg(seed);
        let plan = random_flow(&mut draw, kind);
        let mut trace = random_items(&mut draw, plan);
        if CALM <= seed {
            strew(&mut draw, &mut trace);
        }
        look(&mut tried, seed, &trace);
    }
    tried
}

/// Runs a trace beside the oracle and the named checks.
fn look(tried: &mut Tried, seed: u64, trace: &Trace) {
    let mut engine = match Engine::new(trace, seed) {
        Ok(it) => it,
        Err(problems) => {
            let refusal = problems.iter().find(|it| it.is_refusal());
            tried.refused.push(format!("{:?}", refusal.map(|it| it.code)));
            return;
        }
    };
    let mut agreement = OracleAgreement::new(trace);
    let mut checks = for_trace(trace);
    checks.active.iter().for_each(|it| *tried.active.entry(it.name()).or_default() += 1);
    let mut run = Run::new(trace, &mut engine, false);
    while let Some(seen) = run.step() {
        let looked = seen.and_then(|it| agreement.observe(&it).and_then(|()| checks.observe(&it)));
        if let Err(it) = looked {
            let text = format!("{} at item {}: {}", it.name, it.at.0, it.evidence);
            tried.broken.push((seed, text));
            break;
        }
    }
}

/// The engine agrees with the oracle, and the named checks hold. Returns how many plans each was for.
fn check(kind: Kind) -> BTreeMap<&'static str, u64> {
    let Tried { refused, broken, active } = tried(kind, 0..CALM + 200);
    let (count, some) = (refused.len(), refused.iter().take(9).collect::<Vec<_>>());
    assert!(count < 60, "{count} plans were refused: the traces prove little; {some:?}");
    let first: Vec<_> = broken.iter().take(14).collect();
    assert!(broken.is_empty(), "{} broken, the first: {first:#?}", broken.len());
    active
}

/// The same, and each of these checks had a plan to look at, most often one in so many.
fn check_with(kind: Kind, names: &[&str]) {
    let active = check(kind);
    for name in names {
        let of = active.get(name).copied().unwrap_or(0);
        assert!(5 <= of, "{kind:?}: {name} was for {of} plans: {active:#?}");
    }
}

#[test]
fn flows_without_state_agree() {
    check_with(Kind::Stateless, &["I10 resumed_is_active", "I7 no_input_vanishes"]);
}

#[test]
fn windows_agree() {
    let names = [
        "I21 taken_back_is_what_was_said",
        "I22 panes_in_order",
        "I23 state_within_bound",
        "I24 stages_hand_over",
    ];
    check_with(Kind::Window, &names);
}

#[test]
fn sessions_agree() {
    check_with(Kind::Session, &["I11 sessions_apart", "I23 state_within_bound"]);
}

#[test]
fn global_groups_agree() {
    check_with(Kind::Global, &["I23 state_within_bound"]);
}

#[test]
fn count_windows_agree() {
    _ = check(Kind::Count);
}

#[test]
fn dedup_agrees() {
    check_with(Kind::Dedup, &["I23 state_within_bound"]);
}

#[test]
fn joins_agree() {
    let names = [
        "I15 pairs_sound",
        "I16 pairs_complete",
        "I17 null_row_iff_nobody_came",
        "I18 no_pair_after_null_row",
        "I35 refuted_iff_a_dropped_row_matches",
        "I23 state_within_bound",
        "I7 no_input_vanishes",
    ];
    check_with(Kind::Join, &names);
}

#[test]
fn as_of_joins_agree() {
    check_with(Kind::AsOf, &["I23 state_within_bound"]);
}

#[test]
fn chains_agree() {
    check_with(Kind::Chain, &["I24 nothing_is_late_inside", "I24 stages_hand_over"]);
}
