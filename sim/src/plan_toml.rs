//! A plan as the `[plan]` table of a TOML file.
//!
//! The keys are those of [`plan_text`](crate::trace::plan_text), the values the same texts. An integer
//! or a boolean is read as its text, an array as its elements between commas (`lineage`: semicolons,
//! `stages`: bars).
//! Every mistake has the bytes of the file that it is about, so that the command can point at them.
//!
//! ```
//! let text = "[plan]\nwindow = \"tumbling(10min)\"\nkey = [\"k\"]\ndealy = \"2min\"\n";
//! let errors = plimsoll_sim::plan_toml::plan_from_toml(text, &[]).unwrap_err();
//! assert_eq!(&text[errors[0].span.clone()], "dealy");
//! assert_eq!(errors[0].expected, "a key of the plan; the nearest is `delay`");
//! ```
//!
//! Invariant: every span lies within the text, on boundaries of characters.

use crate::trace::nearest;
use crate::trace::plan_text::{KEYS, PlanText, PlanTextError, plan_from_pairs};
use crate::trace::words::shown;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// One mistake in a file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected {expected}, found {found}")]
pub struct PlanTomlError {
    /// The bytes that it is about.
    pub span: Range<usize>,
    /// What should have stood there.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

/// Reads the plan of a file. `others` are the names at the top of the file that the caller reads.
///
/// # Errors
/// All mistakes; where the file is no TOML, the first.
pub fn plan_from_toml(text: &str, others: &[&str]) -> Result<PlanText, Vec<PlanTomlError>> {
    let file = DeTable::parse(text).map_err(|error| {
        let span = within(text, error.span().unwrap_or(0..text.len()));
        let found = shown(&text[span.start..]);
        vec![PlanTomlError { span, expected: format!("TOML: {}", error.message()), found }]
    })?;
    let file = file.get_ref();
    let mut errors = Vec::new();
    for name in file.keys() {
        let known = || others.iter().copied().chain(["plan"]);
        if known().all(|it| it != name.get_ref().as_ref()) {
            let expected = nearest::expected("`[plan]`", name.get_ref(), known());
            let found = shown(name.get_ref());
            errors.push(PlanTomlError { span: within(text, name.span()), expected, found });
        }
    }
    let table = match file.get("plan") {
        None => {
            let expected = "a table `[plan]`".to_owned();
            let found = "none in the file".to_owned();
            errors.push(PlanTomlError { span: 0..0, expected, found });
            return Err(errors);
        }
        Some(value) => match value.get_ref() {
            DeValue::Table(table) => table,
            other => {
                let expected = "a table `[plan]`".to_owned();
                let (span, found) = (within(text, value.span()), other.type_str().to_owned());
                errors.push(PlanTomlError { span, expected, found });
                return Err(errors);
            }
        },
    };
    let read = plan_from_table(table);
    match read {
        Ok(plan) if errors.is_empty() => Ok(plan),
        Ok(_) => Err(errors),
        Err(more) => {
            let more =
                more.into_iter().map(|it| PlanTomlError { span: within(text, it.span), ..it });
            errors.extend(more);
            errors.sort_by_key(|it| it.span.start);
            Err(errors)
        }
    }
}

/// Reads a plan from its table.
///
/// # Errors
/// All mistakes.
pub fn plan_from_table(table: &DeTable<'_>) -> Result<PlanText, Vec<PlanTomlError>> {
    let mut errors = Vec::new();
    let mut texts: BTreeMap<&str, (String, Range<usize>, Range<usize>)> = BTreeMap::new();
    for (key, value) in table {
        let separator = match key.get_ref().as_ref() {
            "lineage" => ";",
            "stages" => "|",
            _ => ",",
        };
        match text_of(value, separator) {
            Some(text) => {
                texts.insert(key.get_ref(), (text, key.span(), value.span()));
            }
            None => {
                let expected = "a text, an integer, a boolean or a list of these".to_owned();
                let found = value.get_ref().type_str().to_owned();
                errors.push(PlanTomlError { span: value.span(), expected, found });
            }
        }
    }
    let read = plan_from_pairs(texts.iter().map(|(key, (text, ..))| (*key, text.as_str())));
    let read = read.map_err(|wrong| {
        errors.extend(wrong.into_iter().map(|it| {
            let PlanTextError { key, expected, found, .. } = it;
            let spans = texts.get(key.as_str()).map(|(_, key, value)| (key.clone(), value.clone()));
            let (name, value) = spans.unwrap_or_default();
            let span = if KEYS.contains(&key.as_str()) { value } else { name };
            PlanTomlError { span, expected, found }
        }));
    });
    match read {
        Ok(it) if errors.is_empty() => Ok(it),
        _ => Err(errors),
    }
}

/// The text that a pair of the plan would have; `None` where no pair has such a value.
fn text_of(value: &Spanned<DeValue<'_>>, separator: &str) -> Option<String> {
    match value.get_ref() {
        DeValue::String(it) => Some(it.to_string()),
        DeValue::Integer(it) => match it.radix() {
            10 => Some(it.as_str().to_owned()),
            radix => i64::from_str_radix(it.as_str(), radix).ok().map(|it| it.to_string()),
        },
        DeValue::Boolean(it) => Some(it.to_string()),
        DeValue::Datetime(it) => Some(it.to_string()),
        DeValue::Array(parts) => {
            let text = |it: &Spanned<DeValue<'_>>| match it.get_ref() {
                DeValue::Array(_) | DeValue::Table(_) => None,
                _ => text_of(it, separator),
            };
            let parts: Option<Vec<String>> = parts.iter().map(text).collect();
            parts.map(|it| it.join(separator))
        }
        DeValue::Float(_) | DeValue::Table(_) => None,
    }
}

/// A span inside of the text and on boundaries of characters.
fn within(text: &str, span: Range<usize>) -> Range<usize> {
    let boundary = |at: usize| text.floor_char_boundary(at.min(text.len()));
    let start = boundary(span.start);
    start..boundary(span.end).max(start)
}

#[cfg(test)]
mod tests;
