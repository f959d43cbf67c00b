//! Invariants: values with names that look at a run after every item.
//!
//! Each is gated by its stated precondition: a configuration that it does not cover *skips* it, and
//! the report says so. It never cries wolf. Names and numbers: semantics section 16.

pub mod oracle;

use crate::system::View;
use crate::trace::{Item, Trace};
use plimsoll_engine::output::Output;
use plimsoll_engine::row::ItemId;

/// What an invariant may look at, after one item.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    /// The whole run as data; only the past may be looked at.
    pub trace: &'a Trace,
    /// The number of the item, from 1.
    pub id: ItemId,
    /// The item.
    pub item: &'a Item,
    /// What came out because of it.
    pub output: &'a Output,
    /// The system after it.
    pub view: View<'a>,
}

/// A broken invariant, as a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The invariant's name, such as `I41 oracle_agrees`.
    pub name: &'static str,
    /// The item at which it showed, from 1.
    pub at: ItemId,
    /// What was expected, what was found, with the values.
    pub evidence: String,
}

/// A check that runs after every item.
pub trait Invariant {
    /// Number and name.
    fn name(&self) -> &'static str;
    /// Looks at what just happened.
    ///
    /// # Errors
    /// The evidence, where the invariant is broken.
    fn observe(&mut self, seen: &Observation<'_>) -> Result<(), String>;
}
