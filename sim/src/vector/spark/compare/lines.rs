//! Records as lines of text, to be printed side by side.
//!
//! Invariant: both sides are written the same way, so that a difference in the text is one in meaning.

use super::super::expect::PHASES;
use super::super::{Batch, EmittedRow, Failure, Record};

/// A time in milliseconds, or `-`.
pub(super) fn time(time: Option<i64>) -> String {
    time.map_or("-".to_owned(), |it| it.to_string())
}

/// `window_start=0 window_end=10000 k=a count=1`.
pub(super) fn row(row: &EmittedRow) -> String {
    let cells: Vec<String> = row.iter().map(|(name, cell)| format!("{name}={cell}")).collect();
    format!("({})", cells.join(" "))
}

/// A refusal or a failure in short.
pub(super) fn failure(failure: Option<&Failure>) -> String {
    let Some(it) = failure else {
        return "none".to_owned();
    };
    let phase = PHASES.iter().find(|known| known.1 == it.phase).map_or("", |known| known.0);
    let condition = it.condition.as_deref().unwrap_or("no condition");
    let reason = it.reason.as_ref().map_or(String::new(), |it| format!(" ({it})"));
    format!("{condition}{reason} at {phase}")
}

/// A record, line by line.
pub(super) fn record(record: &Record) -> Vec<String> {
    let mut lines: Vec<String> = record.batches.iter().flat_map(batch).collect();
    if let Some(it) = &record.error {
        lines.push(format!("failed: {}", failure(Some(it))));
    }
    lines.push(format!(
        "step: watermark {}, next {}, late {}",
        time(record.watermark),
        time(record.next_watermark),
        record.dropped_by_watermark,
    ));
    lines
}

fn batch(batch: &Batch) -> Vec<String> {
    let mut lines = vec![format!("batch {}: watermark {}", batch.id, time(batch.watermark))];
    for it in batch.operators.iter().rev() {
        lines.push(format!(
            "  {}: state {}, removed {}, late {}",
            it.name, it.state_rows, it.removed, it.dropped_by_watermark
        ));
    }
    let mut rows: Vec<String> = batch.emitted.iter().map(|it| format!("  {}", row(it))).collect();
    rows.sort_unstable();
    lines.append(&mut rows);
    lines.push(format!("  next watermark {}", time(batch.next_watermark)));
    lines
}
