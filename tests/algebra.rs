//! Small pure laws, on any numbers at all: times and spans, windows and slices, sessions and sums, texts
//! of times, the combined candidate and the lag, ranges of joins, levels of combination.
//!
//! Each is checked against arithmetic that is wide enough never to overflow, or against its plain
//! definition.
//!
//! Invariant: the draws are the same on every run; a counterexample is shrunk and printed.

mod levels;
mod matching;

use plimsoll_engine::late::InForce;
use plimsoll_engine::operator::accumulate::Accumulators;
use plimsoll_engine::operator::session::span;
use plimsoll_engine::plan::flow::Touching;
use plimsoll_engine::plan::{
    Aggregate, AllIdle, Effective, GeneratorPlan, WatermarkPlan, WindowSpec,
};
use plimsoll_engine::row::{ColumnIx, ItemId, PartitionId, RowBatch};
use plimsoll_engine::time::{EventTime, ProcTime, Span};
use plimsoll_engine::watermark::combine;
use plimsoll_engine::watermark::effective::Schedule;
use plimsoll_engine::watermark::generator::Generator;
use plimsoll_engine::watermark::member::{Adoption, Change, Member, MemberState};
use plimsoll_engine::window::Window;
use plimsoll_engine::window::assign::Assigner;
use plimsoll_sim::trace::time_text::{SpanText, TimeText, parse_span, parse_time};
use quickcheck::{Gen, QuickCheck, TestResult, Testable};

/// Checks a law on two thousand draws.
fn law<T: Testable>(law: T) {
    QuickCheck::new().rng(Gen::from_size_and_seed(60, 0xB16)).tests(2_000).quickcheck(law);
}

/// Into the numbers that are neither of the two ends.
fn finite(wide: i128) -> EventTime {
    let (low, high) = (i128::from(i64::MIN + 1), i128::from(i64::MAX - 1));
    EventTime(wide.clamp(low, high) as i64)
}

/// Into i64.
fn narrow(wide: i128) -> i64 {
    wide.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

#[test]
fn the_ends_of_event_time_stick_whatever_is_added_or_taken_away() {
    fn sticks(span: i64) -> bool {
        let span = Span(span);
        [EventTime::MIN, EventTime::MAX].iter().all(|it| *it + span == *it && *it - span == *it)
    }
    law(sticks as fn(i64) -> bool);
}

#[test]
fn finite_event_time_saturates_before_the_ends() {
    fn saturates(time: i64, span: i64) -> TestResult {
        if !EventTime(time).is_finite() {
            return TestResult::discard();
        }
        let (wide, by) = (i128::from(time), i128::from(span));
        // The smallest span has no opposite: taking it away saturates one short of it.
        let back = i128::from(span.saturating_neg());
        let sum = EventTime(time) + Span(span) == finite(wide + by);
        let difference = EventTime(time) - Span(span) == finite(wide + back);
        TestResult::from_bool(sum && difference)
    }
    law(saturates as fn(i64, i64) -> TestResult);
}

#[test]
fn moving_times_keeps_their_order() {
    fn keeps(one: i64, two: i64, span: i64) -> bool {
        let (early, late) = (EventTime(one.min(two)), EventTime(one.max(two)));
        let by = Span(span);
        early + by <= late + by && early - by <= late - by
    }
    law(keeps as fn(i64, i64, i64) -> bool);
}

#[test]
fn spans_saturate_and_processing_times_keep_off_the_reserved_ends() {
    fn saturates(one: i64, two: i64) -> bool {
        let (a, b) = (i128::from(one), i128::from(two));
        let kept_off = |it: i128| {
            let ends = one == i64::MIN || one == i64::MAX;
            if ends { one } else { narrow(it).clamp(i64::MIN + 1, i64::MAX - 1) }
        };
        let sums = (Span(one) + Span(two)).0 == narrow(a + b)
            && (ProcTime(one) + Span(two)).0 == kept_off(a + b);
        let differences = (Span(one) - Span(two)).0 == narrow(a - b)
            && (ProcTime(one) - Span(two)).0 == kept_off(a - b.max(-i128::from(i64::MAX)))
            && ProcTime(one).since(ProcTime(two)).0 == narrow(a - b)
            && EventTime(one).since(EventTime(two)).0 == narrow(a - b);
        let units = Span::seconds(one).0 == narrow(a * 1_000)
            && Span::minutes(one).0 == narrow(a * 60_000)
            && Span::hours(one).0 == narrow(a * 3_600_000);
        sums && differences && units
    }
    law(saturates as fn(i64, i64) -> bool);
}

/// A grid, and a legal time: near zero, or far away.
fn grid(size: u8, slide: u8, offset: i16, time: i64) -> (Assigner, WindowSpec, EventTime) {
    let spec = WindowSpec {
        size: Span(i64::from(size) + 1),
        slide: Span(i64::from(slide) + 1),
        offset: Span(i64::from(offset)),
    };
    let time = if time % 2 == 0 { time % 2_000 } else { time % EventTime::LEGAL };
    (Assigner::new(spec), spec, EventTime(time))
}

#[test]
fn the_windows_of_a_time_are_all_grid_windows_that_contain_it() {
    fn all(size: u8, slide: u8, offset: i16, time: i64) -> bool {
        let (assigner, spec, time) = grid(size, slide, offset, time);
        let found: Vec<Window> = assigner.windows(time).collect();
        // By definition, trying every start that can contain the time.
        let on_grid = |it: &i64| (it - spec.offset.0).rem_euclid(spec.slide.0) == 0;
        let starts = (time.0 - spec.size.0 + 1..=time.0).filter(on_grid);
        let defined: Vec<Window> = starts
            .map(|it| Window { start: EventTime(it), end: EventTime(it + spec.size.0) })
            .collect();
        found == defined
            && found.iter().all(|it| it.contains(time))
            && assigner.window_count(time) == found.len() as i64
    }
    law(all as fn(u8, u8, i16, i64) -> bool);
}

#[test]
fn the_frame_is_the_floor_also_below_zero() {
    fn floors(size: u8, slide: u8, offset: i16, time: i64) -> bool {
        let (assigner, spec, time) = grid(size, slide, offset, time);
        let frame = assigner.frame(time);
        let on_grid = (frame.0 - spec.offset.0).rem_euclid(spec.slide.0) == 0;
        on_grid && frame <= time && time < frame + spec.slide
    }
    law(floors as fn(u8, u8, i16, i64) -> bool);
}

#[test]
fn slices_partition_time_and_windows_are_whole_slices() {
    fn partition(size: u8, slide: u8, offset: i16, time: i64) -> bool {
        let (assigner, _, time) = grid(size, slide, offset, time);
        let slice = assigner.slice(time);
        let last = slice.end - Span(1);
        let neighbours = assigner.slice(slice.end).start == slice.end
            && assigner.slice(slice.start - Span(1)).end == slice.start;
        let one = [slice.start, last].iter().all(|it| assigner.slice(*it) == slice);
        let same_windows =
            [slice.start, last].iter().all(|it| assigner.windows(*it).eq(assigner.windows(time)));
        let whole = assigner.windows(time).all(|it| {
            let first = assigner.slice(it.start);
            let last = assigner.slice(it.end - Span(1));
            first.start == it.start && last.end == it.end
        });
        slice.contains(time) && neighbours && one && same_windows && whole
    }
    law(partition as fn(u8, u8, i16, i64) -> bool);
}

#[test]
fn the_next_end_is_the_smallest_window_end_after_the_watermark() {
    fn smallest(size: u8, slide: u8, offset: i16, watermark: i64) -> bool {
        let (assigner, spec, near) = grid(size, slide, offset, watermark);
        let is_end = |it: EventTime| {
            (i128::from(it.0) - i128::from(spec.size.0) - i128::from(spec.offset.0))
                .rem_euclid(i128::from(spec.slide.0))
                == 0
        };
        let end = assigner.next_end(near);
        let next = near < end && is_end(end) && end - spec.slide <= near;
        // Any number at all: never at or behind it, and the ends stick.
        let any = EventTime(watermark);
        let end = assigner.next_end(any);
        next && if any.is_finite() { any <= end && end.is_finite() } else { end == any }
    }
    law(smallest as fn(u8, u8, i16, i64) -> bool);
    for it in [EventTime::MIN, EventTime::MAX] {
        assert_eq!(grid(9, 3, 1, 0).0.next_end(it), it);
    }
}

/// What quickcheck draws as a stretch of time.
fn stretch((start, length): (i16, u8)) -> Window {
    let start = EventTime(i64::from(start % 500));
    Window { start, end: start + Span(i64::from(length) + 1) }
}

#[test]
fn what_is_one_session_is_symmetric_and_its_hull_is_commutative_and_associative() {
    fn symmetric(one: (i16, u8), two: (i16, u8), three: (i16, u8)) -> bool {
        let (a, b, c) = (stretch(one), stretch(two), stretch(three));
        let met = |touching| span::meet(touching, a, b) && span::meet(touching, b, a);
        let touch = a.end == b.start || b.end == a.start;
        // By definition, trying every instant of the one.
        let share = (a.start.0..a.end.0).any(|it| b.contains(EventTime(it)));
        met(Touching::Apart) == share
            && met(Touching::Merge) == (share || touch)
            && span::hull(a, b) == span::hull(b, a)
            && span::hull(a, span::hull(b, c)) == span::hull(span::hull(a, b), c)
            && span::hull(a, a) == a
    }
    law(symmetric as fn((i16, u8), (i16, u8), (i16, u8)) -> bool);
}

/// Sessions of stretches that came in this order: each makes one with all that it meets.
fn merged(touching: Touching, stretches: &[Window]) -> Vec<Window> {
    let mut sessions: Vec<Window> = Vec::new();
    for it in stretches {
        let (met, apart): (Vec<_>, Vec<_>) =
            sessions.into_iter().partition(|other| span::meet(touching, *it, *other));
        sessions = apart;
        sessions.push(met.into_iter().fold(*it, span::hull));
    }
    sessions.sort();
    sessions
}

#[test]
fn sessions_do_not_depend_on_the_order_of_rows() {
    fn free(drawn: Vec<(i16, u8)>, at: usize, touch: bool) -> bool {
        let touching = if touch { Touching::Merge } else { Touching::Apart };
        let mut stretches: Vec<_> = drawn.into_iter().map(stretch).collect();
        let before = merged(touching, &stretches);
        let turn = at.checked_rem(stretches.len()).unwrap_or(0);
        stretches.reverse();
        let reversed = merged(touching, &stretches);
        stretches.rotate_left(turn);
        before == reversed && before == merged(touching, &stretches)
    }
    law(free as fn(Vec<(i16, u8)>, usize, bool) -> bool);
}

#[test]
fn accumulators_merge_in_any_order_and_grouping() {
    const V: ColumnIx = ColumnIx(0);
    const ALL: [Aggregate; 6] = [
        Aggregate::Count,
        Aggregate::CountOf(V),
        Aggregate::Sum(V),
        Aggregate::Min(V),
        Aggregate::Max(V),
        Aggregate::Avg(V),
    ];
    fn of(values: &[Option<i64>]) -> Accumulators {
        let (mut batch, mut all) = (RowBatch::new(1), Accumulators::new(&ALL));
        for (row, value) in values.iter().enumerate() {
            batch.push(ItemId(0), PartitionId(0), ProcTime(0), &[*value]);
            all.observe(&ALL, &batch, row);
        }
        all
    }
    fn sum(one: &Accumulators, two: &Accumulators) -> Accumulators {
        let mut sum = one.clone();
        sum.merge(two);
        sum
    }
    fn free(a: Vec<Option<i64>>, b: Vec<Option<i64>>, c: Vec<Option<i64>>) -> bool {
        let whole = of(&[&a[..], &b, &c].concat());
        let (a, b, c) = (of(&a), of(&b), of(&c));
        sum(&a, &b) == sum(&b, &a)
            && sum(&sum(&a, &b), &c) == whole
            && sum(&a, &sum(&b, &c)) == whole
    }
    law(free as fn(Vec<Option<i64>>, Vec<Option<i64>>, Vec<Option<i64>>) -> bool);
}

/// A number of each range that is printed in a way of its own.
fn of_any_range(number: i64, range: u8) -> i64 {
    match range % 4 {
        0 => number,
        1 => number % 400_000_000,
        2 => 946_684_800_000 + number.rem_euclid(3_155_760_000_000),
        _ => number % 10_000_000_000_000,
    }
}

#[test]
fn every_time_and_every_span_is_read_back_as_it_was_printed() {
    fn reads_back(number: i64, range: u8) -> bool {
        let number = of_any_range(number, range);
        let (time, span) = (EventTime(number), Span(number));
        parse_time(&TimeText(time).to_string()) == Ok(time)
            && parse_span(&SpanText(span).to_string()) == Ok(span)
    }
    law(reads_back as fn(i64, u8) -> bool);
    for number in [i64::MIN, i64::MIN + 1, -1, 0, i64::MAX - 1, i64::MAX] {
        assert!(reads_back(number, 0), "{number}");
    }
}

/// Members of a group, as quickcheck draws them: maximum, state, whether it has caught up.
type Drawn = Vec<(i64, u8, bool)>;

fn members(drawn: &Drawn) -> Vec<Member> {
    let member = |(number, (max, state, aligned)): (u32, &(i64, u8, bool))| Member {
        max: EventTime(*max),
        state: match state % 4 {
            0 => MemberState::Idle,
            1 => MemberState::Finished,
            _ => MemberState::Active,
        },
        aligned: *aligned,
        ..Member::new(PartitionId(number), ProcTime(0))
    };
    (0..).zip(drawn).map(member).collect()
}

const fn all_idle(flush: bool) -> AllIdle {
    if flush { AllIdle::Flush } else { AllIdle::Hold }
}

fn combined(members: &[Member], flush: bool, last: i64) -> EventTime {
    combine::candidate(members, all_idle(flush), EventTime(last)).0
}

#[test]
fn the_order_of_partitions_does_not_change_the_candidate() {
    fn free(drawn: Drawn, at: usize, flush: bool, last: i64) -> bool {
        let mut members = members(&drawn);
        let before = combined(&members, flush, last);
        let turn = at.checked_rem(members.len()).unwrap_or(0);
        members.reverse();
        let reversed = combined(&members, flush, last);
        members.rotate_left(turn);
        before == reversed && before == combined(&members, flush, last)
    }
    law(free as fn(Drawn, usize, bool, i64) -> bool);
}

#[test]
fn a_partition_that_goes_on_never_takes_the_candidate_back() {
    fn rises(drawn: Drawn, who: usize, by: u32, flush: bool, last: i64) -> TestResult {
        let mut members = members(&drawn);
        // One that has shown nothing may replace a candidate that is only held.
        if members.is_empty() || members.iter().any(|it| !it.max.is_finite()) {
            return TestResult::discard();
        }
        let before = combined(&members, flush, last);
        let who = who % members.len();
        let further = members[who].max + Span(i64::from(by));
        members[who].observe(further, ItemId(1));
        TestResult::from_bool(before <= combined(&members, flush, last))
    }
    law(rises as fn(Drawn, usize, u32, bool, i64) -> TestResult);
}

#[test]
fn the_candidate_is_not_beyond_any_partition_that_counts() {
    fn bounded(drawn: Drawn, flush: bool, last: i64) -> bool {
        let members = members(&drawn);
        let candidate = combined(&members, flush, last);
        let mut counting = members.iter().filter(|it| it.counts()).peekable();
        let nobody = counting.peek().is_none();
        nobody
            || counting.clone().all(|it| candidate <= it.max)
                && counting.any(|it| candidate == it.max)
    }
    law(bounded as fn(Drawn, bool, i64) -> bool);
}

#[test]
fn under_lag_two_a_batch_is_judged_by_what_closed_windows_in_the_batch_before() {
    fn interlocked(values: Vec<i64>, initial: i64) -> bool {
        let initial = InForce::initial(EventTime(initial));
        let mut two = Schedule::new(Effective::BatchAfterNext, initial);
        let mut one = Schedule::new(Effective::NextBatch, initial);
        let mut closed = initial.watermark;
        (1..).zip(values).all(|(step, value)| {
            let late = two.late().watermark;
            let interlock = late == closed && one.late() == one.evict();
            closed = two.evict().watermark;
            let lags = closed == one.evict().watermark;
            let value = InForce::initial(EventTime(value));
            two.advance(value, step);
            one.advance(value, step);
            interlock && lags && two.evict().watermark == value.watermark
        })
    }
    law(interlocked as fn(Vec<i64>, i64) -> bool);
}

#[test]
fn the_watermark_never_falls_whatever_becomes_of_the_partitions() {
    fn clamped(items: Vec<(u8, u8, i32)>, delay: u16, global: bool) -> bool {
        let generator = if global {
            GeneratorPlan::GlobalMax
        } else {
            GeneratorPlan::PartitionMin { idle: None }
        };
        let plan = WatermarkPlan {
            column: ColumnIx(0),
            delay: Span(i64::from(delay)),
            generator,
            effective: Effective::NextBatch,
            fallback: None,
            guard: None,
            initial: EventTime::MIN,
        };
        let mut generator = Generator::new(Some(&plan));
        let (mut before, mut candidates) = (EventTime::MIN, EventTime::MIN);
        (1..).zip(items).all(|(number, (partition, what, time))| {
            let (partition, id) = (PartitionId(u32::from(partition % 3)), ItemId(number));
            let at = ProcTime(number as i64);
            // What makes no sense where it stands is refused, and then nothing has happened.
            let refused = match what % 8 {
                0 => generator.change(Change::Remove(partition), id, at).is_err(),
                1 => generator
                    .change(Change::Move(partition, Adoption::WithoutWatermark), id, at)
                    .is_err(),
                2 => generator.change(Change::Add(partition, Adoption::AtGroup), id, at).is_err(),
                _ => match generator.take_row(partition, at) {
                    Some(slot) => {
                        generator.observe(slot, EventTime(i64::from(time)), id);
                        false
                    }
                    None => true,
                },
            };
            generator.evaluate(at, id, true);
            let now = generator.watermark();
            candidates = candidates.max(generator.candidate());
            let holds =
                before <= now && now == candidates - plan.delay && (!refused || now == before);
            before = now;
            holds
        })
    }
    law(clamped as fn(Vec<(u8, u8, i32)>, u16, bool) -> bool);
}
