//! The windows that have or should have state, with what went into each.
//!
//! A window is here from the first row that the records say was counted into it, or lost for it,
//! until its end has been reached by what evicts. Rows usually fall into the few windows that their
//! neighbours fell into, so a small cache stands before the map.
//!
//! Invariant: windows are dropped in the order of their ends, each once, until a restart begins anew.

use super::grid::{Grid, Starts};
use hashbrown::HashSet;
use plimsoll_engine::time::EventTime;
use plimsoll_engine::window::Window;
use std::collections::BTreeMap;
use std::hash::{BuildHasherDefault, Hasher};

/// One window.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    start: i64,
    /// Rows counted into it so far.
    pub counted: u64,
    /// Rows lost for it so far.
    pub dropped: u64,
    /// The step that counted its first row.
    pub opened: u64,
    /// The last step in which a row was counted into it.
    pub touched: u64,
    /// The last step that wrote it.
    pub written: Option<u64>,
    /// Groups in it, where they are followed.
    pub groups: u64,
}

const PLACES: usize = 32;
const NOBODY: u32 = u32::MAX;

/// A window that has just been dropped, and had state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Closed {
    /// Which.
    pub window: Window,
    /// Rows in it.
    pub counted: u64,
    /// The last step that wrote it.
    pub written: Option<u64>,
}

/// All of them.
#[derive(Debug)]
pub struct Windows {
    grid: Grid,
    slots: Vec<Open>,
    free: Vec<u32>,
    places: BTreeMap<i64, u32>,
    /// Slots by a few bits of their start: a guess, checked before it is believed.
    cache: [u32; PLACES],
    /// Start of the earliest one, so that most steps need not look.
    earliest: i64,
    /// (window, key) pairs, where groups are followed.
    keys: Option<HashSet<(i64, u128), Seedless>>,
    groups: u64,
    /// Starts of the windows that the step at hand counts rows into.
    touched: Vec<i64>,
}

impl Windows {
    /// None yet. Groups are followed only where asked: that costs a look-up per row and window.
    pub fn new(grid: Grid, groups: bool) -> Self {
        Self {
            grid,
            slots: Vec::new(),
            free: Vec::new(),
            places: BTreeMap::new(),
            cache: [NOBODY; PLACES],
            earliest: i64::MAX,
            keys: groups.then(HashSet::default),
            groups: 0,
            touched: Vec::new(),
        }
    }

    /// The grid.
    pub const fn grid(&self) -> &Grid {
        &self.grid
    }

    /// A row is counted into the windows behind its `lost` earliest ones.
    #[inline]
    pub fn count(&mut self, of: Starts, lost: u32, step: u64, key: u128) {
        for n in lost..of.count {
            let start = self.grid.start(of, n);
            let slot = self.slot(start);
            let open = &mut self.slots[slot];
            if open.counted == 0 {
                open.opened = step;
            }
            if open.counted == 0 || open.touched != step {
                open.touched = step;
                self.touched.push(start);
            }
            open.counted += 1;
            if let Some(keys) = &mut self.keys
                && keys.insert((start, key))
            {
                self.slots[slot].groups += 1;
                self.groups += 1;
            }
        }
    }

    /// A row is lost for a window.
    pub fn lose(&mut self, start: i64) {
        let slot = self.slot(start);
        self.slots[slot].dropped += 1;
    }

    /// The window that starts there.
    #[inline]
    pub fn get(&mut self, start: i64) -> Option<&mut Open> {
        let place = self.grid.residue(start);
        let guess = self.cache[place];
        let slot = match self.slots.get(guess as usize) {
            Some(open) if open.start == start => guess,
            _ => *self.places.get(&start)?,
        };
        self.cache[place] = slot;
        self.slots.get_mut(slot as usize)
    }

    #[inline]
    fn slot(&mut self, start: i64) -> usize {
        let place = self.grid.residue(start);
        let guess = self.cache[place] as usize;
        if self.slots.get(guess).is_some_and(|it| it.start == start) {
            return guess;
        }
        self.slot_slowly(start, place)
    }

    fn slot_slowly(&mut self, start: i64, place: usize) -> usize {
        let (slots, free) = (&mut self.slots, &mut self.free);
        let slot = *self.places.entry(start).or_insert_with(|| {
            let open = Open {
                start,
                counted: 0,
                dropped: 0,
                opened: 0,
                touched: 0,
                written: None,
                groups: 0,
            };
            match free.pop() {
                Some(slot) => {
                    slots[slot as usize] = open;
                    slot
                }
                None => {
                    slots.push(open);
                    slots.len() as u32 - 1
                }
            }
        });
        self.cache[place] = slot;
        self.earliest = self.earliest.min(start);
        slot as usize
    }

    /// Drops the earliest window if `evict` reaches its end. Windows without a counted row are
    /// dropped in silence.
    pub fn close(&mut self, evict: EventTime) -> Option<Closed> {
        while self.grid.end(self.earliest) <= evict && self.earliest != i64::MAX {
            let Some((start, slot)) = self.places.pop_first() else {
                self.earliest = i64::MAX;
                break;
            };
            self.earliest = self.places.first_key_value().map_or(i64::MAX, |it| *it.0);
            let Open { counted, written, groups, .. } = self.slots[slot as usize];
            // No start is this one: nobody believes the cache any more.
            self.slots[slot as usize].start = i64::MAX;
            self.free.push(slot);
            self.groups -= groups;
            if 0 < counted {
                return Some(Closed { window: self.grid.window(start), counted, written });
            }
        }
        None
    }

    /// A restart lost what was counted: no window has a row.
    pub fn forget_rows(&mut self) {
        for slot in self.places.values() {
            let open = &mut self.slots[*slot as usize];
            (open.counted, open.groups, open.written) = (0, 0, None);
        }
        self.groups = 0;
        if let Some(keys) = &mut self.keys {
            keys.clear();
        }
    }

    /// A restart lost how many rows were lost.
    pub fn forget_losses(&mut self) {
        for slot in self.places.values() {
            self.slots[*slot as usize].dropped = 0;
        }
    }

    /// A restart lost what has closed windows: those that are gone may be born again.
    pub fn begin_anew(&mut self) {
        if let Some(keys) = &mut self.keys {
            keys.retain(|it| self.places.contains_key(&it.0));
        }
    }

    /// How many (window, key) groups there are, where they are followed.
    pub fn groups(&self) -> Option<u64> {
        self.keys.as_ref().map(|_| self.groups)
    }

    /// How many windows have a counted row.
    pub fn with_state(&self) -> usize {
        self.places.values().filter(|it| 0 < self.slots[**it as usize].counted).count()
    }

    /// The windows that this step counted rows into, each once; forgets them.
    pub fn take_touched(&mut self, into: &mut Vec<(Window, u64)>) {
        for n in 0..self.touched.len() {
            let start = self.touched[n];
            let slot = self.slot(start);
            into.push((self.grid.window(start), self.slots[slot].counted));
        }
        self.touched.clear();
    }
}

/// A hasher without a seed: words are folded in, each spread over all bits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fold(u64);

/// Builds [`Fold`]s.
pub type Seedless = BuildHasherDefault<Fold>;

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        let wide = u128::from(self.0 ^ word) * 0x9E37_79B9_7F4A_7C15;
        self.0 = (wide as u64) ^ (wide >> 64) as u64;
        self.0 = self.0.rotate_left(29) ^ 0x5851_F42D_4C95_7F2D;
    }

    fn write_i64(&mut self, word: i64) {
        self.write_u64(word as u64);
    }

    fn write_u128(&mut self, word: u128) {
        self.write_u64(word as u64);
        self.write_u64((word >> 64) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_engine::plan::WindowSpec;
    use plimsoll_engine::time::Span;

    fn windows() -> Windows {
        let spec = WindowSpec { size: Span(10), slide: Span(5), offset: Span(0) };
        Windows::new(Grid::new(spec).expect("sound"), true)
    }

    fn count(windows: &mut Windows, time: i64, lost: u32, step: u64, key: u128) {
        let of = windows.grid().starts(EventTime(time));
        windows.count(of, lost, step, key);
    }

    #[test]
    fn a_row_counts_into_its_windows_but_not_into_the_lost_ones() {
        let mut windows = windows();
        count(&mut windows, 12, 0, 1, 7);
        count(&mut windows, 13, 1, 2, 7);
        assert_eq!(windows.get(5).map(|it| it.counted), Some(1));
        assert_eq!(windows.get(10).map(|it| (it.counted, it.opened)), Some((2, 1)));
        assert_eq!(windows.groups(), Some(2));
        assert!(windows.get(0).is_none());
    }

    #[test]
    fn windows_close_in_the_order_of_their_ends_and_are_gone() {
        let mut windows = windows();
        for time in [32, 12, 22] {
            count(&mut windows, time, 0, 1, 0);
        }
        windows.lose(-20);
        let mut ends = Vec::new();
        while let Some(it) = windows.close(EventTime(30)) {
            ends.push(it.window.end.0);
        }
        assert_eq!(ends, [15, 20, 25, 30]);
        assert!(windows.get(10).is_none());
        assert_eq!(windows.with_state(), 2);
        assert!(windows.close(EventTime(34)).is_none());
    }

    #[test]
    fn after_a_restart_windows_are_born_again_and_what_it_kept_is_there() {
        let mut windows = windows();
        count(&mut windows, 12, 0, 1, 7);
        windows.lose(15);
        assert!(windows.close(EventTime(15)).is_some());
        windows.begin_anew();
        assert_eq!(windows.groups(), Some(1), "[10, 20)");
        count(&mut windows, 12, 0, 2, 7);
        assert_eq!(windows.groups(), Some(2), "[5, 15) once more");
        windows.forget_rows();
        assert_eq!((windows.groups(), windows.with_state()), (Some(0), 0));
        assert_eq!(windows.get(15).map(|it| (it.counted, it.dropped)), Some((0, 1)));
        windows.forget_losses();
        assert_eq!(windows.get(15).map(|it| it.dropped), Some(0));
        count(&mut windows, 16, 0, 3, 7);
        assert_eq!(windows.get(15).map(|it| (it.counted, it.opened)), Some((1, 3)));
    }

    #[test]
    fn a_step_touches_each_window_once() {
        let mut windows = windows();
        for time in [12, 13, 14] {
            count(&mut windows, time, 0, 4, 0);
        }
        let mut touched = Vec::new();
        windows.take_touched(&mut touched);
        assert_eq!(
            touched.iter().map(|it| (it.0.start.0, it.1)).collect::<Vec<_>>(),
            [(5, 3), (10, 3)]
        );
        touched.clear();
        windows.take_touched(&mut touched);
        assert!(touched.is_empty());
    }
}
