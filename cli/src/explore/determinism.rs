//! Determinism: each seed twice, drawn anew and with another seed for the hashers.
//!
//! Invariant: the first event that differs is named.

use crate::exit;
use crate::subject::{self, Worlds};
use plimsoll_sim::run::Run;
use plimsoll_sim::trace::write::item_text;
use plimsoll_sim::zoo::Plant;

/// What differs between two runs of a seed, if anything does.
pub(super) fn divergence(
    seed: u64,
    worlds: &Worlds,
    plant: Option<&'static Plant>,
) -> Option<String> {
    let (one, two) = (worlds.draw(seed).world.trace, worlds.draw(seed).world.trace);
    if one != two {
        let at = one.items.iter().zip(&two.items).position(|(a, b)| a != b);
        return Some(format!(
            "NOT DETERMINISTIC: seed {seed} drew two worlds; the first item that differs is {}",
            at.map_or(one.items.len(), |it| it + 1)
        ));
    }
    let digests = |hash_seed| {
        let mut system = subject::system(&one, plant, hash_seed).ok()?;
        exit::quietly(|| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let mut run = Run::new(&one, &mut *system, true);
                while let Some(Ok(_)) = run.step() {}
                run.digests()
            }))
            .ok()
        })
    };
    let (first, second) = (digests(1), digests(0x5EED_0000_0000_0001));
    let (first, second) = (first?, second?);
    let at = first.iter().zip(&second).position(|(a, b)| a != b)?;
    Some(format!(
        "NOT DETERMINISTIC: seed {seed}, item {}: {}\n  two runs of it, which differ in the seed of \
         their hashers only, brought out different things (digests {:016x} and {:016x})",
        at + 1,
        item_text(&one, &one.items[at]),
        first[at],
        second[at]
    ))
}
