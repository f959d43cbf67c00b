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
const EMBEDDED: &[(&str, &str)] = &[
    ("steady", include_str!("../../../scenarios/steady.toml")),
    ("after_the_close", include_str!("../../../scenarios/after_the_close.toml")),
    ("idle_source", include_str!("../../../scenarios/idle_source.toml")),
    ("network_down", include_str!("../../../scenarios/network_down.toml")),
    ("stalled_source", include_str!("../../../scenarios/stalled_source.toml")),
    ("tunnel_phone", include_str!("../../../scenarios/tunnel_phone.toml")),
    ("unknown_device", include_str!("../../../scenarios/unknown_device.toml")),
    ("busy_and_quiet", include_str!("../../../scenarios/busy_and_quiet.toml")),
    ("collector_retry", include_str!("../../../scenarios/collector_retry.toml")),
    ("rebalance_with_watermark", include_str!("../../../scenarios/rebalance_with_watermark.toml")),
    (
        "rebalance_without_watermark",
        include_str!("../../../scenarios/rebalance_without_watermark.toml"),
    ),
    ("replay_of_yesterday", include_str!("../../../scenarios/replay_of_yesterday.toml")),
    ("waking_backlog", include_str!("../../../scenarios/waking_backlog.toml")),
    ("quiet_partition", include_str!("../../../scenarios/quiet_partition.toml")),
    ("all_quiet", include_str!("../../../scenarios/all_quiet.toml")),
    ("wall_fallback", include_str!("../../../scenarios/wall_fallback.toml")),
    ("clock_skew", include_str!("../../../scenarios/clock_skew.toml")),
    ("poisoned_clock", include_str!("../../../scenarios/poisoned_clock.toml")),
    ("stale_checkpoint", include_str!("../../../scenarios/stale_checkpoint.toml")),
    ("two_batches_behind", include_str!("../../../scenarios/two_batches_behind.toml")),
    ("extremes", include_str!("../../../scenarios/extremes.toml")),
    ("long_run", include_str!("../../../scenarios/long_run.toml")),
];

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
