//! Rules on numbers: every span within the engine's arithmetic, and none that means nothing.
//!
//! A span may be as long as 2^61 milliseconds (semantics 0), so that a sum of a legal time and a
//! few legal spans never leaves i64. Zero is a length for a delay (S45) and none for a window.
//!
//! Invariant: whatever this module lets pass cannot make the window arithmetic overflow, loop or
//! panic.

use crate::plan::problem::Problem;
use crate::plan::{GeneratorPlan, LateRule, Plan, Trigger, WindowSpec};
use crate::time::{EventTime, Span};

/// The most windows that one row may be counted in: one day of windows, one each second, and more.
pub const MAX_WINDOWS_PER_ROW: i64 = 100_000;

pub(super) fn check(plan: &Plan, problems: &mut Vec<Problem>) {
    // The delays of a flow belong to its inputs.
    if let (Some(watermark), None) = (&plan.watermark, &plan.flow) {
        delay(watermark.delay, problems);
    }
    waits(plan, problems);
    initial(plan, problems);
    if let Some(operator) = &plan.operator {
        windows(operator.window, operator.late, problems);
    }
    trigger(plan.trigger, problems);
}

/// Whether the span can be computed with.
pub(super) fn legal(what: &str, span: Span, problems: &mut Vec<Problem>) -> bool {
    let legal = -Span::LEGAL <= span.0 && span.0 <= Span::LEGAL;
    if !legal {
        problems.push(Problem::span_out_of_range(what, span));
    }
    legal
}

/// Zero or longer (S45).
pub(super) fn delay(delay: Span, problems: &mut Vec<Problem>) {
    if delay < Span::ZERO {
        problems.push(Problem::negative_delay(delay));
    } else {
        legal("delay", delay, problems);
    }
}

/// All that makes windows impossible.
pub(super) fn windows(spec: WindowSpec, late: LateRule, problems: &mut Vec<Problem>) {
    window(spec, problems);
    windows_per_row(spec, problems);
    frame_rule(late, spec, problems);
}

/// The other spans that may be zero but not negative.
fn waits(plan: &Plan, problems: &mut Vec<Problem>) {
    let Some(watermark) = &plan.watermark else { return };
    let idle = match watermark.generator {
        GeneratorPlan::GlobalMax => None,
        GeneratorPlan::PartitionMin { idle } => idle.map(|it| it.timeout),
    };
    let spans = [
        ("idle timeout", idle),
        ("distance of the fallback behind the clock", watermark.fallback.map(|it| it.behind)),
        ("distance of the guard ahead of the clock", watermark.guard.map(|it| it.ahead)),
    ];
    for (what, span) in spans {
        match span {
            Some(span) if span < Span::ZERO => problems.push(Problem::negative_span(what, span)),
            Some(span) => _ = legal(what, span, problems),
            None => {}
        }
    }
}

/// Nothing, or a time that a row could have.
fn initial(plan: &Plan, problems: &mut Vec<Problem>) {
    let Some(watermark) = &plan.watermark else { return };
    if watermark.initial != EventTime::MIN && !watermark.initial.is_legal() {
        problems.push(Problem::initial_out_of_range(watermark.initial));
    }
}

/// Windows have a length and move on (semantics 4).
fn window(spec: WindowSpec, problems: &mut Vec<Problem>) {
    if spec.size <= Span::ZERO {
        problems.push(Problem::window_size_not_positive(spec.size));
    } else {
        legal("window size", spec.size, problems);
    }
    // Tumbling windows slide by their own length: one mistake is said once.
    if spec.slide <= Span::ZERO {
        if spec.slide != spec.size {
            problems.push(Problem::window_slide_not_positive(spec.slide));
        }
    } else if spec.slide != spec.size {
        legal("window slide", spec.slide, problems);
    }
    legal("window offset", spec.offset, problems);
}

/// One row costs a step for each of its windows.
fn windows_per_row(spec: WindowSpec, problems: &mut Vec<Problem>) {
    let WindowSpec { size, slide, .. } = spec;
    if Span::ZERO < slide && MAX_WINDOWS_PER_ROW < size.0 / slide.0 {
        problems.push(Problem::too_many_windows_per_row(size, slide, MAX_WINDOWS_PER_ROW));
    }
}

/// Rule F is defined on whole slides (semantics 3.2).
fn frame_rule(late: LateRule, spec: WindowSpec, problems: &mut Vec<Problem>) {
    let WindowSpec { size, slide, .. } = spec;
    let positive = Span::ZERO < slide && Span::ZERO < size;
    if late == LateRule::Frame && positive && size.0 % slide.0 != 0 {
        problems.push(Problem::frame_rule_uneven(size, slide));
    }
}

/// A trigger fires, and takes something when it does.
fn trigger(trigger: Trigger, problems: &mut Vec<Problem>) {
    match trigger {
        Trigger::Interval(it) if it <= Span::ZERO => {
            problems.push(Problem::interval_not_positive(it));
        }
        Trigger::Interval(it) => _ = legal("trigger interval", it, problems),
        Trigger::AvailableNow(0) => problems.push(Problem::empty_batches()),
        Trigger::Row | Trigger::Batch | Trigger::Once | Trigger::AvailableNow(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::check::testing::{codes, operator, watermark};
    use crate::plan::{AllIdle, Fallback, Guard, GuardAction, IdlePlan, Rejoin};

    const ABSURD: Span = Span(Span::LEGAL + 1);

    #[test]
    fn a_delay_is_zero_or_longer_and_within_range() {
        let of = |delay| codes(|it| watermark(it).delay = delay);
        assert_eq!(of(Span(-1)), ["P001"]);
        assert_eq!(of(Span(i64::MIN)), ["P001"]);
        assert_eq!(of(ABSURD), ["P003"]);
        assert_eq!(of(Span(Span::LEGAL)), [""; 0]);
    }

    #[test]
    fn an_idle_timeout_is_not_negative() {
        let of = |timeout| {
            let idle = IdlePlan { timeout, rejoin: Rejoin::Hold, all_idle: AllIdle::Flush };
            let generator = GeneratorPlan::PartitionMin { idle: Some(idle) };
            codes(|it| watermark(it).generator = generator)
        };
        assert_eq!(of(Span(-1)), ["P002"]);
        assert_eq!(of(ABSURD), ["P003"]);
        assert_eq!(of(Span(1)), [""; 0]);
    }

    #[test]
    fn a_fallback_is_not_ahead_of_the_clock() {
        let of = |behind| {
            let fallback = Fallback { behind, always: true };
            codes(|it| watermark(it).fallback = Some(fallback))
        };
        assert!(of(Span(-1)).contains(&"P002"));
        assert_eq!(of(ABSURD), ["P003"]);
        assert_eq!(of(Span::hours(1)), [""; 0]);
    }

    #[test]
    fn a_guard_is_not_behind_the_clock() {
        let of = |ahead| {
            let guard = Guard { ahead, action: GuardAction::Reject };
            codes(|it| watermark(it).guard = Some(guard))
        };
        assert_eq!(of(Span(-1)), ["P002"]);
        assert_eq!(of(ABSURD), ["P003"]);
        assert_eq!(of(Span::ZERO), [""; 0]);
    }

    #[test]
    fn a_watermark_starts_at_a_legal_time_or_at_nothing() {
        let of = |initial| codes(|it| watermark(it).initial = EventTime(initial));
        assert_eq!(of(EventTime::LEGAL + 1), ["P004"]);
        assert_eq!(of(i64::MAX), ["P004"]);
        assert_eq!(of(i64::MIN + 1), ["P004"]);
        assert_eq!(of(0), [""; 0]);
        assert_eq!(of(i64::MIN), [""; 0]);
    }

    #[test]
    fn windows_have_a_length_and_move_on() {
        let of = |size, slide, offset| {
            let window = WindowSpec { size: Span(size), slide: Span(slide), offset: Span(offset) };
            codes(|it| operator(it).window = window)
        };
        assert_eq!(of(0, 0, 0), ["P005"]);
        assert_eq!(of(-5, 5, 0), ["P005"]);
        assert_eq!(of(5, 0, 0), ["P006"]);
        assert_eq!(of(0, -1, 0), ["P005", "P006"]);
        assert_eq!(of(ABSURD.0, ABSURD.0, 0), ["P003", "P107"]);
        assert_eq!(of(10, 10, i64::MIN), ["P003", "P113"]);
        assert_eq!(of(10, 5, -4), [""; 0]);
    }

    #[test]
    fn a_row_is_in_at_most_a_hundred_thousand_windows() {
        let of = |size| {
            let window = WindowSpec { size: Span(size), slide: Span(2), offset: Span::ZERO };
            codes(|it| operator(it).window = window)
        };
        assert_eq!(of(2 * MAX_WINDOWS_PER_ROW + 2), ["P007"]);
        assert_eq!(of(2 * MAX_WINDOWS_PER_ROW), [""; 0]);
    }

    #[test]
    fn rule_f_needs_windows_of_whole_slides() {
        let of = |late, slide| {
            codes(|it| {
                operator(it).late = late;
                operator(it).window.slide = Span::minutes(slide);
            })
        };
        assert_eq!(of(LateRule::Frame, 3), ["P008"]);
        assert_eq!(of(LateRule::Frame, 5), [""; 0]);
        assert_eq!(of(LateRule::WindowEnd, 3), [""; 0]);
    }

    #[test]
    fn a_trigger_fires_and_takes_something() {
        let of = |trigger| codes(|it| it.trigger = trigger);
        assert_eq!(of(Trigger::Interval(Span::ZERO)), ["P009"]);
        assert_eq!(of(Trigger::Interval(ABSURD)), ["P003"]);
        assert_eq!(of(Trigger::AvailableNow(0)), ["P010"]);
        assert_eq!(of(Trigger::Interval(Span(1))), [""; 0]);
        assert_eq!(of(Trigger::AvailableNow(1)), [""; 0]);
    }
}
