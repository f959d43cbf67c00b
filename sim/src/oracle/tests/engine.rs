//! The engine against the oracle, with every knob of the plan turned at random.
//!
//! This is the only place of the oracle that meets the engine; it runs it and reads nothing of it.

use super::random::{Lcg, random_plan, random_trace};
use super::restart::strew;
use super::*;
use crate::invariant::oracle::OracleAgreement;
use crate::run::Run;
use crate::system::engine::Engine;
use plimsoll_engine::plan::{Fallback, Guard, GuardAction};
use plimsoll_engine::watermark::member::Adoption;

/// Turns the knobs that [`random_plan`] leaves alone.
fn wild_plan(draw: &mut Lcg) -> Plan {
    let mut plan = random_plan(draw);
    plan.output = draw.pick(&[OutputMode::Append, OutputMode::Update, OutputMode::Complete]);
    if draw.one_in(4) {
        let rows = 1 + draw.below(9) as u64;
        plan.trigger = draw.pick(&[Trigger::Once, Trigger::AvailableNow(rows)]);
    }
    let watermark = watermark(&mut plan);
    if draw.one_in(3) {
        let behind = Span(draw.below(60));
        watermark.fallback = Some(Fallback { behind, always: draw.one_in(2) });
    }
    if draw.one_in(3) {
        use GuardAction::{Accept, CountButNotAdvance, Reject};
        let action = draw.pick(&[Reject, CountButNotAdvance, Accept]);
        watermark.guard = Some(Guard { ahead: Span(draw.below(80)), action });
    }
    if draw.one_in(5) {
        watermark.initial = EventTime(0);
    }
    operator(&mut plan).keys =
        draw.pick(&[&[][..], &[ColumnIx(1)], &[ColumnIx(2), ColumnIx(1)]]).to_vec();
    if draw.one_in(3) {
        operator(&mut plan).late_policy = LatePolicy::SideOutput;
    }
    match draw.below(12) {
        0 => plan.operator = None,
        1 if plan.output != OutputMode::Append => plan.watermark = None,
        _ => {}
    }
    plan
}

/// Strews in what [`random_trace`] leaves out.
fn wild_trace(draw: &mut Lcg, plan: Plan) -> Trace {
    let mut trace = random_trace(draw, plan);
    for _ in 0..draw.below(12) {
        let partition = PartitionId(draw.below(4) as u32);
        let adoption =
            draw.pick(&[Adoption::WithWatermark, Adoption::WithoutWatermark, Adoption::AtGroup]);
        let extreme = draw.pick(&[i64::MIN, i64::MAX, EventTime::LEGAL, -EventTime::LEGAL]);
        let item = match draw.below(10) {
            0 => Item::Checkpoint,
            1 => Item::Crash { stale: draw.one_in(2) },
            2 => Item::Probe,
            3 => Item::Finish(partition),
            4 => Item::Remove(partition),
            5 => Item::Move { partition, adoption },
            6 => Item::Add { partition, adoption: Adoption::WithoutWatermark },
            7 if draw.one_in(4) => Item::Heartbeat { partition, time: EventTime(extreme) },
            8 if draw.one_in(8) => Item::End,
            9 if draw.one_in(4) => {
                trace.push_row(partition, &[Some(extreme), Some(1), Some(extreme)]);
                trace.items.pop().expect("just pushed")
            }
            _ => Item::Tick(Span(draw.below(50))),
        };
        let at = draw.below(trace.items.len() as i64 + 1) as usize;
        trace.items.insert(at, item);
    }
    trace
}

#[test]
fn the_engine_agrees_with_the_oracle_after_every_item() {
    let (mut refused, mut broken) = (0, vec![]);
    for seed in 0..3_000 {
        let mut draw = Lcg(seed);
        let plan = wild_plan(&mut draw);
        let mut trace = wild_trace(&mut draw, plan);
        if seed % 2 == 1 {
            strew(&mut draw, &mut trace);
        }
        let Ok(mut engine) = Engine::new(&trace, seed) else {
            refused += 1;
            continue;
        };
        let mut agreement = OracleAgreement::new(&trace);
        let mut run = Run::new(&trace, &mut engine, false);
        while let Some(seen) = run.step() {
            if let Err(violation) = seen.and_then(|it| agreement.observe(&it)) {
                broken.push((seed, violation));
                break;
            }
        }
    }
    assert!(refused < 300, "{refused} plans were refused: the traces prove little");
    assert!(broken.is_empty(), "{} broken, the first: {:#?}", broken.len(), &broken[..1]);
}
