//! The worked examples, step by step.

use super::*;
use crate::plan::restore::RestoreRules;
use crate::plan::{
    Aggregate, Effective, GeneratorPlan, LatePolicy, LateRule, OutputMode, Plan, Sink,
    Trigger as TriggerPlan, WatermarkPlan, WindowPlan, WindowSpec,
};
use crate::row::{ColumnIx, ColumnKind, ColumnSpec, Schema};
use crate::time::Span;

const START: i64 = 10 * 3_600_000;

fn at(minutes: i64, seconds: i64) -> Option<i64> {
    Some(START + minutes * 60_000 + seconds * 1_000)
}

fn plan(effective: Effective, trigger: TriggerPlan) -> CheckedPlan {
    let column = |name: &str, kind| ColumnSpec { name: name.to_owned(), kind };
    let columns = vec![column("time", ColumnKind::Time), column("k", ColumnKind::Integer)];
    let plan = Plan {
        flow: None,
        schema: Schema { columns },
        watermark: Some(WatermarkPlan {
            column: ColumnIx(0),
            delay: Span::minutes(2),
            generator: GeneratorPlan::GlobalMax,
            effective,
            fallback: None,
            guard: None,
            initial: EventTime::MIN,
        }),
        lineage: Vec::new(),
        operator: Some(WindowPlan {
            time: "time".to_owned(),
            window: WindowSpec {
                size: Span::minutes(10),
                slide: Span::minutes(10),
                offset: Span::ZERO,
            },
            keys: vec![ColumnIx(1)],
            aggregates: vec![Aggregate::Count],
            late: LateRule::Event,
            late_policy: LatePolicy::Drop,
        }),
        output: OutputMode::Append,
        sink: Sink::Append,
        trigger,
    };
    CheckedPlan::new(plan).expect("a good plan").0
}

fn row(id: u64, time: Option<i64>) -> RowBatch {
    let mut rows = RowBatch::new(2);
    rows.push(ItemId(id), PartitionId(0), ProcTime(0), &[time, Some(1)]);
    rows
}

/// S3 to S5: with two minutes of delay the arrival of 10:12:00 closes 10:00 to 10:10.
#[test]
fn the_closing_instant_is_an_arrival_and_what_comes_after_is_not_counted() {
    let plan = plan(Effective::Row, TriggerPlan::Row);
    let mut job = Job::new(plan.clone(), ProcTime(0), 1);
    let mut out = Output::new(&plan);
    job.arrive(&row(1, at(8, 30)), &mut out);
    assert!(out.firings.is_empty());
    job.arrive(&row(2, at(12, 0)), &mut out);
    assert_eq!(out.firings.len(), 1);
    assert_eq!(out.firings[0].window.end, EventTime(START + 600_000));
    out.clear();
    job.arrive(&row(3, at(9, 55)), &mut out);
    let Fate::Late(late) = out.records[0].fate else { panic!("late: {:?}", out.records) };
    assert_eq!(late.in_force.set_by, Some(ItemId(2)));
    assert_eq!(
        late.saving,
        crate::late::Saving::Delay { smallest: Span::seconds(125), largest: Span::seconds(125) }
    );
}

#[test]
fn rows_of_one_batch_do_not_make_one_another_late() {
    let plan = plan(Effective::NextBatch, TriggerPlan::Batch);
    let mut job = Job::new(plan.clone(), ProcTime(0), 1);
    let mut out = Output::new(&plan);
    for (id, time) in [(1, at(12, 0)), (2, at(9, 55))] {
        job.arrive(&row(id, time), &mut out);
    }
    job.batch(ItemId(3), &mut out);
    assert!(out.records.is_empty() && out.firings.is_empty());
    job.batch(ItemId(4), &mut out);
    assert_eq!(out.firings.len(), 1);
}

#[test]
fn a_restored_job_goes_on_as_the_one_that_was_saved() {
    let plan = plan(Effective::BatchAfterNext, TriggerPlan::Batch);
    let mut job = Job::new(plan.clone(), ProcTime(0), 1);
    let mut out = Output::new(&plan);
    job.run_batch(&row(1, at(1, 0)), ItemId(2), &mut out);
    job.run_batch(&row(3, at(30, 0)), ItemId(4), &mut out);
    let bytes = job.snapshot();
    let mut again = Job::restore(plan, &bytes, 99, RestoreRules::EXACT).expect("a good snapshot");
    assert_eq!(again.snapshot(), bytes);
    out.clear();
    job.batch(ItemId(5), &mut out);
    let fired: Vec<_> = out.firings.iter().map(|it| it.window).collect();
    out.clear();
    again.batch(ItemId(5), &mut out);
    assert_eq!(out.firings.iter().map(|it| it.window).collect::<Vec<_>>(), fired);
    assert_eq!(fired.len(), 1);
}
