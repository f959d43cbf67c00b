//! How the query of a vector is written.
//!
//! Invariant: a field that is absent has the default of the format; nothing else is made up.

use super::super::super::{Errors, Node, Object};
use super::{
    Against, Agg, COMPARATORS, Filter, Function, Gap, Input, Join, JoinType, Operator, OutputMode,
    Policy, Query, TimeColumn, Via, WatermarkOn,
};

/// Columns that an input may have beside `ts`, `k` and `v`.
pub(in super::super) const EXTRA_COLUMNS: [&str; 2] = ["ts2", "gap"];

/// The functions of aggregates as they are written.
const FUNCTIONS: [(&str, Function); 6] = [
    ("count", Function::Count),
    ("sum", Function::Sum),
    ("min", Function::Min),
    ("max", Function::Max),
    ("avg", Function::Avg),
    ("count_distinct", Function::CountDistinct),
];

/// Reads a query.
pub(in super::super) fn read(node: &Node<'_>, errors: &mut Errors) -> Option<Query> {
    let mut query = node.object(errors)?;
    let inputs = query.require("inputs", errors).and_then(|it| it.each(errors, input));
    let kind = query.require("operator", errors).and_then(|it| operator(&it, errors));
    let modes = [
        ("append", OutputMode::Append),
        ("update", OutputMode::Update),
        ("complete", OutputMode::Complete),
    ];
    let mode = query.require("output_mode", errors).and_then(|it| it.word(&modes, errors));
    let policy = query.require("watermark_policy", errors).and_then(|it| it.text(errors));
    let no_data = query.require("no_data_batches", errors).and_then(|it| it.flag(errors));
    let partitions = query.take("state_partitions").map_or(Some(1), |it| it.count(errors));
    let conf = query.take("engine_conf").map_or(Some(Vec::new()), |it| settings(&it, errors));
    query.finish(errors);
    Some(Query {
        inputs: inputs?,
        operator: kind?,
        output_mode: mode?,
        watermark_policy: self::policy(policy?),
        no_data_batches: no_data?,
        state_partitions: partitions?,
        engine_conf: conf?,
    })
}

/// A policy by its word.
pub(in super::super) fn policy(word: &str) -> Policy {
    match word {
        "min" => Policy::Min,
        "max" => Policy::Max,
        other => Policy::Other(other.to_owned()),
    }
}

fn settings(node: &Node<'_>, errors: &mut Errors) -> Option<Vec<(String, String)>> {
    let settings = node.object(errors)?;
    let read = |(name, value): (&str, Node<'_>), errors: &mut Errors| {
        Some((name.to_owned(), value.text(errors)?.to_owned()))
    };
    settings.entries().into_iter().map(|it| read(it, errors)).collect()
}

fn input(node: &Node<'_>, errors: &mut Errors) -> Option<Input> {
    let mut input = node.object(errors)?;
    let name = text(&mut input, "name", errors);
    let delay = input
        .require("watermark_delay_ms", errors)
        .and_then(|it| it.some().map_or(Some(None), |it| it.integer(errors).map(Some)));
    let column = input.take("watermark_column").map_or(Some("ts"), |it| it.text(errors));
    let further =
        input.take("extra_watermarks").map_or(Some(Vec::new()), |it| it.each(errors, watermark_on));
    let extra = input.take("extra_columns").map_or(Some(Vec::new()), |it| {
        let words = EXTRA_COLUMNS.map(|it| (it, it));
        it.each(errors, |it, errors| it.word(&words, errors).map(str::to_owned))
    });
    let filter = input.take("filter").map_or(Some(None), |it| filter(&it, errors).map(Some));
    input.finish(errors);
    Some(Input {
        name: name?,
        delay: delay?,
        column: column?.to_owned(),
        further: further?,
        extra_columns: extra?,
        filter: filter?,
    })
}

fn watermark_on(node: &Node<'_>, errors: &mut Errors) -> Option<WatermarkOn> {
    let mut watermark = node.object(errors)?;
    let column = text(&mut watermark, "column", errors);
    let delay = integer(&mut watermark, "delay_ms", errors);
    watermark.finish(errors);
    Some(WatermarkOn { column: column?, delay: delay? })
}

fn filter(node: &Node<'_>, errors: &mut Errors) -> Option<Filter> {
    let mut filter = node.object(errors)?;
    let column = text(&mut filter, "column", errors);
    let op = filter.require("op", errors).and_then(|it| it.word(&COMPARATORS, errors));
    let value = filter.require("value", errors).and_then(|it| match it.value().as_str() {
        Some(it) => Some(Against::Text(it.to_owned())),
        None => it.integer(errors).map(Against::Number),
    });
    filter.finish(errors);
    Some(Filter { column: column?, op: op?, value: value? })
}

fn operator(node: &Node<'_>, errors: &mut Errors) -> Option<Operator> {
    let mut operator = node.object(errors)?;
    let kind = operator.require("kind", errors)?;
    let read = match kind.text(errors)? {
        "window_aggregate" => window(&mut operator, errors),
        "session_aggregate" => session(&mut operator, errors),
        "key_aggregate" => {
            let keys = list(&mut operator, "keys", errors);
            let aggs = aggs(&mut operator, errors);
            keys.zip(aggs).map(|(keys, aggs)| Operator::Key { keys, aggs })
        }
        "dedup" => {
            let columns = list(&mut operator, "columns", errors);
            let within = operator.require("within_watermark", errors);
            let within = within.and_then(|it| it.flag(errors));
            columns
                .zip(within)
                .map(|(columns, within_watermark)| Operator::Dedup { columns, within_watermark })
        }
        "join" => join(&mut operator, errors).map(Operator::Join),
        "passthrough" => Some(Operator::Passthrough),
        "project" => {
            list(&mut operator, "columns", errors).map(|columns| Operator::Project { columns })
        }
        "sort" => list(&mut operator, "columns", errors).map(|columns| Operator::Sort { columns }),
        "chain" => {
            let stages = operator.require("stages", errors);
            let stages = stages.and_then(|it| it.each(errors, self::operator));
            stages.map(Operator::Chain)
        }
        _ => {
            errors.unexpected(&kind, "a kind of operator");
            return None;
        }
    };
    operator.finish(errors);
    read
}

fn window(operator: &mut Object<'_>, errors: &mut Errors) -> Option<Operator> {
    let size = integer(operator, "size_ms", errors);
    let slide = bound(operator, "slide_ms", errors);
    let offset = operator.take("offset_ms").map_or(Some(0), |it| it.integer(errors));
    let keys = list(operator, "keys", errors);
    let aggs = aggs(operator, errors);
    let direct = TimeColumn { column: None, via: Via::Direct };
    let time = operator.take("time").map_or(Some(direct), |it| time(&it, errors));
    Some(Operator::Window {
        size: size?,
        slide: slide?,
        offset: offset?,
        keys: keys?,
        aggs: aggs?,
        time: time?,
    })
}

fn time(node: &Node<'_>, errors: &mut Errors) -> Option<TimeColumn> {
    let ways = [
        ("direct", Via::Direct),
        ("rename", Via::Rename),
        ("computed", Via::Computed),
        ("window", Via::Window),
        ("window_time", Via::WindowTime),
    ];
    let mut time = node.object(errors)?;
    let column = time.take("column").map_or(Some(None), |it| it.text(errors).map(Some));
    let via = time.take("via").map_or(Some(Via::Direct), |it| it.word(&ways, errors));
    time.finish(errors);
    Some(TimeColumn { column: column?.map(str::to_owned), via: via? })
}

fn session(operator: &mut Object<'_>, errors: &mut Errors) -> Option<Operator> {
    let gap = match operator.take("gap_column") {
        Some(it) => it.text(errors).map(|it| Gap::Column(it.to_owned())),
        None => integer(operator, "gap_ms", errors).map(Gap::Fixed),
    };
    let keys = list(operator, "keys", errors);
    let aggs = aggs(operator, errors);
    Some(Operator::Session { gap: gap?, keys: keys?, aggs: aggs? })
}

fn join(operator: &mut Object<'_>, errors: &mut Errors) -> Option<Join> {
    let kinds = [
        ("inner", JoinType::Inner),
        ("left_outer", JoinType::LeftOuter),
        ("right_outer", JoinType::RightOuter),
        ("full_outer", JoinType::FullOuter),
        ("left_semi", JoinType::LeftSemi),
        ("left_anti", JoinType::LeftAnti),
    ];
    let kind = operator.require("type", errors).and_then(|it| it.word(&kinds, errors));
    let on = operator
        .require("on", errors)
        .and_then(|it| it.some().map_or(Some(None), |it| it.text(errors).map(Some)));
    let lower = bound(operator, "lower_ms", errors);
    let upper = bound(operator, "upper_ms", errors);
    let mut flag = |name| operator.take(name).map_or(Some(false), |it| it.flag(errors));
    let (lower_open, upper_open) = (flag("lower_open"), flag("upper_open"));
    let (on_time, keep_times) = (flag("on_time"), flag("keep_times"));
    let window = bound(operator, "window_ms", errors);
    let residual = operator.take("residual").map_or(Some(None), |it| it.text(errors).map(Some));
    Some(Join {
        kind: kind?,
        on: on?.map(str::to_owned),
        lower: lower?,
        upper: upper?,
        lower_open: lower_open?,
        upper_open: upper_open?,
        on_time: on_time?,
        window: window?,
        keep_times: keep_times?,
        residual: residual?.map(str::to_owned),
    })
}

fn aggs(operator: &mut Object<'_>, errors: &mut Errors) -> Option<Vec<Agg>> {
    operator.require("aggs", errors).and_then(|it| it.each(errors, agg))
}

/// `"sum"` is the sum of `v` under the name `sum`; `"count"` counts rows.
fn agg(node: &Node<'_>, errors: &mut Errors) -> Option<Agg> {
    if let Some(name) = node.value().as_str() {
        let function = node.word(&FUNCTIONS, errors)?;
        let column = (function != Function::Count).then(|| "v".to_owned());
        return Some(Agg { function, column, name: name.to_owned() });
    }
    let mut agg = node.object(errors)?;
    let function = agg.require("fn", errors).and_then(|it| it.word(&FUNCTIONS, errors));
    let column = text(&mut agg, "col", errors);
    let name = text(&mut agg, "as", errors);
    agg.finish(errors);
    Some(Agg { function: function?, column: Some(column?), name: name? })
}

/// A number that may be absent or null.
fn bound(object: &mut Object<'_>, name: &'static str, errors: &mut Errors) -> Option<Option<i64>> {
    match object.take(name).and_then(Node::some) {
        Some(it) => it.integer(errors).map(Some),
        None => Some(None),
    }
}

fn integer(object: &mut Object<'_>, name: &'static str, errors: &mut Errors) -> Option<i64> {
    object.require(name, errors)?.integer(errors)
}

fn text(object: &mut Object<'_>, name: &'static str, errors: &mut Errors) -> Option<String> {
    object.require(name, errors)?.text(errors).map(str::to_owned)
}

fn list(object: &mut Object<'_>, name: &'static str, errors: &mut Errors) -> Option<Vec<String>> {
    let list = object.require(name, errors)?;
    names(&list, errors)
}

fn names(node: &Node<'_>, errors: &mut Errors) -> Option<Vec<String>> {
    node.each(errors, |it, errors| it.text(errors).map(str::to_owned))
}
