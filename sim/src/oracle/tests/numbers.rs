//! The numbers of the founding texts (S3 to S73).

use super::*;
use plimsoll_engine::late::Saving;
use plimsoll_engine::output::Completeness;

const MINUTE: i64 = 60_000;

#[test]
fn s3_s4_the_window_closes_at_the_arrival_of_10_12_00_and_not_before() {
    let mut story = Story::new(plan());
    assert_eq!(written(&story.row(0, clock("10:08:30"))), []);
    assert_eq!(written(&story.row(0, clock("10:12:00") - 1)), []);
    let closing = story.row(0, clock("10:12:00"));
    let start = clock("10:00:00");
    assert_eq!(written(&closing), [(2, start, Some(1), Value::Int(1), FiringKind::OnTime)]);
    let step = &closing.steps[0];
    assert_eq!(step.evict, Some(EventTime(clock("10:10:00"))));
    assert_eq!(step.late, Some(EventTime(clock("10:10:00") - 1)));

    let mut story = Story::new(plan());
    story.row(0, clock("10:08:30"));
    assert_eq!(starts(&story.row(0, clock("10:12:30"))), [start]);
    assert_eq!(story.w(), clock("10:10:30"), "30 seconds to spare");
}

#[test]
fn s5_10_09_55_is_late_and_five_more_seconds_of_delay_would_have_kept_it() {
    let mut story = Story::new(plan());
    story.row(0, clock("10:08:30"));
    story.row(0, clock("10:12:00"));
    let late = lateness(&story.row(1, clock("10:09:55")));
    let saving = Span::seconds(125);
    assert_eq!(late.saving, Some(Saving::Delay { smallest: saving, largest: saving }));
    assert_eq!((late.lost, late.kept, late.set_by), (1, 0, Some(ItemId(2))));
    assert_eq!((late.watermark.0, late.candidate.0), (clock("10:10:00"), clock("10:12:00")));
    let totals = story.oracle.window(EventTime(clock("10:00:00"))).expect("windows");
    assert_eq!((totals.rows_counted, totals.rows_dropped, totals.open), (1, 1, false));
}

#[test]
fn s18_the_same_window_closes_at_10_04_or_at_10_40_as_traffic_decides() {
    let closed_at = |next: &str| {
        let mut four = plan();
        watermark(&mut four).delay = Span::minutes(4);
        let mut story = Story::starting_at(four, clock("09:59:00"));
        story.row(0, clock("09:59:00"));
        story.tick(Span(clock(next) - clock("09:59:00")));
        let closing = story.row(0, clock(next));
        assert_eq!(starts(&closing), [clock("09:50:00")]);
        closing.steps[0].now.0
    };
    assert_eq!(closed_at("10:04:00"), clock("10:04:00"));
    assert_eq!(closed_at("10:40:00"), clock("10:40:00"));
}

/// 5 minute windows, 10 minutes of delay, a trigger every minute, effective in the next batch.
fn monitored() -> Plan {
    let mut plan = plan();
    operator(&mut plan).window = tumbling(Span::minutes(5));
    watermark(&mut plan).delay = Span::minutes(10);
    watermark(&mut plan).effective = Effective::NextBatch;
    plan.trigger = Trigger::Interval(Span::minutes(1));
    plan
}

#[test]
fn s32_eight_minutes_behind_is_counted_and_twelve_is_dropped() {
    let mut story = Story::new(monitored());
    story.row(0, clock("10:30:00"));
    story.tick(Span::minutes(1));
    story.row(0, clock("10:22:00"));
    story.row(0, clock("10:18:00"));
    let step = story.tick(Span::minutes(1));
    assert_eq!(fates(&step), "+L");
    assert_eq!(kinds(&step), [StepKind::Data]);
    assert_eq!(kinds(&story.tick(Span::seconds(59))), []);
}

#[test]
fn s41_the_first_batch_admits_everything() {
    let mut story = Story::new(monitored());
    story.row(0, clock("10:30:00"));
    story.row(0, clock("01:00:00"));
    assert_eq!(fates(&story.tick(Span::minutes(1))), "++");
}

#[test]
fn s49_s50_10_00_to_10_05_is_released_when_m_reaches_10_15() {
    let mut plan = monitored();
    watermark(&mut plan).effective = Effective::Row;
    plan.trigger = Trigger::Row;
    let mut story = Story::new(plan);
    story.row(0, clock("10:04:59"));
    assert!(starts(&story.row(0, clock("10:15:00") - 1)).is_empty());
    assert_eq!(starts(&story.row(0, clock("10:15:00"))), [clock("10:00:00")]);
}

#[test]
fn s50_s73_generations_are_delay_plus_length_over_slide() {
    for (delay, generations) in [(10, 3), (20, 5)] {
        let mut plan = monitored();
        watermark(&mut plan).delay = Span::minutes(delay);
        watermark(&mut plan).effective = Effective::Row;
        plan.trigger = Trigger::Row;
        let mut story = Story::new(plan);
        for minute in 0..120 {
            story.row(0, minute * MINUTE);
            if minute > 60 {
                assert_eq!(story.oracle.open_windows().count(), generations);
                assert_eq!(story.oracle.groups(), generations as u64);
            }
        }
    }
}

#[test]
fn s51_sliding_ten_by_one_puts_each_row_into_ten_windows() {
    let mut plan = plan();
    operator(&mut plan).window =
        WindowSpec { size: Span::minutes(10), slide: Span::minutes(1), offset: Span::ZERO };
    let mut story = Story::new(plan);
    story.row(0, clock("10:00:30"));
    let open: Vec<_> = story.oracle.open_windows().map(|it| it.start.0).collect();
    let want: Vec<_> = (0..10).map(|it| clock("09:51:00") + it * MINUTE).collect();
    assert_eq!(open, want);
    assert_eq!(story.oracle.groups(), 10);
}

#[test]
fn s54_at_the_watermark_a_row_is_admitted_and_below_it_is_not() {
    let mut story = Story::new(plan());
    story.row(0, clock("10:12:00"));
    assert_eq!(fates(&story.row(0, clock("10:10:00"))), "+");
    assert_eq!(fates(&story.row(0, clock("10:10:00") - 1)), "L");
}

#[test]
fn s77_s78_a_quiet_partition_stalls_nothing_and_its_backlog_is_dropped() {
    let mut story = Story::new(plan());
    story.row(1, clock("09:30:00"));
    assert_eq!(starts(&story.row(0, clock("10:12:00"))), [clock("09:30:00")]);
    assert_eq!(fates(&story.row(1, clock("09:31:00"))), "L");
    assert_eq!(story.w(), clock("10:10:00"), "late rows do not pull it back");
}

#[test]
fn s20_a_finite_input_ends_in_known_figures_unless_something_was_dropped() {
    let mut story = Story::new(plan());
    story.row(0, clock("10:01:00"));
    story.row(0, clock("10:22:30"));
    story.row(0, clock("10:20:29"));
    let end = story.item(Item::End);
    let known: Vec<_> = end.firings.iter().map(|it| it.completeness).collect();
    assert_eq!(starts(&end), [clock("10:20:00")]);
    assert_eq!(known, [Completeness::Guessed], "10:20:29 was dropped for it");

    let mut story = Story::new(plan());
    story.row(0, clock("10:01:00"));
    let end = story.item(Item::End);
    assert_eq!(end.firings[0].completeness, Completeness::Known);
    assert_eq!((story.c(), story.w(), story.oracle.groups()), (i64::MAX, i64::MAX, 0));
}
