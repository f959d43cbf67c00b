//! The window operator alone, with one maximum moved by every row: each row is judged by the
//! largest time before it minus the delay, and windows close at the very row that moves the watermark.
//!
//! Invariant: the operator gets its bounds and ranges as the pipeline gives them.

use crate::floor::limit::Digest;
use crate::floor::query;
use plimsoll_engine::operator::LateBound;
use plimsoll_engine::operator::aggregate::{Closing, WindowAggregate};
use plimsoll_engine::plan::Plan;
use plimsoll_engine::row::RowBatch;
use plimsoll_engine::time::{EventTime, Span};

/// Runs a plan.
pub(crate) fn run(plan: &Plan, batches: &[RowBatch]) -> Digest {
    let mut operator = WindowAggregate::new(plan, 0x5EED);
    let mut out = Digest::default();
    let (mut spare, mut closings, mut exceptions) = (Vec::new(), Vec::new(), Vec::new());
    let delay = Span::minutes(10);
    let mut max = EventTime::MIN;
    let mut watermark = EventTime::MIN;
    let mut next_end = EventTime(i64::MIN + 1);
    let mut bounds = Vec::new();
    let mut evict = |operator: &mut WindowAggregate, at, out: &mut Digest| {
        operator.evict(at, &mut spare, &mut closings);
        for Closing { window, groups, .. } in closings.drain(..) {
            query::take(window.start, &groups, out);
            spare.push(groups);
        }
    };
    for (step, batch) in (0..).zip(batches) {
        let mut from = 0;
        bounds.clear();
        bounds.resize(batch.len(), EventTime::MIN);
        let times = &batch.columns[0].values[..batch.len()];
        for (row, time) in times.iter().enumerate() {
            bounds[row] = watermark;
            let time = EventTime(*time);
            if max < time {
                max = time;
                watermark = time - delay;
                if next_end <= watermark {
                    let late = LateBound::PerRow(&bounds);
                    operator.apply(batch, from..row + 1, &[], late, step, &mut exceptions);
                    evict(&mut operator, watermark, &mut out);
                    next_end = operator.next_end(watermark);
                    from = row + 1;
                }
            }
        }
        let late = LateBound::PerRow(&bounds);
        operator.apply(batch, from..batch.len(), &[], late, step, &mut exceptions);
        out.late += exceptions.drain(..).filter(|it| it.kept == 0).count() as u64;
    }
    evict(&mut operator, EventTime::MAX, &mut out);
    out
}
