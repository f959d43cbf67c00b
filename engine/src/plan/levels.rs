//! Combination over several levels, at probes only (flink-rules 2 to 4).
//!
//! Invariant: data only.

use serde::{Deserialize, Serialize};

/// The levels of a flow whose watermark moves at probes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LevelsPlan {}
