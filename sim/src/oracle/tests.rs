//! A story told item by item: what each item must cause, by hand.

mod engine;
mod flows;
mod lag;
mod numbers;
mod output;
mod partitions;
mod random;
mod restart;
mod rules;

use super::{Expected, ExpectedFate, Lateness, Oracle};
use crate::trace::{Item, Trace};
use plimsoll_engine::output::{FiringKind, StepKind};
use plimsoll_engine::plan::{
    Aggregate, Effective, GeneratorPlan, LatePolicy, LateRule, OutputMode, Plan, Sink, Trigger,
    WatermarkPlan, WindowPlan, WindowSpec,
};
use plimsoll_engine::row::{
    ColumnIx, ColumnKind, ColumnSpec, Dictionary, ItemId, PartitionId, Schema,
};
use plimsoll_engine::state::layout::Value;
use plimsoll_engine::time::{EventTime, ProcTime, Span};

/// Columns: t (time), k, v. Tumbling 10 minutes, delay 2 minutes, per row, rule E, append.
pub(super) fn plan() -> Plan {
    let column = |name: &str, kind| ColumnSpec { name: name.to_owned(), kind };
    Plan {
        flow: None,
        schema: Schema {
            columns: vec![
                column("t", ColumnKind::Time),
                column("k", ColumnKind::Integer),
                column("v", ColumnKind::Integer),
            ],
        },
        watermark: Some(WatermarkPlan {
            column: ColumnIx(0),
            delay: Span::minutes(2),
            generator: GeneratorPlan::GlobalMax,
            effective: Effective::Row,
            fallback: None,
            guard: None,
            initial: EventTime::MIN,
        }),
        lineage: vec![],
        operator: Some(WindowPlan {
            time: "t".to_owned(),
            window: tumbling(Span::minutes(10)),
            keys: vec![ColumnIx(1)],
            aggregates: vec![Aggregate::Count, Aggregate::Sum(ColumnIx(2))],
            late: LateRule::Event,
            late_policy: LatePolicy::Drop,
        }),
        output: OutputMode::Append,
        sink: Sink::Append,
        trigger: Trigger::Row,
    }
}

pub(super) fn tumbling(size: Span) -> WindowSpec {
    WindowSpec { size, slide: size, offset: Span::ZERO }
}

/// The plan's watermark, to be changed.
pub(super) fn watermark(plan: &mut Plan) -> &mut WatermarkPlan {
    plan.watermark.as_mut().expect("the plan of these tests has one")
}

/// The plan's operator, to be changed.
pub(super) fn operator(plan: &mut Plan) -> &mut WindowPlan {
    plan.operator.as_mut().expect("the plan of these tests has one")
}

/// `10:08:30` in milliseconds.
pub(super) fn clock(text: &str) -> i64 {
    let parts: Vec<i64> = text.split(':').map(|it| it.parse().expect("digits")).collect();
    parts.iter().fold(0, |sum, it| sum * 60 + it) * 1_000
}

/// A trace that grows, with the oracle beside it.
pub(super) struct Story {
    pub(super) trace: Trace,
    pub(super) oracle: Oracle,
}

impl Story {
    pub(super) fn new(plan: Plan) -> Self {
        Self::starting_at(plan, 0)
    }

    /// A trace without items.
    pub(super) fn bare(plan: Plan) -> Trace {
        let (items, cells, dictionary) = (vec![], vec![], Dictionary::default());
        Trace { plan, clock: ProcTime(0), dictionary, items, cells }
    }

    pub(super) fn starting_at(plan: Plan, clock: i64) -> Self {
        let trace = Trace { clock: ProcTime(clock), ..Self::bare(plan) };
        Self { oracle: Oracle::new(&trace), trace }
    }

    /// A row of key 1 and value 1.
    pub(super) fn row(&mut self, partition: u32, time: i64) -> Expected {
        self.cells(partition, &[Some(time), Some(1), Some(1)])
    }

    pub(super) fn cells(&mut self, partition: u32, cells: &[Option<i64>]) -> Expected {
        self.trace.push_row(PartitionId(partition), cells);
        self.observe()
    }

    pub(super) fn item(&mut self, item: Item) -> Expected {
        self.trace.items.push(item);
        self.observe()
    }

    pub(super) fn tick(&mut self, span: Span) -> Expected {
        self.item(Item::Tick(span))
    }

    pub(super) fn batch(&mut self) -> Expected {
        self.item(Item::Batch)
    }

    pub(super) fn heartbeat(&mut self, partition: u32, time: i64) -> Expected {
        self.item(Item::Heartbeat { partition: PartitionId(partition), time: EventTime(time) })
    }

    pub(super) fn c(&self) -> i64 {
        self.oracle.candidate().0
    }

    pub(super) fn w(&self) -> i64 {
        self.oracle.watermark().0
    }

    fn observe(&mut self) -> Expected {
        let id = ItemId(self.trace.items.len() as u64);
        let item = self.trace.items[self.trace.items.len() - 1];
        self.oracle.observe(&self.trace, id, &item).clone()
    }
}

/// The one fate of an item that takes one row.
pub(super) fn fate(expected: &Expected) -> ExpectedFate {
    assert_eq!(expected.verdicts.len(), 1, "{expected:?}");
    expected.verdicts[0].fate
}

/// The lateness of the one row.
pub(super) fn lateness(expected: &Expected) -> Lateness {
    match fate(expected) {
        ExpectedFate::Late(it) => it,
        other => panic!("late expected, found {other:?}"),
    }
}

/// Fates in short, in order: `+` counted, `L` late, `?` anything else.
pub(super) fn fates(expected: &Expected) -> String {
    let short = |fate| match fate {
        ExpectedFate::Counted => '+',
        ExpectedFate::Late(_) => 'L',
        _ => '?',
    };
    expected.verdicts.iter().map(|it| short(it.fate)).collect()
}

/// What is written: step, start, first key cell, first value, kind.
pub(super) fn written(expected: &Expected) -> Vec<(u64, i64, Option<i64>, Value, FiringKind)> {
    let firings = expected.firings.iter();
    let figures = firings.flat_map(|it| {
        it.figures.clone().map(|figure| {
            let key = expected.key(figure).first().copied().flatten();
            (it.step, it.window.start.0, key, expected.values(figure)[0], it.kind)
        })
    });
    figures.collect()
}

/// Starts of what is written.
pub(super) fn starts(expected: &Expected) -> Vec<i64> {
    expected.firings.iter().map(|it| it.window.start.0).collect()
}

/// The kinds of the item's steps.
pub(super) fn kinds(expected: &Expected) -> Vec<StepKind> {
    expected.steps.iter().map(|it| it.kind).collect()
}
