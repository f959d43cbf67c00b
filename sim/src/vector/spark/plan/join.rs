//! Joins of a query as the first stage of a flow.
//!
//! A side whose rows a join never writes alone is *inner*: there Spark filters null keys and conditions
//! on this side before the watermark, and rows without event time behind it, where a range or a window
//! needs one (spark-rules 1 and 5). On the other sides a row that fails such a condition is written
//! with nulls at once.
//!
//! Invariant: a condition is mapped whole or not at all.

use super::super::{COMPARATORS, Comparator, Join, JoinType, Operator, OutputMode};
use super::reads::{self, Read};
use super::stages::{Mapping, Time};
use super::{Unmapped, compare, foreign, known, refusal};
use plimsoll_engine::plan::flow::{
    Chain, Compare, Edge, Expiry, Filter, JoinKind, JoinPlan, Judged, PairFilter, Range, Sides,
    StagePlan,
};
use plimsoll_engine::plan::{LatePolicy, LateRule, WindowSpec};
use plimsoll_engine::row::ColumnIx;
use plimsoll_engine::time::Span;

/// How the columns of each side are called behind a join.
const PREFIXES: [&str; 2] = ["l_", "r_"];

/// What the extra condition of a join asks, taken apart.
#[derive(Default)]
struct Residual {
    /// Of a row of one side alone.
    alone: Vec<(usize, Filter)>,
    /// That columns are equal.
    equal: Vec<(ColumnIx, ColumnIx)>,
    /// That columns are otherwise to one another.
    pairs: Vec<PairFilter>,
    /// The columns that it reads.
    read: Vec<String>,
}

impl Mapping {
    pub(super) fn join(
        &mut self,
        join: &Join,
        read: &Read,
        behind: &[&Operator],
    ) -> Result<(), Unmapped> {
        if self.inputs.len() != 2 || !self.stages.is_empty() {
            return Err(foreign("a join of other than two inputs"));
        }
        let rules = self.profile.join;
        let time = self.columns.find("ts")?.0;
        let key = join.on.as_ref().map(|it| self.columns.find(it)).transpose()?.map(|it| it.0);
        let residual = join.residual.as_deref().map(|it| self.residual(it)).transpose()?;
        let residual = residual.unwrap_or_default();
        let (as_asked, _) = kind(join.kind);
        self.refuse(join, as_asked, &residual);
        let kept = kept(join.kind, reads::needed_time(behind));
        let (mut kind, inner) = kind(kept);
        // A side that keeps its rows for ever writes none of them alone, kept or not.
        let forever = [join.upper.is_none(), join.lower.is_none()];
        let by_key = join.on_time || join.window.is_some();
        if as_asked == JoinKind::Full && !by_key {
            let alone = [kind == JoinKind::Left, kind == JoinKind::Right];
            if (0..2).any(|it| alone[it] && forever[it]) {
                kind = as_asked;
            }
        }
        self.as_asked = Some(as_asked);
        let is_timed = join.lower.is_some() || join.upper.is_some() || join.on_time;
        let marked = [0, 1].map(|side| self.inputs[side].marks.last().map(|it| it.column));
        self.times = self.behind_join(join, kind, marked);
        for (side, marked) in marked.into_iter().enumerate() {
            self.push_down(side, inner, key, join, time);
            let reads = |column: ColumnIx| self.reads(read, side, column, &residual);
            self.inputs[side].judged = match marked {
                Some(it) if it == time && (is_timed || join.window.is_some() || reads(it)) => {
                    Judged::ItsTime
                }
                Some(it) if it != time && reads(it) => Judged::Column(it),
                Some(_) => Judged::Nobody,
                None => Judged::ItsTime,
            };
        }
        if let Some(needed) = reads::needed_time(behind)
            && let Some(side) = PREFIXES.iter().position(|it| needed == format!("{it}ts"))
        {
            super::push(&mut self.inputs[side], known(time));
        }
        let mut only_if = [None, None];
        for (side, filter) in &residual.alone {
            if inner[*side] {
                super::push(&mut self.inputs[*side], *filter);
            } else if only_if[*side].replace(*filter).is_some() {
                return Err(foreign("two conditions on one side that is not inner"));
            }
        }
        // What is compared is there, where rows that fail are not written.
        let equal = residual.equal.iter().map(|it| [it.0, it.1]);
        for columns in equal.chain(residual.pairs.iter().map(|it| [it.left, it.right])) {
            for side in (0..2).filter(|it| inner[*it]) {
                super::push(&mut self.inputs[side], known(columns[side]));
            }
        }
        self.pairs.clone_from(&residual.pairs);
        let sides = if by_key && rules.sides == Sides::Both { Sides::Either } else { rules.sides };
        self.nulls_are_keys = kept == JoinType::FullOuter;
        let equal = residual.equal.iter().copied();
        self.stages.push(StagePlan::Join(JoinPlan {
            kind,
            on: key.into_iter().map(|it| (it, it)).chain(equal).collect(),
            time: [time, time],
            ranges: ranges(join)
                .into_iter()
                .chain(taken_for_bounds(&residual, inner).into_iter().filter(|_| !by_key))
                .collect(),
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
            sides,
            late_policy: LatePolicy::Drop,
        }));
        let both = !matches!(kind, JoinKind::Semi | JoinKind::Anti);
        self.columns = self.columns.joined(both);
        if join.window.is_some() && !join.keep_times {
            // The times beside a window are copies, of which no watermark speaks.
            let columns = PREFIXES.iter().take(if both { 2 } else { 1 });
            for prefix in columns {
                let (at, _) = self.columns.find(&format!("{prefix}ts"))?;
                self.stages.push(StagePlan::Compute(at));
            }
        }
        Ok(())
    }

    /// What of a join Spark does not run.
    fn refuse(&mut self, join: &Join, kind: JoinKind, residual: &Residual) {
        let complete = self.mode == OutputMode::Complete;
        if complete && kind != JoinKind::Inner {
            self.fails.push(refusal::JOIN_OUTPUT_MODE);
        }
        let equal = join.on.is_some() || join.on_time || join.window.is_some();
        if !equal && residual.equal.is_empty() {
            self.fails.push(refusal::JOIN_WITHOUT_EQUALITY);
        }
        if join.keep_times && self.profile.chain == Chain::Previous {
            self.fails.push(refusal::TWO_EVENT_TIMES);
        }
    }

    /// The event times that come out of a join.
    fn behind_join(&self, join: &Join, kind: JoinKind, marked: [Option<ColumnIx>; 2]) -> Vec<Time> {
        let schema = |it: ColumnIx| self.columns.find("ts").is_ok_and(|ts| ts.0 == it);
        let written = if matches!(kind, JoinKind::Semi | JoinKind::Anti) { 1 } else { 2 };
        let sides = self.inputs.iter().zip(marked).zip(PREFIXES).take(written);
        let times = sides.filter_map(|((input, marked), prefix)| {
            let copied = join.window.is_some() && !join.keep_times && schema(marked?);
            let mark = input.marks.last().filter(|_| !copied)?;
            let name = self.columns.name(mark.column)?;
            Some(Time { name: format!("{prefix}{name}"), delay: mark.delay })
        });
        times.collect()
    }

    /// Whether somebody reads a column of a side.
    fn reads(&self, read: &Read, side: usize, column: ColumnIx, residual: &Residual) -> bool {
        let Some(name) = self.columns.name(column) else { return true };
        let name = format!("{}{name}", PREFIXES[side]);
        read.as_ref().is_none_or(|it| it.contains(&name)) || residual.read.contains(&name)
    }

    /// What the optimizer asks of the rows of one side before the join does.
    fn push_down(
        &mut self,
        side: usize,
        inner: [bool; 2],
        key: Option<ColumnIx>,
        join: &Join,
        time: ColumnIx,
    ) {
        let input = &mut self.inputs[side];
        if inner[side] {
            input.before.extend(key.map(known));
        }
        let ranged = join.lower.is_some() || join.upper.is_some() || join.on_time;
        if join.window.is_some() || inner[side] && ranged {
            super::push(input, known(time));
        }
        // What is asked of a column is asked of its equal too, where no row is kept that fails it.
        let equal = |it: ColumnIx| key == Some(it) || join.on_time && it == time;
        if inner[side] {
            let other = &self.inputs[1 - side];
            let asked = other.behind.iter().chain(&other.before).copied();
            let asked = asked.filter(|it| equal(it.column) && *it != known(it.column));
            let asked: Vec<Filter> = asked.collect();
            asked.into_iter().for_each(|it| super::push(&mut self.inputs[side], it));
        }
    }

    /// Conditions with AND between them, as text: `l_v > 1`, `r_v <= 3 AND l_v = r_v`.
    fn residual(&self, text: &str) -> Result<Residual, Unmapped> {
        let mut all = Residual::default();
        let words: Vec<&str> = text.split_whitespace().collect();
        for part in words.split(|it| it.eq_ignore_ascii_case("and")) {
            self.part(part, &mut all).ok_or_else(|| foreign(format!("the condition {text}")))?;
        }
        Ok(all)
    }

    fn part(&self, part: &[&str], all: &mut Residual) -> Option<()> {
        let [one, op, other] = *part else { return None };
        let mut column = |name: &str| {
            let (prefix, bare) = name.split_at_checked(2)?;
            let side = PREFIXES.iter().position(|it| *it == prefix)?;
            let at = self.columns.find(bare).ok()?.0;
            all.read.push(name.to_owned());
            Some((side, at))
        };
        let op = COMPARATORS.iter().find(|it| it.0 == op)?.1;
        match (column(one), column(other)) {
            (Some((side, column)), None) => {
                let filter = Filter { column, compare: compare(op), value: other.parse().ok()? };
                all.alone.push((side, filter));
            }
            (Some((0, left)), Some((1, right))) | (Some((1, right)), Some((0, left)))
                if op == Comparator::Eq =>
            {
                all.equal.push((left, right));
            }
            (Some((0, left)), Some((1, right))) => {
                all.pairs.push(PairFilter { left, compare: compare(op), right });
            }
            (Some((1, right)), Some((0, left))) => {
                all.pairs.push(PairFilter { left, compare: turned(compare(op)), right });
            }
            _ => return None,
        }
        Some(())
    }
}

/// The same comparison with its sides changed.
const fn turned(compare: Compare) -> Compare {
    match compare {
        Compare::Less => Compare::Greater,
        Compare::AtMost => Compare::AtLeast,
        Compare::Greater => Compare::Less,
        Compare::AtLeast => Compare::AtMost,
        it @ (Compare::Equal | Compare::Unequal) => it,
    }
}

/// The conditions on the distance of times. An equal time that is within the others says it all.
fn ranges(join: &Join) -> Vec<Range> {
    let edge = |at: Option<i64>, open| at.map(|at| Edge { at: Span(at), open });
    let asked = Range {
        lower: edge(join.lower, join.lower_open),
        upper: edge(join.upper, join.upper_open),
    };
    let equal = Some(Edge { at: Span::ZERO, open: false });
    let equal = Range { lower: equal, upper: equal };
    let holds = |at: i64, open: bool| if open { at < 0 } else { at <= 0 };
    let within = join.lower.is_none_or(|it| holds(it, join.lower_open))
        && join.upper.is_none_or(|it| holds(it.saturating_neg(), join.upper_open));
    match (join.on_time, asked.lower.is_some() || asked.upper.is_some()) {
        (true, true) if !within => vec![asked, equal],
        (true, _) => vec![equal],
        (false, true) => vec![asked],
        (false, false) => Vec::new(),
    }
}

/// A lower limit on a value of one side alone is taken for one on its time, and a value is so small a time
/// that no watermark passes it: rows of that side stay (StreamingJoinHelper, `getStateValueWatermark`;
/// measured). Only a side that is not inner has its conditions in the join.
fn taken_for_bounds(residual: &Residual, inner: [bool; 2]) -> Vec<Range> {
    let far = Some(Edge { at: Span(Span::LEGAL), open: false });
    let near = Some(Edge { at: Span(-Span::LEGAL), open: false });
    let limits = residual.alone.iter().filter(|(side, filter)| {
        !inner[*side] && matches!(filter.compare, Compare::Greater | Compare::AtLeast)
    });
    let range = |(side, _): &(usize, Filter)| match side {
        0 => Range { lower: None, upper: far },
        _ => Range { lower: near, upper: None },
    };
    limits.map(range).collect()
}

/// What is left of a join where a grouping behind it needs a time to be there: rows of the other side
/// without a partner are not kept.
fn kept(kind: JoinType, needed: Option<&str>) -> JoinType {
    let (left, right) = match needed {
        Some(it) => (it.starts_with(PREFIXES[0]), it.starts_with(PREFIXES[1])),
        None => (false, false),
    };
    match kind {
        JoinType::LeftOuter if right => JoinType::Inner,
        JoinType::RightOuter if left => JoinType::Inner,
        JoinType::FullOuter if left => JoinType::LeftOuter,
        JoinType::FullOuter if right => JoinType::RightOuter,
        it => it,
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
