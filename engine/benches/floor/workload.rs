//! The workload: rows over six hours of event time, 8 partitions, keys by a power law, lateness with
//! a heavy tail (log-logistic of shape 1: half of the rows within 2 s, one in a thousand after 34 min).
//!
//! Only integers, divisions and one square: the same bytes on every machine and in every year.
//!
//! Invariant: rows are in arrival order, ties in the order of generation.

use std::io::{self, Read};

/// Columns of one data set, in arrival order.
#[derive(Default)]
pub(crate) struct Workload {
    pub(crate) name: String,
    pub(crate) arrivals: Vec<i64>,
    pub(crate) times: Vec<i64>,
    pub(crate) keys: Vec<u32>,
    pub(crate) values: Vec<i32>,
    pub(crate) partitions: Vec<u8>,
    pub(crate) kinds: Vec<u8>,
}

const T0: i64 = 1_767_225_600_000;
const SPAN: i64 = 6 * 3600 * 1000;
const SEED: u64 = 20_260_101;
const MAGIC: u64 = 0x5045_5246_4B49_5431;

/// The finaliser of SplitMix64.
pub(crate) const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// 53 bits in [0, 1).
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}

fn lateness(draw: &mut SplitMix) -> i64 {
    let u = draw.unit();
    let x = 2020.0 * (u / (1.0 - u));
    if x >= 14_400_000.0 { 14_400_000 } else { x as i64 }
}

/// The hottest hundredth of the keys gets a tenth of the rows; rank is scrambled.
fn key(draw: &mut SplitMix, keys: u64) -> u32 {
    let u = draw.unit();
    let rank = ((u * u) * keys as f64) as u64 % keys;
    ((rank.wrapping_mul(2_654_435_761)) % keys) as u32
}

impl Workload {
    /// Draws `rows` rows over `keys` keys.
    pub(crate) fn draw(rows: u64, keys: u64) -> Self {
        let mut draw = SplitMix(SEED ^ mix(rows) ^ mix(keys));
        let mut all: Vec<_> = (0..rows)
            .map(|i| {
                let time = T0 + (i128::from(i) * i128::from(SPAN) / i128::from(rows)) as i64;
                let late = lateness(&mut draw);
                let key = key(&mut draw, keys);
                let value = draw.below(1000) as i32;
                (time + late, i as u32, time, key, value, (draw.next() & 7) as u8)
            })
            .collect();
        all.sort_unstable();
        Self::of(
            format!("{keys} keys"),
            all.into_iter().map(|it| (it.0, it.2, it.3, it.4, it.5, 0)),
        )
    }

    /// Draws impressions (kind 0), each under an id of its own, and clicks (kind 1) up to two hours
    /// after them; ten to three.
    pub(crate) fn draw_join(rows: u64) -> Self {
        let mut draw = SplitMix(SEED ^ mix(rows) ^ 77);
        let impressions = rows * 10 / 13;
        let shown =
            |it: u64| T0 + (i128::from(it) * i128::from(SPAN) / i128::from(impressions)) as i64;
        let mut all = Vec::with_capacity(rows as usize);
        for i in 0..impressions {
            let time = shown(i);
            let arrival = time + lateness(&mut draw);
            all.push((arrival, i as u32, time, i as u32, 1, (draw.next() & 7) as u8, 0));
        }
        for i in 0..rows - impressions {
            let of = draw.below(impressions);
            let u = draw.unit();
            let time = shown(of) + (u * u * u * 7_200_000.0) as i64;
            let arrival = time + lateness(&mut draw);
            let number = (impressions + i) as u32;
            all.push((arrival, number, time, of as u32, 2, (draw.next() & 7) as u8, 1));
        }
        all.sort_unstable();
        let all = all.into_iter().map(|it| (it.0, it.2, it.3, it.4, it.5, it.6));
        Self::of("impressions and clicks".to_owned(), all)
    }

    /// Draws events under ids, of which a fifth are deliveries of an earlier one.
    pub(crate) fn draw_dedup(rows: u64) -> Self {
        let mut draw = SplitMix(SEED ^ mix(rows) ^ 99);
        let ids = rows * 5 / 6;
        let mut all: Vec<_> = (0..rows)
            .map(|i| {
                let id = if i < ids { i } else { draw.below(ids) };
                let time = T0 + (i128::from(id) * i128::from(SPAN) / i128::from(ids)) as i64;
                let arrival = time + lateness(&mut draw);
                (arrival, i as u32, time, id as u32, 1, (draw.next() & 7) as u8)
            })
            .collect();
        all.sort_unstable();
        let all = all.into_iter().map(|it| (it.0, it.2, it.3, it.4, it.5, 0));
        Self::of("ids, a fifth of them twice".to_owned(), all)
    }

    fn of(name: String, rows: impl Iterator<Item = (i64, i64, u32, i32, u8, u8)>) -> Self {
        let mut it = Self { name, ..Self::default() };
        for (arrival, time, key, value, partition, kind) in rows {
            it.arrivals.push(arrival);
            it.times.push(time);
            it.keys.push(key);
            it.values.push(value);
            it.partitions.push(partition);
            it.kinds.push(kind);
        }
        it
    }

    /// Reads a file: magic, number of rows, then the columns one after the other, little endian.
    pub(crate) fn read(path: &str) -> io::Result<Self> {
        let mut bytes = Vec::new();
        std::fs::File::open(path)?.read_to_end(&mut bytes)?;
        let wrong = || io::Error::new(io::ErrorKind::InvalidData, format!("{path}: no workload"));
        let word = |at: usize| -> Option<u64> {
            Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
        };
        let rows = word(8).filter(|_| word(0) == Some(MAGIC)).ok_or_else(wrong)? as usize;
        if Some(bytes.len()) != rows.checked_mul(26).and_then(|it| it.checked_add(16)) {
            return Err(wrong());
        }
        let mut rest = &bytes[16..];
        let mut take = |width: usize| {
            let (column, after) = rest.split_at(rows * width);
            rest = after;
            column
        };
        let long =
            |it: &[u8]| it.as_chunks::<8>().0.iter().map(|it| i64::from_le_bytes(*it)).collect();
        let name = path.rsplit('/').next().unwrap_or(path).to_owned();
        Ok(Self {
            name,
            arrivals: long(take(8)),
            times: long(take(8)),
            keys: take(4).as_chunks::<4>().0.iter().map(|it| u32::from_le_bytes(*it)).collect(),
            values: take(4).as_chunks::<4>().0.iter().map(|it| i32::from_le_bytes(*it)).collect(),
            partitions: take(1).to_vec(),
            kinds: take(1).to_vec(),
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.times.len()
    }

    /// A number over the whole content.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut h = 0;
        for i in 0..self.len() {
            h = mix(h ^ self.arrivals[i] as u64);
            h = mix(h ^ self.times[i] as u64);
            let rest = u64::from(self.keys[i]) << 32
                | u64::from(self.values[i] as u32) << 12
                | u64::from(self.partitions[i]) << 4
                | u64::from(self.kinds[i]);
            h = mix(h ^ rest);
        }
        h
    }
}
