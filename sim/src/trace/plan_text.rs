//! The plan as text: pairs of key and value, one word per rule.
//!
//! The same pairs stand on the `plan` line of a trace, in the `[plan]` table of a file and in worlds.
//! A plan is read from its pairs, their order does not matter, and everything that is not said is as
//! in the [profile](plimsoll_engine::profile) that is named, `seed` where none is (global maximum,
//! next batch, event rule, a delay of 10 minutes), with tumbling windows of 10 minutes and appending.
//!
//! This module reads and writes. Whether a plan makes sense is said by
//! [`plimsoll_engine::plan::check`]: a negative delay or an append without a watermark can be written.
//! What can *not* be written is a setting that the plan has no place for, such as an idle timeout
//! under one global maximum: that is refused here, since it would be lost in silence.
//!
//! ```
//! use plimsoll_sim::trace::plan_text::{pairs_of, plan_from_pairs};
//! let read = plan_from_pairs([("delay", "2min"), ("effective", "row")])?;
//! let pairs = pairs_of(&read.plan, read.clock);
//! let pairs: Vec<String> = pairs.iter().map(|(key, value)| format!("{key}={value}")).collect();
//! assert_eq!(pairs, ["window=tumbling(10min)", "delay=2min", "effective=row"]);
//!
//! let errors = plan_from_pairs([("dealy", "2min")]).unwrap_err();
//! assert_eq!(
//!     errors[0].to_string(),
//!     "dealy: expected a key of the plan; the nearest is `delay`, found `dealy`"
//! );
//! # Ok::<(), Vec<plimsoll_sim::trace::plan_text::PlanTextError>>(())
//! ```
//!
//! With a key such as `stages` or `inputs` the plan is a flow (`plan_text/flow.rs` has its grammar);
//! then the keys of the one window have no place.
//!
//! Invariant: `plan_from_pairs(pairs_of(plan))` is the plan, for every plan whose names
//! [can be written](is_name) (in a flow: [like this](is_flow_name)), whose columns exist, and whose
//! column and delay, in a flow, are those of its first watermark.

mod flow;
mod keys;
mod nested;
mod read;
mod values;
mod write;

pub use keys::KEYS;
pub use read::plan_from_pairs;
pub(crate) use values::aggregate_text;
pub use values::{is_flow_name, is_name};
pub use write::{pairs_of, stage_texts};

use plimsoll_engine::plan::Plan;
use plimsoll_engine::profile::Profile;
use plimsoll_engine::time::ProcTime;

/// A plan as its pairs say it, and where the clock starts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanText {
    /// The plan.
    pub plan: Plan,
    /// Start of processing time: `clock`.
    pub clock: ProcTime,
    /// The profile that what is not said comes from.
    pub profile: &'static Profile,
}

/// A pair that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{key}: expected {expected}, found {found}")]
pub struct PlanTextError {
    /// The key as it was given.
    pub key: String,
    /// The value as it was given.
    pub value: String,
    /// What should have stood there.
    pub expected: String,
    /// What stands there: the value, the part of it that is wrong, or the key.
    pub found: String,
}

#[cfg(test)]
pub(crate) mod draw;
#[cfg(test)]
mod tests;
