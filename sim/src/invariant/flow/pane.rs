//! Panes of windows: what is taken back is what was said last (I21); panes come early, on time, late
//! and are numbered on, and what they carry adds up to the rows that the window has (I22).
//!
//! Rows are counted where the windows are the first stateful stage over the input's own columns and
//! count their rows; else only order and numbers are looked at.
//!
//! Invariant: panes of a (window, key) are looked at in the order in which they stand in the output.

use super::super::past::grid::Grid;
use super::super::past::{Past, Scope};
use super::super::words::window;
use super::super::{Invariant, Observation};
use super::past::{FlowRow, Taken, cells};
use super::{FlowScope, appends, followed};
use plimsoll_engine::output::EmissionKind;
use plimsoll_engine::plan::Aggregate;
use plimsoll_engine::plan::flow::{Carry, StagePlan, WindowStage};
use plimsoll_engine::time::EventTime;
use plimsoll_engine::window::Window;
use std::collections::BTreeMap;

/// I21.
pub const BACK: &str = "I21 taken_back_is_what_was_said";
/// I22.
pub const ORDER: &str = "I22 panes_in_order";

type Cells = Vec<Option<i64>>;

/// Start, end and key of a written row.
type Name = (i64, i64, Cells);

fn windows(scope: &Scope) -> Result<(&FlowScope, &WindowStage), &'static str> {
    let flow = followed(scope)?;
    appends(scope)?;
    match flow.flow.stages.last() {
        Some(StagePlan::Window(it)) => Ok((flow, it)),
        _ => Err("windows last"),
    }
}

fn name(cells: &Cells, keys: usize) -> Option<Name> {
    let [Some(start), Some(end), ..] = cells[..] else { return None };
    Some((start, end, cells.get(3..3 + keys)?.to_vec()))
}

fn show(of: &Name) -> String {
    window(Window { start: EventTime(of.0), end: EventTime(of.1) })
}

pub(in super::super) fn back(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    let (_, plan) = windows(scope)?;
    if plan.panes.carry != Carry::Retracting {
        return Err("panes that take back");
    }
    Ok(Box::new(Back { keys: plan.keys.len(), said: BTreeMap::new() }))
}

#[derive(Debug)]
struct Back {
    keys: usize,
    /// What stands, of every (window, key).
    said: BTreeMap<Name, Cells>,
}

impl Invariant for Back {
    fn name(&self) -> &'static str {
        BACK
    }

    fn observe(&mut self, seen: &Observation<'_>, _: &Past) -> Result<(), String> {
        for (at, note) in seen.output.emissions.notes.iter().enumerate() {
            let cells = cells(seen, at);
            let Some(of) = name(&cells, self.keys) else { continue };
            let step = note.step;
            if note.kind == EmissionKind::Retraction {
                match self.said.remove(&of) {
                    Some(said) if said == cells => {}
                    Some(said) => {
                        let it = show(&of);
                        return Err(format!(
                            "step {step} takes {cells:?} of {it} back, but {said:?} stands"
                        ));
                    }
                    None => {
                        return Err(format!(
                            "step {step} takes {} back, of which nothing stands",
                            show(&of)
                        ));
                    }
                }
            } else if let Some(said) = self.said.insert(of.clone(), cells) {
                let it = show(&of);
                return Err(format!("step {step} writes {it} while {said:?} still stands"));
            }
        }
        Ok(())
    }
}

pub(in super::super) fn order(scope: &Scope) -> Result<Box<dyn Invariant>, &'static str> {
    let (flow, plan) = windows(scope)?;
    let first = flow
        .stateful()
        .is_some_and(|(at, _)| at + 1 == flow.flow.stages.len() && flow.has_input_columns(at));
    let count = count_column(plan).filter(|_| first);
    let grid = Grid::new(plan.window).ok_or("windows with a length")?;
    Ok(Box::new(Order {
        plan: plan.clone(),
        grid,
        count,
        groups: BTreeMap::new(),
        admitted: BTreeMap::new(),
    }))
}

/// Where the count of rows stands among the written cells.
fn count_column(plan: &WindowStage) -> Option<usize> {
    let at = plan.aggregates.iter().position(|it| *it == Aggregate::Count)?;
    let wide = |it: &Aggregate| if matches!(it, Aggregate::Avg(_)) { 2 } else { 1 };
    Some(3 + plan.keys.len() + plan.aggregates[..at].iter().map(wide).sum::<usize>())
}

/// What was written of a (window, key).
#[derive(Debug, Default)]
struct Panes {
    count: u32,
    last: Option<EmissionKind>,
    /// Rows in all panes together (discarding), or in the last one.
    rows: i64,
}

#[derive(Debug)]
struct Order {
    plan: WindowStage,
    grid: Grid,
    count: Option<usize>,
    groups: BTreeMap<Name, Panes>,
    admitted: BTreeMap<Name, i64>,
}

const fn rank(kind: EmissionKind) -> Option<u8> {
    match kind {
        EmissionKind::Early => Some(0),
        EmissionKind::OnTime => Some(1),
        EmissionKind::Late => Some(2),
        _ => None,
    }
}

impl Order {
    fn admit(&mut self, cells: &[Option<i64>], lost: u32) {
        let Some(time) = cells[self.plan.time.0].map(EventTime) else { return };
        let of = self.grid.starts(time);
        let key: Cells = self.plan.keys.iter().map(|it| cells[it.0]).collect();
        for n in lost..of.count {
            let start = self.grid.start(of, n);
            *self.admitted.entry((start, self.grid.end(start).0, key.clone())).or_default() += 1;
        }
    }

    /// One pane. `whole` says whether all rows of its step were counted before it.
    fn pane(
        &mut self,
        of: Name,
        kind: EmissionKind,
        pane: u32,
        rows: Option<i64>,
        whole: bool,
    ) -> Result<(), String> {
        let it = show(&of);
        let admitted = self.admitted.get(&of).copied().unwrap_or(0);
        let panes = self.groups.entry(of).or_default();
        let Some(now) = rank(kind) else {
            return Err(format!("{it} was written as {}, which is no pane", kind.word()));
        };
        let before = panes.last.and_then(rank);
        if before.is_some_and(|it| now < it || it == 1 && now == 1) {
            let before = panes.last.map_or("nothing", EmissionKind::word);
            return Err(format!("{it} has a pane {} after one {before}", kind.word()));
        }
        if pane != panes.count {
            let due = panes.count;
            return Err(format!("the panes of {it} are numbered on: expected {due}, found {pane}"));
        }
        panes.count += 1;
        panes.last = Some(kind);
        let Some(rows) = rows else { return Ok(()) };
        match self.plan.panes.carry {
            Carry::Discarding => panes.rows += rows,
            Carry::Accumulating | Carry::Retracting => panes.rows = rows,
        }
        if panes.rows != admitted && whole || admitted < panes.rows {
            let (kind, found) = (kind.word(), panes.rows);
            return Err(format!(
                "with its pane {kind} {it} has {found} rows; {admitted} were admitted into it"
            ));
        }
        Ok(())
    }
}

impl Invariant for Order {
    fn name(&self) -> &'static str {
        ORDER
    }

    fn observe(&mut self, seen: &Observation<'_>, past: &Past) -> Result<(), String> {
        let Some(flow) = &past.flow else { return Ok(()) };
        for (step, rows) in flow.steps_of(seen) {
            let admitted = |it: &FlowRow| match it.taken {
                Taken::Admitted { lost } => Some(lost),
                Taken::Dropped | Taken::Other => None,
            };
            if self.count.is_some() {
                for it in rows {
                    if let Some(lost) = admitted(it) {
                        self.admit(seen.trace.cells(it.row), lost);
                    }
                }
            }
            let whole = !past.scope.per_item || rows.len() <= 1;
            for (at, note) in seen.output.emissions.notes.iter().enumerate() {
                if note.step != step.step || note.kind == EmissionKind::Retraction {
                    continue;
                }
                let cells = cells(seen, at);
                let Some(of) = name(&cells, self.plan.keys.len()) else { continue };
                let rows = self.count.and_then(|it| cells.get(it).copied().flatten());
                self.pane(of, note.kind, note.pane, rows, whole)?;
            }
        }
        Ok(())
    }
}
