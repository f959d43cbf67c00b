//! Judges plans: all problems at once, before the first row.
//!
//! A mistake in a plan is cheap here and dear later, when it shows as a figure that is too small or
//! as state that never shrinks. So everything is reported together, refusals first, each with its
//! values and a remedy. What is refused is what Spark refuses when a query starts (spark-rules 9),
//! and what this engine could not do right: times outside its arithmetic, names that find nothing.
//!
//! Some dangers are not said, because a plan does not show them: that a global maximum loses the
//! rows of a partition which lags by more than the delay (S78; a plan does not know how many
//! partitions there are), and that without a guard one row from the future closes every window.
//! A warning under which most plans are fine teaches people to ignore warnings.
//!
//! Invariant: the engine runs a [`CheckedPlan`] only, and checking never panics, whatever the plan.

mod advice;
mod columns;
mod flow;
mod numbers;

use super::problem::Problem;
use super::{Effective, Plan, Trigger};
use crate::row::ColumnIx;
use std::ops::Deref;

pub use columns::MAX_KEYS;
pub use numbers::MAX_WINDOWS_PER_ROW;

/// All problems of a plan, refusals first, each rule in its own order.
pub fn check(plan: &Plan) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let Some(flow) = &plan.flow {
        columns::unique_names(plan, &mut problems);
        numbers::check(plan, &mut problems);
        flow::check(plan, flow, &mut problems);
    } else {
        let arrivals = columns::Arrivals::new(plan, &mut problems);
        columns::check(plan, &arrivals, &mut problems);
        numbers::check(plan, &mut problems);
        advice::check(plan, &arrivals, &mut problems);
    }
    probes(plan, &mut problems);
    problems.sort_by_key(|it| it.severity);
    problems
}

/// Only flows have probes, and they take each row at once.
fn probes(plan: &Plan, problems: &mut Vec<Problem>) {
    if plan.watermark.as_ref().is_none_or(|it| it.effective != Effective::Probe) {
        return;
    }
    if plan.flow.is_some() {
        if plan.trigger != Trigger::Row {
            problems.push(Problem::probe_outside_flow(
                "effective=probe and a trigger that takes rows in batches, and nothing moves at the \
                 end of a batch",
                "use trigger=row, or effective=next_batch",
            ));
        }
    } else {
        problems.push(Problem::probe_outside_flow(
            "effective=probe and no flow",
            "make the window a stage of a flow, or use effective=row or effective=next_batch",
        ));
    }
}

/// A plan that has no refusal, with what the check found out about its columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckedPlan {
    plan: Plan,
    window_column: Option<ColumnIx>,
    linked: bool,
}

impl CheckedPlan {
    /// The plan and its warnings.
    ///
    /// # Errors
    /// All problems, warnings included, where at least one of them is a refusal.
    pub fn new(plan: Plan) -> Result<(Self, Vec<Problem>), Vec<Problem>> {
        let problems = check(&plan);
        if problems.iter().any(Problem::is_refusal) {
            return Err(problems);
        }
        let (window_column, linked) = (window_column(&plan), linked(&plan));
        Ok((Self { plan, window_column, linked }, problems))
    }

    /// The input column that windows are cut on, seen through the lineage; `None` for a stateless
    /// query.
    pub const fn window_column(&self) -> Option<ColumnIx> {
        self.window_column
    }

    /// Whether the watermark says anything about the windows: it is computed from the very column
    /// that they are cut on (S43, S44). Where it does not, no row is late and nothing is evicted,
    /// as without a watermark.
    pub const fn linked(&self) -> bool {
        self.linked
    }

    /// The plan itself.
    pub fn into_plan(self) -> Plan {
        self.plan
    }
}

impl Deref for CheckedPlan {
    type Target = Plan;
    fn deref(&self) -> &Plan {
        &self.plan
    }
}

/// The input column that the windows of a plan are cut on, seen through its lineage.
pub fn window_column(plan: &Plan) -> Option<ColumnIx> {
    columns::Arrivals::new(plan, &mut Vec::new()).window_column(plan)
}

/// Whether the watermark says anything about the windows; see [`CheckedPlan::linked`].
pub fn linked(plan: &Plan) -> bool {
    columns::Arrivals::new(plan, &mut Vec::new()).linked(plan)
}

/// Plans to start from, and what trips on them.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::plan::*;
    use crate::row::{ColumnKind, ColumnSpec, Schema};
    use crate::time::{EventTime, Span};

    /// Ten-minute windows of `ts` per `k`, delay 2 min, append: nothing is wrong with it.
    pub(crate) fn sound() -> Plan {
        let column = |name: &str, kind| ColumnSpec { name: name.into(), kind };
        let columns = vec![
            column("ts", ColumnKind::Time),
            column("k", ColumnKind::Text),
            column("v", ColumnKind::Integer),
            column("seen", ColumnKind::Time),
        ];
        let size = Span::minutes(10);
        Plan {
            flow: None,
            schema: Schema { columns },
            watermark: Some(WatermarkPlan {
                column: ColumnIx(0),
                delay: Span::minutes(2),
                generator: GeneratorPlan::GlobalMax,
                effective: Effective::NextBatch,
                fallback: None,
                guard: None,
                initial: EventTime::MIN,
            }),
            lineage: Vec::new(),
            operator: Some(WindowPlan {
                time: "ts".into(),
                window: WindowSpec { size, slide: size, offset: Span::ZERO },
                keys: vec![ColumnIx(1)],
                aggregates: vec![Aggregate::Count, Aggregate::Sum(ColumnIx(2))],
                late: LateRule::Event,
                late_policy: LatePolicy::Drop,
            }),
            output: OutputMode::Append,
            sink: Sink::Append,
            trigger: Trigger::Batch,
        }
    }

    /// The numbers of the problems of the sound plan after a change.
    pub(super) fn codes(change: impl FnOnce(&mut Plan)) -> Vec<&'static str> {
        let mut plan = sound();
        change(&mut plan);
        check(&plan).iter().map(|it| it.code.number()).collect()
    }

    pub(super) fn watermark(plan: &mut Plan) -> &mut WatermarkPlan {
        plan.watermark.as_mut().expect("the sound plan has a watermark")
    }

    pub(super) fn operator(plan: &mut Plan) -> &mut WindowPlan {
        plan.operator.as_mut().expect("the sound plan has an operator")
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{codes, operator, sound, watermark};
    use super::*;
    use crate::plan::{Aggregate, OutputMode, WindowSpec};
    use crate::time::{EventTime, Span};

    #[test]
    fn a_sound_plan_has_no_problems_and_is_checked() {
        let (checked, warnings) = CheckedPlan::new(sound()).expect("sound");
        assert_eq!(warnings, []);
        assert_eq!(checked.window_column(), Some(ColumnIx(0)));
        assert!(checked.linked());
        assert_eq!(checked.into_plan(), sound());
    }

    #[test]
    fn all_problems_are_reported_at_once_and_refusals_first() {
        let broken = |plan: &mut Plan| {
            watermark(plan).delay = Span(-1);
            watermark(plan).column = ColumnIx(9);
            operator(plan).time = "when".into();
            operator(plan).window.size = Span::ZERO;
            operator(plan).keys = vec![ColumnIx(1), ColumnIx(1)];
            plan.output = OutputMode::Complete;
        };
        assert_eq!(codes(broken), ["P012", "P016", "P025", "P001", "P005", "P103", "P105"]);
        let mut plan = sound();
        broken(&mut plan);
        assert_eq!(CheckedPlan::new(plan).expect_err("refused").len(), 7);
    }

    #[test]
    fn warnings_do_not_stop_a_plan() {
        let mut plan = sound();
        watermark(&mut plan).delay = Span::ZERO;
        let (_, warnings) = CheckedPlan::new(plan).expect("runs");
        assert_eq!(warnings.len(), 1);
        assert!(!warnings[0].is_refusal());
    }

    #[test]
    fn checking_survives_the_ends_of_every_number() {
        let ends = [i64::MIN, i64::MIN + 1, -1, 0, 1, Span::LEGAL, i64::MAX];
        let spans = ends.iter().flat_map(|a| ends.iter().map(move |b| (Span(*a), Span(*b))));
        for (left, right) in spans {
            for output in [OutputMode::Append, OutputMode::Update, OutputMode::Complete] {
                let mut plan = sound();
                plan.output = output;
                watermark(&mut plan).delay = right;
                watermark(&mut plan).initial = EventTime(left.0);
                operator(&mut plan).window = WindowSpec { size: left, slide: right, offset: left };
                operator(&mut plan).keys = vec![ColumnIx(usize::MAX)];
                operator(&mut plan).aggregates = vec![Aggregate::Avg(ColumnIx(usize::MAX))];
                for it in check(&plan) {
                    assert!(!it.to_string().is_empty());
                }
                operator(&mut plan).keys.clear();
                operator(&mut plan).aggregates.clear();
                if let Ok((checked, _)) = CheckedPlan::new(plan) {
                    let window = checked.operator.as_ref().expect("kept").window;
                    assert!(0 < window.size.0 && 0 < window.slide.0);
                }
            }
        }
    }
}
