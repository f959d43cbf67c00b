//! plimsoll-sim: from a seed to a verdict.
//!
//! A [`scenario::Scenario`] (a recipe) and a seed make a [`trace::Trace`] (concrete arrivals, ticks and
//! faults); a [`run::Run`] feeds it through a [`system::System`]; [`invariant`]s look at every step, the
//! [`oracle`] among them. Nothing draws while it runs.

pub mod compare;
pub mod entropy;
pub mod explain;
pub mod fault;
pub mod golden;
pub mod invariant;
pub mod liveness;
pub mod model;
pub mod oracle;
pub mod plan_toml;
pub mod reach;
pub mod recording;
pub mod report;
pub mod run;
pub mod scenario;
pub mod shrink;
pub mod system;
pub mod trace;
pub mod tune;
pub mod vector;
pub mod verdict;
pub mod zoo;
