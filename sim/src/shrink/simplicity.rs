//! What is simpler: one order over all traces.
//!
//! Compared in turn: how many items; how many rules the plan has that a plain plan has not; how
//! plain the kinds of items are; how many partitions; how many and how large values; how long the
//! times; how long the texts; and last whether neighbours stand in order. For a time, whole seconds
//! are plain: 3s is as simple as 3ms, which is simpler than 1001ms.
//!
//! Invariant: every part is a natural number or a list of as many of them as there are items, so no
//! descent is endless.

mod flow;

use super::place::Place;
use crate::trace::restart;
use crate::trace::{Item, Trace};
use plimsoll_engine::plan::{
    Aggregate, AllIdle, Effective, GeneratorPlan, LatePolicy, LateRule, OutputMode, Plan, Rejoin,
    Sink, Trigger,
};
use plimsoll_engine::row::ColumnKind;
use plimsoll_engine::time::EventTime;
use plimsoll_engine::watermark::levels::Steer;
use std::collections::BTreeSet;

/// How simple a trace is; less is simpler.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Simplicity {
    items: usize,
    plan: u64,
    kinds: u64,
    partitions: (usize, u64),
    values: (usize, u128),
    times: u128,
    texts: u128,
    order: Vec<(u8, u32, i64)>,
}

impl Simplicity {
    /// Of a trace.
    pub fn of(trace: &Trace) -> Self {
        let partitions: BTreeSet<u32> =
            trace.items.iter().filter_map(|it| it.partition().map(|it| it.0)).collect();
        let (mut values, mut times) = (0, 0);
        for place in Place::all(trace) {
            let Some(value) = place.get(trace) else {
                values += NULL;
                continue;
            };
            if place.is_time(trace) {
                times += time_cost(value);
            } else {
                values += value_cost(value);
            }
        }
        let texts = (0..trace.dictionary.len() as i64).map(|code| {
            let text = trace.dictionary.text(code).unwrap_or("");
            // Length first, then the letters of short ones, so that `a` comes before `b`.
            let first = text.bytes().next().unwrap_or(0);
            256 * (text.len() as u128 + 1) + u128::from(first)
        });
        Self {
            items: trace.items.len(),
            plan: plan_cost(&trace.plan),
            kinds: trace.items.iter().map(kind_cost).sum(),
            partitions: (partitions.len(), partitions.iter().map(|it| u64::from(*it)).sum()),
            values: (distinct_values(trace), values),
            times,
            texts: texts.sum(),
            order: trace.items.iter().map(|it| rank(trace, it)).collect(),
        }
    }
}

/// A missing value is a special case that must be worth it.
const NULL: u128 = 1 << 16;

/// Closer to zero is simpler, positive before negative.
fn value_cost(value: i64) -> u128 {
    2 * u128::from(value.unsigned_abs()) + u128::from(value < 0)
}

/// In seconds where they are whole, in milliseconds and a little more where not.
pub(super) fn time_cost(ms: i64) -> u128 {
    if ms % 1_000 == 0 { value_cost(ms / 1_000) } else { value_cost(ms) + 2 }
}

/// Different values per column that is not a time.
fn distinct_values(trace: &Trace) -> usize {
    let columns = trace.plan.schema.columns.iter().enumerate();
    let plain = columns.filter(|(_, it)| it.kind != ColumnKind::Time).map(|(column, _)| column);
    plain
        .map(|column| {
            let rows = trace.items.iter().filter_map(|it| match it {
                Item::Row(row) => Some(trace.cells(*row)[column]),
                _ => None,
            });
            rows.collect::<BTreeSet<_>>().len()
        })
        .sum()
}

/// Rows are what everybody knows; the rarer a kind, the more it asks of a reader.
fn kind_cost(item: &Item) -> u64 {
    match *item {
        Item::Row(_) => 0,
        Item::Probe | Item::Batch | Item::End => 1,
        Item::Tick(_) | Item::Checkpoint => 2,
        Item::Heartbeat { .. } | Item::Finish(_) | Item::Steer(_) => 3,
        Item::Remove(_) => 4,
        Item::Crash { stale } => 4 + u64::from(stale),
        Item::Restart(rules) => 4 + restart::lost(rules).count() as u64,
        Item::Add { adoption, .. } | Item::Move { adoption, .. } => 4 + adoption as u64,
    }
}

/// Where an item would stand if order did not matter.
fn rank(trace: &Trace, item: &Item) -> (u8, u32, i64) {
    let partition = item.partition().map_or(0, |it| it.0);
    match *item {
        Item::Row(row) => (0, partition, trace.time(row).map_or(i64::MAX, |it| it.0)),
        Item::Heartbeat { time, .. } => (0, partition, time.0),
        Item::Add { .. } => (0, partition, i64::MIN),
        Item::Move { .. } => (1, partition, 0),
        Item::Remove(_) => (1, partition, 1),
        Item::Finish(_) => (1, partition, 2),
        Item::Tick(span) => (2, 0, span.0),
        Item::Probe => (2, 0, 0),
        Item::Batch => (3, 0, 0),
        Item::Steer(Steer::Limit(time)) => (2, 1, time.0),
        Item::Steer(Steer::Press { input, task, on }) => {
            (2, 2, (input << 16 | task << 1 | usize::from(on)) as i64)
        }
        Item::Checkpoint => (4, 0, 0),
        Item::Crash { .. } => (5, 0, 0),
        Item::Restart(rules) => (5, 1, restart::bits(rules)),
        Item::End => (6, 0, 0),
    }
}

/// What a plan has beyond a plain one: tumbling windows, a global maximum, effective at once, append.
fn plan_cost(plan: &Plan) -> u64 {
    let mut cost = 0;
    if let Some(it) = &plan.watermark {
        cost += 1 + match it.generator {
            GeneratorPlan::GlobalMax => 0,
            GeneratorPlan::PartitionMin { idle: None } => 2,
            GeneratorPlan::PartitionMin { idle: Some(it) } => {
                let rejoin = u64::from(it.rejoin == Rejoin::CatchUp);
                4 + rejoin + u64::from(it.all_idle == AllIdle::Hold)
            }
        };
        cost += match it.effective {
            Effective::Row => 0,
            Effective::NextBatch => 1,
            Effective::BatchAfterNext => 2,
            Effective::Probe => 3,
        };
        cost += it.fallback.map_or(0, |it| 2 + u64::from(it.always));
        cost += it.guard.map_or(0, |it| 2 + it.action as u64);
        cost += u64::from(it.initial != EventTime::MIN);
    }
    if let Some(it) = &plan.operator {
        cost += match it.keys.len() {
            0 => 1,
            keys => 2 * (keys as u64 - 1),
        };
        if it.aggregates != [Aggregate::Count] {
            let one = |it: &Aggregate| 1 + u64::from(*it != Aggregate::Count);
            cost += it.aggregates.iter().map(one).sum::<u64>();
        }
        cost += match it.late {
            LateRule::Event => 0,
            LateRule::EventInclusive | LateRule::WindowEnd => 1,
            LateRule::Frame => 2,
        };
        cost += u64::from(it.late_policy == LatePolicy::SideOutput);
        cost += 2 * u64::from(it.window.size != it.window.slide);
        cost += u64::from(it.window.offset.0 != 0);
    }
    cost += plan.flow.as_ref().map_or(0, flow::cost);
    cost += match plan.output {
        OutputMode::Append => 0,
        OutputMode::Update => 1,
        OutputMode::Complete => 2,
    };
    cost += match plan.sink {
        Sink::Append => 0,
        Sink::Keyed => 1,
        Sink::Log => 2,
    };
    cost += match plan.trigger {
        Trigger::Row => 0,
        Trigger::Batch => 1,
        Trigger::Once => 2,
        Trigger::AvailableNow(_) => 3,
        Trigger::Interval(_) => 4,
    };
    // Time, key and value are what every story has.
    cost + 2 * plan.lineage.len() as u64 + plan.schema.columns.len().saturating_sub(3) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_seconds_are_as_simple_as_milliseconds() {
        assert_eq!(time_cost(3_000) + 2, time_cost(3));
        assert!(time_cost(3) < time_cost(1_001));
        assert!(time_cost(1_000) < time_cost(-1_000));
        assert_eq!(time_cost(0), 0);
    }

    #[test]
    fn the_extremes_of_i64_have_a_cost() {
        assert!(time_cost(i64::MAX) < time_cost(i64::MIN + 1));
        assert!(value_cost(i64::MAX) < value_cost(i64::MIN));
    }
}
