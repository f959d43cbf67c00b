//! The price of a delay: how late windows are written, and what is held until then.
//!
//! A window is written at the first row after which c* has reached its end and the delay (w >= end with
//! w = c* - d); its latency is that row's arrival minus its end. A (window, key) group is held from its
//! first admitted row until then. Which row is the first admitted one depends on the delay: it is the first
//! whose smallest saving delay is at most d, so only rows that need less than all before them are kept.
//! *Rows held* are those with a time in (c* - d, ..]: what an operator that keeps rows (a join, a
//! deduplication) holds; at a steady rate that is rate x delay.
//!
//! Means are over the rows: what the gauge shows if it is read at each arrival.
//!
//! Invariant: maxima and means are exact for every delay; a window that never closes within the recording has
//! no latency and is counted as still open.

use super::candidate::Behind;
use super::quantile::Sorted;
use super::{Sample, TuneOptions, curve};
use plimsoll_engine::plan::LateRule;
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_engine::window::Window;
use plimsoll_engine::window::assign::Assigner;
use std::collections::BTreeMap;

/// What a delay costs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cost {
    /// From window end to its writing, for the windows that were written; `None` without arrival times.
    pub latency: Option<Latency>,
    /// Windows written within the recording.
    pub windows_written: u64,
    /// Windows still open at its end.
    pub windows_still_open: u64,
    /// Windows open at once.
    pub windows: Gauge,
    /// (window, key) groups held at once.
    pub groups: Gauge,
    /// Rows newer than the watermark held at once.
    pub rows: Gauge,
}

/// How long after its end a window is written, in milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Latency {
    /// Half of the windows are written by then.
    pub p50: Span,
    /// 95 of 100 are.
    pub p95: Span,
    /// All are.
    pub max: Span,
}

/// A number of things held, read after each row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Gauge {
    /// The largest reading.
    pub max: u64,
    /// The mean of the readings, in tenths.
    pub mean_tenths: u64,
}

/// What is needed to price any delay.
#[derive(Debug)]
pub(super) struct OpenWindows {
    options: TuneOptions,
    assigner: Assigner,
    /// Whether arrival times mean anything.
    timed: bool,
    arrivals: Vec<i64>,
    /// Row and c* after it, where it rose.
    rises: Vec<(u32, EventTime)>,
    windows: BTreeMap<Window, FirstRows>,
    groups: BTreeMap<(Window, u32), FirstRows>,
    /// Times of rows, and the row: sorted at the end.
    times: Vec<(EventTime, u32)>,
}

/// Rows that could be the first of a window: each with a smaller need than all before it.
#[derive(Debug, Default)]
struct FirstRows(Vec<(u32, i64)>);

impl FirstRows {
    fn observe(&mut self, row: u32, need: i64) {
        // No delay is negative, so needs below zero are alike.
        let need = need.max(0);
        if self.0.last().is_none_or(|it| need < it.1) {
            self.0.push((row, need));
        }
    }

    fn first(&self, delay: Span) -> Option<u32> {
        let at = self.0.partition_point(|it| delay.0 < it.1);
        self.0.get(at).map(|it| it.0)
    }
}

impl OpenWindows {
    pub(super) fn new(options: TuneOptions, timed: bool) -> Self {
        Self {
            options,
            assigner: Assigner::new(options.window),
            timed,
            arrivals: Vec::new(),
            rises: Vec::new(),
            windows: BTreeMap::new(),
            groups: BTreeMap::new(),
            times: Vec::new(),
        }
    }

    /// A row judged by `before`; `after` is c* when it has been seen.
    pub(super) fn observe(&mut self, sample: &Sample, before: EventTime, after: EventTime) {
        debug_assert!(self.options.behind != Behind::OwnPartition);
        let row = u32::try_from(self.arrivals.len()).expect("fewer than 2^32 rows");
        self.arrivals.push(sample.arrival);
        // c* may also have risen by silence, at the tick before this row.
        let last = self.rises.last().map_or(EventTime::MIN, |it| it.1);
        if last < after {
            self.rises.push((row, after));
        }
        if !sample.time.is_finite() {
            return;
        }
        self.times.push((sample.time, row));
        let rule = self.options.rule;
        let Some(of_row) = curve::need(rule, &self.assigner, before, sample.time).or((self
            .assigner
            .window_count(sample.time)
            != 0)
            .then_some(0))
        else {
            return;
        };
        for window in self.assigner.windows(sample.time) {
            let need = match rule {
                LateRule::WindowEnd if before != EventTime::MIN => {
                    curve::window_need(before, window.end)
                }
                _ => of_row,
            };
            self.windows.entry(window).or_default().observe(row, need);
            self.groups.entry((window, sample.key)).or_default().observe(row, need);
        }
    }

    pub(super) fn finish(mut self) -> Self {
        self.times.sort_unstable();
        self
    }

    /// Latency and state at a delay.
    pub(super) fn cost(&self, delay: Span) -> Cost {
        let mut windows = Level::new(self.arrivals.len());
        let mut groups = Level::new(self.arrivals.len());
        let mut rows = Level::new(self.arrivals.len());
        let mut latencies = Vec::new();
        let (mut written, mut still_open) = (0, 0);
        for (window, firsts) in &self.windows {
            let Some(first) = firsts.first(delay) else { continue };
            let closed = self.closing_row(window.end, delay);
            windows.hold(first, closed);
            match closed {
                None => still_open += 1,
                Some(row) => {
                    written += 1;
                    let at = self.arrivals[row as usize];
                    latencies.push(at.saturating_sub(window.end.0));
                }
            }
        }
        for ((window, _), firsts) in &self.groups {
            if let Some(first) = firsts.first(delay) {
                groups.hold(first, self.closing_row(window.end, delay));
            }
        }
        let mut rises = self.rises.iter().peekable();
        for (time, row) in &self.times {
            while rises.next_if(|it| it.1 < *time + delay).is_some() {}
            rows.hold(*row, rises.peek().map(|it| it.0));
        }
        let latencies = Sorted::new(latencies);
        let quantile = |permille| latencies.quantile(permille).map(Span);
        let latency = quantile(500).zip(quantile(950)).zip(quantile(1_000));
        let latency = latency.map(|((p50, p95), max)| Latency { p50, p95, max });
        Cost {
            latency: latency.filter(|_| self.timed),
            windows_written: written,
            windows_still_open: still_open,
            windows: windows.gauge(),
            groups: groups.gauge(),
            rows: rows.gauge(),
        }
    }

    /// The row that closes windows with this end.
    fn closing_row(&self, end: EventTime, delay: Span) -> Option<u32> {
        let at = self.rises.partition_point(|it| it.1 < end + delay);
        self.rises.get(at).map(|it| it.0)
    }
}

/// How many things are held after each row.
struct Level(Vec<i64>);

impl Level {
    fn new(rows: usize) -> Self {
        Self(vec![0; rows])
    }

    /// From the row `first` until just before the row `until`.
    fn hold(&mut self, first: u32, until: Option<u32>) {
        match until {
            Some(until) if until <= first => {}
            Some(until) => {
                self.0[first as usize] += 1;
                self.0[until as usize] -= 1;
            }
            None => self.0[first as usize] += 1,
        }
    }

    fn gauge(self) -> Gauge {
        let (mut now, mut max, mut sum) = (0, 0, 0_i128);
        let readings = self.0.len() as i128;
        for change in self.0 {
            now += change;
            max = max.max(now);
            sum += i128::from(now);
        }
        let mean = (sum * 10 + readings / 2) / readings.max(1);
        Gauge { max: max as u64, mean_tenths: mean as u64 }
    }
}
