//! Plants about rows: counted twice, taken for what they are not, too much for an integer.
//!
//! Invariant: each changes what the engine is handed, never how it counts.

use crate::system::System;
use crate::system::engine::Engine;
use crate::zoo::fault::Fault;
use crate::zoo::{Build, Plant};
use plimsoll_engine::output::Output;
use plimsoll_engine::row::RowBatch;
use plimsoll_engine::time::EventTime;

/// Wrong rows.
pub const PLANTS: &[Plant] = &[
    Plant {
        name: "double-count-source",
        modelled_on: &["SPARK-24050"],
        what: "some rows are counted once per consumer of their source",
        killed_by: &["I14", "I40", "I41", "I42", "I43"],
        build: Build::Fault(|_| Box::new(Arrivals(twice))),
    },
    Plant {
        name: "idx-overflow",
        modelled_on: &["BYTEWAX-413"],
        what: "times are 32 bits wide and wrap round",
        killed_by: &["I41", "I42", "I43", "I2", "I3", "I14", "I19", "I40"],
        build: Build::Fault(|_| Box::new(Arrivals(narrow))),
    },
    Plant {
        name: "sentinel-in-min",
        modelled_on: &["NUMA-1386"],
        what: "a missing event time is taken for -1",
        killed_by: &["I42", "I43", "I14", "I40"],
        build: Build::Fault(|_| Box::new(Arrivals(sentinel))),
    },
    Plant {
        name: "truncating-division",
        modelled_on: &[],
        what: "negative times fall into the window above them",
        killed_by: &["I41", "I42", "I43", "I2", "I14", "I19", "I40"],
        build: Build::Fault(|_| Box::new(Arrivals(truncating))),
    },
    Plant {
        name: "null-key-merged",
        modelled_on: &[],
        what: "rows without a key are counted for key 0",
        killed_by: &["I41", "I40"],
        build: Build::Fault(|_| Box::new(Arrivals(null_key))),
    },
    Plant {
        name: "overflow-panic",
        modelled_on: &["BYTEWAX-413"],
        what: "a time beyond 2^60 overflows and takes the process down",
        killed_by: &["I39"],
        build: Build::Fault(|_| Box::new(Arrivals(panics))),
    },
    Plant {
        name: "time-lost",
        modelled_on: &[],
        what: "some rows lose their event time on the way in",
        killed_by: &["I42", "I43", "I14", "I41"],
        build: Build::Fault(|_| Box::new(Arrivals(lost))),
    },
];

/// Changes rows on their way in.
#[derive(Clone, Copy, Debug)]
struct Arrivals(fn(&Engine, &mut RowBatch));

impl Fault for Arrivals {
    fn copy(&self) -> Box<dyn Fault> {
        Box::new(*self)
    }

    fn arrive(&mut self, engine: &mut Engine, rows: &RowBatch, out: &mut Output) {
        let mut rows = rows.clone();
        (self.0)(engine, &mut rows);
        engine.arrive(&rows, out);
    }
}

fn time_column(engine: &Engine) -> usize {
    engine.job().plan().watermark.as_ref().map_or(0, |it| it.column.0)
}

fn change_times(engine: &Engine, rows: &mut RowBatch, change: impl Fn(i64) -> i64) {
    for time in &mut rows.columns[time_column(engine)].values {
        *time = change(*time);
    }
}

fn twice(_: &Engine, rows: &mut RowBatch) {
    let again = rows.clone();
    for row in 0..again.len() {
        if again.ids[row].0.is_multiple_of(7) {
            rows.extend_from(&again, row..row + 1);
        }
    }
}

fn narrow(engine: &Engine, rows: &mut RowBatch) {
    change_times(engine, rows, |it| i64::from(it as i32));
}

fn sentinel(engine: &Engine, rows: &mut RowBatch) {
    let column = &mut rows.columns[time_column(engine)];
    for (value, null) in column.values.iter_mut().zip(&column.nulls) {
        if *null {
            *value = -1;
        }
    }
    column.nulls.clear();
}

fn truncating(engine: &Engine, rows: &mut RowBatch) {
    let Some(operator) = &engine.job().plan().operator else { return };
    let slide = operator.window.slide.0;
    change_times(
        engine,
        rows,
        |it| {
            if (-EventTime::LEGAL..0).contains(&it) { it + slide } else { it }
        },
    );
}

fn null_key(engine: &Engine, rows: &mut RowBatch) {
    let Some(operator) = &engine.job().plan().operator else { return };
    for key in &operator.keys {
        rows.columns[key.0].nulls.clear();
    }
}

fn panics(engine: &Engine, rows: &mut RowBatch) {
    for time in &rows.columns[time_column(engine)].values {
        assert!(time.checked_mul(8).is_some(), "attempt to multiply with overflow");
    }
}

/// The row is handed over, but as one that is in no window.
fn lost(engine: &Engine, rows: &mut RowBatch) {
    let column = time_column(engine);
    for row in 0..rows.len() {
        if rows.ids[row].0.is_multiple_of(11) {
            let cells: Vec<_> = (0..rows.columns.len())
                .map(|it| if it == column { None } else { rows.columns[it].get(row) })
                .collect();
            let (id, partition) = (rows.ids[row], rows.partitions[row]);
            let at = rows.arrivals[row];
            let mut changed = RowBatch::new(cells.len());
            changed.extend_from(rows, 0..row);
            changed.push(id, partition, at, &cells);
            changed.extend_from(rows, row + 1..rows.len());
            *rows = changed;
        }
    }
}
