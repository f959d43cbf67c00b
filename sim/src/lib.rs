//! plimsoll-sim: from a seed to a verdict.
//!
//! `Scenario` (a recipe) and a seed make a [`trace::Trace`] (concrete arrivals, ticks and faults); a run
//! feeds it through a [`system::System`]; [`invariant`]s look at every step.

pub mod entropy;
mod fault;
pub mod invariant;
mod model;
pub mod oracle;
pub mod plan_toml;
pub mod run;
pub mod scenario;
pub mod system;
pub mod trace;
pub mod zoo;
