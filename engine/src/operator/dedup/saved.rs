//! A dedup as a snapshot keeps it.
//!
//! The layout has the entries by (time under D1, else `MIN`; the other columns), and those that leave
//! by a time that does not stand there once more, by expiry.
//!
//! Invariant: equal entries are equal bytes.

use super::{Dedup, Entries};
use crate::operator::keyed::{Key, Place};
use crate::plan::flow::{DedupExpiry, DedupPlan, NullTime};
use crate::row::ItemId;
use crate::time::{EventTime, Span};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};

/// What is written.
#[derive(Serialize, Deserialize)]
struct Saved {
    plan: DedupPlan,
    null_time: NullTime,
    hindsight: Span,
    live: SavedEntries,
    left: SavedEntries,
}

#[derive(PartialEq, Default, Serialize, Deserialize)]
struct SavedEntries {
    entries: BTreeMap<(EventTime, Key), Entry>,
    by_expiry: BTreeSet<(EventTime, Key)>,
}

#[derive(PartialEq, Serialize, Deserialize)]
struct Entry {
    first: ItemId,
    expiry: EventTime,
}

impl SavedEntries {
    fn of(entries: &Entries, plan: &DedupPlan) -> Self {
        let mut saved = Self::default();
        for (Place { key, time: expiry, .. }, first) in entries.iter() {
            let with_its_time = plan.expiry == DedupExpiry::WithItsTime && expiry.is_finite();
            let time = if with_its_time { expiry } else { EventTime::MIN };
            if !with_its_time && expiry.is_finite() {
                saved.by_expiry.insert((expiry, key.clone()));
            }
            saved.entries.insert((time, key), Entry { first: *first, expiry });
        }
        saved
    }

    /// The entries, if they are such as this plan makes.
    fn entries(self, plan: &DedupPlan) -> Option<Entries> {
        let mut entries = Entries::default();
        for ((_, key), Entry { first, expiry }) in &self.entries {
            entries.insert(Place { key: key.clone(), time: *expiry, number: 0 }, *first);
        }
        (Self::of(&entries, plan) == self).then_some(entries)
    }
}

impl Serialize for Dedup {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self { plan, null_time, hindsight, live, left, .. } = self;
        Saved {
            plan: plan.clone(),
            null_time: *null_time,
            hindsight: *hindsight,
            live: SavedEntries::of(live, plan),
            left: SavedEntries::of(left, plan),
        }
        .serialize(to)
    }
}

impl<'de> Deserialize<'de> for Dedup {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Saved { plan, null_time, hindsight, live, left } = Saved::deserialize(from)?;
        let (live, left) = (live.entries(&plan), left.entries(&plan));
        let Some((live, left)) = live.zip(left) else {
            return Err(D::Error::custom("saved entries are not those of their plan"));
        };
        Ok(Self { live, left, ..Self::new(&plan, null_time, hindsight) })
    }
}
