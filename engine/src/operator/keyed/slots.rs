//! Keys as small numbers.
//!
//! A key is hashed and compared once, when it arrives; what must be found again later (what leaves by
//! its time, what a pass has changed) names its slot. A slot is given back when nothing of its key is
//! left, and the next new key takes the one that was given back last: slots follow from the calls, not
//! from hashes, and nothing ever walks over the table. The hash has no seed of its own, so that a slot
//! can be read from a snapshot.
//!
//! Invariant: the table names each slot in use once, under its key; a slot not in use holds nothing.

use super::Key;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// What is held of each key.
#[derive(Clone, Debug)]
pub(crate) struct Slots<T> {
    table: HashTable<u32>,
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Slot<T> {
    key: Key,
    held: T,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { table: HashTable::new(), slots: Vec::new(), free: Vec::new() }
    }
}

/// 64 bits folded from a product of 128.
#[inline]
const fn mix(state: u64, word: i64) -> u64 {
    let product = (state ^ word as u64) as u128 * 0x9E37_79B9_7F4A_7C15;
    (product >> 64) as u64 ^ product as u64
}

#[inline]
const fn mix_cell(state: u64, cell: Option<i64>) -> u64 {
    match cell {
        Some(value) => mix(state, value),
        None => !mix(state, 0),
    }
}

#[inline]
fn hash(key: &Key) -> u64 {
    const START: u64 = 0x2545_F491_4F6C_DD1D;
    match key {
        Key::One(cell) => mix_cell(START, *cell),
        Key::Many(cells) => cells.iter().fold(!START, |state, it| mix_cell(state, *it)),
    }
}

impl<T: Default> Slots<T> {
    /// The slot of a key that is there.
    #[inline]
    pub(crate) fn find(&self, key: &Key) -> Option<u32> {
        self.table.find(hash(key), |it| self.slots[*it as usize].key == *key).copied()
    }

    /// The slot of a key, taken now where it is new.
    #[inline]
    pub(crate) fn find_or_take(&mut self, key: Key) -> u32 {
        let Self { table, slots, free } = self;
        let same = |it: &u32| slots[*it as usize].key == key;
        let vacant = match table.entry(hash(&key), same, |it| hash(&slots[*it as usize].key)) {
            Entry::Occupied(there) => return *there.get(),
            Entry::Vacant(vacant) => vacant,
        };
        let slot = free.pop().unwrap_or_else(|| {
            slots.push(Slot { key: Key::LEAST, held: T::default() });
            u32::try_from(slots.len() - 1).expect("fewer than 2^32 keys at a time")
        });
        slots[slot as usize].key = key;
        vacant.insert(slot);
        slot
    }

    /// The key of a slot in use.
    #[inline]
    pub(crate) fn key(&self, slot: u32) -> &Key {
        &self.slots[slot as usize].key
    }

    /// What a slot holds.
    #[inline]
    pub(crate) fn of(&self, slot: u32) -> &T {
        &self.slots[slot as usize].held
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn of_mut(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize].held
    }

    /// Gives a slot back of which nothing is left; its key.
    pub(crate) fn give_back(&mut self, slot: u32) -> Key {
        let key = std::mem::replace(&mut self.slots[slot as usize].key, Key::LEAST);
        let entry = self.table.find_entry(hash(&key), |it| *it == slot);
        entry.expect("a slot in use is in the table").remove();
        self.free.push(slot);
        key
    }

    /// All keys and what is held of them, in no order that means anything; what is not in use holds
    /// nothing.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Key, &T)> {
        self.slots.iter().map(|it| (&it.key, &it.held))
    }
}

impl<T> Slots<T> {
    /// All slots and what is held in them; what is not in use holds nothing.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(self.slots.iter().map(|it| &it.held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_keeps_its_slot_and_the_next_new_one_takes_what_was_given_back_last() {
        let mut slots = Slots::<u8>::default();
        let many = |it: i64| Key::Many([Some(it), None].into());
        let keys = [Key::LEAST, Key::One(Some(0)), many(0), Key::Many(Box::default()), many(1)];
        let taken: Vec<_> = keys.iter().map(|it| slots.find_or_take(it.clone())).collect();
        assert_eq!(taken, [0, 1, 2, 3, 4]);
        assert_eq!(keys.iter().map(|it| slots.find_or_take(it.clone())).collect::<Vec<_>>(), taken);
        assert_eq!((slots.give_back(3), slots.give_back(1)), (keys[3].clone(), keys[1].clone()));
        assert_eq!((slots.find(&keys[1]), slots.find(&keys[2])), (None, Some(2)));
        assert_eq!((slots.find_or_take(many(7)), slots.find_or_take(many(8))), (1, 3));
        assert_eq!((slots.find_or_take(many(9)), slots.key(1)), (5, &many(7)));
    }

    #[test]
    fn many_keys_come_and_go() {
        let mut slots = Slots::<i64>::default();
        for round in 0..4 {
            for it in 0..1_000 {
                let slot = slots.find_or_take(Key::One(Some(it * 4 + round)));
                *slots.of_mut(slot) = it;
            }
            for it in (0..1_000).rev() {
                let slot = slots.find(&Key::One(Some(it * 4 + round))).expect("it was taken");
                assert_eq!(std::mem::take(slots.of_mut(slot)), it);
                slots.give_back(slot);
            }
        }
        assert_eq!((slots.slots.len(), slots.free.len(), slots.table.len()), (1_000, 1_000, 0));
    }
}
