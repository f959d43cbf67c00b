//! The unit of all spans of a flow that a world fixes.
//!
//! Invariant: a span that is not zero stays one.

use crate::model::divided;
use plimsoll_engine::plan::WindowSpec;
use plimsoll_engine::plan::flow::{DedupExpiry, Flow, Gap, StagePlan};
use plimsoll_engine::plan::levels::Limit;
use plimsoll_engine::time::Span;

/// Divides every span of a flow.
pub(in crate::scenario::vary) fn scale(flow: &mut Flow, by: i64) {
    let divide = |it: &mut Span| *it = Span(divided(it.0, by));
    let window = |it: &mut WindowSpec| {
        [&mut it.size, &mut it.slide, &mut it.offset].into_iter().for_each(divide);
    };
    divide(&mut flow.hindsight);
    flow.inputs.iter_mut().flat_map(|it| &mut it.marks).for_each(|it| divide(&mut it.delay));
    if let Some(levels) = &mut flow.levels {
        levels.idle_timeout.iter_mut().chain(&mut levels.emission).for_each(divide);
        if let Some(it) = &mut levels.alignment {
            divide(&mut it.update);
            if let Limit::Drift(drift) = &mut it.limit {
                divide(drift);
            }
        }
    }
    for stage in &mut flow.stages {
        match stage {
            StagePlan::Window(it) => {
                window(&mut it.window);
                divide(&mut it.lateness);
            }
            StagePlan::Session(it) => {
                divide(&mut it.lateness);
                it.max_span.iter_mut().for_each(divide);
                if let Gap::Fixed(gap) = &mut it.gap {
                    divide(gap);
                }
            }
            StagePlan::Dedup(it) => {
                if let DedupExpiry::After(within) = &mut it.expiry {
                    divide(within);
                }
            }
            StagePlan::Join(it) => {
                it.window.iter_mut().for_each(window);
                divide(&mut it.grace);
                let edges = it.ranges.iter_mut().flat_map(|it| [&mut it.lower, &mut it.upper]);
                edges.flatten().for_each(|it| divide(&mut it.at));
            }
            StagePlan::AsOf(it) => divide(&mut it.tolerance),
            StagePlan::Filter(_)
            | StagePlan::Project(_)
            | StagePlan::Rename(..)
            | StagePlan::Compute(_)
            | StagePlan::Global(_)
            | StagePlan::Count(_) => {}
        }
    }
}
