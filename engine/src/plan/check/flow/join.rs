//! Rules on joins: is there a pair at all, and when does a row without a partner know?
//!
//! A stored left row can go once no right row that is still to come can match it: `upper` bounds it,
//! and the watermark must speak of the right rows (semantics 6). So for a right row with `lower` and
//! the left rows. Equal windows bound both. An outer row is written with nulls when it goes, so an
//! outer side without such a point is refused, as Spark does; of a full outer join, which Spark starts
//! with one of two, one is warned about. An inner or semi join without it grows.
//!
//! Invariant: whatever passes writes the null rows of at least one outer side.

use super::Stage;
use crate::plan::flow::{Flow, JoinKind, JoinPlan, NullTime, Range, Sides, StagePlan};
use crate::plan::problem::Problem;
use crate::plan::{OutputMode, Plan};
use crate::time::Span;

const SIDES: [&str; 2] = ["left", "right"];

pub(super) fn check(plan: &Plan, flow: &Flow, stages: &[Stage<'_>], problems: &mut Vec<Problem>) {
    let Some(stage) = stages.first() else { return };
    let StagePlan::Join(join) = stage.plan else { return };
    let (lower, upper) = tightest(&join.ranges);
    if let (Some(lower), Some(upper)) = (lower, upper)
        && upper < lower
    {
        // By the loosest bounds rows leave all the same.
        problems.push(match join.expiry.loosest {
            true => Problem::join_matches_nobody(lower, upper),
            false => Problem::join_never_matches(lower, upper),
        });
    }
    let ends =
        [end(join, stage.linked, 0, upper.is_some()), end(join, stage.linked, 1, lower.is_some())];
    match join.kind {
        JoinKind::Inner => grows(&ends, problems),
        JoinKind::Semi => {
            if let Err(why) = &ends[0] {
                problems.push(Problem::semi_side_grows(why));
            }
            if let Err(why) = &ends[1] {
                problems.push(Problem::join_side_grows(SIDES[1], why));
            }
        }
        JoinKind::Left | JoinKind::Anti => outer(0, &ends, problems),
        JoinKind::Right => outer(1, &ends, problems),
        JoinKind::Full => match (&ends[0], &ends[1]) {
            (Ok(()), Ok(())) => {}
            (Err(why), Err(_)) => {
                problems.push(Problem::null_rows_never_written("left or right", why));
            }
            (Err(why), Ok(())) => problems.push(Problem::one_side_never_written(SIDES[0], why)),
            (Ok(()), Err(why)) => problems.push(Problem::one_side_never_written(SIDES[1], why)),
        },
    }
    for (side, end) in ends.iter().enumerate().filter(|it| owed(join.kind, it.0)) {
        if join.sides == Sides::Both && end.is_ok() && !stage.linked[side] {
            let why = format!("no watermark speaks of {} rows", SIDES[side]);
            problems.push(Problem::one_side_never_written(SIDES[side], &why));
        }
    }
    let writes_nulls = matches!(join.kind, JoinKind::Left | JoinKind::Right | JoinKind::Full);
    if writes_nulls && plan.output == OutputMode::Update {
        problems.push(Problem::null_rows_not_revised());
    }
    if join.kind == JoinKind::Anti && ends[0].is_ok() {
        let bound = upper.map_or(Span::ZERO, |it| Span(it.max(0)));
        problems.push(Problem::anti_rows_wait(bound));
    }
    if flow.null_time == NullTime::Epoch {
        null_times(join.kind, problems);
    }
}

/// Why rows of a side can never leave; completes "because ..".
fn end(join: &JoinPlan, linked: [bool; 2], side: usize, bounded: bool) -> Result<(), String> {
    let other = SIDES[1 - side];
    if join.window.is_some() || join.sides == Sides::Either && bounded {
        let known = linked[0] || linked[1];
        let what = if join.window.is_some() { "window" } else { "time" };
        return known.then_some(()).ok_or(format!("no watermark speaks of the {what}"));
    }
    if !bounded {
        let from = ["above", "below"][side];
        return Err(format!("nothing bounds right - left from {from}"));
    }
    let known = linked[1 - side];
    known.then_some(()).ok_or(format!("no watermark speaks of the time of {other} rows"))
}

fn grows(ends: &[Result<(), String>; 2], problems: &mut Vec<Problem>) {
    for (side, end) in SIDES.iter().zip(ends) {
        if let Err(why) = end {
            problems.push(Problem::join_side_grows(side, why));
        }
    }
}

fn outer(side: usize, ends: &[Result<(), String>; 2], problems: &mut Vec<Problem>) {
    if let Err(why) = &ends[side] {
        problems.push(Problem::null_rows_never_written(SIDES[side], why));
    } else if let Err(why) = &ends[1 - side] {
        problems.push(Problem::join_side_grows(SIDES[1 - side], why));
    }
}

/// Whether a row of a side that finds nobody is written.
const fn owed(kind: JoinKind, side: usize) -> bool {
    match kind {
        JoinKind::Left | JoinKind::Anti => side == 0,
        JoinKind::Right => side == 1,
        JoinKind::Full => true,
        JoinKind::Inner | JoinKind::Semi => false,
    }
}

/// Rows without event time on an outer side.
fn null_times(kind: JoinKind, problems: &mut Vec<Problem>) {
    for (_, side) in SIDES.iter().enumerate().filter(|it| owed(kind, it.0)) {
        problems.push(Problem::null_time_kept(side));
    }
}

/// The bounds of right - left that all conjuncts leave, closed; none where nothing bounds.
fn tightest(ranges: &[Range]) -> (Option<i64>, Option<i64>) {
    let lower = ranges.iter().filter_map(|it| it.lower);
    let lower = lower.map(|it| it.at.0.saturating_add(i64::from(it.open))).max();
    let upper = ranges.iter().filter_map(|it| it.upper);
    let upper = upper.map(|it| it.at.0.saturating_sub(i64::from(it.open))).min();
    (lower, upper)
}
