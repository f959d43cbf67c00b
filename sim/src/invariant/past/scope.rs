//! What a plan lets the checks take for granted.
//!
//! Invariant: what the plan does not say clearly is `None`, and the checks that need it are skipped.

use super::super::Observation;
use super::super::flow::FlowScope;
use super::grid::Grid;
use crate::trace::{Item, RowItem, Trace};
use plimsoll_engine::output::StepKind;
use plimsoll_engine::plan::check::CheckedPlan;
use plimsoll_engine::plan::{
    Aggregate, Effective, Fallback, GeneratorPlan, Guard, GuardAction, IdlePlan, LateRule,
    OutputMode, Trigger,
};
use plimsoll_engine::row::{ColumnKind, ItemId};
use plimsoll_engine::time::{EventTime, ProcTime, Span};

/// What follows from the plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scope {
    /// Whether there is a watermark.
    pub watermark: bool,
    /// Its value before any row.
    pub initial: EventTime,
    /// The delay d.
    pub delay: Span,
    /// Whether the candidate is a minimum over partitions.
    pub by_partition: bool,
    /// When silence takes a partition out.
    pub idle: Option<IdlePlan>,
    /// What the wall clock may add.
    pub fallback: Option<Fallback>,
    /// The guard, where it guards anything.
    pub guard: Option<Guard>,
    /// Whether the watermark takes effect after every single item.
    pub per_item: bool,
    /// The windows, where they are cut on the column of [`Trace::time`].
    pub grid: Option<Grid>,
    /// Whether the watermark judges rows and closes windows.
    pub linked: bool,
    /// What is written.
    pub mode: OutputMode,
    /// Who is late, where there are windows.
    pub late: Option<LateRule>,
    /// When a step begins.
    pub trigger: Trigger,
    /// Key columns.
    pub keys: Vec<usize>,
    /// How many aggregates there are.
    pub aggregates: usize,
    /// Position of the aggregate that counts rows.
    pub count: Option<usize>,
    /// Position of the event-time column; `None` where there is none.
    time_column: Option<usize>,
    /// Whether a restart in the trace forgets something.
    pub forgets: bool,
    /// What goes beyond one input and one window aggregation.
    pub flow: Option<FlowScope>,
}

impl Scope {
    pub(super) fn new(trace: &Trace) -> Self {
        let plan = &trace.plan;
        let watermark = plan.watermark.as_ref();
        let checked = CheckedPlan::new(plan.clone()).ok().map(|it| it.0);
        let kinds = &plan.schema.columns;
        let has_time = watermark.is_some() || kinds.iter().any(|it| it.kind == ColumnKind::Time);
        let time_column = has_time.then(|| trace.time_column());
        let windows_on = checked.as_ref().and_then(CheckedPlan::window_column).map(|it| it.0);
        let operator = plan.operator.as_ref();
        let on_time = operator.filter(|_| time_column.is_some() && windows_on == time_column);
        let idle = match watermark.map(|it| it.generator) {
            Some(GeneratorPlan::PartitionMin { idle }) => idle,
            Some(GeneratorPlan::GlobalMax) | None => None,
        };
        let count = |it: &Vec<Aggregate>| it.iter().position(|it| *it == Aggregate::Count);
        Self {
            watermark: watermark.is_some(),
            initial: watermark.map_or(EventTime::MIN, |it| it.initial),
            delay: watermark.map_or(Span::ZERO, |it| it.delay),
            by_partition: watermark
                .is_some_and(|it| matches!(it.generator, GeneratorPlan::PartitionMin { .. })),
            idle,
            fallback: watermark.and_then(|it| it.fallback),
            guard: watermark.and_then(|it| it.guard).filter(|it| it.action != GuardAction::Accept),
            per_item: watermark.is_some_and(|it| it.effective == Effective::Row),
            grid: on_time.and_then(|it| Grid::new(it.window)),
            linked: watermark.is_some() && checked.is_some_and(|it| it.linked()),
            mode: plan.output,
            late: operator.map(|it| it.late),
            trigger: plan.trigger,
            keys: operator.map_or_else(Vec::new, |it| it.keys.iter().map(|it| it.0).collect()),
            aggregates: operator.map_or(0, |it| it.aggregates.len()),
            count: operator.and_then(|it| count(&it.aggregates)),
            time_column,
            forgets: trace.items.iter().any(Item::forgets),
            flow: FlowScope::new(trace),
        }
    }

    /// The event time of a row.
    #[inline]
    pub fn time(&self, trace: &Trace, row: RowItem) -> Option<EventTime> {
        self.time_column.and_then(|it| trace.cells(row)[it]).map(EventTime)
    }

    /// Whether rows have event times at all.
    pub const fn has_time(&self) -> bool {
        self.time_column.is_some()
    }

    /// Whether a time that arrived at `at` may not move the watermark.
    #[inline]
    pub fn from_the_future(&self, time: EventTime, at: ProcTime) -> bool {
        self.guard.is_some_and(|it| at.0.saturating_add(it.ahead.0) < time.0)
    }

    /// The value that closes windows in a step; `None` where none does.
    pub fn evicts(&self, kind: StepKind, evict: EventTime) -> Option<EventTime> {
        let ends = kind == StepKind::End;
        match self.mode {
            OutputMode::Complete => None,
            OutputMode::Append | OutputMode::Update if self.linked => Some(evict),
            OutputMode::Append | OutputMode::Update => ends.then_some(EventTime::MAX),
        }
    }

    /// Whether every item with steps lets the candidate be computed exactly once, so that the view
    /// after it shows what the candidate was computed from.
    pub fn one_evaluation(&self, seen: &Observation<'_>) -> bool {
        seen.output.steps.len() == 1 && (!self.per_item || self.trigger == Trigger::Row)
    }

    /// The key of a row, folded to 128 bits.
    pub(super) fn key(&self, seen: &Observation<'_>, id: ItemId) -> u128 {
        let Item::Row(row) = seen.trace.items[id.0 as usize - 1] else { return 0 };
        let cells = seen.trace.cells(row);
        self.keys.iter().fold(0, |key, column| fold_key(key, cells[*column]))
    }
}

/// Adds one cell to a key. One column keeps all of its bits; more are spread over 128.
#[inline]
pub(in crate::invariant) fn fold_key(key: u128, cell: Option<i64>) -> u128 {
    const ODD: u128 = 0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645;
    let spread = key.wrapping_mul(ODD);
    let spread = spread ^ spread >> 61;
    spread ^ cell.map_or(1 << 64, |it| u128::from(it as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_null_is_a_key_of_its_own_and_columns_do_not_mix() {
        let one = |cell| fold_key(0, cell);
        assert_ne!(one(None), one(Some(0)));
        assert_ne!(one(None), one(Some(1)));
        let two = |a, b| fold_key(fold_key(0, a), b);
        assert_ne!(two(Some(1), Some(2)), two(Some(2), Some(1)));
        assert_ne!(two(None, Some(0)), two(Some(0), None));
        assert_ne!(two(Some(0), Some(1)), two(Some(1), Some(0)));
    }
}
