//! JSON with places: a value that knows where in the file it stands.
//!
//! A reader asks an object for its fields by name. Whatever it did not ask for is unknown and an error,
//! so that the names in a reader are the whole of the format. Errors are collected, not thrown: one
//! reading names everything that is wrong, as long as the shape around it can be understood.
//!
//! Invariant: an integer is handed out only if the text of the number is one, within i64; no number
//! passes through floating point.

mod unique;

use super::VectorError;
use serde_json::{Map, Value};
use std::str::from_utf8;

/// The errors found so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Errors(Vec<VectorError>);

impl Errors {
    /// Adds: here stands something else than expected.
    pub fn unexpected(&mut self, node: &Node<'_>, expected: impl Into<String>) {
        self.push(node.place(), expected, describe(node.value));
    }

    /// Adds an error at a place.
    pub fn push(&mut self, place: &str, expected: impl Into<String>, found: impl Into<String>) {
        let (expected, found) = (expected.into(), found.into());
        self.0.push(VectorError { place: place.to_owned(), expected, found });
    }

    /// What was read if nothing is wrong, else the errors.
    ///
    /// # Errors
    /// All errors that were added.
    pub fn settle<T>(self, read: Option<T>) -> Result<T, Vec<VectorError>> {
        match read {
            Some(it) if self.0.is_empty() => Ok(it),
            _ => {
                assert!(!self.0.is_empty(), "what could not be read has a reason");
                Err(self.0)
            }
        }
    }
}

/// A value and its place.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    value: &'a Value,
    place: String,
}

impl<'a> Node<'a> {
    /// The value of a whole file.
    pub fn root(value: &'a Value) -> Self {
        Self { value, place: String::new() }
    }

    /// The path to it, such as `steps[3].batch`; `the file` for the whole.
    pub fn place(&self) -> &str {
        if self.place.is_empty() { "the file" } else { &self.place }
    }

    /// The value itself.
    pub fn value(&self) -> &'a Value {
        self.value
    }

    /// The value unless it is null.
    pub fn some(self) -> Option<Self> {
        (!self.value.is_null()).then_some(self)
    }

    /// It must be an object.
    pub fn object(&self, errors: &mut Errors) -> Option<Object<'a>> {
        let Value::Object(fields) = self.value else {
            errors.unexpected(self, "an object");
            return None;
        };
        Some(Object { fields, place: self.place.clone(), asked: Vec::new() })
    }

    /// It must be a list.
    pub fn list(&self, errors: &mut Errors) -> Option<Vec<Node<'a>>> {
        let Value::Array(items) = self.value else {
            errors.unexpected(self, "a list");
            return None;
        };
        let node = |(ix, value)| Node { value, place: format!("{}[{ix}]", self.place) };
        Some(items.iter().enumerate().map(node).collect())
    }

    /// It must be a list of which every item is read; all broken items are reported.
    pub fn each<T>(
        &self,
        errors: &mut Errors,
        mut read: impl FnMut(&Node<'a>, &mut Errors) -> Option<T>,
    ) -> Option<Vec<T>> {
        let items = self.list(errors)?;
        let read: Vec<Option<T>> = items.iter().map(|it| read(it, errors)).collect();
        read.into_iter().collect()
    }

    /// It must be a text.
    pub fn text(&self, errors: &mut Errors) -> Option<&'a str> {
        let text = self.value.as_str();
        if text.is_none() {
            errors.unexpected(self, "a text");
        }
        text
    }

    /// It must be true or false.
    pub fn flag(&self, errors: &mut Errors) -> Option<bool> {
        let flag = self.value.as_bool();
        if flag.is_none() {
            errors.unexpected(self, "true or false");
        }
        flag
    }

    /// It must be an integer within i64.
    pub fn integer(&self, errors: &mut Errors) -> Option<i64> {
        let integer = match self.value {
            Value::Number(it) => it.as_str().parse().ok(),
            _ => None,
        };
        if integer.is_none() {
            errors.unexpected(self, "an integer of 64 bits");
        }
        integer
    }

    /// It must be an integer that counts or numbers something.
    pub fn count(&self, errors: &mut Errors) -> Option<u64> {
        let count = match self.value {
            Value::Number(it) => it.as_str().parse().ok(),
            _ => None,
        };
        if count.is_none() {
            errors.unexpected(self, "an integer that is not negative");
        }
        count
    }

    /// It must be one of these words.
    pub fn word<T: Copy>(&self, words: &[(&str, T)], errors: &mut Errors) -> Option<T> {
        let known = words.iter().find(|it| self.value.as_str() == Some(it.0));
        if known.is_none() {
            let words: Vec<String> = words.iter().map(|it| format!("\"{}\"", it.0)).collect();
            errors.unexpected(self, words.join(", "));
        }
        known.map(|it| it.1)
    }
}

/// An object that is being read; it remembers what was asked for.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    fields: &'a Map<String, Value>,
    place: String,
    asked: Vec<&'static str>,
}

impl<'a> Object<'a> {
    /// A field that may be absent; null is a value.
    pub fn take(&mut self, name: &'static str) -> Option<Node<'a>> {
        self.asked.push(name);
        self.fields.get(name).map(|value| self.node(name, value))
    }

    /// A field that must be there; null is a value.
    pub fn require(&mut self, name: &'static str, errors: &mut Errors) -> Option<Node<'a>> {
        let node = self.take(name);
        if node.is_none() {
            let place = if self.place.is_empty() { "the file" } else { &self.place };
            errors.push(place, format!("a field `{name}`"), "none");
        }
        node
    }

    /// All fields, for an object whose names belong to the writer.
    pub fn entries(&self) -> Vec<(&'a str, Node<'a>)> {
        self.fields.iter().map(|(name, value)| (name.as_str(), self.node(name, value))).collect()
    }

    /// Reports the fields that were never asked for.
    pub fn finish(self, errors: &mut Errors) {
        for (name, _) in self.fields {
            if !self.asked.contains(&name.as_str()) {
                let place = self.path(name);
                errors.push(
                    &place,
                    format!("one of {}", self.asked.join(", ")),
                    "an unknown field",
                );
            }
        }
    }

    fn node(&self, name: &str, value: &'a Value) -> Node<'a> {
        Node { value, place: self.path(name) }
    }

    fn path(&self, name: &str) -> String {
        if self.place.is_empty() { name.to_owned() } else { format!("{}.{name}", self.place) }
    }
}

/// A value in short, for a message.
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(it) => it.to_string(),
        Value::Number(it) => it.to_string(),
        Value::String(it) => {
            let short: String = it.chars().take(40).collect();
            let rest = if short.len() < it.len() { ".." } else { "" };
            format!("{:?}", format!("{short}{rest}"))
        }
        Value::Array(it) => format!("a list of {}", it.len()),
        Value::Object(it) => format!("an object of {}", it.len()),
    }
}

/// Bytes as one JSON value in which no object gives a name twice.
pub(super) fn parse(bytes: &[u8]) -> Result<Value, Vec<VectorError>> {
    let (value, text) = value(bytes).map_err(|error| vec![error])?;
    let twice = unique::given_twice(text);
    if twice.is_empty() { Ok(value) } else { Err(twice) }
}

fn value(bytes: &[u8]) -> Result<(Value, &str), VectorError> {
    let broken = |place: String, found: String| VectorError {
        place,
        expected: "one JSON value in UTF-8".to_owned(),
        found,
    };
    let text = from_utf8(bytes).map_err(|error| {
        broken(format!("byte {}", error.valid_up_to()), "a byte that is not UTF-8".to_owned())
    })?;
    let value = serde_json::from_str(text).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        let text = error.to_string();
        let reason = text.split(" at line ").next().unwrap_or_default();
        broken(place, reason.to_owned())
    })?;
    Ok((value, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(text: &str, read: impl Fn(Node<'_>, &mut Errors)) -> Vec<String> {
        let value = parse(text.as_bytes()).expect("JSON");
        let mut errors = Errors::default();
        read(Node::root(&value), &mut errors);
        errors.0.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_error_names_its_place() {
        let found = errors(r#"{"a": [{"b": 1}, {"b": "x"}]}"#, |node, errors| {
            let mut object = node.object(errors).expect("an object");
            let list = object.require("a", errors).expect("a");
            let read = list.each(errors, |it, errors| {
                it.object(errors)?.require("b", errors)?.integer(errors)
            });
            assert_eq!(read, None);
        });
        assert_eq!(found, ["a[1].b: expected an integer of 64 bits, found \"x\""]);
    }

    #[test]
    fn a_field_that_nobody_asked_for_is_an_error() {
        let found = errors(r#"{"a": 1, "c": 2}"#, |node, errors| {
            let mut object = node.object(errors).expect("an object");
            assert!(object.take("a").is_some());
            assert!(object.take("b").is_none());
            object.finish(errors);
        });
        assert_eq!(found, ["c: expected one of a, b, found an unknown field"]);
    }

    #[test]
    fn numbers_are_integers_or_errors() {
        for (text, good) in [
            ("1", true),
            ("-9223372036854775808", true),
            ("9223372036854775807", true),
            ("9223372036854775808", false),
            ("1.0", false),
            ("1e3", false),
            ("\"1\"", false),
        ] {
            let found = errors(text, |node, errors| {
                node.integer(errors);
            });
            assert_eq!(found.is_empty(), good, "{text}: {found:?}");
        }
    }

    #[test]
    fn text_that_is_no_json_has_a_line_and_a_column() {
        let place = |it| parse(it).expect_err("broken")[0].place.clone();
        assert_eq!(place(b"{\"a\": 1,\n}"), "line 2, column 1");
        assert_eq!(place(b"\"\xff\""), "byte 1");
    }

    #[test]
    fn a_field_that_is_given_twice_is_an_error_and_not_the_last_one() {
        let errors = parse(b"{\"a\": {\"b\": 1, \"b\": 1}}").expect_err("two of them");
        let text: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(text, ["a.b: expected one field of this name, found another one"]);
    }
}
