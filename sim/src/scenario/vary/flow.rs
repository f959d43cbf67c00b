//! Flows that a seed may draw: families of inputs and stages, and the rules between them.
//!
//! A world names families (`[vary] flow = ["sessions"]`); a seed chooses one and draws its stages, its
//! inputs with a delay each, and the rules that only flows know: the policy over inputs, which value
//! judges rows between stages, steps without data, what a null event time is, and how long what was
//! published is remembered. Watermark, trigger and output mode are drawn as for plain plans. A mode
//! that the stages do not know becomes append.
//!
//! Every part has a stream of its own, and none is touched where no flow is drawn.
//!
//! Invariant: the check of plans refuses no flow that is drawn here.

mod grouping;
mod levels;
mod matching;
mod scale;
mod story;

use super::{Measure, Words};
use crate::entropy::Entropy;
use plimsoll_engine::plan::flow::{
    Chain, Compare, Filter, Flow, FollowUp, InputPlan, JoinKind, Judged, Mark, NullTime, Policy,
    StagePlan,
};
use plimsoll_engine::plan::{Effective, GeneratorPlan, OutputMode, Plan, Sink, Trigger};
use plimsoll_engine::row::{ColumnIx, ColumnKind, ColumnSpec, Schema};
use plimsoll_engine::time::Span;
pub(super) use scale::scale;
use story::Story;

/// What a flow is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Family {
    Sessions,
    Dedup,
    Join,
    WindowJoin,
    AsOf,
    Panes,
    Union,
    Silent,
    Chain,
    JoinChain,
    Count,
    Global,
    Levels,
}

/// The families by name.
pub(super) const FLOW: Words<Family> = &[
    ("sessions", 16, Family::Sessions),
    ("dedup", 10, Family::Dedup),
    ("join", 18, Family::Join),
    ("window_join", 5, Family::WindowJoin),
    ("as_of", 6, Family::AsOf),
    ("panes", 10, Family::Panes),
    ("union", 7, Family::Union),
    ("silent_input", 4, Family::Silent),
    ("chain", 12, Family::Chain),
    ("join_chain", 6, Family::JoinChain),
    ("count", 3, Family::Count),
    ("global", 4, Family::Global),
    ("levels", 6, Family::Levels),
];

/// The name of the column that says how long a row's session goes on.
pub(in crate::scenario) const GAP: &str = "gap";

/// Time, key and value stand in every row of a world; a gap where it is asked for.
fn schema(gap: bool) -> Schema {
    let column = |name: &str, kind| ColumnSpec { name: name.to_owned(), kind };
    let mut columns = vec![
        column("time", ColumnKind::Time),
        column("k", ColumnKind::Text),
        column("v", ColumnKind::Integer),
    ];
    if gap {
        columns.push(column(GAP, ColumnKind::Integer));
    }
    Schema { columns }
}

/// Makes a flow of a family out of a plan whose watermark is drawn; `mode` is what shall be written.
/// Returns how many inputs speak.
pub(super) fn draw(
    family: Family,
    plan: &mut Plan,
    mode: OutputMode,
    entropy: &Entropy<'_>,
    of: &Measure,
) -> u32 {
    let mut shape = entropy.field("flow", "shape");
    let by_row = family == Family::Sessions && shape.chance(350);
    plan.operator = None;
    plan.lineage.clear();
    plan.schema = schema(by_row);
    let slide = super::parts::round(of.span / of.windows.max(1));
    let mut story = Story::new(plan.schema.clone(), slide, mode, entropy, of);
    let inputs = stages(family, &mut story, &mut shape);
    let silent = family == Family::Silent;
    plan.output = story.mode();
    plan.sink = if plan.output == OutputMode::Append { Sink::Append } else { Sink::Keyed };
    let mut flow = Flow::of(Vec::new(), story.stages);
    let inputs = inputs + u32::from(silent && !flow.joins());
    if family == Family::Levels {
        flow.levels = Some(levels::draw(entropy, slide, inputs));
    }
    self::inputs(&mut flow, plan, entropy, slide, inputs);
    rules(&mut flow, plan, entropy, slide);
    plan.flow = Some(flow);
    inputs - u32::from(silent)
}

/// Draws the stages; returns how many inputs they take.
fn stages(family: Family, story: &mut Story<'_>, shape: &mut crate::entropy::Stream<'_>) -> u32 {
    match family {
        Family::Sessions => {
            story.aside();
            story.session();
            1
        }
        Family::Dedup => {
            story.aside();
            story.dedup();
            1
        }
        Family::Join => {
            story.join(false, 600);
            2
        }
        Family::WindowJoin => {
            story.join(true, 600);
            2
        }
        Family::AsOf => {
            story.as_of();
            2
        }
        Family::Panes => {
            story.aside();
            story.panes();
            1
        }
        Family::Union => {
            story.aside();
            one_of(story, shape);
            2 + u32::from(shape.chance(300))
        }
        Family::Silent if shape.chance(400) => {
            story.join(false, 800);
            2
        }
        Family::Silent => {
            one_of(story, shape);
            1 + u32::from(shape.chance(500))
        }
        Family::Count => {
            story.aside();
            story.count();
            1 + u32::from(shape.chance(200))
        }
        Family::Global => {
            story.aside();
            story.global();
            1
        }
        Family::Chain => {
            chain(story, shape);
            1 + u32::from(shape.chance(200))
        }
        Family::JoinChain => {
            join_chain(story, shape);
            2
        }
        Family::Levels if shape.chance(300) => {
            story.join(false, 800);
            2
        }
        Family::Levels => {
            one_of(story, shape);
            1 + u32::from(shape.chance(500))
        }
    }
}

/// One stateful stage that several inputs may share.
fn one_of(story: &mut Story<'_>, shape: &mut crate::entropy::Stream<'_>) {
    match shape.below(4) {
        0 | 1 => story.window(),
        2 => story.session(),
        _ => story.dedup(),
    }
}

/// Stateful stages one behind the other, with stateless ones between.
fn chain(story: &mut Story<'_>, shape: &mut crate::entropy::Stream<'_>) {
    story.appends();
    story.aside();
    match shape.below(9) {
        0 | 1 => story.window(),
        2 => story.session(),
        3 => story.panes(),
        4 => {
            story.window();
            story.aside();
            story.dedup();
            return;
        }
        5 => {
            story.dedup();
            story.aside();
            story.session();
            return;
        }
        6 => {
            story.dedup();
            story.aside();
            story.window();
        }
        _ => story.dedup(),
    }
    story.aside();
    if shape.chance(150) {
        story.count();
    } else {
        story.wider_window();
    }
}

/// A join, and what groups its rows.
fn join_chain(story: &mut Story<'_>, shape: &mut crate::entropy::Stream<'_>) {
    story.appends();
    if shape.chance(150) {
        story.as_of();
    } else {
        story.join(false, 900);
    }
    story.aside();
    match shape.below(6) {
        0..=2 => story.wider_window(),
        3 => story.session(),
        4 => story.dedup(),
        _ => {
            story.wider_window();
            story.aside();
            story.wider_window();
        }
    }
}

/// The inputs with their watermarks. The first has the delay of the plan.
fn inputs(flow: &mut Flow, plan: &mut Plan, entropy: &Entropy<'_>, slide: i64, count: u32) {
    let mut own = entropy.field("flow", "inputs");
    let mut behind = entropy.field("flow", "behind");
    let Some(watermark) = &plan.watermark else { return };
    let joins = flow.joins();
    let keeps_all = match flow.stages.first() {
        Some(StagePlan::Join(it)) => matches!(it.kind, JoinKind::Inner | JoinKind::Semi),
        _ => !joins,
    };
    for number in 0..count as usize {
        let name = match (joins, number) {
            (true, 0) => "left".to_owned(),
            (true, _) => "right".to_owned(),
            (false, 0) => "in".to_owned(),
            (false, _) => format!("in{}", number + 1),
        };
        let eighths = *own.choose(&[0, 3, 8, 20]);
        let as_first = own.chance(400);
        let delay =
            if number == 0 || as_first { watermark.delay } else { Span(slide * eighths / 8) };
        let mut marks = vec![Mark { column: watermark.column, delay }];
        // Nobody waits for an input without a watermark. The first one's is that of a union.
        if own.chance(80) && 0 < number && keeps_all && flow.levels.is_none() {
            marks.clear();
        }
        let mut before = Vec::new();
        if own.chance(90) {
            let compare = *own.choose(&[Compare::AtLeast, Compare::Unequal, Compare::Less]);
            before.push(Filter { column: ColumnIx(2), compare, value: own.range(3, 6) });
        }
        let mut input = InputPlan { before, ..InputPlan::of(name, marks) };
        if behind.chance(60) {
            let compare = *behind.choose(&[Compare::AtLeast, Compare::Unequal, Compare::Less]);
            input.behind.push(Filter { column: ColumnIx(2), compare, value: behind.range(3, 6) });
        }
        if joins && behind.chance(60) {
            let nobody = behind.chance(500);
            input.judged = if nobody { Judged::Nobody } else { Judged::Column(watermark.column) };
        }
        flow.inputs.push(input);
    }
}

/// The rules between inputs and stages.
fn rules(flow: &mut Flow, plan: &mut Plan, entropy: &Entropy<'_>, slide: i64) {
    let mut own = entropy.field("flow", "rules");
    let policy = if own.chance(300) { Policy::Max } else { Policy::Min };
    let same = own.chance(130);
    let follows = own.chance(350);
    let epoch = own.chance(250);
    let hindsight = *own.choose(&[0, 8, 32, 400]);
    let probes = own.chance(120);
    let several = 1 < flow.inputs.len();
    flow.policy = if several && flow.levels.is_none() { policy } else { Policy::Min };
    let stateful = flow.stages.iter().filter(|it| !it.is_stateless()).count();
    flow.chain = if same && 1 < stateful { Chain::Same } else { Chain::Previous };
    flow.follow_up = if follows { FollowUp::WhenMoved } else { FollowUp::Never };
    flow.null_time = if epoch { NullTime::Epoch } else { NullTime::Nowhere };
    flow.hindsight = Span(slide * hindsight / 8);
    let Some(watermark) = &mut plan.watermark else { return };
    if flow.levels.is_some() {
        // Silence, combination and ends are the levels' own business.
        watermark.generator = GeneratorPlan::GlobalMax;
        watermark.fallback = None;
        watermark.initial = plimsoll_engine::time::EventTime::MIN;
    }
    if probes || flow.levels.is_some() {
        watermark.effective = Effective::Probe;
        plan.trigger = Trigger::Row;
    }
}
