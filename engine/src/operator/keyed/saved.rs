//! Rows by key and time, as a snapshot keeps them.
//!
//! The layout is two maps: the rows by (key, time, number), and their keys by (time, number).
//!
//! Invariant: equal rows are equal bytes, whatever keys came and went before.

use super::{Key, Keyed, Place};
use crate::time::EventTime;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// What is written.
#[derive(Serialize, Deserialize)]
struct Saved<T> {
    rows: BTreeMap<Place, T>,
    by_time: BTreeMap<(EventTime, u64), Key>,
}

impl<T: PartialEq> PartialEq for Keyed<T> {
    fn eq(&self, other: &Self) -> bool {
        let rows: BTreeMap<_, _> = self.iter().collect();
        rows == other.iter().collect()
    }
}

impl<T: Eq> Eq for Keyed<T> {}

impl<T: Serialize> Serialize for Keyed<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let rows: BTreeMap<_, _> = self.iter().collect();
        let by_time = rows.keys().map(|it| ((it.time, it.number), it.key.clone())).collect();
        Saved { rows, by_time }.serialize(to)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Keyed<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Saved { rows, by_time } = Saved::deserialize(from)?;
        let mut keyed = Self::default();
        let mut named = by_time.len();
        for (place, row) in rows {
            named -= usize::from(by_time.get(&(place.time, place.number)) == Some(&place.key));
            keyed.insert(place, row);
        }
        if named != 0 || by_time.len() != keyed.len() {
            return Err(D::Error::custom("stored rows and the order of their times differ"));
        }
        Ok(keyed)
    }
}
