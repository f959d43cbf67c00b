//! The operator against a recomputation by definition, over many small worlds.
//!
//! The model keeps, for every window and key, the values that went in, and judges by the rules as
//! semantics section 3 words them. It shares no code with the operator but the vocabulary.
//!
//! Invariant: none of these tests depends on anything but its own small generator of numbers.

use super::saved::AggregateState;
use super::{Closing, Exception, WindowAggregate};
use crate::operator::LateBound;
use crate::plan::{
    Aggregate, Effective, GeneratorPlan, LatePolicy, LateRule, OutputMode, Plan, Sink, Trigger,
    WatermarkPlan, WindowPlan, WindowSpec,
};
use crate::row::{ColumnIx, ColumnKind, ColumnSpec, ItemId, PartitionId, RowBatch, Schema};
use crate::state::layout::Value;
use crate::time::{EventTime, ProcTime, Span};
use std::collections::BTreeMap;

struct Lcg(u64);

impl Lcg {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % n
    }

    fn within(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low) as u64) as i64
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// Columns: time, two keys, a value.
pub(super) fn plan(
    window: (i64, i64, i64),
    keys: &[usize],
    aggregates: Vec<Aggregate>,
    late: LateRule,
    output: OutputMode,
) -> Plan {
    let column = |name: &str, kind| ColumnSpec { name: name.to_owned(), kind };
    let (size, slide, offset) = (Span(window.0), Span(window.1), Span(window.2));
    Plan {
        flow: None,
        schema: Schema {
            columns: vec![
                column("t", ColumnKind::Time),
                column("k", ColumnKind::Integer),
                column("l", ColumnKind::Integer),
                column("v", ColumnKind::Integer),
            ],
        },
        watermark: Some(WatermarkPlan {
            column: ColumnIx(0),
            delay: Span(0),
            generator: GeneratorPlan::GlobalMax,
            effective: Effective::Row,
            fallback: None,
            guard: None,
            initial: EventTime::MIN,
        }),
        lineage: vec![],
        operator: Some(WindowPlan {
            time: "t".to_owned(),
            window: WindowSpec { size, slide, offset },
            keys: keys.iter().map(|it| ColumnIx(*it)).collect(),
            aggregates,
            late,
            late_policy: LatePolicy::Drop,
        }),
        output,
        sink: Sink::Append,
        trigger: Trigger::Batch,
    }
}

pub(super) fn all_aggregates() -> Vec<Aggregate> {
    let v = ColumnIx(3);
    vec![
        Aggregate::Count,
        Aggregate::Sum(v),
        Aggregate::CountOf(v),
        Aggregate::Min(v),
        Aggregate::Max(v),
        Aggregate::Avg(v),
    ]
}

pub(super) fn usual() -> Vec<Aggregate> {
    vec![Aggregate::Count, Aggregate::Sum(ColumnIx(3))]
}

pub(super) fn batch(rows: &[Row]) -> RowBatch {
    let mut batch = RowBatch::new(4);
    for (id, row) in (0..).zip(rows) {
        batch.push(ItemId(id), PartitionId(0), ProcTime(0), row);
    }
    batch
}

type Row = [Option<i64>; 4];
pub(super) type Key = Vec<Option<i64>>;
pub(super) type Figures = Vec<(i64, i64, Vec<(Key, Vec<Value>)>)>;

fn figures(of: &[Closing], sorted: bool) -> Figures {
    of.iter()
        .map(|it| {
            let layout = &it.groups.layout;
            let group = |g| {
                let key = (0..layout.keys.len()).map(|i| it.groups.key(g, i)).collect();
                let values = 0..layout.accumulators.len();
                (key, values.map(|i| it.groups.value(g, i)).collect())
            };
            let mut groups: Vec<_> = (0..it.groups.len()).map(group).collect();
            if sorted {
                groups.sort();
            }
            (it.window.start.0, it.window.end.0, groups)
        })
        .collect()
}

/// What a window and key hold, by definition.
#[derive(Clone, Default)]
struct Held {
    values: Vec<Option<i64>>,
    changed: bool,
    step: u64,
}

struct Model {
    plan: WindowPlan,
    mode: OutputMode,
    /// By end and start of the window, then by key.
    held: BTreeMap<(i64, i64), BTreeMap<Key, Held>>,
    evicted: i64,
}

impl Model {
    fn new(plan: &Plan) -> Self {
        let window = plan.operator.clone().expect("a plan with windows");
        Self { plan: window, mode: plan.output, held: BTreeMap::new(), evicted: i64::MIN }
    }

    fn windows(&self, time: i64) -> Vec<(i64, i64)> {
        let WindowSpec { size, slide, offset } = self.plan.window;
        let [size, slide, offset, time] = [size.0, slide.0, offset.0, time].map(i128::from);
        let around = (time - offset).div_euclid(slide);
        let starts = (around - size / slide - 2..=around + 1).map(|k| k * slide + offset);
        let held = starts.filter(|it| *it <= time && time < it + size);
        held.map(|it| (it as i64, (it + size) as i64)).collect()
    }

    fn is_lost(&self, time: i64, end: i64, w: i64) -> bool {
        let WindowSpec { slide, offset, .. } = self.plan.window;
        let frame = |t: i64| (t - offset.0).div_euclid(slide.0);
        let late = match self.plan.late {
            LateRule::Event => time < w,
            LateRule::EventInclusive => time <= w,
            LateRule::WindowEnd => end <= w,
            LateRule::Frame => w == i64::MAX || (w != i64::MIN && frame(time) < frame(w)),
        };
        self.mode != OutputMode::Complete && (late || end <= self.evicted)
    }

    fn row(&mut self, row: &Row, w: i64, step: u64) -> (u32, u32) {
        let time = row[0].expect("a row with a time");
        let key: Key = self.plan.keys.iter().map(|it| row[it.0]).collect();
        let (mut lost, mut kept) = (0, 0);
        for (start, end) in self.windows(time) {
            if self.is_lost(time, end, w) {
                lost += 1;
                continue;
            }
            kept += 1;
            let held = self.held.entry((end, start)).or_default().entry(key.clone()).or_default();
            held.values.push(row[3]);
            (held.changed, held.step) = (true, step);
        }
        (lost, kept)
    }

    fn values(&self, held: &Held) -> Vec<Value> {
        let some: Vec<i64> = held.values.iter().copied().flatten().collect();
        let sum: i128 = some.iter().map(|it| i128::from(*it)).sum();
        let or_null = |it: Option<i64>| it.map_or(Value::Null, Value::Int);
        let value = |it: &Aggregate| match it {
            Aggregate::Count => Value::Int(held.values.len() as i64),
            Aggregate::CountOf(_) => Value::Int(some.len() as i64),
            Aggregate::Min(_) => or_null(some.iter().min().copied()),
            Aggregate::Max(_) => or_null(some.iter().max().copied()),
            _ if some.is_empty() => Value::Null,
            Aggregate::Sum(_) => i64::try_from(sum).map_or(Value::Wide(sum), Value::Int),
            Aggregate::Avg(_) => Value::Avg { sum, count: some.len() as u64 },
        };
        self.plan.aggregates.iter().map(value).collect()
    }

    fn write(&self, of: impl Iterator<Item = (i64, i64)>, changed_only: bool) -> Figures {
        of.filter_map(|(end, start)| {
            let keys = self.held[&(end, start)].iter();
            let groups: Vec<_> = keys
                .filter(|(_, held)| held.changed || !changed_only)
                .map(|(key, held)| (key.clone(), self.values(held)))
                .collect();
            if groups.is_empty() { None } else { Some((start, end, groups)) }
        })
        .collect()
    }

    fn evict(&mut self, evict: i64) -> (Figures, u64) {
        if self.mode == OutputMode::Complete || evict <= self.evicted {
            return (vec![], 0);
        }
        self.evicted = evict;
        let closing: Vec<_> = self.held.keys().copied().filter(|it| it.0 <= evict).collect();
        let figures = self.write(closing.iter().copied(), self.mode == OutputMode::Update);
        let gone = closing.iter().map(|it| self.held.remove(it).map_or(0, |it| it.len() as u64));
        (figures, gone.sum())
    }

    fn emit(&mut self) -> Figures {
        if self.mode == OutputMode::Append {
            return vec![];
        }
        let figures = self.write(self.held.keys().copied(), self.mode == OutputMode::Update);
        self.held.values_mut().flat_map(BTreeMap::values_mut).for_each(|it| it.changed = false);
        figures
    }

    fn groups(&self, step: Option<u64>) -> u64 {
        let all = self.held.values().flat_map(BTreeMap::values);
        all.filter(|it| step.is_none_or(|step| it.step == step)).count() as u64
    }
}

const WINDOWS: [(i64, i64, i64); 8] = [
    (10, 10, 0),
    (10, 10, -3),
    (10, 2, 1),
    (10, 4, 1),
    (10, 3, 0),
    (4, 10, 2),
    (7, 6, 5),
    (1, 1, 0),
];
const RULES: [LateRule; 4] =
    [LateRule::Event, LateRule::EventInclusive, LateRule::WindowEnd, LateRule::Frame];
const MODES: [OutputMode; 3] = [OutputMode::Append, OutputMode::Update, OutputMode::Complete];

fn draw_row(draw: &mut Lcg, around: i64, nulls: bool) -> Row {
    let mut cell = |of: &[i64]| {
        if nulls && draw.below(5) == 0 { None } else { Some(draw.pick(of)) }
    };
    let keys = [cell(&[0, 1, 2, -1]), cell(&[0, 7])];
    let value = cell(&[0, 1, -5, i64::MAX, i64::MIN, i64::MAX - 1]);
    [Some(around + draw.within(-14, 6)), keys[0], keys[1], value]
}

/// Rows between -14 and 6, some of them null.
pub(super) fn some_rows(count: u64) -> Vec<Row> {
    let mut draw = Lcg(count);
    (0..count).map(|_| draw_row(&mut draw, 0, true)).collect()
}

/// One small world: batches of rows, bounds that rise, evictions, snapshots in between.
fn one_world(seed: u64) -> (u64, u64, u64) {
    let mut draw = Lcg(seed);
    let (window, rule, mode) = (draw.pick(&WINDOWS), draw.pick(&RULES), draw.pick(&MODES));
    let keys = [&[][..], &[1], &[1, 2], &[2]][draw.below(4) as usize];
    let aggregates = if draw.below(2) == 0 { usual() } else { all_aggregates() };
    let nulls = draw.below(2) == 0;
    let plan = plan(window, keys, aggregates, rule, mode);
    let mut model = Model::new(&plan);
    let mut ours = WindowAggregate::new(&plan, seed);
    let mut other = WindowAggregate::new(&plan, !seed);
    let (mut spare, mut spare_other) = (Vec::new(), Vec::new());
    let (mut low, mut fired, mut partly, mut late) = (i64::MIN, 0, 0, 0);
    let mut around = draw.within(-40, 40);
    for step in 0..12 {
        around += draw.within(0, 9);
        let rows: Vec<_> =
            (0..draw.below(12)).map(|_| draw_row(&mut draw, around, nulls)).collect();
        let skip: Vec<bool> = match draw.below(3) {
            0 => rows.iter().map(|_| draw.below(4) == 0).collect(),
            _ => vec![],
        };
        let per_row = draw.below(2) == 0;
        let mut bounds = Vec::new();
        for _ in &rows {
            if (bounds.is_empty() || per_row) && draw.below(3) == 0 {
                low = low.max(around - draw.within(0, 16));
            }
            bounds.push(EventTime(low));
        }
        let bound = bounds.last().copied().unwrap_or(EventTime(low));
        let bound = if per_row { LateBound::PerRow(&bounds) } else { LateBound::Same(bound) };
        let mut expected = (Vec::new(), 0);
        for (row, cells) in rows.iter().enumerate() {
            if skip.get(row) == Some(&true) {
                continue;
            }
            let bound = bound.of(row);
            let (lost, kept) = model.row(cells, bound.0, step);
            expected.1 += u64::from(0 < kept);
            partly += u64::from(0 < kept && 0 < lost);
            late += u64::from(0 < lost);
            if 0 < lost || kept == 0 {
                let no_window = lost + kept == 0;
                // Nobody is judged in complete mode.
                let bound = if mode == OutputMode::Complete { EventTime::MIN } else { bound };
                expected.0.push(Exception { row, lost, kept, no_window, bound });
            }
        }
        let rows = batch(&rows);
        let cut = draw.below(1 + rows.len() as u64) as usize;
        for it in [&mut ours, &mut other] {
            let mut exceptions = Vec::new();
            let mut counted = it.apply(&rows, 0..cut, &skip, bound, step, &mut exceptions);
            counted += it.apply(&rows, cut..rows.len(), &skip, bound, step, &mut exceptions);
            assert_eq!((exceptions, counted), expected, "world {seed} step {step} {plan:?}");
            assert_eq!(it.groups_updated(step), model.groups(Some(step)), "world {seed}");
        }
        let evict = match draw.below(8) {
            0 => low.saturating_sub(3),
            1 => low.max(around - 9),
            _ => low,
        };
        // The interlock: nothing is judged by less than what was evicted.
        low = low.max(evict);
        let mut out = (Vec::new(), Vec::new());
        let expected = model.evict(evict);
        let removed = ours.evict(EventTime(evict), &mut spare, &mut out.0);
        other.evict(EventTime(evict), &mut spare_other, &mut out.1);
        assert_eq!((figures(&out.0, true), removed), expected, "world {seed} evict {evict}");
        if draw.below(2) == 0 {
            let expected = model.emit();
            let at = out.0.len();
            ours.emit(&mut spare, &mut out.0);
            other.emit(&mut spare_other, &mut out.1);
            assert_eq!(figures(&out.0[at..], true), expected, "world {seed} step {step}");
        }
        assert_eq!(figures(&out.0, false), figures(&out.1, false), "seeds differ in world {seed}");
        fired += out.0.len() as u64;
        spare.extend(out.0.drain(..).map(|it| it.groups));
        assert_eq!(ours.groups(), model.groups(None), "world {seed} step {step}");
        assert_eq!(ours.oldest_end().map(|it| it.0), model.held.keys().next().map(|it| it.0));
        let saved = ours.save();
        assert_eq!(saved, other.save(), "world {seed} step {step}");
        if draw.below(4) == 0 {
            let bytes = postcard::to_allocvec(&saved).expect("plain data");
            let read: AggregateState = postcard::from_bytes(&bytes).expect("what was written");
            ours = WindowAggregate::load(&plan, step, &read).expect("what was saved");
            assert_eq!(ours.save(), saved);
        }
    }
    let mut out = Vec::new();
    let expected = model.evict(i64::MAX);
    let removed = ours.evict(EventTime::MAX, &mut spare, &mut out);
    assert_eq!((figures(&out, true), removed), expected, "world {seed} at its end");
    (fired + out.len() as u64, partly, late)
}

#[test]
fn every_small_world_comes_out_as_by_definition() {
    let mut seen = (0, 0, 0);
    for seed in 0..3_000 {
        let (fired, partly, late) = one_world(seed);
        seen = (seen.0 + fired, seen.1 + partly, seen.2 + late);
    }
    assert!(25_000 < seen.0 && 2_500 < seen.1 && 10_000 < seen.2, "worlds are vacuous: {seen:?}");
}

pub(super) fn time(t: i64, key: i64, value: i64) -> Row {
    [Some(t), Some(key), Some(0), Some(value)]
}

/// Applies rows under one bound and returns the exceptions.
pub(super) fn apply(to: &mut WindowAggregate, rows: &[Row], bound: EventTime) -> Vec<Exception> {
    let mut exceptions = Vec::new();
    let late = LateBound::Same(bound);
    to.apply(&batch(rows), 0..rows.len(), &[], late, 1, &mut exceptions);
    exceptions
}

pub(super) fn evict(from: &mut WindowAggregate, at: EventTime) -> Figures {
    let mut out = Vec::new();
    from.evict(at, &mut Vec::new(), &mut out);
    figures(&out, true)
}

#[test]
fn a_batch_equals_its_rows_one_by_one() {
    let mut draw = Lcg(11);
    for window in WINDOWS {
        for rule in RULES {
            let plan = plan(window, &[1, 2], all_aggregates(), rule, OutputMode::Update);
            let mut low = -300;
            let (mut rows, mut bounds) = (Vec::new(), Vec::new());
            for i in 0..2_500 {
                // Rows all over time now and then: more slices than a block sorts.
                let around = if i % 900 < 100 { draw.within(-200, 200) } else { i / 20 };
                rows.push(draw_row(&mut draw, around, true));
                low = low.max(i / 20 - 40);
                bounds.push(EventTime(low));
            }
            let (rows, late) = (batch(&rows), LateBound::PerRow(&bounds));
            let skip: Vec<bool> = (0..rows.len()).map(|_| draw.below(9) == 0).collect();
            let mut at_once = WindowAggregate::new(&plan, 1);
            let mut one_by_one = WindowAggregate::new(&plan, 2);
            let (mut once, mut each) = (Vec::new(), Vec::new());
            let counted = at_once.apply(&rows, 0..rows.len(), &skip, late, 7, &mut once);
            let single = (0..rows.len())
                .map(|row| one_by_one.apply(&rows, row..row + 1, &skip, late, 7, &mut each));
            assert_eq!(counted, single.sum::<u64>());
            assert_eq!(once, each);
            assert_eq!(at_once.save(), one_by_one.save());
        }
    }
}

#[test]
fn times_keys_and_sums_at_the_ends_of_their_ranges_come_out() {
    let far = EventTime::LEGAL;
    for window in [(10, 10, 0), (10, 3, 1), (1 << 40, (1 << 39) + 1, -5), (1 << 61, 1 << 61, 9)] {
        let plan = plan(window, &[1], usual(), LateRule::WindowEnd, OutputMode::Append);
        let mut model = Model::new(&plan);
        let mut ours = WindowAggregate::new(&plan, 3);
        let rows: Vec<_> = [-far, -far + 1, -1, 0, far - 1, far]
            .into_iter()
            .flat_map(|t| {
                let keys = [i64::MIN, 0, i64::MAX];
                keys.into_iter().flat_map(move |key| {
                    [i64::MAX, i64::MAX, i64::MIN, 1].map(|value| time(t, key, value))
                })
            })
            .collect();
        assert!(apply(&mut ours, &rows, EventTime::MIN).is_empty());
        for row in &rows {
            model.row(row, i64::MIN, 1);
        }
        assert_eq!(ours.groups(), model.groups(None));
        for at in [-far, 0, far, i64::MAX] {
            let expected = model.evict(at);
            assert_eq!(evict(&mut ours, EventTime(at)), expected.0, "{window:?} at {at}");
        }
        assert_eq!((ours.groups(), ours.oldest_end()), (0, None));
    }
}

#[test]
fn a_sum_that_left_i64_comes_back() {
    let plan = plan((10, 10, 0), &[1], usual(), LateRule::Event, OutputMode::Update);
    let mut ours = WindowAggregate::new(&plan, 3);
    let mut sum = |value| {
        apply(&mut ours, &[time(5, 1, value)], EventTime::MIN);
        let mut out = Vec::new();
        ours.emit(&mut Vec::new(), &mut out);
        ours = WindowAggregate::load(&plan, 9, &ours.save()).expect("what was saved");
        out[0].groups.value(0, 1)
    };
    assert_eq!(sum(i64::MAX), Value::Int(i64::MAX));
    assert_eq!(sum(1), Value::Wide(1 << 63));
    assert_eq!(sum(i64::MAX), Value::Wide((1 << 64) - 1));
    assert_eq!(sum(i64::MIN), Value::Int(i64::MAX));
    assert_eq!(sum(i64::MIN), Value::Int(-1));
}

#[test]
fn a_window_that_was_evicted_is_never_written_again() {
    let plan = plan((10, 5, 0), &[1], usual(), LateRule::WindowEnd, OutputMode::Append);
    let mut ours = WindowAggregate::new(&plan, 3);
    assert!(evict(&mut ours, EventTime(15)).is_empty());
    // Windows of 12: [5, 15) and [10, 20). The bound alone would allow both.
    let lost = apply(&mut ours, &[time(12, 1, 1)], EventTime(0));
    let exception = Exception { row: 0, lost: 1, kept: 1, no_window: false, bound: EventTime(0) };
    assert_eq!(lost, [exception]);
    assert_eq!(ours.groups(), 1);
    assert_eq!(evict(&mut ours, EventTime::MAX).len(), 1);
    let after_the_end = apply(&mut ours, &[time(1 << 40, 1, 1)], EventTime(0));
    assert_eq!((after_the_end[0].lost, after_the_end[0].kept), (2, 0));
}

#[test]
fn a_row_that_is_late_for_a_window_not_yet_written_does_not_show_in_it() {
    let plan = plan((10, 5, 0), &[1], usual(), LateRule::WindowEnd, OutputMode::Append);
    let mut ours = WindowAggregate::new(&plan, 3);
    assert!(apply(&mut ours, &[time(12, 1, 1)], EventTime(0)).is_empty());
    // The watermark has passed [5, 15), which is written only after this batch.
    assert_eq!(apply(&mut ours, &[time(12, 1, 1)], EventTime(15)).len(), 1);
    let count = |of: &Figures| of.iter().map(|it| it.2[0].1[0]).collect::<Vec<_>>();
    assert_eq!(count(&evict(&mut ours, EventTime(15))), [Value::Int(1)]);
    assert_eq!(count(&evict(&mut ours, EventTime(20))), [Value::Int(2)]);
}
