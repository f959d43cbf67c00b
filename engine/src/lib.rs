//! plimsoll-engine: an event-time watermark and windowing engine as a passive state machine.
//!
//! Steps of rows go in; firings, fates and records come out. The engine has no clock, does no IO,
//! draws no random numbers, starts no threads and knows of no simulation: time, rows and even the
//! seed of its hasher are arguments.
//!
//! # The map
//!
//! `time` < `row` < {`window`, `watermark`, `late`, `output`} < {`plan`, `profile`, `state`} <
//! `operator` < {`pipeline`, `flow`} < `trigger` < `job` < {`progress`, `snapshot`}.

pub mod flow;
pub mod job;
pub mod late;
pub mod operator;
pub mod output;
pub mod pipeline;
pub mod plan;
pub mod profile;
pub mod progress;
pub mod row;
pub mod snapshot;
pub mod state;
pub mod time;
pub mod trigger;
pub mod watermark;
pub mod window;
