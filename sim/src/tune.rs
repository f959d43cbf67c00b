//! What every delay would cost, from one recording, exactly and without re-running anything.
//!
//! A row is lost iff it is further behind the watermark's candidate than the delay allows, and the
//! candidate does not depend on the delay (semantics 3.3, M13). So one pass gives each row the smallest
//! delay that saves it, and the sorted list of these answers every delay at once. Each row is judged as
//! with `effective=row` by the
//! candidate that the rows above it have made; late rows move it too. Four candidates are looked at
//! together ([`candidate`]). A micro-batch engine judges later and so loses a little less.
//!
//! The plain lateness of a row, arrival minus event, is another number ([`quantile`]): where all rows
//! share a base delay the maximum is late as well, and a delay chosen by plain lateness is too long;
//! where one partition runs ahead it is too short. Both are reported, the advice comes from the first.
//!
//! Beside the loss stand its prices at that delay ([`open`]): how long after its end a window is written,
//! and what is held in the meantime.
//!
//! Invariant: the loss at delay d is the number of rows that a run with delay d drops, for every d.

pub mod advice;
pub mod candidate;
pub mod curve;
pub mod delays;
pub mod flow;
pub mod open;
pub mod picture;
pub mod quantile;
pub mod text;

use self::candidate::{Behind, Candidates};
use self::curve::Curve;
use self::open::{Cost, OpenWindows};
use self::quantile::Sorted;
use crate::recording::Row;
use crate::recording::order::ArrivalClock;
use plimsoll_engine::plan::{LateRule, WindowSpec};
use plimsoll_engine::time::{EventTime, Span};
use plimsoll_engine::window::assign::Assigner;
use std::collections::BTreeMap;

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TuneOptions {
    /// The windows whose latency and state are looked at.
    pub window: WindowSpec,
    /// Who is late.
    pub rule: LateRule,
    /// The watermark that latency, state and advice are about; not `OwnPartition`, which is many.
    pub behind: Behind,
    /// Silence after which a partition leaves the minimum of [`Behind::SlowestIdle`].
    pub idle: Option<Span>,
    /// Rows that may be lost, per 100,000.
    pub loss: u64,
}

/// Takes the rows of a recording.
#[derive(Debug)]
pub struct Tuner {
    options: TuneOptions,
    samples: Vec<Sample>,
    lateness: Vec<i64>,
    keys: BTreeMap<Vec<Option<i64>>, u32>,
    clock: ArrivalClock,
    partitions: u32,
    counts: Counts,
}

/// A row, as far as time is concerned.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// `MIN` where the row has no time that counts.
    time: EventTime,
    /// The clock of the recording at its arrival; `MIN` before the first one.
    arrival: i64,
    partition: u32,
    key: u32,
}

/// What became of the rows before anything was judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Rows of the recording.
    pub rows: u64,
    /// Rows that have been judged; shares are shares of these.
    pub judged: u64,
    /// Rows without an event time.
    pub no_time: u64,
    /// Rows whose event time is outside the legal range.
    pub time_out_of_range: u64,
    /// Rows in the holes between windows.
    pub no_window: u64,
    /// Rows whose arrival lies before their event time.
    pub from_the_future: u64,
}

/// The answer for every delay.
#[derive(Debug)]
pub struct Tuning {
    /// What was asked.
    pub options: TuneOptions,
    /// What became of the rows.
    pub counts: Counts,
    /// Partitions seen.
    pub partitions: u32,
    /// How arrival times behaved.
    pub clock: ArrivalClock,
    /// Arrival minus event time; empty without arrival times.
    pub lateness: Sorted,
    curves: Vec<(Behind, Curve)>,
    open: OpenWindows,
}

impl Tuner {
    /// Before any row.
    pub fn new(options: TuneOptions) -> Self {
        assert!(options.behind != Behind::OwnPartition, "a window is closed by one watermark");
        assert!(
            options.behind != Behind::SlowestIdle || options.idle.is_some(),
            "a watermark with idleness has a timeout"
        );
        Self {
            options,
            samples: Vec::new(),
            lateness: Vec::new(),
            keys: BTreeMap::new(),
            clock: ArrivalClock::default(),
            partitions: 0,
            counts: Counts::default(),
        }
    }

    /// Takes the next row. Its cells at `keys` are the key of its group.
    pub fn observe(&mut self, row: &Row, keys: std::ops::Range<usize>) {
        let arrival = self.clock.observe(row).map_or(i64::MIN, |it| it.0);
        self.partitions = self.partitions.max(row.partition.0 + 1);
        self.counts.rows += 1;
        let time = match row.time {
            None => {
                self.counts.no_time += 1;
                EventTime::MIN
            }
            Some(time) if !time.is_legal() => {
                self.counts.time_out_of_range += 1;
                EventTime::MIN
            }
            Some(time) => time,
        };
        if let (true, Some(at)) = (time.is_finite(), row.arrival) {
            self.lateness.push(at.0.saturating_sub(time.0));
            self.counts.from_the_future += u64::from(at.0 < time.0);
        }
        let key = match self.keys.get(&row.cells[keys.clone()]) {
            Some(key) => *key,
            None => {
                let key = self.keys.len() as u32;
                self.keys.insert(row.cells[keys].to_vec(), key);
                key
            }
        };
        self.samples.push(Sample { time, arrival, partition: row.partition.0, key });
    }

    /// Judges all rows; `None` where there was none to judge. Without arrival times idleness cannot be
    /// judged, and is not looked at.
    pub fn finish(mut self) -> Option<Tuning> {
        let assigner = Assigner::new(self.options.window);
        // Rows above the first arrival time arrive with it.
        let start = self.samples.iter().map(|it| it.arrival).find(|it| *it != i64::MIN);
        for sample in self.samples.iter_mut().take_while(|it| it.arrival == i64::MIN) {
            sample.arrival = start.unwrap_or(i64::MIN);
        }
        let idle = start.zip(self.options.idle);
        let looked_at = Behind::ALL.into_iter();
        let looked_at = looked_at.filter(|it| *it != Behind::SlowestIdle || idle.is_some());
        let looked_at: Vec<_> = looked_at.collect();
        let mut needs = vec![Vec::new(); looked_at.len()];
        let mut open = OpenWindows::new(self.options, start.is_some());
        let mut candidates = Candidates::new(self.partitions, idle);
        for sample in &self.samples {
            candidates.tick(sample.arrival);
            let in_force = candidates.of(self.options.behind, sample.partition);
            if sample.time.is_finite() {
                let windows = assigner.window_count(sample.time);
                self.counts.judged += u64::from(windows != 0);
                self.counts.no_window += u64::from(windows == 0);
                for (needs, behind) in needs.iter_mut().zip(&looked_at) {
                    let candidate = candidates.of(*behind, sample.partition);
                    let need = curve::need(self.options.rule, &assigner, candidate, sample.time);
                    needs.extend(need.filter(|it| 0 < *it));
                }
            }
            candidates.observe(sample.partition, sample.time, sample.arrival);
            let after = candidates.of(self.options.behind, sample.partition);
            open.observe(sample, in_force, after);
        }
        if self.counts.judged == 0 {
            return None;
        }
        let judged = self.counts.judged;
        let curves = needs.into_iter().map(|it| Curve::new(it, judged));
        Some(Tuning {
            options: self.options,
            counts: self.counts,
            partitions: self.partitions,
            clock: self.clock,
            lateness: Sorted::new(self.lateness),
            curves: looked_at.into_iter().zip(curves).collect(),
            open: open.finish(),
        })
    }

    /// Rows so far.
    pub const fn rows(&self) -> u64 {
        self.counts.rows
    }
}

impl Tuning {
    /// The candidates that were looked at.
    pub fn looked_at(&self) -> impl Iterator<Item = Behind> + '_ {
        self.curves.iter().map(|it| it.0)
    }

    /// The loss behind one candidate; `None` where it was not looked at.
    pub fn curve(&self, behind: Behind) -> Option<&Curve> {
        self.curves.iter().find(|it| it.0 == behind).map(|it| &it.1)
    }

    /// The loss behind the watermark that was asked for.
    pub fn asked(&self) -> &Curve {
        self.curve(self.options.behind).unwrap_or(&self.curves[0].1)
    }

    /// Latency and state at a delay.
    pub fn cost(&self, delay: Span) -> Cost {
        self.open.cost(delay)
    }
}

#[cfg(test)]
mod tests;
