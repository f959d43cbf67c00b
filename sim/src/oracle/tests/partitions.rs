//! The minimum over partitions: idleness, rejoin, flush, fallback, guard, adoption, finish.

use super::*;
use plimsoll_engine::late::Saving;
use plimsoll_engine::output::IgnoredWhy;
use plimsoll_engine::plan::{AllIdle, Fallback, Guard, GuardAction, IdlePlan, Rejoin};
use plimsoll_engine::watermark::member::{Adoption, MemberState};

/// Per row, delay 0, windows of 10, idle after 60.
fn by_partition(rejoin: Rejoin, all_idle: AllIdle) -> Plan {
    let mut plan = plan();
    operator(&mut plan).window = tumbling(Span(10));
    watermark(&mut plan).delay = Span(0);
    let idle = Some(IdlePlan { timeout: Span(60), rejoin, all_idle });
    watermark(&mut plan).generator = GeneratorPlan::PartitionMin { idle };
    plan
}

fn states(story: &Story) -> Vec<MemberState> {
    story.oracle.members().iter().map(|it| it.state).collect()
}

use MemberState::{Active, Finished, Idle};

#[test]
fn the_candidate_is_the_slowest_partition_and_a_new_one_stalls_only_by_what_it_shows() {
    let mut story = Story::new(by_partition(Rejoin::Hold, AllIdle::Flush));
    story.row(0, 100);
    assert_eq!(story.c(), 100);
    story.row(1, 40);
    assert_eq!((story.c(), story.w()), (40, 100), "c falls, w is clamped");
    story.row(1, 120);
    assert_eq!((story.c(), story.oracle.candidate_max().0), (100, 100));
    story.cells(2, &[None, Some(1), Some(1)]);
    assert_eq!(story.c(), i64::MIN, "p2 exists and has shown nothing");
}

#[test]
fn idle_is_strictly_longer_than_the_timeout_and_judged_at_ticks_only() {
    let mut story = Story::new(by_partition(Rejoin::Hold, AllIdle::Flush));
    story.row(0, 10);
    story.row(1, 100);
    story.tick(Span(60));
    assert_eq!(states(&story), [Active, Active]);
    story.row(1, 101);
    story.tick(Span(1));
    assert_eq!((states(&story), story.c()), (vec![Idle, Active], 101));
}

#[test]
fn arrival_ends_silence_at_once_even_where_the_row_waits_for_its_batch() {
    let mut plan = by_partition(Rejoin::Hold, AllIdle::Hold);
    watermark(&mut plan).effective = Effective::NextBatch;
    plan.trigger = Trigger::Batch;
    let mut story = Story::new(plan);
    story.row(0, 10);
    story.batch();
    story.tick(Span(61));
    assert_eq!(states(&story), [Idle]);
    story.row(0, 11);
    assert_eq!((states(&story), story.oracle.rows_queued()), (vec![Active], 1));
    assert_eq!(story.c(), 10);
}

/// p0 at 10 falls idle while p1 moves on to 100; then p0 returns with 20.
fn returned(rejoin: Rejoin) -> Story {
    let mut story = Story::new(by_partition(rejoin, AllIdle::Flush));
    story.row(0, 10);
    story.tick(Span(61));
    story.row(1, 100);
    assert_eq!((states(&story), story.c()), (vec![Idle, Active], 100));
    assert_eq!(fates(&story.row(0, 20)), "L");
    story
}

#[test]
fn rejoin_hold_counts_the_returned_partition_at_once() {
    let mut story = returned(Rejoin::Hold);
    assert_eq!((story.c(), story.w()), (20, 100));
    story.row(1, 150);
    assert_eq!((story.c(), story.w()), (20, 100), "w stands until p0 has caught up");
    story.row(0, 130);
    assert_eq!((story.c(), story.w()), (130, 130));
}

#[test]
fn rejoin_catch_up_counts_it_once_it_has_reached_the_others() {
    let mut story = returned(Rejoin::CatchUp);
    assert_eq!((story.c(), story.oracle.members()[0].aligned), (100, false));
    story.row(1, 150);
    story.row(0, 149);
    assert_eq!((story.c(), story.oracle.members()[0].aligned), (150, false));
    story.row(0, 150);
    assert_eq!((story.c(), story.oracle.members()[0].aligned), (150, true));
    story.row(1, 170);
    assert_eq!(story.c(), 150, "now it counts");
}

#[test]
fn where_nobody_else_counts_the_bar_is_the_candidate_itself() {
    let mut story = returned(Rejoin::CatchUp);
    story.item(Item::Finish(PartitionId(1)));
    assert_eq!((story.c(), states(&story)), (100, vec![Active, Finished]), "c holds");
    story.row(0, 99);
    assert_eq!(story.c(), 100);
    story.row(0, 105);
    assert_eq!((story.c(), story.oracle.members()[0].aligned), (105, true));
}

#[test]
fn where_nobody_else_counts_the_last_candidate_is_the_bar() {
    let mut story = Story::new(by_partition(Rejoin::CatchUp, AllIdle::Flush));
    story.row(2, 4);
    story.row(0, 10);
    story.tick(Span(61));
    story.row(1, 100);
    story.row(0, 20);
    assert_eq!((story.c(), story.oracle.members()[0].aligned), (100, false));
    story.item(Item::Remove(PartitionId(1)));
    assert_eq!((story.c(), story.oracle.members()[0].aligned), (4, false), "p2 flushes 4");
    story.item(Item::Probe);
    assert_eq!((story.c(), story.oracle.members()[0].aligned), (20, true));
}

#[test]
fn all_idle_flush_goes_to_the_largest_and_hold_stays() {
    for (all_idle, c) in [(AllIdle::Flush, 100), (AllIdle::Hold, 10)] {
        let mut story = Story::new(by_partition(Rejoin::Hold, all_idle));
        story.row(0, 10);
        story.row(1, 100);
        assert_eq!(story.c(), 10);
        story.tick(Span(61));
        assert_eq!((states(&story), story.c()), (vec![Idle, Idle], c));
    }
}

#[test]
fn a_finished_partition_flushes_its_last_maximum_and_never_infinity() {
    let mut story = Story::new(by_partition(Rejoin::Hold, AllIdle::Flush));
    story.row(0, 10);
    story.row(1, 100);
    story.item(Item::Finish(PartitionId(1)));
    assert_eq!(story.c(), 10);
    story.tick(Span(61));
    assert_eq!((states(&story), story.c()), (vec![Idle, Finished], 100));
    assert_eq!(fate(&story.row(1, 200)), ExpectedFate::AfterFinish);
    assert_eq!(story.heartbeat(1, 200).ignored[0].why, IgnoredWhy::PartitionFinished);
    story.item(Item::Finish(PartitionId(0)));
    assert_eq!((story.c(), story.w()), (i64::MAX, i64::MAX));
    assert_eq!(lateness(&story.row(2, 999)).saving, Some(Saving::Nothing));
}

#[test]
fn silence_without_timeout_or_fallback_closes_nothing() {
    let mut plan = by_partition(Rejoin::Hold, AllIdle::Flush);
    watermark(&mut plan).generator = GeneratorPlan::PartitionMin { idle: None };
    let mut story = Story::new(plan);
    story.row(0, 10);
    assert!(starts(&story.tick(Span::hours(1_000))).is_empty());
    assert_eq!(story.w(), 10);
}

#[test]
fn the_fallback_moves_w_and_not_c_and_names_the_distance_that_would_have_saved() {
    let mut plan = by_partition(Rejoin::Hold, AllIdle::Hold);
    watermark(&mut plan).fallback = Some(Fallback { behind: Span(30), always: false });
    let mut story = Story::new(plan);
    story.row(0, 15);
    story.tick(Span(60));
    assert_eq!(story.w(), 15, "not idle yet");
    assert_eq!(starts(&story.tick(Span(1))), [10]);
    assert_eq!((story.c(), story.w()), (15, 31));
    let late = lateness(&story.row(0, 25));
    let f = Span(61 - 25);
    assert_eq!(late.saving, Some(Saving::Fallback { smallest: f, largest: f }));
    assert_eq!((late.candidate, late.watermark), (EventTime(15), EventTime(31)));
}

#[test]
fn a_fallback_that_always_holds_needs_no_partition() {
    let mut plan = by_partition(Rejoin::Hold, AllIdle::Hold);
    watermark(&mut plan).fallback = Some(Fallback { behind: Span(30), always: true });
    let mut story = Story::new(plan);
    story.tick(Span(100));
    assert_eq!((story.c(), story.w()), (i64::MIN, 70));
}

#[test]
fn a_guarded_row_never_moves_the_candidate() {
    use GuardAction::{Accept, CountButNotAdvance, Reject};
    for (action, fate_wanted, c) in [
        (Reject, ExpectedFate::Guarded, 5),
        (CountButNotAdvance, ExpectedFate::CountedNotAdvancing, 5),
        (Accept, ExpectedFate::Counted, 1_101),
    ] {
        let mut plan = by_partition(Rejoin::Hold, AllIdle::Hold);
        watermark(&mut plan).guard = Some(Guard { ahead: Span(100), action });
        watermark(&mut plan).delay = Span(10);
        let mut story = Story::starting_at(plan, 1_000);
        story.row(0, 5);
        assert_eq!(fate(&story.row(0, 1_101)), fate_wanted);
        assert_eq!(story.c(), c);
        assert_eq!(fate(&story.row(0, 1_100)), ExpectedFate::Counted, "the limit is not beyond");
        let ignored = story.heartbeat(1, 1_101).ignored.len();
        assert_eq!(ignored, usize::from(action != Accept));
        assert_eq!(story.oracle.members().len(), 2, "the partition is added all the same");
    }
}

#[test]
fn adoption_says_what_a_partition_brings() {
    let add = |story: &mut Story, adoption| {
        story.item(Item::Add { partition: PartitionId(1), adoption });
        let it = story.oracle.members()[1];
        (it.max.0, it.aligned, story.c())
    };
    let story = |rejoin| {
        let mut story = Story::new(by_partition(rejoin, AllIdle::Flush));
        story.row(0, 100);
        story
    };
    let without = Adoption::WithoutWatermark;
    assert_eq!(add(&mut story(Rejoin::Hold), without), (i64::MIN, true, i64::MIN));
    assert_eq!(add(&mut story(Rejoin::CatchUp), without), (i64::MIN, false, 100));
    assert_eq!(add(&mut story(Rejoin::CatchUp), Adoption::AtGroup), (100, true, 100));
}

#[test]
fn a_moved_partition_keeps_or_loses_its_maximum() {
    let moved = |adoption| {
        let mut story = Story::new(by_partition(Rejoin::CatchUp, AllIdle::Flush));
        story.row(0, 100);
        story.row(1, 70);
        story.item(Item::Move { partition: PartitionId(1), adoption });
        (story.oracle.members()[1].max.0, story.c(), story.w())
    };
    assert_eq!(moved(Adoption::WithWatermark), (70, 70, 100));
    assert_eq!(moved(Adoption::WithoutWatermark), (i64::MIN, 100, 100));
    assert_eq!(moved(Adoption::AtGroup), (100, 100, 100));
}

#[test]
fn what_makes_no_sense_is_ignored_by_name() {
    let mut story = Story::new(by_partition(Rejoin::Hold, AllIdle::Flush));
    let adoption = Adoption::AtGroup;
    let partition = PartitionId(0);
    let why = |it: Expected| it.ignored.first().map(|it| it.why);
    assert_eq!(why(story.item(Item::Remove(partition))), Some(IgnoredWhy::NoSuchPartition));
    assert_eq!(why(story.item(Item::Finish(partition))), Some(IgnoredWhy::NoSuchPartition));
    let moved = Item::Move { partition, adoption };
    assert_eq!(why(story.item(moved)), Some(IgnoredWhy::NoSuchPartition));
    assert_eq!(why(story.row(0, 1)), None);
    let added = Item::Add { partition, adoption };
    assert_eq!(why(story.item(added)), Some(IgnoredWhy::PartitionExists));
    assert_eq!(why(story.item(Item::Finish(partition))), None);
    assert_eq!(why(story.item(Item::Finish(partition))), Some(IgnoredWhy::PartitionFinished));
    assert_eq!(why(story.item(moved)), Some(IgnoredWhy::PartitionFinished));
    assert_eq!(why(story.item(Item::Remove(partition))), None);
    let legal = EventTime::LEGAL;
    assert_eq!(why(story.heartbeat(0, legal + 1)), Some(IgnoredWhy::HeartbeatGuarded));
    assert_eq!(states(&story), [Active], "named again, it is new");
    assert_eq!(story.oracle.members()[0].max, EventTime::MIN);
}

#[test]
fn the_global_maximum_keeps_what_a_removed_partition_showed_and_ends_when_all_are_finished() {
    let mut story = Story::new(plan());
    story.row(0, clock("10:00:00"));
    story.row(1, clock("09:59:00"));
    story.item(Item::Remove(PartitionId(0)));
    assert_eq!(story.c(), clock("10:00:00"));
    story.item(Item::Finish(PartitionId(1)));
    assert_eq!((story.c(), story.w()), (i64::MAX, i64::MAX));
}

#[test]
fn a_figure_is_not_known_where_a_partition_was_idle_while_its_window_was_open() {
    use plimsoll_engine::output::Completeness::{Guessed, Known};
    let mut story = Story::new(by_partition(Rejoin::Hold, AllIdle::Hold));
    story.row(0, 15);
    story.tick(Span(61));
    story.row(0, 25);
    let end = story.item(Item::End);
    let notes: Vec<_> = end.firings.iter().map(|it| (it.idle_excluded, it.completeness)).collect();
    assert_eq!(starts(&end), [20], "25 closed [10, 20)");
    assert_eq!(notes, [(false, Known)]);

    let mut story = Story::new(by_partition(Rejoin::Hold, AllIdle::Hold));
    story.row(0, 15);
    story.tick(Span(61));
    let end = story.item(Item::End);
    assert_eq!((end.firings[0].idle_excluded, end.firings[0].completeness), (true, Guessed));
}
