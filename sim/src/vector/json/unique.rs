//! Names that an object gives twice.
//!
//! JSON does not forbid it, and readers differ in which of the two values they take: a vector that says
//! two things at once says nothing. The value tree keeps one of them, so the text is walked once more.
//!
//! Invariant: a text in which no object gives a name twice has no error here.

use super::super::VectorError;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeSet;
use std::fmt;

/// One error per name that is given again, each with its place. The text is JSON; where it is not,
/// nothing is found.
pub(super) fn given_twice(text: &str) -> Vec<VectorError> {
    let mut errors = Vec::new();
    let walk = Walk { place: String::new(), errors: &mut errors };
    // What is no JSON has been refused by the one who asks.
    let _ = walk.deserialize(&mut serde_json::Deserializer::from_str(text));
    errors
}

/// Walks a value at a place.
struct Walk<'a> {
    place: String,
    errors: &'a mut Vec<VectorError>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut at = 0_usize;
        while items
            .next_element_seed(Walk {
                place: format!("{}[{at}]", self.place),
                errors: &mut *self.errors,
            })?
            .is_some()
        {
            at += 1;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let mut names: BTreeSet<String> = BTreeSet::new();
        while let Some(name) = fields.next_key::<String>()? {
            let place =
                if self.place.is_empty() { name.clone() } else { format!("{}.{name}", self.place) };
            if !names.insert(name) {
                self.errors.push(VectorError {
                    place: place.clone(),
                    expected: "one field of this name".to_owned(),
                    found: "another one".to_owned(),
                });
            }
            fields.next_value_seed(Walk { place, errors: &mut *self.errors })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Vec<String> {
        given_twice(text).into_iter().map(|it| it.place).collect()
    }

    #[test]
    fn a_name_that_an_object_gives_twice_is_an_error_with_its_place() {
        assert_eq!(places(r#"{"a": 1, "a": 2}"#), ["a"]);
        let text = r#"{"a": [{"b": 1.5, "c": null, "b": true}], "d": {"e": {}, "e": [], "e": ""}}"#;
        assert_eq!(places(text), ["a[0].b", "d.e", "d.e"]);
    }

    #[test]
    fn the_same_name_in_two_objects_is_none() {
        let text = r#"[{"a": 1}, {"a": -12345678901234567890.5e3, "b": {"a": "\u0041"}}]"#;
        assert_eq!(places(text), Vec::<String>::new());
    }
}
