//! One pass: rows go through the stages in order.
//!
//! Each stage is called once with its bounds, and what it wrote is what the next one reads. The first
//! stage that keeps state speaks of rows, so its verdicts are their fates; what stands behind it works
//! for what was written.
//!
//! Invariant: when a pass is over no row waits, and what removed in it is remembered.

use super::Flow;
use super::bounds::Lines;
use super::judging::Judging;
use super::watching::watched;
use crate::late::InForce;
use crate::operator::stage::{Handed, Pass, Tally};
use crate::output::{EmissionKind, EmissionNote, Emissions, Output, Remark, StageRecord, StepKind};
use crate::plan::OutputMode;
use crate::plan::flow::Says;
use crate::row::{ItemId, RowBatch};
use crate::time::EventTime;

/// The one row of a pass, where each has its own.
#[derive(Clone, Copy)]
pub(super) struct One<'a> {
    pub(super) rows: &'a RowBatch,
    pub(super) row: usize,
    pub(super) side: usize,
}

/// What reaches a stage of a watermark.
struct Reaching {
    /// What judges.
    late: Lines,
    /// What judges behind the first stage that keeps state.
    chained: Lines,
    /// What removes.
    evict: Lines,
}

impl Flow {
    /// One pass over all stages that removes with these.
    pub(super) fn pass_removing(
        &mut self,
        late: [InForce; 2],
        evict: [InForce; 2],
        cause: ItemId,
        triggered: bool,
        one: Option<One<'_>>,
        out: &mut Output,
    ) {
        self.pass_with(late, evict, cause, triggered, one, out);
        self.bounds.removed(evict.map(|it| it.watermark));
    }

    /// One pass over all stages.
    pub(super) fn pass_with(
        &mut self,
        late: [InForce; 2],
        evict: [InForce; 2],
        cause: ItemId,
        triggered: bool,
        one: Option<One<'_>>,
        out: &mut Output,
    ) {
        self.passed = true;
        self.record.evict = evict[0].watermark;
        let step = self.record.step;
        let removing = evict.map(|it| it.watermark);
        let judging = late.map(|it| it.watermark);
        let chained = self.bounds.chained(judging);
        let mut reaching = Reaching { late: judging, chained, evict: removing };
        let mut stateful_seen = false;
        let mut given = [Some(Handed::all(&self.waiting[0])), None];
        if self.joins {
            given[1] = Some(Handed::all(&self.waiting[1]));
        }
        if let Some(One { rows, row, side }) = one {
            given[side] = Some(Handed { batch: rows, from: row, to: row + 1 });
        }
        let last = self.stages.len().wrapping_sub(1);
        for at in 0..self.stages.len() {
            let (judged_by, removed_by) = self.bounds_of(at, &reaching);
            let (done, rest) = self.outputs.split_at_mut(at);
            let sides = match done.last() {
                Some(before) => [Some(Handed::all(&before.rows)), None],
                None => given,
            };
            let output = &mut rest[0];
            output.begin(at == last);
            let before = output.rows.len();
            let pass = Pass {
                step,
                sides,
                late: judged_by,
                evict: removed_by,
                mode: self.mode,
                triggered,
                cause,
            };
            self.stages[at].step(&pass, output);
            note(&mut self.stage_records[at], &pass, output.rows.len() - before);
            if let Some(watch) = out.watch.as_mut().filter(|it| it.stage == at) {
                watch.passes.push(watched(&pass, late, evict, output, before));
            }
            let remark = |(id, kind): &(_, _)| Remark { step, stage: at, id: *id, kind: *kind };
            out.remarks.extend(output.remarks.iter().map(remark));
            let plan = &self.plan.stages[at];
            if !stateful_seen {
                if !output.judged.is_empty() || plan.is_stateless() {
                    let own = if at == 0 { Some(&self.own) } else { None };
                    let some_do_not_advance = self.some_do_not_advance;
                    let judging = Judging { plan, step, late, own, some_do_not_advance };
                    let written = &output.rows.ids[before..];
                    judging.all(sides, output, written, &mut self.record, out);
                }
                if !plan.is_stateless() {
                    // Whatever is behind the first one works for what it wrote, not for rows.
                    reaching.late = reaching.chained;
                    stateful_seen = true;
                }
            }
            if at != last {
                let (stage, removes) = (&self.stages[at], self.says[at].removes);
                let Reaching { late, chained, evict } = reaching;
                reaching = Reaching {
                    late: stage.passes(late, removes),
                    chained: stage.passes(chained, removes),
                    evict: stage.passes(evict, removes),
                };
            }
        }
        if self.stages.is_empty() {
            emit_all(given[0], self.record.step, &mut out.emissions);
        }
        self.some_do_not_advance = false;
        for (rows, own) in self.waiting.iter_mut().zip(&mut self.own) {
            if !own.is_empty() {
                rows.clear();
                own.clear();
            }
        }
    }

    /// What judges and what removes at a stage, per side.
    fn bounds_of(&self, at: usize, reaching: &Reaching) -> (Lines, Lines) {
        let nothing = [EventTime::MIN; 2];
        if self.record.kind == StepKind::End {
            return (nothing, reaching.evict);
        }
        let Says { judges, removes } = self.says[at];
        let said = |says: [bool; 2], lines: Lines| {
            [0, 1].map(|side| if says[side] { lines[side] } else { EventTime::MIN })
        };
        // A row of one side is removed by what the other side still promises.
        let [one, other] = reaching.evict;
        let crossed = at == 0 && self.joins;
        let evict = said(removes, if crossed { [other, one] } else { [one, other] });
        let late = said(judges, reaching.late);
        // Only groups know modes: joins and dedup judge and forget in complete mode too.
        if self.mode == OutputMode::Complete && self.plan.stages[at].is_grouping() {
            let judged = self.plan.stages[at].judges_in_complete();
            return (if judged { late } else { nothing }, nothing);
        }
        (late, evict)
    }

    /// Hands out what the last stage wrote in the passes since it was asked last.
    pub(super) fn emit(&mut self, out: &mut Output) {
        let Some(last) = self.outputs.last_mut() else { return };
        let emissions = &mut out.emissions;
        emissions.rows.columns.resize_with(last.rows.columns.len(), Default::default);
        if emissions.rows.is_empty() {
            std::mem::swap(&mut emissions.rows, &mut last.rows);
            std::mem::swap(&mut emissions.notes, &mut last.notes);
        } else {
            emissions.rows.extend_from(&last.rows, 0..last.rows.len());
            emissions.notes.append(&mut last.notes);
            last.rows.clear();
        }
    }
}

/// Without stages the rows as they are are what comes out.
fn emit_all(rows: Option<Handed<'_>>, step: u64, emissions: &mut Emissions) {
    let Some(handed) = rows else { return };
    let note = EmissionNote { step, kind: EmissionKind::Row, time: EventTime::MIN, pane: 0 };
    emissions.notes.extend(handed.rows().map(|_| note));
    emissions.rows.columns.resize_with(handed.batch.columns.len(), Default::default);
    emissions.rows.extend_from(handed.batch, handed.rows());
}

/// Adds what a stage did in a pass to its record of the step.
fn note(record: &mut StageRecord, pass: &Pass<'_>, rows_out: usize) {
    for (side, handed) in pass.sides.into_iter().enumerate() {
        if let Some(handed) = handed.filter(|it| !it.rows().is_empty()) {
            record.late[side] = pass.late[side];
            record.rows_in += handed.rows().len() as u64;
        }
    }
    record.evict = pass.evict;
    record.rows_out += rows_out as u64;
}

/// Adds what a stage did in a step.
pub(super) const fn add(record: &mut StageRecord, tally: Tally) {
    record.updated += tally.updated;
    record.removed += tally.removed;
    record.rows_dropped += tally.rows_dropped;
    record.groups_dropped += tally.groups_dropped;
    record.duplicates += tally.duplicates;
}
