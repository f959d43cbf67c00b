//! Columns by name, as a stage is handed them, and what is made of them: lists, aggregates, filters.
//!
//! Behind a stage that could not be read nobody knows which columns there are; then every name is
//! taken, since the mistake that matters is reported already.
//!
//! Invariant: reading what was printed gives the same value, where no two columns have one name.

use crate::trace::nearest;
use crate::trace::plan_text::keys::{COMPARE, Wrong, word, wrong};
use crate::trace::plan_text::{nested, values};
use crate::trace::time_text::TimeText;
use plimsoll_engine::plan::Aggregate;
use plimsoll_engine::plan::flow::{Filter, PairFilter};
use plimsoll_engine::row::{ColumnIx, ColumnKind, Schema};
use plimsoll_engine::time::EventTime;

/// The columns that a stage is handed.
#[derive(Clone, Copy)]
pub(in crate::trace::plan_text) struct Columns<'a> {
    /// The columns; `None` where nobody knows them.
    schema: Option<&'a Schema>,
}

impl<'a> Columns<'a> {
    pub(in crate::trace::plan_text) const fn new(schema: Option<&'a Schema>) -> Self {
        Self { schema }
    }

    pub(super) fn known(&self) -> Option<&'a Schema> {
        self.schema
    }

    pub(super) fn find(&self, name: &str) -> Result<ColumnIx, Wrong> {
        let Some(schema) = self.schema else { return Ok(ColumnIx(0)) };
        schema.position(name).ok_or_else(|| {
            let names = schema.columns.iter().map(|it| it.name.as_str());
            wrong(nearest::expected("a column that is there", name, names), name)
        })
    }

    /// `a+b`; an empty text has none.
    pub(super) fn list(&self, text: &str) -> Result<Vec<ColumnIx>, Wrong> {
        summands(text)?.into_iter().map(|it| self.find(it)).collect()
    }

    /// `a+l:r`: what stands without a colon is called the same on both sides.
    pub(super) fn pairs(&self, text: &str) -> Result<Vec<(ColumnIx, ColumnIx)>, Wrong> {
        let pair = |it: &str| self.both(it).map(|it| (it[0], it[1]));
        summands(text)?.into_iter().map(pair).collect()
    }

    /// `l:r` or `both`.
    pub(super) fn both(&self, text: &str) -> Result<[ColumnIx; 2], Wrong> {
        let (left, right) = text.split_once(':').unwrap_or((text, text));
        Ok([self.find(left.trim())?, self.find(right.trim())?])
    }

    /// `count+sum(v)`; an empty text has none.
    pub(super) fn aggregates(&self, text: &str) -> Result<Vec<Aggregate>, Wrong> {
        let one = |it: &str| values::aggregate(it, |name| self.find(name));
        summands(text)?.into_iter().map(one).collect()
    }

    /// `v<v+a!=b`: a column on the left, compared with one on the right.
    pub(in crate::trace::plan_text) fn pair_filters(
        &self,
        text: &str,
    ) -> Result<Vec<PairFilter>, Wrong> {
        let one = |text: &str| {
            let at = nested::first(text, &['<', '>', '=', '!']);
            let sign = at.and_then(|at| COMPARE.iter().find(|it| text[at..].starts_with(it.0)));
            let (Some(at), Some((sign, compare))) = (at, sign) else {
                return Err(wrong("a comparison of two columns such as `v<v`", text));
            };
            let left = self.find(text[..at].trim())?;
            let right = self.find(text[at + sign.len()..].trim())?;
            Ok(PairFilter { left, compare: *compare, right })
        };
        summands(text)?.into_iter().map(one).collect()
    }

    /// `v>=5`.
    pub(super) fn filter(&self, text: &str) -> Result<Filter, Wrong> {
        let expected = "a comparison such as `v>=5`, with `<`, `<=`, `=`, `!=`, `>=` or `>`";
        let at = nested::first(text, &['<', '>', '=', '!']);
        let sign = at.and_then(|at| COMPARE.iter().find(|it| text[at..].starts_with(it.0)));
        let (Some(at), Some((sign, compare))) = (at, sign) else {
            return Err(wrong(expected, text));
        };
        let (name, number) = (text[..at].trim(), text[at + sign.len()..].trim());
        let column = self.find(name)?;
        let kind = self.schema.and_then(|it| it.columns.get(column.0)).map(|it| it.kind);
        let value = match kind {
            Some(ColumnKind::Time) => values::time(number)?.0,
            Some(ColumnKind::Integer | ColumnKind::Text) => {
                number.parse().map_err(|_| wrong("an integer that fits 64 bits", number))?
            }
            None => 0,
        };
        Ok(Filter { column, compare: *compare, value })
    }
}

/// Parts between plus signs.
fn summands(text: &str) -> Result<Vec<&str>, Wrong> {
    nested::parts(text, '+').ok_or_else(|| wrong("as many `)` as `(`", text))
}

pub(super) fn list_text(schema: &Schema, columns: &[ColumnIx]) -> String {
    columns.iter().map(|it| values::name(schema, *it)).collect::<Vec<_>>().join("+")
}

pub(super) fn both_text(schema: &Schema, left: ColumnIx, right: ColumnIx) -> String {
    let (left, right) = (values::name(schema, left), values::name(schema, right));
    if left == right { left.to_owned() } else { format!("{left}:{right}") }
}

pub(super) fn pairs_text(schema: &Schema, pairs: &[(ColumnIx, ColumnIx)]) -> String {
    pairs.iter().map(|it| both_text(schema, it.0, it.1)).collect::<Vec<_>>().join("+")
}

pub(super) fn aggregates_text(schema: &Schema, aggregates: &[Aggregate]) -> String {
    let one = |it: &Aggregate| values::aggregate_text(schema, *it);
    aggregates.iter().map(one).collect::<Vec<_>>().join("+")
}

pub(in crate::trace::plan_text) fn pair_filters_text(
    schema: &Schema,
    pairs: &[PairFilter],
) -> String {
    let one = |it: &PairFilter| {
        let (left, right) = (values::name(schema, it.left), values::name(schema, it.right));
        format!("{left}{}{right}", word(COMPARE, it.compare))
    };
    pairs.iter().map(one).collect::<Vec<_>>().join("+")
}

pub(super) fn filter_text(schema: &Schema, filter: Filter) -> String {
    let Filter { column, compare, value } = filter;
    let kind = schema.columns.get(column.0).map(|it| it.kind);
    let number = match kind {
        Some(ColumnKind::Time) => TimeText(EventTime(value)).to_string(),
        _ => value.to_string(),
    };
    format!("{}{}{number}", values::name(schema, column), word(COMPARE, compare))
}
