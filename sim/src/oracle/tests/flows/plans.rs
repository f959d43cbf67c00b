//! Random flows and random items for them.

use crate::oracle::tests::random::Lcg;
use crate::oracle::tests::{Story, plan};
use crate::trace::{Item, Trace};
use plimsoll_engine::plan::flow::{
    AsOfPlan, Carry, Chain, Compare, CountPlan, DedupExpiry, DedupPlan, Edge, Expiry, Filter, Flow,
    FollowUp, Gap, GlobalPlan, HoleRule, InputPlan, JoinKind, JoinPlan, Judged, Mark, NullTime,
    PairFilter, PanePlan, Policy, Range, SessionLate, SessionPlan, Sides, StagePlan, Touching,
    WindowStage,
};
use plimsoll_engine::plan::{
    Aggregate, AllIdle, Effective, Fallback, GeneratorPlan, Guard, GuardAction, IdlePlan,
    LatePolicy, LateRule, OutputMode, Plan, Rejoin, Trigger, WatermarkPlan, WindowSpec,
};
use plimsoll_engine::row::{ColumnIx, ColumnKind, ColumnSpec, PartitionId};
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_engine::watermark::levels::Steer;
use plimsoll_engine::watermark::member::Adoption;

/// What the flow is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Stateless,
    Window,
    Session,
    Global,
    Count,
    Dedup,
    Join,
    AsOf,
    Chain,
}

const T: ColumnIx = ColumnIx(0);
const K: ColumnIx = ColumnIx(1);
const V: ColumnIx = ColumnIx(2);
const G: ColumnIx = ColumnIx(3);

/// Columns t (time), k, v, g.
pub(super) fn random_flow(draw: &mut Lcg, kind: Kind) -> Plan {
    let mut plan = plan();
    plan.operator = None;
    plan.schema.columns.push(ColumnSpec { name: "g".to_owned(), kind: ColumnKind::Integer });
    plan.output = match kind {
        Kind::Window | Kind::Session | Kind::Global => {
            draw.pick(&[OutputMode::Append, OutputMode::Update, OutputMode::Complete])
        }
        _ => OutputMode::Append,
    };
    let watermark = random_watermark(draw);
    plan.trigger = match watermark.effective {
        Effective::Probe => Trigger::Row,
        Effective::Row if draw.one_in(2) => Trigger::Row,
        _ if draw.one_in(8) => draw.pick(&[Trigger::Once, Trigger::AvailableNow(3)]),
        _ => draw.pick(&[Trigger::Batch, Trigger::Batch, Trigger::Interval(Span(10))]),
    };
    let joins = matches!(kind, Kind::Join | Kind::AsOf) || kind == Kind::Chain && draw.one_in(3);
    let inputs = if joins { 2 } else { 1 + draw.below(2) };
    let inputs = (0..inputs).map(|it| {
        let mark = Mark { column: T, delay: Span(draw.below(25)) };
        let marks = if it == 1 && !joins && draw.one_in(4) { vec![] } else { vec![mark] };
        let before = if draw.one_in(8) { vec![filter(draw, V)] } else { vec![] };
        if !joins {
            return InputPlan { before, ..InputPlan::of(format!("in{it}"), marks) };
        }
        let behind = if draw.one_in(8) { vec![filter(draw, V)] } else { vec![] };
        let judged = match draw.below(8) {
            0 => Judged::Column(T),
            1 => Judged::Nobody,
            _ => Judged::ItsTime,
        };
        InputPlan { name: format!("in{it}"), marks, before, behind, judged }
    });
    let inputs: Vec<_> = inputs.collect();
    let append = plan.output == OutputMode::Append;
    let stages = stages(draw, kind, joins, append);
    let mut flow = Flow::of(inputs, stages);
    flow.policy = draw.pick(&[Policy::Min, Policy::Max]);
    if joins && draw.one_in(6) {
        let compare = draw.pick(&[Compare::Less, Compare::Unequal, Compare::AtLeast]);
        flow.pairs.push(PairFilter { left: V, compare, right: V });
    }
    flow.chain = draw.pick(&[Chain::Previous, Chain::Same]);
    flow.follow_up = draw.pick(&[FollowUp::Never, FollowUp::WhenMoved]);
    flow.null_time = draw.pick(&[NullTime::Nowhere, NullTime::Epoch]);
    flow.hindsight = draw.pick(&[Span::ZERO, Span(20), Span(100_000)]);
    plan.watermark = Some(WatermarkPlan { delay: flow.inputs[0].marks[0].delay, ..watermark });
    if plan.output != OutputMode::Append {
        for it in &mut flow.stages {
            if let StagePlan::Window(it) = it {
                it.panes = PanePlan::TOTALS;
            }
        }
    }
    // A session that is kept for allowed lateness is forgotten too soon yet.
    let lasts = |it: &StagePlan| matches!(it, StagePlan::Session(it) if it.lateness != Span::ZERO);
    if flow.stages.iter().any(lasts) && flow.hindsight == Span(20) {
        flow.hindsight = Span::ZERO;
    }
    plan.flow = Some(flow);
    plan
}

fn random_watermark(draw: &mut Lcg) -> WatermarkPlan {
    let idle = IdlePlan {
        timeout: Span(5 + draw.below(30)),
        rejoin: draw.pick(&[Rejoin::Hold, Rejoin::CatchUp]),
        all_idle: draw.pick(&[AllIdle::Flush, AllIdle::Hold]),
    };
    let by_partition = GeneratorPlan::PartitionMin { idle: Some(idle) };
    let mut watermark = WatermarkPlan {
        column: T,
        delay: Span::ZERO,
        generator: draw.pick(&[GeneratorPlan::GlobalMax, by_partition]),
        effective: draw.pick(&[
            Effective::Row,
            Effective::NextBatch,
            Effective::BatchAfterNext,
            Effective::Probe,
        ]),
        fallback: None,
        guard: None,
        initial: draw.pick(&[EventTime::MIN, EventTime::MIN, EventTime(0)]),
    };
    if draw.one_in(6) {
        let behind = Span(draw.below(60));
        watermark.fallback = Some(Fallback { behind, always: draw.one_in(2) });
    }
    if draw.one_in(6) {
        use GuardAction::{Accept, CountButNotAdvance, Reject};
        let action = draw.pick(&[Reject, CountButNotAdvance, Accept]);
        watermark.guard = Some(Guard { ahead: Span(draw.below(80)), action });
    }
    watermark
}

fn filter(draw: &mut Lcg, column: ColumnIx) -> Filter {
    use Compare::{AtLeast, AtMost, Equal, Greater, Less, Unequal};
    let compare = draw.pick(&[AtLeast, AtMost, Greater, Less, Equal, Unequal]);
    Filter { column, compare, value: draw.below(60) - 30 }
}

fn stages(draw: &mut Lcg, kind: Kind, joins: bool, append: bool) -> Vec<StagePlan> {
    let mut stages = Vec::new();
    if !joins && draw.one_in(4) {
        let compare = Compare::AtLeast;
        stages.push(StagePlan::Filter(Filter { column: V, compare, value: -40 }));
    }
    if !joins && draw.one_in(8) {
        stages.push(StagePlan::Rename(T, "ts".to_owned()));
    }
    match kind {
        Kind::Stateless => {
            stages.push(StagePlan::Filter(filter(draw, V)));
            stages.push(StagePlan::Project(vec![K, T]));
        }
        Kind::Window => stages.push(window(draw, T, K, V)),
        Kind::Session => stages.push(session(draw, T, K, V, G)),
        Kind::Global => stages.push(global(draw, append)),
        Kind::Count => {
            let aggregates = aggregates(draw, V);
            let rows = 1 + draw.below(4) as u64;
            stages.push(StagePlan::Count(CountPlan {
                time: T,
                keys: keys(draw),
                aggregates,
                rows,
            }));
        }
        Kind::Dedup => stages.push(dedup(draw)),
        Kind::Join => stages.push(join(draw)),
        Kind::AsOf => stages.push(as_of(draw)),
        Kind::Chain => chain(draw, joins, &mut stages),
    }
    if draw.one_in(6) && kind != Kind::Stateless && kind != Kind::Chain {
        let (column, compare) = (ColumnIx(0), Compare::Unequal);
        stages.push(StagePlan::Filter(Filter { column, compare, value: 1 }));
    }
    stages
}

/// Two or three stages that keep state.
fn chain(draw: &mut Lcg, joins: bool, stages: &mut Vec<StagePlan>) {
    // Where time, a key and a value stand behind each stage.
    let (time, key, value) = if joins {
        if draw.one_in(4) {
            stages.push(as_of(draw));
        } else {
            stages.push(join(draw));
        }
        (T, K, V)
    } else {
        match draw.below(4) {
            0 => {
                stages.push(dedup(draw));
                (T, K, V)
            }
            1 => {
                stages.push(session(draw, T, K, V, G));
                (ColumnIx(2), ColumnIx(3), ColumnIx(3))
            }
            _ => {
                stages.push(window(draw, T, K, V));
                (ColumnIx(2), ColumnIx(3), ColumnIx(3))
            }
        }
    };
    if draw.one_in(3) {
        stages.push(StagePlan::Filter(Filter {
            column: value,
            compare: Compare::AtLeast,
            value: -20,
        }));
    }
    match draw.below(4) {
        0 => stages.push(session(draw, time, key, value, value)),
        1 => stages.push(StagePlan::Dedup(DedupPlan {
            columns: vec![key],
            time: Some(time),
            late: LateRule::Event,
            expiry: DedupExpiry::After(Span(draw.below(30))),
            late_policy: LatePolicy::Drop,
        })),
        _ => stages.push(window(draw, time, key, value)),
    }
    if draw.one_in(4) && stages.len() < 4 {
        let window = match stages.last() {
            Some(StagePlan::Window(_) | StagePlan::Session(_)) => {
                let time = ColumnIx(1 + draw.below(2) as usize);
                window(draw, time, ColumnIx(3), ColumnIx(3))
            }
            _ => window(draw, time, key, value),
        };
        stages.push(window);
    }
}

fn keys(draw: &mut Lcg) -> Vec<ColumnIx> {
    draw.pick(&[&[][..], &[K], &[K], &[V, K]]).to_vec()
}

fn aggregates(draw: &mut Lcg, v: ColumnIx) -> Vec<Aggregate> {
    let all = [
        Aggregate::Count,
        Aggregate::CountOf(v),
        Aggregate::Sum(v),
        Aggregate::Min(v),
        Aggregate::Max(v),
        Aggregate::Avg(v),
    ];
    let few = [Aggregate::Count];
    if draw.one_in(2) { all.to_vec() } else { few.to_vec() }
}

fn span(draw: &mut Lcg, below: i64) -> Span {
    if draw.one_in(2) { Span::ZERO } else { Span(draw.below(below)) }
}

fn window(draw: &mut Lcg, time: ColumnIx, key: ColumnIx, value: ColumnIx) -> StagePlan {
    let (size, slide) = draw.pick(&[(10, 10), (20, 20), (30, 10), (12, 5), (5, 12), (7, 1)]);
    let rules = [LateRule::Event, LateRule::EventInclusive, LateRule::WindowEnd, LateRule::Frame];
    let rule = draw.pick(if size % slide == 0 { &rules } else { &rules[..3] });
    let early = draw.one_in(4).then(|| 1 + draw.below(3) as u64);
    StagePlan::Window(WindowStage {
        time,
        window: WindowSpec { size: Span(size), slide: Span(slide), offset: Span(draw.below(9)) },
        keys: if draw.one_in(4) { vec![] } else { vec![key] },
        aggregates: aggregates(draw, value),
        late: rule,
        late_policy: draw.pick(&[LatePolicy::Drop, LatePolicy::SideOutput]),
        lateness: span(draw, 30),
        panes: PanePlan {
            early_rows: early,
            carry: draw.pick(&[Carry::Accumulating, Carry::Discarding, Carry::Retracting]),
        },
        hole: HoleRule::NoWindow,
    })
}

fn session(
    draw: &mut Lcg,
    time: ColumnIx,
    key: ColumnIx,
    value: ColumnIx,
    gap: ColumnIx,
) -> StagePlan {
    StagePlan::Session(SessionPlan {
        time,
        gap: if draw.one_in(3) { Gap::Column(gap) } else { Gap::Fixed(Span(1 + draw.below(15))) },
        keys: if draw.one_in(4) { vec![] } else { vec![key] },
        aggregates: aggregates(draw, value),
        late: draw.pick(&[SessionLate::Event, SessionLate::Proto, SessionLate::Merged]),
        late_policy: draw.pick(&[LatePolicy::Drop, LatePolicy::SideOutput]),
        touching: draw.pick(&[Touching::Apart, Touching::Merge]),
        max_span: draw.one_in(4).then(|| Span(10 + draw.below(30))),
        lateness: span(draw, 30),
    })
}

fn global(draw: &mut Lcg, append: bool) -> StagePlan {
    let late = draw.pick(&[LateRule::Event, LateRule::EventInclusive]);
    let timed = append || draw.one_in(2);
    StagePlan::Global(GlobalPlan {
        keys: if timed { vec![K, T] } else { keys(draw) },
        aggregates: aggregates(draw, V),
        time: timed.then_some((T, late)),
    })
}

fn dedup(draw: &mut Lcg) -> StagePlan {
    let (columns, expiry) = match draw.below(4) {
        0 => (vec![K, T], DedupExpiry::WithItsTime),
        1 => (vec![K], DedupExpiry::Never),
        _ => (
            vec![K, V][..1 + draw.below(2) as usize].to_vec(),
            DedupExpiry::After(Span(draw.below(30))),
        ),
    };
    let untimed = expiry == DedupExpiry::Never && draw.one_in(2);
    StagePlan::Dedup(DedupPlan {
        columns,
        time: (!untimed).then_some(T),
        late: draw.pick(&[LateRule::Event, LateRule::EventInclusive]),
        expiry,
        late_policy: draw.pick(&[LatePolicy::Drop, LatePolicy::SideOutput]),
    })
}

fn join(draw: &mut Lcg) -> StagePlan {
    use JoinKind::{Anti, Full, Inner, Left, Right, Semi};
    let in_windows = draw.one_in(5);
    let size = Span(10 + draw.below(10));
    let window = WindowSpec { size, slide: size, offset: Span(draw.below(9)) };
    let ranges = if in_windows { 0 } else { draw.pick(&[0, 1, 1, 1, 1, 2]) };
    let ranges = (0..ranges).map(|_| {
        let edge = |at: i64, open| Some(Edge { at: Span(at), open });
        let lower = edge(draw.below(30) - 20, draw.one_in(3)).filter(|_| !draw.one_in(5));
        let from = lower.map_or(-20, |it| it.at.0);
        let upper = edge(from + 2 + draw.below(30), draw.one_in(3)).filter(|_| !draw.one_in(5));
        Range { lower, upper }
    });
    let ranges = ranges.collect::<Vec<_>>();
    let late = if in_windows && draw.one_in(2) {
        LateRule::WindowEnd
    } else {
        draw.pick(&[LateRule::Event, LateRule::EventInclusive])
    };
    let flip = |draw: &mut Lcg| draw.one_in(3);
    let kind = draw.pick(&[Inner, Left, Right, Full, Semi, Anti]);
    // Null rows and anti rows need a row that leaves.
    let some = |it: &Option<Edge>| it.is_some();
    let (mut ranges, closed): (Vec<Range>, _) = (ranges, in_windows);
    if !closed && kind != Inner && kind != Semi {
        let edge = |at| Some(Edge { at: Span(at), open: false });
        if !ranges.iter().any(|it| some(&it.lower)) {
            ranges.push(Range { lower: edge(-25), upper: None });
        }
        if !ranges.iter().any(|it| some(&it.upper)) {
            ranges.push(Range { lower: None, upper: edge(30) });
        }
    }
    StagePlan::Join(JoinPlan {
        kind,
        on: draw.pick(&[&[][..], &[(K, K)], &[(K, K)], &[(K, K), (V, V)]]).to_vec(),
        time: [T, T],
        ranges,
        window: in_windows.then_some(window),
        only_if: [0, 1].map(|_| draw.one_in(5).then(|| filter(draw, V))),
        late,
        grace: if draw.one_in(3) { Span(draw.below(4)) } else { Span::ZERO },
        expiry: Expiry {
            at_bound: flip(draw),
            with_grace: !flip(draw),
            own_time: flip(draw),
            loosest: flip(draw),
        },
        sides: draw.pick(&[Sides::Own, Sides::Combined, Sides::Both, Sides::Either]),
        late_policy: draw.pick(&[LatePolicy::Drop, LatePolicy::SideOutput]),
    })
}

fn as_of(draw: &mut Lcg) -> StagePlan {
    StagePlan::AsOf(AsOfPlan {
        on: draw.pick(&[&[][..], &[(K, K)], &[(K, K)]]).to_vec(),
        time: [T, T],
        tolerance: Span(draw.below(30)),
        outer: draw.one_in(2),
        late_policy: LatePolicy::Drop,
    })
}

/// Rows and whatever else may stand in a trace.
pub(super) fn random_items(draw: &mut Lcg, plan: Plan) -> Trace {
    let inputs = plan.flow.as_ref().map_or(1, |it| it.inputs.len()) as i64;
    let row_by_row = plan.trigger == Trigger::Row;
    let mut trace = Story::bare(plan);
    let mut front = draw.below(60) - 20;
    for _ in 0..draw.pick(&[20, 60]) {
        let input = draw.below(inputs) as u32;
        let input = if draw.one_in(80) { 3 } else { input };
        let partition = PartitionId::of(input, 0, draw.below(2) as u32);
        match draw.below(24) {
            0 | 1 => trace.items.push(Item::Tick(Span(draw.below(20)))),
            2 | 3 if row_by_row => trace.items.push(Item::Probe),
            2..=5 => trace.items.push(Item::Batch),
            6 => trace.items.push(Item::Heartbeat { partition, time: EventTime(front) }),
            7 if draw.one_in(3) => trace.items.push(rare(draw, partition, front)),
            _ => {
                front += draw.below(8);
                let time = front - draw.below(10) * draw.below(6);
                let time = if draw.one_in(15) { None } else { Some(time) };
                let key = if draw.one_in(8) { None } else { Some(draw.below(3)) };
                let value = if draw.one_in(6) { None } else { Some(draw.below(100) - 50) };
                let gap = if draw.one_in(12) { None } else { Some(draw.below(20) - 1) };
                trace.push_row(partition, &[time, key, value, gap]);
            }
        }
    }
    if !draw.one_in(5) {
        trace.items.push(Item::End);
    }
    trace
}

fn rare(draw: &mut Lcg, partition: PartitionId, front: i64) -> Item {
    let adoption =
        draw.pick(&[Adoption::WithWatermark, Adoption::WithoutWatermark, Adoption::AtGroup]);
    match draw.below(9) {
        0 => Item::Checkpoint,
        1 => Item::Crash { stale: draw.one_in(2) },
        2 => Item::Finish(partition),
        3 => Item::Remove(partition),
        4 => Item::Move { partition, adoption },
        5 => Item::Add { partition, adoption: Adoption::WithoutWatermark },
        6 if draw.one_in(4) => Item::End,
        6 => Item::Steer(Steer::Limit(EventTime(front))),
        7 => Item::Heartbeat { partition, time: EventTime(draw.pick(&[i64::MAX, -5, 200])) },
        _ => Item::Tick(Span(draw.below(80))),
    }
}
