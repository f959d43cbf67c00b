//! What the delay decides: M1 (longer never admits less), M13 (one pass knows the drops of every
//! delay) and M19 (with enough of it nothing is dropped).
//!
//! Invariant: the candidate does not depend on the delay, in any case of these laws.

use super::case::{Draw, check, plain};
use super::outcome::{Finals, Name, Outcome};
use super::shape::{
    any_lag, base, global, late_rule, terms, watermark, without_changes, without_clock,
    without_heartbeats,
};
use super::{Held, Law, No, claim, need, reference};
use plimsoll_engine::late::Saving;
use plimsoll_engine::plan::{Effective, LateRule, Trigger};
use plimsoll_engine::state::layout::Value;
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_sim::trace::{Item, Trace};
use std::collections::BTreeMap;

/// E, W and F: the rules that M1 was measured with.
pub(super) const E_W_F: [LateRule; 3] = [LateRule::Event, LateRule::WindowEnd, LateRule::Frame];
const ALL_RULES: [LateRule; 4] =
    [LateRule::Event, LateRule::EventInclusive, LateRule::WindowEnd, LateRule::Frame];

fn with_delay(trace: &Trace, delay: Span) -> Trace {
    let mut other = trace.clone();
    watermark(&mut other.plan).delay = delay;
    other
}

/// The first figure that counts less than the other run's.
fn counts_more(short: &Finals, long: &Finals) -> Option<String> {
    let count = |it: Option<&Vec<Value>>| match it.map(|it| it[0]) {
        Some(Value::Int(it)) => it,
        _ => 0,
    };
    let figure = short.iter().find(|(name, it)| count(long.get(name)) < count(Some(it)))?;
    Some(format!("{:?} counts {:?} here and {:?} there", figure.0, figure.1, long.get(figure.0)))
}

pub(super) const M1: Law = Law {
    name: "M1 delay monotonicity",
    world: plain,
    prepare: |trace, draw| {
        base(trace, draw);
        late_rule(trace, draw, &E_W_F);
    },
    holds: m1,
    covered: 90,
    telling: 30,
};

#[test]
fn m1_a_longer_delay_never_admits_fewer_rows_and_never_lowers_a_final_count() {
    check(&M1);
}

fn m1(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = terms(trace)?;
    terms.append()?;
    terms.counts()?;
    // Idle timeout, guard and wall clock may be there: none of them knows d.
    terms.late_rule(&E_W_F)?;
    let shorter = terms.watermark.delay;
    let size = terms.operator.window.size.0;
    let more = draw.pick(&[1, size / 3 + 1, size, size.saturating_mul(4)]);
    let longer = shorter + Span(more);
    need(longer.0 <= Span::LEGAL, "a legal delay")?;
    let short = Outcome::of(trace)?;
    let long = Outcome::of(&with_delay(trace, longer))?;
    let lost = short.admits_beyond(&long);
    claim(lost.is_none(), || format!("under {longer:?}: {}", lost.unwrap_or_default()))?;
    let fewer = counts_more(&short.finals(), &long.finals());
    claim(fewer.is_none(), || format!("under {longer:?}: {}", fewer.unwrap_or_default()))?;
    Ok(short.lost() != long.lost())
}

pub(super) const M13: Law = Law {
    name: "M13 slack curve",
    world: plain,
    prepare: |trace, draw| {
        base(trace, draw);
        late_rule(trace, draw, &ALL_RULES);
        if draw.below(2) == 0 {
            any_lag(trace, draw);
        }
        let watermark = watermark(&mut trace.plan);
        watermark.fallback = None;
    },
    holds: m13,
    covered: 90,
    telling: 60,
};

#[test]
fn m13_one_pass_knows_the_drops_of_every_delay() {
    check(&M13);
}

/// The smallest delays that save the latest and all of the windows that a row loses without any.
fn savings(first: &Outcome) -> Result<BTreeMap<Name, Option<(i64, i64)>>, No> {
    let mut all = BTreeMap::new();
    for (name, late) in &first.late {
        let saving = match late.saving {
            Saving::Delay { smallest, largest } => Some((smallest.0, largest.0)),
            Saving::Nothing => None,
            Saving::Fallback { .. } => {
                return Err(No::Broken(format!("row {name}: a wall clock that is not there")));
            }
        };
        all.insert(*name, saving);
    }
    Ok(all)
}

fn m13(trace: &Trace, draw: &mut Draw) -> Held {
    let terms = terms(trace)?;
    terms.append()?;
    terms.nothing_in_force_first()?;
    terms.no_fallback()?;
    slack_curve(trace, draw, with_delay)
}

/// M13 without asking: what a run without any delay says of every delay.
pub(super) fn slack_curve(
    trace: &Trace,
    draw: &mut Draw,
    with_delay: fn(&Trace, Span) -> Trace,
) -> Held {
    let first = Outcome::of(&with_delay(trace, Span::ZERO))?;
    let savings = savings(&first)?;
    let limits: Vec<i64> = savings.values().flatten().flat_map(|it| [it.0, it.1]).collect();
    let mut delays = vec![trace.plan.watermark.as_ref().map_or(0, |it| it.delay.0)];
    for _ in 0..4 {
        if !limits.is_empty() {
            let limit = draw.pick(&limits);
            delays.extend([limit - 1, limit]);
        }
    }
    delays.retain(|it| (0..=Span::LEGAL).contains(it));
    for delay in delays {
        let again = Outcome::of(&with_delay(trace, Span(delay)))?;
        let stranger = again.late.keys().find(|it| !savings.contains_key(it));
        claim(stranger.is_none(), || format!("at {delay} ms row {stranger:?} is late, at 0 not"))?;
        for (name, saving) in &savings {
            let lost_at_first = first.late[name].windows_lost;
            let now = again.late.get(name);
            let lost = now.map_or(0, |it| it.windows_lost);
            // Some window is lost below `largest`, all that were lost without a delay below
            // `smallest`.
            let (some, all) = saving.map_or((true, true), |it| (delay < it.1, delay < it.0));
            let as_said = (0 < lost) == some && (lost == lost_at_first) == all;
            claim(as_said, || {
                format!(
                    "row {name} lost {lost_at_first} windows without a delay, saved by {saving:?} \
                     ms; at {delay} ms it loses {lost}"
                )
            })?;
            let same = match (now.map(|it| it.saving), saving) {
                (Some(Saving::Delay { largest, .. }), Some(it)) => largest.0 == it.1,
                (Some(it), None) => it == Saving::Nothing,
                (None, _) => true,
                (Some(_), Some(_)) => false,
            };
            claim(same, || format!("row {name}: {saving:?} at 0 ms, {now:?} at {delay} ms"))?;
        }
    }
    Ok(!limits.is_empty())
}

pub(super) const M19: Law = Law {
    name: "M19 oracle",
    world: plain,
    prepare: |trace, draw| {
        base(trace, draw);
        without_clock(trace);
        global(trace);
        without_changes(trace);
        without_heartbeats(trace);
        late_rule(trace, draw, &[LateRule::Event, LateRule::WindowEnd, LateRule::EventInclusive]);
        any_lag(trace, draw);
    },
    holds: m19,
    covered: 90,
    telling: 80,
};

#[test]
fn m19_with_a_delay_of_the_largest_disorder_nothing_is_dropped_and_the_output_is_the_batch_result()
{
    check(&M19);
}

/// The largest distance of a row behind the front: all rows before it, or, in batches, all rows of
/// earlier batches. `None` where a front is not a legal delay ahead.
pub(super) fn disorder(trace: &Trace, in_batches: bool) -> Option<i64> {
    let (mut front, mut batch, mut largest) = (None::<i64>, None::<i64>, 0);
    for item in &trace.items {
        match item {
            Item::Row(row) => {
                let Some(time) = trace.time(*row).filter(|it| it.is_legal()) else { continue };
                if let Some(front) = front {
                    largest = largest.max(front.checked_sub(time.0)?);
                }
                batch = batch.max(Some(time.0));
                if !in_batches {
                    front = front.max(batch);
                }
            }
            Item::Batch => front = front.max(batch),
            _ => {}
        }
    }
    (largest < Span::LEGAL).then_some(largest)
}

fn m19(trace: &Trace, _: &mut Draw) -> Held {
    let terms = terms(trace)?;
    terms.append()?;
    terms.nothing_in_force_first()?;
    terms.no_fallback()?;
    terms.no_guard()?;
    terms.global()?;
    terms.no_changes()?;
    terms.no_heartbeats()?;
    terms.late_rule(&[LateRule::Event, LateRule::WindowEnd, LateRule::EventInclusive])?;
    terms.trigger(|it| matches!(it, Trigger::Batch | Trigger::Row))?;
    let (rule, lag) = (terms.operator.late, terms.watermark.effective);
    let by_row = lag == Effective::Row || trace.plan.trigger == Trigger::Row;
    let disorder = disorder(trace, !by_row).ok_or(No::Uncovered("a disorder within limits"))?;
    let strict = i64::from(rule == LateRule::EventInclusive);
    let enough = Outcome::of(&with_delay(trace, Span(disorder + strict)))?;
    claim(enough.late.is_empty(), || {
        format!("disorder {disorder} ms, and late all the same: {:?}", enough.late)
    })?;
    let (expected, found) = (reference::figures(trace), enough.finals());
    let missing = expected.iter().find(|it| found.get(it.0) != Some(it.1));
    claim(missing.is_none(), || {
        format!("{missing:?} is the batch result; found {:?}", missing.map(|it| found.get(it.0)))
    })?;
    claim(expected.len() == found.len(), || "a figure of no row".to_owned())?;
    let written_once = enough.writes.len() == found.len();
    claim(written_once, || "append mode wrote a figure twice".to_owned())?;
    // One millisecond less is not enough under E and E2, unless the verdict lags further behind.
    let tight = 0 < disorder + strict && 0 < disorder;
    let exact = rule != LateRule::WindowEnd && (by_row == (lag == Effective::Row));
    if tight && exact && lag != Effective::BatchAfterNext {
        let scarce = Outcome::of(&with_delay(trace, Span(disorder + strict - 1)))?;
        // A row in a hole between windows has no window to be late for.
        let in_windows =
            scarce.other.values().all(|it| !matches!(it, plimsoll_engine::output::Fate::NoWindow));
        claim(!scarce.late.is_empty() || !in_windows, || {
            format!("disorder {disorder} ms, and one less drops nothing")
        })?;
    }
    Ok(0 < disorder)
}

#[test]
fn the_disorder_of_a_sorted_input_is_zero() {
    let mut trace = plimsoll_sim::scenario::default_world(1).trace;
    trace.items.clear();
    let columns = trace.plan.schema.columns.len();
    let column = trace.time_column();
    for time in [3, 9, 9, 4] {
        let mut cells = vec![None; columns];
        cells[column] = Some(time);
        trace.push_row(plimsoll_engine::row::PartitionId(0), &cells);
    }
    assert_eq!((disorder(&trace, false), disorder(&trace, true)), (Some(5), Some(0)));
    trace.items.truncate(3);
    assert_eq!(disorder(&trace, false), Some(0));
    assert_eq!(EventTime(9).since(EventTime(4)), Span(5));
}
