//! The stable codes of problems.
//!
//! P0xx refuse, P1xx warn. A code is never reused for another rule, and a number never moves, so
//! that what somebody searched for last year still finds the same rule.
//!
//! Invariant: numbers and names are unique, and the number says the severity.

use super::Severity;
use std::fmt;

/// Which rule a plan breaks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Code {
    /// The delay is negative (S45).
    NegativeDelay,
    /// A span that may be zero is negative.
    NegativeSpan,
    /// A span is longer than 2^61 milliseconds.
    SpanOutOfRange,
    /// The first watermark is not a legal time.
    InitialOutOfRange,
    /// A window of no length.
    WindowSizeNotPositive,
    /// Windows that never move on.
    WindowSlideNotPositive,
    /// One row would be counted in absurdly many windows.
    TooManyWindowsPerRow,
    /// Rule F over windows that are no whole number of slides.
    FrameRuleUneven,
    /// An interval trigger without an interval.
    IntervalNotPositive,
    /// Batches of no rows.
    EmptyBatches,
    /// Two columns of the input have one name.
    DuplicateColumn,
    /// The watermark's column does not exist.
    WatermarkColumnUnknown,
    /// The watermark's column is no time.
    WatermarkColumnNotTime,
    /// A lineage step names a column that is not there.
    LineageColumnUnknown,
    /// A lineage step makes two columns of one name.
    LineageColumnTaken,
    /// Windows are cut on a column that is not there.
    WindowColumnUnknown,
    /// Windows are cut on a column that is no time.
    WindowColumnNotTime,
    /// Windows are cut on a column whose values the plan computes and nobody has.
    WindowColumnHasNoValues,
    /// A projection dropped the column that windows are cut on (S44).
    LinkDropped,
    /// The column that windows are cut on was computed anew, in append mode (S44).
    LinkRecomputed,
    /// Append mode over another column than the watermark's (S43).
    WindowOffWatermark,
    /// Append mode without a watermark (S46).
    AppendWithoutWatermark,
    /// Complete mode without anything to be complete about.
    CompleteWithoutAggregation,
    /// A grouping column does not exist or no longer does.
    KeyColumnUnknown,
    /// A grouping column is named twice.
    DuplicateKey,
    /// More grouping columns than a key may have.
    TooManyKeys,
    /// An aggregate's column does not exist or no longer does.
    AggregateColumnUnknown,
    /// An aggregate that means nothing for the kind of its column.
    AggregateKindMismatch,
    /// An aggregate is named twice.
    DuplicateAggregate,
    /// A flow that reads nothing.
    FlowWithoutInput,
    /// More inputs than a partition's number has room for.
    TooManyInputs,
    /// Two inputs of one name.
    DuplicateInput,
    /// A flow and a plain operator in one plan.
    FlowBesideOperator,
    /// Probes and levels belong to flows, and to one another.
    ProbeOutsideFlow,
    /// A join of other than two inputs.
    JoinInputs,
    /// A join behind another stage.
    JoinNotFirst,
    /// A stage names a column that is not there.
    StageColumnUnknown,
    /// A stage names a column of another kind than it needs.
    StageColumnKind,
    /// A stage makes two columns of one name.
    StageColumnTaken,
    /// A session that no row can keep open.
    GapNotPositive,
    /// A window, or a pane, of no rows.
    CountNotPositive,
    /// Rows are told apart by no column at all.
    NothingCompared,
    /// A late rule that means nothing for the stage.
    LateRuleUnfit,
    /// A range in which no pair can be (semantics 6).
    JoinNeverMatches,
    /// A window rule in a join that has no window.
    JoinWithoutWindow,
    /// Early panes or lateness where a mode writes by itself.
    PanesOutsideAppend,
    /// Append mode over groups that have no event time (spark-rules 9).
    GroupNeverCloses,
    /// An outer join of which nothing says when a row has no partner (S56).
    NullRowsNeverWritten,
    /// Dedup within a delay of a watermark that is not there.
    DedupNeverExpires,
    /// An aggregation of figures that are written more than once.
    FigureCountedTwice,
    /// A union whose first input has no watermark, though another has.
    UnionLinkLost,
    /// Levels of combination with something that they do not have.
    LevelsUnfit,
    /// A window join over windows that are not tumbling.
    JoinWindowNotTumbling,
    /// A dedup that forgets with the time, which is none of its columns.
    DedupTimeNotCompared,

    /// State that nothing ever removes: no watermark (S46).
    GrowsWithoutWatermark,
    /// State that nothing ever removes: the watermark is on another column (S43, S44).
    GrowsOffWatermark,
    /// State that nothing ever removes: complete mode (S62).
    CompleteNeverEvicts,
    /// A watermark that nothing looks at (S47).
    WatermarkInert,
    /// A mode that writes a figure again into a sink that only adds (S61).
    RewritesIntoAppendSink,
    /// No tolerance at all (S21).
    DelayZero,
    /// The wait is the window, not the delay (S60).
    LatencyIsTheWindow,
    /// One silent partition holds every window (S16, S80, S81).
    NoIdleTimeout,
    /// Every pause is a silence.
    IdleTimeoutZero,
    /// A fallback whose condition cannot arise.
    FallbackNeverActs,
    /// A wall clock that is always ahead of the delay.
    FallbackOverridesDelay,
    /// Rows that are in no window.
    WindowsWithHoles,
    /// An offset that other engines refuse.
    OffsetOutsideSlide,
    /// A single batch whose watermark nothing uses.
    OnceWritesNothing,
    /// A group for every instant.
    KeyIsEventTime,
    /// State that nothing ever removes: groups by keys alone.
    KeysNeverEvicted,
    /// State that nothing ever removes: what was seen before.
    DedupGrows,
    /// State that nothing ever removes: one or both sides of a join (S56).
    JoinSideGrows,
    /// State that nothing ever removes: the left side of a semi join.
    SemiSideGrows,
    /// A full outer join with one bound: the other side's null rows never come.
    OneSideNeverWritten,
    /// A union in which a watermark judges rows that it does not know.
    UnmarkedInputJudged,
    /// Rows without event time on an outer side stay for ever, unseen.
    NullTimeKept,
    /// Sessions in update mode leave figures of sessions that are no more.
    SessionRewritten,
    /// An outer join in update mode, which does not update.
    NullRowsNotRevised,
    /// Rows without a partner come only when none can come any more.
    AntiRowsWait,
    /// All rows in one session.
    SessionWithoutKey,
    /// A dedup behind figures that are written again.
    UpdatesSuppressed,
    /// Two watermarks on one column.
    WatermarkRedefined,
    /// Of several watermarks on one input only the last reaches the stages.
    WatermarkReplaced,
    /// A join of which no two rows are a pair, and whose rows leave all the same.
    JoinMatchesNobody,
}

impl Code {
    /// All codes, in the order of their numbers.
    pub const ALL: [Self; 84] = [
        Self::NegativeDelay,
        Self::NegativeSpan,
        Self::SpanOutOfRange,
        Self::InitialOutOfRange,
        Self::WindowSizeNotPositive,
        Self::WindowSlideNotPositive,
        Self::TooManyWindowsPerRow,
        Self::FrameRuleUneven,
        Self::IntervalNotPositive,
        Self::EmptyBatches,
        Self::DuplicateColumn,
        Self::WatermarkColumnUnknown,
        Self::WatermarkColumnNotTime,
        Self::LineageColumnUnknown,
        Self::LineageColumnTaken,
        Self::WindowColumnUnknown,
        Self::WindowColumnNotTime,
        Self::WindowColumnHasNoValues,
        Self::LinkDropped,
        Self::LinkRecomputed,
        Self::WindowOffWatermark,
        Self::AppendWithoutWatermark,
        Self::CompleteWithoutAggregation,
        Self::KeyColumnUnknown,
        Self::DuplicateKey,
        Self::TooManyKeys,
        Self::AggregateColumnUnknown,
        Self::AggregateKindMismatch,
        Self::DuplicateAggregate,
        Self::FlowWithoutInput,
        Self::TooManyInputs,
        Self::DuplicateInput,
        Self::FlowBesideOperator,
        Self::ProbeOutsideFlow,
        Self::JoinInputs,
        Self::JoinNotFirst,
        Self::StageColumnUnknown,
        Self::StageColumnKind,
        Self::StageColumnTaken,
        Self::GapNotPositive,
        Self::CountNotPositive,
        Self::NothingCompared,
        Self::LateRuleUnfit,
        Self::JoinNeverMatches,
        Self::JoinWithoutWindow,
        Self::PanesOutsideAppend,
        Self::GroupNeverCloses,
        Self::NullRowsNeverWritten,
        Self::DedupNeverExpires,
        Self::FigureCountedTwice,
        Self::UnionLinkLost,
        Self::LevelsUnfit,
        Self::JoinWindowNotTumbling,
        Self::DedupTimeNotCompared,
        Self::GrowsWithoutWatermark,
        Self::GrowsOffWatermark,
        Self::CompleteNeverEvicts,
        Self::WatermarkInert,
        Self::RewritesIntoAppendSink,
        Self::DelayZero,
        Self::LatencyIsTheWindow,
        Self::NoIdleTimeout,
        Self::IdleTimeoutZero,
        Self::FallbackNeverActs,
        Self::FallbackOverridesDelay,
        Self::WindowsWithHoles,
        Self::OffsetOutsideSlide,
        Self::OnceWritesNothing,
        Self::KeyIsEventTime,
        Self::KeysNeverEvicted,
        Self::DedupGrows,
        Self::JoinSideGrows,
        Self::SemiSideGrows,
        Self::OneSideNeverWritten,
        Self::UnmarkedInputJudged,
        Self::NullTimeKept,
        Self::SessionRewritten,
        Self::NullRowsNotRevised,
        Self::AntiRowsWait,
        Self::SessionWithoutKey,
        Self::UpdatesSuppressed,
        Self::WatermarkRedefined,
        Self::WatermarkReplaced,
        Self::JoinMatchesNobody,
    ];

    /// Its number and its name.
    const fn number_and_name(self) -> (&'static str, &'static str) {
        match self {
            Self::NegativeDelay => ("P001", "negative-delay"),
            Self::NegativeSpan => ("P002", "negative-span"),
            Self::SpanOutOfRange => ("P003", "span-out-of-range"),
            Self::InitialOutOfRange => ("P004", "initial-out-of-range"),
            Self::WindowSizeNotPositive => ("P005", "window-size-not-positive"),
            Self::WindowSlideNotPositive => ("P006", "window-slide-not-positive"),
            Self::TooManyWindowsPerRow => ("P007", "too-many-windows-per-row"),
            Self::FrameRuleUneven => ("P008", "frame-rule-uneven"),
            Self::IntervalNotPositive => ("P009", "interval-not-positive"),
            Self::EmptyBatches => ("P010", "empty-batches"),
            Self::DuplicateColumn => ("P011", "duplicate-column"),
            Self::WatermarkColumnUnknown => ("P012", "watermark-column-unknown"),
            Self::WatermarkColumnNotTime => ("P013", "watermark-column-not-time"),
            Self::LineageColumnUnknown => ("P014", "lineage-column-unknown"),
            Self::LineageColumnTaken => ("P015", "lineage-column-taken"),
            Self::WindowColumnUnknown => ("P016", "window-column-unknown"),
            Self::WindowColumnNotTime => ("P017", "window-column-not-time"),
            Self::WindowColumnHasNoValues => ("P018", "window-column-has-no-values"),
            Self::LinkDropped => ("P019", "link-dropped"),
            Self::LinkRecomputed => ("P020", "link-recomputed"),
            Self::WindowOffWatermark => ("P021", "window-off-watermark"),
            Self::AppendWithoutWatermark => ("P022", "append-without-watermark"),
            Self::CompleteWithoutAggregation => ("P023", "complete-without-aggregation"),
            Self::KeyColumnUnknown => ("P024", "key-column-unknown"),
            Self::DuplicateKey => ("P025", "duplicate-key"),
            Self::TooManyKeys => ("P026", "too-many-keys"),
            Self::AggregateColumnUnknown => ("P027", "aggregate-column-unknown"),
            Self::AggregateKindMismatch => ("P028", "aggregate-kind-mismatch"),
            Self::DuplicateAggregate => ("P029", "duplicate-aggregate"),
            Self::FlowWithoutInput => ("P030", "flow-without-input"),
            Self::TooManyInputs => ("P031", "too-many-inputs"),
            Self::DuplicateInput => ("P032", "duplicate-input"),
            Self::FlowBesideOperator => ("P033", "flow-beside-operator"),
            Self::ProbeOutsideFlow => ("P034", "probe-outside-flow"),
            Self::JoinInputs => ("P035", "join-inputs"),
            Self::JoinNotFirst => ("P036", "join-not-first"),
            Self::StageColumnUnknown => ("P037", "stage-column-unknown"),
            Self::StageColumnKind => ("P038", "stage-column-kind"),
            Self::StageColumnTaken => ("P039", "stage-column-taken"),
            Self::GapNotPositive => ("P040", "gap-not-positive"),
            Self::CountNotPositive => ("P041", "count-not-positive"),
            Self::NothingCompared => ("P042", "nothing-compared"),
            Self::LateRuleUnfit => ("P043", "late-rule-unfit"),
            Self::JoinNeverMatches => ("P044", "join-never-matches"),
            Self::JoinWithoutWindow => ("P045", "join-without-window"),
            Self::PanesOutsideAppend => ("P046", "panes-outside-append"),
            Self::GroupNeverCloses => ("P047", "group-never-closes"),
            Self::NullRowsNeverWritten => ("P048", "null-rows-never-written"),
            Self::DedupNeverExpires => ("P049", "dedup-never-expires"),
            Self::FigureCountedTwice => ("P050", "figure-counted-twice"),
            Self::UnionLinkLost => ("P051", "union-link-lost"),
            Self::LevelsUnfit => ("P052", "levels-unfit"),
            Self::JoinWindowNotTumbling => ("P053", "join-window-not-tumbling"),
            Self::DedupTimeNotCompared => ("P054", "dedup-time-not-compared"),
            Self::GrowsWithoutWatermark => ("P101", "grows-without-watermark"),
            Self::GrowsOffWatermark => ("P102", "grows-off-watermark"),
            Self::CompleteNeverEvicts => ("P103", "complete-never-evicts"),
            Self::WatermarkInert => ("P104", "watermark-inert"),
            Self::RewritesIntoAppendSink => ("P105", "rewrites-into-append-sink"),
            Self::DelayZero => ("P106", "delay-zero"),
            Self::LatencyIsTheWindow => ("P107", "latency-is-the-window"),
            Self::NoIdleTimeout => ("P108", "no-idle-timeout"),
            Self::IdleTimeoutZero => ("P109", "idle-timeout-zero"),
            Self::FallbackNeverActs => ("P110", "fallback-never-acts"),
            Self::FallbackOverridesDelay => ("P111", "fallback-overrides-delay"),
            Self::WindowsWithHoles => ("P112", "windows-with-holes"),
            Self::OffsetOutsideSlide => ("P113", "offset-outside-slide"),
            Self::OnceWritesNothing => ("P114", "once-writes-nothing"),
            Self::KeyIsEventTime => ("P115", "key-is-event-time"),
            Self::KeysNeverEvicted => ("P116", "keys-never-evicted"),
            Self::DedupGrows => ("P117", "dedup-grows"),
            Self::JoinSideGrows => ("P118", "join-side-grows"),
            Self::SemiSideGrows => ("P119", "semi-side-grows"),
            Self::OneSideNeverWritten => ("P120", "one-side-never-written"),
            Self::UnmarkedInputJudged => ("P121", "unmarked-input-judged"),
            Self::NullTimeKept => ("P122", "null-time-kept"),
            Self::SessionRewritten => ("P123", "session-rewritten"),
            Self::NullRowsNotRevised => ("P124", "null-rows-not-revised"),
            Self::AntiRowsWait => ("P125", "anti-rows-wait"),
            Self::SessionWithoutKey => ("P126", "session-without-key"),
            Self::UpdatesSuppressed => ("P127", "updates-suppressed"),
            Self::WatermarkRedefined => ("P128", "watermark-redefined"),
            Self::WatermarkReplaced => ("P129", "watermark-replaced"),
            Self::JoinMatchesNobody => ("P130", "join-matches-nobody"),
        }
    }

    /// Its number, such as `P022`.
    pub const fn number(self) -> &'static str {
        self.number_and_name().0
    }

    /// Its name, such as `append-without-watermark`.
    pub const fn name(self) -> &'static str {
        self.number_and_name().1
    }

    /// Whether it refuses or warns.
    pub const fn severity(self) -> Severity {
        match self.number().as_bytes()[1] {
            b'0' => Severity::Refusal,
            _ => Severity::Warning,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, name) = self.number_and_name();
        write!(f, "{number} {name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn numbers_rise_and_names_are_unique() {
        assert!(Code::ALL.is_sorted_by(|left, right| left.number() < right.number()));
        let names: BTreeSet<_> = Code::ALL.iter().map(|it| it.name()).collect();
        assert_eq!(names.len(), Code::ALL.len());
    }
}
