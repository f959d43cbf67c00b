//! Pseudo-random flows.
//!
//! Invariant: what is drawn can be written and read; whether it can run is not asked.

use super::super::flow::levels as words;
use super::super::keys::*;
use super::Draw;
use plimsoll_engine::plan::flow::*;
use plimsoll_engine::plan::levels::*;
use plimsoll_engine::plan::*;
use plimsoll_engine::row::{ColumnIx, Schema};
use plimsoll_engine::time::{EventTime, Span};

/// Makes a flow of a plan.
pub(super) fn make(draw: &mut Draw, plan: &mut Plan) {
    plan.operator = None;
    plan.lineage.clear();
    let mut flow = Flow::of(inputs(draw, plan), Vec::new());
    if let Some(it) = &mut plan.watermark {
        it.effective = draw.of(EFFECTIVE);
        let first = flow.inputs.iter().find_map(|it| it.marks.first().copied());
        let first = first.unwrap_or_else(|| {
            flow.inputs[0].marks.push(Mark { column: it.column, delay: it.delay });
            flow.inputs[0].marks[0]
        });
        (it.column, it.delay) = (first.column, first.delay);
    }
    for _ in 0..draw.below(5) {
        let handed = flow.schemas(&plan.schema).pop().expect("the columns of the last stage");
        if handed.columns.is_empty() {
            break;
        }
        flow.stages.push(stage(draw, &handed));
    }
    let inputs = flow.inputs.len();
    flow.levels = draw.maybe(|it| levels(it, inputs));
    flow.policy = draw.of(POLICY);
    flow.chain = draw.of(CHAIN);
    flow.follow_up = draw.of(FOLLOW_UP);
    flow.null_time = draw.of(NULL_TIME);
    let pair = |draw: &mut Draw| PairFilter {
        left: column(draw, &plan.schema),
        compare: draw.of(COMPARE),
        right: column(draw, &plan.schema),
    };
    flow.pairs = (0..draw.below(3)).map(|_| pair(draw)).collect();
    flow.hindsight = draw.maybe(Draw::span).unwrap_or(Span::ZERO);
    plan.flow = Some(flow);
}

fn levels(draw: &mut Draw, inputs: usize) -> LevelsPlan {
    let level = |draw: &mut Draw| LevelPlan {
        rejoin: draw.of(REJOIN),
        all_idle: draw.of(words::ALL_IDLE),
        waking: draw.of(words::WAKING),
    };
    let tasks = if draw.below(2) == 0 { 3 } else { 1 };
    LevelsPlan {
        tasks: (0..inputs as u64).map(|_| 1 + draw.below(tasks) as u32).collect(),
        rules: LevelRules {
            partitions: level(draw),
            tasks: level(draw),
            inputs: level(draw),
            anchor: draw.of(words::ANCHOR),
            emptied: draw.of(words::EMPTIED),
            idle_end: draw.of(words::IDLE_END),
            paused_idle: draw.of(words::PAUSED_IDLE),
        },
        idle_timeout: draw.maybe(Draw::span),
        emission: draw.maybe(Draw::span),
        alignment: draw.maybe(|it| AlignmentPlan {
            update: it.span(),
            sampling: match it.below(2) {
                0 => Sampling::Newest,
                _ => Sampling::OldestOf(it.below(9) as u32),
            },
            limit: it.maybe(Draw::span).map_or(Limit::Announced, Limit::Drift),
        }),
    }
}

fn inputs(draw: &mut Draw, plan: &Plan) -> Vec<InputPlan> {
    let names = ["in", "left", "größe", "a/b"];
    let names = &names[..1 + draw.below(names.len() as u64) as usize];
    let input = |draw: &mut Draw, name: &&str| {
        let marks = if plan.watermark.is_some() { draw.below(3) } else { 0 };
        let mark = |draw: &mut Draw| Mark { column: draw.column(&plan.schema), delay: draw.span() };
        let marks = (0..marks).map(|_| mark(draw)).collect();
        let before = (0..draw.below(3)).map(|_| filter(draw, &plan.schema)).collect();
        let behind = (0..draw.below(2)).map(|_| filter(draw, &plan.schema)).collect();
        let judged = match draw.below(4) {
            0 => Judged::Column(column(draw, &plan.schema)),
            1 => Judged::Nobody,
            _ => Judged::ItsTime,
        };
        InputPlan { name: (*name).to_owned(), marks, before, behind, judged }
    };
    names.iter().map(|it| input(draw, it)).collect()
}

/// A column; of those with one name the first.
fn column(draw: &mut Draw, handed: &Schema) -> ColumnIx {
    let name = &handed.column(draw.column(handed)).name;
    handed.position(name).expect("it is there")
}

fn columns(draw: &mut Draw, handed: &Schema) -> Vec<ColumnIx> {
    (0..draw.below(4)).map(|_| column(draw, handed)).collect()
}

fn filter(draw: &mut Draw, handed: &Schema) -> Filter {
    Filter { column: column(draw, handed), compare: draw.of(COMPARE), value: draw.number() }
}

fn aggregates(draw: &mut Draw, handed: &Schema) -> Vec<Aggregate> {
    let one = |draw: &mut Draw| {
        let of = column(draw, handed);
        let all = [
            Aggregate::Count,
            Aggregate::CountOf(of),
            Aggregate::Sum(of),
            Aggregate::Min(of),
            Aggregate::Max(of),
            Aggregate::Avg(of),
        ];
        all[draw.below(6) as usize]
    };
    (0..draw.below(3)).map(|_| one(draw)).collect()
}

fn edge(draw: &mut Draw) -> Edge {
    Edge { at: draw.span(), open: draw.below(2) == 0 }
}

fn spec(draw: &mut Draw) -> WindowSpec {
    WindowSpec { size: draw.span(), slide: draw.span(), offset: draw.span() }
}

fn stage(draw: &mut Draw, handed: &Schema) -> StagePlan {
    let (time, keys) = (column(draw, handed), columns(draw, handed));
    let aggregates = aggregates(draw, handed);
    let late_policy = draw.of(LATE_POLICY);
    let lateness = draw.maybe(Draw::span).unwrap_or(Span::ZERO);
    let on = keys.iter().map(|it| (*it, column(draw, handed))).collect();
    match draw.below(11) {
        0 => StagePlan::Filter(filter(draw, handed)),
        1 => StagePlan::Project(keys),
        2 => StagePlan::Rename(time, ["t", "k", "other"][draw.below(3) as usize].to_owned()),
        3 => StagePlan::Compute(time),
        4 => StagePlan::Window(WindowStage {
            time,
            window: spec(draw),
            keys,
            aggregates,
            late: draw.of(LATE),
            late_policy,
            lateness,
            panes: PanePlan { early_rows: draw.maybe(|it| it.below(9)), carry: draw.of(CARRY) },
            hole: draw.of(HOLE),
        }),
        5 => StagePlan::Session(SessionPlan {
            time,
            gap: if draw.below(2) == 0 {
                Gap::Fixed(draw.span())
            } else {
                Gap::Column(column(draw, handed))
            },
            keys,
            aggregates,
            late: draw.of(SESSION_LATE),
            late_policy,
            touching: draw.of(TOUCHING),
            max_span: draw.maybe(Draw::span),
            lateness,
        }),
        6 => {
            let time = draw.maybe(|it| (time, it.of(LATE)));
            StagePlan::Global(GlobalPlan { keys, aggregates, time })
        }
        7 => StagePlan::Count(CountPlan { time, keys, aggregates, rows: draw.below(100) }),
        8 => StagePlan::Dedup(DedupPlan {
            columns: keys,
            time: draw.maybe(|_| time),
            late: draw.of(LATE),
            expiry: match draw.below(3) {
                0 => DedupExpiry::WithItsTime,
                1 => DedupExpiry::After(draw.span()),
                2 => DedupExpiry::At(EventTime(draw.number())),
                _ => DedupExpiry::Never,
            },
            late_policy,
        }),
        9 => StagePlan::Join(JoinPlan {
            kind: draw.of(JOIN),
            on,
            time: [time, column(draw, handed)],
            ranges: (0..draw.below(4))
                .map(|_| Range { lower: draw.maybe(edge), upper: draw.maybe(edge) })
                .collect(),
            window: draw.maybe(spec),
            only_if: [0, 1].map(|_| draw.maybe(|it| filter(it, handed))),
            late: draw.of(LATE),
            grace: lateness,
            expiry: Expiry {
                at_bound: draw.below(2) == 0,
                with_grace: draw.below(2) == 0,
                own_time: draw.below(2) == 0,
                loosest: draw.below(2) == 0,
            },
            sides: draw.of(SIDES),
            late_policy,
        }),
        _ => StagePlan::AsOf(AsOfPlan {
            on,
            time: [time, column(draw, handed)],
            tolerance: draw.span(),
            outer: draw.below(2) == 0,
            late_policy,
        }),
    }
}
