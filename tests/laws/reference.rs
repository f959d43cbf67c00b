//! The batch result: the query over all rows at once, without any watermark.
//!
//! Written anew from semantics 4, so that it shares nothing with the engine's windows and folds: every
//! start is found by stepping over the grid from far below.
//!
//! Invariant: a row without a legal time is in no window; all others are in all of theirs.

use super::outcome::{Finals, Key};
use plimsoll_engine::plan::Aggregate;
use plimsoll_engine::state::layout::Value;
use plimsoll_engine::time::EventTime;
use plimsoll_engine::window::Window;
use plimsoll_sim::trace::{Item, Trace};
use std::collections::BTreeMap;

/// All figures of all rows.
pub(super) fn figures(trace: &Trace) -> Finals {
    let Some(operator) = &trace.plan.operator else { return Finals::new() };
    let spec = operator.window;
    let mut groups: BTreeMap<(Window, Key), Vec<&[Option<i64>]>> = BTreeMap::new();
    for item in &trace.items {
        let Item::Row(row) = item else { continue };
        let cells = trace.cells(*row);
        let Some(time) = trace.time(*row).filter(|it| it.is_legal()) else { continue };
        let key: Key = operator.keys.iter().map(|it| cells[it.0]).collect();
        // The first grid point above the time, and down from there.
        let (time, size) = (i128::from(time.0), i128::from(spec.size.0));
        let (slide, offset) = (i128::from(spec.slide.0), i128::from(spec.offset.0));
        let mut start = (time - offset).div_euclid(slide) * slide + offset;
        while time < start + size {
            let at = |it: i128| EventTime(i64::try_from(it).expect("within i64"));
            let window = Window { start: at(start), end: at(start + size) };
            groups.entry((window, key.clone())).or_default().push(cells);
            start -= slide;
        }
    }
    let figure = |rows: &[&[Option<i64>]]| {
        operator.aggregates.iter().map(|it| aggregate(*it, rows)).collect()
    };
    groups.into_iter().map(|(name, rows)| (name, figure(&rows))).collect()
}

fn aggregate(aggregate: Aggregate, rows: &[&[Option<i64>]]) -> Value {
    let column = aggregate.column().map_or(0, |it| it.0);
    let values: Vec<i64> = rows.iter().filter_map(|it| it[column]).collect();
    let sum: i128 = values.iter().copied().map(i128::from).sum();
    let some = |it: Option<&i64>| it.map_or(Value::Null, |it| Value::Int(*it));
    match aggregate {
        Aggregate::Count => Value::Int(rows.len() as i64),
        Aggregate::CountOf(_) => Value::Int(values.len() as i64),
        Aggregate::Min(_) => some(values.iter().min()),
        Aggregate::Max(_) => some(values.iter().max()),
        Aggregate::Sum(_) | Aggregate::Avg(_) if values.is_empty() => Value::Null,
        Aggregate::Sum(_) => i64::try_from(sum).map_or(Value::Wide(sum), Value::Int),
        Aggregate::Avg(_) => Value::Avg { sum, count: values.len() as u64 },
    }
}
