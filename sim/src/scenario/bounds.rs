//! The distances between two rows, or between a row and the watermark, at which a flow decides.
//!
//! A gap ends a session exactly so far behind a row, a join meets exactly so far, an entry of a dedup
//! is forgotten exactly so late. Models aim at them.
//!
//! Invariant: a plain plan has none.

use plimsoll_engine::plan::Plan;
use plimsoll_engine::plan::flow::{DedupExpiry, Gap, StagePlan};

/// The distances of all stages, in order.
pub(super) fn of(plan: &Plan) -> Vec<i64> {
    let mut found = Vec::new();
    for stage in plan.flow.iter().flat_map(|it| &it.stages) {
        match stage {
            StagePlan::Window(it) => found.extend((0 < it.lateness.0).then_some(it.lateness.0)),
            StagePlan::Session(it) => {
                if let Gap::Fixed(gap) = it.gap {
                    found.push(gap.0);
                }
                found.extend((0 < it.lateness.0).then_some(it.lateness.0));
            }
            StagePlan::Dedup(it) => {
                if let DedupExpiry::After(within) = it.expiry {
                    found.push(within.0);
                }
            }
            StagePlan::Join(it) => {
                let edges = it.ranges.iter().flat_map(|it| [it.lower, it.upper]).flatten();
                found.extend(edges.map(|it| it.at.0));
                found.extend((0 < it.grace.0).then_some(it.grace.0));
            }
            StagePlan::AsOf(it) => found.extend([0, -it.tolerance.0]),
            StagePlan::Filter(_)
            | StagePlan::Project(_)
            | StagePlan::Rename(..)
            | StagePlan::Compute(_)
            | StagePlan::Global(_)
            | StagePlan::Count(_) => {}
        }
    }
    found
}

/// The delay of every input that speaks; one for a plain plan.
pub(super) fn delays(plan: &Plan, speaking: Option<u32>) -> Vec<i64> {
    let own = plan.watermark.as_ref().map_or(0, |it| it.delay.0);
    let Some(flow) = &plan.flow else { return vec![own] };
    let speaking = speaking.map_or(1, |it| it.max(1)) as usize;
    let of = |input: usize| flow.inputs.get(input).and_then(|it| it.marks.first());
    (0..speaking).map(|it| of(it).map_or(own, |it| it.delay.0)).collect()
}
