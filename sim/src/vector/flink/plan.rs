//! From a query of a vector to a plan of ours, with the rules of Flink's profile.
//!
//! Flink has one generator per partition and a watermark that goes through its tasks and inputs, so the
//! plan has levels; its lateness and its bounds are ours as they stand, since our w is its f + 1.
//!
//! Invariant: the mapping sees the query only, never what is expected of it.

use super::{Aggregation, Function, Join, Late, Operator, Query, Windows};
use plimsoll_engine::plan::check::CheckedPlan;
use plimsoll_engine::plan::flow::{
    Edge, Flow, Gap, InputPlan, JoinKind, JoinPlan, Mark, PanePlan, Range, SessionPlan, StagePlan,
    WindowStage,
};
use plimsoll_engine::plan::levels::{AlignmentPlan, LevelsPlan, Limit, Sampling};
use plimsoll_engine::plan::{
    Aggregate, LatePolicy, OutputMode, Plan, Sink, Trigger, WatermarkPlan, WindowSpec,
};
use plimsoll_engine::profile::Profile;
use plimsoll_engine::row::{ColumnIx, ColumnKind, ColumnSpec, Schema};
use plimsoll_engine::time::Span;

/// A query as we run it.
#[derive(Clone, Debug)]
pub struct Mapped {
    /// The plan; it has no refusal.
    pub plan: CheckedPlan,
    /// The rules of the engine.
    pub profile: Profile,
}

const TIME: ColumnIx = ColumnIx(0);
const KEY: ColumnIx = ColumnIx(1);
const VALUE: ColumnIx = ColumnIx(2);
const COLUMNS: [(&str, ColumnKind); 3] =
    [("ts", ColumnKind::Time), ("k", ColumnKind::Text), ("v", ColumnKind::Integer)];

/// Maps a query, under these rules.
///
/// # Errors
/// Why it cannot be run here.
pub fn map(query: &Query, profile: &Profile) -> Result<Mapped, String> {
    let levels = levels(query, profile).ok_or("the profile has no levels")?;
    let delay = Span(query.watermark.delay);
    let mark = Mark { column: TIME, delay };
    let input = |name: &String| InputPlan::of(name.clone(), vec![mark]);
    let inputs = query.inputs.iter().map(|it| input(&it.name)).collect();
    let flow = Flow {
        levels: Some(levels),
        chain: profile.chain,
        follow_up: profile.follow_up,
        null_time: profile.null_time,
        ..Flow::of(inputs, vec![stage(&query.operator, profile)])
    };
    let columns = COLUMNS.map(|(name, kind)| ColumnSpec { name: name.to_owned(), kind });
    let plan = Plan {
        schema: Schema { columns: columns.to_vec() },
        watermark: Some(WatermarkPlan {
            column: TIME,
            delay,
            generator: profile.generator,
            effective: profile.effective,
            fallback: None,
            guard: None,
            initial: profile.initial,
        }),
        lineage: Vec::new(),
        operator: None,
        output: OutputMode::Append,
        sink: Sink::Append,
        trigger: Trigger::Row,
        flow: Some(flow),
    };
    let refused = |problems: Vec<plimsoll_engine::plan::problem::Problem>| {
        let refusals = problems
            .iter()
            .filter(|it| it.is_refusal())
            .map(|it| format!("{}: {}", it.code, it.cause));
        refusals.collect::<Vec<String>>().join("; ")
    };
    let (plan, _) = CheckedPlan::new(plan).map_err(refused)?;
    Ok(Mapped { plan, profile: *profile })
}

fn levels(query: &Query, profile: &Profile) -> Option<LevelsPlan> {
    let tasks = |it: &super::Input| u32::try_from(it.subtasks.len()).unwrap_or(u32::MAX);
    Some(LevelsPlan {
        tasks: query.inputs.iter().map(tasks).collect(),
        rules: profile.levels?,
        idle_timeout: query.watermark.idle_timeout.map(Span),
        emission: query.watermark.auto_interval.map(Span),
        alignment: query.watermark.alignment.map(|it| AlignmentPlan {
            update: Span(it.update),
            sampling: match it.buffer {
                0 => Sampling::Newest,
                samples => Sampling::OldestOf(samples),
            },
            // The script announces what the coordinator would.
            limit: Limit::Announced,
        }),
    })
}

fn stage(operator: &Operator, profile: &Profile) -> StagePlan {
    match operator {
        Operator::Aggregation(it) => aggregation(it, profile),
        Operator::Join(it) => StagePlan::Join(join(it, profile)),
    }
}

const fn late_policy(late: Late) -> LatePolicy {
    match late {
        Late::Drop => LatePolicy::Drop,
        Late::SideOutput => LatePolicy::SideOutput,
    }
}

fn aggregation(of: &Aggregation, profile: &Profile) -> StagePlan {
    let aggregate = |it: &Function| match it {
        Function::Count => Aggregate::Count,
        Function::Sum => Aggregate::Sum(VALUE),
        Function::Min => Aggregate::Min(VALUE),
        Function::Max => Aggregate::Max(VALUE),
    };
    let aggregates = of.functions.iter().map(aggregate).collect();
    let (keys, lateness, late_policy) = (vec![KEY], Span(of.lateness), late_policy(of.late));
    match of.windows {
        Windows::Fixed { size, slide, offset } => StagePlan::Window(WindowStage {
            time: TIME,
            window: WindowSpec { size: Span(size), slide: Span(slide), offset: Span(offset) },
            keys,
            aggregates,
            late: profile.late,
            late_policy,
            lateness,
            panes: PanePlan::TOTALS,
            hole: profile.hole,
        }),
        Windows::Session { gap } => StagePlan::Session(SessionPlan {
            time: TIME,
            gap: Gap::Fixed(Span(gap)),
            keys,
            aggregates,
            late: profile.session_late,
            late_policy,
            touching: profile.touching,
            max_span: None,
            lateness,
        }),
    }
}

fn join(of: &Join, profile: &Profile) -> JoinPlan {
    let edge = |at, inclusive: bool| Some(Edge { at: Span(at), open: !inclusive });
    let (lower, upper) = (edge(of.lower, of.lower_inclusive), edge(of.upper, of.upper_inclusive));
    JoinPlan {
        kind: JoinKind::Inner,
        on: vec![(KEY, KEY)],
        time: [TIME, TIME],
        ranges: vec![Range { lower, upper }],
        window: None,
        only_if: [None, None],
        late: profile.join.late,
        grace: profile.join.grace,
        expiry: profile.join.expiry,
        sides: profile.join.sides,
        late_policy: late_policy(of.late),
    }
}
