//! Steps and their records as lines of text, to be laid side by side.
//!
//! Invariant: equal records give equal lines.

use super::super::query::{FUNCTIONS, Function, Operator, Query};
use super::super::{Emitted, FlinkVector, Record, Row, Step};
use super::is_join;

/// A step and what was there after it.
pub(super) fn step(vector: &FlinkVector, ix: usize, record: Option<&Record>) -> Vec<String> {
    let mut lines = vec![vector.steps.get(ix).map_or(String::new(), done)];
    let Some(record) = record else {
        lines.push("nothing was found".to_owned());
        return lines;
    };
    lines.push(format!("watermark {}", watermark(record.watermark)));
    if record.idle {
        lines.push("idle".to_owned());
    }
    let mut late: Vec<&Row> = record.late.iter().collect();
    late.sort_unstable();
    lines.extend(late.into_iter().map(|it| format!("late {}", row(it))));
    let mut results: Vec<&Emitted> = record.emitted.iter().collect();
    results.sort_unstable();
    lines.extend(results.into_iter().map(|it| format!("emit {}", emitted(it, &vector.query))));
    lines.push(format!("state {}", state(record, &vector.query)));
    lines
}

fn done(step: &Step) -> String {
    match step {
        Step::Event(it) => format!("event {}", row(it)),
        Step::Advance(it) => format!("advance_processing_time_ms {it}"),
        Step::Probe => "emit_periodic_watermark".to_owned(),
        Step::Checkpoint(it) => format!("checkpoint {it}"),
        Step::Restore(it) => format!("restore {it}"),
        Step::EndOfInput(it) => format!("end_of_input of partition {it}"),
        Step::Remove(it) => format!("remove_partition {it}"),
        Step::Add { partition, subtask, input } => {
            format!("add_partition {partition} to subtask {subtask} of input {input}")
        }
        Step::Backpressure { subtask, on: true } => format!("backpressure of subtask {subtask}"),
        Step::Backpressure { subtask, on: false } => {
            format!("no more backpressure of subtask {subtask}")
        }
        Step::Align(it) => format!("align {it}"),
    }
}

pub(super) fn watermark(watermark: Option<i64>) -> String {
    watermark.map_or("none".to_owned(), |it| it.to_string())
}

pub(super) fn row(row: &Row) -> String {
    let Row { ts, partition, k, v } = row;
    format!("partition={partition} ts={ts} k={k} v={v}")
}

pub(super) fn emitted(emitted: &Emitted, query: &Query) -> String {
    match emitted {
        Emitted::Group { ts, key, start, end, values } => {
            let functions: &[Function] = match &query.operator {
                Operator::Aggregation(it) => &it.functions,
                Operator::Join(_) => &[],
            };
            let name = |it: &Function| FUNCTIONS.iter().find(|known| known.1 == *it);
            let names = functions.iter().filter_map(name).map(|it| it.0);
            let values: Vec<String> =
                names.zip(values).map(|(name, it)| format!(" {name}={it}")).collect();
            format!("[{start},{end}) key={key}{} ts={ts}", values.concat())
        }
        Emitted::Pair { ts, key, left, right } => {
            let ((left_ts, left_v), (right_ts, right_v)) = (left, right);
            format!(
                "key={key} left_ts={left_ts} left_v={left_v} right_ts={right_ts} right_v={right_v} ts={ts}"
            )
        }
    }
}

pub(super) fn state(record: &Record, query: &Query) -> String {
    let state = &record.state;
    if is_join(query) {
        format!("left={} right={}", state.first, state.second)
    } else {
        format!("windows={}", state.first)
    }
}

pub(super) fn list<T>(items: &[&T], line: impl Fn(&T) -> String) -> String {
    let lines: Vec<String> = items.iter().map(|it| line(it)).collect();
    if lines.is_empty() { "no further one".to_owned() } else { lines.join("; ") }
}
