//! The curve against re-runs, and the figures of the recordings that are kept here.

use super::*;
use crate::recording::time::Unit;
use crate::recording::{self, ColumnOptions, Delimiter, Format, order};
use plimsoll_engine::late;
use plimsoll_engine::row::PartitionId;
use plimsoll_engine::time::ProcTime;
use plimsoll_engine::window::Window;
use std::collections::BTreeSet;

const FLIGHTS: &[u8] = include_bytes!("../../../scenarios/recordings/flights_nyc_2013_02.csv");
const QUAKES: &[u8] = include_bytes!("../../../scenarios/recordings/quakes_week_2018_02.csv");
const COMMA: Format = Format::Csv { header: true, delimiter: Delimiter::Byte(b',') };

fn options(behind: Behind) -> TuneOptions {
    let window = WindowSpec { size: Span(10), slide: Span(5), offset: Span(1) };
    TuneOptions { window, rule: LateRule::Event, behind, idle: Some(Span(25)), loss: 100 }
}

fn tuned(rows: &[Row], options: TuneOptions) -> Option<Tuning> {
    let mut tuner = Tuner::new(options);
    for row in rows {
        tuner.observe(row, 1..row.cells.len());
    }
    tuner.finish()
}

fn flights_by(event: &str, arrival: &str) -> Vec<Row> {
    let mut columns = ColumnOptions::new(event, &["carrier".to_owned()], &[]);
    columns.arrival = Some(arrival.to_owned());
    columns.partition = Some("origin".to_owned());
    columns.unit = Unit::Seconds;
    columns.arrival_unit = Unit::Seconds;
    let mut rows: Vec<_> =
        recording::read(COMMA, &columns, FLIGHTS).map(|it| it.expect("a good row")).collect();
    order::sort(&mut rows);
    rows
}

fn flights(event: &str, arrival: &str) -> Tuning {
    let rows = flights_by(event, arrival);
    let window = WindowSpec { size: Span::minutes(10), slide: Span::minutes(10), offset: Span(0) };
    tuned(&rows, TuneOptions { window, idle: None, ..options(Behind::Global) }).expect("rows")
}

fn lost(tuning: &Tuning, minutes: i64) -> [u64; 3] {
    [Behind::Global, Behind::OwnPartition, Behind::Slowest]
        .map(|it| tuning.curve(it).map_or(0, |it| it.lost(Span::minutes(minutes))))
}

fn plain_minutes(tuning: &Tuning) -> Vec<i64> {
    let quantile = |it| tuning.lateness.quantile(it).map(|it| it / 60_000);
    [500, 900, 990, 999, 1_000].into_iter().filter_map(quantile).collect()
}

#[test]
fn flights_by_schedule_lose_exactly_what_two_databases_counted() {
    let tuning = flights("sched", "dep");
    assert_eq!(tuning.counts.judged, 23_611);
    assert_eq!(lost(&tuning, 15), [5_000, 4_290, 3_611]);
    assert_eq!(lost(&tuning, 60), [1_626, 1_407, 1_194]);
    assert_eq!(lost(&tuning, 200), [111, 90, 85]);
    assert_eq!(lost(&tuning, 400), [7, 6, 5]);
    assert_eq!(text::percent(1_626, 23_611), "6.89 %");
    assert_eq!(text::percent(1_407, 23_611), "5.96 %");
    assert_eq!(text::percent(1_194, 23_611), "5.06 %");
    assert_eq!(plain_minutes(&tuning), [-2, 43, 164, 309, 853]);
    assert_eq!(text::percent(tuning.counts.from_the_future, 23_611), "56.58 %");
    assert_eq!(tuning.clock.backwards, 0);
}

#[test]
fn flights_by_landing_need_less_than_their_plain_lateness() {
    let tuning = flights("dep", "land");
    assert_eq!(plain_minutes(&tuning), [136, 318, 362, 614, 691]);
    assert_eq!(lost(&tuning, 318), [202, 128, 67]);
    assert_eq!(lost(&tuning, 362), [55, 54, 54]);
    assert_eq!(lost(&tuning, 614), [2, 2, 1]);
    assert_eq!(tuning.counts.from_the_future, 0);
}

#[test]
fn quakes_have_the_plain_lateness_of_their_origin() {
    let mut columns = ColumnOptions::new("time", &[], &[]);
    columns.arrival = Some("updated".to_owned());
    columns.partition = Some("net".to_owned());
    let mut tuner = Tuner::new(options(Behind::Global));
    for row in recording::read(COMMA, &columns, QUAKES) {
        tuner.observe(&row.expect("a good row"), 1..1);
    }
    let tuning = tuner.finish().expect("rows");
    let quantile = |it| tuning.lateness.quantile(it).map(|it| it / 1_000);
    assert_eq!(quantile(500), Some(14_564));
    assert_eq!(quantile(999), Some(559_178));
    assert_eq!(tuning.partitions, 12);
}

#[test]
fn the_advice_is_the_smallest_delay_that_keeps_the_promise() {
    let tuning = flights("sched", "dep");
    let advice = advice::advise(&tuning);
    assert!(advice.lost <= 23, "0.1 % of 23,611");
    assert!(23 < tuning.asked().lost(advice.delay - Span(1)));
    assert!(advice.sentence.contains("smallest that loses at most 0.1 %"), "{}", advice.sentence);
}

/// Rows with disorder, ties, silences, null and illegal times, in three partitions.
fn made(seed: u64, count: usize) -> Vec<Row> {
    let mut state = seed.wrapping_mul(2) + 1;
    let mut draw = |below: i64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as i64) % below
    };
    let (mut now, mut rows) = (1_000, Vec::new());
    for line in 0..count {
        now += if draw(12) == 0 { draw(80) } else { draw(4) };
        let back = if draw(6) == 0 { draw(90) } else { draw(9) - 3 };
        let time = match draw(40) {
            0 => None,
            1 => Some(EventTime(EventTime::LEGAL + 1)),
            _ => Some(EventTime(now - back)),
        };
        // The third partition begins late and goes silent often.
        let partition = match draw(9) {
            0 if count / 4 < line => 2,
            it => (it % 2) as u32,
        };
        rows.push(Row {
            line: line as u64 + 1,
            time,
            arrival: Some(ProcTime(now)),
            partition: PartitionId(partition),
            cells: vec![time.map(|it| it.0), Some(draw(3))],
        });
    }
    rows
}

/// What one run with one delay does, by definition and without any shared step.
#[derive(PartialEq, Eq, Debug, Default)]
struct Rerun {
    dropped: u64,
    latencies: Vec<i64>,
    still_open: u64,
    groups_max: u64,
    windows_max: u64,
    rows_max: u64,
}

fn rerun(rows: &[Row], options: TuneOptions, behind: Behind, delay: Span) -> Rerun {
    let assigner = Assigner::new(options.window);
    let partitions = rows.iter().map(|it| it.partition.0 as usize).max().unwrap_or(0) + 1;
    let legal = |row: &Row| row.time.filter(|it| it.is_legal());
    let mut run = Rerun::default();
    let mut open = BTreeSet::<(Window, i64)>::new();
    let mut best = EventTime::MIN;
    let mut heard = vec![rows.first().and_then(|it| it.arrival); partitions];
    let mut idle = vec![false; partitions];
    for (at, row) in rows.iter().enumerate() {
        // The candidate from the rows before this one, from the start each time.
        let candidate = |rows: &[Row], idle: &[bool], of: u32| {
            let max = |p: usize| {
                let own = rows.iter().filter(|it| it.partition.0 as usize == p).filter_map(legal);
                own.max().unwrap_or(EventTime::MIN)
            };
            let all = 0..partitions;
            match behind {
                Behind::Global => all.map(max).max(),
                Behind::OwnPartition => Some(max(of as usize)),
                Behind::Slowest => all.map(max).min(),
                Behind::SlowestIdle if idle.iter().all(|it| *it) => all.map(max).max(),
                Behind::SlowestIdle => all.filter(|it| !idle[*it]).map(max).min(),
            }
            .unwrap_or(EventTime::MIN)
        };
        let now = row.arrival.unwrap_or_default();
        for p in 0..partitions {
            let silent = heard[p].map_or(Span(0), |it| now.since(it));
            idle[p] |= options.idle.unwrap_or_default() < silent;
        }
        let before = candidate(&rows[..at], &idle, row.partition.0);
        best = if behind == Behind::OwnPartition { before } else { best.max(before) };
        close(&mut run, &mut open, now, best - delay);
        heard[row.partition.0 as usize] = Some(now);
        idle[row.partition.0 as usize] = false;
        if let Some(time) = legal(row) {
            let (lost, of) = late::windows_lost(options.rule, &assigner, time, best - delay);
            run.dropped += u64::from(0 < of && lost == of);
            for window in assigner.windows(time).skip(lost as usize) {
                open.insert((window, row.cells[1].unwrap_or(-1)));
            }
        }
        let after = candidate(&rows[..=at], &idle, row.partition.0);
        best = if behind == Behind::OwnPartition { after } else { best.max(after) };
        close(&mut run, &mut open, now, best - delay);
        let windows: BTreeSet<_> = open.iter().map(|it| it.0).collect();
        run.groups_max = run.groups_max.max(open.len() as u64);
        run.windows_max = run.windows_max.max(windows.len() as u64);
        run.still_open = windows.len() as u64;
        let newer = rows[..=at].iter().filter_map(legal).filter(|it| best - delay < *it);
        run.rows_max = run.rows_max.max(newer.count() as u64);
    }
    run.latencies.sort_unstable();
    run
}

fn close(run: &mut Rerun, open: &mut BTreeSet<(Window, i64)>, now: ProcTime, w: EventTime) {
    let closed: BTreeSet<_> = open.iter().map(|it| it.0).filter(|it| it.closes_at(w)).collect();
    run.latencies.extend(closed.iter().map(|it| now.0 - it.end.0));
    open.retain(|it| !it.0.closes_at(w));
}

#[test]
fn the_curve_is_what_a_run_with_each_delay_drops() {
    let delays = [0, 1, 2, 3, 5, 8, 13, 20, 30, 45, 60, 75, 90, 200].map(Span);
    let rules = [LateRule::Event, LateRule::EventInclusive, LateRule::WindowEnd, LateRule::Frame];
    for (seed, rule) in (0..).zip(rules.into_iter().cycle()).take(12) {
        let rows = made(seed, 160);
        let options = TuneOptions { rule, ..options(Behind::Global) };
        let tuning = tuned(&rows, options).expect("rows");
        assert_eq!(tuning.looked_at().count(), 4);
        for delay in delays {
            for behind in Behind::ALL {
                let dropped = rerun(&rows, options, behind, delay).dropped;
                let lost = tuning.curve(behind).map(|it| it.lost(delay));
                assert_eq!(lost, Some(dropped), "seed {seed} {rule:?} {behind:?} {delay:?}");
            }
        }
    }
}

#[test]
fn latency_and_state_are_those_of_a_run_with_each_delay() {
    for (seed, behind) in [Behind::Global, Behind::Slowest, Behind::SlowestIdle]
        .into_iter()
        .flat_map(|it| (20..24).map(move |seed| (seed, it)))
    {
        let rows = made(seed, 160);
        let rule = if seed % 2 == 0 { LateRule::Event } else { LateRule::WindowEnd };
        let options = TuneOptions { rule, ..options(behind) };
        let tuning = tuned(&rows, options).expect("rows");
        for delay in [0, 1, 4, 10, 33, 90, 400].map(Span) {
            let cost = tuning.cost(delay);
            let run = rerun(&rows, options, behind, delay);
            let latencies = Sorted::new(run.latencies);
            let name = format!("seed {seed} {behind:?} {delay:?}");
            assert_eq!(cost.windows_written, latencies.len() as u64, "{name}");
            assert_eq!(cost.latency.map(|it| it.p50.0), latencies.quantile(500), "{name}");
            assert_eq!(cost.latency.map(|it| it.max.0), latencies.max(), "{name}");
            assert_eq!(cost.windows_still_open, run.still_open, "{name}");
            assert_eq!(cost.groups.max, run.groups_max, "{name}");
            assert_eq!(cost.windows.max, run.windows_max, "{name}");
            assert_eq!(cost.rows.max, run.rows_max, "{name}");
        }
    }
}

#[test]
fn fifty_rows_a_second_and_200_seconds_are_10_000_rows_held() {
    let row = |n: i64| Row {
        line: n as u64,
        time: Some(EventTime(n * 20)),
        arrival: Some(ProcTime(n * 20)),
        partition: PartitionId(0),
        cells: vec![Some(n * 20)],
    };
    let rows: Vec<_> = (0..30_000).map(row).collect();
    let tuning = tuned(&rows, options(Behind::Global)).expect("rows");
    assert_eq!(tuning.cost(Span::seconds(200)).rows.max, 10_000);
    assert_eq!(tuning.cost(Span::seconds(400)).rows.max, 20_000);
}

#[test]
fn an_empty_recording_has_no_answer_and_one_row_has_one() {
    assert!(tuned(&[], options(Behind::Global)).is_none());
    let mut row = made(1, 1).remove(0);
    row.time = None;
    assert!(tuned(std::slice::from_ref(&row), options(Behind::Global)).is_none());
    row.time = Some(EventTime(7));
    row.arrival = None;
    let tuning = tuned(&[row], options(Behind::Global)).expect("a row");
    assert_eq!(tuning.asked().lost(Span(0)), 0);
    let cost = tuning.cost(Span(0));
    assert_eq!((cost.windows_written, cost.windows_still_open, cost.groups.max), (0, 2, 2));
    assert_eq!(cost.latency, None);
    let mut written = String::new();
    text::write(&tuning, &mut written).expect("a String takes all text");
    assert!(written.contains("1 row, 1 partition."), "{written}");
    assert!(picture::svg(&tuning, "one row").ends_with("</svg>\n"));
}

/// Two hands: the curve, and our engine with each delay.
#[test]
fn our_engine_drops_what_the_curve_says() {
    use crate::recording::playback::{Batches, Playback};
    use crate::recording::tally::Tally;
    use crate::system::engine::Engine;
    use crate::trace::plan_text::plan_from_pairs;
    use plimsoll_engine::output::Output;
    use plimsoll_engine::plan::check::CheckedPlan;
    use plimsoll_engine::row::RowBatch;
    let rows = flights_by("sched", "dep");
    let window = WindowSpec { size: Span::minutes(10), slide: Span::minutes(10), offset: Span(0) };
    let options = TuneOptions { window, idle: Some(Span::hours(2)), ..options(Behind::Global) };
    let tuning = tuned(&rows, options).expect("rows");
    for delay in ["0s", "15min", "60min", "5h3min"] {
        let global = vec![("watermark", "global")];
        let idle = vec![("watermark", "partition"), ("idle", "2h")];
        for (behind, more) in [(Behind::Global, global), (Behind::SlowestIdle, idle)] {
            let columns = [("columns", "time:time,k:text"), ("delay", delay), ("effective", "row")];
            let plan = plan_from_pairs(columns.into_iter().chain(more)).expect("a plan").plan;
            let delay = plan.watermark.as_ref().map_or(Span(0), |it| it.delay);
            let plan = CheckedPlan::new(plan).expect("a good plan").0;
            let mut playback =
                Playback::new(Batches::Never, Playback::start_of(ProcTime(0), rows.first()));
            let (mut out, mut batch) = (Output::new(&plan), RowBatch::new(2));
            let mut engine = Engine::with_plan(plan, playback.start, 0);
            let mut tally = Tally { rows: rows.len() as u64, ..Tally::default() };
            for row in &rows {
                playback.advance(row, &mut engine, &mut out);
                playback.arrive(row, &mut engine, &mut batch, &mut out);
                tally.observe(&out);
                out.clear();
            }
            let lost = tuning.curve(behind).map(|it| it.lost(delay));
            assert_eq!(lost, Some(tally.late_rows()), "{behind:?} {delay:?}");
            assert!(tally.conservation(0).1, "{}", tally.conservation(0).0);
        }
    }
}
