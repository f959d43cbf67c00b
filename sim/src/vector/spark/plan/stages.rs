//! Operators of a query as stages of a flow.
//!
//! Each stage names columns by where they stand; the names of the vector are followed beside it. A
//! bare event time is judged by the profile's rule for it. The time of a window row is its end less one
//! microsecond to Spark and less one millisecond to us; `end - 1 < w` says the same as Spark's
//! `end <= w`, so that rows of windows are judged by `Event`.
//!
//! Invariant: a stage that is mapped has the columns that Spark's operator has, under the same names.

use super::super::{Agg, Function, Gap, Operator, TimeColumn, Via};
use super::columns::{Columns, WINDOW_TIME};
use super::{Refusal, Unmapped, foreign, refusal};
use plimsoll_engine::plan::flow::{
    self, DedupExpiry, DedupPlan, GlobalPlan, InputPlan, PanePlan, SessionPlan, StagePlan,
    WindowStage,
};
use plimsoll_engine::plan::{Aggregate, LatePolicy, LateRule, WindowSpec};
use plimsoll_engine::profile::Profile;
use plimsoll_engine::row::{ColumnIx, ColumnKind};
use plimsoll_engine::time::Span;

/// A query half mapped.
pub(super) struct Mapping {
    pub(super) profile: Profile,
    pub(super) inputs: Vec<InputPlan>,
    pub(super) stages: Vec<StagePlan>,
    /// What the last stage so far hands on.
    pub(super) columns: Columns,
    /// What fails once the query runs.
    pub(super) fails: Option<Refusal>,
}

impl Mapping {
    /// Adds an operator.
    pub(super) fn operator(&mut self, operator: &Operator) -> Result<(), Unmapped> {
        match operator {
            Operator::Window { size, slide, offset, keys, aggs, time } => {
                let time = self.time(time)?;
                let window = WindowSpec {
                    size: Span(*size),
                    slide: Span(slide.unwrap_or(*size)),
                    offset: Span(*offset),
                };
                self.window(time, window, keys, aggs)
            }
            Operator::Session { gap, keys, aggs } => self.session(gap, keys, aggs),
            Operator::Key { keys, aggs } => self.global(keys, aggs),
            Operator::Dedup { columns, within_watermark } => self.dedup(columns, *within_watermark),
            Operator::Join(join) => self.join(join),
            Operator::Passthrough => Ok(()),
            Operator::Project { columns } => {
                let (places, left) = self.columns.project(columns)?;
                self.stages.push(StagePlan::Project(places));
                self.columns = left;
                Ok(())
            }
            Operator::Sort { .. } => Err(Unmapped::Refused(refusal::SORT)),
            Operator::Chain(stages) => stages.iter().try_for_each(|it| self.operator(it)),
        }
    }

    /// The column that windows are cut on, with what happens to it on the way.
    fn time(&mut self, time: &TimeColumn) -> Result<ColumnIx, Unmapped> {
        let name = match time.via {
            Via::Window | Via::WindowTime => WINDOW_TIME,
            Via::Direct | Via::Rename | Via::Computed => time.column.as_deref().unwrap_or("ts"),
        };
        let (at, _) = self.columns.find(name)?;
        match time.via {
            Via::Rename => {
                let new = format!("{name}_renamed");
                self.columns.rename(name, &new);
                self.stages.push(StagePlan::Rename(at, new));
            }
            Via::Computed => self.stages.push(StagePlan::Compute(at)),
            Via::Direct | Via::Window | Via::WindowTime => {}
        }
        Ok(at)
    }

    fn window(
        &mut self,
        time: ColumnIx,
        window: WindowSpec,
        keys: &[String],
        aggs: &[Agg],
    ) -> Result<(), Unmapped> {
        let stage = WindowStage {
            time,
            window,
            keys: self.columns.find_all(keys)?,
            aggregates: self.aggregates(aggs)?,
            late: self.profile.late,
            late_policy: LatePolicy::Drop,
            lateness: Span::ZERO,
            panes: PanePlan::TOTALS,
            hole: self.profile.hole,
        };
        self.stages.push(StagePlan::Window(stage));
        self.grouped(true, keys, aggs)
    }

    fn session(&mut self, gap: &Gap, keys: &[String], aggs: &[Agg]) -> Result<(), Unmapped> {
        let stage = SessionPlan {
            time: self.columns.find("ts")?.0,
            gap: match gap {
                Gap::Fixed(it) => flow::Gap::Fixed(Span(*it)),
                Gap::Column(it) => flow::Gap::Column(self.columns.find(it)?.0),
            },
            keys: self.columns.find_all(keys)?,
            aggregates: self.aggregates(aggs)?,
            late: self.profile.session_late,
            late_policy: LatePolicy::Drop,
            touching: self.profile.touching,
            max_span: None,
            lateness: Span::ZERO,
        };
        self.stages.push(StagePlan::Session(stage));
        self.grouped(true, keys, aggs)
    }

    fn global(&mut self, keys: &[String], aggs: &[Agg]) -> Result<(), Unmapped> {
        let found = self.columns.find_all(keys)?;
        let time = self.time_among(keys)?;
        let stage = GlobalPlan { keys: found, aggregates: self.aggregates(aggs)?, time };
        self.stages.push(StagePlan::Global(stage));
        self.grouped(false, keys, aggs)
    }

    /// The first of these columns that is a time, and who is late there.
    fn time_among(&self, names: &[String]) -> Result<Option<(ColumnIx, LateRule)>, Unmapped> {
        for name in names {
            let (at, kind) = self.columns.find(name)?;
            if kind == ColumnKind::Time {
                return Ok(Some((at, self.bare(name))));
            }
        }
        Ok(None)
    }

    /// Who is late by a column alone.
    fn bare(&self, name: &str) -> LateRule {
        if name == WINDOW_TIME { LateRule::Event } else { self.profile.late_bare }
    }

    fn dedup(&mut self, columns: &[String], within: bool) -> Result<(), Unmapped> {
        let found = self.columns.find_all(columns)?;
        // The event time of rows is that of their windows, or their own.
        let name = if self.columns.find(WINDOW_TIME).is_ok() { WINDOW_TIME } else { "ts" };
        let marked = self.inputs.first().and_then(|it| it.marks.last().copied());
        let time = self.columns.find(name).ok().filter(|_| marked.is_some()).map(|it| it.0);
        let expiry = if within {
            DedupExpiry::After(marked.map_or(Span::ZERO, |it| it.delay))
        } else if time.is_some_and(|it| found.contains(&it)) {
            DedupExpiry::WithItsTime
        } else {
            DedupExpiry::Never
        };
        self.stages.push(StagePlan::Dedup(DedupPlan {
            columns: found,
            time,
            late: self.bare(name),
            expiry,
            late_policy: LatePolicy::Drop,
        }));
        Ok(())
    }

    fn aggregates(&self, aggs: &[Agg]) -> Result<Vec<Aggregate>, Unmapped> {
        let aggregate = |agg: &Agg| {
            let Some(column) = &agg.column else { return Ok(Aggregate::Count) };
            let column = self.columns.find(column)?.0;
            Ok(match agg.function {
                Function::Count => Aggregate::CountOf(column),
                Function::Sum => Aggregate::Sum(column),
                Function::Min => Aggregate::Min(column),
                Function::Max => Aggregate::Max(column),
                Function::Avg => Aggregate::Avg(column),
                Function::CountDistinct => return Err(Unmapped::Refused(refusal::DISTINCT)),
            })
        };
        aggs.iter().map(aggregate).collect()
    }

    /// What an aggregation hands on: window, keys, aggregates.
    fn grouped(&mut self, window: bool, keys: &[String], aggs: &[Agg]) -> Result<(), Unmapped> {
        let mut columns = Columns::none();
        if window {
            columns.push("window_start", ColumnKind::Time);
            columns.push("window_end", ColumnKind::Time);
            columns.push_hidden(WINDOW_TIME, ColumnKind::Time);
        }
        for key in keys {
            columns.push(key, self.columns.find(key)?.1);
        }
        for agg in aggs {
            let of = agg.column.as_ref().map(|it| self.columns.find(it)).transpose()?;
            match agg.function {
                Function::Avg => columns.push_mean(&agg.name),
                Function::Min | Function::Max => {
                    columns.push(&agg.name, of.map_or(ColumnKind::Integer, |it| it.1));
                }
                Function::Count | Function::Sum | Function::CountDistinct => {
                    columns.push(&agg.name, ColumnKind::Integer);
                }
            }
        }
        self.columns = columns;
        if self.columns.find("").is_ok() {
            return Err(foreign("a column without a name"));
        }
        Ok(())
    }
}
