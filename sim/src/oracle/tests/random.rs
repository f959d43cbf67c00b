//! Pseudo-random small traces: the oracle against brute force, and against itself under other
//! rules.

use super::*;
use plimsoll_engine::late::Saving;
use plimsoll_engine::plan::{AllIdle, Fallback, IdlePlan, Rejoin};
use plimsoll_engine::watermark::member::Adoption;
use std::collections::BTreeMap;

/// A linear congruential generator (Knuth's MMIX constants), high bits only.
pub(super) struct Lcg(pub(super) u64);

impl Lcg {
    pub(super) fn below(&mut self, n: i64) -> i64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as i64) % n
    }

    pub(super) fn one_in(&mut self, n: i64) -> bool {
        self.below(n) == 0
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as i64) as usize]
    }
}

pub(super) fn random_plan(draw: &mut Lcg) -> Plan {
    let mut plan = plan();
    let (size, slide) = draw.pick(&[(10, 10), (30, 10), (12, 5), (5, 12), (7, 1)]);
    let rules = [LateRule::Event, LateRule::EventInclusive, LateRule::WindowEnd, LateRule::Frame];
    let rule = draw.pick(if size % slide == 0 { &rules } else { &rules[..3] });
    let v = ColumnIx(2);
    let operator = operator(&mut plan);
    operator.window =
        WindowSpec { size: Span(size), slide: Span(slide), offset: Span(draw.below(40) - 20) };
    operator.late = rule;
    operator.aggregates = vec![
        Aggregate::Count,
        Aggregate::CountOf(v),
        Aggregate::Sum(v),
        Aggregate::Min(v),
        Aggregate::Max(v),
        Aggregate::Avg(v),
    ];
    let idle = IdlePlan {
        timeout: Span(5 + draw.below(30)),
        rejoin: draw.pick(&[Rejoin::Hold, Rejoin::CatchUp]),
        all_idle: draw.pick(&[AllIdle::Flush, AllIdle::Hold]),
    };
    let by_partition = GeneratorPlan::PartitionMin { idle: Some(idle) };
    let watermark = watermark(&mut plan);
    watermark.delay = Span(draw.below(25));
    watermark.generator = draw.pick(&[GeneratorPlan::GlobalMax, by_partition]);
    watermark.effective =
        draw.pick(&[Effective::Row, Effective::NextBatch, Effective::BatchAfterNext]);
    plan.trigger = if watermark.effective == Effective::Row && draw.one_in(2) {
        Trigger::Row
    } else {
        draw.pick(&[Trigger::Batch, Trigger::Interval(Span(10))])
    };
    plan
}

pub(super) fn random_trace(draw: &mut Lcg, plan: Plan) -> Trace {
    let mut trace = Story::new(plan).trace;
    let mut front = draw.below(100) - 50;
    for _ in 0..60 {
        let partition = PartitionId(draw.below(3) as u32);
        match draw.below(20) {
            0 | 1 => trace.items.push(Item::Tick(Span(draw.below(20)))),
            2 | 3 => trace.items.push(Item::Batch),
            4 => trace.items.push(Item::Heartbeat { partition, time: EventTime(front) }),
            5 if draw.one_in(4) => {
                let adoption = draw.pick(&[Adoption::WithoutWatermark, Adoption::AtGroup]);
                let item = draw.pick(&[
                    Item::Add { partition, adoption },
                    Item::Move { partition, adoption },
                    Item::Remove(partition),
                    Item::Finish(partition),
                ]);
                trace.items.push(item);
            }
            _ => {
                front += draw.below(8);
                let time = front - draw.below(10) * draw.below(6);
                let time = if draw.one_in(15) { None } else { Some(time) };
                let key = if draw.one_in(5) { None } else { Some(draw.below(3)) };
                let value = if draw.one_in(4) { None } else { Some(draw.below(100) - 50) };
                trace.push_row(partition, &[time, key, value]);
            }
        }
    }
    trace.items.push(Item::End);
    trace
}

fn run(trace: &Trace) -> Vec<Expected> {
    let mut oracle = Oracle::new(trace);
    let items = (1..).zip(&trace.items);
    items.map(|(id, item)| oracle.observe(trace, ItemId(id), item).clone()).collect()
}

fn row_of(trace: &Trace, id: ItemId) -> &[Option<i64>] {
    match trace.items[id.0 as usize - 1] {
        Item::Row(row) => trace.cells(row),
        other => panic!("a row expected, found {other:?}"),
    }
}

/// What is computed, from all the rows at once.
fn aggregates(rows: &[Option<i64>]) -> Vec<Value> {
    let values: Vec<i64> = rows.iter().copied().flatten().collect();
    let int = |it: Option<&i64>| it.map_or(Value::Null, |it| Value::Int(*it));
    let sum: i64 = values.iter().sum();
    let some = |it| if values.is_empty() { Value::Null } else { it };
    vec![
        Value::Int(rows.len() as i64),
        Value::Int(values.len() as i64),
        some(Value::Int(sum)),
        int(values.iter().min()),
        int(values.iter().max()),
        some(Value::Avg { sum: i128::from(sum), count: values.len() as u64 }),
    ]
}

type Figures = BTreeMap<(i64, Option<i64>), Vec<Value>>;

/// Batch aggregation over the admitted rows, trying every start.
fn by_brute_force(trace: &Trace, run: &[Expected]) -> Figures {
    let spec = trace.plan.operator.as_ref().expect("windows").window;
    let mut rows: BTreeMap<(i64, Option<i64>), Vec<Option<i64>>> = BTreeMap::new();
    for verdict in run.iter().flat_map(|it| &it.verdicts) {
        let lost = match verdict.fate {
            ExpectedFate::Counted => 0,
            ExpectedFate::Late(it) => it.lost as usize,
            _ => continue,
        };
        let cells = row_of(trace, verdict.id);
        let t = cells[0].expect("rows without a time are not counted");
        let on_grid = |s: &i64| (s - spec.offset.0).rem_euclid(spec.slide.0) == 0;
        for start in (t - spec.size.0 + 1..=t).filter(on_grid).skip(lost) {
            rows.entry((start, cells[1])).or_default().push(cells[2]);
        }
    }
    rows.into_iter().map(|(name, rows)| (name, aggregates(&rows))).collect()
}

/// Everything that was written, the last writing of a (window, key) winning.
fn figures(run: &[Expected]) -> Figures {
    let mut figures = Figures::new();
    for expected in run {
        for firing in &expected.firings {
            for it in firing.figures.clone() {
                let name = (firing.window.start.0, expected.key(it)[0]);
                let before = figures.insert(name, expected.values(it).to_vec());
                let once = firing.kind != FiringKind::OnTime || before.is_none();
                assert!(once, "{name:?} was written twice");
            }
        }
    }
    figures
}

#[test]
fn figures_are_the_batch_aggregation_of_the_admitted_rows() {
    let mut late = 0;
    for seed in 0..400 {
        let mut draw = Lcg(seed);
        let plan = random_plan(&mut draw);
        let mut trace = random_trace(&mut draw, plan);
        for mode in [OutputMode::Append, OutputMode::Update, OutputMode::Complete] {
            trace.plan.output = mode;
            let run = run(&trace);
            assert_eq!(figures(&run), by_brute_force(&trace, &run), "seed {seed} {mode:?}");
            let verdicts = run.iter().flat_map(|it| &it.verdicts);
            late += verdicts.filter(|it| matches!(it.fate, ExpectedFate::Late(_))).count();
        }
    }
    assert!(late > 1_000, "only {late} late rows: the traces prove nothing");
}

#[test]
fn every_row_has_one_verdict_and_w_never_falls() {
    for seed in 0..200 {
        let mut draw = Lcg(seed);
        let mut plan = random_plan(&mut draw);
        if draw.one_in(2) {
            let behind = Span(draw.below(50));
            watermark(&mut plan).fallback = Some(Fallback { behind, always: draw.one_in(2) });
        }
        let trace = random_trace(&mut draw, plan);
        let run = run(&trace);
        let verdicts: Vec<_> = run.iter().flat_map(|it| &it.verdicts).map(|it| it.id).collect();
        let rows = (1..).zip(&trace.items).filter(|(_, it)| matches!(it, Item::Row(_)));
        assert_eq!(verdicts, rows.map(|(id, _)| ItemId(id)).collect::<Vec<_>>(), "seed {seed}");
        let steps: Vec<_> = run.iter().flat_map(|it| &it.steps).collect();
        assert!(steps.is_sorted_by_key(|it| it.watermark), "seed {seed}");
        assert!(steps.is_sorted_by_key(|it| it.candidate_max), "seed {seed}");
        assert!((0..).zip(&steps).all(|(n, it)| it.step == n), "seed {seed}");
    }
}

/// How many windows the row loses when the trace is run again at this delay.
fn lost_at(trace: &Trace, id: ItemId, delay: Span) -> u64 {
    let mut again = trace.clone();
    watermark(&mut again.plan).delay = delay;
    let run = run(&again);
    let mut verdicts = run.iter().flat_map(|it| &it.verdicts);
    match verdicts.find(|it| it.id == id).expect("every row has a verdict").fate {
        ExpectedFate::Late(it) => it.lost,
        _ => 0,
    }
}

#[test]
fn the_saving_delays_save_and_a_millisecond_less_does_not() {
    let mut tried = 0;
    for seed in 0..120 {
        let mut draw = Lcg(seed);
        let plan = random_plan(&mut draw);
        let trace = random_trace(&mut draw, plan);
        let run = run(&trace);
        for verdict in run.iter().flat_map(|it| &it.verdicts) {
            let ExpectedFate::Late(late) = verdict.fate else { continue };
            let Some(Saving::Delay { smallest, largest }) = late.saving else {
                assert_eq!(late.saving, Some(Saving::Nothing), "seed {seed}");
                assert_eq!(late.watermark, EventTime::MAX, "seed {seed}");
                continue;
            };
            let lost = |delay: i64| lost_at(&trace, verdict.id, Span(delay));
            let place = format!("seed {seed} row {}", verdict.id.0);
            assert_eq!(lost(smallest.0 - 1), late.lost, "{place}");
            assert!(lost(smallest.0) < late.lost, "{place}");
            assert!(0 < lost(largest.0 - 1), "{place}");
            assert_eq!(lost(largest.0), 0, "{place}");
            tried += 1;
        }
    }
    assert!(tried > 300, "only {tried} late rows: the traces prove nothing");
}

#[test]
fn per_row_with_one_maximum_a_row_is_late_iff_its_disorder_exceeds_the_delay() {
    for seed in 0..200 {
        let mut draw = Lcg(seed);
        let mut plan = random_plan(&mut draw);
        operator(&mut plan).late = LateRule::Event;
        operator(&mut plan).window = tumbling(Span(10));
        watermark(&mut plan).generator = GeneratorPlan::GlobalMax;
        watermark(&mut plan).effective = Effective::Row;
        plan.trigger = Trigger::Row;
        let delay = watermark(&mut plan).delay.0;
        let mut trace = random_trace(&mut draw, plan);
        trace.items.retain(|it| matches!(it, Item::Row(_)));
        let mut front = None;
        for verdict in run(&trace).iter().flat_map(|it| &it.verdicts) {
            let Some(t) = row_of(&trace, verdict.id)[0] else { continue };
            let disorder = front.map_or(0, |front: i64| front - t);
            let late = matches!(verdict.fate, ExpectedFate::Late(_));
            assert_eq!(late, delay < disorder, "seed {seed} row {}", verdict.id.0);
            front = front.max(Some(t));
        }
    }
}

#[test]
fn numbering_the_partitions_anew_changes_nothing() {
    let renumbered = |it: PartitionId| PartitionId(7 - 2 * it.0);
    for seed in 0..200 {
        let mut draw = Lcg(seed);
        let plan = random_plan(&mut draw);
        let trace = random_trace(&mut draw, plan);
        let mut other = trace.clone();
        for partition in other.items.iter_mut().filter_map(Item::partition_mut) {
            *partition = renumbered(*partition);
        }
        let steps = |trace| run(trace).into_iter().flat_map(|it| it.steps).collect::<Vec<_>>();
        assert_eq!(steps(&trace), steps(&other), "seed {seed}");
    }
}
