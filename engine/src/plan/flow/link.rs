//! The link: does the watermark say anything about the time that a stage works on?
//!
//! A watermark speaks of one column of its input. A stage that judges or removes by another time
//! (S43), or by a column that was computed anew (S44), has no bound: nothing is late there and nothing
//! leaves before the end. Renaming keeps the link, a projection keeps it for what it keeps
//! (`watermark_column_renamed`, `watermark_column_recomputed_append`); of several watermarks on one
//! input the last one counts (`watermark_twice_other_column`). Windows hand it on to their end and
//! their time, dedup to the same column, joins to both times (or whatever column their inputs have it on,
//! [`Sides::Both`] and [`Sides::Either`]), a global group to its time key.
//!
//! Invariant: the link of a stage depends on the plan alone.

use super::{Flow, GlobalPlan, JoinKind, Judged, Sides, StagePlan};
use crate::row::{ColumnIx, Schema};
use std::collections::BTreeSet;

/// In what the watermark has a say, per side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Says {
    /// Whether it judges rows.
    pub judges: [bool; 2],
    /// Whether it removes what is kept of them.
    pub removes: [bool; 2],
}

/// Columns of which the watermark speaks.
type Linked = BTreeSet<ColumnIx>;

impl Flow {
    /// For every stage and side whether the watermark speaks of the time that it works on; false
    /// for a stage without a time.
    pub fn links(&self, input: &Schema) -> Vec<[bool; 2]> {
        let schemas = self.schemas(input);
        let of = |input: usize| -> Linked {
            let marks = self.inputs.get(input).map_or(&[][..], |it| &it.marks);
            marks.last().map(|it| it.column).into_iter().collect()
        };
        let mut sides = [of(0), of(1)];
        let mut links = Vec::new();
        for (stage, input) in self.stages.iter().zip(&schemas) {
            let times = stage.times();
            let here = [0, 1].map(|side| times[side].is_some_and(|it| sides[side].contains(&it)));
            links.push(here);
            sides[0] = handed_on(stage, &sides, here, input.columns.len());
        }
        links
    }
}

impl Flow {
    /// For every stage in what the watermark has a say: where it speaks of the time, but in a join
    /// rows may be judged by another one ([`Judged`]), and are removed by the other side's ([`Sides`]).
    pub fn says(&self, input: &Schema) -> Vec<Says> {
        let links = self.links(input);
        let says = |(stage, here): (&StagePlan, [bool; 2])| match stage {
            StagePlan::Join(it) => {
                let judges = [0, 1].map(|side| self.judges(side, here[side]));
                let removes = match it.sides {
                    Sides::Own | Sides::Combined => [here[1], here[0]],
                    Sides::Both => [here[1] && judges[0], here[0] && judges[1]],
                    Sides::Either => [here[0] || here[1]; 2],
                };
                Says { judges, removes }
            }
            StagePlan::AsOf(_) => Says { judges: here, removes: [here[1], here[0]] },
            _ => Says { judges: here, removes: here },
        };
        self.stages.iter().zip(links).map(says).collect()
    }

    /// Whether rows of a side are judged by a column that the watermark of their input is on.
    fn judges(&self, side: usize, its_time: bool) -> bool {
        let input = self.inputs.get(side);
        match input.map_or(Judged::ItsTime, |it| it.judged) {
            Judged::ItsTime => its_time,
            Judged::Nobody => false,
            Judged::Column(column) => {
                input.and_then(|it| it.marks.last()).is_some_and(|it| it.column == column)
            }
        }
    }
}

impl StagePlan {
    /// The time columns that it judges and removes by, per side.
    pub const fn times(&self) -> [Option<ColumnIx>; 2] {
        match self {
            Self::Filter(_) | Self::Project(_) | Self::Rename(..) | Self::Compute(_) => {
                [None, None]
            }
            Self::Window(it) => [Some(it.time), None],
            Self::Session(it) => [Some(it.time), None],
            Self::Global(GlobalPlan { time: Some((column, _)), .. }) => [Some(*column), None],
            Self::Global(_) | Self::Count(_) => [None, None],
            Self::Dedup(it) => [it.time, None],
            Self::Join(it) => [Some(it.time[0]), Some(it.time[1])],
            Self::AsOf(it) => [Some(it.time[0]), Some(it.time[1])],
        }
    }
}

fn handed_on(stage: &StagePlan, sides: &[Linked; 2], here: [bool; 2], columns: usize) -> Linked {
    let [mut linked, _] = sides.clone();
    match stage {
        StagePlan::Filter(_) | StagePlan::Rename(..) | StagePlan::Dedup(_) => linked,
        StagePlan::Compute(column) => {
            linked.remove(column);
            linked
        }
        StagePlan::Project(kept) => (0..)
            .zip(kept)
            .filter(|(_, it)| linked.contains(it))
            .map(|(at, _)| ColumnIx(at))
            .collect(),
        StagePlan::Window(_) | StagePlan::Session(_) if here[0] => {
            [ColumnIx(1), ColumnIx(2)].into_iter().collect()
        }
        StagePlan::Global(GlobalPlan { keys, time: Some((column, _)), .. }) if here[0] => {
            keys.iter().position(|it| it == column).map(ColumnIx).into_iter().collect()
        }
        StagePlan::Window(_)
        | StagePlan::Session(_)
        | StagePlan::Global(_)
        | StagePlan::Count(_) => Linked::new(),
        StagePlan::Join(it) => {
            let both = !matches!(it.kind, JoinKind::Semi | JoinKind::Anti);
            let [left, right] = [0, 1].map(|side| match it.sides {
                // What is let through holds for the time that the join works on alone.
                Sides::Own | Sides::Combined => {
                    here[side].then_some(it.time[side]).into_iter().collect()
                }
                Sides::Both | Sides::Either => sides[side].clone(),
            });
            let right = right.into_iter().filter(|_| both).map(|at| ColumnIx(columns + at.0));
            left.into_iter().chain(right).collect()
        }
        StagePlan::AsOf(it) => here[0].then_some(it.time[0]).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::flow::{InputPlan, Mark};
    use crate::row::{ColumnKind, ColumnSpec};
    use crate::time::Span;

    fn links(stages: Vec<StagePlan>) -> Vec<bool> {
        let column = |name: &str| ColumnSpec { name: name.to_owned(), kind: ColumnKind::Time };
        let schema = Schema { columns: vec![column("ts"), column("other")] };
        let marks = vec![Mark { column: ColumnIx(0), delay: Span::ZERO }];
        let input = InputPlan::of("in".to_owned(), marks);
        let flow = Flow::of(vec![input], stages);
        flow.links(&schema).into_iter().map(|it| it[0]).collect()
    }

    fn by(time: usize) -> StagePlan {
        let key = ColumnIx(time);
        let time = Some((key, crate::plan::LateRule::Event));
        StagePlan::Global(GlobalPlan { keys: vec![key], aggregates: Vec::new(), time })
    }

    #[test]
    fn a_renamed_column_is_still_the_same_and_a_computed_one_is_another() {
        assert!(links(vec![StagePlan::Rename(ColumnIx(0), "t".to_owned()), by(0)])[1]);
        assert!(!links(vec![StagePlan::Compute(ColumnIx(0)), by(0)])[1]);
        assert!(!links(vec![by(1)])[0]);
    }

    #[test]
    fn a_projection_moves_the_link_to_where_the_column_stands() {
        let swap = StagePlan::Project(vec![ColumnIx(1), ColumnIx(0)]);
        assert!(links(vec![swap.clone(), by(1)])[1]);
        assert!(!links(vec![swap, by(0)])[1]);
    }
}
