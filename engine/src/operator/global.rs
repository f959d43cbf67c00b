//! Groups by keys alone, in one global window.
//!
//! Where one of the keys is the event time, a row is judged by it and its group leaves with it:
//! `Event` late iff t < w, leaves iff t < evict; `EventInclusive` <= both times (Spark on a bare time
//! column). Under other rules, and without such a key, nothing is late and all leaves at the end. A row
//! whose key time is null has no time and is not taken; where a null time is the epoch, it is a value
//! like others, never late, and its group leaves at the end (Spark).
//!
//! Append mode writes a group when it leaves, in order of time, then key. Update mode writes what the
//! pass changed, also what leaves in it; complete mode everything, and there nothing is late and
//! nothing leaves. A late verdict names the largest bound that would have kept the row: t, or t - 1 ms.
//!
//! A follow-up step is asked for unless the mode is complete, also without a time among the keys, where
//! it can do nothing: Spark runs it (spark-rules 2).
//!
//! Invariant: a group of a time that leaves at the evict bound of the last pass is not held.

use super::accumulate::Accumulators;
use super::grouping::shelf::Shelf;
use super::grouping::{Key, Origin, cells_of, key_of, time_of};
use super::stage::{Handed, Judged, Pass, StageOutput, StageVerdict};
use crate::output::{EmissionKind, EmissionNote};
use crate::plan::flow::{GlobalPlan, NullTime};
use crate::plan::{LateRule, OutputMode};
use crate::time::{EventTime, Span};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The groups of a stage.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Global {
    plan: GlobalPlan,
    /// Known from the plan.
    #[serde(skip)]
    null_time: NullTime,
    /// By their time; those without a key that is one under `MIN`, those whose key time is null under
    /// `MAX`. The output time of both is `MIN`.
    groups: Shelf<Accumulators>,
}

impl Global {
    /// No groups yet.
    pub fn new(plan: &GlobalPlan, null_time: NullTime) -> Self {
        Self { plan: plan.clone(), null_time, groups: Shelf::new() }
    }

    /// With the groups of one from a snapshot.
    pub(crate) fn with_state_of(self, saved: Self) -> Self {
        Self { groups: saved.groups, ..self }
    }

    /// Judges and counts the rows of a pass, evicts, writes.
    pub fn step(&mut self, pass: &Pass<'_>, out: &mut StageOutput) {
        let touched = self.observe(pass, out);
        out.tally.updated += touched.len();
        match (pass.mode, pass.sides[0]) {
            (OutputMode::Update, Some(Handed { batch, .. })) => {
                for (time, key, row) in touched.iter() {
                    let group = self.groups.get_mut(time, key).expect("it was counted into");
                    let origin = Origin::row(batch, *row);
                    write(pass, EmissionKind::Update, time, key, group, origin, out);
                }
            }
            (OutputMode::Complete, _) if pass.triggered => {
                let cause = Origin::cause(pass);
                for (time, key, group) in self.groups.iter() {
                    write(pass, EmissionKind::Complete, time, key, group, cause, out);
                }
            }
            _ => {}
        }
        if pass.mode != OutputMode::Complete {
            self.evict(pass, out);
        }
    }

    /// Groups held.
    pub const fn state_rows(&self) -> u64 {
        self.groups.len()
    }

    /// Whether it would ask for a further step without rows when the watermark moved.
    pub fn asks(&self, mode: OutputMode) -> bool {
        mode != OutputMode::Complete
    }

    /// What it lets through of a watermark: nothing before the end.
    pub fn passes(&self, w: EventTime) -> EventTime {
        if w == EventTime::MAX { w } else { EventTime::MIN }
    }

    /// Whether a state that was read from a snapshot is one of this plan.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn fit(&self, plan: &GlobalPlan) -> Result<(), String> {
        if self.plan != *plan {
            return Err("the saved groups are those of another plan".to_owned());
        }
        let keys = plan.keys.len();
        let of_plan = |it: (_, &Key, &Accumulators)| {
            cells_of(it.1).len() == keys && it.2.fit(&plan.aggregates)
        };
        if !self.groups.is_sound() || !self.groups.iter().all(of_plan) {
            return Err("the saved groups do not belong to this plan".to_owned());
        }
        Ok(())
    }

    /// Judges the rows and counts those that are taken; the groups changed, each with its last row.
    fn observe(&mut self, pass: &Pass<'_>, out: &mut StageOutput) -> Shelf<usize> {
        let mut touched = Shelf::new();
        let mut dropped = BTreeSet::new();
        let Some(handed) = pass.sides[0] else { return touched };
        let batch = handed.batch;
        let bound = pass.late[0];
        for row in handed.rows() {
            let mut time = EventTime::MIN;
            let key = key_of(batch, &self.plan.keys, row);
            if let Some((column, rule)) = self.plan.time {
                let own = time_of(batch, column, row);
                let is_null = batch.columns[column.0].get(row).is_none();
                if own.is_none() && !(is_null && self.null_time == NullTime::Epoch) {
                    out.judged.push(Judged { side: 0, row, verdict: StageVerdict::NoTime });
                    continue;
                }
                // Behind all others: it leaves last.
                time = own.unwrap_or(EventTime::MAX);
                if own.is_some()
                    && pass.mode != OutputMode::Complete
                    && bound != EventTime::MIN
                    && behind(rule, time, bound)
                {
                    let kept = if rule == LateRule::Event { time } else { time - Span(1) };
                    let verdict =
                        StageVerdict::Late { bound, lost: 1, kept: 0, one: kept, all: kept };
                    out.judged.push(Judged { side: 0, row, verdict });
                    out.tally.rows_dropped += 1;
                    dropped.insert(key);
                    continue;
                }
            }
            if self.groups.get_mut(time, &key).is_none() {
                self.groups.insert(time, key.clone(), Accumulators::new(&self.plan.aggregates));
            }
            let group = self.groups.get_mut(time, &key).expect("it is there now");
            group.observe(&self.plan.aggregates, batch, row);
            touched.insert(time, key, row);
        }
        out.tally.groups_dropped += dropped.len() as u64;
        touched
    }

    /// Removes, and in append mode writes, what leaves.
    fn evict(&mut self, pass: &Pass<'_>, out: &mut StageOutput) {
        let evict = pass.evict[0];
        let leaves = |time| match self.plan.time {
            _ if evict == EventTime::MAX => true,
            Some((_, rule)) => behind(rule, time, evict),
            None => false,
        };
        let cause = Origin::cause(pass);
        while let Some((time, groups)) = self.groups.pop_if(leaves) {
            out.tally.removed += groups.len() as u64;
            if pass.mode == OutputMode::Append {
                for (key, group) in &groups {
                    write(pass, EmissionKind::OnTime, time, key, group, cause, out);
                }
            }
        }
    }
}

/// Whether a group of this time is beyond a bound: late rows are, and groups that leave.
fn behind(rule: LateRule, time: EventTime, bound: EventTime) -> bool {
    match rule {
        LateRule::Event => time < bound,
        LateRule::EventInclusive => time <= bound,
        LateRule::WindowEnd | LateRule::Frame => false,
    }
}

fn write(
    pass: &Pass<'_>,
    kind: EmissionKind,
    time: EventTime,
    key: &Key,
    group: &Accumulators,
    origin: Origin,
    out: &mut StageOutput,
) {
    let mut cells = cells_of(key).to_vec();
    group.cells(&mut cells);
    let time = if time.is_finite() { time } else { EventTime::MIN };
    origin.emit(&cells, EmissionNote { step: pass.step, kind, time, pane: 0 }, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::grouping::drive::{KEY, Made, TIME, VALUE, pass, rows};
    use crate::plan::Aggregate;
    use crate::row::{ItemId, PartitionId, RowBatch};
    use crate::time::ProcTime;
    use EmissionKind::{Complete, OnTime, Update};

    fn by_time(rule: LateRule) -> Global {
        let aggregates = vec![Aggregate::Sum(VALUE)];
        Global::new(
            &GlobalPlan { keys: vec![TIME, KEY], aggregates, time: Some((TIME, rule)) },
            NullTime::Nowhere,
        )
    }

    fn by_key() -> Global {
        Global::new(
            &GlobalPlan { keys: vec![KEY], aggregates: vec![Aggregate::Count], time: None },
            NullTime::Nowhere,
        )
    }

    fn run(
        it: &mut Global,
        of: &[(u64, i64, i64, i64)],
        late: i64,
        evict: i64,
        mode: OutputMode,
    ) -> Made {
        let columns = it.plan.keys.len() + 1;
        pass(&rows(of), late, evict, mode, |pass, out| it.step(pass, out), columns)
    }

    #[test]
    fn a_time_that_is_a_key_is_late_and_leaves_at_the_bound_or_before_it() {
        for (rule, lost, leaves) in [(LateRule::Event, 1, 10), (LateRule::EventInclusive, 2, 11)] {
            let mut it = by_time(rule);
            let of = [(1, 9, 0, 1), (2, 10, 0, 1), (3, 11, 0, 1), (4, 11, 0, 1)];
            let made = run(&mut it, &of, 10, 10, OutputMode::Append);
            assert_eq!((made.judged().len(), made.rows.len()), (lost, 0), "{rule:?}");
            let made = run(&mut it, &[], 10, 11, OutputMode::Append);
            let times: Vec<_> = made.rows.iter().map(|it| it.3[0]).collect();
            assert_eq!(times, [Some(leaves)], "{rule:?}");
        }
    }

    #[test]
    fn without_a_time_among_the_keys_all_is_written_at_the_end_and_nothing_before() {
        let mut it = by_key();
        let of = [(1, 9, 5, 1), (2, 1, 4, 1), (3, 2, 5, 1)];
        assert!(run(&mut it, &of, 100, 100, OutputMode::Append).rows.is_empty());
        let made = run(&mut it, &[], i64::MIN, i64::MAX, OutputMode::Append);
        assert_eq!(made.cells(), [(OnTime, vec![4, 1]), (OnTime, vec![5, 2])]);
        assert_eq!((made.out.tally.removed, it.state_rows()), (2, 0));
        assert_eq!(made.out.notes[0].time, EventTime::MIN);
    }

    #[test]
    fn update_writes_what_the_pass_changed_and_complete_everything() {
        let mut it = by_key();
        run(&mut it, &[(1, 9, 5, 1), (2, 1, 4, 1)], 0, 0, OutputMode::Update);
        let made = run(&mut it, &[(3, 9, 5, 1), (4, 9, 5, 1)], 0, 0, OutputMode::Update);
        assert_eq!(made.cells(), [(Update, vec![5, 3])]);
        assert_eq!((made.rows[0].0, made.out.tally.updated), (4, 1));
        let made = run(&mut it, &[], 0, i64::MAX, OutputMode::Complete);
        assert_eq!(made.cells(), [(Complete, vec![4, 1]), (Complete, vec![5, 3])]);
        assert_eq!(it.state_rows(), 2);
    }

    #[test]
    fn what_is_changed_and_leaves_in_one_pass_is_written_once_as_an_update() {
        let mut it = by_time(LateRule::EventInclusive);
        let made = run(&mut it, &[(1, 9, 0, 3)], 5, 9, OutputMode::Update);
        assert_eq!(made.cells(), [(Update, vec![9, 0, 3])]);
        assert_eq!((made.out.tally.updated, made.out.tally.removed), (1, 1));
    }

    #[test]
    fn a_null_key_is_a_key_and_a_null_time_is_none() {
        let mut batch = RowBatch::new(3);
        batch.push(ItemId(1), PartitionId(0), ProcTime(0), &[None, None, Some(1)]);
        let mut it = by_key();
        pass(&batch, 0, 0, OutputMode::Append, |pass, out| it.step(pass, out), 2);
        assert_eq!(it.state_rows(), 1);
        let mut it = by_time(LateRule::Event);
        let made = pass(&batch, 0, 0, OutputMode::Append, |pass, out| it.step(pass, out), 3);
        assert_eq!(made.judged()[0].verdict, StageVerdict::NoTime);
    }

    #[test]
    fn rows_of_one_late_group_count_once() {
        let mut it = by_time(LateRule::Event);
        let of = [(1, 3, 0, 1), (2, 3, 0, 1), (3, 3, 1, 1), (4, 2, 0, 1)];
        let tally = run(&mut it, &of, 10, 10, OutputMode::Append).out.tally;
        assert_eq!((tally.rows_dropped, tally.groups_dropped), (4, 3));
    }
}
