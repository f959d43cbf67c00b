//! Crashes: the process dies and comes back from its last snapshot, or from the one before.
//!
//! Neither may change anything that comes out (I25); that is judged elsewhere, here it is only drawn.
//!
//! Invariant: a crash takes no time; the clock goes on where it stood.

use crate::entropy::Stream;
use crate::trace::Item;

/// A crash, in `stale` of 1,000 cases one that cannot read the last snapshot.
pub(super) fn crash(own: &mut Stream<'_>, stale: u32) -> Item {
    Item::Crash { stale: own.chance(stale) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::Entropy;

    #[test]
    fn some_crashes_find_a_stale_snapshot() {
        let entropy = Entropy::from_seed(1);
        let mut own = entropy.stream("crash");
        let all: Vec<Item> = (0..100).map(|_| crash(&mut own, 300)).collect();
        let stale = all.iter().filter(|it| **it == Item::Crash { stale: true }).count();
        assert!((15..45).contains(&stale), "{stale}");
    }
}
