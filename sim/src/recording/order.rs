//! The clock of a recording: processing time as the rows tell it.
//!
//! The order of the lines is the order of arrival, because that is the order in which a consumer saw
//! them; arrival times only say how far the clock had come. Where an arrival time lies before an
//! earlier one (several clocks, a merge of files) the clock holds: the row arrives at the latest instant
//! so far. That is counted, and the first such line is named, so that nothing is silent. Who knows that
//! the file is not in order of arrival asks for [`sort`] instead. A row without an arrival time arrives
//! at the current instant.
//!
//! Invariant: the clock never goes back.

use super::Row;
use plimsoll_engine::time::ProcTime;
use serde::{Deserialize, Serialize};

/// Reads the clock off the rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ArrivalClock {
    now: Option<ProcTime>,
    /// The first row whose arrival time lies before the clock.
    pub first_backwards: Option<Backwards>,
    /// How many such rows there were.
    pub backwards: u64,
    /// Rows without an arrival time.
    pub unknown: u64,
}

/// A row whose arrival time lies before the clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Backwards {
    /// Its line.
    pub line: u64,
    /// The clock, which holds.
    pub clock: ProcTime,
    /// What the row says.
    pub arrival: ProcTime,
}

impl ArrivalClock {
    /// The instant at which this row arrives; `None` while no arrival time has been seen.
    pub fn observe(&mut self, row: &Row) -> Option<ProcTime> {
        match (self.now, row.arrival) {
            (_, None) => self.unknown += 1,
            (Some(clock), Some(arrival)) if arrival < clock => {
                self.backwards += 1;
                let line = row.line;
                self.first_backwards.get_or_insert(Backwards { line, clock, arrival });
            }
            (_, Some(arrival)) => self.now = Some(arrival),
        }
        self.now
    }

    /// The sentence about arrival times that go back, where there are any.
    pub fn warning(&self) -> Option<String> {
        let first = self.first_backwards?;
        let back = first.clock.since(first.arrival);
        let rows = match self.backwards {
            1 => "1 row arrives".to_owned(),
            many => format!("{many} rows arrive"),
        };
        Some(format!(
            "{rows} before the one above, first line {} ({} ms back); the clock holds there and \
             the order of the lines counts. With --sort-by-arrival the arrival times count.",
            first.line, back.0
        ))
    }
}

/// Sorts rows by arrival time, equal ones in file order. A row without an arrival time stays behind
/// the row above it.
pub fn sort(rows: &mut Vec<Row>) {
    let mut above = None;
    let keyed = rows.drain(..).map(|row| {
        above = row.arrival.or(above);
        (above, row)
    });
    let mut keyed: Vec<_> = keyed.collect();
    keyed.sort_by_key(|(at, _)| *at);
    rows.extend(keyed.into_iter().map(|(_, row)| row));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(line: u64, arrival: Option<i64>) -> Row {
        Row { line, arrival: arrival.map(ProcTime), ..Row::default() }
    }

    #[test]
    fn the_clock_holds_where_arrival_goes_back_and_names_the_line() {
        let mut clock = ArrivalClock::default();
        let rows =
            [row(1, None), row(2, Some(50)), row(3, Some(20)), row(4, None), row(5, Some(60))];
        let instants = rows.map(|it| clock.observe(&it).map(|it| it.0));
        assert_eq!(instants, [None, Some(50), Some(50), Some(50), Some(60)]);
        assert_eq!((clock.backwards, clock.unknown), (1, 2));
        assert!(clock.warning().is_some_and(|it| it.contains("line 3 (30 ms back)")));
    }

    #[test]
    fn sorting_keeps_file_order_among_equals() {
        let mut rows =
            vec![row(1, Some(9)), row(2, None), row(3, Some(5)), row(4, Some(9)), row(5, Some(5))];
        sort(&mut rows);
        assert_eq!(rows.iter().map(|it| it.line).collect::<Vec<_>>(), [3, 5, 1, 2, 4]);
    }
}
