//! Plainer stages: one less, or one with a rule less.
//!
//! Invariant: a plan that comes out of here was read from its text.

use crate::trace::plan_text::{pairs_of, plan_from_pairs, stage_texts};
use plimsoll_engine::plan::flow::{
    AsOfPlan, Carry, CountPlan, DedupExpiry, DedupPlan, Expiry, GlobalPlan, JoinKind, JoinPlan,
    SessionLate, SessionPlan, Sides, StagePlan, Touching, WindowStage,
};
use plimsoll_engine::plan::{Aggregate, LatePolicy, LateRule, Plan};
use plimsoll_engine::row::ColumnIx;
use plimsoll_engine::time::{ProcTime, Span};

/// The plans with plainer stages, the coarsest first: from the last stage, since what stands behind one
/// may name what it writes.
pub(super) fn plainer(plan: &Plan) -> impl Iterator<Item = Plan> + '_ {
    let texts = stage_texts(plan);
    let stages = plan.flow.as_ref().map_or(&[][..], |it| &it.stages);
    let fewer = texts.clone();
    let less = (0..stages.len()).rev().filter_map(move |at| {
        let mut texts = fewer.clone();
        texts.remove(at);
        reading(plan, &texts)
    });
    let changed = (0..stages.len()).rev().flat_map(move |at| {
        let texts = texts.clone();
        of_stage(&stages[at]).into_iter().filter_map(move |stage| {
            let mut texts = texts.clone();
            texts[at] = text_of(plan, at, stage)?;
            reading(plan, &texts)
        })
    });
    less.chain(changed)
}

/// The text of a stage in the place of another.
fn text_of(plan: &Plan, at: usize, stage: StagePlan) -> Option<String> {
    let mut plan = plan.clone();
    let stages = &mut plan.flow.as_mut()?.stages;
    stages.truncate(at);
    stages.push(stage);
    stage_texts(&plan).pop()
}

/// The plan with stages of these texts; `None` where that is none.
fn reading(plan: &Plan, texts: &[String]) -> Option<Plan> {
    let stages = texts.join("|");
    let mut pairs = pairs_of(plan, ProcTime(0));
    let place = pairs.iter_mut().find(|it| it.0 == "stages")?;
    place.1 = stages;
    plan_from_pairs(pairs.iter().map(|it| (it.0, it.1.as_str()))).ok().map(|it| it.plan)
}

/// The plainer forms of one stage.
fn of_stage(stage: &StagePlan) -> Vec<StagePlan> {
    match stage {
        StagePlan::Window(it) => forms(it, &WINDOW, &WINDOW_LISTS, StagePlan::Window),
        StagePlan::Session(it) => forms(it, &SESSION, &SESSION_LISTS, StagePlan::Session),
        StagePlan::Global(it) => forms(it, &GLOBAL, &GLOBAL_LISTS, StagePlan::Global),
        StagePlan::Count(it) => forms(it, &COUNT, &COUNT_LISTS, StagePlan::Count),
        StagePlan::Dedup(it) => forms(it, &DEDUP, &DEDUP_LISTS, StagePlan::Dedup),
        StagePlan::Join(it) => forms(it, &JOIN, &JOIN_LISTS, StagePlan::Join),
        StagePlan::AsOf(it) => forms(it, &AS_OF, &AS_OF_LISTS, StagePlan::AsOf),
        StagePlan::Filter(_)
        | StagePlan::Project(_)
        | StagePlan::Rename(..)
        | StagePlan::Compute(_) => Vec::new(),
    }
}

/// One rule is taken back.
type Rule<T> = fn(&mut T);
/// One part of a list is taken away; how many there are comes back, before.
type List<T> = fn(&mut T, Option<usize>) -> usize;

fn forms<T: Clone + PartialEq>(
    plan: &T,
    rules: &[Rule<T>],
    lists: &[List<T>],
    stage: fn(T) -> StagePlan,
) -> Vec<StagePlan> {
    let of = |change: &dyn Fn(&mut T)| {
        let mut changed = plan.clone();
        change(&mut changed);
        (changed != *plan).then(|| stage(changed))
    };
    let mut forms: Vec<StagePlan> = rules.iter().filter_map(|rule| of(rule)).collect();
    for list in lists {
        let count = list(&mut plan.clone(), None);
        let without = |at: usize| {
            of(&|it| {
                list(it, Some(at));
            })
        };
        forms.extend((0..count).rev().filter_map(without));
    }
    forms
}

/// Takes a part away, and says how many there were.
fn part<T>(list: &mut Vec<T>, at: Option<usize>) -> usize {
    let count = list.len();
    at.filter(|it| *it < count).into_iter().for_each(|it| drop(list.remove(it)));
    count
}

/// The same of a list that keeps one.
fn part_but_one<T>(list: &mut Vec<T>, at: Option<usize>) -> usize {
    if list.len() < 2 { 0 } else { part(list, at) }
}

const WINDOW: [Rule<WindowStage>; 8] = [
    |it| it.window.slide = it.window.size,
    |it| it.window.size = it.window.slide,
    |it| it.window.offset = Span::ZERO,
    |it| it.lateness = Span::ZERO,
    |it| it.panes.early_rows = None,
    |it| it.panes.carry = Carry::Accumulating,
    |it| {
        it.late = LateRule::Event;
        it.late_policy = LatePolicy::Drop;
    },
    |it| it.aggregates = vec![Aggregate::Count],
];
const WINDOW_LISTS: [List<WindowStage>; 2] =
    [|it, at| part(&mut it.keys, at), |it, at| part_but_one(&mut it.aggregates, at)];

const SESSION: [Rule<SessionPlan>; 6] = [
    |it| it.lateness = Span::ZERO,
    |it| it.max_span = None,
    |it| it.touching = Touching::Apart,
    |it| it.late = SessionLate::Event,
    |it| it.late_policy = LatePolicy::Drop,
    |it| it.aggregates = vec![Aggregate::Count],
];
const SESSION_LISTS: [List<SessionPlan>; 2] =
    [|it, at| part(&mut it.keys, at), |it, at| part_but_one(&mut it.aggregates, at)];

const GLOBAL: [Rule<GlobalPlan>; 3] = [
    |it| it.time = None,
    |it| it.time = it.time.map(|it| (it.0, LateRule::Event)),
    |it| it.aggregates = vec![Aggregate::Count],
];
const GLOBAL_LISTS: [List<GlobalPlan>; 2] =
    [|it, at| part(&mut it.keys, at), |it, at| part_but_one(&mut it.aggregates, at)];

const COUNT: [Rule<CountPlan>; 1] = [|it| it.aggregates = vec![Aggregate::Count]];
const COUNT_LISTS: [List<CountPlan>; 2] =
    [|it, at| part(&mut it.keys, at), |it, at| part_but_one(&mut it.aggregates, at)];

const DEDUP: [Rule<DedupPlan>; 3] = [
    |it| it.late = LateRule::Event,
    |it| it.late_policy = LatePolicy::Drop,
    |it| it.expiry = DedupExpiry::Never,
];
const DEDUP_LISTS: [List<DedupPlan>; 1] = [|it, at| part_but_one::<ColumnIx>(&mut it.columns, at)];

const JOIN: [Rule<JoinPlan>; 12] = [
    |it| it.kind = JoinKind::Inner,
    |it| it.kind = JoinKind::Left,
    |it| it.window = None,
    |it| it.ranges.iter_mut().for_each(|it| it.lower = None),
    |it| it.ranges.iter_mut().for_each(|it| it.upper = None),
    |it| it.only_if[0] = None,
    |it| it.only_if[1] = None,
    |it| it.late = LateRule::Event,
    |it| it.late_policy = LatePolicy::Drop,
    |it| it.grace = Span::ZERO,
    |it| it.expiry = Expiry::EXACT,
    |it| it.sides = Sides::Own,
];
const JOIN_LISTS: [List<JoinPlan>; 2] =
    [|it, at| part(&mut it.ranges, at), |it, at| part(&mut it.on, at)];

const AS_OF: [Rule<AsOfPlan>; 2] = [|it| it.outer = false, |it| it.late_policy = LatePolicy::Drop];
const AS_OF_LISTS: [List<AsOfPlan>; 1] = [|it, at| part(&mut it.on, at)];
