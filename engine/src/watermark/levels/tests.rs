use super::*;
use crate::plan::Rejoin;
use crate::plan::levels::{
    AlignmentPlan, Emptied, IdleAnchor, IdleEnd, LevelAllIdle, LevelPlan, LevelRules, PausedIdle,
    Sampling, Waking,
};

const HOLD: LevelPlan =
    LevelPlan { rejoin: Rejoin::Hold, all_idle: LevelAllIdle::Flush, waking: Waking::AtOnce };

/// As in Flink 2.3.0.
const RULES: LevelRules = LevelRules {
    partitions: LevelPlan { waking: Waking::WithProgress, ..HOLD },
    tasks: LevelPlan { rejoin: Rejoin::CatchUp, all_idle: LevelAllIdle::FlushIfLast, ..HOLD },
    inputs: HOLD,
    anchor: IdleAnchor::FirstQuietProbe,
    emptied: Emptied::Frozen,
    idle_end: IdleEnd::Unheard,
    paused_idle: PausedIdle::Stays,
};

/// With a timeout of 30.
fn flink(tasks: &[u32]) -> LevelsPlan {
    LevelsPlan {
        tasks: tasks.to_vec(),
        rules: RULES,
        idle_timeout: Some(Span(30)),
        emission: None,
        alignment: None,
    }
}

/// Partitions by task, of one input, with a delay of 2.
fn of(plan: &LevelsPlan, partitions: &[u32]) -> Levels {
    let mut levels = Levels::new(plan, &[Span(2)], ProcTime(0));
    for (number, task) in (0..).zip(partitions) {
        assert!(levels.add(PartitionId::of(0, *task, number), false));
    }
    levels
}

fn row(levels: &mut Levels, task: u32, number: u32, time: i64) {
    let partition = PartitionId::of(0, task, number);
    assert_eq!(levels.standing(partition), Standing::Reading);
    read(levels, partition, time);
}

fn read(levels: &mut Levels, partition: PartitionId, time: i64) {
    levels.hear(partition);
    levels.observe(partition, EventTime(time), ItemId(time as u64));
}

/// The watermark after a probe, and whether the operator is idle.
fn probe(levels: &mut Levels) -> (i64, bool) {
    levels.probe();
    (levels.promise().watermark.0, levels.is_idle())
}

fn wait(levels: &mut Levels, span: i64) {
    let until = ProcTime(levels.state.now.0 + span);
    while levels.advance(until) {}
    assert_eq!(levels.state.now, until);
}

#[test]
fn the_watermark_moves_at_probes_only_and_says_who_moved_it() {
    let mut levels = of(&flink(&[]), &[0, 1]);
    row(&mut levels, 0, 0, 100);
    assert_eq!(probe(&mut levels).0, i64::MIN, "the other has shown nothing");
    row(&mut levels, 1, 1, 50);
    assert_eq!(levels.promise(), Promise::NONE);
    assert_eq!(probe(&mut levels), (48, false));
    assert_eq!(levels.promise().set_by, Some(ItemId(50)));
}

#[test]
fn one_task_waits_for_a_partition_that_wakes_and_two_tasks_do_not() {
    for (tasks, expected) in [([0, 0], 98), ([0, 1], 118)] {
        let mut levels = of(&flink(&[]), &tasks);
        row(&mut levels, 0, 0, 100);
        row(&mut levels, tasks[1], 1, 50);
        probe(&mut levels);
        probe(&mut levels);
        wait(&mut levels, 31);
        row(&mut levels, 0, 0, 100);
        assert_eq!(probe(&mut levels).0, 98);
        row(&mut levels, tasks[1], 1, 60);
        row(&mut levels, 0, 0, 120);
        assert_eq!(probe(&mut levels).0, expected, "{tasks:?}");
    }
}

#[test]
fn silence_of_all_lets_the_largest_through_and_a_task_that_wakes_below_it_is_not_heard() {
    let mut levels = of(&flink(&[]), &[0, 0]);
    row(&mut levels, 0, 0, 100);
    row(&mut levels, 0, 1, 50);
    assert_eq!(probe(&mut levels), (48, false));
    probe(&mut levels);
    wait(&mut levels, 31);
    assert_eq!(probe(&mut levels), (98, true));
    row(&mut levels, 0, 1, 90);
    assert_eq!(probe(&mut levels), (98, true));
    row(&mut levels, 0, 1, 110);
    assert_eq!(probe(&mut levels), (108, false));
}

#[test]
fn a_task_that_lost_its_last_partition_stalls_and_one_that_never_had_any_times_out() {
    for (emptied, expected) in [(Emptied::Frozen, 48), (Emptied::TimesOut, 98)] {
        let mut levels =
            of(&LevelsPlan { rules: LevelRules { emptied, ..RULES }, ..flink(&[3]) }, &[0, 1]);
        row(&mut levels, 0, 0, 100);
        row(&mut levels, 1, 1, 50);
        assert_eq!(probe(&mut levels).0, i64::MIN, "the third has shown nothing");
        wait(&mut levels, 31);
        row(&mut levels, 0, 0, 100);
        assert_eq!(probe(&mut levels).0, 48, "the third has timed out");
        assert!(levels.remove(PartitionId::of(0, 1, 1)));
        for _ in 0..3 {
            row(&mut levels, 0, 0, 100);
            wait(&mut levels, 31);
            probe(&mut levels);
        }
        assert_eq!(levels.promise().watermark.0, expected, "{emptied:?}");
    }
}

#[test]
fn the_end_of_an_idle_task_may_go_unheard() {
    for (idle_end, expected) in [(IdleEnd::Unheard, 98), (IdleEnd::Counts, i64::MAX)] {
        let mut levels =
            of(&LevelsPlan { rules: LevelRules { idle_end, ..RULES }, ..flink(&[]) }, &[0]);
        row(&mut levels, 0, 0, 100);
        probe(&mut levels);
        probe(&mut levels);
        wait(&mut levels, 31);
        assert_eq!(probe(&mut levels), (98, true));
        assert!(levels.finish(PartitionId::of(0, 0, 0)));
        assert_eq!(levels.promise().watermark.0, expected);
        assert_eq!(levels.standing(PartitionId::of(0, 0, 0)), Standing::Finished);
        levels.end();
        assert_eq!(levels.promise().watermark, EventTime::MAX);
    }
}

#[test]
fn a_paused_partition_resumes_when_the_others_have_caught_up() {
    let alignment = AlignmentPlan {
        update: Span(10),
        sampling: Sampling::Newest,
        limit: Limit::Drift(Span(20)),
    };
    let plan = LevelsPlan { alignment: Some(alignment), emission: Some(Span(5)), ..flink(&[]) };
    let mut levels = of(&plan, &[0, 0]);
    row(&mut levels, 0, 0, 100);
    row(&mut levels, 0, 1, 50);
    wait(&mut levels, 10);
    assert_eq!(levels.standing(PartitionId::of(0, 0, 0)), Standing::Paused);
    for _ in 0..20 {
        row(&mut levels, 0, 1, 50);
        wait(&mut levels, 5);
    }
    assert_eq!(levels.promise().watermark.0, 48, "who is paused does not fall silent");
    row(&mut levels, 0, 1, 80);
    wait(&mut levels, 10);
    assert_eq!(levels.standing(PartitionId::of(0, 0, 0)), Standing::Reading);
}

#[test]
fn who_cannot_write_does_not_fall_silent() {
    let mut levels = of(&flink(&[]), &[0, 1]);
    row(&mut levels, 0, 0, 100);
    row(&mut levels, 1, 1, 50);
    probe(&mut levels);
    assert!(levels.press(0, 1, true));
    probe(&mut levels);
    wait(&mut levels, 100);
    row(&mut levels, 0, 0, 100);
    assert_eq!(probe(&mut levels).0, 48);
    assert!(levels.press(0, 1, false));
    wait(&mut levels, 31);
    row(&mut levels, 0, 0, 100);
    assert_eq!(probe(&mut levels).0, 98);
}

#[test]
fn a_clock_that_jumps_a_thousand_years_probes_only_where_something_can_happen() {
    let plan = LevelsPlan { emission: Some(Span(1)), ..flink(&[]) };
    let mut levels = of(&plan, &[0, 0]);
    row(&mut levels, 0, 0, 100);
    let mut calls = 1;
    while levels.advance(ProcTime(1 << 45)) {
        calls += 1;
    }
    assert!(calls < 20, "{calls}");
    assert_eq!((levels.promise().watermark.0, levels.is_idle()), (98, true));
}

#[test]
fn skipping_probes_changes_nothing() {
    let plan = LevelsPlan { emission: Some(Span(7)), ..flink(&[2]) };
    let mut levels = of(&plan, &[0, 1]);
    row(&mut levels, 0, 0, 100);
    row(&mut levels, 1, 1, 50);
    let mut patient = levels.clone();
    for _ in 0..20 {
        wait(&mut levels, 7);
    }
    wait(&mut patient, 140);
    assert_eq!(levels.state.inputs, patient.state.inputs);
    assert_eq!(levels.promise().watermark.0, 98);
}

#[test]
fn a_restart_forgets_every_watermark_and_keeps_the_partitions() {
    let mut levels = of(&flink(&[]), &[0, 1]);
    row(&mut levels, 0, 0, 100);
    row(&mut levels, 1, 1, 50);
    probe(&mut levels);
    let state = levels.state().clone();
    let mut restored = Levels::load(&flink(&[]), &[Span(2)], state).expect("whole");
    assert_eq!(restored, levels);
    restored.forget(true, true, true, ProcTime(9));
    row(&mut restored, 0, 0, 40);
    assert_eq!(probe(&mut restored).0, i64::MIN);
    row(&mut restored, 1, 1, 30);
    assert_eq!(probe(&mut restored).0, 28, "lower than before");
}

#[test]
fn a_state_that_does_not_fit_is_refused() {
    let levels = of(&flink(&[]), &[0]);
    let refused = Levels::load(&flink(&[]), &[], levels.state().clone());
    assert_eq!(refused, Err("1 inputs, 0 have a delay".to_owned()));
}

#[test]
fn two_inputs_are_as_far_as_the_slower_one_until_it_falls_silent() {
    let mut levels = Levels::new(&flink(&[]), &[Span(2), Span(5)], ProcTime(0));
    let [left, right] = [PartitionId::of(0, 0, 0), PartitionId::of(1, 0, 0)];
    assert!(levels.add(left, false) && levels.add(right, false) && !levels.add(left, false));
    read(&mut levels, left, 100);
    read(&mut levels, right, 50);
    assert_eq!(probe(&mut levels), (45, false));
    assert_eq!(levels.input(0).map(|it| it.watermark.0), Some(98));
    probe(&mut levels);
    wait(&mut levels, 31);
    levels.hear(left);
    assert_eq!(probe(&mut levels), (98, false));
}
