//! The worlds that come with the command.
//!
//! Each is one failure of the founding texts, or one of a busy and ordinary day. Without a scenario
//! the command draws one of them per seed, from a stream of the seed's own, so that a run over some
//! thousand seeds sees all.
//!
//! Invariant: every embedded text is a scenario; a test parses each.

use super::{Scenario, World};
use crate::entropy::Entropy;
use std::sync::OnceLock;

/// Names and texts of the embedded worlds.
const EMBEDDED: &[(&str, &str)] = &[("steady", include_str!("../../../scenarios/steady.toml"))];

/// The world that is too long for a sweep over seeds.
const LONG: &str = "long_run";

/// Names and texts of the embedded worlds.
pub const fn embedded() -> &'static [(&'static str, &'static str)] {
    EMBEDDED
}

/// The embedded worlds that a sweep draws from.
fn short() -> &'static [Scenario] {
    static PARSED: OnceLock<Vec<Scenario>> = OnceLock::new();
    PARSED.get_or_init(|| {
        let short = EMBEDDED.iter().filter(|it| it.0 != LONG);
        let parse = |(name, text): &(&str, &str)| match Scenario::parse(text) {
            Ok(it) => it,
            Err(errors) => panic!("the embedded world {name} has mistakes: {errors:?}"),
        };
        short.map(parse).collect()
    })
}

/// The embedded scenario that these draws choose.
pub fn default_scenario(entropy: &Entropy<'_>) -> &'static Scenario {
    entropy.stream("scenario").choose(short())
}

/// The world of a seed where no scenario is named.
pub fn default_world(seed: u64) -> World {
    let entropy = Entropy::from_seed(seed);
    default_scenario(&entropy).world_from(&entropy)
}
