//! Entropy: where every number of a world comes from.
//!
//! A seed is not one long tape. Each concern (arrivals, keys, faults, one knob of the plan) draws
//! from a stream of its own, ChaCha8 keyed by the seed and numbered by a hash of the stream's
//! name. So a new draw in one place moves no other, and most old seeds keep their worlds when the
//! generator grows (measured: plain seeds survive a change at chance, such seeds at 71 to 100 %).
//!
//! The same draws can also be fed from finite bytes, for a fuzzer: all streams then read one tape
//! in the order of the program, each draw as few bytes as its range needs, and an exhausted tape
//! gives zero, which every draw maps to its simplest value: the lowest of a range, the first of a
//! choice, `false`, no lateness.
//!
//! Ranges and distributions are our own and in integers only: those of the `rand` crates may change
//! in any minor version, and floats differ between machines.
//!
//! Invariant: the same seed and the same name give the same numbers, on every machine, for ever.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng as _, SeedableRng as _};
use std::cell::Cell;

/// FNV-1a, 64 bits: a hash that will still be the same next year.
pub const fn stable_hash(bytes: &[u8]) -> u64 {
    hash_on(0xcbf2_9ce4_8422_2325, bytes)
}

/// Goes on hashing.
const fn hash_on(mut hash: u64, bytes: &[u8]) -> u64 {
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        at += 1;
    }
    hash
}

/// A source of named streams.
#[derive(Clone, Debug)]
pub struct Entropy<'a> {
    driver: Driver<'a>,
}

#[derive(Clone, Debug)]
enum Driver<'a> {
    /// The key that `ChaCha8Rng::seed_from_u64` makes of the seed.
    Seeded([u8; 32]),
    Tape {
        bytes: &'a [u8],
        at: Cell<usize>,
    },
}

impl Entropy<'static> {
    /// All streams of a seed.
    pub fn from_seed(seed: u64) -> Self {
        Self { driver: Driver::Seeded(ChaCha8Rng::seed_from_u64(seed).get_seed()) }
    }
}

impl<'a> Entropy<'a> {
    /// All streams read these bytes, in the order of the draws; after the last byte come zeros.
    pub const fn from_bytes(bytes: &'a [u8]) -> Self {
        Self { driver: Driver::Tape { bytes, at: Cell::new(0) } }
    }

    /// The stream of this name, from its start.
    pub fn stream(&self, name: &str) -> Stream<'_> {
        self.numbered(stable_hash(name.as_bytes()))
    }

    /// The stream of one field of something that has a name, such as the keys of a model.
    pub fn field(&self, name: &str, field: &str) -> Stream<'_> {
        let name = stable_hash(name.as_bytes());
        self.numbered(hash_on(hash_on(name, b"/"), field.as_bytes()))
    }

    fn numbered(&self, number: u64) -> Stream<'_> {
        Stream {
            source: match &self.driver {
                Driver::Seeded(key) => {
                    let mut own = ChaCha8Rng::from_seed(*key);
                    own.set_stream(number);
                    Source::Seeded(own)
                }
                Driver::Tape { bytes, at } => Source::Tape { bytes, at },
            },
        }
    }
}

/// One named stream of draws.
#[derive(Debug)]
pub struct Stream<'a> {
    source: Source<'a>,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "streams live on the stack; a box would allocate")]
enum Source<'a> {
    Seeded(ChaCha8Rng),
    Tape { bytes: &'a [u8], at: &'a Cell<usize> },
}

/// The next `width` bytes of a tape as a big-endian number; zeros after its end.
fn read(bytes: &[u8], at: &Cell<usize>, width: usize) -> u64 {
    let from = at.get();
    at.set(from.saturating_add(width));
    (from..from + width).fold(0, |sum, it| sum << 8 | u64::from(*bytes.get(it).unwrap_or(&0)))
}

impl Stream<'_> {
    /// 32 random bits.
    #[inline]
    pub fn bits32(&mut self) -> u32 {
        match &mut self.source {
            Source::Seeded(rng) => rng.next_u32(),
            Source::Tape { bytes, at } => read(bytes, at, 4) as u32,
        }
    }

    /// 64 random bits.
    #[inline]
    pub fn bits64(&mut self) -> u64 {
        match &mut self.source {
            Source::Seeded(rng) => rng.next_u64(),
            Source::Tape { bytes, at } => read(bytes, at, 8),
        }
    }

    /// A number below `bound`, all equally likely (Lemire's method); 0 where the bound is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound <= 1 {
            return 0;
        }
        match &mut self.source {
            Source::Seeded(rng) => match u32::try_from(bound) {
                Ok(bound) => u64::from(below32(rng, bound)),
                Err(_) => below64(rng, bound),
            },
            Source::Tape { bytes, at } => {
                // The fewest whole bytes that can express the range: short inputs go far.
                let width = (64 - (bound - 1).leading_zeros()).div_ceil(8);
                let drawn = read(bytes, at, width as usize);
                ((u128::from(drawn) * u128::from(bound)) >> (width * 8)) as u64
            }
        }
    }

    /// A number from `low` to `high`, both included; `low` where the range is empty.
    #[inline]
    pub fn range(&mut self, low: i64, high: i64) -> i64 {
        if high <= low {
            return low;
        }
        let steps = high.wrapping_sub(low) as u64;
        let drawn = if steps == u64::MAX { self.bits64() } else { self.below(steps + 1) };
        low.wrapping_add(drawn as i64)
    }

    /// True in `per_mille` of 1,000 cases; the simplest value is `false`.
    #[inline]
    pub fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1000) >= 1000 - u64::from(per_mille.min(1000))
    }

    /// One of the choices; the first is the simplest. Panics where there is none.
    #[inline]
    pub fn choose<'c, T>(&mut self, choices: &'c [T]) -> &'c T {
        &choices[self.below(choices.len() as u64) as usize]
    }

    /// The value of one of the weighted choices; the first that has a weight is the simplest.
    /// Panics where all weights are 0.
    #[inline]
    pub fn weighted<T: Copy>(&mut self, choices: &[(u32, T)]) -> T {
        let total: u64 = choices.iter().map(|it| u64::from(it.0)).sum();
        let mut left = self.below(total);
        for (weight, choice) in choices {
            match left.checked_sub(u64::from(*weight)) {
                None => return *choice,
                Some(rest) => left = rest,
            }
        }
        panic!("a choice needs a weight above 0");
    }

    /// A random order; the simplest is the order as it is.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = last - self.below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }

    /// Exponential with this mean, in whole numbers (so geometric from 0); the simplest is 0.
    #[inline]
    pub fn exponential(&mut self, mean: u64) -> u64 {
        // -ln(1 - q) = (32 - log2(2^32 - q 2^32)) ln 2, in 16 fractional bits.
        let rest = (1_u64 << 32) - u64::from(self.bits32());
        let bits = (32 << 16) - log2_fixed(rest);
        let nats = (bits * LN_2) >> 16;
        ((u128::from(mean) * u128::from(nats)) >> 16) as u64
    }

    /// Log-logistic of shape 1: half of the values are below `median`, one in ten above 9 times it,
    /// one in a hundred above 99 times it; never above `cut`. The simplest is 0.
    #[inline]
    pub fn log_logistic(&mut self, median: u64, cut: u64) -> u64 {
        let drawn = u128::from(self.bits32());
        let value = u128::from(median) * drawn / ((1 << 32) - drawn);
        u64::try_from(value).unwrap_or(u64::MAX).min(cut)
    }

    /// A number below `bound` whose density falls as 1/sqrt: low ones are frequent.
    #[inline]
    pub fn power_law(&mut self, bound: u64) -> u64 {
        let drawn = u64::from(self.bits32());
        let square = u128::from(drawn * drawn);
        ((square * u128::from(bound)) >> 64) as u64
    }

    /// A number from `low` to `high` whose doublings are equally likely: from minutes to days.
    pub fn doublings(&mut self, low: i64, high: i64) -> i64 {
        let low = low.max(1);
        if high <= low {
            return low;
        }
        let steps = u64::from((high / low).ilog2());
        let floor = low << self.below(steps + 1);
        self.range(floor, floor.saturating_mul(2).saturating_sub(1).min(high))
    }
}

#[inline]
fn below32(rng: &mut ChaCha8Rng, bound: u32) -> u32 {
    let mut product = u64::from(rng.next_u32()) * u64::from(bound);
    if (product as u32) < bound {
        let unfair = bound.wrapping_neg() % bound;
        while (product as u32) < unfair {
            product = u64::from(rng.next_u32()) * u64::from(bound);
        }
    }
    (product >> 32) as u32
}

#[inline]
fn below64(rng: &mut ChaCha8Rng, bound: u64) -> u64 {
    let mut product = u128::from(rng.next_u64()) * u128::from(bound);
    if (product as u64) < bound {
        let unfair = bound.wrapping_neg() % bound;
        while (product as u64) < unfair {
            product = u128::from(rng.next_u64()) * u128::from(bound);
        }
    }
    (product >> 64) as u64
}

/// ln 2 in 16 fractional bits.
const LN_2: u64 = 45_426;

/// log2(1 + n/256) in 16 fractional bits, by repeated squaring.
const LOG2: [u64; 257] = {
    let mut table = [0; 257];
    let mut n = 0;
    while n <= 256 {
        // `mantissa` is in [1, 2] with 31 fractional bits.
        let mut mantissa = (256 + n as u64) << 23;
        let mut bits = 0;
        let mut step = 0;
        if mantissa >= 1 << 32 {
            bits = 1 << 16;
            step = 16;
        }
        while step < 16 {
            mantissa = (mantissa * mantissa) >> 31;
            bits <<= 1;
            if mantissa >= 1 << 32 {
                mantissa >>= 1;
                bits |= 1;
            }
            step += 1;
        }
        table[n] = bits;
        n += 1;
    }
    table
};

/// log2 of 1..=2^32 in 16 fractional bits, from the table with linear interpolation.
const fn log2_fixed(value: u64) -> u64 {
    let whole = value.ilog2() as u64;
    let mantissa = (value << (32 - whole)) & 0xffff_ffff;
    let (slot, between) = ((mantissa >> 24) as usize, mantissa & 0xff_ffff);
    let (low, high) = (LOG2[slot], LOG2[slot + 1]);
    (whole << 16) + low + (((high - low) * between) >> 24)
}

#[cfg(test)]
mod tests;
