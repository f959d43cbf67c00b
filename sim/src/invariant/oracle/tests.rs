//! A system that repeats what the oracle says agrees; one that differs in any value does not.

use super::*;
use crate::invariant::oracle::figure::{Comparison, Table, first_difference, flat};
use crate::oracle::{ExpectedFate, ExpectedStep, Verdict};
use crate::system::View;
use crate::trace::Item;
use plimsoll_engine::late::{InForce, LateCause, LateRow, Saving};
use plimsoll_engine::output::{Fate, Ignored, IgnoredWhy, Output, RowRecord, StepRecord};
use plimsoll_engine::plan::{
    Aggregate, Effective, GeneratorPlan, LatePolicy, LateRule, OutputMode, Plan, Sink, Trigger,
    WatermarkPlan, WindowPlan, WindowSpec,
};
use plimsoll_engine::row::{
    ColumnIx, ColumnKind, ColumnSpec, Dictionary, ItemId, PartitionId, Schema,
};
use plimsoll_engine::state::layout::Value;
use plimsoll_engine::time::{EventTime, ProcTime, Span};
use plimsoll_engine::watermark::member::{Member, MemberState};

/// Columns t and k (text); windows of 10 every 5, delay 0, rule W, per row.
fn plan() -> Plan {
    let column = |name: &str, kind| ColumnSpec { name: name.to_owned(), kind };
    Plan {
        flow: None,
        schema: Schema {
            columns: vec![column("t", ColumnKind::Time), column("k", ColumnKind::Text)],
        },
        watermark: Some(WatermarkPlan {
            column: ColumnIx(0),
            delay: Span(0),
            generator: GeneratorPlan::PartitionMin { idle: None },
            effective: Effective::Row,
            fallback: None,
            guard: None,
            initial: EventTime::MIN,
        }),
        lineage: vec![],
        operator: Some(WindowPlan {
            time: "t".to_owned(),
            window: WindowSpec { size: Span(10), slide: Span(5), offset: Span(0) },
            keys: vec![ColumnIx(1)],
            aggregates: vec![Aggregate::Count],
            late: LateRule::WindowEnd,
            late_policy: LatePolicy::Drop,
        }),
        output: OutputMode::Append,
        sink: Sink::Append,
        trigger: Trigger::Row,
    }
}

/// Three rows: 7 and 11 are counted, 8 is partly late (11 closes [0, 10)); then a finish of nobody.
fn trace() -> Trace {
    let mut dictionary = Dictionary::default();
    let key = dictionary.code("a");
    let (items, cells) = (vec![], vec![]);
    let mut trace = Trace { plan: plan(), clock: ProcTime(0), dictionary, items, cells };
    for time in [7, 11, 8] {
        trace.push_row(PartitionId(0), &[Some(time), Some(key)]);
    }
    trace.items.push(Item::Finish(PartitionId(9)));
    trace
}

/// What a faithful system shows, to be changed.
struct Shown {
    output: Output,
    members: Vec<Member>,
    candidate: EventTime,
    candidate_max: EventTime,
    watermark: EventTime,
    arrivals_queued: u64,
    stopped: bool,
}

fn record(step: &ExpectedStep) -> StepRecord {
    StepRecord {
        step: step.step,
        kind: step.kind,
        now: step.now,
        late: step.late.unwrap_or(EventTime(-1)),
        evict: step.evict.unwrap_or(EventTime(-1)),
        candidate: step.candidate,
        watermark: step.watermark,
        rows_in: step.rows_in,
        rows_counted: step.rows_counted,
        rows_dropped: step.rows_dropped,
        windows_missed: step.windows_missed,
        groups_removed: step.groups_removed,
        event_time_min: EventTime::MAX,
        event_time_max: EventTime::MIN,
        event_time_sum: 0,
        event_time_rows: 0,
    }
}

fn row_record(verdict: &Verdict) -> Option<RowRecord> {
    let Verdict { id, partition, step, fate } = *verdict;
    let fate = match fate {
        ExpectedFate::Counted => return None,
        ExpectedFate::Late(it) => Fate::Late(LateRow {
            id,
            partition,
            time: it.time,
            rule: LateRule::WindowEnd,
            in_force: InForce {
                watermark: it.watermark,
                candidate: it.candidate,
                set_by: it.set_by,
                since_step: 0,
                fallback: None,
            },
            windows_lost: it.lost as u32,
            windows_kept: it.kept as u32,
            saving: it.saving.unwrap_or(Saving::Nothing),
            cause: LateCause::Straggler,
            destination: LatePolicy::Drop,
        }),
        other => panic!("the trace of these tests has no such row: {other:?}"),
    };
    Some(RowRecord { id, partition, step, fate })
}

fn faithful(trace: &Trace, oracle: &Oracle) -> Shown {
    let expected = oracle.expected();
    let mut output = Output::new(&trace.plan);
    output.steps = expected.steps.iter().map(record).collect();
    output.records = expected.verdicts.iter().filter_map(row_record).collect();
    output.ignored = expected.ignored.clone();
    Shown {
        output,
        members: oracle.members().to_vec(),
        candidate: oracle.candidate(),
        candidate_max: oracle.candidate_max(),
        watermark: oracle.watermark(),
        arrivals_queued: oracle.arrivals_queued(),
        stopped: oracle.stopped(),
    }
}

/// Runs the trace; what is shown after item `at` is changed. The verdict of that item.
fn changed(at: u64, change: impl Fn(&mut Shown)) -> Option<Violation> {
    let trace = trace();
    let mut agreement = OracleAgreement::new(&trace);
    let mut ahead = Oracle::new(&trace);
    for (id, item) in (1..).zip(&trace.items) {
        let id = ItemId(id);
        ahead.observe(&trace, id, item);
        let mut shown = faithful(&trace, &ahead);
        if id.0 == at {
            change(&mut shown);
        }
        let view = View {
            now: ProcTime(0),
            steps: ahead.steps(),
            members: &shown.members,
            candidate: shown.candidate,
            candidate_max: shown.candidate_max,
            watermark: shown.watermark,
            arrivals_queued: shown.arrivals_queued,
            groups: None,
            oldest_end: None,
            stopped: shown.stopped,
            paused: 0,
            sources: None,
        };
        let seen = Observation { trace: &trace, id, item, output: &shown.output, view };
        let verdict = agreement.observe(&seen);
        if id.0 == at {
            return verdict.err();
        }
    }
    None
}

fn evidence(at: u64, name: &str, change: impl Fn(&mut Shown)) -> String {
    let violation = changed(at, change).expect("a difference is a violation");
    assert_eq!((violation.name, violation.at), (name, ItemId(at)));
    violation.evidence
}

#[test]
fn a_faithful_system_agrees_where_nothing_is_written() {
    for at in [1, 3, 4] {
        assert_eq!(changed(at, |_| {}), None);
    }
}

#[test]
fn every_value_of_a_step_is_compared() {
    let changes: [fn(&mut StepRecord); 6] = [
        |it| it.step += 1,
        |it| it.now = ProcTime(5),
        |it| it.late = EventTime(3),
        |it| it.evict = EventTime(3),
        |it| it.candidate = EventTime(3),
        |it| it.watermark = EventTime(3),
    ];
    for change in changes {
        evidence(1, NAMES[0], |shown| change(&mut shown.output.steps[0]));
    }
    evidence(1, NAMES[0], |it| it.output.steps.clear());
    evidence(1, NAMES[0], |it| it.output.steps.push(it.output.steps[0]));
}

#[test]
fn the_candidate_its_maximum_the_watermark_and_the_partitions_are_compared() {
    evidence(1, NAMES[0], |it| it.candidate = EventTime(3));
    evidence(1, NAMES[0], |it| it.candidate_max = EventTime(3));
    evidence(1, NAMES[0], |it| it.watermark = EventTime(3));
    evidence(1, NAMES[0], |it| it.stopped = true);
    evidence(1, NAMES[0], |it| it.members.clear());
    evidence(1, NAMES[0], |it| it.members[0].partition = PartitionId(4));
    evidence(1, NAMES[0], |it| it.members[0].max = EventTime(3));
    evidence(1, NAMES[0], |it| it.members[0].state = MemberState::Idle);
    evidence(1, NAMES[0], |it| it.members[0].aligned = false);
    let text = evidence(1, NAMES[0], |it| it.output.steps[0].candidate = EventTime::MIN);
    assert_eq!(
        text,
        "candidate after step 0: expected 00:00:00.007, found -inf; partitions expected: \
         p0 00:00:00.007 active; found: p0 00:00:00.007 active"
    );
}

/// The record of the partly late row.
fn late(shown: &mut Shown) -> &mut LateRow {
    match &mut shown.output.records[0].fate {
        Fate::Late(it) => it,
        other => panic!("late expected, found {other:?}"),
    }
}

#[test]
fn every_value_of_a_late_row_is_compared() {
    let changes: [fn(&mut LateRow); 9] = [
        |it| it.time = EventTime(9),
        |it| it.rule = LateRule::Event,
        |it| it.windows_lost += 1,
        |it| it.windows_kept += 1,
        |it| it.in_force.watermark = EventTime(12),
        |it| it.in_force.candidate = EventTime(12),
        |it| it.in_force.set_by = Some(ItemId(1)),
        |it| it.saving = Saving::Delay { smallest: Span(1), largest: Span(2) },
        |it| it.destination = LatePolicy::SideOutput,
    ];
    for change in changes {
        evidence(3, NAMES[1], |shown| change(late(shown)));
    }
    evidence(3, NAMES[1], |it| it.output.records[0].step += 1);
    evidence(3, NAMES[1], |it| it.output.records[0].partition = PartitionId(4));
    let text = evidence(3, NAMES[1], |it| it.output.records.clear());
    assert_eq!(
        text,
        "row 3: expected p0 step 2: late, 00:00:00.008 behind 00:00:00.011 (candidate \
         00:00:00.011, set by item 2), 1 windows lost, 1 kept, saved by a delay of 2ms (all \
         windows: 2ms); found counted (no record)"
    );
}

#[test]
fn a_record_that_no_verdict_asks_for_and_wrong_counts_are_found() {
    let record =
        |id| RowRecord { id: ItemId(id), partition: PartitionId(0), step: 0, fate: Fate::NoTime };
    for id in [0, 1, 2] {
        evidence(1, NAMES[1], |it| it.output.records.push(record(id)));
    }
    evidence(1, NAMES[1], |it| it.output.steps[0].rows_in = 2);
    evidence(1, NAMES[1], |it| it.output.steps[0].rows_counted = 0);
    evidence(1, NAMES[1], |it| it.output.steps[0].rows_dropped = 1);
    evidence(3, NAMES[1], |it| it.output.steps[0].windows_missed = 0);
    evidence(1, NAMES[1], |it| it.arrivals_queued = 1);
    evidence(4, NAMES[1], |it| it.output.ignored.clear());
    let ignored = Ignored { id: ItemId(4), why: IgnoredWhy::PartitionFinished };
    evidence(4, NAMES[1], |it| it.output.ignored = vec![ignored]);
}

#[test]
fn a_window_that_is_not_written_is_missed_by_name() {
    let text = evidence(2, NAMES[2], |_| {});
    assert_eq!(text, "step 1: [00:00:00,00:00:00.010) k=a (on time): expected (1), found nothing");
}

/// Figures as a system may show them.
struct Shows(Vec<(Option<i64>, Value)>);

impl Table for Shows {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn key(&self, figure: usize, _: usize) -> Option<i64> {
        self.0[figure].0
    }

    fn value(&self, figure: usize, _: usize) -> Value {
        self.0[figure].1
    }
}

#[test]
fn tables_agree_in_any_order_and_differences_are_named() {
    let mut trace = trace();
    let (b, c) = (trace.dictionary.code("b"), trace.dictionary.code("c"));
    for key in [Some(b), None, Some(b)] {
        trace.push_row(PartitionId(0), &[Some(8), key]);
    }
    let mut oracle = Oracle::new(&trace);
    trace.items.push(Item::End);
    for (id, item) in (1..).zip(&trace.items) {
        oracle.observe(&trace, ItemId(id), item);
    }
    let expected = oracle.expected();
    let firing = &expected.firings[0];
    // [5, 15): 7, 11, 8 of a, 8 twice of b, 8 once of no key.
    let (a, int) = (Some(0), Value::Int);
    let figures = [(None, int(1)), (a, int(3)), (Some(b), int(2))];
    let agree = |it: &[_]| Comparison::default().tables_agree(expected, firing, &Shows(it.into()));
    assert!(agree(&[figures[0], figures[1], figures[2]]));
    assert!(agree(&[figures[2], figures[0], figures[1]]));
    assert!(!agree(&figures[..2]));
    let says = |it: &[(Option<i64>, Value)]| {
        assert!(!agree(it));
        let ours = Shows(figures.into());
        let theirs = Shows(it.into());
        let flat = |table| flat(&trace, firing.window, firing.kind, table).collect();
        first_difference(&trace, &expected.steps[0], flat(&ours), flat(&theirs))
    };
    let place = |rest: &str| Some(format!("step 7: [00:00:00.005,00:00:00.015) {rest}"));
    assert_eq!(
        says(&[figures[0], (a, int(4)), figures[2]]),
        place("k=a (on time): expected (3), found (4)")
    );
    assert_eq!(
        says(&[figures[0], figures[2], figures[2]]),
        place("k=a (on time): expected (3), found nothing")
    );
    assert_eq!(
        says(&[figures[0], figures[1], figures[2], (Some(c), int(1))]),
        place("k=c (on time): expected nothing, found (1)")
    );
    assert_eq!(
        says(&[figures[0], figures[1], figures[2], figures[2]]),
        place("k=b (on time): expected nothing, found (2)")
    );
}
