//! Flows become plain where nothing needs them.

use super::violation;
use crate::shrink::{Limits, Simplicity, candidates, shrink};
use crate::trace::parse::parse;
use crate::trace::plan_text::draw::Draw;
use crate::trace::write::{normalized, plan_line, write};
use crate::trace::{Item, Trace};
use plimsoll_engine::plan::flow::StagePlan;

/// A pseudo-random trace whose plan is a flow.
fn draw(draw: &mut Draw) -> Trace {
    loop {
        let trace = draw.trace();
        if trace.plan.flow.is_some() {
            return trace;
        }
    }
}

#[test]
fn every_candidate_of_a_flow_can_be_written_and_is_simpler() {
    let mut numbers = Draw(21);
    let mut tried = 0;
    for _ in 0..25 {
        let trace = draw(&mut numbers);
        for it in candidates(&trace).take(60) {
            assert!(Simplicity::of(&it) < Simplicity::of(&trace));
            let text = write(&it, &[]);
            let read = parse(&text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
            assert_eq!(read.trace, normalized(&it), "{text}");
            tried += 1;
        }
    }
    assert!(700 < tried, "{tried} candidates");
}

#[test]
fn what_a_failure_does_not_need_is_taken_back() {
    let mut numbers = Draw(22);
    for _ in 0..10 {
        let trace = draw(&mut numbers);
        let mut fails =
            |it: &Trace| it.plan.flow.is_some().then(|| violation("I1 synthetic", it.items.len()));
        let limits = Limits { executions: 2_000 };
        let shrunk = shrink(&trace, &mut fails, limits, &mut |_| {}).expect("it fails");
        let flow = shrunk.trace.plan.flow.as_ref().expect("still a flow");
        let line = plan_line(&shrunk.trace);
        assert_eq!((flow.inputs.len(), flow.stages.len()), (1, 0), "{line}");
        assert!(flow.levels.is_none() && flow.inputs[0].before.is_empty(), "{line}");
    }
}

#[test]
fn a_stage_that_is_needed_stays_with_its_plainest_rules() {
    let text = "plan inputs=a(7s,v>=1),b(3s) policy=max effective=row hindsight=1h \
                stages=filter(v>0)|dedup(k+v)|session(5min,key=v,agg=count+sum(v),late=merged,\
                max_span=1h,lateness=3min)|window(tumbling(1h),key=v,agg=sum(count))\n\
                row a/p3 10:00:00 k=a v=1\nrow b/p1@t2 10:01:00 k=b v=2\n";
    let trace = parse(text).expect(text).trace;
    let is_session = |it: &StagePlan| matches!(it, StagePlan::Session(_));
    let mut fails = |it: &Trace| {
        let has = it.plan.flow.as_ref().is_some_and(|it| it.stages.iter().any(is_session));
        let row = |it: &Item| matches!(it, Item::Row(row) if row.partition.input() == 1);
        let at = it.items.iter().position(row).filter(|_| has);
        at.map(|at| violation("I1 synthetic", at + 1))
    };
    let shrunk = shrink(&trace, &mut fails, Limits::default(), &mut |_| {}).expect("it fails");
    assert_eq!(
        write(&shrunk.trace, &[]),
        "plimsoll-trace 1\nplan inputs=a(0s),b(0s) effective=row stages=session(1s,key=)\n\
         row b/p0 00:00:00 k=a v=0\n"
    );
}
