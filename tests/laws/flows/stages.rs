//! Stages of a drawn flow.
//!
//! Invariant: a drawn stage works on columns that it is handed, and a drawn range lets rows match.

use super::{Draw, GAP, KEY, TIME, VALUE};
use plimsoll_engine::plan::flow::{
    AsOfPlan, Carry, Compare, CountPlan, DedupExpiry, DedupPlan, Edge, Expiry, Filter, Gap,
    GlobalPlan, HoleRule, JoinKind, JoinPlan, PanePlan, Range, SessionLate, SessionPlan, Sides,
    StagePlan, Touching, WindowStage,
};
use plimsoll_engine::plan::{Aggregate, LatePolicy, LateRule, WindowSpec};
use plimsoll_engine::row::ColumnIx;
use plimsoll_engine::time::Span;

/// What kind of flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::laws) enum Shape {
    /// Fixed windows.
    Window,
    /// Sessions.
    Session,
    /// Dedup by columns and time.
    DedupByTime,
    /// Dedup within a delay, or for ever.
    DedupOther,
    /// A join within ranges.
    Interval,
    /// A join of windows.
    WindowJoin,
    /// An as-of join.
    AsOf,
    /// Windows of rows.
    Count,
    /// Groups by keys alone, or by keys and time.
    Global,
    /// Stateless stages, dedup by time, then windows or sessions.
    Cleaned,
    /// Windows or sessions, then windows, sessions or windows of rows.
    Nested,
    /// A join, then windows or sessions.
    Joined,
}

impl Shape {
    pub(in crate::laws) const ALL: [Self; 12] = [
        Self::Window,
        Self::Session,
        Self::DedupByTime,
        Self::DedupOther,
        Self::Interval,
        Self::WindowJoin,
        Self::AsOf,
        Self::Count,
        Self::Global,
        Self::Cleaned,
        Self::Nested,
        Self::Joined,
    ];
    pub(in crate::laws) const ONE_SIDE: [Self; 8] = [
        Self::Window,
        Self::Session,
        Self::DedupByTime,
        Self::DedupOther,
        Self::Count,
        Self::Global,
        Self::Cleaned,
        Self::Nested,
    ];
    pub(in crate::laws) const JOINS: [Self; 2] = [Self::Interval, Self::WindowJoin];

    /// Whether its first stage takes two inputs apart.
    pub(super) const fn joins(self) -> bool {
        matches!(self, Self::Interval | Self::WindowJoin | Self::AsOf | Self::Joined)
    }
}

/// The stages of a flow of this shape.
pub(super) fn drawn(shape: Shape, draw: &mut Draw) -> Vec<StagePlan> {
    let key = Some(KEY);
    let grouping = |draw: &mut Draw| {
        if draw.one_in(2) { window(TIME, key, VALUE, draw) } else { session(TIME, key, draw) }
    };
    match shape {
        Shape::Window => vec![window(TIME, if draw.one_in(6) { None } else { key }, VALUE, draw)],
        Shape::Session => vec![session(TIME, key, draw)],
        Shape::DedupByTime => vec![dedup_by_time(draw)],
        Shape::DedupOther => vec![dedup_other(draw)],
        Shape::Interval => vec![StagePlan::Join(join(draw))],
        Shape::WindowJoin => vec![StagePlan::Join(window_join(draw))],
        Shape::AsOf => vec![as_of(draw)],
        Shape::Count => vec![count(TIME, key, VALUE, draw)],
        Shape::Global => vec![global(draw)],
        Shape::Cleaned => {
            let mut stages = Vec::new();
            if draw.one_in(2) {
                let filter = Filter { column: VALUE, compare: Compare::Unequal, value: 4 };
                stages.push(StagePlan::Filter(filter));
            }
            if draw.one_in(2) {
                stages.push(dedup_by_time(draw));
            }
            match draw.below(3) {
                0 => stages.push(StagePlan::Rename(TIME, "at".to_owned())),
                1 => stages.push(StagePlan::Project(vec![TIME, KEY, VALUE, GAP])),
                _ => {}
            }
            stages.push(grouping(draw));
            stages
        }
        Shape::Nested => {
            let first = grouping(draw);
            // Windows and sessions write start, end, time, key, count.
            let (time, key, value) = (ColumnIx(2), Some(ColumnIx(3)), ColumnIx(4));
            let second = match draw.below(4) {
                0 => count(time, key, value, draw),
                1 => fixed_session(time, key, value, draw),
                _ => window(time, key, value, draw),
            };
            vec![first, second]
        }
        Shape::Joined => {
            let mut join = join(draw);
            if join.kind == JoinKind::Semi {
                join.kind = JoinKind::Inner;
            } else if join.kind == JoinKind::Anti {
                join.kind = JoinKind::Left;
            }
            let second = if draw.one_in(2) {
                window(TIME, key, ColumnIx(6), draw)
            } else {
                fixed_session(TIME, key, ColumnIx(6), draw)
            };
            vec![StagePlan::Join(join), second]
        }
    }
}

/// Whether all stages write by output mode.
pub(super) fn knows_modes(stages: &[StagePlan]) -> bool {
    matches!(stages, [StagePlan::Window(_) | StagePlan::Global(_)])
}

/// Whether they are groups that no watermark closes.
pub(super) fn never_close(stages: &[StagePlan]) -> bool {
    matches!(stages, [StagePlan::Global(it)] if it.time.is_none())
}

fn aggregates(value: ColumnIx, draw: &mut Draw) -> Vec<Aggregate> {
    let more = [
        Aggregate::CountOf(value),
        Aggregate::Sum(value),
        Aggregate::Min(value),
        Aggregate::Max(value),
        Aggregate::Avg(value),
    ];
    vec![Aggregate::Count, draw.pick(&more)]
}

fn lateness(draw: &mut Draw) -> Span {
    if draw.one_in(4) { Span(1 + draw.below(12) as i64) } else { Span::ZERO }
}

fn window(time: ColumnIx, key: Option<ColumnIx>, value: ColumnIx, draw: &mut Draw) -> StagePlan {
    let size = draw.pick(&[4, 5, 10, 20]);
    let slide = draw.pick(&[size, size, size, size / 2, 3, size + 3]);
    let rules = [LateRule::Event, LateRule::EventInclusive, LateRule::WindowEnd, LateRule::Frame];
    let late = draw.pick(&rules);
    let uneven = late == LateRule::Frame && size % slide != 0;
    let carries = [Carry::Accumulating, Carry::Discarding, Carry::Retracting];
    let early_rows = draw.one_in(2).then_some(1 + draw.below(3) as u64);
    let panes = PanePlan { early_rows, carry: draw.pick(&carries) };
    StagePlan::Window(WindowStage {
        time,
        window: WindowSpec {
            size: Span(size),
            slide: Span(slide),
            offset: Span(draw.pick(&[0, 0, 1, -2])),
        },
        keys: key.into_iter().collect(),
        aggregates: aggregates(value, draw),
        late: if uneven { LateRule::Event } else { late },
        late_policy: LatePolicy::Drop,
        lateness: lateness(draw),
        panes: if draw.one_in(4) { panes } else { PanePlan::TOTALS },
        hole: draw.pick(&[HoleRule::NoWindow, HoleRule::LateBehind]),
    })
}

fn session(time: ColumnIx, key: Option<ColumnIx>, draw: &mut Draw) -> StagePlan {
    let mut stage = fixed_session(time, key, VALUE, draw);
    if let StagePlan::Session(it) = &mut stage
        && draw.one_in(3)
    {
        it.gap = Gap::Column(GAP);
    }
    stage
}

fn fixed_session(
    time: ColumnIx,
    key: Option<ColumnIx>,
    value: ColumnIx,
    draw: &mut Draw,
) -> StagePlan {
    StagePlan::Session(SessionPlan {
        time,
        gap: Gap::Fixed(Span(1 + draw.below(9) as i64)),
        keys: key.into_iter().collect(),
        aggregates: aggregates(value, draw),
        late: draw.pick(&[SessionLate::Event, SessionLate::Proto, SessionLate::Merged]),
        late_policy: LatePolicy::Drop,
        touching: draw.pick(&[Touching::Apart, Touching::Merge]),
        max_span: draw.one_in(6).then_some(Span(8 + draw.below(20) as i64)),
        lateness: lateness(draw),
    })
}

fn dedup_by_time(draw: &mut Draw) -> StagePlan {
    let all = [TIME, KEY, VALUE, GAP];
    StagePlan::Dedup(DedupPlan {
        columns: all[..draw.pick(&[2, 2, 3, 4])].to_vec(),
        time: Some(TIME),
        late: draw.pick(&[LateRule::Event, LateRule::EventInclusive]),
        expiry: DedupExpiry::WithItsTime,
        late_policy: LatePolicy::Drop,
    })
}

/// A dedup by key within a delay.
pub(super) fn dedup_within(delay: Span) -> StagePlan {
    StagePlan::Dedup(DedupPlan {
        columns: vec![KEY],
        time: Some(TIME),
        late: LateRule::Event,
        expiry: DedupExpiry::After(delay),
        late_policy: LatePolicy::Drop,
    })
}

fn dedup_other(draw: &mut Draw) -> StagePlan {
    let columns = draw.pick(&[&[KEY][..], &[KEY, VALUE]]).to_vec();
    let for_ever = draw.one_in(4);
    StagePlan::Dedup(DedupPlan {
        columns,
        time: (!for_ever || draw.one_in(2)).then_some(TIME),
        late: draw.pick(&[LateRule::Event, LateRule::EventInclusive]),
        expiry: if for_ever {
            DedupExpiry::Never
        } else {
            DedupExpiry::After(Span(1 + draw.below(20) as i64))
        },
        late_policy: LatePolicy::Drop,
    })
}

/// A range; an open one may lack ends.
fn range(open: bool, draw: &mut Draw) -> Range {
    let lower = draw.below(16) as i64 - 10;
    // Open at both ends, two milliseconds apart leave one between them.
    let upper = lower + 2 + draw.below(14) as i64;
    let edge = |at, draw: &mut Draw| Edge { at: Span(at), open: draw.one_in(3) };
    Range {
        lower: (!open || draw.one_in(2)).then(|| edge(lower, draw)),
        upper: (!open || draw.one_in(2)).then(|| edge(upper, draw)),
    }
}

fn join(draw: &mut Draw) -> JoinPlan {
    let kinds = [
        JoinKind::Inner,
        JoinKind::Left,
        JoinKind::Right,
        JoinKind::Full,
        JoinKind::Semi,
        JoinKind::Anti,
    ];
    let filter = Filter { column: VALUE, compare: Compare::Unequal, value: 2 };
    let kind = draw.pick(&kinds);
    // Who is owed a null row needs a bound.
    let open = matches!(kind, JoinKind::Inner | JoinKind::Semi) && draw.one_in(3);
    let first = range(open, draw);
    let mut ranges = vec![first];
    if draw.one_in(4) {
        // A second one around the first, so that rows still match.
        let wider = |it: Option<Edge>, by: i64| it.map(|it| Edge { at: it.at + Span(by), ..it });
        ranges.push(Range { lower: wider(first.lower, -2), upper: wider(first.upper, 3) });
    }
    JoinPlan {
        kind,
        on: vec![(KEY, KEY)],
        time: [TIME, TIME],
        ranges,
        window: None,
        only_if: [draw.one_in(8).then_some(filter), draw.one_in(8).then_some(filter)],
        late: draw.pick(&[LateRule::Event, LateRule::EventInclusive]),
        grace: if draw.one_in(6) { Span(draw.below(8) as i64) } else { Span::ZERO },
        expiry: Expiry::EXACT,
        sides: draw.pick(&[Sides::Own, Sides::Combined]),
        late_policy: LatePolicy::Drop,
    }
}

fn window_join(draw: &mut Draw) -> JoinPlan {
    let size = Span(draw.pick(&[5, 10, 20]));
    let late = draw.pick(&[LateRule::Event, LateRule::EventInclusive, LateRule::WindowEnd]);
    let mut join = join(draw);
    join.ranges.clear();
    join.window = Some(WindowSpec { size, slide: size, offset: Span(draw.pick(&[0, 3])) });
    join.late = late;
    join
}

fn as_of(draw: &mut Draw) -> StagePlan {
    StagePlan::AsOf(AsOfPlan {
        on: vec![(KEY, KEY)],
        time: [TIME, TIME],
        tolerance: Span(draw.pick(&[0, 5, 15, 60])),
        outer: draw.one_in(2),
        late_policy: LatePolicy::Drop,
    })
}

fn count(time: ColumnIx, key: Option<ColumnIx>, value: ColumnIx, draw: &mut Draw) -> StagePlan {
    StagePlan::Count(CountPlan {
        time,
        keys: key.into_iter().collect(),
        aggregates: aggregates(value, draw),
        rows: 1 + draw.below(4) as u64,
    })
}

fn global(draw: &mut Draw) -> StagePlan {
    let timed = !draw.one_in(4);
    let late = draw.pick(&[LateRule::Event, LateRule::EventInclusive]);
    StagePlan::Global(GlobalPlan {
        keys: if timed { vec![KEY, TIME] } else { vec![KEY] },
        aggregates: aggregates(VALUE, draw),
        time: timed.then_some((TIME, late)),
    })
}
