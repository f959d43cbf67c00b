//! Each check on a story that holds, and on the same story with one lie in the system's output.

use crate::invariant::{Violation, for_trace};
use crate::oracle::flow::tests::{
    K, T, V, bare, batched, flow, join, sessions, watermark, windows,
};
use crate::run::Run;
use crate::system::engine::Engine;
use crate::system::{System, View};
use crate::trace::{Item, Trace};
use plimsoll_engine::output::{EmissionKind, EmissionNote, Output, Remark, RemarkKind};
use plimsoll_engine::plan::flow::{
    Carry, Chain, DedupExpiry, DedupPlan, JoinKind, PanePlan, StagePlan,
};
use plimsoll_engine::plan::{AllIdle, GeneratorPlan, IdlePlan, LatePolicy, LateRule, Plan, Rejoin};
use plimsoll_engine::row::{ColumnIx, ItemId, PartitionId, RowBatch};
use plimsoll_engine::time::{EventTime, ProcTime, Span};
use plimsoll_engine::watermark::levels::Steer;
use plimsoll_engine::watermark::member::{Change, Member, MemberState};

/// The engine with a lie in what it says of one item.
struct Liar<'a> {
    engine: Engine,
    at: ItemId,
    lie: &'a dyn Fn(&mut Output),
    members: Option<Vec<Member>>,
}

impl Liar<'_> {
    fn tell(&self, id: ItemId, out: &mut Output) {
        if id == self.at {
            (self.lie)(out);
        }
    }
}

impl System for Liar<'_> {
    fn arrive(&mut self, rows: &RowBatch, out: &mut Output) {
        self.engine.arrive(rows, out);
        self.tell(rows.ids[0], out);
    }

    fn heartbeat(
        &mut self,
        id: ItemId,
        p: PartitionId,
        time: EventTime,
        at: ProcTime,
        out: &mut Output,
    ) {
        self.engine.heartbeat(id, p, time, at, out);
        self.tell(id, out);
    }

    fn tick(&mut self, id: ItemId, now: ProcTime, out: &mut Output) {
        self.engine.tick(id, now, out);
        self.tell(id, out);
    }

    fn change(&mut self, id: ItemId, change: Change, at: ProcTime, out: &mut Output) {
        self.engine.change(id, change, at, out);
    }

    fn steer(&mut self, id: ItemId, steer: Steer, out: &mut Output) {
        self.engine.steer(id, steer, out);
    }

    fn batch(&mut self, id: ItemId, out: &mut Output) {
        self.engine.batch(id, out);
        self.tell(id, out);
    }

    fn end(&mut self, id: ItemId, out: &mut Output) {
        self.engine.end(id, out);
        self.tell(id, out);
    }

    fn snapshot(&self) -> Vec<u8> {
        self.engine.snapshot()
    }

    fn restore(&mut self, snapshot: Option<&[u8]>) -> Result<(), String> {
        self.engine.restore(snapshot)
    }

    fn view(&self, deep: bool) -> View<'_> {
        let view = self.engine.view(deep);
        match &self.members {
            None => view,
            Some(it) => View { members: it, ..view },
        }
    }
}

/// What the checks say when the system lies about item `at`.
fn said(
    trace: &Trace,
    at: u64,
    members: Option<Vec<Member>>,
    lie: &dyn Fn(&mut Output),
) -> Option<Violation> {
    let engine = Engine::new(trace, 1).expect("a plan without a refusal");
    let mut system = Liar { engine, at: ItemId(at), lie, members };
    let mut checks = for_trace(trace);
    let mut run = Run::new(trace, &mut system, false);
    while let Some(seen) = run.step() {
        if let Err(it) = seen.and_then(|it| checks.observe(&it)) {
            return Some(it);
        }
    }
    None
}

/// The check holds on the story, and names the lie.
fn check(trace: &Trace, name: &str, at: u64, lie: impl Fn(&mut Output)) {
    let active = for_trace(trace).active;
    assert!(active.iter().any(|it| it.name() == name), "{name} is active");
    assert_eq!(said(trace, at, None, &|_| ()), None, "the story holds");
    let found = said(trace, at, None, &lie).map(|it| (it.name, it.at.0));
    assert_eq!(found, Some((leak(name), at)));
}

/// The static name that is equal to this one.
fn leak(name: &str) -> &'static str {
    crate::invariant::names().find(|it| *it == name).expect("a check of this name")
}

/// One row per (input, time, k, v), then the end.
fn story(plan: Plan, rows: &[(u32, i64, i64, i64)]) -> Trace {
    let mut trace = bare(plan);
    for (input, t, k, v) in rows {
        trace.push_row(PartitionId::of(*input, 0, 0), &[Some(*t), Some(*k), Some(*v)]);
    }
    trace.items.push(Item::End);
    trace
}

fn drop_rows(out: &mut Output) {
    out.emissions.rows.clear();
    out.emissions.notes.clear();
}

fn write(out: &mut Output, kind: EmissionKind, pane: u32, cells: &[Option<i64>]) {
    let step = out.steps.last().expect("a step").step;
    if out.emissions.rows.columns.len() != cells.len() {
        out.emissions.rows = RowBatch::new(cells.len());
    }
    out.emissions.rows.push(ItemId(1), PartitionId(0), ProcTime(0), cells);
    let time = EventTime::MIN;
    out.emissions.notes.push(EmissionNote { step, kind, time, pane });
}

fn cells(values: &[i64]) -> Vec<Option<i64>> {
    values.iter().map(|it| Some(*it)).collect()
}

fn joined(kind: JoinKind) -> Plan {
    let mut plan = flow(&[0, 0], vec![StagePlan::Join(join(kind, 0, 10))]);
    plan.flow.as_mut().expect("a flow").hindsight = Span(1_000);
    plan
}

/// A pair at item 2; row 3 finds nobody and gets its null row at item 4; row 5 is dropped.
fn join_story() -> Trace {
    let rows = [(0, 0, 1, 1), (1, 3, 1, 1), (0, 1, 2, 1), (1, 12, 1, 1), (1, 11, 2, 1)];
    story(joined(JoinKind::Left), &rows)
}

#[test]
fn a_pair_that_was_never_admitted_or_does_not_meet_is_unsound() {
    let name = "I15 pairs_sound";
    let wrong = |out: &mut Output| write(out, EmissionKind::Row, 0, &cells(&[0, 1, 1, 30, 1, 1]));
    check(&join_story(), name, 2, wrong);
    let far = story(joined(JoinKind::Inner), &[(0, 0, 1, 1), (1, 11, 1, 1)]);
    check(&far, name, 2, |out| write(out, EmissionKind::Row, 0, &cells(&[0, 1, 1, 11, 1, 1])));
    check(&join_story(), name, 2, |out| {
        write(out, EmissionKind::Row, 0, &cells(&[0, 1, 1, 3, 1, 1]));
    });
}

#[test]
fn a_pair_that_is_missing_is_missed() {
    check(&join_story(), "I16 pairs_complete", 2, drop_rows);
}

#[test]
fn a_null_row_too_early_twice_or_not_at_all_is_wrong() {
    let name = "I17 null_row_iff_nobody_came";
    let null = [Some(1), Some(2), Some(1), None, None, None];
    check(&join_story(), name, 3, |out| write(out, EmissionKind::Unmatched, 0, &null));
    check(&join_story(), name, 4, |out| write(out, EmissionKind::Unmatched, 0, &null));
    check(&join_story(), name, 4, drop_rows);
}

#[test]
fn a_pair_behind_a_null_row_contradicts_it() {
    // The pair is true, and so is its null row before it: the two together are not.
    let mut plan = joined(JoinKind::Left);
    plan.flow.as_mut().expect("a flow").stages = {
        let mut it = join(JoinKind::Left, 0, 10);
        it.expiry.at_bound = true;
        vec![StagePlan::Join(it)]
    };
    let trace = story(plan, &[(0, 0, 1, 1), (1, 3, 1, 1)]);
    check(&trace, "I18 no_pair_after_null_row", 2, |out| {
        write(out, EmissionKind::Unmatched, 0, &[Some(0), Some(1), Some(1), None, None, None]);
    });
}

#[test]
fn a_refuted_null_row_is_remarked_and_no_other() {
    let name = "I35 refuted_iff_a_dropped_row_matches";
    let rows = [(0, 0, 1, 1), (0, 1, 2, 1), (1, 12, 3, 1), (1, 8, 2, 1)];
    let trace = story(joined(JoinKind::Left), &rows);
    check(&trace, name, 4, |out| out.remarks.clear());
    check(&trace, name, 4, |out| {
        let (step, kind) = (3, RemarkKind::Refuted { unmatched: ItemId(1) });
        out.remarks.push(Remark { step, stage: 0, id: ItemId(4), kind });
    });
}

#[test]
fn sessions_that_overlap_are_not_apart() {
    let plan = flow(&[0], vec![StagePlan::Session(sessions())]);
    let trace = story(plan, &[(0, 0, 1, 1), (0, 20, 1, 1), (0, 40, 1, 1)]);
    check(&trace, "I11 sessions_apart", 3, |out| {
        write(out, EmissionKind::OnTime, 0, &cells(&[9, 19, 18, 1, 1]));
    });
}

fn panes(carry: Carry) -> Trace {
    let mut stage = windows(T, 10);
    stage.lateness = Span(50);
    stage.panes = PanePlan { early_rows: Some(2), carry };
    let plan = flow(&[0], vec![StagePlan::Window(stage)]);
    // Early at 2, on time at 3, late at 4.
    story(plan, &[(0, 1, 1, 1), (0, 2, 1, 1), (0, 12, 1, 1), (0, 3, 1, 1)])
}

#[test]
fn what_is_taken_back_is_what_stands() {
    let name = "I21 taken_back_is_what_was_said";
    check(&panes(Carry::Retracting), name, 3, |out| {
        let rows = &mut out.emissions.rows.columns[3].values;
        rows[0] += 1;
    });
    check(&panes(Carry::Retracting), name, 1, |out| {
        write(out, EmissionKind::Retraction, 0, &cells(&[0, 10, 9, 1]));
    });
}

#[test]
fn panes_come_in_order_with_numbers_and_add_up() {
    let name = "I22 panes_in_order";
    for carry in [Carry::Accumulating, Carry::Discarding] {
        check(&panes(carry), name, 2, |out| out.emissions.rows.columns[3].values[0] += 1);
        check(&panes(carry), name, 3, |out| out.emissions.notes[0].pane = 7);
        check(&panes(carry), name, 4, |out| out.emissions.notes[0].kind = EmissionKind::Early);
        check(&panes(carry), name, 4, |out| out.emissions.notes[0].kind = EmissionKind::OnTime);
    }
}

#[test]
fn state_that_should_be_gone_is_too_much() {
    let more = |out: &mut Output| out.stages[0].state_rows += 1;
    let name = "I23 state_within_bound";
    check(&join_story(), name, 4, more);
    check(&panes(Carry::Accumulating), name, 4, more);
    let plan = flow(&[0], vec![StagePlan::Session(sessions())]);
    check(&story(plan, &[(0, 0, 1, 1), (0, 20, 1, 1)]), name, 2, more);
    let dedup = DedupPlan {
        columns: vec![V],
        time: Some(T),
        late: LateRule::Event,
        expiry: DedupExpiry::After(Span(5)),
        late_policy: LatePolicy::Drop,
    };
    let plan = flow(&[0], vec![StagePlan::Dedup(dedup)]);
    check(&story(plan, &[(0, 0, 1, 1), (0, 20, 1, 2)]), name, 2, more);
}

/// Windows of 10, then windows of 20 over their ends.
fn chain() -> Trace {
    let stages =
        vec![StagePlan::Window(windows(T, 10)), StagePlan::Window(windows(ColumnIx(2), 20))];
    let plan = flow(&[0], stages);
    assert_eq!(plan.flow.as_ref().map(|it| it.chain), Some(Chain::Previous));
    story(plan, &[(0, 1, 1, 1), (0, 12, 1, 1), (0, 25, 1, 1)])
}

#[test]
fn inside_a_chain_nothing_is_late_and_nothing_gets_lost() {
    check(&chain(), "I24 nothing_is_late_inside", 2, |out| out.stages[1].rows_dropped = 1);
    check(&chain(), "I24 stages_hand_over", 2, |out| out.stages[1].rows_in = 0);
    check(&chain(), "I24 stages_hand_over", 2, |out| out.stages[1].evict[0] = EventTime(13));
    check(&chain(), "I24 stages_hand_over", 3, |out| out.stages[1].late[0] = EventTime(99));
}

#[test]
fn an_input_that_does_not_report_still_bounds_the_watermark() {
    let plan = flow(&[0, 5], vec![StagePlan::Window(windows(T, 10))]);
    let trace = story(plan, &[(0, 1, 1, 1), (1, 2, 1, 1), (0, 90, 1, 1)]);
    check(&trace, "I7 no_input_vanishes", 3, |out| out.steps[0].watermark = EventTime(90));
    check(&trace, "I7 no_input_vanishes", 1, |out| out.steps[0].watermark = EventTime(1));
}

#[test]
fn a_partition_that_is_heard_is_not_idle() {
    let mut plan = batched(
        flow(&[0], vec![StagePlan::Window(windows(T, 10))]),
        plimsoll_engine::plan::Effective::NextBatch,
    );
    let idle = IdlePlan { timeout: Span(5), rejoin: Rejoin::Hold, all_idle: AllIdle::Hold };
    watermark(&mut plan).generator = GeneratorPlan::PartitionMin { idle: Some(idle) };
    plan.trigger = plimsoll_engine::plan::Trigger::Row;
    let trace = story(plan, &[(0, 1, 1, 1), (0, 2, 1, 1)]);
    assert_eq!(said(&trace, 1, None, &|_| ()), None);
    let member = Member { state: MemberState::Idle, ..Member::new(PartitionId(0), ProcTime(0)) };
    let names = for_trace(&trace).active.into_iter().map(|it| it.name()).collect::<Vec<_>>();
    assert!(names.contains(&"I10 resumed_is_active"), "{names:?}");
    let found = said(&trace, 1, Some(vec![member]), &|_| ()).map(|it| it.name);
    assert!(matches!(found, Some("I10 resumed_is_active" | "I37 idle_exactly_when_silent")));
    assert_eq!((K.0, V.0), (1, 2));
}
