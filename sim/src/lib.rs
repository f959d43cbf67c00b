//! plimsoll-sim: from a seed to a verdict.
//!
//! `Scenario` (a recipe) and a seed make a [`trace::Trace`] (concrete arrivals, ticks and faults); a run
//! feeds it through a [`system::System`]; [`invariant`]s look at every step.

pub mod entropy;
pub mod invariant;
pub mod run;
pub mod shrink;
pub mod system;
pub mod trace;
