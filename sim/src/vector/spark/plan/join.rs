//! Joins of a query as the first stage of a flow.
//!
//! A side whose rows a join never writes alone is *inner*: there Spark filters null keys and conditions
//! on this side before the watermark, and rows without event time behind it, where a range or a window
//! needs one (spark-rules 1 and 5). On the other sides a row that fails such a condition is written
//! with nulls at once.
//!
//! Invariant: a condition is mapped whole or not at all.

use super::super::{COMPARATORS, Join, JoinType};
use super::stages::Mapping;
use super::{Unmapped, compare, foreign, known, refusal};
use plimsoll_engine::plan::flow::{Edge, Expiry, Filter, JoinKind, JoinPlan, Range, StagePlan};
use plimsoll_engine::plan::{LatePolicy, LateRule, WindowSpec};
use plimsoll_engine::row::ColumnIx;
use plimsoll_engine::time::Span;

impl Mapping {
    pub(super) fn join(&mut self, join: &Join) -> Result<(), Unmapped> {
        if self.inputs.len() != 2 || !self.stages.is_empty() {
            return Err(foreign("a join of other than two inputs"));
        }
        if join.keep_times {
            self.fails = Some(refusal::TWO_EVENT_TIMES);
        }
        let rules = self.profile.join;
        let time = self.columns.find("ts")?.0;
        let key = join.on.as_ref().map(|it| self.columns.find(it)).transpose()?.map(|it| it.0);
        let mut ranges = Vec::new();
        if join.lower.is_some() || join.upper.is_some() {
            let edge = |at: Option<i64>, open| at.map(|at| Edge { at: Span(at), open });
            ranges.push(Range {
                lower: edge(join.lower, join.lower_open),
                upper: edge(join.upper, join.upper_open),
            });
        }
        if join.on_time {
            let equal = Some(Edge { at: Span::ZERO, open: false });
            ranges.push(Range { lower: equal, upper: equal });
        }
        let (kind, inner) = kind(join.kind);
        let timed = !ranges.is_empty() || join.window.is_some();
        let mut only_if = [0, 1].map(|it| (inner[it] && timed).then(|| known(time)));
        let keys = inner.iter().zip(&mut self.inputs).filter(|it| *it.0);
        keys.for_each(|it| it.1.before.extend(key.map(known)));
        if let Some(text) = &join.residual {
            let (side, filter) = self.residual(text)?;
            if inner[side] {
                self.inputs[side].before.push(filter);
            } else {
                only_if[side] = Some(filter);
            }
        }
        self.stages.push(StagePlan::Join(JoinPlan {
            kind,
            on: key.into_iter().map(|it| (it, it)).collect(),
            time: [time, time],
            ranges,
            window: join.window.map(|it| WindowSpec {
                size: Span(it),
                slide: Span(it),
                offset: Span::ZERO,
            }),
            only_if,
            late: if join.window.is_some() { LateRule::WindowEnd } else { rules.late },
            grace: rules.grace,
            // An equal time is a key, and keys go when they are at the watermark.
            expiry: Expiry { at_bound: rules.expiry.at_bound || join.on_time, ..rules.expiry },
            sides: rules.sides,
            late_policy: LatePolicy::Drop,
        }));
        self.columns = self.columns.joined(!matches!(kind, JoinKind::Semi | JoinKind::Anti));
        Ok(())
    }

    /// A condition on one side, as text: `l_v > 1`.
    fn residual(&self, text: &str) -> Result<(usize, Filter), Unmapped> {
        let read = || {
            let [name, op, value] = text.split_whitespace().collect::<Vec<_>>()[..] else {
                return None;
            };
            let (side, name) = match name.split_once('_')? {
                ("l", name) => (0, name),
                ("r", name) => (1, name),
                _ => return None,
            };
            let column: ColumnIx = self.columns.find(name).ok()?.0;
            let op = COMPARATORS.iter().find(|it| it.0 == op)?.1;
            let value = value.parse().ok()?;
            Some((side, Filter { column, compare: compare(op), value }))
        };
        read().ok_or_else(|| foreign(format!("the condition {text}")))
    }
}

/// The kind, and which sides are inner.
const fn kind(kind: JoinType) -> (JoinKind, [bool; 2]) {
    match kind {
        JoinType::Inner => (JoinKind::Inner, [true, true]),
        JoinType::LeftOuter => (JoinKind::Left, [false, true]),
        JoinType::RightOuter => (JoinKind::Right, [true, false]),
        JoinType::FullOuter => (JoinKind::Full, [false, false]),
        JoinType::LeftSemi => (JoinKind::Semi, [true, true]),
        JoinType::LeftAnti => (JoinKind::Anti, [false, true]),
    }
}
