//! Levels: lines, silence, who counts, ends, who waits. The expected values are derived by hand from
//! the law on levels.

use super::*;
use plimsoll_engine::output::{IgnoredWhy, StepKind};
use plimsoll_engine::plan::Rejoin;
use plimsoll_engine::plan::levels::{
    AlignmentPlan, Emptied, IdleAnchor, IdleEnd, LevelAllIdle, LevelPlan, LevelRules, LevelsPlan,
    Limit, PausedIdle, Sampling, Waking,
};
use plimsoll_engine::watermark::levels::Steer;
use plimsoll_engine::watermark::member::Adoption;

const LEVEL: LevelPlan =
    LevelPlan { rejoin: Rejoin::Hold, all_idle: LevelAllIdle::Flush, waking: Waking::AtOnce };

/// One input with so many tasks, idle behind 10, no emission but those asked for, windows of 10.
fn levels(tasks: u32, change: impl Fn(&mut LevelsPlan)) -> Story {
    let mut plan = flow(&[0], vec![StagePlan::Window(windows(T, 10))]);
    watermark(&mut plan).effective = Effective::Probe;
    plan.trigger = Trigger::Row;
    let mut levels = LevelsPlan {
        tasks: vec![tasks],
        rules: LevelRules {
            partitions: LEVEL,
            tasks: LEVEL,
            inputs: LEVEL,
            anchor: IdleAnchor::LastActivity,
            emptied: Emptied::TimesOut,
            idle_end: IdleEnd::Counts,
            paused_idle: PausedIdle::Resumes,
        },
        idle_timeout: Some(Span(10)),
        emission: None,
        alignment: None,
    };
    change(&mut levels);
    plan.flow.as_mut().expect("a flow").levels = Some(levels);
    Story::new(plan)
}

impl Story {
    fn from(&mut self, task: u32, number: u32, time: i64) -> ExpectedFlow {
        let cells = [Some(time), Some(1), Some(1)];
        self.trace.push_row(PartitionId::of(0, task, number), &cells);
        self.observe()
    }

    fn probe(&mut self) -> i64 {
        self.item(Item::Probe);
        self.w()
    }

    fn tick(&mut self, span: i64) -> Vec<i64> {
        let steps = self.item(Item::Tick(Span(span))).steps;
        steps.iter().map(|it| it.now.0).collect()
    }
}

#[test]
fn rows_move_nothing_before_an_emission_and_the_smallest_of_all_counts() {
    let mut story = levels(2, |_| {});
    story.from(0, 0, 30);
    story.from(0, 1, 20);
    assert_eq!((story.w(), story.probe()), (NEVER, NEVER), "t1 has shown nothing");
    story.from(1, 0, 25);
    assert_eq!((story.w(), story.probe()), (NEVER, 20));
    assert_eq!(fates(&story.from(0, 1, 5)), "L");
}

#[test]
fn silence_is_strict_and_counts_from_the_last_row_or_the_first_quiet_emission() {
    let told = |anchor| {
        let mut story = levels(1, |it| it.rules.anchor = anchor);
        story.from(0, 0, 30);
        story.from(0, 1, 20);
        let mut all = vec![story.probe()];
        for _ in 0..5 {
            story.from(0, 0, 30);
            story.tick(5);
            all.push(story.probe());
        }
        all
    };
    assert_eq!(told(IdleAnchor::LastActivity), [20, 20, 20, 30, 30, 30], "15 after the row");
    // Nothing new is found at 5 first; 15 is not more than 10 behind it, 20 is.
    assert_eq!(told(IdleAnchor::FirstQuietProbe), [20, 20, 20, 20, 30, 30]);
}

#[test]
fn a_clock_that_stands_counts_no_silence() {
    let mut story = levels(1, |_| {});
    story.from(0, 0, 30);
    story.from(0, 1, 20);
    let press = |on| Item::Steer(Steer::Press { input: 0, task: 0, on });
    story.item(press(true));
    story.tick(100);
    story.from(0, 0, 30);
    assert_eq!(story.probe(), 20);
    story.item(press(false));
    story.tick(10);
    story.from(0, 0, 30);
    assert_eq!(story.probe(), 20, "10 on its own clock");
    story.tick(1);
    assert_eq!(story.probe(), 30);
    let ignored = story.item(Item::Steer(Steer::Press { input: 0, task: 7, on: true })).ignored;
    assert_eq!(ignored[0].why, IgnoredWhy::NoSuchTask);
}

#[test]
fn the_same_story_ends_differently_with_two_partitions_in_one_task_and_in_two() {
    let told = |task, catch_up: bool| {
        let rejoin = if catch_up { Rejoin::CatchUp } else { Rejoin::Hold };
        let mut story = levels(1 + task, |it| it.rules.tasks.rejoin = rejoin);
        story.from(0, 0, 30);
        story.from(task, 1, 20);
        story.probe();
        story.tick(11);
        story.from(0, 0, 40);
        let without = story.probe();
        story.from(task, 1, 25);
        story.probe();
        story.from(0, 0, 50);
        (without, story.probe())
    };
    assert_eq!(told(0, true), (40, 40), "a partition that wakes behind holds the others up");
    assert_eq!(told(1, true), (40, 50), "a task that wakes behind is not waited for");
    assert_eq!(told(1, false), (40, 40));
}

#[test]
fn when_all_are_idle_the_largest_counts_or_only_if_the_last_is_where_they_are() {
    let told = |all_idle, slow_is_last: bool| {
        let mut story = levels(2, |it| it.rules.tasks.all_idle = all_idle);
        story.from(0, 0, 30);
        story.from(1, 0, 20);
        story.probe();
        story.tick(6);
        story.from(u32::from(slow_is_last), 0, 10);
        story.tick(6);
        story.probe();
        story.tick(6);
        story.probe()
    };
    use LevelAllIdle::{Flush, FlushIfLast, Hold};
    assert_eq!([told(Flush, true), told(FlushIfLast, true), told(Hold, true)], [30, 30, 20]);
    // The slow one idle first, the fast one alone is where they are.
    assert_eq!([told(FlushIfLast, false), told(Hold, false)], [30, 30]);
}

#[test]
fn a_task_without_partitions_stalls_until_its_own_silence_is_too_long() {
    let mut story = levels(2, |_| {});
    story.from(0, 0, 30);
    story.tick(10);
    story.from(0, 0, 30);
    assert_eq!(story.probe(), NEVER);
    story.tick(1);
    assert_eq!(story.probe(), 30);
    let mut story = levels(2, |it| it.rules.emptied = Emptied::Frozen);
    story.from(0, 0, 30);
    story.from(1, 0, 20);
    assert_eq!(story.probe(), 20);
    story.item(Item::Remove(PartitionId::of(0, 1, 0)));
    story.tick(50);
    story.from(0, 0, 40);
    assert_eq!(story.probe(), 20, "it is never idle");
}

#[test]
fn the_last_end_of_a_task_is_heard_at_once_and_that_of_an_idle_one_perhaps() {
    let end = |it| Item::Finish(PartitionId::of(0, 1, it));
    let mut story = levels(2, |_| {});
    story.from(0, 0, 30);
    story.from(1, 0, 10);
    story.from(1, 1, 20);
    assert_eq!(story.probe(), 10);
    story.item(end(0));
    assert_eq!((story.w(), story.probe()), (10, 20), "at the emission");
    story.item(end(1));
    assert_eq!(story.w(), 30, "at once");
    let ignored = story.item(Item::Add {
        partition: PartitionId::of(0, 1, 1),
        adoption: Adoption::WithoutWatermark,
    });
    assert_eq!(ignored.ignored[0].why, IgnoredWhy::PartitionExists);
    for (idle_end, w) in [(IdleEnd::Counts, i64::MAX), (IdleEnd::Unheard, 30)] {
        let mut story = levels(2, |it| it.rules.idle_end = idle_end);
        story.from(0, 0, 30);
        story.from(1, 0, 10);
        story.tick(11);
        assert_eq!(story.probe(), 30, "both idle");
        story.item(end(0));
        assert_eq!(story.w(), w);
    }
}

#[test]
fn who_is_ahead_of_the_limit_waits_and_is_judged_when_it_is_read() {
    let alignment =
        AlignmentPlan { update: Span(5), sampling: Sampling::Newest, limit: Limit::Announced };
    let mut story = levels(1, |it| it.alignment = Some(alignment));
    let limit = |it| Item::Steer(Steer::Limit(EventTime(it)));
    story.item(limit(20));
    story.from(0, 0, 20);
    story.from(0, 1, 21);
    assert_eq!(story.probe(), 20);
    assert_eq!(fates(&story.from(0, 0, 25)), "+", "at the limit it is read");
    let waits = story.from(0, 1, 9);
    assert_eq!((fates(&waits), waits.steps[0].kind), (String::new(), StepKind::Data));
    story.item(Item::Finish(PartitionId::of(0, 0, 1)));
    assert_eq!(story.from(0, 1, 50).verdicts[0].fate, FlowFate::AfterFinish);
    let resumed = story.item(limit(21));
    assert_eq!((fates(&resumed), resumed.steps[0].rows_in), ("L".to_owned(), 1));
    assert_eq!(story.probe(), 25, "its end was read behind the row");
}

#[test]
fn with_a_drift_each_sample_sets_the_limit_and_the_oldest_of_two_is_compared() {
    let limit = Limit::Drift(Span(5));
    let alignment = AlignmentPlan { update: Span(5), sampling: Sampling::OldestOf(2), limit };
    let mut story = levels(2, |it| {
        it.alignment = Some(alignment);
        it.emission = Some(Span(2));
    });
    story.from(0, 0, 10);
    story.from(1, 0, 30);
    assert_eq!(story.tick(5), [2, 4, 5]);
    assert_eq!(fates(&story.from(1, 0, 31)), "+", "one sample is none");
    story.tick(5);
    assert_eq!(fates(&story.from(1, 0, 32)), "", "30 is more than 10 + 5");
    assert_eq!(fates(&story.end()), "+");
}

#[test]
fn instants_that_find_nothing_new_are_left_out_but_for_those_of_a_silence_that_is_too_long() {
    let mut story = levels(1, |it| it.emission = Some(Span(2)));
    story.from(0, 0, 30);
    // 2 shows the row, 4 is the first that finds nothing new, 6 finds nothing; at 12 the partition is idle.
    assert_eq!(story.tick(101), [2, 4, 6, 12, 14, 101]);
    assert_eq!(story.tick(100), [201]);
}
