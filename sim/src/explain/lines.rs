//! The lines of a flow: how far each input has come, and which of them the watermark waits for.
//!
//! Every watermark of every input is a line. Under `policy=min` the lowest one holds the watermark, under
//! `policy=max` the highest one has given it (semantics 2.7). Within a line it may be one partition
//! (`watermark=partition`), and with levels one task. An input without a watermark has no say.
//!
//! Invariant: a line is named by its input; where an input has several, by its column too.

use crate::trace::Trace;
use crate::trace::partition::TaskText;
use plimsoll_engine::flow::source::{Line, Sources};
use plimsoll_engine::late::InForce;
use plimsoll_engine::plan::flow::{Flow, Policy};
use plimsoll_engine::row::{ColumnIx, ItemId, PartitionId};
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_engine::watermark::levels::Levels;
use plimsoll_engine::watermark::levels::task::Task;
use plimsoll_engine::watermark::member::{Member, MemberState};

/// One line, after some item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineOf {
    /// The input, by its position.
    pub input: usize,
    /// The time column and the delay; `None`: the input has no watermark.
    pub mark: Option<(ColumnIx, Span)>,
    /// w_i.
    pub watermark: EventTime,
    /// c_i, as it was when it gave w_i.
    pub candidate: EventTime,
    /// The item that showed it.
    pub set_by: Option<ItemId>,
    /// Where the wall clock gave it.
    pub fallback: Option<Span>,
    /// What is known of its partitions.
    pub standing: LineState,
    /// Whether the watermark is where this line is.
    pub holds: bool,
    /// The task that holds this line, with levels of several tasks.
    pub task: Option<usize>,
    /// The partition that holds this line.
    pub partition: Option<PartitionId>,
}

/// What is known of the partitions of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineState {
    /// Nothing has been heard from it.
    Unheard,
    /// Some partition counts.
    Active,
    /// All that are left are idle.
    Idle,
    /// All have finished.
    Finished,
}

/// The lines as they stand.
pub(super) fn of(sources: &Sources, trace: &Trace) -> Vec<LineOf> {
    let levels = sources.levels().map(|it| it.levels());
    let mut lines: Vec<LineOf> = sources.lines().iter().map(|it| line(it, levels)).collect();
    let Some(flow) = &trace.plan.flow else { return lines };
    if let Some(w) = holding(flow, &lines) {
        let holds = |it: &&mut LineOf| it.mark.is_some() && it.watermark == w;
        lines.iter_mut().filter(holds).for_each(|it| it.holds = true);
    }
    lines
}

fn line(it: &Line<'_>, levels: Option<&Levels>) -> LineOf {
    let standing = standing(it.members);
    let task = levels.filter(|_| it.mark.is_some()).and_then(|of| holding_task(of, it.input));
    let several = levels.is_some_and(|of| 1 < of.tasks(it.input).len());
    LineOf {
        input: it.input,
        mark: it.mark.map(|mark| (mark.column, mark.delay)),
        watermark: it.in_force.watermark,
        candidate: it.in_force.candidate,
        set_by: it.in_force.set_by,
        fallback: it.in_force.fallback,
        standing,
        holds: false,
        task: task.as_ref().map(|it| it.0).filter(|_| several),
        partition: it.holder.or_else(|| task.and_then(|(_, task)| holding_partition(task))),
    }
}

fn standing(members: &[Member]) -> LineState {
    let has = |state| members.iter().any(|it| it.state == state);
    if members.is_empty() {
        LineState::Unheard
    } else if has(MemberState::Active) {
        LineState::Active
    } else if has(MemberState::Idle) {
        LineState::Idle
    } else {
        LineState::Finished
    }
}

/// Where the lines stand that the watermark waits for, or that have given it.
fn holding(flow: &Flow, lines: &[LineOf]) -> Option<EventTime> {
    // With levels an input that is idle or has ended does not count.
    let leaves = |it: &LineOf| {
        flow.levels.is_some() && matches!(it.standing, LineState::Idle | LineState::Finished)
    };
    let marked = || lines.iter().filter(|it| it.mark.is_some());
    let counting = marked().filter(|it| !leaves(it)).map(|it| it.watermark);
    let at = match flow.policy {
        Policy::Min => counting.min(),
        Policy::Max => counting.max(),
    };
    at.or_else(|| marked().map(|it| it.watermark).max())
}

fn holding_task(levels: &Levels, input: usize) -> Option<(usize, &Task)> {
    let tasks = levels.tasks(input).iter().enumerate();
    let counting = tasks.filter(|it| !it.1.is_idle() && !it.1.has_ended());
    counting.min_by_key(|it| it.1.promise().watermark)
}

fn holding_partition(task: &Task) -> Option<PartitionId> {
    let partitions = task.partitions().iter().enumerate();
    let counting = partitions.filter(|it| !task.told(it.0).0);
    counting.min_by_key(|it| it.1.max).map(|it| it.1.id)
}

/// Not read, since it is too far ahead.
pub(super) const PAUSED: &str = "paused";
/// Its task is kept from writing.
pub(super) const PRESSED: &str = "pressed";

/// Partitions that are not read, or whose task may not write: their silence does not count.
pub(super) fn blocked(sources: &Sources) -> Vec<(PartitionId, &'static str)> {
    let Some(levels) = sources.levels().map(|it| it.levels()) else { return Vec::new() };
    let tasks = (0..levels.inputs()).flat_map(|it| levels.tasks(it));
    let of_task = |task: &Task| -> Vec<(PartitionId, &'static str)> {
        let why = |at: usize| match (task.holds(at), task.is_pressed()) {
            (true, _) => Some(PAUSED),
            (false, true) => Some(PRESSED),
            (false, false) => None,
        };
        let all = task.partitions().iter().enumerate();
        all.filter_map(|(at, it)| Some((it.id, why(at)?))).collect()
    };
    tasks.flat_map(of_task).collect()
}

impl LineOf {
    /// Whether this watermark is the one that it had.
    pub(super) fn gave(&self, it: &InForce) -> bool {
        self.mark.is_some()
            && (self.watermark, self.candidate) == (it.watermark, it.candidate)
            && self.set_by == it.set_by
    }

    /// What it is called: its input, and its column where the input has several lines; of one input
    /// with one line nothing.
    pub fn name(&self, trace: &Trace) -> String {
        let Some(flow) = &trace.plan.flow else { return String::new() };
        let Some(input) = flow.inputs.get(self.input) else { return String::new() };
        let column = self.mark.filter(|_| 1 < input.marks.len());
        let column = column.map(|it| trace.plan.schema.column(it.0).name.as_str());
        match (flow.inputs.len(), column) {
            (1, None) => String::new(),
            (1, Some(column)) => column.to_owned(),
            (_, None) => input.name.clone(),
            (_, Some(column)) => format!("{}.{column}", input.name),
        }
    }

    /// Who holds it within, such as `slow/p0`; empty where that is the whole input.
    pub fn holder(&self, trace: &Trace) -> Option<String> {
        match (self.partition, self.task) {
            (Some(it), _) => Some(trace.partition_text(it).to_string()),
            (None, Some(task)) => {
                let task = TaskText::new(&trace.plan, self.input, task);
                Some(format!("{task} (a task without partitions)"))
            }
            (None, None) => None,
        }
    }
}
