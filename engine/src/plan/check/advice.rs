//! Warnings: plans that run and do something their owner may not expect.
//!
//! A rule is here only if it follows from the plan alone. Where one says "for ever", the plan has
//! no way to end it; where one names a number, it is the plan's own arithmetic.
//!
//! Readings. The latency note (S60) speaks where the delay is positive and under 1 % of the window,
//! in append mode: there a shorter delay buys nothing and costs rows. Without an idle timeout a
//! minimum over partitions is warned about unless the wall clock always closes windows. Update and
//! complete mode are warned about sinks that only add; every mode may write into a keyed sink or a
//! log.
//!
//! Invariant: a warning is true of every run of its plan.

use super::columns::Arrivals;
use crate::plan::problem::Problem;
use crate::plan::{
    Effective, GeneratorPlan, OutputMode, Plan, Sink, Trigger, WatermarkPlan, WindowPlan,
    WindowSpec,
};
use crate::time::Span;

pub(super) fn check(plan: &Plan, arrivals: &Arrivals<'_>, problems: &mut Vec<Problem>) {
    match (&plan.operator, &plan.watermark) {
        (None, Some(_)) => problems.push(Problem::watermark_inert()),
        (None, None) => {}
        (Some(operator), watermark) => {
            growth(plan, operator, arrivals, problems);
            sink(plan, problems);
            grid(operator.window, problems);
            key_is_event_time(plan, operator, arrivals, problems);
            // Only where the watermark decides something.
            let linked = arrivals.linked(plan) && plan.output != OutputMode::Complete;
            if let Some(watermark) = watermark.as_ref().filter(|_| linked) {
                delay(plan, watermark, operator, problems);
                silence(watermark, problems);
                fallback(watermark, problems);
                once(plan, watermark, problems);
            }
        }
    }
}

/// State that no watermark removes (S43, S44, S46, S62).
fn growth(
    plan: &Plan,
    operator: &WindowPlan,
    arrivals: &Arrivals<'_>,
    problems: &mut Vec<Problem>,
) {
    let (window, keys) = (operator.window, operator.keys.len());
    if window.slide <= Span::ZERO {
        return;
    }
    match (plan.output, &plan.watermark) {
        (OutputMode::Append, _) => {}
        (OutputMode::Update | OutputMode::Complete, None) => {
            problems.push(Problem::grows_without_watermark(window, keys));
        }
        (OutputMode::Complete, Some(_)) => {
            problems.push(Problem::complete_never_evicts(window, keys));
        }
        (OutputMode::Update, Some(_)) => {
            // Where the column is unknown altogether, that has been refused.
            if arrivals.window_column(plan).is_some() && !arrivals.linked(plan) {
                problems.push(Problem::grows_off_watermark(&operator.time, window, keys));
            }
        }
    }
}

/// A figure that is written again needs a sink that replaces it (S26, S61).
pub(super) fn sink(plan: &Plan, problems: &mut Vec<Problem>) {
    if plan.output != OutputMode::Append && plan.sink == Sink::Append {
        problems.push(Problem::rewrites_into_append_sink(plan.output));
    }
}

/// Windows with holes, and offsets that other engines refuse.
pub(super) fn grid(window: WindowSpec, problems: &mut Vec<Problem>) {
    if window.slide <= Span::ZERO {
        return;
    }
    if Span::ZERO < window.size && window.size < window.slide {
        problems.push(Problem::windows_with_holes(window.size, window.slide));
    }
    if window.slide.0.unsigned_abs() <= window.offset.0.unsigned_abs() {
        problems.push(Problem::offset_outside_slide(window.offset, window.slide));
    }
}

/// Spark: MULTIPLE_EVENT_TIME_COLUMNS at the first batch.
fn key_is_event_time(
    plan: &Plan,
    operator: &WindowPlan,
    arrivals: &Arrivals<'_>,
    problems: &mut Vec<Problem>,
) {
    let column = arrivals.window_column(plan);
    if operator.keys.iter().any(|it| Some(*it) == column) {
        problems.push(Problem::key_is_event_time(&operator.time));
    }
}

/// No tolerance at all (S21), or one that is not what makes figures slow (S60).
fn delay(
    plan: &Plan,
    watermark: &WatermarkPlan,
    operator: &WindowPlan,
    problems: &mut Vec<Problem>,
) {
    let (delay, size) = (watermark.delay, operator.window.size);
    if delay == Span::ZERO {
        problems.push(Problem::delay_zero(operator.late));
    }
    let small = Span::ZERO < delay && i128::from(delay.0) * 100 < i128::from(size.0);
    if small && plan.output == OutputMode::Append {
        let trigger = match plan.trigger {
            Trigger::Interval(it) => Some(it),
            Trigger::Row | Trigger::Batch | Trigger::Once | Trigger::AvailableNow(_) => None,
        };
        problems.push(Problem::latency_is_the_window(size, delay, trigger));
    }
}

/// Silence that holds for ever, and silence that never holds (S16, S17, S80).
pub(super) fn silence(watermark: &WatermarkPlan, problems: &mut Vec<Problem>) {
    let clock_closes = watermark.fallback.is_some_and(|it| it.always);
    match watermark.generator {
        GeneratorPlan::PartitionMin { idle: None } if !clock_closes => {
            problems.push(Problem::no_idle_timeout());
        }
        GeneratorPlan::PartitionMin { idle: Some(idle) } if idle.timeout == Span::ZERO => {
            problems.push(Problem::idle_timeout_zero());
        }
        GeneratorPlan::PartitionMin { .. } | GeneratorPlan::GlobalMax => {}
    }
}

/// A wall clock that never acts, or that always decides (semantics 2.3).
pub(super) fn fallback(watermark: &WatermarkPlan, problems: &mut Vec<Problem>) {
    let Some(fallback) = watermark.fallback else { return };
    let may_be_idle = matches!(watermark.generator, GeneratorPlan::PartitionMin { idle: Some(_) });
    if !fallback.always && !may_be_idle {
        problems.push(Problem::fallback_never_acts(fallback.behind));
    }
    if fallback.always && fallback.behind <= watermark.delay {
        problems.push(Problem::fallback_overrides_delay(fallback.behind, watermark.delay));
    }
}

/// One batch, and a watermark that counts from the next one on (trace law on `once`).
pub(super) fn once(plan: &Plan, watermark: &WatermarkPlan, problems: &mut Vec<Problem>) {
    let appends = plan.output == OutputMode::Append && plan.trigger == Trigger::Once;
    if appends && watermark.effective != Effective::Row {
        problems.push(Problem::once_writes_nothing());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::check::testing::{codes, operator, watermark};
    use crate::plan::{AllIdle, Fallback, IdlePlan, LateRule, Rejoin};
    use crate::row::ColumnIx;

    fn idle(timeout: Span) -> GeneratorPlan {
        let idle = IdlePlan { timeout, rejoin: Rejoin::CatchUp, all_idle: AllIdle::Flush };
        GeneratorPlan::PartitionMin { idle: Some(idle) }
    }

    #[test]
    fn update_and_complete_without_a_watermark_grow() {
        for output in [OutputMode::Update, OutputMode::Complete] {
            let grows = codes(|it| (it.output, it.sink, it.watermark) = (output, Sink::Log, None));
            assert_eq!(grows, ["P101"], "{output:?}");
        }
        assert_eq!(codes(|it| (it.output, it.sink) = (OutputMode::Update, Sink::Log)), [""; 0]);
    }

    #[test]
    fn in_complete_mode_the_watermark_is_decoration_and_nothing_else_is_said_of_it() {
        let complete = codes(|it| {
            (it.output, it.sink) = (OutputMode::Complete, Sink::Keyed);
            watermark(it).delay = Span::ZERO;
            watermark(it).generator = GeneratorPlan::PartitionMin { idle: None };
        });
        assert_eq!(complete, ["P103"]);
    }

    #[test]
    fn a_watermark_on_a_stateless_query_is_inert() {
        assert_eq!(codes(|it| it.operator = None), ["P104"]);
        assert_eq!(codes(|it| (it.operator, it.watermark) = (None, None)), [""; 0]);
    }

    #[test]
    fn modes_that_write_again_need_a_sink_that_replaces() {
        let into = |output, sink| codes(|it| (it.output, it.sink) = (output, sink));
        assert_eq!(into(OutputMode::Update, Sink::Append), ["P105"]);
        assert_eq!(into(OutputMode::Complete, Sink::Append), ["P103", "P105"]);
        assert_eq!(into(OutputMode::Update, Sink::Keyed), [""; 0]);
        assert_eq!(into(OutputMode::Append, Sink::Keyed), [""; 0]);
    }

    #[test]
    fn a_delay_of_zero_is_said_with_what_the_late_rule_makes_of_it() {
        for late in
            [LateRule::Event, LateRule::EventInclusive, LateRule::WindowEnd, LateRule::Frame]
        {
            let of = |delay| {
                codes(|it| {
                    watermark(it).delay = delay;
                    operator(it).late = late;
                })
            };
            assert_eq!(of(Span::ZERO), ["P106"], "{late:?}");
            assert_eq!(of(Span::seconds(6)), [""; 0], "{late:?}");
        }
    }

    #[test]
    fn a_delay_under_a_hundredth_of_the_window_is_not_what_makes_figures_slow() {
        let of = |delay| codes(|it| watermark(it).delay = delay);
        assert_eq!(of(Span(5_999)), ["P107"]);
        assert_eq!(of(Span(6_000)), [""; 0]);
    }

    #[test]
    fn a_minimum_over_partitions_without_an_idle_timeout_can_wait_for_ever() {
        let of = |generator| codes(|it| watermark(it).generator = generator);
        assert_eq!(of(GeneratorPlan::PartitionMin { idle: None }), ["P108"]);
        assert_eq!(of(idle(Span::seconds(30))), [""; 0]);
        assert_eq!(of(GeneratorPlan::GlobalMax), [""; 0]);
        let with_clock = codes(|it| {
            watermark(it).generator = GeneratorPlan::PartitionMin { idle: None };
            watermark(it).fallback = Some(Fallback { behind: Span::hours(1), always: true });
        });
        assert_eq!(with_clock, [""; 0]);
    }

    #[test]
    fn an_idle_timeout_of_zero_takes_every_pause_for_a_silence() {
        let of = |timeout| codes(|it| watermark(it).generator = idle(timeout));
        assert_eq!(of(Span::ZERO), ["P109"]);
        assert_eq!(of(Span(1)), [""; 0]);
    }

    #[test]
    fn a_fallback_on_idleness_needs_partitions_that_can_be_idle() {
        let of = |generator, always| {
            codes(|it| {
                watermark(it).generator = generator;
                watermark(it).fallback = Some(Fallback { behind: Span::hours(1), always });
            })
        };
        assert_eq!(of(GeneratorPlan::GlobalMax, false), ["P110"]);
        assert_eq!(of(GeneratorPlan::PartitionMin { idle: None }, false), ["P108", "P110"]);
        assert_eq!(of(GeneratorPlan::GlobalMax, true), [""; 0]);
        assert_eq!(of(idle(Span::seconds(30)), false), [""; 0]);
    }

    #[test]
    fn a_clock_closer_than_the_delay_overrides_it() {
        let of =
            |behind| codes(|it| watermark(it).fallback = Some(Fallback { behind, always: true }));
        assert_eq!(of(Span::minutes(2)), ["P111"]);
        assert_eq!(of(Span(120_001)), [""; 0]);
    }

    #[test]
    fn a_slide_longer_than_the_window_leaves_holes() {
        let of = |slide| codes(|it| operator(it).window.slide = Span::minutes(slide));
        assert_eq!(of(11), ["P112"]);
        assert_eq!(of(10), [""; 0]);
    }

    #[test]
    fn an_offset_of_a_slide_or_more_is_refused_elsewhere() {
        let of = |offset| codes(|it| operator(it).window.offset = Span(offset));
        assert_eq!(of(600_000), ["P113"]);
        assert_eq!(of(-600_000), ["P113"]);
        assert_eq!(of(-599_999), [""; 0]);
    }

    #[test]
    fn a_single_batch_is_not_closed_by_its_own_watermark() {
        let of = |effective| {
            codes(|it| {
                watermark(it).effective = effective;
                it.trigger = Trigger::Once;
            })
        };
        assert_eq!(of(Effective::NextBatch), ["P114"]);
        assert_eq!(of(Effective::BatchAfterNext), ["P114"]);
        assert_eq!(of(Effective::Row), [""; 0]);
    }

    #[test]
    fn grouping_by_the_event_time_makes_every_instant_a_group() {
        let of = |keys: &[usize]| {
            codes(|it| operator(it).keys = keys.iter().map(|it| ColumnIx(*it)).collect())
        };
        assert_eq!(of(&[0, 1]), ["P115"]);
        assert_eq!(of(&[1, 3]), [""; 0]);
    }
}
