//! Worlds of flows: several inputs, chains of stages, drawn from a seed.
//!
//! Times are small numbers, so that rows, bounds and ends of windows meet at equality again and
//! again. A world draws every rule that a plan may have; a law takes back what it does not speak of.
//!
//! Invariant: a world is a function of its seed and of what shapes it may have.

pub(super) mod batches;
pub(super) mod delay;
pub(super) mod equivalence;
pub(super) mod names;
pub(super) mod order;
mod reference;
pub(super) mod stages;
pub(super) mod terms;

use super::case::Draw;
use plimsoll_engine::plan::flow::{
    Chain, Compare, Filter, Flow, FollowUp, InputPlan, Mark, NullTime, Policy,
};
use plimsoll_engine::plan::levels::{
    AlignmentPlan, Emptied, IdleAnchor, IdleEnd, LevelAllIdle, LevelPlan, LevelRules, LevelsPlan,
    Limit, PausedIdle, Sampling, Waking,
};
use plimsoll_engine::plan::{
    AllIdle, Effective, Fallback, GeneratorPlan, Guard, GuardAction, IdlePlan, OutputMode, Plan,
    Rejoin, Sink, Trigger, WatermarkPlan,
};
use plimsoll_engine::row::{ColumnIx, ColumnKind, ColumnSpec, Dictionary, PartitionId, Schema};
use plimsoll_engine::time::{EventTime, ProcTime, Span};
use plimsoll_engine::watermark::member::Adoption;
use plimsoll_sim::trace::{Item, Trace};
pub(super) use stages::Shape;

/// The event time of a row.
pub(super) const TIME: ColumnIx = ColumnIx(0);
/// Its key.
pub(super) const KEY: ColumnIx = ColumnIx(1);
/// A value.
pub(super) const VALUE: ColumnIx = ColumnIx(2);
/// The gap that it asks for.
pub(super) const GAP: ColumnIx = ColumnIx(3);

/// The columns of every input.
fn schema() -> Schema {
    let column = |name: &str, kind| ColumnSpec { name: name.to_owned(), kind };
    let columns = vec![
        column("ts", ColumnKind::Time),
        column("k", ColumnKind::Integer),
        column("v", ColumnKind::Integer),
        column("gap", ColumnKind::Integer),
    ];
    Schema { columns }
}

/// A world whose flow has one of these shapes.
pub(super) fn world(seed: u64, shapes: &[Shape]) -> Trace {
    of_inputs(seed, shapes, &[1, 1, 2, 3])
}

/// The same, on one input.
pub(super) fn single(seed: u64, shapes: &[Shape]) -> Trace {
    of_inputs(seed, shapes, &[1])
}

/// The same, on several inputs.
pub(super) fn united(seed: u64, shapes: &[Shape]) -> Trace {
    of_inputs(seed, shapes, &[2, 2, 3])
}

/// A world in which watermarks are combined over partitions, tasks and inputs, at probes.
pub(super) fn leveled(seed: u64) -> Trace {
    let mut trace = any(seed);
    let mut draw = Draw::from(!seed);
    let flow = terms::flow(&mut trace);
    let tasks: Vec<u32> = flow.inputs.iter().map(|_| 1 + draw.below(3) as u32).collect();
    let rejoins = [Rejoin::Hold, Rejoin::CatchUp];
    let all_idle = [LevelAllIdle::Flush, LevelAllIdle::FlushIfLast, LevelAllIdle::Hold];
    let level = |draw: &mut Draw| LevelPlan {
        rejoin: draw.pick(&rejoins),
        all_idle: draw.pick(&all_idle),
        waking: draw.pick(&[Waking::AtOnce, Waking::WithProgress]),
    };
    let rules = LevelRules {
        partitions: level(&mut draw),
        tasks: level(&mut draw),
        inputs: level(&mut draw),
        anchor: draw.pick(&[IdleAnchor::LastActivity, IdleAnchor::FirstQuietProbe]),
        emptied: draw.pick(&[Emptied::Frozen, Emptied::TimesOut]),
        idle_end: draw.pick(&[IdleEnd::Counts, IdleEnd::Unheard]),
        paused_idle: draw.pick(&[PausedIdle::Stays, PausedIdle::Resumes]),
    };
    let drift = AlignmentPlan {
        update: Span(5),
        sampling: draw.pick(&[Sampling::Newest, Sampling::OldestOf(2)]),
        limit: Limit::Drift(Span(draw.below(12) as i64)),
    };
    // Every level takes the smallest.
    flow.policy = Policy::Min;
    flow.levels = Some(LevelsPlan {
        tasks: tasks.clone(),
        rules,
        idle_timeout: draw.one_in(2).then_some(Span(5 + draw.below(20) as i64)),
        emission: draw.one_in(2).then_some(Span(1 + draw.below(6) as i64)),
        alignment: draw.one_in(3).then_some(drift),
    });
    let watermark = super::shape::watermark(&mut trace.plan);
    watermark.effective = Effective::Probe;
    watermark.generator = GeneratorPlan::PartitionMin { idle: None };
    watermark.fallback = None;
    trace.plan.trigger = Trigger::Row;
    // Half of the partitions are read by another task.
    for partition in trace.items.iter_mut().filter_map(Item::partition_mut) {
        let of = tasks[partition.input() % tasks.len()];
        let task = partition.number() % of;
        *partition = PartitionId::of(partition.input() as u32, task, partition.number());
    }
    trace
}

fn of_inputs(seed: u64, shapes: &[Shape], inputs: &[usize]) -> Trace {
    let mut draw = Draw::from(seed);
    let shape = draw.pick(shapes);
    let inputs = if shape.joins() { 2 } else { draw.pick(inputs) };
    let plan = plan(shape, inputs, &mut draw);
    let mut trace = Trace {
        plan,
        clock: ProcTime(0),
        dictionary: Dictionary::default(),
        items: Vec::new(),
        cells: Vec::new(),
    };
    traffic(&mut trace, inputs, &mut draw);
    trace
}

/// A world of any shape.
pub(super) fn any(seed: u64) -> Trace {
    world(seed, &Shape::ALL)
}

fn plan(shape: Shape, inputs: usize, draw: &mut Draw) -> Plan {
    let delay = |draw: &mut Draw| Span(draw.pick(&[0, 0, 0, 1, 3, 6, 12]));
    let inputs: Vec<InputPlan> = (0..inputs)
        .map(|it| {
            let marks = vec![Mark { column: TIME, delay: delay(draw) }];
            InputPlan::of(["left", "right", "third"][it].to_owned(), marks)
        })
        .collect();
    let stages = stages::drawn(shape, draw);
    let output = if stages::never_close(&stages) || draw.one_in(5) && stages::knows_modes(&stages) {
        draw.pick(&[OutputMode::Update, OutputMode::Complete])
    } else {
        OutputMode::Append
    };
    let idle = IdlePlan {
        timeout: Span(5 + draw.below(30) as i64),
        rejoin: draw.pick(&[Rejoin::Hold, Rejoin::CatchUp]),
        all_idle: draw.pick(&[AllIdle::Flush, AllIdle::Hold]),
    };
    let generator = draw.pick(&[
        GeneratorPlan::GlobalMax,
        GeneratorPlan::GlobalMax,
        GeneratorPlan::PartitionMin { idle: None },
        GeneratorPlan::PartitionMin { idle: Some(idle) },
    ]);
    let effective = draw.pick(&[
        Effective::Row,
        Effective::NextBatch,
        Effective::NextBatch,
        Effective::BatchAfterNext,
        Effective::Probe,
    ]);
    let trigger = match effective {
        Effective::Probe => Trigger::Row,
        Effective::Row => draw.pick(&[Trigger::Row, Trigger::Batch]),
        Effective::NextBatch | Effective::BatchAfterNext => {
            draw.pick(&[Trigger::Batch, Trigger::Batch, Trigger::Row, Trigger::Interval(Span(10))])
        }
    };
    let guard = Guard {
        ahead: Span(draw.below(60) as i64),
        action: draw.pick(&[GuardAction::Reject, GuardAction::CountButNotAdvance]),
    };
    let fallback = Fallback { behind: Span(draw.below(60) as i64), always: draw.one_in(2) };
    let filter = Filter { column: VALUE, compare: Compare::AtLeast, value: 0 };
    let mut flow = Flow::of(inputs, stages);
    flow.policy = draw.pick(&[Policy::Min, Policy::Min, Policy::Max]);
    flow.follow_up = draw.pick(&[FollowUp::Never, FollowUp::WhenMoved]);
    flow.null_time = draw.pick(&[NullTime::Nowhere, NullTime::Nowhere, NullTime::Epoch]);
    flow.hindsight = draw.pick(&[Span::ZERO, Span(10), Span(1_000)]);
    if draw.one_in(8) {
        flow.chain = Chain::Same;
    }
    if draw.one_in(6) {
        flow.inputs[0].before.push(filter);
    }
    Plan {
        schema: schema(),
        watermark: Some(WatermarkPlan {
            column: TIME,
            delay: flow.inputs[0].marks[0].delay,
            generator,
            effective,
            fallback: draw.one_in(12).then_some(fallback),
            guard: draw.one_in(8).then_some(guard),
            initial: if draw.one_in(6) { EventTime(0) } else { EventTime::MIN },
        }),
        lineage: Vec::new(),
        operator: None,
        output,
        sink: if output == OutputMode::Append { Sink::Append } else { Sink::Keyed },
        trigger,
        flow: Some(flow),
    }
}

/// What arrives: mostly rows, each somewhat behind a front that moves on.
fn traffic(trace: &mut Trace, inputs: usize, draw: &mut Draw) {
    let partitions: Vec<PartitionId> = (0..inputs as u32)
        .flat_map(|input| (0..1 + draw.below(3) as u32).map(move |it| (input, it)))
        .map(|(input, number)| PartitionId::of(input, 0, number))
        .collect();
    let lags: Vec<i64> = partitions.iter().map(|_| draw.pick(&[0, 0, 3, 12])).collect();
    let pace = draw.pick(&[1, 2, 4]);
    let cut_every = 2 + draw.below(7);
    let disorder = draw.pick(&[8, 20, 40]);
    let changes = draw.one_in(3);
    let mut front = draw.below(40) as i64 - 20;
    for _ in 0..40 + draw.below(50) {
        front += draw.below(pace * 2 + 1) as i64;
        let who = draw.below(partitions.len());
        let (partition, lag) = (partitions[who], lags[who]);
        let behind = if draw.one_in(3) { draw.below(disorder) as i64 } else { 0 };
        let time = front - lag - behind;
        match draw.below(24) {
            0 => {
                let time = EventTime(time + draw.below(5) as i64);
                trace.items.push(Item::Heartbeat { partition, time });
            }
            1 => trace.items.push(Item::Probe),
            2..4 => trace.items.push(Item::Tick(Span(1 + draw.below(12) as i64))),
            4 if changes => trace.items.push(change(partition, draw)),
            _ => {
                let cells = cells(time, draw);
                trace.push_row(partition, &cells);
            }
        }
        if draw.one_in(cut_every) {
            trace.items.push(Item::Batch);
        }
    }
    trace.items.push(Item::End);
}

fn cells(time: i64, draw: &mut Draw) -> [Option<i64>; 4] {
    let time = match draw.below(80) {
        0..3 => None,
        3 => Some(EventTime::LEGAL + 1),
        _ => Some(time),
    };
    let key = if draw.one_in(16) { None } else { Some(draw.below(3) as i64) };
    let value = if draw.one_in(12) { None } else { Some(draw.below(12) as i64 - 3) };
    let gap = match draw.below(24) {
        0 => None,
        1 => Some(0),
        2 => Some(-4),
        _ => Some(1 + draw.below(9) as i64),
    };
    [time, key, value, gap]
}

fn change(partition: PartitionId, draw: &mut Draw) -> Item {
    match draw.below(5) {
        0 => Item::Finish(partition),
        1 => Item::Remove(partition),
        2 => Item::Add { partition, adoption: Adoption::WithoutWatermark },
        3 => Item::Move { partition, adoption: Adoption::WithWatermark },
        _ => Item::Move { partition, adoption: Adoption::AtGroup },
    }
}
