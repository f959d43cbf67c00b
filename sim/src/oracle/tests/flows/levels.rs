//! Random flows with levels of combination, and random items for them.

use super::plans::{Kind, random_flow};
use super::{Lcg, Tried, look};
use crate::oracle::tests::Story;
use crate::trace::{Item, Trace};
use plimsoll_engine::plan::flow::{Mark, Policy};
use plimsoll_engine::plan::levels::{
    AlignmentPlan, Emptied, IdleAnchor, IdleEnd, LevelAllIdle, LevelPlan, LevelRules, LevelsPlan,
    Limit, PausedIdle, Sampling, Waking,
};
use plimsoll_engine::plan::{Effective, GeneratorPlan, Plan, Rejoin, Trigger};
use plimsoll_engine::row::{ColumnIx, PartitionId};
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_engine::watermark::levels::Steer;
use plimsoll_engine::watermark::member::Adoption;

const KINDS: [Kind; 7] = [
    Kind::Window,
    Kind::Window,
    Kind::Session,
    Kind::Dedup,
    Kind::Join,
    Kind::Chain,
    Kind::Stateless,
];

fn random_levels(draw: &mut Lcg) -> Plan {
    let kind = draw.pick(&KINDS);
    let mut plan = random_flow(draw, kind);
    let flow = plan.flow.as_mut().expect("a flow");
    flow.policy = Policy::Min;
    for it in &mut flow.inputs {
        it.marks = vec![Mark { column: ColumnIx(0), delay: Span(draw.below(25)) }];
    }
    let sampling = [Sampling::Newest, Sampling::OldestOf(2), Sampling::OldestOf(3)];
    let drift = Limit::Drift(Span(draw.below(30)));
    let alignment = AlignmentPlan {
        update: Span(1 + draw.below(20)),
        sampling: draw.pick(&sampling),
        limit: draw.pick(&[Limit::Announced, drift]),
    };
    flow.levels = Some(LevelsPlan {
        tasks: flow.inputs.iter().map(|_| 1 + draw.below(3) as u32).collect(),
        rules: LevelRules {
            partitions: level(draw),
            tasks: level(draw),
            inputs: level(draw),
            anchor: draw.pick(&[IdleAnchor::LastActivity, IdleAnchor::FirstQuietProbe]),
            emptied: draw.pick(&[Emptied::TimesOut, Emptied::Frozen]),
            idle_end: draw.pick(&[IdleEnd::Counts, IdleEnd::Unheard]),
            paused_idle: draw.pick(&[PausedIdle::Resumes, PausedIdle::Stays]),
        },
        idle_timeout: (!draw.one_in(4)).then(|| Span(draw.below(40))),
        emission: (!draw.one_in(4)).then(|| Span(1 + draw.below(15))),
        alignment: draw.one_in(2).then_some(alignment),
    });
    let delay = flow.inputs[0].marks[0].delay;
    let watermark = plan.watermark.as_mut().expect("a watermark");
    watermark.delay = delay;
    watermark.effective = Effective::Probe;
    watermark.generator = GeneratorPlan::GlobalMax;
    watermark.fallback = None;
    plan.trigger = Trigger::Row;
    plan
}

fn level(draw: &mut Lcg) -> LevelPlan {
    LevelPlan {
        rejoin: draw.pick(&[Rejoin::Hold, Rejoin::CatchUp]),
        all_idle: draw.pick(&[LevelAllIdle::Flush, LevelAllIdle::FlushIfLast, LevelAllIdle::Hold]),
        waking: draw.pick(&[Waking::AtOnce, Waking::WithProgress]),
    }
}

/// Rows of a few partitions of a few tasks, probes, ticks and whatever else may stand in a trace.
fn random_items(draw: &mut Lcg, plan: Plan) -> Trace {
    let inputs = plan.flow.as_ref().map_or(1, |it| it.inputs.len()) as i64;
    let mut trace = Story::bare(plan);
    let mut front = draw.below(60) - 20;
    for _ in 0..draw.pick(&[20, 60, 90]) {
        let (input, task) = (draw.below(inputs) as u32, draw.below(3) as u32);
        let task = if draw.one_in(60) { 4 } else { task };
        let partition = PartitionId::of(input, task, draw.below(2) as u32);
        let item = match draw.below(28) {
            0..=3 => Some(Item::Tick(Span(draw.below(25)))),
            4..=7 => Some(Item::Probe),
            8 => Some(Item::Heartbeat { partition, time: EventTime(front) }),
            9..=11 if !draw.one_in(3) => Some(rare(draw, partition, front)),
            _ => None,
        };
        if let Some(item) = item {
            trace.items.push(item);
            continue;
        }
        front += draw.below(8);
        let time = front - draw.below(10) * draw.below(6);
        let time = if draw.one_in(15) { None } else { Some(time) };
        let key = if draw.one_in(8) { None } else { Some(draw.below(3)) };
        let value = if draw.one_in(6) { None } else { Some(draw.below(100) - 50) };
        let gap = if draw.one_in(12) { None } else { Some(draw.below(20) - 1) };
        trace.push_row(partition, &[time, key, value, gap]);
    }
    if !draw.one_in(5) {
        trace.items.push(Item::End);
    }
    trace
}

fn rare(draw: &mut Lcg, partition: PartitionId, front: i64) -> Item {
    let adoptions = [Adoption::WithWatermark, Adoption::WithoutWatermark, Adoption::AtGroup];
    let adoption = draw.pick(&adoptions);
    let (input, task) = (partition.input(), partition.task() as usize);
    match draw.below(14) {
        0 => Item::Checkpoint,
        1 => Item::Crash { stale: draw.one_in(2) },
        2 | 3 => Item::Finish(partition),
        4 | 5 => Item::Remove(partition),
        6 => Item::Move { partition, adoption },
        7 => Item::Add { partition, adoption: draw.pick(&adoptions[1..]) },
        8 if draw.one_in(8) => Item::End,
        8 => Item::Batch,
        9 | 10 => {
            let limit = EventTime(front - draw.below(40));
            Item::Steer(Steer::Limit(if draw.one_in(5) { EventTime::MAX } else { limit }))
        }
        11 | 12 => Item::Steer(Steer::Press { input, task, on: draw.one_in(2) }),
        _ => Item::Tick(Span(draw.below(200))),
    }
}

#[test]
fn levels_agree() {
    let mut tried = Tried::default();
    for seed in 0..600 {
        let mut draw = Lcg(seed);
        let plan = random_levels(&mut draw);
        let trace = random_items(&mut draw, plan);
        look(&mut tried, seed, &trace);
    }
    let Tried { refused, broken, .. } = tried;
    assert!(refused.len() < 60, "{} plans were refused: {:?}", refused.len(), refused.first());
    let first: Vec<_> = broken.iter().take(14).collect();
    assert!(broken.is_empty(), "{} broken, the first: {first:#?}", broken.len());
}
