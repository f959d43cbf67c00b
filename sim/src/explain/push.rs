//! Rows that would move the watermark of a flow, to be tried.
//!
//! Under `policy=min` every line that is not far enough needs one, under `policy=max` the highest line
//! alone. Where each partition counts for itself, every one that counts and is behind needs its own.
//!
//! Invariant: a row is asked for at the smallest time that could be enough.

use super::history::History;
use super::lines::{LineOf, LineState};
use crate::trace::time_text::TimeText;
use crate::trace::{Item, Trace};
use plimsoll_engine::plan::flow::{Flow, Policy};
use plimsoll_engine::plan::{GeneratorPlan, Trigger};
use plimsoll_engine::row::{ColumnIx, PartitionId};
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_engine::watermark::member::Member;

/// One row to be tried.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Needed {
    /// From where.
    partition: PartitionId,
    /// Whether any partition of the input would do.
    any: bool,
    /// The times that it must show.
    times: Vec<(ColumnIx, EventTime)>,
}

/// The rows that bring the watermark to `to`, as far as the lines say.
pub(super) fn rows_for(trace: &Trace, history: &History, to: EventTime) -> Vec<Needed> {
    let Some(flow) = &trace.plan.flow else { return Vec::new() };
    let lines = history.lines.last().map_or(&[][..], |it| &it.1);
    let counts = |it: &&LineOf| match flow.policy {
        Policy::Min => it.watermark < to,
        Policy::Max => it.holds,
    };
    // With levels an input that is idle or has ended does not count.
    let leaves = |it: &&LineOf| {
        flow.levels.is_some() && matches!(it.standing, LineState::Idle | LineState::Finished)
    };
    let mut needed: Vec<Needed> = Vec::new();
    for line in lines.iter().filter(|it| !leaves(it)).filter(counts) {
        let Some((column, delay)) = line.mark else { continue };
        let time = to + delay;
        for (partition, any) in partitions(trace, flow, history, line, time) {
            match needed.iter_mut().find(|it| it.partition == partition) {
                Some(it) => it.times.push((column, time)),
                None => needed.push(Needed { partition, any, times: vec![(column, time)] }),
            }
        }
    }
    needed
}

/// The partitions of a line that must speak, and whether another of them would do as well.
fn partitions(
    trace: &Trace,
    flow: &Flow,
    history: &History,
    line: &LineOf,
    time: EventTime,
) -> Vec<(PartitionId, bool)> {
    let members: Vec<&Member> =
        history.last.members.iter().filter(|it| it.partition.input() == line.input).collect();
    let input = u32::try_from(line.input).unwrap_or(0);
    let first = || vec![(PartitionId::of(input, 0, 0), true)];
    let per_partition = flow.levels.is_some()
        || trace.plan.watermark.as_ref().is_some_and(|it| it.generator != GeneratorPlan::GlobalMax);
    if !per_partition {
        let last = members.iter().max_by_key(|it| it.max);
        return last.map_or_else(first, |it| vec![(it.partition, true)]);
    }
    let behind = members.iter().filter(|it| it.counts() && it.max < time);
    let mut behind: Vec<_> = behind.map(|it| (it.partition, false)).collect();
    let tasks = flow.levels.as_ref().and_then(|it| it.tasks.get(line.input)).copied();
    for task in 0..tasks.unwrap_or(0) {
        if members.iter().all(|it| it.partition.task() != task) {
            behind.push((PartitionId::of(input, task, 0), false));
        }
    }
    if behind.is_empty() {
        // All are idle: one that wakes counts again.
        let last = members.iter().max_by_key(|it| it.max);
        return last.map_or_else(first, |it| vec![(it.partition, true)]);
    }
    behind
}

/// The rows in words: `a row of slow/p0 at 10:11:00 or later`.
pub(super) fn text(trace: &Trace, needed: &[Needed]) -> String {
    let several = trace.plan.flow.as_ref().is_some_and(|it| 1 < it.inputs.len());
    let one = |it: &Needed| {
        let whose = match (it.any, several) {
            (true, false) => String::new(),
            (true, true) => {
                let flow = trace.plan.flow.as_ref().expect("it has several inputs");
                let name = flow.inputs.get(it.partition.input()).map(|it| it.name.as_str());
                format!(" of {}", name.unwrap_or("?"))
            }
            (false, _) => format!(" of {}", trace.partition_text(it.partition)),
        };
        let time = |it: &(ColumnIx, EventTime)| TimeText(it.1).to_string();
        let at = match it.times.as_slice() {
            [one] => time(one),
            several => {
                let name = |it: &(ColumnIx, EventTime)| {
                    let name = &trace.plan.schema.column(it.0).name;
                    format!("{name}={}", time(it))
                };
                several.iter().map(name).collect::<Vec<_>>().join(" ")
            }
        };
        format!("a row{whose} at {at} or later")
    };
    needed.iter().map(one).collect::<Vec<_>>().join(" and ")
}

/// The trace with these rows at its end, and steps in which they count.
pub(super) fn pushed(trace: &Trace, needed: &[Needed]) -> Trace {
    let mut changed = trace.clone();
    let columns = trace.plan.schema.columns.len();
    for it in needed {
        let flow = trace.plan.flow.as_ref();
        let filtered = flow.and_then(|of| of.inputs.get(it.partition.input()));
        match (filtered, it.times.as_slice()) {
            // A row made up of nothing but a time would not pass the filter.
            (Some(input), [(_, time)]) if !input.before.is_empty() => {
                changed.items.push(Item::Heartbeat { partition: it.partition, time: *time });
            }
            _ => {
                let mut cells = vec![None; columns];
                for (column, time) in &it.times {
                    cells[column.0] = Some(time.0);
                }
                changed.push_row(it.partition, &cells);
            }
        }
    }
    evaluate_again(&mut changed);
    changed
}

/// Lets steps pass until what is there counts for everything: for each lag one, and one to see it.
pub(super) fn evaluate_again(trace: &mut Trace) {
    let step = match trace.plan.trigger {
        Trigger::Row => Item::Probe,
        Trigger::Interval(span) => Item::Tick(span),
        Trigger::Batch | Trigger::Once | Trigger::AvailableNow(_) => Item::Batch,
    };
    trace.items.push(Item::Probe); // Idleness is judged at ticks only.
    trace.items.extend([step; 3]);
}

/// The trace with another delay of one line.
pub(super) fn with_delay(trace: &Trace, line: (usize, ColumnIx), delay: Span) -> Trace {
    let mut changed = trace.clone();
    let Some(flow) = &mut changed.plan.flow else { return changed };
    let Some(input) = flow.inputs.get_mut(line.0) else { return changed };
    for mark in input.marks.iter_mut().filter(|it| it.column == line.1) {
        mark.delay = delay;
    }
    // Column and delay of the plan's watermark are those of the first mark.
    let first = flow.inputs.iter().flat_map(|it| &it.marks).next().copied();
    if let (Some(watermark), Some(first)) = (&mut changed.plan.watermark, first) {
        watermark.delay = first.delay;
    }
    changed
}
