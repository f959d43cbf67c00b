//! The shrinker under predicates that say exactly what they need, and under planted bugs.

mod flow;
mod planted;
mod synthetic;

use super::{Limits, Shrunk, shrink};
use crate::invariant::Violation;
use crate::trace::{Item, Trace};
use plimsoll_engine::plan::{
    Aggregate, AllIdle, Effective, GeneratorPlan, IdlePlan, LatePolicy, LateRule, OutputMode, Plan,
    Rejoin, Sink, Trigger, WatermarkPlan, WindowPlan, WindowSpec,
};
use plimsoll_engine::row::{
    ColumnIx, ColumnKind, ColumnSpec, Dictionary, ItemId, PartitionId, Schema,
};
use plimsoll_engine::time::{EventTime, ProcTime, Span};

/// Windows of 10 minutes, 2 minutes of delay, minimum over partitions with idleness, batches.
fn plan() -> Plan {
    let column = |name: &str, kind| ColumnSpec { name: name.to_owned(), kind };
    let columns = vec![
        column("time", ColumnKind::Time),
        column("k", ColumnKind::Text),
        column("v", ColumnKind::Integer),
    ];
    let window =
        WindowSpec { size: Span::minutes(10), slide: Span::minutes(5), offset: Span::ZERO };
    let idle =
        IdlePlan { timeout: Span::minutes(1), rejoin: Rejoin::CatchUp, all_idle: AllIdle::Flush };
    Plan {
        flow: None,
        schema: Schema { columns },
        watermark: Some(WatermarkPlan {
            column: ColumnIx(0),
            delay: Span::minutes(2),
            generator: GeneratorPlan::PartitionMin { idle: Some(idle) },
            effective: Effective::NextBatch,
            fallback: None,
            guard: None,
            initial: EventTime::MIN,
        }),
        lineage: Vec::new(),
        operator: Some(WindowPlan {
            time: "time".to_owned(),
            window,
            keys: vec![ColumnIx(1)],
            aggregates: vec![Aggregate::Count, Aggregate::Sum(ColumnIx(2))],
            late: LateRule::Event,
            late_policy: LatePolicy::Drop,
        }),
        output: OutputMode::Append,
        sink: Sink::Append,
        trigger: Trigger::Batch,
    }
}

/// Numbers that look random and are the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> i64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % most) as i64
    }
}

/// A trace of `count` items of all kinds, with rows of three partitions around ten o'clock. Even seeds
/// have times that are multiples of ten seconds, so that boundaries are met.
fn world(seed: u64, count: usize) -> Trace {
    let mut numbers = Numbers(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut dictionary = Dictionary::default();
    let codes: Vec<i64> = (0..5).map(|it| dictionary.code(&format!("device-{it}"))).collect();
    let mut trace = Trace {
        plan: plan(),
        clock: ProcTime(0),
        dictionary,
        items: Vec::new(),
        cells: Vec::new(),
    };
    let unit = if seed.is_multiple_of(2) { 10_000 } else { 1 };
    let mut now = 36_000_000;
    for _ in 0..count {
        let partition = PartitionId(1 + numbers.below(3) as u32);
        let time = (now - numbers.below(300_000)).div_euclid(unit) * unit;
        match numbers.below(20) {
            0..12 => {
                let key = Some(codes[numbers.below(5) as usize]);
                trace.push_row(partition, &[Some(time), key, Some(numbers.below(1_000) - 300)]);
            }
            12..15 => {
                let tick = (1 + numbers.below(90_000 / unit as u64)) * unit;
                now += tick;
                trace.items.push(Item::Tick(Span(tick)));
            }
            15 | 16 => trace.items.push(Item::Batch),
            17 => trace.items.push(Item::Heartbeat { partition, time: EventTime(time) }),
            18 => trace.items.push(Item::Checkpoint),
            _ if numbers.below(3) == 0 => trace.items.push(Item::Crash { stale: false }),
            _ => trace.items.push(Item::Batch),
        }
        now += numbers.below(20_000);
    }
    trace.items.push(Item::Batch);
    trace.items.push(Item::End);
    trace
}

fn violation(name: &'static str, at: usize) -> Violation {
    Violation { name, at: ItemId(at as u64), evidence: String::new() }
}

fn shrunk(trace: &Trace, fails: &mut dyn FnMut(&Trace) -> Option<Violation>) -> Shrunk {
    shrink(trace, fails, Limits::default(), &mut |_| {}).expect("the trace fails")
}
