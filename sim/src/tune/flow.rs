//! What every delay of a plan would lose, where the plan has several inputs or stages.
//!
//! Each watermark of each input is a *line* w_i = c_i - d_i, and the policy makes one W of them. Neither
//! c_i nor what W takes depends on the delays, so one pass says for every row what each d_i would have to
//! be, the others staying as planned: under `min` a row that the other lines alone would keep is never
//! lost; under `max` one that they alone would lose is lost at every delay of this one. And if all d_i
//! are one d, the row needs C - t, C being the smallest (largest) candidate (semantics 2.7, 3.3, M13).
//!
//! Rows are judged one by one, as with `effective=row`, by the first stage that keeps something: fixed
//! windows or sessions. A row of windows counts as lost when it misses all of them. What further stages
//! lose is not looked at: between stages nothing is late (semantics 9).
//!
//! Refused is what would make this untrue: a session that is late by what it was merged with, anything
//! that reads the clock, levels.
//!
//! Invariant: the loss at a delay is the number of rows that a run with this delay and
//! `effective=row` drops, for every delay.

mod judge;
#[cfg(test)]
mod tests;
pub mod text;

use self::judge::Judge;
use super::curve::Curve;
use crate::recording::Row;
use plimsoll_engine::plan::flow::{Filter, Flow, NullTime, Policy};
use plimsoll_engine::plan::{GeneratorPlan, OutputMode, Plan};
use plimsoll_engine::row::{ColumnIx, PartitionId};
use plimsoll_engine::time::{EventTime, Span};
use std::collections::BTreeMap;

/// The smallest saving delay of a row that no delay saves.
const NEVER: i64 = i64::MAX;

/// Takes the rows of a recording, in order of arrival.
#[derive(Debug)]
pub struct FlowTuner {
    policy: Policy,
    per_partition: bool,
    initial: EventTime,
    null: Option<i64>,
    /// Per input, what a row must pass before the watermark sees it.
    before: Vec<Vec<Filter>>,
    /// The columns that hold times.
    times: Vec<usize>,
    judge: Judge,
    lines: Vec<Line>,
    inputs: Vec<InputRows>,
    common: Vec<i64>,
    counts: FlowCounts,
}

/// One watermark of an input.
#[derive(Debug)]
struct Line {
    name: String,
    input: usize,
    column: ColumnIx,
    delay: Span,
    /// The maximum of each partition, where each counts for itself.
    maxima: BTreeMap<PartitionId, EventTime>,
    /// c*.
    candidate: EventTime,
    needs: Vec<i64>,
}

/// What became of the rows of an input.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InputRows {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: u64,
    /// Rows that were judged.
    pub judged: u64,
    /// Rows that are lost under the plan as it is.
    pub lost: u64,
}

/// What became of the rows before anything was judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlowCounts {
    /// Rows of the recording.
    pub rows: u64,
    /// Rows that have been judged; shares are shares of these.
    pub judged: u64,
    /// Rows that are lost under the plan as it is.
    pub lost: u64,
    /// Rows that a filter did not keep.
    pub filtered: u64,
    /// Rows that the stage does not take: without a time or a gap, or in no window.
    pub not_taken: u64,
    /// Rows with a time outside the legal range.
    pub time_out_of_range: u64,
}

/// The answer for every delay.
#[derive(Debug)]
pub struct FlowTuning {
    /// The stage that judges, from 1.
    pub stage: usize,
    /// How the lines become one watermark.
    pub policy: Policy,
    /// What became of the rows.
    pub counts: FlowCounts,
    /// Per input.
    pub inputs: Vec<InputRows>,
    /// The loss if every line has the same delay.
    pub common: Curve,
    /// The loss at each delay of one line, the others as planned.
    pub lines: Vec<LineCurve>,
}

/// The loss at each delay of one line.
#[derive(Debug)]
pub struct LineCurve {
    /// The input, and the column where it has several watermarks.
    pub name: String,
    /// The delay of the plan.
    pub planned: Span,
    /// The loss.
    pub curve: Curve,
}

impl FlowTuner {
    /// Before any row.
    ///
    /// # Errors
    /// Why nothing exact can be said of this plan, and what to do instead.
    pub fn new(plan: &Plan) -> Result<Self, String> {
        let Some(flow) = &plan.flow else { return Err("the plan has no stages".to_owned()) };
        let Some(watermark) = &plan.watermark else {
            return Err("it has no watermark, so nothing is ever late".to_owned());
        };
        if flow.levels.is_some() {
            return Err("its watermark goes through levels and moves at probes, which a recording does not \
                        have; write the rows as a trace and try delays with `plimsoll replay`"
                .to_owned());
        }
        if matches!(watermark.generator, GeneratorPlan::PartitionMin { idle: Some(_) }) {
            return Err(
                "its idle timeout reads the clock; leave `idle` out of the plan, or look at one \
                        input without --plan (`--watermark partition --idle SPAN`)"
                    .to_owned(),
            );
        }
        if watermark.fallback.is_some() || watermark.guard.is_some() {
            return Err(
                "its fallback or guard reads the clock, so the loss is no function of the delay \
                        alone; leave them out of the plan"
                    .to_owned(),
            );
        }
        if plan.output == OutputMode::Complete {
            return Err("under `output=complete` nothing is late".to_owned());
        }
        let judge = Judge::of(plan, flow)?;
        let lines: Vec<Line> =
            flow.inputs.iter().enumerate().flat_map(lines_of(plan, flow)).collect();
        if lines.is_empty() {
            return Err("none of its inputs has a watermark, so nothing is ever late".to_owned());
        }
        let times = plan.schema.columns.iter().enumerate();
        let times = times.filter(|it| it.1.kind == plimsoll_engine::row::ColumnKind::Time);
        Ok(Self {
            policy: flow.policy,
            per_partition: watermark.generator != GeneratorPlan::GlobalMax,
            initial: watermark.initial,
            null: match flow.null_time {
                NullTime::Nowhere => None,
                NullTime::Epoch => Some(0),
            },
            before: flow.inputs.iter().map(|it| it.before.clone()).collect(),
            times: times.map(|it| it.0).collect(),
            judge,
            lines,
            inputs: flow
                .inputs
                .iter()
                .map(|it| InputRows { name: it.name.clone(), ..InputRows::default() })
                .collect(),
            common: Vec::new(),
            counts: FlowCounts::default(),
        })
    }

    /// Takes the next row.
    pub fn observe(&mut self, row: &Row) {
        let Some(input) = self.inputs.get_mut(row.partition.input()) else { return };
        self.counts.rows += 1;
        input.rows += 1;
        let legal = |it: &usize| row.cells[*it].is_none_or(|it| EventTime(it).is_legal());
        if !self.times.iter().all(legal) {
            self.counts.time_out_of_range += 1;
            return;
        }
        let before = &self.before[row.partition.input()];
        if !before.iter().all(|it| it.keeps(row.cells[it.column.0])) {
            self.counts.filtered += 1;
            return;
        }
        self.judge(row);
        for line in self.lines.iter_mut().filter(|it| it.input == row.partition.input()) {
            if let Some(time) = row.cells[line.column.0].or(self.null) {
                line.observe(row.partition, EventTime(time), self.per_partition);
            }
        }
    }

    fn judge(&mut self, row: &Row) {
        if !self.judge.keeps(&row.cells) {
            self.counts.filtered += 1;
            return;
        }
        let Some(judged) = self.judge.of_row(&row.cells) else {
            self.counts.not_taken += 1;
            return;
        };
        let need = |candidate: EventTime| judged.need(candidate);
        let late_at = |w: EventTime| need(w).is_some_and(|it| 0 < it);
        let from_the_start = late_at(self.initial);
        let candidates: Vec<EventTime> = self.lines.iter().map(|it| it.candidate).collect();
        let planned: Vec<EventTime> = self.lines.iter().map(|it| it.candidate - it.delay).collect();
        let all = |values: &[EventTime]| match self.policy {
            Policy::Min => values.iter().min().copied(),
            Policy::Max => values.iter().max().copied(),
        };
        let needed = |candidate: Option<EventTime>| match candidate.and_then(need) {
            _ if from_the_start => Some(NEVER),
            it => it.filter(|it| 0 < *it),
        };
        self.common.extend(needed(all(&candidates)));
        for (at, candidate) in candidates.iter().enumerate() {
            let others: Vec<EventTime> =
                (0..planned.len()).filter(|it| *it != at).map(|it| planned[it]).collect();
            let others_lose = all(&others).map(late_at);
            let needs = match (self.policy, others_lose) {
                (Policy::Min, Some(false)) if !from_the_start => None,
                (Policy::Max, Some(true)) => Some(NEVER),
                _ => needed(Some(*candidate)),
            };
            self.lines[at].needs.extend(needs);
        }
        let lost = from_the_start || all(&planned).is_some_and(late_at);
        let input = &mut self.inputs[row.partition.input()];
        input.judged += 1;
        self.counts.judged += 1;
        input.lost += u64::from(lost);
        self.counts.lost += u64::from(lost);
    }

    /// Rows so far.
    pub const fn rows(&self) -> u64 {
        self.counts.rows
    }

    /// The answer; `None` where no row was judged.
    pub fn finish(self) -> Option<FlowTuning> {
        let judged = self.counts.judged;
        if judged == 0 {
            return None;
        }
        let lines = self.lines.into_iter().map(|it| LineCurve {
            name: it.name,
            planned: it.delay,
            curve: Curve::new(it.needs, judged),
        });
        Some(FlowTuning {
            stage: self.judge.stage() + 1,
            policy: self.policy,
            counts: self.counts,
            inputs: self.inputs,
            common: Curve::new(self.common, judged),
            lines: lines.collect(),
        })
    }
}

/// The lines of an input.
fn lines_of<'a>(
    plan: &'a Plan,
    flow: &'a Flow,
) -> impl Fn((usize, &'a plimsoll_engine::plan::flow::InputPlan)) -> Vec<Line> + 'a {
    move |(input, of)| {
        let line = |mark: &plimsoll_engine::plan::flow::Mark| {
            let column = &plan.schema.column(mark.column).name;
            let name = match (flow.inputs.len(), of.marks.len()) {
                (_, 1) => of.name.clone(),
                (1, _) => column.clone(),
                _ => format!("{}.{column}", of.name),
            };
            Line {
                name,
                input,
                column: mark.column,
                delay: mark.delay,
                maxima: BTreeMap::new(),
                candidate: EventTime::MIN,
                needs: Vec::new(),
            }
        };
        of.marks.iter().map(line).collect()
    }
}

impl Line {
    /// A row shows its time.
    fn observe(&mut self, partition: PartitionId, time: EventTime, per_partition: bool) {
        let candidate = if per_partition {
            let max = self.maxima.entry(partition).or_insert(time);
            *max = time.max(*max);
            self.maxima.values().min().copied().unwrap_or(time)
        } else {
            time
        };
        self.candidate = self.candidate.max(candidate);
    }
}

impl FlowTuning {
    /// The smallest delay of a curve that loses at most this share per 100,000; `None` where no delay does.
    pub fn smallest_delay_for(curve: &Curve, share: u64) -> Option<Span> {
        Some(curve.smallest_delay_for(share)).filter(|it| it.0 != NEVER)
    }

    /// The largest delay that saves a row somewhere.
    pub fn largest(&self) -> Span {
        let curves = self.lines.iter().map(|it| &it.curve).chain([&self.common]);
        Span(curves.filter_map(Curve::largest_finite).max().unwrap_or(0))
    }
}
