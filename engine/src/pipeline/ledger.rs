//! The ledger of lost rows: for every open window how many, and which groups missed one.
//!
//! A dropped row leaves no trace in the figure; here it does. The count of a window is kept from the
//! first drop that names it until the window closes, and is written on the figure. A row that is
//! dropped for a window that has closed already refutes a published figure: its record says so.
//!
//! Invariant: the number on a figure equals the number of late records that name its window (I33).

use crate::late::{InForce, LateRow};
use crate::output::{Completeness, FigureNote, FiringReason};
use crate::time::EventTime;
use crate::window::Window;
use crate::window::assign::Assigner;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Rows lost per open window, and groups that missed one in this step.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Ledger {
    /// By window end and start, so that closed windows are a prefix.
    dropped: BTreeMap<(EventTime, EventTime), u64>,
    closed: Option<EventTime>,
    #[serde(skip)]
    groups: BTreeSet<(EventTime, Vec<Option<i64>>)>,
}

impl Ledger {
    /// Forgets which groups missed a row in the step before.
    pub fn begin_step(&mut self) {
        if !self.groups.is_empty() {
            self.groups.clear();
        }
    }

    /// Takes down a late row.
    pub fn drop_row(
        &mut self,
        of: &Assigner,
        late: &LateRow,
        key: impl Iterator<Item = Option<i64>>,
    ) {
        let key: Vec<_> = key.collect();
        for window in of.windows(late.time).take(late.windows_lost as usize) {
            self.groups.insert((window.start, key.clone()));
            if self.closed.is_none_or(|it| it < window.end) {
                *self.dropped.entry((window.end, window.start)).or_default() += 1;
            }
        }
    }

    /// Windows up to this watermark have closed; their counts are on their figures.
    pub fn forget(&mut self, watermark: EventTime) {
        self.closed = self.closed.max(Some(watermark));
        while let Some(first) = self.dropped.first_entry()
            && first.key().0 <= watermark
        {
            first.remove();
        }
    }

    /// A restart lost what has closed windows: they may be born again, without losses.
    pub fn nothing_is_closed(&mut self) {
        self.closed = None;
    }

    /// The note on a figure that is written now.
    pub fn note(
        &self,
        window: Window,
        reason: FiringReason,
        in_force: &InForce,
        idle_excluded: bool,
    ) -> FigureNote {
        let rows_dropped = self.dropped.get(&(window.end, window.start)).copied().unwrap_or(0);
        let whole = rows_dropped == 0 && !idle_excluded;
        let known = reason == FiringReason::EndOfInput && whole;
        FigureNote {
            reason,
            watermark: in_force.watermark,
            candidate: in_force.candidate,
            rows_dropped,
            idle_excluded,
            completeness: if known { Completeness::Known } else { Completeness::Guessed },
        }
    }

    /// How many (window, key) groups missed a row in this step.
    pub fn groups_dropped(&self) -> u64 {
        self.groups.len() as u64
    }
}
