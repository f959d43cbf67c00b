//! Operators of a query as stages of a flow.
//!
//! Each stage names columns by where they stand; the names of the vector are followed beside it. A
//! bare event time is judged by the profile's rule for it. The time of a window row is its end less one
//! microsecond to Spark and less one millisecond to us; `end - 1 < w` says the same as Spark's
//! `end <= w`, so that rows of windows are judged by `Event`.
//!
//! Invariant: a stage that is mapped has the columns that Spark's operator has, under the same names.

use super::super::{Agg, Function, Gap, Operator, OutputMode, TimeColumn, Via};
use super::columns::{Columns, WINDOW_TIME};
use super::reads::{self, Read};
use super::{Refusal, Unmapped, foreign, refusal};
use plimsoll_engine::plan::flow::{
    self, Chain, DedupExpiry, DedupPlan, GlobalPlan, InputPlan, JoinKind, PairFilter, PanePlan,
    SessionPlan, StagePlan, WindowStage,
};
use plimsoll_engine::plan::{Aggregate, LatePolicy, LateRule, WindowSpec};
use plimsoll_engine::profile::Profile;
use plimsoll_engine::row::{ColumnIx, ColumnKind, Schema};
use plimsoll_engine::time::Span;

/// A column that carries the event time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Time {
    pub(super) name: String,
    /// The delay of its watermark.
    pub(super) delay: Span,
}

impl Time {
    /// That of an input: the column of its last watermark.
    pub(super) fn of(input: Option<&InputPlan>, schema: &Schema, prefix: &str) -> Option<Self> {
        let mark = input?.marks.last()?;
        let column = schema.columns.get(mark.column.0)?;
        Some(Self { name: format!("{prefix}{}", column.name), delay: mark.delay })
    }
}

/// The event time that a window has from its rows.
fn of_window(rows: Time) -> Time {
    Time { name: "window".to_owned(), ..rows }
}

/// A query half mapped.
pub(super) struct Mapping {
    pub(super) profile: Profile,
    pub(super) mode: OutputMode,
    pub(super) inputs: Vec<InputPlan>,
    pub(super) stages: Vec<StagePlan>,
    /// What the last stage so far hands on.
    pub(super) columns: Columns,
    /// Which of it carries the event time, in the order of the columns.
    pub(super) times: Vec<Time>,
    /// What Spark refuses that a plan of ours does not say.
    pub(super) fails: Vec<Refusal>,
    /// Whether a null key equals another.
    pub(super) nulls_are_keys: bool,
    /// What two rows of a join must be to one another besides.
    pub(super) pairs: Vec<PairFilter>,
    /// The kind of the join as it was asked for: Spark refuses by it what it then does not run.
    pub(super) as_asked: Option<JoinKind>,
}

impl Mapping {
    /// Adds all of it.
    pub(super) fn all(&mut self, operator: &Operator) -> Result<(), Unmapped> {
        let stages = reads::flat(operator);
        let read = reads::reads(&stages);
        for (at, stage) in stages.iter().enumerate() {
            self.operator(stage, &read[at], &stages[at + 1..])?;
        }
        Ok(())
    }

    /// Adds an operator, of whose output this is read by those behind it.
    fn operator(
        &mut self,
        operator: &Operator,
        read: &Read,
        behind: &[&Operator],
    ) -> Result<(), Unmapped> {
        match operator {
            Operator::Window { size, slide, offset, keys, aggs, time } => {
                let (time, timed) = self.time(time)?;
                let window = WindowSpec {
                    size: Span(*size),
                    slide: Span(slide.unwrap_or(*size)),
                    offset: Span(*offset),
                };
                self.window(time, window, keys, aggs)?;
                self.times = timed.into_iter().map(of_window).collect();
                Ok(())
            }
            Operator::Session { gap, keys, aggs } => {
                let timed = self.carries("ts");
                self.session(gap, keys, aggs)?;
                self.times = timed.into_iter().map(of_window).collect();
                Ok(())
            }
            Operator::Key { keys, aggs } => {
                self.global(keys, aggs)?;
                self.times.retain(|it| keys.contains(&it.name));
                Ok(())
            }
            Operator::Dedup { columns, within_watermark } => {
                self.dedup(columns, *within_watermark, read)
            }
            Operator::Join(join) => self.join(join, read, behind),
            Operator::Passthrough => Ok(()),
            Operator::Project { columns } => {
                let (places, left) = self.columns.project(columns)?;
                self.stages.push(StagePlan::Project(places));
                self.columns = left;
                self.times.retain(|it| columns.contains(&it.name));
                Ok(())
            }
            Operator::Sort { .. } => {
                // Everything is there to be sorted, and in which order rows are written means nothing.
                let grouped = self.stages.iter().any(StagePlan::is_grouping);
                let sorts = self.mode == OutputMode::Complete && grouped;
                self.fails.extend((!sorts).then_some(refusal::SORT));
                Ok(())
            }
            Operator::Chain(_) => Err(foreign("a chain in a chain")),
        }
    }

    /// The event time that a column carries.
    fn carries(&self, name: &str) -> Option<Time> {
        self.times.iter().find(|it| it.name == name).cloned()
    }

    /// The event time of an operator that has these columns: the first that carries one. Several are a
    /// mistake where each operator has watermarks of its own.
    fn event_time(&mut self, there: impl Fn(&str) -> bool) -> Option<Time> {
        let mut times = self.times.iter().filter(|it| there(&it.name));
        let first = times.next().cloned();
        if times.next().is_some() && self.profile.chain == Chain::Previous {
            self.fails.push(refusal::TWO_EVENT_TIMES);
        }
        first
    }

    /// The column that windows are cut on, with what happens to it on the way.
    /// And the event time that it carries.
    fn time(&mut self, time: &TimeColumn) -> Result<(ColumnIx, Option<Time>), Unmapped> {
        let (name, told) = match time.via {
            Via::Window | Via::WindowTime => (WINDOW_TIME, "window"),
            Via::Direct | Via::Rename | Via::Computed => {
                let name = time.column.as_deref().unwrap_or("ts");
                (name, name)
            }
        };
        let carried = self.carries(told).filter(|_| time.via != Via::Computed);
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
        Ok((at, carried))
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
        let time = self.event_time(|it| keys.iter().any(|key| key == it));
        let time = time.map(|it| self.place_of(&it)).transpose()?;
        let stage = GlobalPlan { keys: found, aggregates: self.aggregates(aggs)?, time };
        self.stages.push(StagePlan::Global(stage));
        self.grouped(false, keys, aggs)
    }

    /// Where an event time stands, and who is late by it alone.
    fn place_of(&self, time: &Time) -> Result<(ColumnIx, LateRule), Unmapped> {
        match time.name.as_str() {
            "window" => Ok((self.columns.find(WINDOW_TIME)?.0, LateRule::Event)),
            name => Ok((self.columns.find(name)?.0, self.profile.late_bare)),
        }
    }

    fn dedup(&mut self, columns: &[String], within: bool, read: &Read) -> Result<(), Unmapped> {
        let found = self.columns.find_all(columns)?;
        let rewritten = self.mode != OutputMode::Append;
        if within && rewritten && self.stages.iter().any(StagePlan::is_grouping) {
            self.fails.push(refusal::AFTER_REWRITTEN);
        }
        if within && self.times.is_empty() {
            self.fails.push(refusal::NO_TIME_WITHIN);
        }
        let is_read = |it: &str| {
            read.as_ref().is_none_or(|read| read.contains(it))
                || columns.iter().any(|key| key == it)
        };
        let timed = self.event_time(is_read);
        let time = timed.as_ref().map(|it| self.place_of(it)).transpose()?;
        let expiry = match (&timed, time) {
            (Some(it), _) if within && it.name == "window" => {
                self.columns.read_as_a_number(it.delay)
            }
            (Some(it), _) if within => DedupExpiry::After(it.delay),
            (Some(_), Some((at, _))) if found.contains(&at) => DedupExpiry::WithItsTime,
            _ => DedupExpiry::Never,
        };
        self.stages.push(StagePlan::Dedup(DedupPlan {
            columns: found,
            time: time.map(|it| it.0),
            late: time.map_or(self.profile.late_bare, |it| it.1),
            expiry,
            late_policy: LatePolicy::Drop,
        }));
        Ok(())
    }

    fn aggregates(&mut self, aggs: &[Agg]) -> Result<Vec<Aggregate>, Unmapped> {
        let distinct = aggs.iter().any(|it| it.function == Function::CountDistinct);
        self.fails.extend(distinct.then_some(refusal::DISTINCT));
        let aggregate = |agg: &Agg| {
            let Some(column) = &agg.column else { return Ok(Aggregate::Count) };
            if matches!(agg.function, Function::Count | Function::CountDistinct) {
                return self.columns.counted(column).map(Aggregate::CountOf);
            }
            let (column, kind) = self.columns.find(column)?;
            if kind == ColumnKind::Text && matches!(agg.function, Function::Sum | Function::Avg) {
                return Err(foreign(format!("a sum of texts, `{}`", agg.name)));
            }
            Ok(match agg.function {
                Function::Sum => Aggregate::Sum(column),
                Function::Min => Aggregate::Min(column),
                Function::Max => Aggregate::Max(column),
                Function::Avg => Aggregate::Avg(column),
                Function::Count | Function::CountDistinct => Aggregate::CountOf(column),
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
        for key in self.columns.spelled_out(keys) {
            columns.push_as(&key, self.columns.find(&key)?.1);
        }
        for agg in aggs {
            match agg.function {
                Function::Avg => columns.push_mean(&agg.name),
                Function::Min | Function::Max => {
                    let of = agg.column.as_ref().map(|it| self.columns.find(it)).transpose()?;
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
