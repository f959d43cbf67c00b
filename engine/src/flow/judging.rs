//! From the verdict of a stage to the fate of a row.
//!
//! Invariant: every row that the first stateful stage did not simply take leaves one record.

use crate::late::{self, InForce, LateRow};
use crate::operator::stage::{Handed, Judged, StageOutput, StageVerdict};
use crate::output::{Fate, Output, RowRecord, StepRecord};
use crate::plan::flow::{GlobalPlan, SessionLate, StagePlan};
use crate::plan::{LatePolicy, LateRule};
use crate::row::{ItemId, RowBatch};
use crate::time::EventTime;

/// Turns what the first stateful stage says of rows into their fates.
pub(super) struct Judging<'a> {
    pub(super) plan: &'a StagePlan,
    pub(super) step: u64,
    /// What judged the rows of each side.
    pub(super) late: [InForce; 2],
    /// How far the own partition of each row had come; `None` where rows were written by a stage.
    pub(super) own: Option<&'a [Vec<EventTime>; 2]>,
    /// Whether a row has a record already, which says that it did not move the watermark.
    pub(super) some_do_not_advance: bool,
}

impl Judging<'_> {
    /// Records the fates of the rows that a stage was handed and did not simply take; `written` are the
    /// ids of what it handed on.
    pub(super) fn all(
        &self,
        sides: [Option<Handed<'_>>; 2],
        output: &StageOutput,
        written: &[ItemId],
        record: &mut StepRecord,
        out: &mut Output,
    ) {
        for it in &output.judged {
            let rows = sides[it.side].expect("a row of this side");
            self.record(rows, it, record, out);
        }
        if self.plan.is_stateless() {
            for (rows, row) in lost(sides, written) {
                self.filtered(rows, row, record, out);
            }
        }
    }

    /// Records the fate of one row.
    fn record(&self, handed: Handed<'_>, it: &Judged, record: &mut StepRecord, out: &mut Output) {
        let rows = handed.batch;
        let (id, partition) = (rows.ids[it.row], rows.partitions[it.row]);
        let counted = matches!(it.verdict, StageVerdict::Late { kept, .. } if 0 < kept);
        if !counted {
            record.rows_counted -= 1;
        }
        self.one_fate(id, out);
        let fate = match it.verdict {
            StageVerdict::Late { lost, kept, one, all, .. } => {
                record.windows_missed += u64::from(lost);
                record.rows_dropped += u64::from(kept == 0);
                let late = self.late(handed, it, lost, kept, one, all);
                if late.destination == LatePolicy::SideOutput {
                    let cells: Vec<_> = rows.columns.iter().map(|cell| cell.get(it.row)).collect();
                    out.side.columns.resize_with(cells.len(), Default::default);
                    out.side.push(id, partition, rows.arrivals[it.row], &cells);
                }
                Fate::Late(late)
            }
            StageVerdict::Duplicate(of) => Fate::Duplicate { of },
            StageVerdict::NoTime => Fate::NoTime,
            StageVerdict::NoWindow => Fate::NoWindow,
            StageVerdict::NoGap => Fate::NoGap,
        };
        out.records.push(RowRecord { id, partition, step: self.step, fate });
    }

    /// A row that no stateless stage has kept.
    fn filtered(&self, rows: &RowBatch, row: usize, record: &mut StepRecord, out: &mut Output) {
        record.rows_counted -= 1;
        let (id, partition) = (rows.ids[row], rows.partitions[row]);
        self.one_fate(id, out);
        out.records.push(RowRecord { id, partition, step: self.step, fate: Fate::Filtered });
    }

    /// A row from the future that is not counted all the same has one fate, not two.
    fn one_fate(&self, id: ItemId, out: &mut Output) {
        if self.some_do_not_advance {
            out.records.retain(|it| it.id != id || it.step != self.step);
        }
    }

    fn late(
        &self,
        Handed { batch: rows, from, .. }: Handed<'_>,
        it: &Judged,
        lost: u32,
        kept: u32,
        one: EventTime,
        all: EventTime,
    ) -> LateRow {
        let in_force = self.late[it.side];
        let time = self.plan.times()[it.side].and_then(|at| rows.columns[at.0].get(it.row));
        let own = self.own.map_or(EventTime::MIN, |own| own[it.side][it.row - from]);
        let (rule, destination) = rule_of(self.plan);
        LateRow {
            id: rows.ids[it.row],
            partition: rows.partitions[it.row],
            time: time.map_or(EventTime::MIN, EventTime),
            rule,
            in_force,
            windows_lost: lost,
            windows_kept: kept,
            saving: late::saving_until(one, all, &in_force),
            cause: late::cause_if(own <= all, &in_force),
            destination,
        }
    }
}

/// The rule that a stage judges by, in the words of records.
const fn rule_of(plan: &StagePlan) -> (LateRule, LatePolicy) {
    match plan {
        StagePlan::Window(it) => (it.late, it.late_policy),
        StagePlan::Session(it) => {
            let rule = match it.late {
                SessionLate::Event => LateRule::Event,
                SessionLate::Proto | SessionLate::Merged => LateRule::WindowEnd,
            };
            (rule, it.late_policy)
        }
        StagePlan::Dedup(it) => (it.late, it.late_policy),
        StagePlan::Join(it) => (it.late, it.late_policy),
        StagePlan::AsOf(it) => (LateRule::Event, it.late_policy),
        StagePlan::Global(GlobalPlan { time: Some((_, rule)), .. }) => (*rule, LatePolicy::Drop),
        _ => (LateRule::Event, LatePolicy::Drop),
    }
}

/// The rows that a stage without state was handed and did not hand on, in order.
fn lost<'a>(
    sides: [Option<Handed<'a>>; 2],
    written: &[ItemId],
) -> impl Iterator<Item = (&'a RowBatch, usize)> {
    let mut kept = written.iter().copied().peekable();
    let handed = sides.into_iter().flatten();
    let handed = handed.flat_map(|it| it.rows().map(move |row| (it.batch, row)));
    handed.filter(move |(rows, row)| kept.next_if_eq(&rows.ids[*row]).is_none())
}
