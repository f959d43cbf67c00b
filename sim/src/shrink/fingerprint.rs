//! A 128-bit fingerprint of a trace: candidates that were tried are not run again.
//!
//! Invariant: a function of what the trace says. Where its cells lie in the arena does not show. (Two
//! different traces with one fingerprint would cost one candidate; at 128 bits and a few thousand
//! candidates that does not happen.)

use crate::trace::restart;
use crate::trace::{Item, Trace};
use plimsoll_engine::watermark::levels::Steer;

const FACTOR: u128 = 0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645;

#[derive(Clone, Copy)]
struct Mix(u128);

impl Mix {
    fn add(&mut self, value: u64) {
        let mixed = (self.0 ^ u128::from(value)).wrapping_mul(FACTOR);
        self.0 = mixed ^ (mixed >> 59);
    }

    fn text(&mut self, text: &str) {
        self.add(text.len() as u64);
        for bytes in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            self.add(u64::from_le_bytes(word));
        }
    }

    fn cell(&mut self, cell: Option<i64>) {
        self.add(u64::from(cell.is_some()));
        self.add(cell.unwrap_or(0) as u64);
    }

    fn item(&mut self, trace: &Trace, item: &Item) {
        let (kind, number, value) = match *item {
            Item::Row(row) => (0, row.partition.0, 0),
            Item::Heartbeat { partition, time } => (1, partition.0, time.0),
            Item::Tick(span) => (2, 0, span.0),
            Item::Probe => (3, 0, 0),
            Item::Batch => (4, 0, 0),
            Item::Add { partition, adoption } => (5, partition.0, adoption as i64),
            Item::Remove(partition) => (6, partition.0, 0),
            Item::Move { partition, adoption } => (7, partition.0, adoption as i64),
            Item::Finish(partition) => (8, partition.0, 0),
            Item::Checkpoint => (9, 0, 0),
            Item::Crash { stale } => (10, 0, i64::from(stale)),
            Item::End => (11, 0, 0),
            Item::Steer(Steer::Limit(time)) => (12, 0, time.0),
            Item::Steer(Steer::Press { input, task, on }) => {
                (13, task as u32, (input << 1 | usize::from(on)) as i64)
            }
            Item::Restart(rules) => (14, 0, restart::bits(rules)),
        };
        self.add(kind << 32 | u64::from(number));
        self.add(value as u64);
        if let Item::Row(row) = item {
            trace.cells(*row).iter().for_each(|it| self.cell(*it));
        }
    }
}

/// The fingerprint of a trace.
pub(super) fn fingerprint(trace: &Trace) -> u128 {
    let mut mix = Mix(FACTOR.rotate_left(64));
    mix.text(&format!("{:?}", trace.plan));
    mix.add(trace.clock.0 as u64);
    let texts = trace.dictionary.len();
    mix.add(texts as u64);
    for code in 0..texts as i64 {
        mix.text(trace.dictionary.text(code).unwrap_or(""));
    }
    mix.add(trace.items.len() as u64);
    for item in &trace.items {
        mix.item(trace, item);
    }
    mix.0
}
