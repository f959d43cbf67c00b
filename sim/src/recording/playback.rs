//! A recording played to a system: the clock moves as the arrival times say, then the row arrives.
//!
//! The clock is moved by ticks, so that idleness, intervals and probes are judged at the instants of
//! arrivals: at the first arrival after a moment, not at the moment itself, since nothing in a
//! recording says that somebody looked in between. It starts at the first arrival time, unless the
//! plan says when. Under `trigger=batch` nothing in a recording says where a batch ended, and where it ends
//! changes what is late (M3), so the caller says it.
//!
//! Rows carry the number of their line, and so do the tick and the batch end that belong to them: a
//! record that names an item names a line. In a [`Recorded`] trace items are numbered as ever, and
//! [`Recorded::line`] leads back.
//!
//! Invariant: playing rows and running the trace of the same rows are the same calls in the same order.

use super::Row;
use super::order::ArrivalClock;
use crate::system::System;
use crate::trace::{Item, Trace};
use plimsoll_engine::output::Output;
use plimsoll_engine::plan::Plan;
use plimsoll_engine::row::{Dictionary, ItemId, RowBatch};
use plimsoll_engine::time::{ProcTime, Span};
use serde::{Deserialize, Serialize};

/// Where batches end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Batches {
    /// Nowhere: the trigger decides.
    Never,
    /// After so many rows.
    Rows(u64),
    /// At the first arrival at or after each multiple of this span since the clock's start.
    Every(Span),
}

/// Where a recording stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Playback {
    /// Where batches end.
    pub batches: Batches,
    /// Where the clock started.
    pub start: ProcTime,
    /// The clock.
    pub now: ProcTime,
    /// How arrival times behaved.
    pub arrivals: ArrivalClock,
    /// Rows since the last batch end.
    pub rows_in_batch: u64,
}

/// What happens before a row arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Before {
    tick: Option<Span>,
    batch: bool,
}

impl Playback {
    /// Before the first row. The clock starts at `start`.
    pub fn new(batches: Batches, start: ProcTime) -> Self {
        let arrivals = ArrivalClock::default();
        Self { batches, start, now: start, arrivals, rows_in_batch: 0 }
    }

    /// Where the clock of a plan starts: where the plan says, else at the first row's arrival.
    pub fn start_of(clock: ProcTime, first: Option<&Row>) -> ProcTime {
        match first.and_then(|it| it.arrival) {
            Some(arrival) if clock == ProcTime(0) => arrival,
            _ => clock,
        }
    }

    fn before(&mut self, row: &Row) -> Before {
        let arrival = self.arrivals.observe(row).unwrap_or(self.now).max(self.now);
        let tick = arrival.since(self.now);
        let batch = match self.batches {
            Batches::Every(span) => {
                let periods = |at: ProcTime| at.since(self.start).0.div_euclid(span.0.max(1));
                periods(self.now) < periods(arrival)
            }
            Batches::Never | Batches::Rows(_) => false,
        };
        self.now = arrival;
        if batch {
            self.rows_in_batch = 0;
        }
        Before { tick: (tick != Span::ZERO).then_some(tick), batch }
    }

    /// Whether a batch ends behind the row that has just arrived.
    fn after(&mut self) -> bool {
        self.rows_in_batch += 1;
        let ends = matches!(self.batches, Batches::Rows(most) if most <= self.rows_in_batch);
        if ends {
            self.rows_in_batch = 0;
        }
        ends
    }

    /// The clock moves to the arrival of `row`, which does not arrive yet; a batch may end. Between this
    /// and [`arrive`](Self::arrive) a snapshot may be taken: the row is not in it.
    pub fn advance(&mut self, row: &Row, system: &mut dyn System, out: &mut Output) {
        let id = ItemId(row.line);
        let before = self.before(row);
        if before.tick.is_some() {
            system.tick(id, self.now, out);
        }
        if before.batch {
            system.batch(id, out);
        }
    }

    /// The row arrives; a batch may end behind it. `batch` is memory, used again.
    pub fn arrive(
        &mut self,
        row: &Row,
        system: &mut dyn System,
        batch: &mut RowBatch,
        out: &mut Output,
    ) {
        let id = ItemId(row.line);
        batch.clear();
        batch.push(id, row.partition, self.now, &row.cells);
        system.arrive(batch, out);
        if self.after() {
            system.batch(id, out);
        }
    }

    /// The batch that is open at the end of the rows ends.
    pub fn end_batch(&mut self, line: u64, system: &mut dyn System, out: &mut Output) {
        if self.batches != Batches::Never && 0 < self.rows_in_batch {
            self.rows_in_batch = 0;
            system.batch(ItemId(line), out);
        }
    }
}

/// A recording as a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recorded {
    /// The trace.
    pub trace: Trace,
    /// The line of each item.
    lines: Vec<u64>,
    playback: Playback,
}

impl Recorded {
    /// Without rows.
    pub fn new(plan: Plan, batches: Batches, start: ProcTime) -> Self {
        let dictionary = Dictionary::default();
        let trace = Trace { plan, clock: start, dictionary, items: Vec::new(), cells: Vec::new() };
        Self { trace, lines: Vec::new(), playback: Playback::new(batches, start) }
    }

    /// Appends a row with what happens before and after it. False where the trace is full.
    pub fn push(&mut self, row: &Row) -> bool {
        if u32::try_from(self.trace.cells.len() + row.cells.len()).is_err() {
            return false;
        }
        let before = self.playback.before(row);
        self.trace.items.extend(before.tick.map(Item::Tick));
        self.trace.items.extend(before.batch.then_some(Item::Batch));
        self.trace.push_row(row.partition, &row.cells);
        self.trace.items.extend(self.playback.after().then_some(Item::Batch));
        self.lines.resize(self.trace.items.len(), row.line);
        true
    }

    /// The batch that is open at the end of the rows ends.
    pub fn end_batch(&mut self) {
        if self.playback.batches != Batches::Never && 0 < self.playback.rows_in_batch {
            self.playback.rows_in_batch = 0;
            self.item(Item::Batch);
        }
    }

    /// The input ends.
    pub fn end(&mut self) {
        self.item(Item::End);
    }

    fn item(&mut self, item: Item) {
        self.trace.items.push(item);
        self.lines.push(self.lines.last().copied().unwrap_or(0));
    }

    /// The line that item `id` stands on or belongs to.
    pub fn line(&self, id: ItemId) -> u64 {
        let at = usize::try_from(id.0).ok().and_then(|it| it.checked_sub(1));
        at.and_then(|it| self.lines.get(it)).copied().unwrap_or(0)
    }

    /// How arrival times behaved.
    pub const fn arrivals(&self) -> &ArrivalClock {
        &self.playback.arrivals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::plan_text::plan_from_pairs;
    use crate::trace::write;
    use plimsoll_engine::row::PartitionId;
    use plimsoll_engine::time::EventTime;

    fn row(line: u64, arrival: Option<i64>) -> Row {
        let time = Some(line as i64 * 1_000);
        Row {
            line,
            time: time.map(EventTime),
            arrival: arrival.map(ProcTime),
            partition: PartitionId(0),
            cells: vec![time, None, None],
        }
    }

    fn check(batches: Batches, items: &[&str]) {
        let plan = plan_from_pairs([("delay", "2s")]).expect("a plan");
        let rows = [
            row(2, Some(5_000)),
            row(3, Some(6_000)),
            row(4, Some(5_500)),
            row(5, None),
            row(7, Some(9_000)),
        ];
        let start = Playback::start_of(plan.clock, rows.first());
        let mut recorded = Recorded::new(plan.plan, batches, start);
        assert!(rows.iter().all(|it| recorded.push(it)));
        recorded.end_batch();
        recorded.end();
        let trace = &recorded.trace;
        let found: Vec<_> = (1..)
            .zip(&trace.items)
            .map(|(id, it)| {
                format!("{}: {}", recorded.line(ItemId(id)), write::item_text(trace, it))
            })
            .collect();
        assert_eq!(found, items);
        assert_eq!(trace.clock, ProcTime(5_000));
        assert_eq!(recorded.arrivals().backwards, 1);
    }

    #[test]
    fn arrival_times_become_ticks_and_the_clock_holds_where_they_go_back() {
        check(
            Batches::Never,
            &[
                "2: row p0 00:00:02",
                "3: tick +1s",
                "3: row p0 00:00:03",
                "4: row p0 00:00:04",
                "5: row p0 00:00:05",
                "7: tick +3s",
                "7: row p0 00:00:07",
                "7: end",
            ],
        );
    }

    #[test]
    fn batches_end_after_rows_or_at_instants() {
        check(
            Batches::Rows(2),
            &[
                "2: row p0 00:00:02",
                "3: tick +1s",
                "3: row p0 00:00:03",
                "3: batch",
                "4: row p0 00:00:04",
                "5: row p0 00:00:05",
                "5: batch",
                "7: tick +3s",
                "7: row p0 00:00:07",
                "7: batch",
                "7: end",
            ],
        );
        check(
            Batches::Every(Span::seconds(2)),
            &[
                "2: row p0 00:00:02",
                "3: tick +1s",
                "3: row p0 00:00:03",
                "4: row p0 00:00:04",
                "5: row p0 00:00:05",
                "7: tick +3s",
                "7: batch",
                "7: row p0 00:00:07",
                "7: batch",
                "7: end",
            ],
        );
    }
}
