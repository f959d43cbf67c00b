//! Rules on the columns and numbers of one stage.
//!
//! Invariant: whatever passes can be run without looking outside a row or leaving the arithmetic.

use super::super::{columns, numbers};
use super::{Stage, kind_words};
use crate::plan::flow::{
    AsOfPlan, CountPlan, DedupExpiry, DedupPlan, Filter, Gap, GlobalPlan, JoinPlan, PanePlan,
    SessionPlan, StagePlan, WindowStage,
};
use crate::plan::problem::Problem;
use crate::plan::{Aggregate, LateRule, OutputMode};
use crate::row::{ColumnIx, ColumnKind};
use crate::time::Span;
use std::collections::BTreeSet;

pub(super) fn check(stage: Stage<'_>, output: OutputMode, problems: &mut Vec<Problem>) {
    let mut rules = Rules { stage, problems };
    match stage.plan {
        StagePlan::Filter(it) => rules.filter(it),
        StagePlan::Project(kept) => kept.iter().for_each(|it| rules.known(*it)),
        StagePlan::Rename(column, name) => rules.rename(*column, name),
        StagePlan::Compute(column) => rules.known(*column),
        StagePlan::Window(it) => rules.window(it, output),
        StagePlan::Session(it) => rules.session(it, output),
        StagePlan::Global(it) => rules.global(it),
        StagePlan::Count(it) => rules.count(it),
        StagePlan::Dedup(it) => rules.dedup(it),
        StagePlan::Join(it) => rules.join(it),
        StagePlan::AsOf(it) => rules.as_of(it),
    }
}

struct Rules<'a, 'b> {
    stage: Stage<'a>,
    problems: &'b mut Vec<Problem>,
}

impl Rules<'_, '_> {
    fn kind(&mut self, column: ColumnIx) -> Option<ColumnKind> {
        let columns = &self.stage.columns.columns;
        let kind = columns.get(column.0).map(|it| it.kind);
        if kind.is_none() {
            let (words, count) = (self.stage.words(), columns.len());
            self.problems.push(Problem::stage_column_unknown(&words, column.0, count));
        }
        kind
    }

    fn known(&mut self, column: ColumnIx) {
        let _ = self.kind(column);
    }

    fn of_kind(&mut self, column: ColumnIx, wanted: ColumnKind, what: &str) {
        let Some(kind) = self.kind(column) else { return };
        if kind != wanted {
            let name = &self.stage.columns.column(column).name;
            let (kind, wanted) = (kind_words(kind), kind_words(wanted));
            let words = self.stage.words();
            self.problems.push(Problem::stage_column_kind(&words, what, name, kind, wanted));
        }
    }

    fn time(&mut self, column: ColumnIx) {
        self.of_kind(column, ColumnKind::Time, "its time");
    }

    /// A span that may be zero but not negative.
    fn wait(&mut self, what: &str, span: Span) {
        if span < Span::ZERO {
            self.problems.push(Problem::negative_span(what, span));
        } else {
            numbers::legal(what, span, self.problems);
        }
    }

    /// The codes of texts are in the order of their first sight: they can be known, not compared.
    fn filter(&mut self, filter: &Filter) {
        let known = filter.keeps(Some(i64::MIN)) && filter.keeps(Some(i64::MAX));
        if self.kind(filter.column) == Some(ColumnKind::Text) && !known {
            self.of_kind(filter.column, ColumnKind::Integer, "a number to compare");
        }
    }

    fn rename(&mut self, column: ColumnIx, name: &str) {
        self.known(column);
        let taken = self.stage.columns.position(name).is_some_and(|it| it != column);
        if taken {
            self.problems.push(Problem::stage_column_taken(&self.stage.words(), name));
        }
    }

    fn keys(&mut self, keys: &[ColumnIx]) {
        if columns::MAX_KEYS < keys.len() {
            self.problems.push(Problem::too_many_keys(keys.len(), columns::MAX_KEYS));
        }
        let (mut seen, mut said) = (BTreeSet::new(), BTreeSet::new());
        for key in keys {
            if seen.insert(*key) {
                self.known(*key);
            } else if said.insert(*key) {
                self.problems.push(Problem::duplicate_key(&self.stage.names(&[*key])));
            }
        }
    }

    fn aggregates(&mut self, aggregates: &[Aggregate]) {
        for aggregate in aggregates {
            let Some(column) = aggregate.column() else { continue };
            let Some(kind) = self.kind(column) else { continue };
            if !columns::means_something(*aggregate, kind) {
                let words = columns::words(self.stage.columns, *aggregate);
                let name = &self.stage.columns.column(column).name;
                let kind = kind_words(kind);
                self.problems.push(Problem::aggregate_kind_mismatch(&words, name, kind));
            }
        }
    }

    fn panes(&mut self, panes: &PanePlan, lateness: Span, output: OutputMode) {
        self.wait("allowed lateness", lateness);
        let words = self.stage.words();
        if panes.early_rows == Some(0) {
            self.problems.push(Problem::count_not_positive(&words, "early panes"));
        }
        if output != OutputMode::Append && *panes != PanePlan::TOTALS {
            self.problems.push(Problem::panes_outside_append(&words, "panes of its own"));
        }
    }

    fn window(&mut self, stage: &WindowStage, output: OutputMode) {
        self.time(stage.time);
        numbers::windows(stage.window, stage.late, self.problems);
        self.keys(&stage.keys);
        self.aggregates(&stage.aggregates);
        self.panes(&stage.panes, stage.lateness, output);
    }

    fn session(&mut self, stage: &SessionPlan, output: OutputMode) {
        self.time(stage.time);
        let words = self.stage.words();
        match stage.gap {
            Gap::Fixed(gap) if gap <= Span::ZERO => {
                self.problems.push(Problem::gap_not_positive(&words, "gap", gap));
            }
            Gap::Fixed(gap) => _ = numbers::legal("gap", gap, self.problems),
            Gap::Column(column) => self.of_kind(column, ColumnKind::Integer, "its gap"),
        }
        match stage.max_span {
            Some(span) if span <= Span::ZERO => {
                self.problems.push(Problem::gap_not_positive(&words, "longest session", span));
            }
            Some(span) => _ = numbers::legal("longest session", span, self.problems),
            None => {}
        }
        self.keys(&stage.keys);
        self.aggregates(&stage.aggregates);
        self.panes(&PanePlan::TOTALS, stage.lateness, output);
    }

    fn global(&mut self, stage: &GlobalPlan) {
        if let Some((column, rule)) = stage.time {
            self.time(column);
            self.bare(rule);
            if !stage.keys.contains(&column) {
                let (words, name) = (self.stage.words(), self.stage.names(&[column]));
                let problem =
                    Problem::stage_column_kind(&words, "its time", &name, "no key", "a key");
                self.problems.push(problem);
            }
        }
        self.keys(&stage.keys);
        self.aggregates(&stage.aggregates);
    }

    fn count(&mut self, stage: &CountPlan) {
        self.time(stage.time);
        self.keys(&stage.keys);
        self.aggregates(&stage.aggregates);
        if stage.rows == 0 {
            self.problems.push(Problem::count_not_positive(&self.stage.words(), "windows"));
        }
    }

    /// A late rule of an operator without windows.
    fn bare(&mut self, rule: LateRule) {
        let word = match rule {
            LateRule::Event | LateRule::EventInclusive => return,
            LateRule::WindowEnd => "window_end",
            LateRule::Frame => "frame",
        };
        let fit = "late=event or late=event_inclusive";
        self.problems.push(Problem::late_rule_unfit(&self.stage.words(), word, fit));
    }

    fn dedup(&mut self, stage: &DedupPlan) {
        if stage.columns.is_empty() {
            self.problems.push(Problem::nothing_compared(&self.stage.words()));
        }
        self.keys(&stage.columns);
        if let Some(time) = stage.time {
            self.time(time);
        }
        self.bare(stage.late);
        match (stage.expiry, stage.time) {
            (DedupExpiry::After(span), _) => {
                self.wait("delay after which a row is forgotten", span);
            }
            (DedupExpiry::WithItsTime, Some(time)) if !stage.columns.contains(&time) => {
                let (words, name) = (self.stage.words(), self.stage.names(&[time]));
                self.problems.push(Problem::dedup_time_not_compared(&words, &name));
            }
            (DedupExpiry::WithItsTime | DedupExpiry::Never | DedupExpiry::At(_), _) => {}
        }
    }

    fn on(&mut self, on: &[(ColumnIx, ColumnIx)]) {
        for (left, right) in on {
            if let (Some(_), Some(kind)) = (self.kind(*left), self.kind(*right)) {
                self.of_kind(*left, kind, "the partner of a column of another kind");
            }
        }
    }

    fn first(&mut self) {
        if self.stage.at != 0 {
            self.problems.push(Problem::join_not_first(&self.stage.words()));
        }
    }

    fn join(&mut self, stage: &JoinPlan) {
        self.first();
        stage.time.into_iter().for_each(|it| self.time(it));
        self.on(&stage.on);
        stage.only_if.iter().flatten().for_each(|it| self.filter(it));
        match (stage.late, stage.window) {
            (LateRule::Event | LateRule::EventInclusive, _) | (LateRule::WindowEnd, Some(_)) => {}
            (LateRule::WindowEnd, None) => self.problems.push(Problem::join_without_window()),
            (LateRule::Frame, _) => self.bare(LateRule::Frame),
        }
        if let Some(window) = stage.window {
            numbers::windows(window, LateRule::WindowEnd, self.problems);
            if window.size != window.slide {
                let (words, size, slide) = (self.stage.words(), window.size, window.slide);
                self.problems.push(Problem::join_window_not_tumbling(&words, size, slide));
            }
        }
        self.wait("grace", stage.grace);
        for edge in stage.ranges.iter().flat_map(|it| [it.lower, it.upper]).flatten() {
            numbers::legal("bound of the join", edge.at, self.problems);
        }
    }

    fn as_of(&mut self, stage: &AsOfPlan) {
        self.first();
        stage.time.into_iter().for_each(|it| self.time(it));
        self.on(&stage.on);
        self.wait("tolerance", stage.tolerance);
    }
}
