//! Levels of combination, drawn: tasks, rules per level, silence, emission, alignment.
//!
//! Invariant: partitions that are far ahead are sometimes paused, and always by a drift that the world's
//! own time can reach.

use crate::entropy::{Entropy, Stream};
use plimsoll_engine::plan::Rejoin;
use plimsoll_engine::plan::levels::{
    AlignmentPlan, Emptied, IdleAnchor, IdleEnd, LevelAllIdle, LevelPlan, LevelRules, LevelsPlan,
    Limit, PausedIdle, Sampling, Waking,
};
use plimsoll_engine::time::Span;

/// Levels for so many inputs.
pub(super) fn draw(entropy: &Entropy<'_>, slide: i64, inputs: u32) -> LevelsPlan {
    let mut own = entropy.field("flow", "levels");
    let tasks = (0..inputs).map(|_| own.range(1, 2) as u32).collect();
    let part =
        |own: &mut Stream<'_>, eighths: &[i64]| Span((slide * *own.choose(eighths) / 8).max(1));
    let aligned = own.chance(650);
    let idle = own.chance(650);
    let timeout = part(&mut own, &[8, 4, 16]);
    let emission = part(&mut own, &[1, 2, 4]);
    let asked_for = own.chance(120);
    let alignment = AlignmentPlan {
        update: part(&mut own, &[2, 1, 8]),
        sampling: *own.choose(&[Sampling::Newest, Sampling::OldestOf(2), Sampling::OldestOf(3)]),
        limit: Limit::Drift(part(&mut own, &[8, 2, 16])),
    };
    LevelsPlan {
        tasks,
        rules: LevelRules {
            partitions: level(&mut own),
            tasks: level(&mut own),
            inputs: level(&mut own),
            anchor: *own.choose(&[IdleAnchor::LastActivity, IdleAnchor::FirstQuietProbe]),
            emptied: *own.choose(&[Emptied::TimesOut, Emptied::Frozen]),
            idle_end: *own.choose(&[IdleEnd::Counts, IdleEnd::Unheard]),
            paused_idle: *own.choose(&[PausedIdle::Resumes, PausedIdle::Stays]),
        },
        idle_timeout: idle.then_some(timeout),
        emission: (!asked_for).then_some(emission),
        alignment: aligned.then_some(alignment),
    }
}

fn level(own: &mut Stream<'_>) -> LevelPlan {
    LevelPlan {
        rejoin: *own.choose(&[Rejoin::Hold, Rejoin::CatchUp]),
        all_idle: *own.choose(&[
            LevelAllIdle::Flush,
            LevelAllIdle::FlushIfLast,
            LevelAllIdle::Hold,
        ]),
        waking: *own.choose(&[Waking::AtOnce, Waking::WithProgress]),
    }
}
