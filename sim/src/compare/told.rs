//! What one set of rules made of a trace: the fate of every row, and every figure.
//!
//! Rows are taken by steps in the order in which they arrived, so a row without a record of its own is
//! found in the step that took it by counting, and what judged it is what that step says of the first
//! stage that keeps state.
//!
//! Invariant: every row of the trace has one fate, also one that still waits.

use super::Ran;
use super::cut::Cut;
use super::figure::{FigureId, Figures};
use super::why::{RowFate, Why};
use crate::invariant::Observation;
use crate::run::Run;
use crate::system::engine::Engine;
use crate::trace::{Item, RowItem, Trace};
use plimsoll_engine::output::{Fate, RowRecord, StepRecord};
use plimsoll_engine::row::ItemId;
use plimsoll_engine::time::EventTime;
use std::collections::{BTreeMap, VecDeque};

/// What one set of rules made of a trace.
pub(super) struct Told {
    /// By the row's number in the original trace.
    pub(super) fates: BTreeMap<u64, RowFate>,
    /// What was written of each figure.
    pub(super) figures: BTreeMap<FigureId, super::Written>,
    /// The watermark at the end.
    watermark: EventTime,
    state_rows: u64,
    /// Why the run ended early.
    broken: Option<String>,
}

/// The rows of a trace with their numbers.
pub(super) fn rows_of(trace: &Trace) -> impl Iterator<Item = (u64, RowItem)> {
    (1..).zip(&trace.items).filter_map(|(number, it)| match it {
        Item::Row(row) => Some((number, *row)),
        _ => None,
    })
}

impl Told {
    /// Runs a trace that was made ready.
    ///
    /// # Errors
    /// Why its plan is refused.
    pub(super) fn of(cut: &Cut) -> Result<Self, String> {
        let trace = &cut.trace;
        let engine = Engine::new(trace, 0);
        let mut engine = engine.map_err(|it| it[0].cause.clone())?;
        let initial = trace.plan.watermark.as_ref().map_or(EventTime::MIN, |it| it.initial);
        let mut seen = Seen {
            cut,
            why: Why::of(&trace.plan),
            waiting: VecDeque::new(),
            fates: BTreeMap::new(),
            figures: Figures::new(trace),
        };
        let (mut watermark, mut state_rows, mut broken) = (initial, 0, None);
        let mut run = Run::new(trace, &mut engine, false);
        while let Some(step) = run.step() {
            match step {
                Ok(it) => {
                    seen.observe(&it);
                    watermark = it.view.watermark;
                    state_rows = it.view.groups.unwrap_or(state_rows);
                }
                Err(it) => {
                    let at = cut.origin(it.at);
                    broken = Some(format!("its run ends at item {at}: {}", it.evidence));
                    break;
                }
            }
        }
        let Seen { mut fates, waiting, figures, .. } = seen;
        fates.extend(waiting.into_iter().map(|it| (cut.origin(it), RowFate::waits())));
        let rest = rows_of(trace).map(|it| cut.origin(ItemId(it.0)));
        rest.for_each(|it| {
            fates.entry(it).or_insert_with(RowFate::waits);
        });
        Ok(Self { fates, figures: figures.finish(), watermark, state_rows, broken })
    }

    /// Adds the sums to what is known of these rules.
    pub(super) fn sum_up(&self, ran: &mut Ran) {
        for it in self.fates.values() {
            match it.fate.as_str() {
                "counted" | "partly late" => ran.rows_counted += 1,
                "late" => ran.rows_late += 1,
                _ => ran.rows_other += 1,
            }
        }
        ran.figures = self.figures.len() as u64;
        ran.watermark = self.watermark;
        ran.state_rows = self.state_rows;
        ran.notes.extend(self.broken.clone());
    }
}

/// What has been seen of a run.
struct Seen<'a> {
    cut: &'a Cut,
    why: Why,
    /// Rows that no step has taken.
    waiting: VecDeque<ItemId>,
    fates: BTreeMap<u64, RowFate>,
    figures: Figures<'a>,
}

impl Seen<'_> {
    fn observe(&mut self, seen: &Observation<'_>) {
        if matches!(seen.item, Item::Row(_)) {
            self.waiting.push_back(seen.id);
        }
        // Of several records of a row the last one says what became of it.
        let records: BTreeMap<ItemId, &RowRecord> =
            seen.output.records.iter().map(|it| (it.id, it)).collect();
        for step in &seen.output.steps {
            let bounds = self.why.bounds(seen.output, step.step);
            for _ in 0..step.rows_in {
                let Some(id) = self.waiting.pop_front() else { break };
                let fate = records.get(&id).map(|it| it.fate);
                self.judged(id, fate, step, bounds);
            }
        }
        // A row behind the end is in no step.
        for (id, record) in &records {
            if record.fate == Fate::NotApplicable && self.waiting.back() == Some(id) {
                self.waiting.pop_back();
                let fate = RowFate::simple("not applicable", "the query had ended");
                self.fates.insert(self.cut.origin(*id), fate);
            }
        }
        self.figures.observe(self.cut.origin(seen.id), seen.output);
    }

    fn judged(
        &mut self,
        id: ItemId,
        fate: Option<Fate>,
        step: &StepRecord,
        bounds: Option<[EventTime; 2]>,
    ) {
        let Some(Item::Row(row)) = self.cut.trace.items.get(id.0 as usize - 1) else { return };
        let cells = self.cut.trace.cells(*row);
        let bounds = bounds.unwrap_or([step.late; 2]);
        let origin = |it| self.cut.origin(it);
        let fate = self.why.fate(row.partition, cells, fate, bounds, &origin);
        self.fates.insert(self.cut.origin(id), fate);
    }
}
