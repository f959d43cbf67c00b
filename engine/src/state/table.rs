//! The groups of one slice, found by key.
//!
//! The index is open addressing with linear probing over a power of two of slots, at most half full.
//! A slot is one u64: 32 bits of the key's hash above, the number of the group below; 0 is empty
//! (the lowest bit of a hash is always set). The upper bits of the hash say where to look, so that
//! growing needs no key. The hasher's seed is an argument and shows in no output: groups are only ever
//! walked in the order of their numbers.
//!
//! Invariant: each key that arrived has one group, and group numbers follow the order of arrival.

use crate::row::Column;
use crate::state::layout::{CHANGED, Groups, Layout, Side};
use std::sync::Arc;

/// Where keys come from: a batch of rows, or the groups of another table.
pub(crate) trait Keys: Copy {
    /// The hash of key number `row`; its lowest bit is set.
    fn hash(self, seed: u64, row: usize) -> u32;
    /// Whether these words start with it.
    fn is(self, row: usize, words: &[i64]) -> bool;
    /// Writes it into the words of a new group.
    fn write(self, row: usize, words: &mut [i64]);
}

/// 64 bits folded from a product of 128.
#[inline(always)]
const fn mix(state: u64, word: i64) -> u64 {
    let product = (state ^ word as u64) as u128 * 0x9E37_79B9_7F4A_7C15;
    (product >> 64) as u64 ^ product as u64
}

#[inline(always)]
const fn finish(state: u64) -> u32 {
    (state >> 32) as u32 | 1
}

/// One key column without nulls.
#[derive(Clone, Copy)]
pub(crate) struct OneColumn<'a> {
    /// Its values.
    pub(crate) values: &'a [i64],
    /// The flag of a null in the word behind the key.
    pub(crate) null: i64,
}

impl Keys for OneColumn<'_> {
    #[inline(always)]
    fn hash(self, seed: u64, row: usize) -> u32 {
        finish(mix(seed, self.values[row]))
    }

    #[inline(always)]
    fn is(self, row: usize, words: &[i64]) -> bool {
        words[0] == self.values[row] && words[1] & self.null == 0
    }

    #[inline(always)]
    fn write(self, row: usize, words: &mut [i64]) {
        words[0] = self.values[row];
    }
}

/// Any key columns of a batch.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'a> {
    /// The layout of the groups.
    pub(crate) layout: &'a Layout,
    /// All columns of the batch.
    pub(crate) columns: &'a [Column],
}

impl Columns<'_> {
    #[inline]
    fn cells(self, row: usize) -> impl Iterator<Item = (usize, Option<i64>)> {
        self.layout.keys.iter().enumerate().map(move |(i, it)| (i, self.columns[it.0].get(row)))
    }
}

/// Key cells, hashed; a null is told apart from every value.
#[inline]
fn hash_cells(seed: u64, cells: impl Iterator<Item = (usize, Option<i64>)>) -> u32 {
    finish(cells.fold(seed, |state, (i, cell)| match cell {
        Some(value) => mix(state, value),
        None => mix(mix(state, 0), !(i as i64)),
    }))
}

impl Keys for Columns<'_> {
    #[inline]
    fn hash(self, seed: u64, row: usize) -> u32 {
        hash_cells(seed, self.cells(row))
    }

    #[inline]
    fn is(self, row: usize, words: &[i64]) -> bool {
        self.cells(row).all(|(i, cell)| self.layout.key(words, i) == cell)
    }

    #[inline]
    fn write(self, row: usize, words: &mut [i64]) {
        for (i, cell) in self.cells(row) {
            match cell {
                Some(value) => words[i] = value,
                None => {
                    let null = self.layout.null_key(i);
                    words[null.word] |= null.bit;
                }
            }
        }
    }
}

/// The keys of groups; `row` is the number of a group.
#[derive(Clone, Copy)]
pub(crate) struct KeysOf<'a>(pub(crate) &'a Groups);

impl Keys for KeysOf<'_> {
    #[inline]
    fn hash(self, seed: u64, row: usize) -> u32 {
        let (layout, words) = (&self.0.layout, self.0.of(row));
        hash_cells(seed, (0..layout.keys.len()).map(|i| (i, layout.key(words, i))))
    }

    #[inline]
    fn is(self, row: usize, words: &[i64]) -> bool {
        let (layout, ours) = (&self.0.layout, self.0.of(row));
        (0..layout.keys.len()).all(|i| layout.key(words, i) == layout.key(ours, i))
    }

    #[inline]
    fn write(self, row: usize, words: &mut [i64]) {
        let (layout, ours) = (&self.0.layout, self.0.of(row));
        let columns = layout.keys.len();
        words[..columns].copy_from_slice(&ours[..columns]);
        for i in 0..columns {
            let null = layout.null_key(i);
            words[null.word] |= ours[null.word] & null.bit;
        }
    }
}

/// The keys of groups of the usual plan: one key word, then the stamp and flags.
#[derive(Clone, Copy)]
pub(crate) struct OneKeyOf<'a>(pub(crate) &'a Groups);

/// The flag of a null in the word behind the only key.
const ONE_NULL: i64 = CHANGED << 1;

impl Keys for OneKeyOf<'_> {
    #[inline(always)]
    fn hash(self, seed: u64, row: usize) -> u32 {
        let [key, flags, ..] = self.0.words[row * 4..row * 4 + 4] else { return 1 };
        let state = mix(seed, key);
        finish(if flags & ONE_NULL == 0 { state } else { mix(state, !0) })
    }

    #[inline(always)]
    fn is(self, row: usize, words: &[i64]) -> bool {
        let [key, flags, ..] = self.0.words[row * 4..row * 4 + 4] else { return false };
        words[0] == key && (words[1] ^ flags) & ONE_NULL == 0
    }

    #[inline(always)]
    fn write(self, row: usize, words: &mut [i64]) {
        words[0] = self.0.words[row * 4];
        words[1] |= self.0.words[row * 4 + 1] & ONE_NULL;
    }
}

/// Group numbers by key. The groups themselves are an argument, so that they can move away.
#[derive(Debug)]
pub(crate) struct Index {
    slots: Vec<u64>,
    /// 32 - the logarithm of the number of slots.
    shift: u32,
    used: usize,
    seed: u64,
}

const SMALLEST: usize = 16;
/// For so many keys at once room is made; keys that are there already waste it.
pub(crate) const RUN: usize = 128;

impl Index {
    /// An index of nothing.
    pub(crate) fn new(seed: u64) -> Self {
        Self { slots: vec![0; SMALLEST], shift: 32 - SMALLEST.trailing_zeros(), used: 0, seed }
    }

    /// The group of key number `row`, if it has one.
    pub(crate) fn find<K: Keys>(&self, groups: &Groups, keys: K, row: usize) -> Option<usize> {
        let tag = keys.hash(self.seed, row);
        let mask = self.slots.len() - 1;
        let mut at = (tag >> self.shift) as usize;
        loop {
            let slot = self.slots[at & mask];
            if slot == 0 {
                return None;
            }
            let group = slot as u32 as usize;
            if (slot >> 32) as u32 == tag && keys.is(row, groups.of(group)) {
                return Some(group);
            }
            at += 1;
        }
    }

    /// Opens the groups for up to `more` new keys.
    #[inline]
    pub(crate) fn open<'a>(&'a mut self, groups: &'a mut Groups, more: usize) -> Open<'a> {
        if self.slots.len() < (self.used + more) * 2 {
            self.grow((self.used + more) * 2);
        }
        let Groups { layout, words, len, side } = groups;
        let room = (*len + more) * layout.stride();
        if words.len() < room {
            words.resize(room.max(words.len() * 2), 0);
        }
        Open {
            slots: &mut self.slots,
            shift: self.shift,
            seed: self.seed,
            layout,
            words,
            side,
            len: *len,
            index_len: &mut self.used,
            groups_len: len,
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, least: usize) {
        assert!(least <= 1 << 31, "a slice of time holds at most 2^30 keys");
        let small = std::mem::take(&mut self.slots);
        self.slots = vec![0; least.next_power_of_two()];
        self.shift = 32 - self.slots.len().trailing_zeros();
        let mask = self.slots.len() - 1;
        for slot in small {
            if slot != 0 {
                let mut at = ((slot >> 32) as u32 >> self.shift) as usize;
                while self.slots[at & mask] != 0 {
                    at += 1;
                }
                self.slots[at & mask] = slot;
            }
        }
    }

    /// Forgets all keys. Keeps the memory, less of it where little was used, so that one huge slice
    /// does not make every later one expensive to clear.
    pub(crate) fn clear(&mut self) {
        if self.used * 8 < self.slots.len() && SMALLEST < self.slots.len() {
            self.slots.truncate(self.slots.len() / 2);
            self.shift += 1;
        }
        self.slots.fill(0);
        self.used = 0;
    }

    /// Bytes of memory held.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.slots.capacity() * 8) as u64
    }
}

/// Keys that are added to a table one after the other; room for all of them was made before.
pub(crate) struct Open<'a> {
    slots: &'a mut [u64],
    shift: u32,
    seed: u64,
    pub(crate) layout: &'a Layout,
    words: &'a mut [i64],
    pub(crate) side: &'a mut Side,
    len: usize,
    index_len: &'a mut usize,
    groups_len: &'a mut usize,
}

impl Open<'_> {
    /// The group of key number `row`; a new one, before any value, if it has none. `STRIDE` is the
    /// number of words per group, or 0 where only the layout knows.
    #[inline(always)]
    pub(crate) fn find_or_add<K: Keys, const STRIDE: usize>(
        &mut self,
        keys: K,
        row: usize,
    ) -> usize {
        let tag = keys.hash(self.seed, row);
        let mask = self.slots.len() - 1;
        let mut at = (tag >> self.shift) as usize & mask;
        loop {
            let slot = self.slots[at];
            if (slot >> 32) as u32 == tag {
                let group = slot as u32 as usize;
                if keys.is(row, self.of::<STRIDE>(group)) {
                    return group;
                }
            } else if slot == 0 {
                break;
            }
            at = (at + 1) & mask;
        }
        let group = self.len;
        self.slots[at] = u64::from(tag) << 32 | group as u64;
        self.len += 1;
        let layout = self.layout;
        let words = self.of::<STRIDE>(group);
        words.copy_from_slice(&layout.initial);
        keys.write(row, words);
        group
    }

    /// The words of a group.
    #[inline(always)]
    pub(crate) fn of<const STRIDE: usize>(&mut self, group: usize) -> &mut [i64] {
        let stride = if STRIDE == 0 { self.layout.stride() } else { STRIDE };
        &mut self.words[group * stride..group * stride + stride]
    }

    /// The words of a group, and what sums have left over.
    #[inline(always)]
    pub(crate) fn both<const STRIDE: usize>(&mut self, group: usize) -> (&mut [i64], &mut Side) {
        let stride = if STRIDE == 0 { self.layout.stride() } else { STRIDE };
        (&mut self.words[group * stride..group * stride + stride], self.side)
    }

    /// Writes down how many groups there are now.
    #[inline(always)]
    pub(crate) fn close(self) {
        *self.index_len = self.len;
        *self.groups_len = self.len;
    }
}

/// Groups and their index.
#[derive(Debug)]
pub(crate) struct Table {
    /// Group numbers by key.
    pub(crate) index: Index,
    /// The groups.
    pub(crate) groups: Groups,
}

impl Table {
    /// An empty table.
    pub(crate) fn new(layout: &Arc<Layout>, seed: u64) -> Self {
        Self { index: Index::new(seed), groups: Groups::new(Arc::clone(layout)) }
    }

    /// Forgets everything, keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.index.clear();
        self.groups.clear();
    }

    /// Gives the groups away and forgets everything; `instead` must be empty.
    pub(crate) fn take(&mut self, instead: Groups) -> Groups {
        assert!(instead.is_empty(), "a table starts empty");
        self.index.clear();
        std::mem::replace(&mut self.groups, instead)
    }

    /// Takes these groups; `false` where a key stands there twice.
    pub(crate) fn fill(&mut self, groups: Groups) -> bool {
        self.clear();
        let mut open = self.index.open(&mut self.groups, groups.len());
        let keys = KeysOf(&groups);
        let once = (0..groups.len()).all(|it| open.find_or_add::<_, 0>(keys, it) == it);
        open.close();
        self.groups = groups;
        once
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{LatePolicy, LateRule, WindowPlan, WindowSpec};
    use crate::row::ColumnIx;
    use crate::time::Span;

    fn layout(keys: usize) -> Arc<Layout> {
        Arc::new(Layout::new(&WindowPlan {
            time: "t".to_owned(),
            window: WindowSpec { size: Span(1), slide: Span(1), offset: Span(0) },
            keys: (0..keys).map(ColumnIx).collect(),
            aggregates: vec![],
            late: LateRule::Event,
            late_policy: LatePolicy::Drop,
        }))
    }

    fn column(cells: &[Option<i64>]) -> Column {
        let mut column = Column::default();
        cells.iter().for_each(|it| column.push(*it));
        column
    }

    fn add<K: Keys>(table: &mut Table, keys: K, row: usize) -> usize {
        let mut open = table.index.open(&mut table.groups, 1);
        let group = open.find_or_add::<_, 0>(keys, row);
        open.close();
        group
    }

    #[test]
    fn each_key_has_one_group_in_the_order_of_arrival_whatever_the_seed() {
        let layout = layout(1);
        let values: Vec<i64> = (0..5_000).map(|i| (i * i) % 4_001 - 2_000).collect();
        let numbers = |seed| -> Vec<usize> {
            let mut table = Table::new(&layout, seed);
            let keys = OneColumn { values: &values, null: layout.null_key(0).bit };
            (0..values.len()).map(|row| add(&mut table, keys, row)).collect()
        };
        let mut first = std::collections::BTreeMap::new();
        let expected: Vec<usize> = values
            .iter()
            .map(|it| {
                let next = first.len();
                *first.entry(*it).or_insert(next)
            })
            .collect();
        assert_eq!(numbers(0), expected);
        assert_eq!(numbers(0xDEAD_BEEF), expected);
    }

    #[test]
    fn null_is_a_key_apart_from_every_value() {
        let layout = layout(2);
        let columns = [
            column(&[None, Some(0), None, Some(0), None, Some(i64::MIN)]),
            column(&[Some(0), None, None, Some(0), None, Some(i64::MAX)]),
        ];
        let mut table = Table::new(&layout, 7);
        let keys = Columns { layout: &layout, columns: &columns };
        let found: Vec<usize> = (0..6).map(|row| add(&mut table, keys, row)).collect();
        let Table { index, groups } = &table;
        assert_eq!(found, [0, 1, 2, 3, 2, 4]);
        assert_eq!((groups.key(2, 0), groups.key(4, 1)), (None, Some(i64::MAX)));
        assert_eq!(index.find(groups, keys, 5), Some(4));
    }

    #[test]
    fn a_cleared_table_is_empty_and_shrinks_where_little_was_used() {
        let layout = layout(1);
        let values: Vec<i64> = (0..1_000).collect();
        let keys = OneColumn { values: &values, null: layout.null_key(0).bit };
        let mut table = Table::new(&layout, 7);
        for row in 0..1_000 {
            add(&mut table, keys, row);
        }
        let large = table.index.slots.len();
        for _ in 0..20 {
            table.clear();
            assert_eq!(table.index.find(&table.groups, keys, 3), None);
            assert_eq!(add(&mut table, keys, 3), 0);
        }
        assert!(large >= 2_000 && table.index.slots.len() == SMALLEST);
    }
}
