//! The engine against the oracle of flows: random flows, random items.
//!
//! This is the only place of this oracle that meets the engine; it runs it and reads nothing of it.

mod plans;

use super::random::Lcg;
use crate::invariant::for_trace;
use crate::invariant::oracle::OracleAgreement;
use crate::run::Run;
use crate::system::engine::Engine;
use plans::{Kind, random_flow, random_items};
use std::collections::BTreeMap;

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
        let trace = random_items(&mut draw, plan);
        let mut engine = match Engine::new(&trace, seed) {
            Ok(it) => it,
            Err(problems) => {
                let refusal = problems.iter().find(|it| it.is_refusal());
                tried.refused.push(format!("{:?}", refusal.map(|it| it.code)));
                continue;
            }
        };
        let mut agreement = OracleAgreement::new(&trace);
        let mut checks = for_trace(&trace);
        checks.active.iter().for_each(|it| *tried.active.entry(it.name()).or_default() += 1);
        let mut run = Run::new(&trace, &mut engine, false);
        while let Some(seen) = run.step() {
            let looked =
                seen.and_then(|it| agreement.observe(&it).and_then(|()| checks.observe(&it)));
            if let Err(it) = looked {
                let text = format!("{} at item {}: {}", it.name, it.at.0, it.evidence);
                tried.broken.push((seed, text));
                break;
            }
        }
    }
    tried
}

/// The engine agrees with the oracle, and the named checks hold. Returns how many plans each was for.
fn check(kind: Kind) -> BTreeMap<&'static str, u64> {
    let Tried { refused, broken, active } = tried(kind, 0..1_500);
    let (count, some) = (refused.len(), refused.iter().take(9).collect::<Vec<_>>());
    assert!(count < 150, "{count} plans were refused: the traces prove little; {some:?}");
    let first: Vec<_> = broken.iter().take(14).collect();
    assert!(broken.is_empty(), "{} broken, the first: {first:#?}", broken.len());
    active
}

#[test]
fn flows_without_state_agree() {
    _ = check(Kind::Stateless);
}

#[test]
fn windows_agree() {
    _ = check(Kind::Window);
}

#[test]
fn sessions_agree() {
    _ = check(Kind::Session);
}

#[test]
fn global_groups_agree() {
    _ = check(Kind::Global);
}

#[test]
fn count_windows_agree() {
    _ = check(Kind::Count);
}

#[test]
fn dedup_agrees() {
    _ = check(Kind::Dedup);
}

#[test]
fn joins_agree() {
    _ = check(Kind::Join);
}

#[test]
fn as_of_joins_agree() {
    _ = check(Kind::AsOf);
}

#[test]
fn chains_agree() {
    _ = check(Kind::Chain);
}

// DEBUG BEGIN
#[test]
fn debug_one() {
    let Ok(which) = std::env::var("ONE") else { return };
    let (kind, seed) = which.split_once(':').unwrap();
    let kind = match kind {
        "stateless" => Kind::Stateless,
        "window" => Kind::Window,
        "session" => Kind::Session,
        "global" => Kind::Global,
        "count" => Kind::Count,
        "dedup" => Kind::Dedup,
        "join" => Kind::Join,
        "asof" => Kind::AsOf,
        _ => Kind::Chain,
    };
    let seed: u64 = seed.parse().unwrap();
    let mut draw = Lcg(seed);
    let plan = random_flow(&mut draw, kind);
    println!("{:#?}\n{:?} {:?}", plan.flow, plan.watermark, plan.trigger);
    let trace = random_items(&mut draw, plan);
    let mut engine = Engine::new(&trace, seed).unwrap();
    let mut oracle = crate::oracle::flow::FlowOracle::new(&trace);
    let mut agreement = OracleAgreement::new(&trace);
    let mut run = Run::new(&trace, &mut engine, false);
    let mut at = 0;
    loop {
        let item = trace.items.get(at);
        if let Some(crate::trace::Item::Row(row)) = item {
            println!("{} row p{:x} {:?}", at + 1, row.partition.0, trace.cells(*row));
        } else {
            println!("{} {item:?}", at + 1);
        }
        if let Some(item) = item {
            let it = oracle.observe(&trace, plimsoll_engine::row::ItemId(at as u64 + 1), item);
            for s in &it.steps {
                println!(
                    "   OURS {} {:?} now {} evict {:?} c {} w {} marks {:?} in {} {:?}",
                    s.step,
                    s.kind,
                    s.now.0,
                    s.evict,
                    s.candidate.0,
                    s.watermark.0,
                    s.marks,
                    s.rows_in,
                    s.stages
                );
            }
            for v in &it.verdicts {
                println!("   OURS {v:?}");
            }
            for v in &it.emissions {
                println!("   OURS {v:?}");
            }
            for v in &it.remarks {
                println!("   OURS {v:?}");
            }
        }
        at += 1;
        let Some(seen) = run.step() else { break };
        let seen = seen.unwrap();
        println!(
            "   members {:?}",
            seen.view
                .members
                .iter()
                .map(|m| (m.partition.0, m.max.0, m.state, m.aligned, m.last_activity.0))
                .collect::<Vec<_>>()
        );
        for s in &seen.output.steps {
            println!(
                "   THEIRS {} {:?} late {} evict {:?} c {} w {} in {}",
                s.step, s.kind, s.late.0, s.evict, s.candidate.0, s.watermark.0, s.rows_in
            );
        }
        for v in &seen.output.stages {
            println!("   THEIRS {v:?}");
        }
        for v in &seen.output.records {
            println!("   THEIRS {v:?}");
        }
        for (n, v) in seen.output.emissions.notes.iter().enumerate() {
            let cells: Vec<_> =
                seen.output.emissions.rows.columns.iter().map(|it| it.get(n)).collect();
            println!("   THEIRS {v:?} {cells:?}");
        }
        for v in &seen.output.remarks {
            println!("   THEIRS {v:?}");
        }
        if let Err(it) = agreement.observe(&seen) {
            println!("BROKEN {it:?}");
            break;
        }
    }
}
// DEBUG END
