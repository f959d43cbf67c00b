//! What the delays of a flow decide: M1 (per input), M13 and M19.
//!
//! Invariant: the candidates do not depend on the delays.

use super::super::case::{Draw, check, check_needed};
use super::super::delay::{E_W_F, disorder, slack_curve};
use super::super::outcome::{Outcome, first};
use super::super::shape::{
    any_lag, global, watermark, without_changes, without_clock, without_heartbeats,
};
use super::super::{Held, Law, No, claim, need};
use super::reference;
use super::terms::{each_session, each_window, flow, flow_terms, settle, waiting_longer};
use super::{Shape, any, single, world};
use plimsoll_engine::plan::flow::{
    Carry, DedupExpiry, HoleRule, PanePlan, SessionLate, StagePlan, Touching,
};
use plimsoll_engine::plan::{Effective, LateRule, Trigger};
use plimsoll_engine::time::Span;
use plimsoll_sim::trace::Trace;

pub(in crate::laws) const M1: Law = Law {
    name: "M1 delay monotonicity per input",
    world: |seed| world(seed, &[Shape::Window, Shape::Cleaned]),
    prepare: |trace, draw| {
        settle(trace);
        let late = draw.pick(&E_W_F);
        each_window(trace, |it| {
            let uneven = it.window.size.0 % it.window.slide.0 != 0;
            it.late = if late == LateRule::Frame && uneven { LateRule::Event } else { late };
            it.panes.carry = Carry::Accumulating;
        });
    },
    holds: m1,
    covered: 62,
    telling: 24,
};

#[test]
fn m1_a_longer_delay_of_one_input_never_admits_fewer_rows_and_never_lowers_a_final_count() {
    check(&M1);
}

fn m1(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = flow_terms(trace)?;
    terms.append()?;
    terms.never_follows()?;
    terms.chained()?;
    let additive = |it: &StagePlan| match it {
        StagePlan::Window(it) => E_W_F.contains(&it.late) && it.panes.carry == Carry::Accumulating,
        // Its expiry does not know the delay.
        StagePlan::Dedup(it) => it.expiry == DedupExpiry::WithItsTime,
        _ => false,
    };
    terms.all(additive, "windows under rule E, W or F, behind nothing but a dedup by time")?;
    m1_says(trace, draw)
}

/// M1 without asking what the stages are.
fn m1_says(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = flow_terms(trace)?;
    let Some(StagePlan::Window(last)) = terms.flow.stages.last() else {
        return need(false, "windows, last").map(|()| false);
    };
    let keys = last.keys.len();
    let by = Span(draw.pick(&[1, 3, 10, 40]));
    let longer = waiting_longer(trace, draw.below(terms.flow.inputs.len()), by);
    let (short, long) = (Outcome::of(trace)?, Outcome::of(&longer)?);
    let beyond = long.drops_beyond(&short);
    claim(beyond.is_none(), || format!("{by:?} more: {}", beyond.unwrap_or_default()))?;
    let (few, many) = (short.flow_finals(keys), long.flow_finals(keys));
    for (name, values) in few {
        let there = many.get(&name).and_then(|it| it[0]);
        claim(values[0] <= there, || format!("{name:?}: {values:?}, {by:?} more: {there:?}"))?;
    }
    Ok(short.late != long.late)
}

#[test]
fn behind_a_dedup_within_a_delay_a_longer_delay_may_lower_a_count() {
    // What an entry drops depends on when it leaves, which the watermark says.
    let unmeet = |trace: &mut Trace, draw: &mut Draw| {
        (M1.prepare)(trace, draw);
        let dedup = super::stages::dedup_within(Span(1 + draw.below(6) as i64));
        flow(trace).stages.insert(0, dedup);
    };
    check_needed(|seed| world(seed, &[Shape::Window]), unmeet, m1_says, 2);
}

pub(in crate::laws) const M13: Law = Law {
    name: "M13 slack curve of a flow",
    world: |seed| {
        let shapes = [
            Shape::Window,
            Shape::Session,
            Shape::DedupByTime,
            Shape::DedupOther,
            Shape::Global,
            Shape::Cleaned,
        ];
        single(seed, &shapes)
    },
    prepare: |trace, draw| {
        settle(trace);
        if draw.one_in(2) {
            any_lag(trace, draw);
        }
        each_window(trace, |it| it.hole = HoleRule::NoWindow);
        each_session(trace, |it| {
            if it.late == SessionLate::Merged {
                it.late = SessionLate::Proto;
            }
        });
    },
    holds: m13,
    covered: 84,
    telling: 60,
};

#[test]
fn m13_one_pass_of_a_flow_knows_the_drops_of_every_delay() {
    check(&M13);
}

fn with_delay(trace: &Trace, delay: Span) -> Trace {
    let mut other = trace.clone();
    watermark(&mut other.plan).delay = delay;
    for mark in flow(&mut other).inputs.iter_mut().flat_map(|it| &mut it.marks) {
        mark.delay = delay;
    }
    other
}

fn m13(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = flow_terms(trace)?;
    terms.append()?;
    terms.nothing_in_force_first()?;
    terms.no_fallback()?;
    terms.never_follows()?;
    terms.one_input()?;
    let alone = match terms.first()? {
        StagePlan::Session(it) => it.late != SessionLate::Merged,
        // A row in a hole between windows may be late and lose none.
        StagePlan::Window(it) => it.hole == HoleRule::NoWindow,
        _ => true,
    };
    need(alone, "lateness that no other row decides")?;
    slack_curve(trace, draw, with_delay)
}

#[test]
fn with_merged_sessions_one_pass_does_not_know_the_drops_of_every_delay() {
    let unmeet = |trace: &mut Trace, _: &mut Draw| {
        settle(trace);
        each_session(trace, |it| it.late = SessionLate::Merged);
    };
    let says = |trace: &Trace, draw: &mut Draw| slack_curve(trace, draw, with_delay);
    check_needed(|seed| single(seed, &[Shape::Session]), unmeet, says, 10);
}

pub(in crate::laws) const M19: Law = Law {
    name: "M19 oracle of a flow",
    world: any,
    prepare: |trace, draw| {
        settle(trace);
        without_clock(trace);
        global(trace);
        without_changes(trace);
        without_heartbeats(trace);
        any_lag(trace, draw);
        let rules = [LateRule::Event, LateRule::WindowEnd, LateRule::EventInclusive];
        let rule = draw.pick(&rules);
        each_window(trace, |it| (it.late, it.panes) = (rule, PanePlan::TOTALS));
        each_session(trace, |it| it.max_span = None);
        let flow = flow(trace);
        flow.null_time = plimsoll_engine::plan::flow::NullTime::Nowhere;
        flow.inputs.iter_mut().for_each(|it| it.before.clear());
        for stage in flow.stages.iter_mut().skip(1) {
            match stage {
                StagePlan::Window(it) if it.late == LateRule::EventInclusive => {
                    it.late = LateRule::Event;
                }
                StagePlan::Session(it) => it.touching = Touching::Apart,
                _ => {}
            }
        }
    },
    holds: m19,
    covered: 80,
    telling: 66,
};

#[test]
fn m19_with_a_delay_of_the_largest_disorder_a_flow_drops_nothing_and_is_the_batch_result() {
    check(&M19);
}

/// Whether what a stage makes of all rows does not depend on when state leaves, as long as no row is
/// late. Behind another stage rows arrive at their bound.
fn is_complete(stage: &StagePlan, is_first: bool) -> bool {
    match stage {
        StagePlan::Window(it) => {
            let strict = it.late == LateRule::EventInclusive;
            it.late != LateRule::Frame && it.panes == PanePlan::TOTALS && (is_first || !strict)
        }
        StagePlan::Session(it) => {
            it.max_span.is_none() && (is_first || it.touching == Touching::Apart)
        }
        StagePlan::Dedup(it) => !matches!(it.expiry, DedupExpiry::After(_)),
        StagePlan::Count(_) | StagePlan::AsOf(_) => is_first,
        _ => true,
    }
}

/// Whether a row at the bound itself is late, or may meet what has left.
fn is_strict(stage: &StagePlan) -> bool {
    match stage {
        StagePlan::Window(it) => it.late == LateRule::EventInclusive,
        StagePlan::Session(it) => it.touching == Touching::Merge,
        StagePlan::Dedup(it) => it.late == LateRule::EventInclusive,
        StagePlan::Join(it) => it.late == LateRule::EventInclusive,
        StagePlan::Global(it) => it.time.is_some_and(|(_, rule)| rule == LateRule::EventInclusive),
        _ => false,
    }
}

fn m19(trace: &Trace, _: &mut Draw) -> Held {
    let terms = flow_terms(trace)?;
    terms.append()?;
    terms.nothing_in_force_first()?;
    terms.no_fallback()?;
    terms.no_guard()?;
    terms.global()?;
    terms.no_changes()?;
    terms.no_heartbeats()?;
    terms.null_is_nowhere()?;
    terms.nothing_filtered_before()?;
    terms.chained()?;
    terms.trigger(|it| matches!(it, Trigger::Batch | Trigger::Row))?;
    let mut stages = terms.stateful().enumerate();
    let complete = stages.all(|(at, it)| is_complete(it, at == 0));
    need(complete, "stages that make the same of all rows, whenever state leaves")?;
    let lag = terms.watermark.effective;
    let by_row = lag != Effective::NextBatch && lag != Effective::BatchAfterNext
        || trace.plan.trigger == Trigger::Row;
    // Under any policy: the front of all inputs.
    let disorder = disorder(trace, !by_row).ok_or(No::Uncovered("a disorder within limits"))?;
    let strict = i64::from(terms.stateful().any(is_strict));
    batch_result(trace, Span(disorder + strict)).map(|some| 0 < disorder && some)
}

/// Under this delay nothing is dropped, and what comes out is the batch result. Whether that is
/// something.
fn batch_result(trace: &Trace, delay: Span) -> Held {
    let enough = Outcome::of(&with_delay(trace, delay))?;
    claim(enough.late.is_empty(), || format!("under {delay:?}: {:?}", enough.late))?;
    let mut found: Vec<_> = enough.emitted.iter().map(|it| it.cells.clone()).collect();
    found.sort();
    let differs = first(&reference::rows(trace), &found, "row");
    claim(differs.is_none(), || {
        format!("the batch result and what came out: {}", differs.unwrap_or_default())
    })?;
    Ok(!found.is_empty())
}

#[test]
fn without_a_delay_a_flow_is_not_the_batch_result() {
    check_needed(any, M19.prepare, |trace, _| batch_result(trace, Span::ZERO), 40);
}
