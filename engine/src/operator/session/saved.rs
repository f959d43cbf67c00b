//! Sessions as a snapshot keeps them.
//!
//! The layout has the sessions by key and start, and the places (end, start, key) of those that owe
//! their writing and of those that do not.
//!
//! Invariant: equal sessions are equal bytes, whatever keys came and went before.

use super::published::Published;
use super::{Name, Place, Session, Sessions};
use crate::operator::grouping::Key;
use crate::plan::flow::SessionPlan;
use crate::time::{EventTime, Span};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};

/// What is written.
#[derive(PartialEq, Serialize, Deserialize)]
pub(super) struct Saved {
    plan: SessionPlan,
    hindsight: Span,
    live: BTreeMap<Key, BTreeMap<EventTime, Session>>,
    pub(super) due: BTreeSet<Place>,
    kept: BTreeSet<Place>,
    published: Published,
}

impl Sessions {
    /// The names of all sessions, in no order that means anything.
    pub(super) fn names(&self) -> impl Iterator<Item = Name> {
        self.live.numbered().flat_map(|(slot, sessions)| {
            let all = sessions.between((EventTime::MIN, EventTime::MAX));
            all.map(move |(start, _)| (slot, start))
        })
    }

    pub(super) fn save(&self) -> Saved {
        let mut saved = Saved {
            plan: self.plan.clone(),
            hindsight: self.hindsight,
            live: BTreeMap::new(),
            due: BTreeSet::new(),
            kept: BTreeSet::new(),
            published: self.published.clone(),
        };
        for (slot, start) in self.names() {
            let (key, session) = (self.live.key(slot), self.session(slot, start));
            let places = if session.owes { &mut saved.due } else { &mut saved.kept };
            places.insert((session.end, start, key.clone()));
            let wakes = EventTime::MAX;
            let of_key = saved.live.entry(key.clone()).or_default();
            of_key.insert(start, Session { wakes, ..session.clone() });
        }
        saved
    }

    /// The sessions that were saved, if each has its place.
    fn load(saved: &Saved) -> Option<Self> {
        let mut sessions = Self::new(&saved.plan, saved.hindsight);
        sessions.published = saved.published.clone();
        for (key, of_key) in &saved.live {
            for (start, it) in of_key {
                let slot = sessions.live.find_or_take(key.clone());
                let wakes = it.next(saved.plan.lateness);
                sessions.queue.push(wakes, (slot, *start));
                sessions.live.of_mut(slot).insert(*start, Session { wakes, ..it.clone() });
                sessions.count += 1;
            }
        }
        (sessions.save() == *saved).then_some(sessions)
    }
}

impl PartialEq for Sessions {
    fn eq(&self, other: &Self) -> bool {
        self.save() == other.save()
    }
}

impl Eq for Sessions {}

impl Serialize for Sessions {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.save().serialize(to)
    }
}

impl<'de> Deserialize<'de> for Sessions {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let saved = Saved::deserialize(from)?;
        let sessions = Self::load(&saved);
        sessions.ok_or_else(|| D::Error::custom("saved sessions and their places differ"))
    }
}
