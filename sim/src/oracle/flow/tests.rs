//! Stories of flows, told item by item: what each item must cause, by hand.

mod chains;
mod grouping;
mod inputs;
mod levels;
mod matching;
mod restart;

use super::{ExpectedFlow, FlowFate, FlowOracle};
use crate::oracle::tests::plan;
use crate::trace::{Item, Trace};
use plimsoll_engine::plan::flow::{Edge, Gap, HoleRule};
use plimsoll_engine::plan::flow::{
    Expiry, Flow, InputPlan, JoinKind, JoinPlan, Mark, PanePlan, Range, SessionLate, SessionPlan,
    Sides, StagePlan, Touching, WindowStage,
};
use plimsoll_engine::plan::{
    Aggregate, Effective, LatePolicy, LateRule, OutputMode, Plan, Trigger, WatermarkPlan,
    WindowSpec,
};
use plimsoll_engine::row::{ColumnIx, Dictionary, ItemId, PartitionId};
use plimsoll_engine::time::{EventTime, ProcTime, Span};

pub(crate) const T: ColumnIx = ColumnIx(0);
pub(crate) const K: ColumnIx = ColumnIx(1);
pub(crate) const V: ColumnIx = ColumnIx(2);

/// Columns t (time), k, v; one mark on t per delay, per row, append.
pub(crate) fn flow(delays: &[i64], stages: Vec<StagePlan>) -> Plan {
    let mark = |delay: &i64| Mark { column: T, delay: Span(*delay) };
    let inputs = delays.iter().enumerate();
    let inputs = inputs.map(|(at, it)| InputPlan::of(format!("in{at}"), vec![mark(it)]));
    let mut plan = plan();
    plan.operator = None;
    plan.flow = Some(Flow::of(inputs.collect(), stages));
    watermark(&mut plan).delay = Span(delays[0]);
    plan
}

pub(crate) fn watermark(plan: &mut Plan) -> &mut WatermarkPlan {
    plan.watermark.as_mut().expect("the plan of these tests has one")
}

/// Batches, with a watermark that counts then.
pub(crate) fn batched(mut plan: Plan, effective: Effective) -> Plan {
    plan.trigger = Trigger::Batch;
    watermark(&mut plan).effective = effective;
    plan
}

/// Tumbling windows of t per k that count.
pub(crate) fn windows(time: ColumnIx, size: i64) -> WindowStage {
    let size = Span(size);
    WindowStage {
        time,
        window: WindowSpec { size, slide: size, offset: Span::ZERO },
        keys: vec![],
        aggregates: vec![Aggregate::Count],
        late: LateRule::WindowEnd,
        late_policy: LatePolicy::Drop,
        lateness: Span::ZERO,
        panes: PanePlan::TOTALS,
        hole: HoleRule::NoWindow,
    }
}

/// Sessions per k with a gap of 10.
pub(crate) fn sessions() -> SessionPlan {
    SessionPlan {
        time: T,
        gap: Gap::Fixed(Span(10)),
        keys: vec![K],
        aggregates: vec![Aggregate::Count],
        late: SessionLate::Event,
        late_policy: LatePolicy::Drop,
        touching: Touching::Apart,
        max_span: None,
        lateness: Span::ZERO,
    }
}

/// An edge at this distance.
pub(crate) const fn edge(at: i64, open: bool) -> Option<Edge> {
    Some(Edge { at: Span(at), open })
}

/// A join on k with lower <= r.t - l.t <= upper, under the founding text's rules.
pub(crate) fn join(kind: JoinKind, lower: i64, upper: i64) -> JoinPlan {
    JoinPlan {
        kind,
        on: vec![(K, K)],
        time: [T, T],
        ranges: vec![Range { lower: edge(lower, false), upper: edge(upper, false) }],
        window: None,
        only_if: [None, None],
        late: LateRule::Event,
        grace: Span::ZERO,
        expiry: Expiry::EXACT,
        sides: Sides::Own,
        late_policy: LatePolicy::Drop,
    }
}

/// A trace that grows.
pub(crate) fn bare(plan: Plan) -> Trace {
    let (items, cells, dictionary) = (vec![], vec![], Dictionary::default());
    Trace { plan, clock: ProcTime(0), dictionary, items, cells }
}

/// A trace that grows, with the oracle beside it.
struct Story {
    trace: Trace,
    oracle: FlowOracle,
}

impl Story {
    fn new(plan: Plan) -> Self {
        let trace = bare(plan);
        Self { oracle: FlowOracle::new(&trace), trace }
    }

    /// A row of partition 0 of an input, with key 1 and value 1.
    fn row(&mut self, input: u32, time: i64) -> ExpectedFlow {
        self.cells(input, &[Some(time), Some(1), Some(1)])
    }

    fn cells(&mut self, input: u32, cells: &[Option<i64>]) -> ExpectedFlow {
        self.trace.push_row(PartitionId::of(input, 0, 0), cells);
        self.observe()
    }

    fn item(&mut self, item: Item) -> ExpectedFlow {
        self.trace.items.push(item);
        self.observe()
    }

    fn batch(&mut self) -> ExpectedFlow {
        self.item(Item::Batch)
    }

    fn end(&mut self) -> ExpectedFlow {
        self.item(Item::End)
    }

    fn w(&self) -> i64 {
        self.oracle.watermark().0
    }

    fn observe(&mut self) -> ExpectedFlow {
        let id = ItemId(self.trace.items.len() as u64);
        let item = self.trace.items[self.trace.items.len() - 1];
        self.oracle.observe(&self.trace, id, &item).clone()
    }
}

/// What is written: the kind, and the cells without nulls as `-`.
fn written(expected: &ExpectedFlow) -> Vec<String> {
    let cell = |it: &Option<i64>| it.map_or_else(|| "-".to_owned(), |it| it.to_string());
    let mut rows: Vec<_> = expected
        .emissions
        .iter()
        .map(|it| {
            let cells: Vec<_> = it.cells.iter().map(cell).collect();
            format!("{} {}", it.kind.word(), cells.join(" "))
        })
        .collect();
    rows.sort_unstable();
    rows
}

/// Fates in short, in order: `+` counted, `L` late, `D` duplicate, `F` filtered, `?` anything else.
fn fates(expected: &ExpectedFlow) -> String {
    let short = |fate| match fate {
        FlowFate::Counted => '+',
        FlowFate::Late { .. } => 'L',
        FlowFate::Duplicate { .. } => 'D',
        FlowFate::Filtered => 'F',
        _ => '?',
    };
    expected.verdicts.iter().map(|it| short(it.fate)).collect()
}

const fn nothing() -> [&'static str; 0] {
    []
}

/// The time that nothing is known of.
const NEVER: i64 = EventTime::MIN.0;
