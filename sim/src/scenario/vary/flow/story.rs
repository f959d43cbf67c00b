//! A flow that is being written, stage by stage, and where its columns stand by now.
//!
//! Every story has a time, most have a key and a value. A stage that is added moves them; stateless
//! stages between others drop, rename and turn them round, and leave what is needed in place.
//!
//! Invariant: the columns that a story knows are columns of what its last stage hands on.

use super::super::{Measure, Shape};
use crate::entropy::{Entropy, Stream};
use plimsoll_engine::plan::flow::{
    Compare, Filter, JoinKind, JoinPlan, SessionPlan, StagePlan, WindowStage,
};
use plimsoll_engine::plan::{Aggregate, LatePolicy, OutputMode, WindowSpec};
use plimsoll_engine::row::{ColumnIx, ColumnKind, Schema};
use plimsoll_engine::time::Span;

/// A flow that is being written.
pub(super) struct Story<'e> {
    /// The draws of all stages.
    pub(super) own: Stream<'e>,
    pub(super) entropy: &'e Entropy<'e>,
    of: &'e Measure,
    /// About how long a window is.
    pub(super) slide: i64,
    mode: OutputMode,
    schema: Schema,
    /// Event time.
    pub(super) time: ColumnIx,
    /// Text that groups.
    pub(super) key: Option<ColumnIx>,
    /// A number.
    pub(super) value: Option<ColumnIx>,
    /// How long a row's session goes on.
    pub(super) gap: Option<ColumnIx>,
    /// What is written so far.
    pub(super) stages: Vec<StagePlan>,
}

impl<'e> Story<'e> {
    /// Nothing written yet.
    pub(super) fn new(
        schema: Schema,
        slide: i64,
        mode: OutputMode,
        entropy: &'e Entropy<'_>,
        of: &'e Measure,
    ) -> Self {
        Self {
            own: entropy.field("flow", "stages"),
            entropy,
            of,
            slide,
            mode,
            time: ColumnIx(0),
            key: schema.position("k"),
            value: schema.position("v"),
            gap: schema.position(super::GAP),
            stages: Vec::new(),
            schema,
        }
    }

    /// A part of a slide, in eighths.
    pub(super) fn part(&mut self, eighths: &[i64]) -> Span {
        Span(self.slide * *self.own.choose(eighths) / 8)
    }

    /// Drop or side output.
    pub(super) fn late_policy(&mut self) -> LatePolicy {
        if self.own.chance(400) { LatePolicy::SideOutput } else { LatePolicy::Drop }
    }

    /// Only append mode will do.
    pub(super) const fn appends(&mut self) {
        self.mode = OutputMode::Append;
    }

    /// Whether groups leave once.
    pub(super) fn is_append(&self) -> bool {
        self.mode == OutputMode::Append
    }

    /// The mode that was asked for, or append where the stages do not know it.
    pub(super) fn mode(&self) -> OutputMode {
        let groups = |it: &StagePlan| {
            matches!(it, StagePlan::Window(_) | StagePlan::Session(_) | StagePlan::Global(_))
        };
        let last = self.stages.iter().rfind(|it| !it.is_stateless());
        match self.mode {
            OutputMode::Complete if last.is_some_and(groups) => OutputMode::Complete,
            OutputMode::Update => OutputMode::Update,
            OutputMode::Complete | OutputMode::Append => OutputMode::Append,
        }
    }

    /// Windows of which the world holds as many as it says.
    pub(super) fn grid(&mut self) -> WindowSpec {
        const SHAPES: [(u32, Shape); 4] =
            [(54, Shape::Tumbling), (26, Shape::Sliding), (13, Shape::Uneven), (7, Shape::Holes)];
        let shape = self.own.weighted(&SHAPES);
        super::super::parts::window(shape, self.entropy, self.of)
    }

    /// The key, most of the time.
    pub(super) fn keys(&mut self) -> Vec<ColumnIx> {
        let keyed = self.own.chance(900);
        self.key.filter(|_| keyed).into_iter().collect()
    }

    /// Some aggregates, a count of rows first.
    pub(super) fn aggregates(&mut self) -> Vec<Aggregate> {
        let mut chosen = vec![Aggregate::Count];
        let more = self.own.below(3);
        let Some(of) = self.value else { return chosen };
        let all = [
            Aggregate::Sum(of),
            Aggregate::Max(of),
            Aggregate::Min(of),
            Aggregate::Avg(of),
            Aggregate::CountOf(of),
        ];
        for _ in 0..more {
            let it = *self.own.choose(&all);
            if !chosen.contains(&it) {
                chosen.push(it);
            }
        }
        chosen
    }

    /// Adds a stage.
    pub(super) fn push(&mut self, stage: StagePlan) {
        let next = stage.output(&self.schema);
        match &stage {
            StagePlan::Filter(_)
            | StagePlan::Rename(..)
            | StagePlan::Compute(_)
            | StagePlan::Dedup(_) => {}
            StagePlan::Project(kept) => {
                let of = |it: ColumnIx| kept.iter().position(|kept| *kept == it).map(ColumnIx);
                self.time = of(self.time).expect("the time is always kept");
                self.key = self.key.and_then(of);
                self.value = self.value.and_then(of);
                self.gap = self.gap.and_then(of);
            }
            StagePlan::Window(WindowStage { keys, .. })
            | StagePlan::Session(SessionPlan { keys, .. }) => self.grouped(ColumnIx(2), 3, keys),
            StagePlan::Global(it) => {
                let time = it.keys.iter().position(|it| *it == self.time);
                self.grouped(ColumnIx(time.unwrap_or(0)), 0, &it.keys);
            }
            StagePlan::Count(it) => {
                self.grouped(ColumnIx(next.columns.len() - 1), 0, &it.keys);
            }
            StagePlan::Join(JoinPlan { kind: JoinKind::Right | JoinKind::Full, .. }) => {
                // What is missing on the left has no key there; the value may be null too.
                self.gap = None;
            }
            StagePlan::Join(_) | StagePlan::AsOf(_) => self.gap = None,
        }
        self.schema = next;
        self.stages.push(stage);
    }

    fn grouped(&mut self, time: ColumnIx, before: usize, keys: &[ColumnIx]) {
        let key = keys.iter().position(|it| Some(*it) == self.key);
        self.key = key.map(|it| ColumnIx(before + it));
        self.value = Some(ColumnIx(before + keys.len()));
        (self.time, self.gap) = (time, None);
    }

    /// Now and then a stage without state.
    pub(super) fn aside(&mut self) {
        if !self.own.chance(280) {
            return;
        }
        let what = self.own.below(5);
        let stage = match (what, self.value) {
            (0 | 1, Some(column)) => {
                let compare = *self.own.choose(&[
                    Compare::AtLeast,
                    Compare::Greater,
                    Compare::Unequal,
                    Compare::AtMost,
                ]);
                StagePlan::Filter(Filter { column, compare, value: self.own.range(1, 4) })
            }
            (2, Some(column)) => StagePlan::Compute(column),
            (3, _) => self.renamed(),
            _ => self.projected(),
        };
        self.push(stage);
    }

    fn renamed(&mut self) -> StagePlan {
        let column = if self.own.chance(500) { self.time } else { self.key.unwrap_or(self.time) };
        let free =
            ["at", "who", "at2", "who2"].iter().find(|it| self.schema.position(it).is_none());
        StagePlan::Rename(column, free.map_or_else(|| "at3".to_owned(), |it| (*it).to_owned()))
    }

    /// What is needed in another order, and maybe the rest.
    fn projected(&mut self) -> StagePlan {
        let needed = [Some(self.time), self.key, self.value, self.gap];
        let mut kept: Vec<ColumnIx> = needed.into_iter().flatten().collect();
        if self.own.chance(500) {
            let all = (0..self.schema.columns.len()).map(ColumnIx);
            let rest: Vec<ColumnIx> = all.filter(|it| !kept.contains(it)).collect();
            kept.extend(rest);
        }
        self.own.shuffle(&mut kept);
        StagePlan::Project(kept)
    }

    /// Whether the column is a number that can be compared.
    pub(super) fn number(&self) -> Option<ColumnIx> {
        let kind = |it: &ColumnIx| self.schema.columns[it.0].kind == ColumnKind::Integer;
        self.value.filter(kind)
    }
}
