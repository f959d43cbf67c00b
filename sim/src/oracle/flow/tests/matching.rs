//! Joins, as-of joins and dedup.

use super::*;
use plimsoll_engine::output::RemarkKind;
use plimsoll_engine::plan::flow::{AsOfPlan, DedupExpiry, DedupPlan, NullTime};

const HOUR: i64 = 3_600_000;

fn joined(plan: JoinPlan) -> Plan {
    flow(&[0, 0], vec![StagePlan::Join(plan)])
}

fn state(expected: &ExpectedFlow) -> u64 {
    expected.steps.last().expect("a step").stages[0].state_rows
}

#[test]
fn an_impression_leaves_when_it_plus_an_hour_is_behind_the_clicks_and_a_click_behind_impressions() {
    let mut story = Story::new(joined(join(JoinKind::Left, 0, HOUR)));
    story.row(0, 0);
    // w_clk = imp + 1 h: a click of that very time may still come.
    assert_eq!(written(&story.cells(1, &[Some(HOUR), Some(2), Some(9)])), nothing());
    let out = story.cells(1, &[Some(HOUR + 1), Some(2), Some(9)]);
    assert_eq!(written(&out), ["unmatched 0 1 1 - - -"]);
    // Two clicks wait for impressions; they leave when w_imp is ahead of them.
    assert_eq!(state(&out), 2);
    // w_imp = HOUR: the click of that time may still meet an impression of it.
    assert_eq!(state(&story.row(0, HOUR)), 3);
    assert_eq!(state(&story.row(0, HOUR + 1)), 3);
    assert_eq!(state(&story.row(0, HOUR + 2)), 3);
}

#[test]
fn a_pair_comes_out_with_its_later_row_and_open_edges_are_outside() {
    let mut plan = join(JoinKind::Inner, 0, 10);
    plan.ranges = vec![Range { lower: edge(0, true), upper: edge(10, true) }];
    let mut story = Story::new(flow(&[100, 100], vec![StagePlan::Join(plan)]));
    story.row(0, 0);
    assert_eq!(written(&story.row(1, 0)), nothing());
    assert_eq!(written(&story.row(1, 1)), ["row 0 1 1 1 1 1"]);
    assert_eq!(written(&story.row(1, 9)), ["row 0 1 1 9 1 1"]);
    assert_eq!(written(&story.row(1, 10)), nothing());
    assert_eq!(written(&story.row(0, 5)), ["row 5 1 1 10 1 1", "row 5 1 1 9 1 1"]);
    // Null equals nothing.
    story.cells(0, &[Some(3), None, Some(1)]);
    assert_eq!(written(&story.cells(1, &[Some(4), None, Some(1)])), nothing());
}

#[test]
fn flinks_boundary_hole_loses_the_row_at_the_watermark_and_the_exact_rule_does_not() {
    let story = |expiry| {
        let mut plan = join(JoinKind::Inner, 0, 10);
        (plan.expiry, plan.grace, plan.sides) = (expiry, Span(1), Sides::Combined);
        let mut story = Story::new(joined(plan));
        story.row(0, 0);
        story.row(0, 11);
        story.row(1, 11);
        // W = 11: a row of 10 is a millisecond behind it, which the grace allows.
        let out = story.row(1, 10);
        assert_eq!(fates(&out), "+");
        written(&out).len()
    };
    assert_eq!(story(Expiry { with_grace: false, own_time: true, ..Expiry::EXACT }), 0);
    assert_eq!(story(Expiry::EXACT), 1);
}

#[test]
fn spark_drops_a_row_at_the_watermark_and_removes_strictly_after_the_bound() {
    let mut plan = join(JoinKind::Left, 0, 10);
    (plan.late, plan.sides) = (LateRule::EventInclusive, Sides::Combined);
    plan.expiry = Expiry { with_grace: false, loosest: true, ..Expiry::EXACT };
    let mut story = Story::new(joined(plan));
    story.row(0, 0);
    story.cells(0, &[Some(50), Some(2), Some(1)]);
    // W = 10: the row of 0 is at its bound and stays; a partner at W is late all the same.
    assert_eq!(written(&story.cells(1, &[Some(10), Some(3), Some(1)])), nothing());
    assert_eq!(fates(&story.row(1, 10)), "L");
    let out = story.cells(1, &[Some(11), Some(3), Some(1)]);
    assert_eq!(written(&out), ["unmatched 0 1 1 - - -"]);
}

#[test]
fn a_null_row_comes_at_the_bound_and_a_dropped_partner_refutes_it() {
    let mut plan = joined(join(JoinKind::Left, 0, 10));
    plan.flow.as_mut().expect("a flow").hindsight = Span(100);
    let mut story = Story::new(plan);
    story.row(0, 0);
    let out = story.cells(1, &[Some(11), Some(2), Some(1)]);
    assert_eq!(written(&out), ["unmatched 0 1 1 - - -"]);
    let out = story.row(1, 10);
    assert_eq!((fates(&out).as_str(), written(&out).len()), ("L", 0));
    let kinds: Vec<_> = out.remarks.iter().map(|it| (it.kind, it.certain)).collect();
    assert_eq!(kinds, [(RemarkKind::Refuted { unmatched: ItemId(1) }, true)]);
}

#[test]
fn semi_writes_a_left_row_at_its_first_match_and_anti_when_it_leaves_without() {
    let mut story = Story::new(joined(join(JoinKind::Semi, 0, 10)));
    story.row(0, 0);
    assert_eq!(written(&story.row(1, 3)), ["row 0 1 1"]);
    assert_eq!(written(&story.row(1, 4)), nothing());
    // It is matched on arrival: never stored.
    let out = story.row(0, 1);
    assert_eq!((written(&out), state(&out)), (vec!["row 1 1 1".to_owned()], 2));

    let mut story = Story::new(joined(join(JoinKind::Anti, 0, 10)));
    story.row(0, 0);
    story.cells(0, &[Some(1), Some(2), Some(1)]);
    story.row(1, 3);
    assert_eq!(written(&story.row(1, 12)), ["unmatched 1 2 1"]);
}

#[test]
fn a_row_that_fails_a_condition_of_its_own_gets_its_null_row_at_once_and_is_not_stored() {
    use plimsoll_engine::plan::flow::{Compare, Filter};
    let mut plan = join(JoinKind::Left, 0, 10);
    plan.only_if[0] = Some(Filter { column: V, compare: Compare::Greater, value: 5 });
    let mut story = Story::new(joined(plan));
    let out = story.row(0, 0);
    assert_eq!((written(&out), state(&out)), (vec!["unmatched 0 1 1 - - -".to_owned()], 0));
}

#[test]
fn a_row_without_a_time_is_not_taken_or_stored_for_ever() {
    let story = |null| {
        let mut plan = joined(join(JoinKind::Left, 0, 10));
        plan.flow.as_mut().expect("a flow").null_time = null;
        let mut story = Story::new(plan);
        let taken = story.cells(0, &[None, Some(1), Some(1)]).verdicts[0].fate;
        (taken, written(&story.row(1, 50)), written(&story.end()))
    };
    assert_eq!(story(NullTime::Nowhere), (FlowFate::NoTime, vec![], vec![]));
    let unmatched = "unmatched - 1 1 - - -".to_owned();
    assert_eq!(story(NullTime::Epoch), (FlowFate::Counted, vec![], vec![unmatched]));
}

#[test]
fn windows_join_within_themselves_and_leave_at_their_end() {
    let mut plan = join(JoinKind::Full, 0, 0);
    let size = Span(10);
    plan.ranges = vec![];
    plan.window = Some(WindowSpec { size, slide: size, offset: Span::ZERO });
    plan.late = LateRule::WindowEnd;
    let mut story = Story::new(joined(plan));
    story.row(0, 9);
    assert_eq!(written(&story.row(1, 0)), ["row 9 1 1 0 1 1"]);
    story.cells(0, &[Some(10), Some(2), Some(1)]);
    assert_eq!(written(&story.cells(1, &[Some(20), Some(3), Some(1)])), ["unmatched 10 2 1 - - -"]);
    // Behind its watermark but in an open window: counted.
    assert_eq!(fates(&story.cells(1, &[Some(12), Some(3), Some(1)])), "L");
    assert_eq!(fates(&story.cells(0, &[Some(10), Some(3), Some(1)])), "+");
}

#[test]
fn an_as_of_join_waits_until_nothing_later_can_come() {
    let plan = AsOfPlan {
        on: vec![(K, K)],
        time: [T, T],
        tolerance: Span(10),
        outer: true,
        late_policy: LatePolicy::Drop,
    };
    let mut story = Story::new(flow(&[0, 0], vec![StagePlan::AsOf(plan)]));
    story.row(1, 1);
    story.row(0, 5);
    story.cells(1, &[Some(4), Some(1), Some(2)]);
    story.cells(1, &[Some(5), Some(1), Some(3)]);
    story.row(0, 20);
    // W = 5 does not pass 5; with 6 it does.
    let out = story.cells(1, &[Some(6), Some(1), Some(4)]);
    assert_eq!(written(&out), ["row 5 1 1 5 1 3"]);
    assert_eq!(written(&story.row(1, 30)), nothing());
    assert_eq!(written(&story.row(0, 30)), ["unmatched 20 1 1 - - -"]);
}

#[test]
fn within_a_delay_a_duplicate_is_suppressed_and_after_it_let_through_and_remarked() {
    let plan = DedupPlan {
        columns: vec![K],
        time: Some(T),
        late: LateRule::Event,
        expiry: DedupExpiry::After(Span(10)),
        late_policy: LatePolicy::Drop,
    };
    let mut plan = flow(&[10], vec![StagePlan::Dedup(plan)]);
    plan.flow.as_mut().expect("a flow").hindsight = Span(100);
    let mut story = Story::new(plan);
    assert_eq!(written(&story.row(0, 0)), ["row 0 1 1"]);
    assert_eq!(fates(&story.row(0, 9)), "D");
    // W = 9: the first one expires at 10.
    assert_eq!(fates(&story.row(0, 19)), "D");
    story.cells(0, &[Some(20), Some(2), Some(1)]);
    let out = story.row(0, 15);
    assert_eq!(written(&out), ["row 15 1 1"]);
    let kind = RemarkKind::DuplicateAfterExpiry { first: ItemId(1) };
    assert_eq!(out.remarks.iter().map(|it| it.kind).collect::<Vec<_>>(), [kind]);
}
