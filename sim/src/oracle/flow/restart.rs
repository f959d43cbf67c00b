//! What a restart forgets of a flow: each part becomes what it was before the first row.
//!
//! Readings, beside those of plain plans. What is in force for the next step is no mark's own w: where
//! the maxima alone are lost the side of a join that has a watermark of its own is judged, and removed
//! from, by what its mark said last, until the next step has computed it anew. Losses are not noted on
//! what a flow writes: without a ledger nothing is missing. What left before the watermark began anew
//! is gone, and so is what could be said of it, except within hindsight.
//!
//! Invariant: a restart that loses nothing changes nothing. Source: *Restart* in [`crate::trace`].

use super::FlowOracle;
use super::bounds::Chained;
use crate::trace::Trace;
use plimsoll_engine::plan::restore::{Memory, RestoreRules};

impl FlowOracle {
    /// Stops and starts between two steps.
    pub(super) fn restart(&mut self, trace: &Trace, rules: RestoreRules) {
        self.source.forget(rules, self.now);
        if rules.watermark == Memory::Lost {
            let first = self.source.values();
            (self.chained, self.evicted) = (Chained::new(&self.flow, first), first);
            self.stages.iter_mut().for_each(|it| it.bounds_begin_anew());
        }
        if rules.windows == Memory::Lost {
            self.stages = super::stages(&trace.plan, &self.flow);
        }
    }
}
