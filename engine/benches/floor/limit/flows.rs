//! The floor of sessions, joins and dedup: loops written by hand, with a wheel of seconds for what
//! must leave.
//!
//! Invariant: late is what is below the watermark, exactly; what the wheel forgets up to a second too
//! late can meet only rows that are late, so what comes out is exact.

use super::{Digest, MINUTE};
use crate::floor::workload::Workload;
use hashbrown::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// One multiplication per key.
#[derive(Default)]
struct Multiply(u64);

impl Hasher for Multiply {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for it in bytes {
            self.write_u32(u32::from(*it));
        }
    }
    fn write_u32(&mut self, key: u32) {
        let product = u128::from(u64::from(key) + 1) * 0x9E37_79B9_7F4A_7C15_F39C_0000;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

type Map<V> = HashMap<u32, V, BuildHasherDefault<Multiply>>;

/// Keys by the second in which something of theirs is over.
struct Wheel {
    from: i64,
    at: usize,
    seconds: Vec<Vec<u32>>,
}

impl Wheel {
    fn new(times: &[i64], beyond: i64) -> Self {
        let least = times.iter().min().copied().unwrap_or(0) / 1_000;
        let most = (times.iter().max().copied().unwrap_or(0) + beyond) / 1_000 + 2;
        Self { from: least, at: 0, seconds: vec![Vec::new(); (most - least) as usize + 1] }
    }

    fn put(&mut self, time: i64, key: u32) {
        self.seconds[(time / 1_000 - self.from) as usize].push(key);
    }

    /// The next second that is over at `watermark`: its end and its keys.
    fn over(&mut self, watermark: i64) -> Option<(i64, Vec<u32>)> {
        let end = (self.from + self.at as i64 + 1) * 1_000;
        if watermark < end || self.seconds.len() <= self.at {
            return None;
        }
        self.at += 1;
        Some((end, std::mem::take(&mut self.seconds[self.at - 1])))
    }
}

#[derive(Clone, Copy)]
struct Session {
    start: i64,
    end: i64,
    count: u64,
    sum: i64,
}

/// Q3: sessions with a gap of five minutes.
pub(crate) fn sessions(rows: &Workload, delay: i64) -> Digest {
    let gap = 5 * MINUTE;
    let mut open: Map<Vec<Session>> = Map::default();
    let mut wheel = Wheel::new(&rows.times, gap);
    let mut out = Digest::default();
    let (mut most, mut watermark) = (i64::MIN, i64::MIN);
    let close = |open: &mut Map<Vec<Session>>, wheel: &mut Wheel, at: i64, out: &mut Digest| {
        while let Some((end, keys)) = wheel.over(at) {
            for key in keys {
                let Some(sessions) = open.get_mut(&key) else { continue };
                sessions.retain(|it| {
                    let over = it.end < end;
                    if over {
                        out.add(it.start, key, it.count, it.sum);
                    }
                    !over
                });
                if sessions.is_empty() {
                    open.remove(&key);
                }
            }
        }
    };
    for row in 0..rows.len() {
        let (time, key) = (rows.times[row], rows.keys[row]);
        if time < watermark {
            out.late += 1;
            continue;
        }
        let sessions = open.entry(key).or_default();
        let sum = i64::from(rows.values[row]);
        let mut new = Session { start: time, end: time + gap, count: 1, sum };
        sessions.retain(|it| {
            let overlaps = it.start < new.end && new.start < it.end;
            if overlaps {
                new.start = new.start.min(it.start);
                new.end = new.end.max(it.end);
                new.count += it.count;
                new.sum += it.sum;
            }
            !overlaps
        });
        sessions.push(new);
        wheel.put(new.end, key);
        if most < time {
            most = time;
            watermark = time - delay;
            close(&mut open, &mut wheel, watermark, &mut out);
        }
    }
    close(&mut open, &mut wheel, i64::MAX, &mut out);
    out
}

/// Q4: clicks within an hour after their impression, delays of 10 and 20 minutes, the smaller watermark.
pub(crate) fn join(rows: &Workload) -> Digest {
    let hour = 60 * MINUTE;
    let mut impressions: Map<i64> = Map::default();
    let mut clicks: Map<Vec<i64>> = Map::default();
    let (mut left, mut right) = (Wheel::new(&rows.times, hour), Wheel::new(&rows.times, 0));
    let (mut most_left, mut most_right) = (i64::MIN / 2, i64::MIN / 2);
    let mut watermark = i64::MIN;
    let mut out = Digest::default();
    for row in 0..rows.len() {
        let (time, key) = (rows.times[row], rows.keys[row]);
        if time < watermark {
            out.late += 1;
            continue;
        }
        if rows.kinds[row] == 0 {
            impressions.insert(key, time);
            left.put(time + hour, key);
            for click in clicks.get(&key).into_iter().flatten() {
                if (time..=time + hour).contains(click) {
                    out.add(time, key, 1, click - time);
                }
            }
            most_left = most_left.max(time);
        } else {
            if let Some(impression) = impressions.get(&key)
                && (*impression..=impression + hour).contains(&time)
            {
                out.add(*impression, key, 1, time - impression);
            }
            clicks.entry(key).or_default().push(time);
            right.put(time, key);
            most_right = most_right.max(time);
        }
        let now = (most_left - 10 * MINUTE).min(most_right - 20 * MINUTE);
        if watermark < now {
            watermark = now;
            while let Some((_, keys)) = left.over(watermark) {
                for key in keys {
                    impressions.remove(&key);
                }
            }
            while let Some((end, keys)) = right.over(watermark) {
                for key in keys {
                    if let Some(times) = clicks.get_mut(&key) {
                        times.retain(|it| end <= *it);
                        if times.is_empty() {
                            clicks.remove(&key);
                        }
                    }
                }
            }
        }
    }
    out
}

/// Q5: the first sight of an id; every delivery of it has the same time.
pub(crate) fn dedup(rows: &Workload, delay: i64) -> Digest {
    let mut seen: Map<()> = Map::default();
    let mut wheel = Wheel::new(&rows.times, 0);
    let (mut most, mut watermark) = (i64::MIN, i64::MIN);
    let mut out = Digest::default();
    for row in 0..rows.len() {
        let (time, key) = (rows.times[row], rows.keys[row]);
        if time < watermark {
            out.late += 1;
            continue;
        }
        if seen.insert(key, ()).is_none() {
            wheel.put(time, key);
            out.add(time, key, 1, 1);
        }
        if most < time {
            most = time;
            watermark = time - delay;
            while let Some((_, keys)) = wheel.over(watermark) {
                for key in keys {
                    seen.remove(&key);
                }
            }
        }
    }
    out
}
