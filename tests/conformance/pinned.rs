//! Which rules of a profile its recordings hold: change one, and a vector disagrees.
//!
//! A value that no vector tells from another is belief, not knowledge; those are listed as such.
//!
//! Invariant: every rule of Flink's profile that a query of its vectors can feel is altered here.

use super::vectors;
use plimsoll_engine::plan::flow::{Expiry, HoleRule, SessionLate, Touching};
use plimsoll_engine::plan::levels::{
    Emptied, IdleAnchor, IdleEnd, LevelAllIdle, LevelRules, PausedIdle, Waking,
};
use plimsoll_engine::plan::{LateRule, Rejoin};
use plimsoll_engine::profile::{self, Profile};
use plimsoll_engine::snapshot::RestoreRules;
use plimsoll_engine::time::Span;
use plimsoll_sim::vector::Vector;
use plimsoll_sim::vector::flink::{FlinkVector, compare, run_under};

type Alter = fn(&mut Profile);

fn levels(profile: &mut Profile) -> &mut LevelRules {
    profile.levels.as_mut().expect("Flink has levels")
}

/// Each rule with another value, and what it is called here.
const ALTERED: [(&str, Alter); 25] = [
    ("windows late by the row", |it| it.late = LateRule::Event),
    ("a hole is nowhere", |it| it.hole = HoleRule::NoWindow),
    ("sessions late by the row", |it| it.session_late = SessionLate::Event),
    ("sessions late before merging", |it| it.session_late = SessionLate::Proto),
    ("touching sessions apart", |it| it.touching = Touching::Apart),
    ("no millisecond of grace in a join", |it| it.join.grace = Span::ZERO),
    ("late in a join at the watermark", |it| it.join.late = LateRule::EventInclusive),
    ("the grace counts for who leaves", |it| it.join.expiry.with_grace = true),
    ("gone at the bound", |it| it.join.expiry.at_bound = true),
    ("gone before its own time", |it| it.join.expiry.own_time = false),
    ("exact removal", |it| it.join.expiry = Expiry::EXACT),
    ("a restart forgets nothing", |it| it.restore = RestoreRules::EXACT),
    ("a restart keeps the watermark", |it| it.restore = RestoreRules::GLOBAL_ONLY),
    ("partitions that wake are waited for by nobody", |it| {
        levels(it).partitions.rejoin = Rejoin::CatchUp;
    }),
    ("all partitions idle: no flush", |it| levels(it).partitions.all_idle = LevelAllIdle::Hold),
    ("a task is awake at once", |it| levels(it).partitions.waking = Waking::AtOnce),
    ("tasks that wake hold", |it| levels(it).tasks.rejoin = Rejoin::Hold),
    ("all tasks idle: flush", |it| levels(it).tasks.all_idle = LevelAllIdle::Flush),
    ("all tasks idle: no flush", |it| levels(it).tasks.all_idle = LevelAllIdle::Hold),
    ("all inputs idle: no flush", |it| levels(it).inputs.all_idle = LevelAllIdle::Hold),
    ("inputs that wake are waited for by nobody", |it| {
        levels(it).inputs.rejoin = Rejoin::CatchUp;
    }),
    ("silence since the last row", |it| levels(it).anchor = IdleAnchor::LastActivity),
    ("an emptied task times out", |it| levels(it).emptied = Emptied::TimesOut),
    ("the end of an idle task counts", |it| levels(it).idle_end = IdleEnd::Counts),
    ("a paused partition that is idle resumes", |it| levels(it).paused_idle = PausedIdle::Resumes),
];

/// What no vector tells apart: of the bounds that are negative on the own side one is recorded, by a
/// millisecond; no recording has a paused partition fall idle (both read in the byte code, flink-rules
/// 4 and 7).
const BELIEVED: [&str; 2] = ["gone before its own time", "a paused partition that is idle resumes"];

#[test]
fn every_rule_of_flink_is_held_by_a_vector_or_listed_as_believed() {
    let vectors: Vec<FlinkVector> = vectors("flink")
        .into_values()
        .filter_map(|it| match it {
            Vector::Flink(it) => Some(*it),
            Vector::Spark(_) => None,
        })
        .collect();
    let flink = profile::named("flink").expect("listed");
    let believed: Vec<&str> = ALTERED
        .iter()
        .filter(|(_, alter)| {
            let mut altered = *flink;
            alter(&mut altered);
            assert_ne!(altered, *flink, "another value");
            let agrees = |it: &FlinkVector| {
                run_under(it, &altered).is_ok_and(|found| compare(it, &found).is_ok())
            };
            vectors.iter().all(agrees)
        })
        .map(|it| it.0)
        .collect();
    assert_eq!(believed, BELIEVED);
}
