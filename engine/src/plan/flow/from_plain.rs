//! The plain query as a flow.
//!
//! A plain plan has no place for what only flows know: batches without data, probes, a null event time
//! that counts as 0. Its equal flow has one input, the lineage as stateless stages and the operator
//! as one window stage, and no rule of its own: whatever the plain query counts, drops and writes,
//! the flow does too, step for step.
//!
//! Windows and keys are named by the input's columns in a plain plan and by the columns that reach
//! the stage in a flow, so they are followed through the lineage. A computed column that was not in
//! the input has no values and nobody can use it: it is left out.
//!
//! Invariant: what becomes of each row, each figure and each watermark are those of the plain query.

use super::{Flow, HoleRule, InputPlan, Mark, PanePlan, StagePlan, WindowStage};
use crate::plan::{LineageStep, Plan};
use crate::row::ColumnIx;
use crate::time::Span;

/// The name of the one input.
const INPUT: &str = "in";

impl Plan {
    /// The same query as a flow: itself where it is one. `None` where a name of the plan finds no
    /// column, or only one without values; the check refuses such a plan.
    pub fn as_flow(&self) -> Option<Self> {
        if self.flow.is_some() {
            return Some(self.clone());
        }
        let mut reach = Reach::of(self);
        let mut stages = Vec::new();
        for step in &self.lineage {
            stages.extend(reach.follow(step)?);
        }
        if let Some(operator) = &self.operator {
            let aggregate = |it| reach.aggregate(it);
            stages.push(StagePlan::Window(WindowStage {
                time: reach.named(&operator.time)?,
                window: operator.window,
                keys: operator.keys.iter().map(|it| reach.position(*it)).collect::<Option<_>>()?,
                aggregates: operator.aggregates.iter().map(aggregate).collect::<Option<_>>()?,
                late: operator.late,
                late_policy: operator.late_policy,
                lateness: Span::ZERO,
                panes: PanePlan::TOTALS,
                hole: HoleRule::NoWindow,
            }));
        }
        let mark = |it: &crate::plan::WatermarkPlan| Mark { column: it.column, delay: it.delay };
        let input = InputPlan::of(INPUT.to_owned(), self.watermark.iter().map(mark).collect());
        Some(Self {
            lineage: Vec::new(),
            operator: None,
            flow: Some(Flow::of(vec![input], stages)),
            ..self.clone()
        })
    }
}

/// The columns that reach a stage.
struct Reach<'a> {
    /// Name, and position in the input.
    columns: Vec<(&'a str, ColumnIx)>,
    /// Computed columns that the input does not have.
    empty: Vec<&'a str>,
}

impl<'a> Reach<'a> {
    fn of(plan: &'a Plan) -> Self {
        let columns = plan.schema.columns.iter().enumerate();
        let columns = columns.map(|(at, it)| (it.name.as_str(), ColumnIx(at))).collect();
        Self { columns, empty: Vec::new() }
    }

    /// Where the column of this name stands now.
    fn named(&self, name: &str) -> Option<ColumnIx> {
        self.columns.iter().position(|it| it.0 == name).map(ColumnIx)
    }

    /// Where a column of the input stands now.
    fn position(&self, origin: ColumnIx) -> Option<ColumnIx> {
        self.columns.iter().position(|it| it.1 == origin).map(ColumnIx)
    }

    fn aggregate(&self, it: &crate::plan::Aggregate) -> Option<crate::plan::Aggregate> {
        use crate::plan::Aggregate::{Avg, Count, CountOf, Max, Min, Sum};
        Some(match *it {
            Count => Count,
            CountOf(it) => CountOf(self.position(it)?),
            Sum(it) => Sum(self.position(it)?),
            Min(it) => Min(self.position(it)?),
            Max(it) => Max(self.position(it)?),
            Avg(it) => Avg(self.position(it)?),
        })
    }

    /// Some stage, or none where the step changes nothing. `None` where a name finds nothing.
    fn follow(&mut self, step: &'a LineageStep) -> Option<Option<StagePlan>> {
        Some(match step {
            LineageStep::Rename { from, to } => match self.named(from) {
                Some(at) => {
                    self.columns[at.0].0 = to;
                    Some(StagePlan::Rename(at, to.clone()))
                }
                None => {
                    *self.empty.iter_mut().find(|it| **it == from)? = to;
                    None
                }
            },
            LineageStep::Project(names) => {
                let kept = |name: &str| names.iter().any(|it| it == name);
                let known = |it: &String| self.named(it).is_some() || self.empty.contains(&&**it);
                if !names.iter().all(known) {
                    return None;
                }
                let stay = (0..self.columns.len()).filter(|it| kept(self.columns[*it].0));
                let stay: Vec<ColumnIx> = stay.map(ColumnIx).collect();
                self.columns.retain(|it| kept(it.0));
                self.empty.retain(|it| kept(it));
                Some(StagePlan::Project(stay))
            }
            LineageStep::Compute(name) => {
                let at = self.named(name);
                if at.is_none() {
                    self.empty.push(name);
                }
                at.map(StagePlan::Compute)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::*;
    use crate::row::{ColumnKind, ColumnSpec, Schema};
    use crate::time::EventTime;

    fn plan(lineage: Vec<LineageStep>, time: &str) -> Plan {
        let column = |name: &str, kind| ColumnSpec { name: name.to_owned(), kind };
        let columns = vec![
            column("k", ColumnKind::Text),
            column("ts", ColumnKind::Time),
            column("v", ColumnKind::Integer),
        ];
        let size = Span::minutes(10);
        Plan {
            schema: Schema { columns },
            watermark: Some(WatermarkPlan {
                column: ColumnIx(1),
                delay: Span::minutes(2),
                generator: GeneratorPlan::GlobalMax,
                effective: Effective::NextBatch,
                fallback: None,
                guard: None,
                initial: EventTime::MIN,
            }),
            lineage,
            operator: Some(WindowPlan {
                time: time.to_owned(),
                window: WindowSpec { size, slide: size, offset: Span::ZERO },
                keys: vec![ColumnIx(0)],
                aggregates: vec![Aggregate::Count, Aggregate::Sum(ColumnIx(2))],
                late: LateRule::WindowEnd,
                late_policy: LatePolicy::SideOutput,
            }),
            output: OutputMode::Append,
            sink: Sink::Append,
            trigger: Trigger::Batch,
            flow: None,
        }
    }

    fn window(plan: &Plan) -> (usize, WindowStage) {
        let flow = plan.flow.as_ref().expect("a flow");
        match flow.stages.last() {
            Some(StagePlan::Window(it)) => (flow.stages.len(), it.clone()),
            other => panic!("a window, not {other:?}"),
        }
    }

    fn rename(from: &str, to: &str) -> LineageStep {
        LineageStep::Rename { from: from.to_owned(), to: to.to_owned() }
    }

    #[test]
    fn the_operator_becomes_one_stage_and_its_rules_stay() {
        let plain = plan(Vec::new(), "ts");
        let flow = plain.as_flow().expect("its names are found");
        let (stages, stage) = window(&flow);
        assert_eq!((stages, stage.time, &stage.keys[..]), (1, ColumnIx(1), &[ColumnIx(0)][..]));
        assert_eq!((stage.late, stage.late_policy), (LateRule::WindowEnd, LatePolicy::SideOutput));
        let marks = &flow.flow.as_ref().expect("a flow").inputs[0].marks;
        assert_eq!(marks[..], [Mark { column: ColumnIx(1), delay: Span::minutes(2) }]);
        assert_eq!(flow.watermark, plain.watermark);
        assert_eq!((flow.operator.is_none(), flow.lineage.is_empty()), (true, true));
        assert_eq!(flow.as_flow(), Some(flow), "a flow is its own flow");
    }

    #[test]
    fn names_and_columns_are_followed_through_the_lineage() {
        let keep = LineageStep::Project(vec!["v".into(), "t".into(), "k".into()]);
        let drop_k = LineageStep::Project(vec!["t".into(), "v".into()]);
        let renamed = plan(vec![rename("ts", "t"), keep], "t").as_flow().expect("found");
        let (stages, stage) = window(&renamed);
        assert_eq!((stages, stage.time), (3, ColumnIx(1)), "a projection keeps the input's order");
        let mut keyless = plan(vec![rename("ts", "t"), drop_k], "t");
        keyless.operator.as_mut().expect("there").keys.clear();
        let stage = window(&keyless.as_flow().expect("found")).1;
        assert_eq!((stage.time, stage.aggregates[1]), (ColumnIx(0), Aggregate::Sum(ColumnIx(1))));
    }

    #[test]
    fn a_computed_column_breaks_the_link_and_one_without_values_is_left_out() {
        let compute = |it: &str| LineageStep::Compute(it.to_owned());
        let flow = plan(vec![compute("ts")], "ts").as_flow().expect("found");
        let links = |it: &Plan| it.flow.as_ref().expect("a flow").links(&it.schema);
        assert_eq!(links(&flow).last(), Some(&[false; 2]));
        let unused = vec![compute("new"), rename("new", "newer")];
        let flow = plan(unused, "ts").as_flow().expect("found");
        assert_eq!((window(&flow).0, links(&flow).last()), (1, Some(&[true, false])));
    }

    #[test]
    fn a_name_that_finds_nothing_gives_no_flow() {
        let gone = LineageStep::Project(vec!["ts".to_owned(), "v".to_owned()]);
        for (lineage, time) in [
            (Vec::new(), "t"),
            (vec![rename("t", "ts2")], "ts"),
            (vec![gone], "ts"),
            (vec![LineageStep::Compute("new".into())], "new"),
        ] {
            assert_eq!(plan(lineage.clone(), time).as_flow(), None, "{lineage:?} {time}");
        }
    }
}
