//! Conservation: every row has exactly one fate, and a figure counts exactly the rows that its window
//! was promised (I14). Where windows slide, each admitted row is in size / slide of them (I12).
//!
//! The promise is in the records: a row without one was counted into all of its windows, a partly
//! late one into its later ones. So a figure can be recomputed from the trace and the records, and
//! a row that is counted twice, or lost without a word, shows. Under sliding windows and rule E a wrong
//! figure is reported as I12.
//!
//! Not compared here: figures of single keys in update mode (I19 does), and figures without a count of
//! rows.
//!
//! Invariant: what is compared with a figure was known when it was written.

use super::past::{Past, Scope, TakenRow};
use super::words::window;
use super::{Invariant, Observation};
use plimsoll_engine::output::{Fate, FiringKind};
use plimsoll_engine::plan::{LateRule, OutputMode};

/// I12.
pub const SLIDING: &str = "I12 counted_in_every_window";
/// I14.
pub const CONSERVATION: &str = "I14 conservation";

fn slides(scope: &Scope) -> bool {
    scope.late == Some(LateRule::Event) && scope.grid.is_some_and(|it| it.slides_evenly())
}

/// The first figure that counts other rows than its window was promised.
fn figures(seen: &Observation<'_>, past: &Past) -> Result<(), String> {
    let whole = past.scope.keys.is_empty();
    for (firing, facts) in seen.output.firings.iter().zip(&past.firings) {
        let Some(rows) = facts.rows else { return Ok(()) };
        let partial = firing.kind == FiringKind::Update && !whole;
        if rows != facts.counted && !partial && !facts.off_grid {
            return Err(format!(
                "{} counts {rows} rows; by the records {} were counted into it ({} more were lost)",
                window(firing.window),
                facts.counted,
                facts.dropped
            ));
        }
    }
    Ok(())
}

pub(super) fn sliding(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    if !slides(scope) {
        return Err("sliding windows whose size is a multiple of their slide, and late rule E");
    }
    Ok(Box::new(Sliding))
}

#[derive(Debug)]
struct Sliding;

impl Invariant for Sliding {
    fn name(&self) -> &'static str {
        SLIDING
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        let per_row = past.scope.grid.map_or(0, |it| it.per_row()) as u64;
        for record in &seen.output.records {
            let Fate::Late(late) = record.fate else { continue };
            let all = u64::from(late.windows_lost) + u64::from(late.windows_kept);
            if all != per_row || 0 < late.windows_kept {
                return Err(format!(
                    "row {} is late: expected {per_row} windows lost and none kept, found {} and {}",
                    record.id.0, late.windows_lost, late.windows_kept
                ));
            }
        }
        figures(seen, past)
    }
}

pub(super) fn conservation(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    Ok(Box::new(Conservation { sliding: slides(scope) }))
}

#[derive(Debug)]
struct Conservation {
    /// Figures are compared elsewhere.
    sliding: bool,
}

impl Invariant for Conservation {
    fn name(&self) -> &'static str {
        CONSERVATION
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        if let Some(id) = past.stray {
            return Err(format!("row {} has a fate that it should not or not again have", id.0));
        }
        for row in &past.rows {
            if let Some(what) = wrong_fate(row, seen, past) {
                return Err(format!("row {} {what}", row.id.0));
            }
        }
        if self.sliding { Ok(()) } else { figures(seen, past) }
    }
}

#[inline]
fn wrong_fate(row: &TakenRow, seen: &Observation<'_>, past: &Past) -> Option<&'static str> {
    let Some(record) = row.record else { return uncounted(row, past) };
    let Fate::Late(late) = seen.output.records[record as usize].fate else { return None };
    if past.scope.mode == OutputMode::Complete {
        return Some("is late in complete mode");
    }
    let windows = late.windows_lost.checked_add(late.windows_kept);
    if late.windows_lost == 0 {
        Some("is late for no window")
    } else if past.scope.grid.is_some() && windows != Some(row.windows) {
        Some("has lost and kept another number of windows than it is in")
    } else {
        None
    }
}

/// Why a row cannot have been counted, if it cannot.
#[inline]
fn uncounted(row: &TakenRow, past: &Past) -> Option<&'static str> {
    if past.was_stopped {
        Some("came after the query had stopped and has no record")
    } else if row.finished {
        Some("came after its partition had finished and has no record")
    } else if !past.scope.has_time() {
        None
    } else if row.time.is_none() {
        Some("has no time and no record")
    } else if row.time.is_some_and(|it| !it.is_legal()) {
        Some("has a time out of range and no record")
    } else if past.scope.grid.is_some() && row.windows == 0 {
        Some("is in no window and has no record")
    } else {
        None
    }
}
