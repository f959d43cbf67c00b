//! Stages that match, drawn: dedup, interval and window joins, as-of joins.
//!
//! Bounds of joins are drawn in eighths of a slide, closed and open, negative ones too, one of them or
//! both missing, sometimes in two conjuncts. A side that is owed null rows has a bound that makes its
//! rows leave.
//!
//! Invariant: some pair of rows can match.

use super::story::Story;
use plimsoll_engine::plan::LateRule;
use plimsoll_engine::plan::WindowSpec;
use plimsoll_engine::plan::flow::{
    AsOfPlan, Compare, DedupExpiry, DedupPlan, Edge, Expiry, Filter, JoinKind, JoinPlan, Range,
    Sides, StagePlan,
};
use plimsoll_engine::row::ColumnIx;
use plimsoll_engine::time::Span;

const KINDS: [(u32, JoinKind); 6] = [
    (24, JoinKind::Inner),
    (24, JoinKind::Left),
    (12, JoinKind::Right),
    (18, JoinKind::Full),
    (11, JoinKind::Semi),
    (11, JoinKind::Anti),
];

impl Story<'_> {
    /// Drops what was seen before.
    pub(super) fn dedup(&mut self) {
        let with_time = self.own.chance(400);
        let mut columns: Vec<ColumnIx> = self.key.into_iter().collect();
        if self.own.chance(600) || columns.is_empty() {
            columns.extend(self.value);
        }
        let within = self.part(&[8, 0, 3, 16]);
        let never = self.own.chance(80);
        let expiry = if with_time {
            columns.push(self.time);
            DedupExpiry::WithItsTime
        } else if never {
            DedupExpiry::Never
        } else {
            DedupExpiry::After(within)
        };
        let late = *self.own.choose(&[LateRule::Event, LateRule::EventInclusive]);
        let (time, late_policy) = (Some(self.time), self.late_policy());
        self.push(StagePlan::Dedup(DedupPlan { columns, time, late, expiry, late_policy }));
    }

    /// A join of two inputs. `both` of 1,000 have a bound on either side.
    pub(super) fn join(&mut self, windowed: bool, both: u32) {
        let kind = self.own.weighted(&KINDS);
        let windowed = windowed || self.own.chance(60);
        let window = windowed.then(|| {
            let size = Span(self.slide * self.own.range(1, 2));
            WindowSpec { size, slide: size, offset: Span::ZERO }
        });
        let ranges = if windowed && self.own.chance(700) {
            Vec::new()
        } else {
            self.ranges(kind, both, windowed)
        };
        let late = match (windowed, self.own.below(8)) {
            (true, 0..=4) => LateRule::WindowEnd,
            (_, 5) => LateRule::EventInclusive,
            _ => LateRule::Event,
        };
        let grace = if self.own.chance(200) { self.part(&[2, 8]) } else { Span::ZERO };
        let expiry = self.expiry(late);
        let sides = if self.own.chance(450) { Sides::Own } else { Sides::Combined };
        let sides = match self.entropy.field("flow", "sides").below(20) {
            0..17 => sides,
            17..19 => Sides::Both,
            _ => Sides::Either,
        };
        let only_if = [(); 2].map(|()| self.condition());
        let on = self.on();
        let late_policy = self.late_policy();
        self.push(StagePlan::Join(JoinPlan {
            kind,
            on,
            time: [self.time; 2],
            ranges,
            window,
            only_if,
            late,
            grace,
            expiry,
            sides,
            late_policy,
        }));
    }

    fn on(&mut self) -> Vec<(ColumnIx, ColumnIx)> {
        let (key, value) = (self.key, self.value);
        let columns: Vec<ColumnIx> = match self.own.below(20) {
            0 => Vec::new(),
            1 => key.into_iter().chain(value).collect(),
            _ => key.into_iter().collect(),
        };
        columns.into_iter().map(|it| (it, it)).collect()
    }

    fn condition(&mut self) -> Option<Filter> {
        let column = self.number()?;
        let there = self.own.chance(120);
        let value = self.own.range(2, 7);
        there.then_some(Filter { column, compare: Compare::AtLeast, value })
    }

    /// The bounds on right - left.
    fn ranges(&mut self, kind: JoinKind, both: u32, windowed: bool) -> Vec<Range> {
        let at = *self.own.choose(&[0, 0, 1, -2, -4, -8, 2]);
        let length = *self.own.choose(&[4, 0, 1, 8, 2, 12]);
        let open = [(); 2].map(|()| self.own.chance(250));
        let one_only = !self.own.chance(both);
        let which = self.own.below(3);
        let span = |eighths: i64| Span(self.slide * eighths / 8);
        let (from, to) = (span(at), span(at + length));
        // Two open ends need a row between them.
        let open = if to.0 - from.0 < 2 { [false; 2] } else { open };
        let mut lower = Some(Edge { at: from, open: open[0] });
        let mut upper = Some(Edge { at: to, open: open[1] });
        if one_only {
            let needs_upper = matches!(kind, JoinKind::Left | JoinKind::Anti | JoinKind::Full);
            let needs_lower = kind == JoinKind::Right;
            match which {
                0 if windowed || !needs_lower => lower = None,
                1 if windowed || !needs_upper => upper = None,
                _ if matches!(kind, JoinKind::Inner | JoinKind::Semi) => {
                    (lower, upper) = (None, None)
                }
                _ => {}
            }
        }
        let mut ranges = vec![Range { lower, upper }];
        if self.own.chance(150) {
            // A second conjunct that is looser, and one end of it missing.
            let looser = |it: Edge, by: i64| Edge { at: Span(it.at.0 + by), open: false };
            let by = self.slide / 4 + 1;
            ranges.push(Range {
                lower: lower.map(|it| looser(it, -by)).filter(|_| which != 2),
                upper: upper.map(|it| looser(it, by)).filter(|_| which != 1),
            });
        }
        ranges
    }

    /// Exact most of the time; else the rules that engines have.
    fn expiry(&mut self, late: LateRule) -> Expiry {
        let exact = Expiry { at_bound: late == LateRule::EventInclusive, ..Expiry::EXACT };
        match self.own.below(10) {
            0..=5 => exact,
            6 => Expiry::EXACT,
            7 => Expiry { own_time: true, ..exact },
            8 => Expiry { loosest: true, ..Expiry::EXACT },
            _ => Expiry {
                at_bound: self.own.chance(500),
                with_grace: self.own.chance(500),
                own_time: self.own.chance(300),
                loosest: self.own.chance(300),
            },
        }
    }

    /// An as-of join of two inputs.
    pub(super) fn as_of(&mut self) {
        let tolerance = self.part(&[8, 0, 2, 24]);
        let outer = self.own.chance(600);
        let on = self.on();
        let late_policy = self.late_policy();
        self.push(StagePlan::AsOf(AsOfPlan {
            on,
            time: [self.time; 2],
            tolerance,
            outer,
            late_policy,
        }));
    }
}
