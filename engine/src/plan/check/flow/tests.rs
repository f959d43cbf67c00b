//! Flows that are refused, and flows that are warned about, by the numbers of the problems.

use crate::plan::check::check;
use crate::plan::check::testing::sound;
use crate::plan::flow::*;
use crate::plan::levels::LevelsPlan;
use crate::plan::problem::Code;
use crate::plan::*;
use crate::profile;
use crate::row::ColumnIx;
use crate::time::Span;

const TS: ColumnIx = ColumnIx(0);
const K: ColumnIx = ColumnIx(1);
const V: ColumnIx = ColumnIx(2);
const SEEN: ColumnIx = ColumnIx(3);
const SIZE: Span = Span::minutes(10);

fn input(name: &str) -> InputPlan {
    let marks = vec![Mark { column: TS, delay: Span::minutes(2) }];
    InputPlan::of(name.to_owned(), marks)
}

fn window() -> WindowStage {
    WindowStage {
        time: TS,
        window: WindowSpec { size: SIZE, slide: SIZE, offset: Span::ZERO },
        keys: vec![K],
        aggregates: vec![Aggregate::Count],
        late: LateRule::WindowEnd,
        late_policy: LatePolicy::Drop,
        lateness: Span::ZERO,
        panes: PanePlan::TOTALS,
        hole: HoleRule::NoWindow,
    }
}

fn session() -> SessionPlan {
    SessionPlan {
        time: TS,
        gap: Gap::Fixed(SIZE),
        keys: vec![K],
        aggregates: vec![Aggregate::Count],
        late: SessionLate::Proto,
        late_policy: LatePolicy::Drop,
        touching: Touching::Merge,
        max_span: None,
        lateness: Span::ZERO,
    }
}

fn dedup(columns: Vec<ColumnIx>, expiry: DedupExpiry) -> DedupPlan {
    DedupPlan {
        columns,
        time: Some(TS),
        late: LateRule::EventInclusive,
        expiry,
        late_policy: LatePolicy::Drop,
    }
}

fn global(time: Option<ColumnIx>) -> StagePlan {
    let keys = time.into_iter().chain([K]).collect();
    let time = time.map(|it| (it, LateRule::EventInclusive));
    StagePlan::Global(GlobalPlan { keys, aggregates: vec![Aggregate::Count], time })
}

fn join(kind: JoinKind, lower: Option<i64>, upper: Option<i64>) -> JoinPlan {
    let edge = |at: i64| Edge { at: Span(at), open: false };
    JoinPlan {
        kind,
        on: vec![(K, K)],
        time: [TS, TS],
        ranges: vec![Range { lower: lower.map(edge), upper: upper.map(edge) }],
        window: None,
        only_if: [None, None],
        late: LateRule::EventInclusive,
        grace: Span::ZERO,
        expiry: Expiry::EXACT,
        sides: Sides::Combined,
        late_policy: LatePolicy::Drop,
    }
}

/// The numbers of the problems of a flow of these inputs and stages, in their order.
fn codes(inputs: Vec<InputPlan>, stages: Vec<StagePlan>, output: OutputMode) -> Vec<&'static str> {
    let plan = plan(inputs, stages, output);
    let mut codes: Vec<_> = check(&plan).iter().map(|it| it.code.number()).collect();
    codes.sort_unstable();
    codes
}

fn plan(inputs: Vec<InputPlan>, stages: Vec<StagePlan>, output: OutputMode) -> Plan {
    let flow = Some(Flow::of(inputs, stages));
    Plan { operator: None, flow, output, sink: Sink::Keyed, ..sound() }
}

fn one(stage: StagePlan, output: OutputMode) -> Vec<&'static str> {
    codes(vec![input("in")], vec![stage], output)
}

fn two(join: JoinPlan, output: OutputMode) -> Vec<&'static str> {
    codes(vec![input("left"), input("right")], vec![StagePlan::Join(join)], output)
}

const NONE: [&str; 0] = [];

#[test]
fn sound_flows_have_no_problems() {
    let append = |stage| one(stage, OutputMode::Append);
    assert_eq!(append(StagePlan::Window(window())), NONE);
    assert_eq!(append(StagePlan::Session(session())), NONE);
    assert_eq!(append(global(Some(TS))), NONE);
    assert_eq!(append(StagePlan::Dedup(dedup(vec![K, TS], DedupExpiry::WithItsTime))), NONE);
    assert_eq!(two(join(JoinKind::Inner, Some(0), Some(5)), OutputMode::Append), NONE);
    assert_eq!(two(join(JoinKind::Left, Some(0), Some(5)), OutputMode::Append), NONE);
    let time = ColumnIx(2);
    let second = WindowStage { time, keys: vec![ColumnIx(3)], ..window() };
    let chain = vec![StagePlan::Window(window()), StagePlan::Window(second)];
    assert_eq!(codes(vec![input("in")], chain, OutputMode::Append), NONE);
}

#[test]
fn append_needs_a_watermark_on_the_time_that_closes_the_groups() {
    let append = |stage| one(stage, OutputMode::Append);
    assert_eq!(append(StagePlan::Window(WindowStage { time: SEEN, ..window() })), ["P021"]);
    assert_eq!(append(global(None)), ["P047"]);
    let computed = vec![StagePlan::Compute(TS), StagePlan::Window(window())];
    assert_eq!(codes(vec![input("in")], computed, OutputMode::Append), ["P020"]);
    let renamed = vec![StagePlan::Rename(TS, "at".to_owned()), StagePlan::Window(window())];
    assert_eq!(codes(vec![input("in")], renamed, OutputMode::Append), NONE);
    let bare = InputPlan { marks: Vec::new(), ..input("u1") };
    let stage = vec![StagePlan::Window(window())];
    assert_eq!(codes(vec![bare.clone()], stage.clone(), OutputMode::Append), ["P022"]);
    let first = codes(vec![bare.clone(), input("u2")], stage.clone(), OutputMode::Append);
    assert_eq!(first, ["P051"]);
    let second = codes(vec![input("u2"), bare], stage, OutputMode::Append);
    assert_eq!(second, ["P121"]);
}

#[test]
fn complete_needs_an_aggregation_and_only_append_may_be_aggregated_again() {
    let dedup = StagePlan::Dedup(dedup(vec![K, TS], DedupExpiry::WithItsTime));
    assert_eq!(one(dedup, OutputMode::Complete), ["P023"]);
    assert!(two(join(JoinKind::Inner, Some(0), Some(5)), OutputMode::Complete).contains(&"P023"));
    let second = WindowStage { time: ColumnIx(2), keys: vec![ColumnIx(3)], ..window() };
    let chain = vec![StagePlan::Window(window()), StagePlan::Window(second)];
    assert_eq!(codes(vec![input("in")], chain, OutputMode::Update), ["P050"]);
    let behind = DedupPlan { time: None, ..self::dedup(vec![ColumnIx(3)], DedupExpiry::Never) };
    let chain = vec![StagePlan::Window(window()), StagePlan::Dedup(behind)];
    assert_eq!(codes(vec![input("in")], chain, OutputMode::Update), ["P117", "P127"]);
}

#[test]
fn an_outer_join_needs_a_point_at_which_its_rows_know_that_nobody_comes() {
    let append = |kind, lower, upper| two(join(kind, lower, upper), OutputMode::Append);
    assert_eq!(append(JoinKind::Left, None, None), ["P048"]);
    assert_eq!(append(JoinKind::Left, Some(0), None), ["P048"]);
    assert_eq!(append(JoinKind::Left, None, Some(5)), ["P118"]);
    assert_eq!(append(JoinKind::Right, None, Some(5)), ["P048"]);
    assert_eq!(append(JoinKind::Right, Some(0), None), ["P118"]);
    assert_eq!(append(JoinKind::Full, None, None), ["P048"]);
    assert_eq!(append(JoinKind::Full, None, Some(5)), ["P120"]);
    assert_eq!(append(JoinKind::Semi, None, None), ["P118", "P119"]);
    assert_eq!(append(JoinKind::Inner, None, None), ["P118", "P118"]);
    assert_eq!(append(JoinKind::Inner, None, Some(5)), ["P118"]);
    assert_eq!(append(JoinKind::Anti, Some(0), Some(5)), ["P125"]);
    assert_eq!(append(JoinKind::Inner, Some(6), Some(5)), ["P044"]);
    let bare = InputPlan { marks: Vec::new(), ..input("right") };
    let stages = vec![StagePlan::Join(join(JoinKind::Left, Some(0), Some(5)))];
    assert_eq!(codes(vec![input("left"), bare], stages, OutputMode::Append), ["P048"]);
}

#[test]
fn what_runs_here_and_surprises_is_warned_about() {
    assert_eq!(two(join(JoinKind::Left, Some(0), Some(5)), OutputMode::Update), ["P124"]);
    assert_eq!(two(join(JoinKind::Inner, Some(0), Some(5)), OutputMode::Update), NONE);
    assert_eq!(one(StagePlan::Session(session()), OutputMode::Update), ["P123"]);
    let alone = SessionPlan { keys: Vec::new(), ..session() };
    assert_eq!(one(StagePlan::Session(alone), OutputMode::Append), ["P126"]);
    assert_eq!(one(global(None), OutputMode::Update), ["P116"]);
    let never = StagePlan::Dedup(dedup(vec![K], DedupExpiry::Never));
    assert_eq!(one(never, OutputMode::Append), ["P117"]);
    let within = StagePlan::Dedup(dedup(vec![K], DedupExpiry::After(SIZE)));
    assert_eq!(one(within.clone(), OutputMode::Append), NONE);
    let bare = InputPlan { marks: Vec::new(), ..input("in") };
    assert!(codes(vec![bare], vec![within], OutputMode::Append).contains(&"P049"));
    let twice = |column| {
        let mut input = input("in");
        input.marks.push(Mark { column, delay: Span::ZERO });
        codes(vec![input], vec![StagePlan::Window(window())], OutputMode::Update)
    };
    assert_eq!(twice(TS), ["P106", "P128"]);
    assert!(twice(SEEN).contains(&"P129"));
}

#[test]
fn null_event_times_are_warned_of_where_they_count_as_the_epoch() {
    let stages = vec![StagePlan::Join(join(JoinKind::Left, Some(0), Some(5)))];
    let mut plan = plan(vec![input("left"), input("right")], stages, OutputMode::Append);
    plan.flow.as_mut().expect("a flow").null_time = NullTime::Epoch;
    let problems = check(&plan);
    assert_eq!(problems.iter().map(|it| it.code).collect::<Vec<_>>(), [Code::NullTimeKept]);
}

#[test]
fn columns_and_numbers_of_every_stage_are_judged() {
    let append = |stage| one(stage, OutputMode::Append)[0];
    let far = ColumnIx(99);
    assert_eq!(append(StagePlan::Window(WindowStage { time: far, ..window() })), "P037");
    assert_eq!(append(StagePlan::Window(WindowStage { time: V, ..window() })), "P038");
    assert_eq!(append(StagePlan::Window(WindowStage { keys: vec![far], ..window() })), "P037");
    assert_eq!(append(StagePlan::Project(vec![far])), "P037");
    assert_eq!(append(StagePlan::Rename(TS, "k".to_owned())), "P039");
    let less = Filter { column: K, compare: Compare::Less, value: 3 };
    assert_eq!(append(StagePlan::Filter(less)), "P038");
    let gap = Gap::Fixed(Span::ZERO);
    assert_eq!(append(StagePlan::Session(SessionPlan { gap, ..session() })), "P040");
    let gap = Gap::Column(K);
    assert_eq!(append(StagePlan::Session(SessionPlan { gap, ..session() })), "P038");
    let late = LateRule::WindowEnd;
    let unfit = DedupPlan { late, ..dedup(vec![K, TS], DedupExpiry::WithItsTime) };
    assert_eq!(append(StagePlan::Dedup(unfit)), "P043");
    assert_eq!(append(StagePlan::Dedup(dedup(Vec::new(), DedupExpiry::Never))), "P042");
    let count = |rows| {
        let (keys, aggregates) = (vec![K], vec![Aggregate::Count]);
        StagePlan::Count(CountPlan { time: TS, keys, aggregates, rows })
    };
    assert_eq!(append(count(0)), "P041");
    let by_end = JoinPlan { late, ..join(JoinKind::Inner, Some(0), Some(5)) };
    assert_eq!(two(by_end, OutputMode::Append), ["P045"]);
    assert!(append(StagePlan::Join(join(JoinKind::Inner, Some(0), Some(5)))) == "P035");
    let negative = InputPlan { marks: vec![Mark { column: TS, delay: Span(-1) }], ..input("in") };
    let stages = vec![StagePlan::Window(window())];
    assert_eq!(codes(vec![negative], stages.clone(), OutputMode::Append), ["P001"]);
    let text = InputPlan { marks: vec![Mark { column: K, delay: Span::ZERO }], ..input("in") };
    assert!(codes(vec![text], stages.clone(), OutputMode::Append).contains(&"P013"));
    assert!(codes(Vec::new(), stages.clone(), OutputMode::Update).contains(&"P030"));
    assert!(codes(vec![input("a"), input("a")], stages, OutputMode::Append).contains(&"P032"));
}

#[test]
fn levels_are_refused_what_they_have_no_place_for() {
    let refuses = |change: &dyn Fn(&mut Plan, &mut Flow), expected: &str| {
        let mut flow = Flow::of(vec![input("in")], vec![StagePlan::Window(window())]);
        flow.levels = Some(levels());
        let mut plan = Plan { operator: None, ..sound() };
        let watermark = plan.watermark.as_mut().expect("a watermark");
        watermark.effective = Effective::Probe;
        plan.trigger = Trigger::Row;
        change(&mut plan, &mut flow);
        plan.flow = Some(flow);
        let refused = check(&plan);
        let refused: Vec<_> =
            refused.iter().filter(|it| it.is_refusal()).map(|it| it.code.number()).collect();
        assert_eq!(refused, if expected.is_empty() { vec![] } else { vec![expected] });
    };
    let of = |change: &'static dyn Fn(&mut LevelsPlan)| {
        move |_: &mut Plan, it: &mut Flow| change(it.levels.as_mut().expect("levels"))
    };
    refuses(&|_, _| {}, "");
    refuses(&|plan, _| plan.watermark.as_mut().expect("one").effective = Effective::Row, "P034");
    refuses(&|plan, _| plan.trigger = Trigger::Batch, "P034");
    refuses(&|_, flow| flow.policy = Policy::Max, "P052");
    refuses(&|_, flow| flow.inputs[0].marks.push(Mark { column: TS, delay: SIZE }), "P052");
    let fallback = Fallback { behind: SIZE, always: true };
    refuses(&|plan, _| plan.watermark.as_mut().expect("one").fallback = Some(fallback), "P052");
    refuses(&of(&|it| it.tasks = vec![257]), "P052");
    refuses(&of(&|it| it.tasks = Vec::new()), "P052");
    refuses(&of(&|it| it.emission = Some(Span::ZERO)), "P052");
    refuses(&of(&|it| it.idle_timeout = Some(Span(-1))), "P002");
    refuses(&of(&|it| it.idle_timeout = Some(Span(i64::MAX))), "P003");
}

fn levels() -> LevelsPlan {
    let rules = profile::named("flink").and_then(|it| it.levels).expect("it has levels");
    LevelsPlan { tasks: vec![2], rules, idle_timeout: None, emission: None, alignment: None }
}

#[test]
fn a_dedup_that_forgets_with_the_time_compares_the_time() {
    let of = |columns| {
        let stage = StagePlan::Dedup(dedup(columns, DedupExpiry::WithItsTime));
        codes(vec![input("in")], vec![stage], OutputMode::Append).contains(&"P054")
    };
    assert!(of(vec![K]));
    assert!(!of(vec![K, TS]));
}

#[test]
fn a_count_window_in_complete_mode_hands_nothing_to_another_stage() {
    let count = CountPlan { time: TS, keys: vec![K], aggregates: vec![Aggregate::Count], rows: 2 };
    let group = GlobalPlan { keys: vec![], aggregates: vec![Aggregate::Count], time: None };
    let stages = vec![StagePlan::Count(count), StagePlan::Global(group)];
    assert!(codes(vec![input("in")], stages, OutputMode::Complete).contains(&"P050"));
}

#[test]
fn a_window_join_is_over_tumbling_windows() {
    let of = |slide| {
        let window = Some(WindowSpec { size: SIZE, slide, offset: Span::ZERO });
        let join = JoinPlan { window, ..join(JoinKind::Inner, None, None) };
        let inputs = vec![input("left"), input("right")];
        codes(inputs, vec![StagePlan::Join(join)], OutputMode::Append).contains(&"P053")
    };
    assert!(of(Span::minutes(1)));
    assert!(of(Span::minutes(20)));
    assert!(!of(SIZE));
}
