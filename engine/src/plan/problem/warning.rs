//! One constructor for each rule that warns about a plan.
//!
//! The plan runs. What it does is said with the numbers that follow from the plan, and without
//! those that depend on the data.
//!
//! Invariant: every constructor here makes a warning.

mod flow;

use super::{Code, Problem, Thousands, Words};
use crate::plan::{LateRule, OutputMode, WindowSpec};
use crate::time::Span;

const DAY: i64 = 86_400_000;

/// How much state a day of event time leaves behind where nothing is removed (S46).
fn growth(window: WindowSpec, keys: usize) -> String {
    let (count, of) = match window.slide.0 {
        slide if slide <= DAY => (DAY / slide.max(1), "a day of event time"),
        slide => (365 * DAY / slide, "a year of event time"),
    };
    let windows = Thousands(count);
    match keys {
        0 => format!("{windows} groups for {of}"),
        _ => format!(
            "{windows} windows for {of}, with a group for each key in each: 1,000 keys are {} groups",
            Thousands(count.saturating_mul(1_000))
        ),
    }
}

impl Problem {
    /// S46.
    #[cold]
    pub(crate) fn grows_without_watermark(window: WindowSpec, keys: usize) -> Self {
        let cause = format!(
            "without a watermark no window is ever finished, so state grows for ever: {}",
            growth(window, keys)
        );
        let remedy = "give the event-time column a watermark (delay=..) and use output=update or \
                      output=append";
        Self::new(Code::GrowsWithoutWatermark, cause, remedy)
    }

    /// S43 and S44, where they do not refuse.
    #[cold]
    pub(crate) fn grows_off_watermark(name: &str, window: WindowSpec, keys: usize) -> Self {
        let cause = format!(
            "windows are cut on `{name}`, about which the watermark says nothing (it is another \
             column, or was computed anew): no row is late, and state grows for ever: {}",
            growth(window, keys)
        );
        let remedy = format!("watermark the column that becomes `{name}`, after it is computed");
        Self::new(Code::GrowsOffWatermark, cause, remedy)
    }

    /// S62.
    #[cold]
    pub(crate) fn complete_never_evicts(window: WindowSpec, keys: usize) -> Self {
        let cause = format!(
            "in complete mode the watermark is decoration: no row is late, no window is removed, \
             state grows for ever: {}",
            growth(window, keys)
        );
        let remedy = "use output=update or output=append, unless the input is finite";
        Self::new(Code::CompleteNeverEvicts, cause, remedy)
    }

    /// S47.
    #[cold]
    pub(crate) fn watermark_inert() -> Self {
        let cause = "the query keeps no state, so its watermark has no effect: no row is late";
        let remedy = "leave the watermark out, or filter by time where you mean to drop old rows";
        Self::new(Code::WatermarkInert, cause, remedy)
    }

    /// S61, and S26 for complete mode.
    #[cold]
    pub(crate) fn rewrites_into_append_sink(mode: OutputMode) -> Self {
        let cause = match mode {
            OutputMode::Complete => {
                "complete mode writes every figure again at each trigger, and the sink only adds \
                 rows: a sum over it counts each figure once per trigger"
            }
            OutputMode::Update | OutputMode::Append => {
                "update mode writes a figure again each time it changes, and the sink only adds \
                 rows: a sum over it counts the older values too"
            }
        };
        let remedy = "use a keyed sink, where the last write wins, or output=append";
        Self::new(Code::RewritesIntoAppendSink, cause, remedy)
    }

    /// S21. What is lost depends on the late rule (spark-rules 8).
    #[cold]
    pub(crate) fn delay_zero(rule: LateRule) -> Self {
        let lost = match rule {
            LateRule::Event => {
                "a row older than the newest one seen before it is late, by one millisecond"
            }
            LateRule::EventInclusive => {
                "a row older than the newest one seen before it is late, and so is one equally old"
            }
            LateRule::WindowEnd => {
                "a row is late once any row at or past its window's end was seen"
            }
            LateRule::Frame => "a row is late once any row of a later slide was seen",
        };
        let cause = format!("the delay is 0s: as soon as the watermark takes effect, {lost}");
        let remedy = "choose the delay from measured disorder: plimsoll tune shows what each costs";
        Self::new(Code::DelayZero, cause, remedy)
    }

    /// S59 and S60: latency = window + delay + trigger.
    #[cold]
    pub(crate) fn latency_is_the_window(size: Span, delay: Span, trigger: Option<Span>) -> Self {
        let (plus, step) = match trigger {
            Some(interval) => (format!(" + trigger {}", Words(interval)), interval),
            None => (String::new(), Span::ZERO),
        };
        let cause = format!(
            "a figure comes out about {} after its window began (window {} + delay {}{plus}); the \
             delay is under 1 % of the window, so a shorter one gains {} at most and loses every \
             row that needed it",
            Words(size + delay + step),
            Words(size),
            Words(delay),
            Words(delay)
        );
        let remedy = "for earlier figures use shorter windows or output=update; choose the delay \
                      from measured disorder (plimsoll tune)";
        Self::new(Code::LatencyIsTheWindow, cause, remedy)
    }

    /// S16, S80, S81.
    #[cold]
    pub(crate) fn no_idle_timeout() -> Self {
        let cause = "the watermark is the minimum over the partitions and waits for silent ones for \
                     ever: a single silent partition holds every window open, without an error";
        let remedy = "set idle=.. to the longest pause you want to wait for, send heartbeats, or \
                      watch the distance between watermark and clock";
        Self::new(Code::NoIdleTimeout, cause, remedy)
    }

    /// Semantics 14: idle iff silent for strictly longer than the timeout.
    #[cold]
    pub(crate) fn idle_timeout_zero() -> Self {
        let cause = "the idle timeout is 0s: at every tick each partition that was not heard at that \
                     very instant is idle, and the slow ones never hold the watermark";
        let remedy = "make it longer than the usual pause between two rows of one partition";
        Self::new(Code::IdleTimeoutZero, cause, remedy)
    }

    /// Semantics 2.3.
    #[cold]
    pub(crate) fn fallback_never_acts(behind: Span) -> Self {
        let cause = format!(
            "the wall clock moves the watermark to {} behind it once every partition is idle, but \
             without an idle timeout none ever is",
            Words(behind)
        );
        let remedy = "use watermark=partition with an idle timeout (idle=..), or fallback_always";
        Self::new(Code::FallbackNeverActs, cause, remedy)
    }

    /// Semantics 2.3: w = max(c - d, now - f), and c <= now unless a row is from the future.
    #[cold]
    pub(crate) fn fallback_overrides_delay(behind: Span, delay: Span) -> Self {
        let cause = format!(
            "the wall clock always moves the watermark to {} behind it, which the data with their \
             delay of {} could pass only with times from the future: the delay has no effect",
            Words(behind),
            Words(delay)
        );
        let remedy =
            "make fallback_always longer than the delay, or use fallback, which acts on idleness";
        Self::new(Code::FallbackOverridesDelay, cause, remedy)
    }

    /// Semantics 4.
    #[cold]
    pub(crate) fn windows_with_holes(size: Span, slide: Span) -> Self {
        let percent = i128::from(slide.0 - size.0) * 100 / i128::from(slide.0);
        let cause = format!(
            "windows of {} start every {}: between them {} ({percent} % of the time) is in no \
             window, and rows there are not counted",
            Words(size),
            Words(slide),
            Words(Span(slide.0 - size.0))
        );
        Self::new(Code::WindowsWithHoles, cause, "slide by the size or less, unless you sample")
    }

    /// Spark and Flink refuse such plans; the grid is the same as with the remainder.
    #[cold]
    pub(crate) fn offset_outside_slide(offset: Span, slide: Span) -> Self {
        let cause = format!(
            "the offset {} is not shorter than the slide {}; Spark and Flink refuse that",
            Words(offset),
            Words(slide)
        );
        let same = Span(offset.0.checked_rem_euclid(slide.0).unwrap_or(0));
        Self::new(Code::OffsetOutsideSlide, cause, format!("offset {} is the same", Words(same)))
    }

    /// The trace law on `once`: one step, and nothing fires at the stop.
    #[cold]
    pub(crate) fn once_writes_nothing() -> Self {
        let cause = "the only batch of this run is judged by the watermark from before it, and the \
                     one that it computes closes nothing: append mode writes no window in this run";
        let remedy = "use available_now with several batches or effective=row; or resume from the \
                      checkpoint, then the next run writes them";
        Self::new(Code::OnceWritesNothing, cause, remedy)
    }

    /// Spark fails such a query at its first batch (MULTIPLE_EVENT_TIME_COLUMNS).
    #[cold]
    pub(crate) fn key_is_event_time(name: &str) -> Self {
        let cause = format!(
            "rows are grouped by `{name}`, which windows are cut on: every instant is a group of \
             its own; Spark fails at the first batch"
        );
        Self::new(Code::KeyIsEventTime, cause, "leave it out of the keys: the window is the group")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tumbling(size: Span) -> WindowSpec {
        WindowSpec { size, slide: size, offset: Span::ZERO }
    }

    #[test]
    fn growth_counts_windows_and_keys() {
        assert_eq!(growth(tumbling(Span::minutes(10)), 0), "144 groups for a day of event time");
        assert!(growth(tumbling(Span::minutes(1)), 2).ends_with("1,000 keys are 1,440,000 groups"));
        assert_eq!(
            growth(tumbling(Span::hours(168)), 0),
            "52 groups for a year of event time",
            "a week does not fit into a day"
        );
    }

    #[test]
    fn latency_is_window_and_delay_and_trigger() {
        let of = |trigger| {
            Problem::latency_is_the_window(Span::hours(1), Span::seconds(20), trigger).cause
        };
        assert!(of(None).starts_with("a figure comes out about 1h20s after"), "{}", of(None));
        assert!(of(Some(Span::minutes(1))).contains("about 1h1min20s"));
    }

    #[test]
    fn holes_say_how_much_is_lost() {
        let holes = Problem::windows_with_holes(Span::minutes(4), Span::minutes(10));
        assert!(holes.cause.contains("6min (60 % of the time)"), "{holes}");
    }
}
