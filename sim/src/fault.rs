//! Faults: what goes wrong between two items, at any item.
//!
//! A world says how many faults it has per 1,000 items; a seed first draws whether it has any at all,
//! and on half of the seeds switches kinds off, so that some seeds see one kind only, often (swarm
//! testing). Then one draw per item decides.
//!
//! Crash, checkpoint and restart are in [`crash`], changes of partitions in [`rebalance`]. After the chaos
//! phase no fault strikes any more.
//!
//! Invariant: faults draw from their own stream: without them the arrivals are the same.

mod crash;
mod rebalance;

use crate::entropy::{Entropy, Stream};
use crate::scenario::reader::Reader;
use crate::trace::Item;

/// How often what goes wrong; the rates are per 1,000 items.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Faults {
    /// In how many seeds of 1,000 there are faults.
    in_seeds: u32,
    rates: [u32; KINDS.len()],
    /// Crashes of 1,000 that cannot read the last snapshot.
    stale: u32,
    /// Restarts of 1,000 that forget something.
    forgetful: u32,
    /// Moves of 1,000 that take the watermark along.
    with_watermark: u32,
}

/// What can go wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Checkpoint,
    Crash,
    Move,
    Add,
    Remove,
    Finish,
    Probe,
    StrayBatch,
    Restart,
}

/// All kinds with their keys.
const KINDS: [(&str, Kind); 9] = [
    ("checkpoint", Kind::Checkpoint),
    ("crash", Kind::Crash),
    ("rebalance", Kind::Move),
    ("add", Kind::Add),
    ("remove", Kind::Remove),
    ("finish", Kind::Finish),
    ("probe", Kind::Probe),
    ("batch", Kind::StrayBatch),
    ("restart", Kind::Restart),
];

impl Faults {
    /// Reads the `[faults]` table; without one there are none.
    pub(crate) fn read(table: Option<Reader<'_>>) -> Self {
        let Some(mut table) = table else {
            return Self {
                in_seeds: 0,
                rates: [0; KINDS.len()],
                stale: 0,
                forgetful: 0,
                with_watermark: 0,
            };
        };
        let read = Self {
            in_seeds: table.share("in_seeds", 1000),
            rates: KINDS.map(|(key, _)| table.number(key, 0, 0..=100) as u32),
            stale: table.share("stale", 0),
            forgetful: table.share("forgetful", 0),
            with_watermark: table.share("with_watermark", 500),
        };
        table.finish();
        read
    }

    /// The faults of one seed, for a world with this many partitions.
    pub(crate) fn draw<'e>(&self, entropy: &'e Entropy<'_>, partitions: u32) -> Strikes<'e> {
        let mut own = entropy.field("faults", "kinds");
        let mut rates = self.rates;
        if !own.chance(self.in_seeds) {
            rates = [0; KINDS.len()];
        } else if own.chance(500) {
            for rate in &mut rates {
                // Those that are left strike more often.
                *rate = if own.chance(400) { 0 } else { *rate * 3 / 2 };
            }
        }
        let total = rates.iter().sum();
        let Self { stale, forgetful, with_watermark, .. } = *self;
        let stream = entropy.stream("faults");
        Strikes { stream, rates, total, stale, forgetful, with_watermark, partitions }
    }
}

/// The faults of one seed.
pub(crate) struct Strikes<'e> {
    stream: Stream<'e>,
    rates: [u32; KINDS.len()],
    total: u32,
    stale: u32,
    forgetful: u32,
    with_watermark: u32,
    /// How many partitions there are by now.
    pub(crate) partitions: u32,
}

impl Strikes<'_> {
    /// What goes wrong before the next item, if anything.
    #[inline]
    pub(crate) fn strike(&mut self) -> Option<Item> {
        if self.total == 0 {
            return None;
        }
        // From the top, so that the simplest draw is no fault.
        let mut left = 999 - self.stream.below(1000) as u32;
        for (rate, (_, kind)) in self.rates.iter().zip(KINDS) {
            match left.checked_sub(*rate) {
                None => return Some(self.item(kind)),
                Some(rest) => left = rest,
            }
        }
        None
    }

    fn item(&mut self, kind: Kind) -> Item {
        match kind {
            Kind::Checkpoint => Item::Checkpoint,
            Kind::Crash => crash::crash(&mut self.stream, self.stale),
            Kind::Move => rebalance::moved(&mut self.stream, self.partitions, self.with_watermark),
            Kind::Add => rebalance::added(&mut self.stream, &mut self.partitions),
            // The only partition is left to speak: a world that is over early tests nothing.
            Kind::Remove | Kind::Finish if self.partitions < 2 => Item::Probe,
            Kind::Remove => Item::Remove(rebalance::anyone(&mut self.stream, self.partitions)),
            Kind::Finish => Item::Finish(rebalance::anyone(&mut self.stream, self.partitions)),
            Kind::Probe => Item::Probe,
            Kind::StrayBatch => Item::Batch,
            Kind::Restart => crash::restart(&mut self.stream, self.forgetful),
        }
    }
}
