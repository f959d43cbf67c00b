//! Plants that are a wrong rule: the engine runs under a plan that nobody wrote.
//!
//! Invariant: each changes one knob.

use crate::zoo::{Build, Plant};
use plimsoll_engine::plan::{
    AllIdle, Effective, Fallback, GeneratorPlan, GuardAction, IdlePlan, LateRule, OutputMode, Plan,
    Rejoin, WatermarkPlan,
};
use plimsoll_engine::row::ColumnIx;
use plimsoll_engine::time::{EventTime, Span};

/// Wrong rules.
pub const PLANTS: &[Plant] = &[
    rule(
        "comb-max",
        &["BEAM-7423", "FLINK-3375", "JET-660", "DENORM-shared-wm"],
        "the maximum over the partitions where the minimum is due",
        &["I43", "I7", "I2"],
        |plan| on(plan, |it| it.generator = GeneratorPlan::GlobalMax),
    ),
    rule(
        "late-lt-le",
        &["FLINK-33524", "SPARK-56043pr"],
        "late iff t <= w where t < w is due, and the other way round",
        &["I42"],
        |plan| {
            late(plan, |it| match it {
                LateRule::Event => LateRule::EventInclusive,
                LateRule::EventInclusive => LateRule::Event,
                LateRule::WindowEnd | LateRule::Frame => it,
            });
        },
    ),
    rule(
        "late-rule-swapped",
        &["SPARK-56043pr"],
        "rows are judged by their window's end where their own time is due, and the other way round",
        &["I42", "I29", "I12"],
        |plan| {
            late(plan, |it| match it {
                LateRule::Event | LateRule::EventInclusive | LateRule::Frame => LateRule::WindowEnd,
                LateRule::WindowEnd => LateRule::Event,
            });
        },
    ),
    rule(
        "all-idle-no-flush",
        &["FLINK-38454"],
        "when everybody is idle the last minimum stays instead of the largest maximum",
        &["I43", "I8", "I9"],
        |plan| {
            idle(plan, |it| {
                it.all_idle = match it.all_idle {
                    AllIdle::Flush => AllIdle::Hold,
                    AllIdle::Hold => AllIdle::Flush,
                };
            });
        },
    ),
    rule(
        "idle-shard-no-adopt",
        &["RW-11554", "RW-8038", "POSTHOG-15776"],
        "a silent partition is never left out",
        &["I37", "I43"],
        |plan| {
            on(plan, |it| {
                if let GeneratorPlan::PartitionMin { idle } = &mut it.generator {
                    *idle = None;
                }
            });
        },
    ),
    rule(
        "idle-at-timeout",
        &[],
        "a partition is idle one millisecond too early, at the timeout instead of after it",
        &["I37", "I43"],
        |plan| idle(plan, |it| it.timeout = Span((it.timeout.0 - 1).max(0))),
    ),
    rule(
        "rejoin-swapped",
        &["FLINK-40475"],
        "a partition that returns counts at once where it must catch up first, or the other way round",
        &["I43", "I10"],
        |plan| {
            idle(plan, |it| {
                it.rejoin = match it.rejoin {
                    Rejoin::Hold => Rejoin::CatchUp,
                    Rejoin::CatchUp => Rejoin::Hold,
                };
            });
        },
    ),
    rule(
        "inclusive-mix",
        &["ICEBERG-15867", "MZ-30016"],
        "the watermark is stepped back by one millisecond: two conventions of a bound are mixed",
        &["I43"],
        |plan| on(plan, |it| it.delay = it.delay + Span(1)),
    ),
    rule("delay-forgotten", &[], "the watermark is the maximum itself", &["I2", "I43"], |plan| {
        on(plan, |it| it.delay = Span::ZERO)
    }),
    rule(
        "min-underflow",
        &["FLINKBOOK-5"],
        "before the first row the watermark has wrapped round to the far future",
        &["I42", "I43", "I2", "I6"],
        |plan| on(plan, |it| it.initial = EventTime(EventTime::LEGAL)),
    ),
    rule(
        "close-by-wallclock",
        &["SQLFLOW-234"],
        "the wall clock moves the watermark although nobody asked for it",
        &["I2", "I43"],
        |plan| {
            on(plan, |it| {
                it.fallback = Some(Fallback { behind: it.delay, always: true });
            });
        },
    ),
    rule(
        "emit-prev-wm",
        &["FELDERA-emit-final"],
        "the watermark takes effect one batch too late or too early",
        &["I43", "I6", "I3"],
        |plan| {
            on(plan, |it| {
                it.effective = match it.effective {
                    Effective::Row => Effective::Row,
                    Effective::NextBatch => Effective::BatchAfterNext,
                    Effective::BatchAfterNext => Effective::NextBatch,
                    Effective::Probe => Effective::Probe,
                };
            });
        },
    ),
    rule(
        "effective-at-once",
        &["SPARK-40925"],
        "a batch is judged and closed by the watermark that its own rows make",
        &["I6", "I3", "I43"],
        |plan| {
            on(plan, |it| {
                it.effective = match it.effective {
                    Effective::NextBatch | Effective::BatchAfterNext => Effective::Row,
                    Effective::Row | Effective::Probe => it.effective,
                };
            });
        },
    ),
    rule(
        "fallback-forgotten",
        &["FAUST-251"],
        "the wall clock does not move the watermark although the plan asks for it",
        &["L3", "I43"],
        |plan| on(plan, |it| it.fallback = None),
    ),
    rule(
        "poisoned-clock",
        &[],
        "a row from the future is guarded and moves the watermark all the same",
        &["I38", "I43", "I42"],
        |plan| {
            on(plan, |it| {
                if let Some(guard) = &mut it.guard {
                    guard.action = GuardAction::Accept;
                }
            });
        },
    ),
    rule(
        "offset-mismatch",
        &["LAMINAR-184b"],
        "windows are cut without their offset",
        &["I41", "I42", "I3", "I14", "I40"],
        |plan| {
            if let Some(it) = &mut plan.operator {
                it.window.offset = Span::ZERO;
            }
        },
    ),
    rule(
        "hop-first",
        &["KAFKA-3784"],
        "the last of the windows that hold a row is left out",
        &["I12", "I41", "I14", "I3", "I20", "I40"],
        |plan| {
            if let Some(it) = &mut plan.operator
                && it.window.slide < it.window.size
            {
                it.window.size = it.window.size - it.window.slide;
            }
        },
    ),
    rule(
        "key-too-fine",
        &[],
        "rows are grouped by one column more than the plan says",
        &["I13", "I41", "I40"],
        |plan| {
            let time = plan.watermark.as_ref().map(|it| it.column);
            let columns = (0..plan.schema.columns.len()).map(ColumnIx);
            if let Some(it) = &mut plan.operator {
                let more = columns.rev().find(|at| Some(*at) != time && !it.keys.contains(at));
                it.keys.extend(more);
            }
        },
    ),
    rule(
        "complete-evicts",
        &[],
        "complete mode evicts as update mode does",
        &["I20", "I41"],
        |plan| {
            if plan.output == OutputMode::Complete {
                plan.output = OutputMode::Update;
            }
        },
    ),
];

const fn rule(
    name: &'static str,
    modelled_on: &'static [&'static str],
    what: &'static str,
    killed_by: &'static [&'static str],
    change: fn(&mut Plan),
) -> Plant {
    Plant { name, modelled_on, what, killed_by, build: Build::Rule(change) }
}

fn on(plan: &mut Plan, change: impl Fn(&mut WatermarkPlan)) {
    if let Some(it) = &mut plan.watermark {
        change(it);
    }
}

fn idle(plan: &mut Plan, change: impl Fn(&mut IdlePlan)) {
    on(plan, |it| {
        if let GeneratorPlan::PartitionMin { idle: Some(idle) } = &mut it.generator {
            change(idle);
        }
    });
}

fn late(plan: &mut Plan, change: impl Fn(LateRule) -> LateRule) {
    if let Some(it) = &mut plan.operator {
        it.late = change(it.late);
    }
}
