//! Crashes: the process dies and comes back from its last snapshot, or from the one before. Restarts:
//! it is stopped and started, and may forget what engines are known to forget.
//!
//! A crash, and a restart that keeps everything, may not change anything that comes out (I25); that
//! is judged elsewhere, here it is only drawn.
//!
//! Invariant: neither takes time; the clock goes on where it stood.

use crate::entropy::Stream;
use crate::trace::Item;
use plimsoll_engine::plan::restore::{Memory, RestoreRules};

/// A crash, in `stale` of 1,000 cases one that cannot read the last snapshot.
pub(super) fn crash(own: &mut Stream<'_>, stale: u32) -> Item {
    Item::Crash { stale: own.chance(stale) }
}

/// A restart, in `forgetful` of 1,000 cases one that forgets: what Spark does, what Flink does, or
/// any mixture.
pub(super) fn restart(own: &mut Stream<'_>, forgetful: u32) -> Item {
    if !own.chance(forgetful) {
        return Item::Restart(RestoreRules::EXACT);
    }
    let mut memory = || if own.chance(500) { Memory::Lost } else { Memory::Kept };
    let mixture = RestoreRules {
        watermark: memory(),
        maxima: memory(),
        idleness: memory(),
        windows: memory(),
        ledger: memory(),
    };
    Item::Restart(match own.below(3) {
        0 => RestoreRules::GLOBAL_ONLY,
        1 => RestoreRules::NO_WATERMARK,
        _ => mixture,
    })
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

    #[test]
    fn some_restarts_forget_what_an_engine_forgets() {
        let entropy = Entropy::from_seed(1);
        let mut own = entropy.stream("restart");
        let all: Vec<Item> = (0..100).map(|_| restart(&mut own, 700)).collect();
        let like = |rules| all.iter().filter(|it| **it == Item::Restart(rules)).count();
        assert!((20..45).contains(&like(RestoreRules::EXACT)));
        assert!((10..40).contains(&like(RestoreRules::GLOBAL_ONLY)));
        assert!((10..40).contains(&like(RestoreRules::NO_WATERMARK)));
    }
}
