//! What the first stage that keeps something takes for late.
//!
//! Invariant: a row is late at a watermark w iff it needs a positive delay at the candidate w.

use crate::tune::curve;
use plimsoll_engine::plan::flow::{Filter, Flow, Gap, SessionLate, StagePlan};
use plimsoll_engine::plan::{LateRule, Plan};
use plimsoll_engine::row::ColumnIx;
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_engine::window::assign::Assigner;

/// The stage that judges.
#[derive(Debug)]
pub(super) struct Judge {
    stage: usize,
    /// What stands before it, on columns of the input.
    filters: Vec<Filter>,
    /// The input's column of its time.
    time: usize,
    rule: Rule,
    lateness: Span,
}

#[derive(Debug)]
enum Rule {
    Window(LateRule, Assigner),
    /// Late by its own time, or by the end of its own stretch.
    Session(SessionLate, OwnGap),
}

#[derive(Clone, Copy, Debug)]
enum OwnGap {
    Fixed(Span),
    /// The input's column.
    Column(usize),
}

/// A row that is judged.
pub(super) struct Judged<'a> {
    judge: &'a Judge,
    time: EventTime,
    gap: Span,
}

impl Judge {
    /// The first stage of a plan that keeps something.
    ///
    /// # Errors
    /// Why it cannot be looked at.
    pub(super) fn of(plan: &Plan, flow: &Flow) -> Result<Self, String> {
        // For each column here the input's.
        let mut columns: Vec<usize> = (0..plan.schema.columns.len()).collect();
        let mut filters = Vec::new();
        for (at, stage) in flow.stages.iter().enumerate() {
            match stage {
                StagePlan::Filter(it) => {
                    filters.push(Filter { column: ColumnIx(columns[it.column.0]), ..*it });
                }
                StagePlan::Project(kept) => {
                    columns = kept.iter().map(|it| columns[it.0]).collect();
                }
                it if it.is_stateless() => {}
                stage => {
                    if matches!(stage, StagePlan::Window(_) | StagePlan::Session(_))
                        && !flow.links(&plan.schema)[at][0]
                    {
                        return Err(format!(
                            "the watermark says nothing of the time by which stage {} is cut, so nothing \
                             is late there",
                            at + 1
                        ));
                    }
                    return Self::of_stage(at, stage, &columns, filters);
                }
            }
        }
        Err("none of its stages keeps anything, so nothing is late".to_owned())
    }

    fn of_stage(
        at: usize,
        stage: &StagePlan,
        columns: &[usize],
        filters: Vec<Filter>,
    ) -> Result<Self, String> {
        let number = at + 1;
        let (time, rule, lateness) = match stage {
            StagePlan::Window(it) => {
                (it.time, Rule::Window(it.late, Assigner::new(it.window)), it.lateness)
            }
            StagePlan::Session(it) if it.late == SessionLate::Merged => {
                return Err(format!(
                    "stage {number} judges a row by the session that it would become part of \
                     (`late=merged`), and which session that is depends on the delay; try delays with \
                     `plimsoll run`"
                ));
            }
            StagePlan::Session(it) => {
                let gap = match it.gap {
                    Gap::Fixed(gap) => OwnGap::Fixed(gap),
                    Gap::Column(column) => OwnGap::Column(columns[column.0]),
                };
                (it.time, Rule::Session(it.late, gap), it.lateness)
            }
            StagePlan::Join(_) | StagePlan::AsOf(_) => {
                return Err(format!(
                    "stage {number} is a join, where a delay also decides how long rows wait for a \
                     partner; only windows and sessions are looked at, so try delays with `plimsoll run`"
                ));
            }
            StagePlan::Dedup(_) => {
                return Err(format!(
                    "stage {number} drops duplicates, and which row is the first depends on the delay; \
                     only windows and sessions are looked at, so try delays with `plimsoll run`"
                ));
            }
            _ => {
                return Err(format!(
                    "stage {number} has neither windows of time nor sessions; only those are looked at"
                ));
            }
        };
        Ok(Self { stage: at, filters, time: columns[time.0], rule, lateness })
    }

    /// Its position in the flow.
    pub(super) const fn stage(&self) -> usize {
        self.stage
    }

    /// Whether the stages before it hand a row on.
    pub(super) fn keeps(&self, cells: &[Option<i64>]) -> bool {
        self.filters.iter().all(|it| it.keeps(cells[it.column.0]))
    }

    /// A row, where the stage takes it at all.
    pub(super) fn of_row(&self, cells: &[Option<i64>]) -> Option<Judged<'_>> {
        let time = EventTime(cells[self.time]?);
        let gap = match &self.rule {
            Rule::Window(_, grid) => (grid.window_count(time) != 0).then_some(Span::ZERO)?,
            Rule::Session(_, OwnGap::Fixed(gap)) => *gap,
            Rule::Session(_, OwnGap::Column(at)) => {
                cells[*at].map(Span).filter(|it| Span::ZERO < *it)?
            }
        };
        Some(Judged { judge: self, time, gap })
    }
}

impl Judged<'_> {
    /// The smallest delay that keeps the row at this candidate; `None` where nothing can lose it.
    pub(super) fn need(&self, candidate: EventTime) -> Option<i64> {
        if candidate == EventTime::MIN {
            return None;
        }
        let need = match &self.judge.rule {
            Rule::Window(rule, grid) => curve::need(*rule, grid, candidate, self.time)?,
            Rule::Session(SessionLate::Event, _) => candidate.since(self.time).0,
            Rule::Session(SessionLate::Proto | SessionLate::Merged, _) => {
                curve::window_need(candidate, self.time + self.gap)
            }
        };
        Some(need.saturating_sub(self.judge.lateness.0))
    }
}
