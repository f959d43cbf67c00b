//! The floor: what a loop written by hand for these two queries costs, in safe Rust.
//!
//! The watermark is the largest time before the row minus the delay. A row below it is dropped (or,
//! under the window rule, a row whose window has closed); a window is written and forgotten once the
//! watermark reaches its end.
//!
//! Invariant: knows the query, the key's type and the data's range beforehand; an engine cannot.

pub(crate) mod flows;

use crate::floor::workload::Workload;

pub(crate) const MINUTE: i64 = 60_000;
pub(crate) const DELAY: i64 = 10 * MINUTE;

/// What came out, in a form that does not depend on order.
#[derive(Default, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Digest {
    /// Windows and keys written.
    pub(crate) windows: u64,
    /// Rows counted in them.
    pub(crate) count: u64,
    /// Sum of the sums.
    pub(crate) sum: i64,
    /// Rows lost.
    pub(crate) late: u64,
    check: u64,
}

impl Digest {
    /// Takes one figure.
    #[inline(always)]
    pub(crate) fn add(&mut self, start: i64, key: u32, count: u64, sum: i64) {
        self.windows += 1;
        self.count += count;
        self.sum += sum;
        let check = (start as u64 ^ u64::from(key) << 40)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .wrapping_add(count.wrapping_mul(31).wrapping_add(sum as u64));
        self.check = self.check.wrapping_add(check);
    }
}

#[derive(Clone, Copy)]
struct Slot {
    key: u32,
    count: u32,
    sum: i64,
}

const EMPTY: Slot = Slot { key: u32::MAX, count: 0, sum: 0 };

/// Open addressing, slots of 16 bytes, at most half full.
struct Table {
    slots: Vec<Slot>,
    mask: usize,
    shift: u32,
    used: usize,
}

impl Table {
    fn new(bits: u32) -> Self {
        Self { slots: vec![EMPTY; 1 << bits], mask: (1 << bits) - 1, shift: 32 - bits, used: 0 }
    }

    #[inline(always)]
    fn add(&mut self, key: u32, count: u32, value: i64) {
        let mut at = (key.wrapping_mul(0x9E37_79B1) >> self.shift) as usize;
        loop {
            let slot = &mut self.slots[at];
            if slot.key == key {
                slot.count += count;
                slot.sum += value;
                return;
            }
            if slot.key == u32::MAX {
                *slot = Slot { key, count, sum: value };
                self.used += 1;
                if self.used * 2 > self.mask {
                    self.grow();
                }
                return;
            }
            at = (at + 1) & self.mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let mut larger = Self::new(self.mask.count_ones() + 1);
        for slot in self.slots.iter().filter(|it| it.key != u32::MAX) {
            larger.add(slot.key, slot.count, slot.sum);
        }
        *self = larger;
    }

    fn drain(&mut self, start: i64, out: &mut Digest) {
        for slot in &mut self.slots {
            if slot.key != u32::MAX {
                out.add(start, slot.key, u64::from(slot.count), slot.sum);
                *slot = EMPTY;
            }
        }
        self.used = 0;
    }
}

const RING: usize = 64;

/// Q1: tumbling 5 min, count and sum per key, delay 10 min.
pub(crate) fn tumbling(rows: &Workload, window_rule: bool) -> Digest {
    let size = 5 * MINUTE;
    let mut ring: Vec<Option<Table>> = (0..RING).map(|_| None).collect();
    let mut pool: Vec<Table> = Vec::new();
    let mut out = Digest::default();
    let (mut max, mut watermark) = (i64::MIN, i64::MIN);
    let mut low = rows.times[0] / size - 40;
    for ((time, key), value) in rows.times.iter().zip(&rows.keys).zip(&rows.values) {
        let (time, window) = (*time, time / size);
        if if window_rule { window < low } else { time < watermark } {
            out.late += 1;
            continue;
        }
        let table = &mut ring[window as usize % RING];
        let table = table.get_or_insert_with(|| pool.pop().unwrap_or_else(|| Table::new(8)));
        table.add(*key, 1, i64::from(*value));
        if time > max {
            max = time;
            watermark = time - DELAY;
            while (low + 1) * size <= watermark {
                if let Some(mut table) = ring[low as usize % RING].take() {
                    table.drain(low * size, &mut out);
                    pool.push(table);
                }
                low += 1;
            }
        }
    }
    for window in low..=max / size {
        if let Some(mut table) = ring[window as usize % RING].take() {
            table.drain(window * size, &mut out);
        }
    }
    out
}

const PANES: usize = 256;

/// Q2: sliding 10 min by 1 min: a row goes into its minute, ten minutes are merged at the end of
/// each window.
pub(crate) fn sliding(rows: &Workload) -> Digest {
    let mut ring: Vec<Table> = (0..PANES).map(|_| Table::new(8)).collect();
    let mut merged = Table::new(8);
    let mut out = Digest::default();
    let (mut max, mut watermark) = (i64::MIN, i64::MIN);
    let mut low = rows.times[0] / MINUTE - 200;
    let mut close = |ring: &mut [Table], window: i64, out: &mut Digest| {
        for pane in window..window + 10 {
            for slot in &ring[pane as usize % PANES].slots {
                if slot.key != u32::MAX {
                    merged.add(slot.key, slot.count, slot.sum);
                }
            }
        }
        merged.drain(window * MINUTE, out);
        let table = &mut ring[window as usize % PANES];
        table.slots.fill(EMPTY);
        table.used = 0;
    };
    for ((time, key), value) in rows.times.iter().zip(&rows.keys).zip(&rows.values) {
        let time = *time;
        if time < watermark {
            out.late += 1;
            continue;
        }
        ring[(time / MINUTE) as usize % PANES].add(*key, 1, i64::from(*value));
        if time > max {
            max = time;
            watermark = time - DELAY;
            while (low + 10) * MINUTE <= watermark {
                close(&mut ring, low, &mut out);
                low += 1;
            }
        }
    }
    for window in low..=max / MINUTE {
        close(&mut ring, window, &mut out);
    }
    out
}
