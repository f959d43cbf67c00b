//! Which stages the watermark has a say in, side by side.
//!
//! A watermark speaks of one column of its input, of several the last. A filter, a rename and dedup
//! keep the link, a projection keeps it for what it keeps, a computed column is a new one. Windows and
//! sessions hand it on to their end and their time, joins to both times (under `both` and `either` to
//! the columns that their inputs have it on), a global group to its time key; count windows to nothing. Without a link nothing is late and nothing leaves before the end.
//!
//! Of a join that judges a side by another column, that column must be the one its input's watermark is
//! on; and rows of a side are removed where the other side's time is linked, or both are (the own side by
//! what judges it), or either is, as the plan says whose watermark it is.
//!
//! Reading: where inputs are united, a column is linked that some input's watermark speaks of.
//!
//! Invariant: one answer per stage and side, for what is judged and for what is removed.

use plimsoll_engine::plan::Plan;
use plimsoll_engine::plan::flow::{Flow, JoinKind, Judged, Sides, StagePlan};
use plimsoll_engine::row::ColumnIx;

/// In what the watermark has a say in each side of a stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Acts {
    pub(super) judges: [bool; 2],
    pub(super) removes: [bool; 2],
}

/// For each stage, in what the watermark has a say.
pub(super) fn follow(plan: &Plan, flow: &Flow) -> Vec<Acts> {
    let acts = linked(plan, flow).into_iter().zip(&flow.stages);
    acts.map(|([left, right], stage)| match stage {
        StagePlan::Join(it) => {
            let judges = [by(flow, 0, left), by(flow, 1, right)];
            let removes = match it.sides {
                Sides::Own | Sides::Combined => [right, left],
                Sides::Both => [right && judges[0], left && judges[1]],
                Sides::Either => [left || right; 2],
            };
            Acts { judges, removes }
        }
        StagePlan::AsOf(_) => Acts { judges: [left, right], removes: [right, left] },
        _ => Acts { judges: [left, right], removes: [left, right] },
    })
    .collect()
}

/// Whether what judges a side of a join is linked.
fn by(flow: &Flow, side: usize, its_time: bool) -> bool {
    match flow.inputs[side].judged {
        Judged::ItsTime => its_time,
        Judged::Column(it) => flow.inputs[side].marks.last().is_some_and(|mark| mark.column == it),
        Judged::Nobody => false,
    }
}

/// For each stage, whether the time that it works on is linked, side by side.
fn linked(plan: &Plan, flow: &Flow) -> Vec<[bool; 2]> {
    let columns = plan.schema.columns.len();
    let spoken = |input: usize| {
        let marks = flow.inputs.get(input).and_then(|it| it.marks.last());
        (0..columns).map(|it| marks.is_some_and(|mark| mark.column.0 == it)).collect::<Vec<_>>()
    };
    let (mut linked, right) = if flow.joins() {
        (spoken(0), spoken(1))
    } else {
        let all = (0..flow.inputs.len()).map(spoken);
        let either = |a: Vec<bool>, b: Vec<bool>| a.iter().zip(b).map(|(a, b)| *a || b).collect();
        (all.reduce(either).unwrap_or_default(), Vec::new())
    };
    let mut acts = Vec::new();
    for (stage, after) in flow.stages.iter().zip(flow.schemas(&plan.schema).iter().skip(1)) {
        let width = after.columns.len();
        let left = |it: ColumnIx| linked.get(it.0).copied().unwrap_or(false);
        let other = |it: ColumnIx| right.get(it.0).copied().unwrap_or(false);
        let act = match stage {
            StagePlan::Filter(_) | StagePlan::Rename(..) | StagePlan::Project(_) => [false; 2],
            StagePlan::Compute(_) | StagePlan::Count(_) => [false; 2],
            StagePlan::Window(it) => [left(it.time); 2],
            StagePlan::Session(it) => [left(it.time); 2],
            StagePlan::Global(it) => [it.time.is_some_and(|it| left(it.0)); 2],
            StagePlan::Dedup(it) => [it.time.is_some_and(left); 2],
            StagePlan::Join(it) => [left(it.time[0]), other(it.time[1])],
            StagePlan::AsOf(it) => [left(it.time[0]), other(it.time[1])],
        };
        let mut next = vec![false; width];
        match stage {
            StagePlan::Filter(_) | StagePlan::Rename(..) | StagePlan::Dedup(_) => {
                next.clone_from(&linked);
            }
            StagePlan::Compute(at) => {
                next.clone_from(&linked);
                next[at.0] = false;
            }
            StagePlan::Project(kept) => next = kept.iter().map(|it| left(*it)).collect(),
            StagePlan::Window(_) | StagePlan::Session(_) => {
                (next[1], next[2]) = (act[0], act[0]);
            }
            StagePlan::Global(it) => {
                let time = it.time.map(|it| it.0);
                let at = it.keys.iter().position(|key| Some(*key) == time);
                if let Some(at) = at {
                    next[at] = act[0];
                }
            }
            StagePlan::Count(_) => {}
            StagePlan::Join(it) => {
                let both = !matches!(it.kind, JoinKind::Semi | JoinKind::Anti);
                let own = matches!(it.sides, Sides::Own | Sides::Combined);
                for at in 0..columns {
                    let asked = |time: ColumnIx| !own || time.0 == at;
                    next[at] = left(ColumnIx(at)) && asked(it.time[0]);
                    if both {
                        next[columns + at] = other(ColumnIx(at)) && asked(it.time[1]);
                    }
                }
            }
            StagePlan::AsOf(it) => next[it.time[0].0] = act[0],
        }
        acts.push(act);
        linked = next;
    }
    acts
}
