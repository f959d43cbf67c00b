//! The values of a plan that have parts: windows, guards, triggers, columns, aggregates, lineage.
//!
//! A value is a word, a call `word(part,part)`, or a list of these. Each is read and printed here,
//! next to each other, so that the two directions stay one grammar.
//!
//! Invariant: reading what was printed gives the same value. The error of every reader is the
//! sentence that says what was expected.

use super::keys::{self, GUARD, KIND, Wrong, wrong};
use super::nested;
use crate::trace::nearest;
use crate::trace::time_text::{SpanText, TimeText, parse_span, parse_time};
use plimsoll_engine::plan::{Aggregate, Guard, LineageStep, Trigger, WindowSpec};
use plimsoll_engine::row::{ColumnIx, ColumnSpec, Schema};
use plimsoll_engine::time::{EventTime, ProcTime, Span};

/// Whether a column of this name can be written: not empty, no blanks, and nothing that separates.
pub fn is_name(name: &str) -> bool {
    let separates = |it: char| it.is_whitespace() || it.is_control() || ",;:=()\"#".contains(it);
    !name.is_empty() && !name.contains(separates)
}

/// Whether a column or an input of this name can be written in a flow, whose values have more parts.
pub fn is_flow_name(name: &str) -> bool {
    is_name(name) && name != "none" && !name.contains(['|', '+', '<', '>', '!'])
}

/// `word(part,part)` or `word`, taken apart.
fn call(text: &str) -> Option<(&str, Vec<&str>)> {
    let text = text.trim();
    let Some((word, rest)) = text.split_once('(') else {
        return (!text.contains(')')).then_some((text, Vec::new()));
    };
    let inner = rest.strip_suffix(')')?;
    (!inner.contains(['(', ')'])).then(|| (word.trim(), list(inner)))
}

/// Parts between commas; an empty text has none.
fn list(text: &str) -> Vec<&str> {
    if text.trim().is_empty() { Vec::new() } else { text.split(',').map(str::trim).collect() }
}

pub(super) fn span(text: &str) -> Result<Span, Wrong> {
    parse_span(text).map_err(|it| Wrong { expected: it.expected.to_owned(), found: it.found })
}

pub(super) fn time(text: &str) -> Result<EventTime, Wrong> {
    parse_time(text).map_err(|it| Wrong { expected: it.expected.to_owned(), found: it.found })
}

pub(super) fn clock(text: &str) -> Result<ProcTime, Wrong> {
    time(text).map(|it| ProcTime(it.0))
}

pub(super) fn clock_text(clock: ProcTime) -> String {
    TimeText(EventTime(clock.0)).to_string()
}

pub(super) fn window(text: &str) -> Result<Option<WindowSpec>, Wrong> {
    let (size, slide, offset) = match call(text).as_ref().map(|(word, parts)| (*word, &parts[..])) {
        Some(("none", [])) => return Ok(None),
        Some(("tumbling", [size])) => (*size, *size, "0"),
        Some(("tumbling", [size, offset])) => (*size, *size, *offset),
        Some(("sliding", [size, slide])) => (*size, *slide, "0"),
        Some(("sliding", [size, slide, offset])) => (*size, *slide, *offset),
        _ => {
            return Err(wrong(
                "`tumbling(SIZE)`, `tumbling(SIZE,OFFSET)`, `sliding(SIZE,SLIDE)`, \
                        `sliding(SIZE,SLIDE,OFFSET)` or `none`",
                text,
            ));
        }
    };
    Ok(Some(WindowSpec { size: span(size)?, slide: span(slide)?, offset: span(offset)? }))
}

pub(super) fn window_text(window: WindowSpec) -> String {
    let WindowSpec { size, slide, offset } = window;
    let mut text = if size == slide {
        format!("tumbling({}", SpanText(size))
    } else {
        format!("sliding({},{}", SpanText(size), SpanText(slide))
    };
    if offset != Span::ZERO {
        text.push_str(&format!(",{}", SpanText(offset)));
    }
    text + ")"
}

pub(super) fn guard(text: &str) -> Result<Option<Guard>, Wrong> {
    let (word, parts) = call(text).unwrap_or_default();
    match (word, &parts[..]) {
        ("none", []) => Ok(None),
        (_, [ahead]) if GUARD.iter().any(|it| it.0 == word) => {
            Ok(Some(Guard { ahead: span(ahead)?, action: keys::value(GUARD, word)? }))
        }
        _ => Err(wrong("`reject(SPAN)`, `count(SPAN)`, `accept(SPAN)` or `none`", text)),
    }
}

pub(super) fn guard_text(guard: Guard) -> String {
    format!("{}({})", keys::word(GUARD, guard.action), SpanText(guard.ahead))
}

pub(super) fn trigger(text: &str) -> Result<Trigger, Wrong> {
    let (word, parts) = call(text).unwrap_or_default();
    match (word, &parts[..]) {
        ("row", []) => Ok(Trigger::Row),
        ("batch", []) => Ok(Trigger::Batch),
        ("once", []) => Ok(Trigger::Once),
        ("interval", [every]) => span(every).map(Trigger::Interval),
        ("available_now", [rows]) => rows
            .parse()
            .map(Trigger::AvailableNow)
            .map_err(|_| wrong("a number of rows in `available_now(ROWS)`", rows)),
        _ => Err(wrong("`row`, `batch`, `interval(SPAN)`, `once` or `available_now(ROWS)`", text)),
    }
}

pub(super) fn trigger_text(trigger: Trigger) -> String {
    match trigger {
        Trigger::Row => "row".to_owned(),
        Trigger::Batch => "batch".to_owned(),
        Trigger::Once => "once".to_owned(),
        Trigger::Interval(every) => format!("interval({})", SpanText(every)),
        Trigger::AvailableNow(rows) => format!("available_now({rows})"),
    }
}

pub(super) fn columns(text: &str) -> Result<Schema, Wrong> {
    let mut schema = Schema::default();
    for part in list(text) {
        let (name, kind) = part.split_once(':').unwrap_or((part, ""));
        if !is_name(name) {
            return Err(wrong("`NAME:KIND` with a name without blanks and `,;:=()\"#`", part));
        }
        if schema.position(name).is_some() {
            return Err(wrong("each column once", name));
        }
        let expected = |it: Wrong| format!("`{name}:KIND` with a kind that is {}", it.expected);
        let kind = keys::value(KIND, kind).map_err(|it| wrong(expected(it), part))?;
        schema.columns.push(ColumnSpec { name: name.to_owned(), kind });
    }
    Ok(schema)
}

pub(super) fn columns_text(schema: &Schema) -> String {
    let column = |it: &ColumnSpec| format!("{}:{}", it.name, keys::word(KIND, it.kind));
    schema.columns.iter().map(column).collect::<Vec<_>>().join(",")
}

pub(super) fn column(schema: &Schema, name: &str) -> Result<ColumnIx, Wrong> {
    schema.position(name).ok_or_else(|| {
        let names = schema.columns.iter().map(|it| it.name.as_str());
        wrong(nearest::expected("a column of the input", name, names), name)
    })
}

/// The name of a column; a column that is not there is the mistake of whoever made the plan, and shown.
pub(super) fn name(schema: &Schema, column: ColumnIx) -> &str {
    schema.columns.get(column.0).map_or("?", |it| it.name.as_str())
}

pub(super) fn key(schema: &Schema, text: &str) -> Result<Vec<ColumnIx>, Wrong> {
    list(text).into_iter().map(|it| column(schema, it)).collect()
}

pub(super) fn key_text(schema: &Schema, key: &[ColumnIx]) -> String {
    key.iter().map(|it| schema.column(*it).name.as_str()).collect::<Vec<_>>().join(",")
}

pub(super) fn aggregates(schema: &Schema, text: &str) -> Result<Vec<Aggregate>, Wrong> {
    list(text).into_iter().map(|it| aggregate(it, |name| column(schema, name))).collect()
}

/// An aggregate over a column whose name may itself be that of an aggregate.
pub(super) fn aggregate(
    text: &str,
    column: impl FnOnce(&str) -> Result<ColumnIx, Wrong>,
) -> Result<Aggregate, Wrong> {
    let (word, inner) = nested::call(text).unwrap_or_default();
    let inner = inner.filter(|it| !it.is_empty());
    let of: fn(ColumnIx) -> Aggregate = match (word, inner) {
        ("count", None) => return Ok(Aggregate::Count),
        ("count", Some(_)) => Aggregate::CountOf,
        ("sum", Some(_)) => Aggregate::Sum,
        ("min", Some(_)) => Aggregate::Min,
        ("max", Some(_)) => Aggregate::Max,
        ("avg", Some(_)) => Aggregate::Avg,
        _ => {
            let expected = "`count`, `count(COLUMN)`, `sum(COLUMN)`, `min(COLUMN)`, `max(COLUMN)` \
                            or `avg(COLUMN)`";
            return Err(wrong(expected, text));
        }
    };
    column(inner.unwrap_or_default()).map(of)
}

/// The name of an aggregate, as `agg=` and golden lines write it.
pub(crate) fn aggregate_text(schema: &Schema, aggregate: Aggregate) -> String {
    let word = match aggregate {
        Aggregate::Count | Aggregate::CountOf(_) => "count",
        Aggregate::Sum(_) => "sum",
        Aggregate::Min(_) => "min",
        Aggregate::Max(_) => "max",
        Aggregate::Avg(_) => "avg",
    };
    match aggregate.column() {
        None => word.to_owned(),
        Some(column) => format!("{word}({})", name(schema, column)),
    }
}

pub(super) fn aggregates_text(schema: &Schema, aggregates: &[Aggregate]) -> String {
    aggregates.iter().map(|it| aggregate_text(schema, *it)).collect::<Vec<_>>().join(",")
}

pub(super) fn lineage(text: &str) -> Result<Vec<LineageStep>, Wrong> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    text.split(';').map(lineage_step).collect()
}

fn lineage_step(text: &str) -> Result<LineageStep, Wrong> {
    let (word, parts) = call(text).unwrap_or_default();
    let names = parts.iter().all(|it| is_name(it));
    match (word, &parts[..]) {
        ("rename", [from, to]) if names => {
            Ok(LineageStep::Rename { from: (*from).to_owned(), to: (*to).to_owned() })
        }
        ("project", kept) if names => {
            Ok(LineageStep::Project(kept.iter().map(|it| (*it).to_owned()).collect()))
        }
        ("compute", [name]) if names => Ok(LineageStep::Compute((*name).to_owned())),
        _ => {
            let expected = "`rename(FROM,TO)`, `project(COLUMN,..)` or `compute(COLUMN)`, with `;` \
                            between them";
            Err(wrong(expected, text))
        }
    }
}

pub(super) fn lineage_text(lineage: &[LineageStep]) -> String {
    let step = |it: &LineageStep| match it {
        LineageStep::Rename { from, to } => format!("rename({from},{to})"),
        LineageStep::Project(kept) => format!("project({})", kept.join(",")),
        LineageStep::Compute(name) => format!("compute({name})"),
    };
    lineage.iter().map(step).collect::<Vec<_>>().join(";")
}
