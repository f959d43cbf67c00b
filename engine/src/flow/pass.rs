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
use crate::operator::stage::{Pass, StageOutput};
use crate::output::{EmissionKind, EmissionNote, Output, Remark, StageRecord, StepKind};
use crate::plan::OutputMode;
use crate::row::{ItemId, RowBatch};
use crate::time::EventTime;

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
        out: &mut Output,
    ) {
        self.pass_with(late, evict, cause, triggered, out);
        self.bounds.removed(evict.map(|it| it.watermark));
    }

    /// One pass over all stages.
    pub(super) fn pass_with(
        &mut self,
        late: [InForce; 2],
        evict: [InForce; 2],
        cause: ItemId,
        triggered: bool,
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
        for at in 0..self.stages.len() {
            let (judged_by, removed_by) = self.bounds_of(at, &reaching);
            let (done, rest) = self.outputs.split_at_mut(at);
            let sides = match done.last() {
                Some(before) => [Some(&before.rows), None],
                None if self.plan.joins() => [Some(&self.waiting[0]), Some(&self.waiting[1])],
                None => [Some(&self.waiting[0]), None],
            };
            let output = &mut rest[0];
            output.clear();
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
            note(&mut self.stage_records[at], &pass, output);
            if let Some(watch) = out.watch.as_mut().filter(|it| it.stage == at) {
                watch.passes.push(watched(&pass, late, evict, output));
            }
            let remark = |(id, kind): &(_, _)| Remark { step, stage: at, id: *id, kind: *kind };
            out.remarks.extend(output.remarks.iter().map(remark));
            let plan = &self.plan.stages[at];
            if !stateful_seen {
                let own = if at == 0 { Some(&self.own) } else { None };
                let some_do_not_advance = self.some_do_not_advance;
                let judging = Judging { plan, step, late, own, some_do_not_advance };
                for it in &output.judged {
                    let rows = sides[it.side].expect("a row of this side");
                    judging.record(rows, it, &mut self.record, out);
                }
                if plan.is_stateless() {
                    for (rows, row) in lost(sides, output) {
                        judging.filtered(rows, row, &mut self.record, out);
                    }
                } else {
                    // Whatever is behind the first one works for what it wrote, not for rows.
                    reaching.late = reaching.chained;
                    stateful_seen = true;
                }
            }
            let stage = &self.stages[at];
            let Reaching { late, chained, evict } = reaching;
            reaching = Reaching {
                late: stage.passes(late),
                chained: stage.passes(chained),
                evict: stage.passes(evict),
            };
        }
        self.emit(out);
        self.some_do_not_advance = false;
        for (rows, own) in self.waiting.iter_mut().zip(&mut self.own) {
            rows.clear();
            own.clear();
        }
    }

    /// What judges and what removes at a stage, per side.
    fn bounds_of(&self, at: usize, reaching: &Reaching) -> (Lines, Lines) {
        let nothing = [EventTime::MIN; 2];
        let ended = self.record.kind == StepKind::End;
        // Only groups know modes: joins and dedup judge and forget in complete mode too.
        if self.mode == OutputMode::Complete && !ended && self.plan.stages[at].is_grouping() {
            return (nothing, nothing);
        }
        let linked = |lines: Lines| {
            [0, 1].map(
                |side| {
                    if ended || self.links[at][side] { lines[side] } else { EventTime::MIN }
                },
            )
        };
        let [one, other] = linked(reaching.evict);
        // A row of one side is removed by what the other side still promises.
        let crossed = at == 0 && self.plan.joins();
        let evict = if crossed { [other, one] } else { [one, other] };
        (if ended { nothing } else { linked(reaching.late) }, evict)
    }

    /// What the last stage wrote, or without stages the rows as they are, is what comes out.
    fn emit(&self, out: &mut Output) {
        let emissions = &mut out.emissions;
        let rows = match self.outputs.last() {
            Some(last) => {
                emissions.notes.extend_from_slice(&last.notes);
                &last.rows
            }
            None => {
                let (step, kind) = (self.record.step, EmissionKind::Row);
                let note = EmissionNote { step, kind, time: EventTime::MIN, pane: 0 };
                emissions.notes.extend((0..self.waiting[0].len()).map(|_| note));
                &self.waiting[0]
            }
        };
        emissions.rows.columns.resize_with(rows.columns.len(), Default::default);
        emissions.rows.extend_from(rows, 0..rows.len());
    }
}

/// Adds what a stage did to its record of the step.
fn note(record: &mut StageRecord, pass: &Pass<'_>, output: &StageOutput) {
    for (side, rows) in pass.sides.into_iter().enumerate() {
        if let Some(rows) = rows.filter(|it| !it.is_empty()) {
            record.late[side] = pass.late[side];
            record.rows_in += rows.len() as u64;
        }
    }
    record.evict = pass.evict;
    record.rows_out += output.rows.len() as u64;
    let tally = output.tally;
    record.updated += tally.updated;
    record.removed += tally.removed;
    record.rows_dropped += tally.rows_dropped;
    record.groups_dropped += tally.groups_dropped;
    record.duplicates += tally.duplicates;
}

/// The rows that a stage without state was handed and did not hand on, in order.
fn lost<'a>(
    sides: [Option<&'a RowBatch>; 2],
    output: &StageOutput,
) -> impl Iterator<Item = (&'a RowBatch, usize)> {
    let mut kept = output.rows.ids.iter().copied().peekable();
    let handed = sides.into_iter().flatten();
    let handed = handed.flat_map(|rows| (0..rows.len()).map(move |row| (rows, row)));
    handed.filter(move |(rows, row)| kept.next_if_eq(&rows.ids[*row]).is_none())
}
