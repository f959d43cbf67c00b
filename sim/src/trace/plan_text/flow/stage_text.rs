//! Stages, written.
//!
//! Written is what differs from the defaults, in the order of the plan's fields, and always what comes
//! by its place.
//!
//! Invariant: reading a text with the columns that its stage is handed gives the stage.

use super::bounds::{expiry_text, ranges_text};
use super::columns::{aggregates_text, both_text, filter_text, list_text, pairs_text};
use super::{Rules, default_expiry, default_key, default_on, default_time, time_behind};
use crate::trace::plan_text::keys::{
    CARRY, HOLE, JOIN, LATE, LATE_POLICY, SESSION_LATE, SIDES, TOUCHING, Words, word,
};
use crate::trace::plan_text::values::{name, window_text};
use crate::trace::time_text::{SpanText, TimeText};
use plimsoll_engine::plan::flow::{
    AsOfPlan, Carry, CountPlan, DedupExpiry, DedupPlan, Flow, Gap, GlobalPlan, JoinPlan,
    SessionPlan, StagePlan, WindowStage,
};
use plimsoll_engine::plan::{Aggregate, LatePolicy};
use plimsoll_engine::row::{ColumnIx, Schema};
use plimsoll_engine::time::Span;

/// The text of each stage. `input` are the columns of the inputs.
pub(in crate::trace::plan_text) fn stage_texts(
    flow: &Flow,
    input: &Schema,
    rules: Rules<'_>,
) -> Vec<String> {
    let mut time = rules.on.to_owned();
    let mut texts = Vec::new();
    for (stage, handed) in flow.stages.iter().zip(flow.schemas(input)) {
        texts.push(Writing { handed: &handed, time: &time, rules, args: Vec::new() }.stage(stage));
        time = time_behind(stage, &handed, &time);
    }
    texts
}

/// A stage while it is written.
struct Writing<'a> {
    handed: &'a Schema,
    /// What the time column is called here.
    time: &'a str,
    rules: Rules<'a>,
    args: Vec<String>,
}

impl Writing<'_> {
    fn stage(mut self, stage: &StagePlan) -> String {
        let word = match stage {
            StagePlan::Filter(it) => {
                self.args.push(filter_text(self.handed, *it));
                "filter"
            }
            StagePlan::Project(kept) => {
                self.args.extend(kept.iter().map(|it| name(self.handed, *it).to_owned()));
                "project"
            }
            StagePlan::Rename(column, to) => {
                self.args.extend([name(self.handed, *column).to_owned(), to.clone()]);
                "rename"
            }
            StagePlan::Compute(column) => {
                self.args.push(name(self.handed, *column).to_owned());
                "compute"
            }
            StagePlan::Window(it) => self.window(it),
            StagePlan::Session(it) => self.session(it),
            StagePlan::Global(it) => self.global(it),
            StagePlan::Count(it) => self.count(it),
            StagePlan::Dedup(it) => self.dedup(it),
            StagePlan::Join(it) => self.join(it),
            StagePlan::AsOf(it) => self.asof(it),
        };
        format!("{word}({})", self.args.join(","))
    }

    fn window(&mut self, plan: &WindowStage) -> &'static str {
        self.args.push(window_text(plan.window));
        self.time(plan.time);
        self.groups(&plan.keys, &plan.aggregates);
        self.knob("late", LATE, plan.late, self.rules.profile.late);
        self.late_policy(plan.late_policy);
        self.span("lateness", plan.lateness);
        self.args.extend(plan.panes.early_rows.map(|it| format!("early={it}")));
        self.knob("carry", CARRY, plan.panes.carry, Carry::Accumulating);
        self.knob("hole", HOLE, plan.hole, self.rules.profile.hole);
        "window"
    }

    fn session(&mut self, plan: &SessionPlan) -> &'static str {
        self.args.push(match plan.gap {
            Gap::Fixed(it) => SpanText(it).to_string(),
            Gap::Column(it) => format!("gap:{}", name(self.handed, it)),
        });
        self.time(plan.time);
        self.groups(&plan.keys, &plan.aggregates);
        self.knob("late", SESSION_LATE, plan.late, self.rules.profile.session_late);
        self.late_policy(plan.late_policy);
        self.knob("touching", TOUCHING, plan.touching, self.rules.profile.touching);
        self.args.extend(plan.max_span.map(|it| format!("max_span={}", SpanText(it))));
        self.span("lateness", plan.lateness);
        "session"
    }

    fn global(&mut self, plan: &GlobalPlan) -> &'static str {
        self.groups(&plan.keys, &plan.aggregates);
        if let Some((column, late)) = plan.time {
            self.args.push(format!("time={}", name(self.handed, column)));
            self.knob("late", LATE, late, self.rules.profile.late_bare);
        }
        "global"
    }

    fn count(&mut self, plan: &CountPlan) -> &'static str {
        self.args.push(plan.rows.to_string());
        self.time(plan.time);
        self.groups(&plan.keys, &plan.aggregates);
        "count"
    }

    fn dedup(&mut self, plan: &DedupPlan) -> &'static str {
        let DedupPlan { columns, time, late, expiry, late_policy } = plan;
        let default = *expiry == default_expiry(columns, *time, self.rules.delay);
        let said = match expiry {
            _ if default => None,
            DedupExpiry::WithItsTime => Some("with_time".to_owned()),
            DedupExpiry::After(it) => Some(format!("within={}", SpanText(*it))),
            DedupExpiry::At(it) => Some(format!("at={}", TimeText(*it))),
            DedupExpiry::Never => Some("never".to_owned()),
        };
        if !columns.is_empty() || said.is_some() {
            self.args.push(list_text(self.handed, columns));
        }
        self.args.extend(said);
        if *time != default_time(self.handed, self.time) {
            let said = time.map_or("none", |it| name(self.handed, it));
            self.args.push(format!("time={said}"));
        }
        self.knob("late", LATE, *late, self.rules.profile.late_bare);
        self.late_policy(*late_policy);
        "dedup"
    }

    fn join(&mut self, plan: &JoinPlan) -> &'static str {
        self.args.push(word(JOIN, plan.kind).to_owned());
        self.on(&plan.on);
        self.both_times(plan.time);
        self.args.extend(ranges_text(&plan.ranges));
        self.args.extend(plan.window.map(|it| format!("window={}", window_text(it))));
        for (side, filter) in ["left_if", "right_if"].iter().zip(plan.only_if) {
            self.args.extend(filter.map(|it| format!("{side}={}", filter_text(self.handed, it))));
        }
        let rules = self.rules.profile.join;
        self.knob("late", LATE, plan.late, rules.late);
        if plan.grace != rules.grace {
            self.args.push(format!("grace={}", SpanText(plan.grace)));
        }
        if plan.expiry != rules.expiry {
            self.args.push(format!("expiry={}", expiry_text(plan.expiry)));
        }
        self.knob("sides", SIDES, plan.sides, rules.sides);
        self.late_policy(plan.late_policy);
        "join"
    }

    fn asof(&mut self, plan: &AsOfPlan) -> &'static str {
        self.on(&plan.on);
        self.both_times(plan.time);
        self.args.push(format!("tolerance={}", SpanText(plan.tolerance)));
        self.args.extend(plan.outer.then(|| "outer".to_owned()));
        self.late_policy(plan.late_policy);
        "asof"
    }

    fn time(&mut self, time: ColumnIx) {
        self.both_times([time; 2]);
    }

    fn both_times(&mut self, [left, right]: [ColumnIx; 2]) {
        let default = default_time(self.handed, self.time);
        if (Some(left), Some(right)) != (default, default) {
            self.args.push(format!("time={}", both_text(self.handed, left, right)));
        }
    }

    fn groups(&mut self, keys: &[ColumnIx], aggregates: &[Aggregate]) {
        if keys != default_key(self.handed) {
            self.args.push(format!("key={}", list_text(self.handed, keys)));
        }
        if aggregates != [Aggregate::Count] {
            self.args.push(format!("agg={}", aggregates_text(self.handed, aggregates)));
        }
    }

    fn on(&mut self, on: &[(ColumnIx, ColumnIx)]) {
        if on != default_on(self.handed) {
            self.args.push(format!("on={}", pairs_text(self.handed, on)));
        }
    }

    fn late_policy(&mut self, policy: LatePolicy) {
        self.knob("late_policy", LATE_POLICY, policy, LatePolicy::Drop);
    }

    fn knob<T: Copy + PartialEq>(&mut self, key: &str, words: Words<T>, value: T, default: T) {
        if value != default {
            self.args.push(format!("{key}={}", word(words, value)));
        }
    }

    fn span(&mut self, key: &str, span: Span) {
        if span != Span::ZERO {
            self.args.push(format!("{key}={}", SpanText(span)));
        }
    }
}
