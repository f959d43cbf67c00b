//! A flow between two steps, as plain data for a snapshot.
//!
//! Invariant: what is saved and loaded goes on exactly as what was saved, unless a rule forgets.

use super::Flow;
use super::bounds::BoundsState;
use super::source::{Sources, SourcesState};
use super::stage::Stage;
use crate::plan::Plan;
use crate::time::ProcTime;
use serde::{Deserialize, Serialize};

/// Everything that a restart needs of a flow.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FlowState {
    sources: SourcesState,
    bounds: BoundsState,
    stages: Vec<Stage>,
}

/// What a restart forgets of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forgets {
    /// W and what is in force.
    pub watermark: bool,
    /// What every partition and every mark has shown.
    pub maxima: bool,
    /// Who is idle.
    pub idleness: bool,
    /// What the stages keep.
    pub stages: bool,
}

impl Flow {
    /// What a snapshot keeps.
    pub fn save(&self) -> FlowState {
        FlowState {
            sources: self.sources.save(),
            bounds: self.bounds.state.clone(),
            stages: self.stages.clone(),
        }
    }

    /// A flow of this plan that goes on from there.
    ///
    /// # Errors
    /// The sentence of a state that does not fit the plan.
    pub fn load(
        plan: &Plan,
        state: FlowState,
        forgets: Forgets,
        now: ProcTime,
    ) -> Result<Self, String> {
        let mut flow = Self::new(plan);
        if flow.stages.len() != state.stages.len() {
            return Err(format!("{} stages", state.stages.len()));
        }
        for (stage, plan) in state.stages.iter().zip(&flow.plan.stages) {
            stage.fit(plan, &flow.plan)?;
        }
        flow.sources = Sources::load(plan, &flow.plan, state.sources)?;
        let Forgets { watermark, maxima, idleness, stages } = forgets;
        flow.sources.forget(watermark, maxima, idleness, now);
        if !watermark {
            flow.bounds.state = state.bounds;
        }
        if !stages {
            flow.stages = state.stages;
            if watermark {
                flow.stages.iter_mut().for_each(Stage::watermark_lost);
            }
        }
        Ok(flow)
    }
}
