//! Restarts that forget: what is lost is as before the first row, and nothing else moves.

use super::random::{Lcg, random_plan, random_trace};
use super::*;
use plimsoll_engine::plan::restore::{Memory, RestoreRules};
use plimsoll_engine::plan::{AllIdle, Guard, GuardAction, IdlePlan, Rejoin};
use plimsoll_engine::watermark::member::MemberState;

const EXACT: RestoreRules = RestoreRules::EXACT;
const WATERMARK: RestoreRules = RestoreRules { watermark: Memory::Lost, ..EXACT };
const WINDOWS: RestoreRules = RestoreRules { windows: Memory::Lost, ..EXACT };
const LEDGER: RestoreRules = RestoreRules { ledger: Memory::Lost, ..EXACT };
const IDLENESS: RestoreRules = RestoreRules { idleness: Memory::Lost, ..EXACT };
const EVERYTHING: RestoreRules =
    RestoreRules { windows: Memory::Lost, ledger: Memory::Lost, ..RestoreRules::NO_WATERMARK };
const SPARK: RestoreRules = RestoreRules::GLOBAL_ONLY;
const FLINK: RestoreRules = RestoreRules::NO_WATERMARK;

const NEVER: i64 = i64::MIN;

/// Per row, delay 0, windows of 10, one maximum.
fn short() -> Plan {
    let mut plan = plan();
    operator(&mut plan).window = tumbling(Span(10));
    watermark(&mut plan).delay = Span(0);
    plan
}

/// The same with a minimum over partitions, idle after 60.
fn by_partition(rejoin: Rejoin) -> Plan {
    let mut plan = short();
    let idle = Some(IdlePlan { timeout: Span(60), rejoin, all_idle: AllIdle::Flush });
    watermark(&mut plan).generator = GeneratorPlan::PartitionMin { idle };
    plan
}

/// Batches, effective in the next or in the one after it.
fn batched(effective: Effective) -> Plan {
    let mut plan = short();
    watermark(&mut plan).effective = effective;
    plan.trigger = Trigger::Batch;
    plan
}

fn states(story: &Story) -> Vec<MemberState> {
    story.oracle.members().iter().map(|it| it.state).collect()
}

/// Start and count of what is written.
fn counts(expected: &Expected) -> Vec<(i64, Value)> {
    written(expected).into_iter().map(|(_, start, _, count, _)| (start, count)).collect()
}

const ONE: Value = Value::Int(1);
const TWO: Value = Value::Int(2);
const THREE: Value = Value::Int(3);

#[test]
fn flinks_counts_a_late_row_again_and_writes_a_window_twice_once_everybody_has_spoken() {
    let mut story = Story::new(by_partition(Rejoin::CatchUp));
    story.row(0, 3);
    assert_eq!(counts(&story.row(0, 12)), [(0, ONE)]);
    story.row(1, 12);
    assert_eq!((fates(&story.row(0, 4)).as_str(), story.w()), ("L", 12));
    assert!(story.item(Item::Restart(FLINK)).steps.is_empty());
    assert_eq!((story.c(), story.w()), (NEVER, NEVER));
    assert_eq!(fates(&story.row(0, 4)), "+");
    assert_eq!((starts(&story.row(0, 25)), story.w()), (vec![], NEVER), "p1 has not spoken");
    assert_eq!(counts(&story.row(1, 11)), [(0, ONE)], "with what came since alone");
    assert_eq!(counts(&story.item(Item::End)), [(10, THREE), (20, ONE)]);
}

#[test]
fn sparks_holds_w_until_everybody_has_spoken_again() {
    let mut story = Story::new(by_partition(Rejoin::Hold));
    story.row(0, 12);
    story.row(1, 12);
    story.item(Item::Restart(SPARK));
    assert_eq!((story.c(), story.w()), (12, 12), "c and w are computed at the next step");
    assert_eq!(fates(&story.row(0, 25)), "+");
    assert_eq!((story.c(), story.w()), (NEVER, 12));
    assert_eq!(story.oracle.candidate_max().0, 12);
    assert_eq!(fates(&story.row(0, 11)), "L");
    assert_eq!(counts(&story.row(1, 20)), [(10, TWO)]);
    assert_eq!((story.c(), story.w()), (20, 20));
}

#[test]
fn a_global_maximum_that_is_kept_comes_back_at_the_next_step() {
    let mut story = Story::new(short());
    story.row(0, 3);
    story.row(0, 12);
    story.item(Item::Restart(WATERMARK));
    assert_eq!((story.c(), story.oracle.candidate_max().0, story.w()), (NEVER, NEVER, NEVER));
    assert_eq!(counts(&story.row(0, 4)), [(0, ONE)], "counted, and closed by 12 at once");
    assert_eq!((story.c(), story.w()), (12, 12));
    let late = lateness(&story.row(0, 5));
    assert_eq!((late.candidate.0, late.set_by), (12, Some(ItemId(4))), "the row that raised c*");

    let mut story = Story::new(short());
    story.row(0, 12);
    story.item(Item::Restart(RestoreRules { maxima: Memory::Lost, ..EXACT }));
    assert_eq!(fates(&story.row(0, 4)), "L");
    assert_eq!((story.c(), story.w()), (4, 12), "what all have seen is lost");
}

#[test]
fn what_is_in_force_is_lost_with_the_watermark_whatever_the_lag() {
    let mut story = Story::new(batched(Effective::NextBatch));
    story.row(0, 12);
    story.batch();
    story.item(Item::Restart(WATERMARK));
    story.row(0, 3);
    let step = story.batch();
    assert_eq!((fates(&step).as_str(), starts(&step), story.w()), ("+", vec![], 12));
    assert_eq!(counts(&story.batch()), [(0, ONE)]);

    let mut story = Story::new(batched(Effective::BatchAfterNext));
    story.row(0, 12);
    story.batch();
    story.batch();
    story.item(Item::Restart(WATERMARK));
    story.row(0, 3);
    assert_eq!((fates(&story.batch()).as_str(), story.w()), ("+", 12));
    story.row(0, 4);
    let step = story.batch();
    assert_eq!((fates(&step).as_str(), counts(&step)), ("+", vec![(0, TWO)]));
    story.row(0, 5);
    let step = story.batch();
    assert_eq!((fates(&step).as_str(), step.steps[0].step), ("L", 4), "steps go on");
}

#[test]
fn lost_windows_are_gone_and_what_was_late_is_late_still() {
    let mut story = Story::new(short());
    story.row(0, 3);
    story.row(0, 4);
    story.item(Item::Restart(WINDOWS));
    assert_eq!((story.oracle.groups(), story.oracle.oldest_end()), (0, None));
    assert_eq!(fates(&story.row(0, 3)), "L");
    story.row(0, 5);
    assert_eq!(story.oracle.groups(), 1);
    assert_eq!(counts(&story.row(0, 12)), [(0, ONE)]);
}

#[test]
fn a_lost_ledger_forgets_the_losses_of_open_windows_alone() {
    let told = |rules| {
        let mut story = Story::new(short());
        story.row(0, 8);
        assert_eq!(fates(&story.row(0, 3)), "L");
        story.item(Item::Restart(rules));
        story.row(0, 7);
        let firing = story.row(0, 12).firings[0].clone();
        (firing.rows_counted, firing.rows_dropped)
    };
    assert_eq!(told(EXACT), (1, 2));
    assert_eq!(told(LEDGER), (1, 1), "7 came after the restart");
}

#[test]
fn a_window_that_is_born_again_begins_without_losses() {
    let mut story = Story::new(short());
    story.row(0, 5);
    story.row(0, 12);
    assert_eq!(fates(&story.row(0, 4)), "L", "for [0,10), which has closed");
    assert_eq!(fates(&story.row(0, 11)), "L", "for [10,20), which is open");
    story.item(Item::Restart(FLINK));
    story.row(0, 6);
    let firings = story.row(0, 21).firings;
    let dropped: Vec<_> = firings.iter().map(|it| (it.rows_counted, it.rows_dropped)).collect();
    assert_eq!(dropped, [(1, 0), (1, 1)]);
}

#[test]
fn whoever_was_idle_is_active_and_its_silence_begins_at_the_restart() {
    use MemberState::{Active, Idle};
    let mut story = Story::new(by_partition(Rejoin::Hold));
    story.row(0, 10);
    story.tick(Span(61));
    story.row(1, 100);
    assert_eq!((states(&story), story.c()), (vec![Idle, Active], 100));
    story.item(Item::Restart(IDLENESS));
    assert_eq!((states(&story), story.c()), (vec![Active, Active], 100));
    story.row(1, 101);
    assert_eq!((story.c(), story.w()), (10, 100), "its maximum is there, and w does not fall");
    story.tick(Span(60));
    story.row(1, 102);
    assert_eq!((states(&story), story.c()), (vec![Active, Active], 10));
    story.tick(Span(1));
    assert_eq!((states(&story), story.c()), (vec![Idle, Active], 102));
}

#[test]
fn whoever_had_not_caught_up_counts_at_once_and_the_finished_stay_so() {
    let mut story = Story::new(by_partition(Rejoin::CatchUp));
    story.row(0, 10);
    story.tick(Span(61));
    story.row(1, 100);
    story.row(2, 100);
    story.item(Item::Finish(PartitionId(2)));
    story.row(0, 20);
    assert_eq!((story.c(), story.oracle.members()[0].aligned), (100, false));
    story.item(Item::Restart(IDLENESS));
    assert!(story.oracle.members()[0].aligned);
    assert_eq!(states(&story)[2], MemberState::Finished);
    story.item(Item::Probe);
    assert_eq!((story.c(), story.w()), (20, 100));
}

#[test]
fn what_is_queued_is_read_again_at_its_instant_of_arrival_after_everything_was_lost() {
    let mut plan = batched(Effective::NextBatch);
    let guard = Guard { ahead: Span(20), action: GuardAction::Reject };
    watermark(&mut plan).guard = Some(guard);
    let mut story = Story::new(plan);
    story.row(0, 3);
    story.batch();
    story.row(0, 4);
    story.row(0, 50);
    story.tick(Span(100));
    story.item(Item::Restart(EVERYTHING));
    assert_eq!((story.oracle.rows_queued(), story.oracle.groups()), (2, 0));
    let step = story.batch();
    assert_eq!(fates(&step), "+?");
    assert_eq!(step.verdicts[1].fate, ExpectedFate::Guarded, "it was from the future");
    assert_eq!(story.w(), 4);
    assert_eq!(counts(&story.item(Item::End)), [(0, ONE)]);
}

#[test]
fn a_row_that_waits_is_no_activity_after_the_restart() {
    let mut plan = by_partition(Rejoin::Hold);
    watermark(&mut plan).effective = Effective::NextBatch;
    plan.trigger = Trigger::Batch;
    let mut story = Story::new(plan);
    story.row(0, 3);
    story.batch();
    story.row(0, 4);
    story.tick(Span(61));
    assert_eq!(states(&story), [MemberState::Idle]);
    story.item(Item::Restart(EXACT));
    assert_eq!(states(&story), [MemberState::Idle], "a restart alone changes nothing");
    story.item(Item::Restart(IDLENESS));
    assert_eq!(states(&story), [MemberState::Active]);
    story.tick(Span(60));
    assert_eq!(states(&story), [MemberState::Active]);
    story.tick(Span(1));
    assert_eq!(states(&story), [MemberState::Idle]);
}

#[test]
fn a_restart_before_any_row_has_nothing_to_lose() {
    let mut plan = by_partition(Rejoin::Hold);
    watermark(&mut plan).initial = EventTime(0);
    let mut story = Story::new(plan);
    story.item(Item::Restart(EVERYTHING));
    assert_eq!((story.c(), story.w(), story.oracle.steps()), (NEVER, 0, 0));
    assert_eq!(fates(&story.row(0, -1)), "L");
    assert_eq!(fates(&story.row(0, 3)), "+");
    assert_eq!(counts(&story.row(0, 12)), [(0, ONE)]);
    story.item(Item::Restart(FLINK));
    assert_eq!(story.w(), 0, "the first value, not -inf");
}

#[test]
fn each_restart_forgets_anew() {
    let mut story = Story::new(short());
    story.row(0, 3);
    assert_eq!(counts(&story.row(0, 12)), [(0, ONE)]);
    for (row, closer) in [(4, 13), (5, 14)] {
        story.item(Item::Restart(FLINK));
        assert_eq!(fates(&story.row(0, row)), "+");
        assert_eq!(counts(&story.row(0, closer)), [(0, ONE)]);
    }
    story.item(Item::Restart(FLINK));
    story.item(Item::Restart(FLINK));
    assert_eq!((story.w(), fates(&story.row(0, 6)).as_str()), (NEVER, "+"));
    assert_eq!(counts(&story.item(Item::End)), [(0, ONE), (10, THREE)]);
}

#[test]
fn a_query_that_has_stopped_stays_so_and_forgets_nothing() {
    let mut story = Story::new(short());
    story.row(0, 12);
    story.item(Item::End);
    let out = story.item(Item::Restart(EVERYTHING));
    assert_eq!((out.ignored, out.steps.len()), (vec![], 0));
    assert_eq!((story.c(), story.w(), story.oracle.stopped()), (i64::MAX, i64::MAX, true));
    assert_eq!(fate(&story.row(0, 3)), ExpectedFate::NotApplicable);
}

#[test]
fn a_restart_that_loses_nothing_changes_nothing() {
    for seed in 0..200 {
        let mut draw = Lcg(seed);
        let plan = random_plan(&mut draw);
        let mut trace = random_trace(&mut draw, plan);
        let mut places = Vec::new();
        for _ in 0..4 {
            let at = draw.below(trace.items.len() as i64) as usize;
            trace.items.insert(at, Item::Checkpoint);
        }
        for (at, it) in trace.items.iter().enumerate() {
            places.extend((*it == Item::Checkpoint).then_some(at));
        }
        let mut restarted = trace.clone();
        places.iter().for_each(|it| restarted.items[*it] = Item::Restart(EXACT));
        assert_eq!(told(&trace).0, told(&restarted).0, "seed {seed}");
    }
}

#[test]
fn a_restart_that_loses_everything_begins_a_new_run() {
    let mut compared = 0;
    for seed in 0..300 {
        let mut draw = Lcg(seed);
        let mut plan = random_plan(&mut draw);
        watermark(&mut plan).generator = GeneratorPlan::GlobalMax;
        if plan.trigger != Trigger::Row {
            plan.trigger = Trigger::Batch;
        }
        let mut trace = random_trace(&mut draw, plan);
        trace.items.retain(|it| {
            matches!(it, Item::Row(_) | Item::Tick(_) | Item::Batch | Item::Heartbeat { .. })
        });
        let Some(at) = (20..trace.items.len()).find(|at| told(&trace).1[at - 1] == 0) else {
            continue;
        };
        let mut fresh = trace.clone();
        fresh.items[at] = Item::Checkpoint;
        trace.items[at] = Item::Restart(EVERYTHING);
        let after = told(&trace).0.split_off(at);
        // The same numbers of items, but nothing before.
        for it in &mut fresh.items[..at] {
            *it = Item::Checkpoint;
        }
        let anew = told(&fresh).0.split_off(at);
        assert_eq!(after, anew, "seed {seed}");
        compared += after.iter().filter(|it| it.contains("Late")).count();
    }
    assert!(300 < compared, "only {compared} late rows: the traces prove nothing");
}

/// Strews in restarts that forget anything.
pub(super) fn strew(draw: &mut Lcg, trace: &mut Trace) {
    for _ in 0..=draw.below(3) {
        let memory = [Memory::Kept, Memory::Lost];
        let rules = RestoreRules {
            watermark: draw.pick(&memory),
            maxima: draw.pick(&memory),
            idleness: draw.pick(&memory),
            windows: draw.pick(&memory),
            ledger: draw.pick(&memory),
        };
        let at = draw.below(trace.items.len() as i64 + 1) as usize;
        trace.items.insert(at, Item::Restart(rules));
    }
}

/// What came of each item, without the numbers of steps, and how much waited after it.
fn told(trace: &Trace) -> (Vec<String>, Vec<u64>) {
    let mut oracle = Oracle::new(trace);
    let mut waiting = Vec::new();
    let lines = (1..).zip(&trace.items).map(|(id, item)| {
        let it = oracle.observe(trace, ItemId(id), item).clone();
        waiting.push(oracle.arrivals_queued());
        let fates = it.verdicts.iter().map(|it| (it.id, it.fate)).collect::<Vec<_>>();
        let bounds = it.steps.iter().map(|it| (it.late, it.evict, it.candidate, it.watermark));
        let figures = it.firings.iter().map(|firing| {
            let values = firing.figures.clone().map(|at| (it.key(at), it.values(at)));
            let figures = values.collect::<Vec<_>>();
            (firing.window, firing.kind, firing.rows_counted, firing.rows_dropped, figures)
        });
        let (bounds, figures) = (bounds.collect::<Vec<_>>(), figures.collect::<Vec<_>>());
        format!("{fates:?} {:?} {bounds:?} {figures:?}", it.ignored)
    });
    (lines.collect(), waiting)
}
