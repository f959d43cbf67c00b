//! Who took a row for late, and what it compared.
//!
//! In a plain plan that is the one window; in a flow the first stage that keeps something, whose columns
//! are followed back to those of the input.
//!
//! Invariant: what is said of a comparison is what the rule compares (semantics 3 and 5).

use super::figure;
use crate::trace::Trace;
use crate::trace::time_text::{SpanText, TimeText};
use plimsoll_engine::late::LateRow;
use plimsoll_engine::plan::flow::{Flow, Gap, SessionLate, StagePlan};
use plimsoll_engine::plan::{LateRule, WindowSpec};
use plimsoll_engine::row::ColumnIx;
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_engine::window::Window;
use plimsoll_engine::window::assign::Assigner;

/// What judged a row.
#[derive(Default)]
pub(super) struct Judge {
    /// The columns of the input by which it tells rows apart.
    pub(super) keys: Vec<ColumnIx>,
    /// Its windows.
    grid: Option<Assigner>,
    /// How far behind a row may be all the same, and what that is called.
    allowed: Option<(Span, &'static str)>,
    /// The rule and the gap of its sessions.
    session: Option<(SessionLate, Gap)>,
}

impl Judge {
    /// Whoever took this row for late.
    pub(super) fn of(trace: &Trace, late: &LateRow) -> Self {
        match &trace.plan.flow {
            Some(flow) => {
                let side = if flow.joins() { late.partition.input().min(1) } else { 0 };
                Self::of_flow(flow, trace.plan.schema.columns.len(), side)
            }
            None => match &trace.plan.operator {
                Some(it) => {
                    Self { keys: it.keys.clone(), grid: grid(it.window), ..Self::default() }
                }
                None => Self::default(),
            },
        }
    }

    /// A stage of a flow, that is handed this many columns.
    pub(super) fn at(trace: &Trace, stage: usize, side: usize, columns: usize) -> Self {
        let columns: Vec<usize> = (0..columns).collect();
        let stage = trace.plan.flow.as_ref().and_then(|it| it.stages.get(stage));
        stage.map_or_else(Self::default, |it| Self::of_stage(it, &columns, side))
    }

    fn of_flow(flow: &Flow, columns: usize, side: usize) -> Self {
        // For each column here the input's.
        let mut columns: Vec<usize> = (0..columns).collect();
        for stage in &flow.stages {
            match stage {
                StagePlan::Project(kept) => {
                    columns = kept.iter().filter_map(|it| columns.get(it.0).copied()).collect();
                }
                it if it.is_stateless() => {}
                stage => return Self::of_stage(stage, &columns, side),
            }
        }
        Self::default()
    }

    fn of_stage(stage: &StagePlan, columns: &[usize], side: usize) -> Self {
        let lateness = |it: Span| (it != Span::ZERO).then_some((it, "lateness"));
        let one_of = |on: &[(ColumnIx, ColumnIx)]| {
            on.iter().map(|it| if side == 0 { it.0 } else { it.1 }).collect()
        };
        let mut judge = Self::default();
        match stage {
            StagePlan::Window(it) => {
                judge.keys.clone_from(&it.keys);
                judge.grid = grid(it.window);
                judge.allowed = lateness(it.lateness);
            }
            StagePlan::Session(it) => {
                judge.keys.clone_from(&it.keys);
                let gap = match it.gap {
                    Gap::Column(it) => columns.get(it.0).map(|it| Gap::Column(ColumnIx(*it))),
                    fixed => Some(fixed),
                };
                judge.session = gap.map(|gap| (it.late, gap));
                judge.allowed = lateness(it.lateness);
            }
            StagePlan::Global(it) => judge.keys.clone_from(&it.keys),
            StagePlan::Count(it) => judge.keys.clone_from(&it.keys),
            StagePlan::Dedup(it) => judge.keys.clone_from(&it.columns),
            StagePlan::Join(it) => {
                judge.keys = one_of(&it.on);
                judge.grid = it.window.and_then(grid);
                let of_times = matches!(it.late, LateRule::Event | LateRule::EventInclusive);
                let grace = of_times && it.grace != Span::ZERO;
                judge.allowed = grace.then_some((it.grace, "grace"));
            }
            StagePlan::AsOf(it) => judge.keys = one_of(&it.on),
            StagePlan::Filter(_)
            | StagePlan::Project(_)
            | StagePlan::Rename(..)
            | StagePlan::Compute(_) => {}
        }
        // The time stands in the line anyway.
        let time = stage.times()[side];
        judge.keys.retain(|it| Some(*it) != time);
        judge.keys =
            judge.keys.iter().filter_map(|it| columns.get(it.0)).map(|it| ColumnIx(*it)).collect();
        judge
    }

    /// What the rule compared with the watermark.
    pub(super) fn compared(&self, late: &LateRow, cells: Option<&[Option<i64>]>) -> String {
        let w = late.in_force.watermark;
        let at = TimeText(w);
        let allowed =
            self.allowed.map(|(span, what)| (span, format!("{what} of {}", SpanText(span))));
        match (late.rule, &self.grid, allowed) {
            (LateRule::Event, _, None) => format!(" behind {at}"),
            (LateRule::Event, _, Some((_, what))) => {
                format!(" behind {at} by more than the {what}")
            }
            (LateRule::EventInclusive, _, None) => format!(" at or behind {at}"),
            (LateRule::EventInclusive, _, Some((_, what))) => {
                format!(" behind {at} by the {what} or more")
            }
            (LateRule::Frame, Some(grid), allowed) if w.is_finite() => {
                let (span, less) = match allowed {
                    Some((span, what)) => (span, format!(" less the {what}")),
                    None => (Span::ZERO, String::new()),
                };
                let (row, slide) =
                    (TimeText(grid.frame(late.time)), TimeText(grid.frame(w - span)));
                format!(": its slide of {row} is before {slide}, the slide of {at}{less}")
            }
            (LateRule::WindowEnd, Some(grid), allowed) => {
                let (lost, kept) = (late.windows_lost, late.windows_kept);
                let last = grid.windows(late.time).nth((lost as usize).saturating_sub(1));
                let last = last.map_or_else(|| "it".to_owned(), figure::window);
                let and = allowed.map_or(String::new(), |it| format!(" with its {}", it.1));
                if (lost, kept) == (1, 0) {
                    format!(": window {last}{and} ended at or before {at}")
                } else {
                    let all = lost.saturating_add(kept);
                    format!(
                        ": missed {lost} of {all} windows, up to {last} which{and} ended at or before {at}"
                    )
                }
            }
            (LateRule::WindowEnd, None, allowed) if self.session.is_some() => {
                let and = allowed.map_or(String::new(), |it| format!(" with its {}", it.1));
                format!(": {}{and} ended at or before {at}", self.session(late.time, cells))
            }
            (LateRule::Frame | LateRule::WindowEnd, ..) => format!(" behind {at}"),
        }
    }

    /// The session that a row would have been in.
    fn session(&self, time: EventTime, cells: Option<&[Option<i64>]>) -> String {
        let Some((SessionLate::Proto, gap)) = self.session else { return "its session".to_owned() };
        let gap = match gap {
            Gap::Fixed(it) => Some(it),
            Gap::Column(it) => cells.and_then(|cells| *cells.get(it.0)?).map(Span),
        };
        let own = |gap| figure::window(Window { start: time, end: time + gap });
        gap.map_or_else(
            || "its own session".to_owned(),
            |it| format!("its own session {}", own(it)),
        )
    }
}

fn grid(window: WindowSpec) -> Option<Assigner> {
    (Span::ZERO < window.size && Span::ZERO < window.slide).then(|| Assigner::new(window))
}
