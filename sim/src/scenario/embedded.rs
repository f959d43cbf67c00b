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

/// Names and texts of worlds.
#[cfg(test)]
type Texts = &'static [(&'static str, &'static str)];

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
    ("forgetful_restart", include_str!("../../../scenarios/forgetful_restart.toml")),
    ("long_run", include_str!("../../../scenarios/long_run.toml")),
    ("visits_of_a_user", include_str!("../../../scenarios/visits_of_a_user.toml")),
    ("visits_by_row", include_str!("../../../scenarios/visits_by_row.toml")),
    ("sent_again", include_str!("../../../scenarios/sent_again.toml")),
    ("impressions_and_clicks", include_str!("../../../scenarios/impressions_and_clicks.toml")),
    ("clicks_fall_behind", include_str!("../../../scenarios/clicks_fall_behind.toml")),
    ("same_window", include_str!("../../../scenarios/same_window.toml")),
    ("price_at_the_time", include_str!("../../../scenarios/price_at_the_time.toml")),
    ("early_and_late_figures", include_str!("../../../scenarios/early_and_late_figures.toml")),
    ("united_feeds", include_str!("../../../scenarios/united_feeds.toml")),
    ("silent_input", include_str!("../../../scenarios/silent_input.toml")),
    ("figures_of_figures", include_str!("../../../scenarios/figures_of_figures.toml")),
    ("joined_then_counted", include_str!("../../../scenarios/joined_then_counted.toml")),
    ("counted_rows", include_str!("../../../scenarios/counted_rows.toml")),
    ("aligned_sources", include_str!("../../../scenarios/aligned_sources.toml")),
    ("steps_without_data", include_str!("../../../scenarios/steps_without_data.toml")),
    ("rows_without_a_time", include_str!("../../../scenarios/rows_without_a_time.toml")),
    ("restarts_of_a_flow", include_str!("../../../scenarios/restarts_of_a_flow.toml")),
    ("forgetful_flow", include_str!("../../../scenarios/forgetful_flow.toml")),
];

/// Where the worlds of flows begin in the list.
const FLOWS: usize = 23;

/// In how many seeds of 1,000 a sweep has the world of a flow.
const SHARE: u32 = 450;

/// The world that is too long for a sweep over seeds.
const LONG: &str = "long_run";

/// Names and texts of the embedded worlds.
pub const fn embedded() -> &'static [(&'static str, &'static str)] {
    EMBEDDED
}

/// The embedded worlds of plain plans, and those of flows.
#[cfg(test)]
pub(super) const fn of_plain_plans_and_flows() -> [Texts; 2] {
    let (plain, flows) = EMBEDDED.split_at(FLOWS);
    [plain, flows]
}

fn parsed(place: &'static OnceLock<Vec<Scenario>>, texts: &[(&str, &str)]) -> &'static [Scenario] {
    place.get_or_init(|| {
        let short = texts.iter().filter(|it| it.0 != LONG);
        let parse = |(name, text): &(&str, &str)| match Scenario::parse(text) {
            Ok(it) => it,
            Err(errors) => panic!("the embedded world {name} has mistakes: {errors:?}"),
        };
        short.map(parse).collect()
    })
}

/// The embedded world of a plain plan that these draws choose.
pub fn default_scenario(entropy: &Entropy<'_>) -> &'static Scenario {
    static PARSED: OnceLock<Vec<Scenario>> = OnceLock::new();
    entropy.stream("scenario").choose(parsed(&PARSED, &EMBEDDED[..FLOWS]))
}

/// The embedded world of a flow that these draws choose.
pub fn flow_scenario(entropy: &Entropy<'_>) -> &'static Scenario {
    static PARSED: OnceLock<Vec<Scenario>> = OnceLock::new();
    entropy.stream("scenario of a flow").choose(parsed(&PARSED, &EMBEDDED[FLOWS..]))
}

/// Whether a sweep has the world of a flow here.
fn is_of_a_flow(entropy: &Entropy<'_>) -> bool {
    entropy.stream("plain or flow").chance(SHARE)
}

/// The embedded world that a sweep over all of them has here.
pub fn sweep_scenario(entropy: &Entropy<'_>) -> &'static Scenario {
    if is_of_a_flow(entropy) { flow_scenario(entropy) } else { default_scenario(entropy) }
}

/// The world of a seed in the embedded scenario of this name.
pub fn embedded_world(name: &str, seed: u64) -> Option<World> {
    let (_, text) = EMBEDDED.iter().find(|it| it.0 == name)?;
    let scenario = Scenario::parse(text).ok()?;
    Some(scenario.world_from(&Entropy::from_seed(seed)))
}

/// The plain world of a seed.
pub fn default_world(seed: u64) -> World {
    let entropy = Entropy::from_seed(seed);
    default_scenario(&entropy).world_from(&entropy)
}

/// The flow's world of a seed.
pub fn flow_world(seed: u64) -> World {
    let entropy = Entropy::from_seed(seed);
    flow_scenario(&entropy).world_from(&entropy)
}

/// The world that a sweep has at a seed.
pub fn sweep_world(seed: u64) -> World {
    let entropy = Entropy::from_seed(seed);
    sweep_scenario(&entropy).world_from(&entropy)
}

/// Whether the world that a sweep has at a seed is that of a flow.
pub fn sweeps_a_flow(seed: u64) -> bool {
    is_of_a_flow(&Entropy::from_seed(seed))
}
