//! Reading a table of a scenario file, strictly.
//!
//! Every key that is asked for is remembered; a key that nobody asked for is a mistake, most often a
//! typo, and silently ignoring it would test another world than the author meant. All mistakes of a
//! file are found in one pass, each with the bytes at which it stands.
//!
//! Invariant: a table in which nothing is wrong leaves no error; anything else leaves at least one.

use crate::trace::nearest;
use crate::trace::time_text::{parse_span, parse_time};
use std::cell::RefCell;
use std::ops::{Range, RangeInclusive};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A mistake in a scenario file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected {expected}, found {found}")]
pub struct ScenarioError {
    /// Where, in bytes of the file.
    pub span: Range<usize>,
    /// What should have stood there.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

/// All mistakes that were found so far.
#[derive(Debug, Default)]
pub(crate) struct Errors(pub(crate) RefCell<Vec<ScenarioError>>);

impl Errors {
    pub(crate) fn add(
        &self,
        span: Range<usize>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) {
        let error = ScenarioError { span, expected: expected.into(), found: found.into() };
        self.0.borrow_mut().push(error);
    }
}

/// A table that is being read.
pub(crate) struct Reader<'a> {
    /// The table.
    pub(crate) table: &'a DeTable<'a>,
    /// Where the table stands.
    pub(crate) span: Range<usize>,
    asked: Vec<&'static str>,
    /// Where mistakes go.
    pub(crate) errors: &'a Errors,
}

/// How an error names a value.
pub(crate) fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(it) => format!("`{it}`"),
        DeValue::Integer(it) => format!("`{}`", it.as_str()),
        DeValue::Boolean(it) => format!("`{it}`"),
        DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
            format!("a value of type {}", value.type_str())
        }
    }
}

fn integer(value: &DeValue<'_>) -> Option<i64> {
    let it = value.as_integer()?;
    i64::from_str_radix(&it.as_str().replace('_', ""), it.radix()).ok()
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(
        table: &'a DeTable<'a>,
        span: Range<usize>,
        errors: &'a Errors,
    ) -> Self {
        Self { table, span, asked: Vec::new(), errors }
    }

    /// The value of a key, which is known from now on.
    pub(crate) fn value(&mut self, key: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.asked.push(key);
        self.table.get(key)
    }

    /// Whether a key stands there.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// A value that was found, or the complaint that it should have been.
    fn wanted<T>(
        &self,
        value: &Spanned<DeValue<'_>>,
        expected: &str,
        read: impl FnOnce(&DeValue<'_>) -> Option<T>,
    ) -> Option<T> {
        let found = read(value.get_ref());
        if found.is_none() {
            self.errors.add(value.span(), expected, shown(value.get_ref()));
        }
        found
    }

    /// A text that must be there.
    pub(crate) fn text(&mut self, key: &'static str, expected: &str) -> String {
        match self.value(key) {
            Some(value) => self.wanted(value, expected, |it| it.as_str().map(str::to_owned)),
            None => {
                self.errors.add(self.span.clone(), format!("`{key}`, {expected}"), "none");
                None
            }
        }
        .unwrap_or_default()
    }

    /// A table below this one.
    pub(crate) fn table(&mut self, key: &'static str) -> Option<Self> {
        let value = self.value(key)?;
        self.below(value)
    }

    fn below(&self, value: &'a Spanned<DeValue<'a>>) -> Option<Self> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.errors.add(value.span(), "a table", shown(value.get_ref()));
        }
        Some(Self::new(table?, value.span(), self.errors))
    }

    /// An array of tables below this one.
    pub(crate) fn tables(&mut self, key: &'static str) -> Vec<Self> {
        let Some(value) = self.value(key) else { return Vec::new() };
        let Some(array) = value.get_ref().as_array() else {
            self.errors.add(value.span(), "an array of tables", shown(value.get_ref()));
            return Vec::new();
        };
        array.iter().filter_map(|it| self.below(it)).collect()
    }

    /// A whole number within a range.
    pub(crate) fn number(
        &mut self,
        key: &'static str,
        default: i64,
        legal: RangeInclusive<i64>,
    ) -> i64 {
        let expected = format!("a whole number from {} to {}", legal.start(), legal.end());
        self.value(key).map_or(default, |value| {
            self.wanted(value, &expected, |it| integer(it).filter(|it| legal.contains(it)))
                .unwrap_or(default)
        })
    }

    /// A yes or no; no where it does not stand there.
    pub(crate) fn flag(&mut self, key: &'static str) -> bool {
        self.value(key).is_some_and(|value| {
            self.wanted(value, "true or false", |it| it.as_bool()).unwrap_or_default()
        })
    }

    /// A share in per mille.
    pub(crate) fn share(&mut self, key: &'static str, default: u32) -> u32 {
        self.number(key, i64::from(default), 0..=1000) as u32
    }

    /// One value or a pair `[lowest, highest]`.
    fn pair(
        &mut self,
        key: &'static str,
        default: [i64; 2],
        expected: &str,
        read: impl Fn(&DeValue<'_>) -> Option<i64>,
    ) -> [i64; 2] {
        self.value(key).map_or(default, |value| {
            let both = |it: &DeValue<'_>| match it.as_array() {
                None => read(it).map(|it| [it, it]),
                Some(them) if them.len() == 2 => {
                    let low = read(them.first()?.get_ref())?;
                    let high = read(them.get(1)?.get_ref())?;
                    (low <= high).then_some([low, high])
                }
                Some(_) => None,
            };
            self.wanted(value, expected, both).unwrap_or(default)
        })
    }

    /// A whole number, or a range of them, within a range.
    pub(crate) fn numbers(
        &mut self,
        key: &'static str,
        default: [i64; 2],
        legal: RangeInclusive<i64>,
    ) -> [i64; 2] {
        let expected = format!(
            "a whole number from {} to {}, or two of them, the lower first",
            legal.start(),
            legal.end()
        );
        self.pair(key, default, &expected, |it| integer(it).filter(|it| legal.contains(it)))
    }

    /// A span, or a range of spans, in milliseconds.
    pub(crate) fn spans(&mut self, key: &'static str, default: [i64; 2]) -> [i64; 2] {
        let expected = "a span such as \"40min\", or two of them, the shorter first";
        self.pair(key, default, expected, |it| {
            let span = parse_span(it.as_str()?).ok()?.0;
            (span.unsigned_abs() <= 400 * 86_400_000).then_some(span)
        })
    }

    /// A list of values, or one.
    pub(crate) fn list<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        read: impl Fn(&DeValue<'_>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let value = self.value(key)?;
        let one = std::slice::from_ref(value);
        let all = value.get_ref().as_array().map_or(one.iter(), |it| it.iter());
        let read: Vec<T> = all.filter_map(|it| self.wanted(it, expected, &read)).collect();
        if value.get_ref().as_array().is_some_and(|it| it.is_empty()) {
            self.errors.add(value.span(), expected, "an empty list");
        }
        (!read.is_empty()).then_some(read)
    }

    /// Times such as `"10:00:00"`.
    pub(crate) fn times(&mut self, key: &'static str) -> Option<Vec<i64>> {
        // Far from the ends of the line, so that no world leaves it.
        let legal = |it: i64| it.unsigned_abs() < 1 << 50;
        self.list(key, "a time such as \"10:00:00\"", |it| {
            parse_time(it.as_str()?).ok().map(|it| it.0).filter(|it| legal(*it))
        })
    }

    /// Complains about every key that nobody asked for.
    pub(crate) fn finish(self) {
        for key in self.table.keys() {
            let name = key.get_ref().as_ref();
            if !self.asked.contains(&name) {
                let known = self.asked.iter().copied();
                let expected = nearest::expected("a key of this table", name, known);
                self.errors.add(key.span(), expected, format!("`{name}`"));
            }
        }
    }
}
