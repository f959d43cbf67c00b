//! A 64-bit digest of everything that one item brought out, and of the state behind it.
//!
//! Figures, notes, fates, what a flow wrote and its stages did, step records, watermarks, members and the number of groups go in; the seed
//! of a hasher must not show. Two runs of one trace have equal digests, item by item, on any machine.
//!
//! Invariant: a pure function of output and view.

use crate::system::View;
use crate::trace::time_text::TimeText;
use plimsoll_engine::late::{LateRow, Saving};
use plimsoll_engine::output::{Fate, Output, RemarkKind};
use plimsoll_engine::plan::Plan;
use plimsoll_engine::state::layout::{Groups, Value};

/// Accumulates numbers.
#[derive(Clone, Copy, Debug)]
pub struct Digest(u64);

impl Digest {
    /// The digest of one item.
    pub fn of(plan: &Plan, output: &Output, view: &View<'_>) -> u64 {
        let (keys, aggregates) =
            plan.operator.as_ref().map_or((0, 0), |it| (it.keys.len(), it.aggregates.len()));
        let mut digest = Self(0x9E37_79B9_7F4A_7C15);
        for firing in &output.firings {
            digest.add(firing.step);
            digest.signed(firing.window.start.0);
            digest.signed(firing.window.end.0);
            digest.add(firing.kind as u64 | (firing.note.reason as u64) << 8);
            digest.signed(firing.note.watermark.0);
            digest.signed(firing.note.candidate.0);
            digest.add(firing.note.rows_dropped);
            digest.add(firing.note.completeness as u64 | u64::from(firing.note.idle_excluded) << 8);
            digest.groups(&firing.groups, keys, aggregates);
        }
        for record in &output.records {
            digest.add(record.id.0);
            digest.fate(&record.fate);
        }
        for ignored in &output.ignored {
            digest.add(ignored.id.0 ^ (ignored.why as u64) << 56);
        }
        for step in &output.steps {
            for time in [step.late, step.evict, step.candidate, step.watermark] {
                digest.signed(time.0);
            }
            digest.add(step.step ^ (step.kind as u64) << 56);
            digest.add(step.rows_in ^ step.rows_counted << 32);
            digest.add(step.groups_removed);
        }
        for member in view.members {
            digest.signed(member.max.0);
            digest.add(u64::from(member.partition.0) ^ (member.state as u64) << 40);
            digest.add(member.rows ^ u64::from(member.aligned) << 63);
        }
        if plan.flow.is_some() {
            digest.flow(output);
        }
        digest.signed(view.watermark.0);
        digest.add(view.groups.unwrap_or(u64::MAX));
        digest.0
    }

    fn fate(&mut self, fate: &Fate) {
        let Fate::Late(late) = fate else {
            self.add(match fate {
                Fate::Late(_) | Fate::CountedNotAdvancing => 1,
                Fate::Guarded => 2,
                Fate::NoTime => 3,
                Fate::TimeOutOfRange => 4,
                Fate::NoWindow => 5,
                Fate::AfterFinish => 6,
                Fate::NotApplicable => 7,
                Fate::Filtered => 8,
                Fate::Duplicate { of } => 16 | of.0 << 8,
                Fate::NoGap => 9,
            });
            return;
        };
        let LateRow { time, in_force, windows_lost, windows_kept, saving, cause, .. } = late;
        self.signed(time.0);
        self.signed(in_force.watermark.0);
        self.signed(in_force.candidate.0);
        self.add(in_force.set_by.map_or(0, |it| it.0));
        self.add(u64::from(*windows_lost) | u64::from(*windows_kept) << 32);
        self.add(*cause as u64);
        match saving {
            Saving::Delay { smallest, largest } | Saving::Fallback { smallest, largest } => {
                self.signed(smallest.0);
                self.signed(largest.0);
            }
            Saving::Nothing => self.add(9),
        }
    }

    /// What only flows bring out.
    fn flow(&mut self, output: &Output) {
        let emissions = &output.emissions;
        for (row, note) in emissions.notes.iter().enumerate() {
            self.add(note.step ^ (note.kind as u64) << 56);
            self.signed(note.time.0);
            self.add(u64::from(note.pane));
            self.add(emissions.rows.ids[row].0);
            for column in &emissions.rows.columns {
                match column.get(row) {
                    Some(it) => self.signed(it),
                    None => self.add(u64::MAX),
                }
            }
        }
        for it in &output.stages {
            self.add(it.step ^ (it.stage as u64) << 56);
            for time in it.late.iter().chain(&it.evict) {
                self.signed(time.0);
            }
            for number in [it.rows_in, it.rows_out, it.updated, it.removed, it.state_rows] {
                self.add(number);
            }
            for number in [it.rows_dropped, it.groups_dropped, it.duplicates] {
                self.add(number);
            }
        }
        for it in &output.remarks {
            self.add(it.step ^ (it.stage as u64) << 56);
            self.add(it.id.0);
            match it.kind {
                RemarkKind::SessionSplit { start, end } => {
                    self.signed(start.0);
                    self.signed(end.0);
                }
                RemarkKind::DuplicateAfterExpiry { first } => self.add(1 | first.0 << 8),
                RemarkKind::Refuted { unmatched } => self.add(2 | unmatched.0 << 8),
            }
        }
    }

    fn groups(&mut self, groups: &Groups, keys: usize, aggregates: usize) {
        for group in 0..groups.len() {
            for column in 0..keys {
                match groups.key(group, column) {
                    Some(it) => self.signed(it),
                    None => self.add(u64::MAX),
                }
            }
            for aggregate in 0..aggregates {
                match groups.value(group, aggregate) {
                    Value::Null => self.add(u64::MAX - 1),
                    Value::Int(it) => self.signed(it),
                    Value::Wide(it) => {
                        self.signed(it as i64);
                        self.signed((it >> 64) as i64);
                    }
                    Value::Avg { sum, count } => {
                        self.signed(sum as i64);
                        self.add(count);
                    }
                }
            }
        }
    }

    #[inline]
    fn signed(&mut self, value: i64) {
        self.add(value as u64);
    }

    #[inline]
    fn add(&mut self, value: u64) {
        let mixed =
            u128::from(self.0 ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
        self.0 = (mixed as u64) ^ (mixed >> 64) as u64 ^ self.0.rotate_left(23);
    }
}

/// What came out, in one line, for the evidence of a difference.
pub fn describe(output: &Output, view: &View<'_>) -> String {
    let figures: usize = output.firings.iter().map(|it| it.groups.len()).sum();
    let written = match output.emissions.notes.len() {
        0 => format!("{} windows with {figures} groups written", output.firings.len()),
        rows => format!("{rows} rows written"),
    };
    format!(
        "{written}, {} rows with a record, watermark {}",
        output.records.len(),
        TimeText(view.watermark)
    )
}
