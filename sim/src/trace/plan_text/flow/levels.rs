//! Levels of combination, read and written.
//!
//! ```text
//! levels=count=2+1,idle=5s,emission=200ms,tasks(rejoin=catch_up),align(1s,limit=drift(5s))
//! ```
//! `count` is the number of tasks of each input, one where it is not said. `partitions(..)`, `tasks(..)` and
//! `inputs(..)` have the rules of a level, `align(PERIOD,..)` makes partitions wait for one another. What is
//! not said is as in the profile, or the plain value where the profile has no levels.
//!
//! Invariant: reading what was written gives the same levels.

use super::args::Args;
use crate::trace::plan_text::keys::{REJOIN, Words, Wrong, value, word, wrong};
use crate::trace::plan_text::{nested, values};
use crate::trace::time_text::SpanText;
use plimsoll_engine::plan::Rejoin;
use plimsoll_engine::plan::levels::{
    AlignmentPlan, Emptied, IdleAnchor, IdleEnd, LevelAllIdle, LevelPlan, LevelRules, LevelsPlan,
    Limit, PausedIdle, Sampling, Waking,
};

pub(in crate::trace::plan_text) const ALL_IDLE: Words<LevelAllIdle> = &[
    ("flush", LevelAllIdle::Flush),
    ("flush_if_last", LevelAllIdle::FlushIfLast),
    ("hold", LevelAllIdle::Hold),
];

pub(in crate::trace::plan_text) const WAKING: Words<Waking> =
    &[("at_once", Waking::AtOnce), ("with_progress", Waking::WithProgress)];

pub(in crate::trace::plan_text) const ANCHOR: Words<IdleAnchor> = &[
    ("last_activity", IdleAnchor::LastActivity),
    ("first_quiet_probe", IdleAnchor::FirstQuietProbe),
];

pub(in crate::trace::plan_text) const EMPTIED: Words<Emptied> =
    &[("times_out", Emptied::TimesOut), ("frozen", Emptied::Frozen)];

pub(in crate::trace::plan_text) const IDLE_END: Words<IdleEnd> =
    &[("counts", IdleEnd::Counts), ("unheard", IdleEnd::Unheard)];

pub(in crate::trace::plan_text) const PAUSED_IDLE: Words<PausedIdle> =
    &[("resumes", PausedIdle::Resumes), ("stays", PausedIdle::Stays)];

const PLAIN_LEVEL: LevelPlan =
    LevelPlan { rejoin: Rejoin::Hold, all_idle: LevelAllIdle::Flush, waking: Waking::AtOnce };

/// The rules where no profile has any: nobody is forgotten.
pub(in crate::trace::plan_text) const PLAIN: LevelRules = LevelRules {
    partitions: PLAIN_LEVEL,
    tasks: PLAIN_LEVEL,
    inputs: PLAIN_LEVEL,
    anchor: IdleAnchor::LastActivity,
    emptied: Emptied::TimesOut,
    idle_end: IdleEnd::Counts,
    paused_idle: PausedIdle::Resumes,
};

const NAMES: [&str; 7] =
    ["count", "idle", "emission", "anchor", "emptied", "idle_end", "paused_idle"];

/// Reads the levels of a flow of so many inputs; `rules` are what is not said.
pub(in crate::trace::plan_text) fn levels(
    text: &str,
    inputs: usize,
    rules: LevelRules,
) -> Result<LevelsPlan, Vec<Wrong>> {
    if nested::parts(text, ',').is_none() {
        return Err(vec![wrong("as many `)` as `(`", text)]);
    }
    let mut args = Args::new("levels", text);
    let mut read = LevelsPlan {
        tasks: vec![1; inputs],
        rules,
        idle_timeout: args.maybe("idle", values::span),
        emission: args.maybe("emission", values::span),
        alignment: None,
    };
    read.tasks = args.or("count", read.tasks, tasks);
    let it = &mut read.rules;
    it.anchor = args.or("anchor", it.anchor, |it| value(ANCHOR, it));
    it.emptied = args.or("emptied", it.emptied, |it| value(EMPTIED, it));
    it.idle_end = args.or("idle_end", it.idle_end, |it| value(IDLE_END, it));
    it.paused_idle = args.or("paused_idle", it.paused_idle, |it| value(PAUSED_IDLE, it));
    while let Some(part) = args.next() {
        let wrongs = match nested::call(part) {
            Some(("partitions", Some(inner))) => level(&mut it.partitions, inner),
            Some(("tasks", Some(inner))) => level(&mut it.tasks, inner),
            Some(("inputs", Some(inner))) => level(&mut it.inputs, inner),
            Some(("align", Some(inner))) => align(&mut read.alignment, inner),
            _ => {
                let expected = "`partitions(..)`, `tasks(..)`, `inputs(..)`, `align(PERIOD,..)` or \
                                an argument such as `idle=5s`";
                vec![wrong(expected, part)]
            }
        };
        args.wrongs.extend(wrongs);
    }
    let wrongs = args.done(&NAMES);
    if wrongs.is_empty() { Ok(read) } else { Err(wrongs) }
}

/// `2+1`.
fn tasks(text: &str) -> Result<Vec<u32>, Wrong> {
    let parts = nested::parts(text, '+').unwrap_or_default();
    let number = |it: &str| it.parse().map_err(|_| wrong("numbers of tasks such as `2+1`", it));
    parts.into_iter().map(number).collect()
}

fn level(level: &mut LevelPlan, inner: &str) -> Vec<Wrong> {
    let mut args = Args::new("levels", inner);
    level.rejoin = args.or("rejoin", level.rejoin, |it| value(REJOIN, it));
    level.all_idle = args.or("all_idle", level.all_idle, |it| value(ALL_IDLE, it));
    level.waking = args.or("waking", level.waking, |it| value(WAKING, it));
    args.done(&["rejoin", "all_idle", "waking"])
}

fn align(alignment: &mut Option<AlignmentPlan>, inner: &str) -> Vec<Wrong> {
    let mut args = Args::new("align", inner);
    let update = args.must("how often, such as `align(1s)`", values::span);
    let sampling = args.or("sampling", Sampling::Newest, |text| match nested::call(text) {
        Some(("newest", None)) => Ok(Sampling::Newest),
        Some(("oldest", Some(samples))) if samples.parse::<u32>().is_ok() => {
            Ok(Sampling::OldestOf(samples.parse().unwrap_or_default()))
        }
        _ => Err(wrong("`newest` or `oldest(SAMPLES)`", text)),
    });
    let limit = args.or("limit", Limit::Announced, |text| match nested::call(text) {
        Some(("announced", None)) => Ok(Limit::Announced),
        Some(("drift", Some(span))) => values::span(span).map(Limit::Drift),
        _ => Err(wrong("`announced` or `drift(SPAN)`", text)),
    });
    let read = update.map(|update| AlignmentPlan { update, sampling, limit });
    if alignment.is_some() {
        args.wrongs.push(wrong("`align(..)` once", inner));
    }
    *alignment = read;
    args.done(&["sampling", "limit"])
}

/// The text of levels of a flow of so many inputs.
pub(in crate::trace::plan_text) fn levels_text(levels: &LevelsPlan, inputs: usize) -> String {
    let LevelsPlan { tasks, rules, idle_timeout, emission, alignment } = levels;
    let mut args = Vec::new();
    if *tasks != vec![1; inputs] {
        let counts: Vec<String> = tasks.iter().map(ToString::to_string).collect();
        args.push(format!("count={}", counts.join("+")));
    }
    args.extend(idle_timeout.map(|it| format!("idle={}", SpanText(it))));
    args.extend(emission.map(|it| format!("emission={}", SpanText(it))));
    knob(&mut args, "anchor", ANCHOR, rules.anchor, PLAIN.anchor);
    knob(&mut args, "emptied", EMPTIED, rules.emptied, PLAIN.emptied);
    knob(&mut args, "idle_end", IDLE_END, rules.idle_end, PLAIN.idle_end);
    knob(&mut args, "paused_idle", PAUSED_IDLE, rules.paused_idle, PLAIN.paused_idle);
    let of = [("partitions", rules.partitions), ("tasks", rules.tasks), ("inputs", rules.inputs)];
    for (name, level) in of.into_iter().filter(|it| it.1 != PLAIN_LEVEL) {
        let mut inner = Vec::new();
        knob(&mut inner, "rejoin", REJOIN, level.rejoin, PLAIN_LEVEL.rejoin);
        knob(&mut inner, "all_idle", ALL_IDLE, level.all_idle, PLAIN_LEVEL.all_idle);
        knob(&mut inner, "waking", WAKING, level.waking, PLAIN_LEVEL.waking);
        args.push(format!("{name}({})", inner.join(",")));
    }
    if let Some(AlignmentPlan { update, sampling, limit }) = alignment {
        let mut inner = vec![SpanText(*update).to_string()];
        if let Sampling::OldestOf(samples) = sampling {
            inner.push(format!("sampling=oldest({samples})"));
        }
        if let Limit::Drift(span) = limit {
            inner.push(format!("limit=drift({})", SpanText(*span)));
        }
        args.push(format!("align({})", inner.join(",")));
    }
    args.join(",")
}

fn knob<T: Copy + PartialEq>(
    args: &mut Vec<String>,
    key: &str,
    words: Words<T>,
    value: T,
    plain: T,
) {
    if value != plain {
        args.push(format!("{key}={}", word(words, value)));
    }
}
