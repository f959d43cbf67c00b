//! Key cells and their small numbers, given out in the order of first sight.
//!
//! A null cell is a value like others. The numbers exist for speed only; nothing iterates the
//! table.
//!
//! Invariant: equal cells have equal numbers, for the whole run.

use hashbrown::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// All keys seen.
#[derive(Debug, Default)]
pub(super) struct Keys {
    numbers: HashMap<Box<[Option<i64>]>, u32, Seedless>,
    cells: Vec<Option<i64>>,
}

impl Keys {
    /// The number of a key, given out now if it is new.
    pub(super) fn number(&mut self, key: &[Option<i64>]) -> u32 {
        if let Some(number) = self.numbers.get(key) {
            return *number;
        }
        let number = u32::try_from(self.numbers.len()).expect("fewer than 2^32 keys");
        self.numbers.insert(key.into(), number);
        self.cells.extend_from_slice(key);
        number
    }

    /// The cells of a number, for keys of `width` cells.
    pub(super) fn cells(&self, number: u32, width: usize) -> &[Option<i64>] {
        let from = number as usize * width;
        &self.cells[from..from + width]
    }
}

/// A fixed hash: the same table on every machine.
pub(super) type Seedless = BuildHasherDefault<Mix>;

/// Multiply and rotate, one word at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|it| self.write_u64(u64::from(*it)));
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn write_i64(&mut self, word: i64) {
        self.write_u64(word.cast_unsigned());
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_u64(word.cast_unsigned() as u64);
    }
}
