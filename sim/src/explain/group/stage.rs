//! A stage that is asked about: what of it is meant, and its rows, losses and figures as a story.
//!
//! Keys and times are those of the stage; rows of the trace are followed to it through stages that keep
//! nothing.
//!
//! Invariant: every row of what is meant is told once.

use super::close::{closing, opening};
use super::cut::{self, Held, How, Kind, cut};
use super::lost;
use super::seen::{Handed, Seen};
use super::{Asked, Figure, GroupRow, GroupStory};
use crate::explain::lines::LineOf;
use crate::explain::{ExplainError, Quoted, WindowText};
use crate::golden::{cell_of, cells_of};
use crate::trace::time_text::TimeText;
use crate::trace::{Item, Trace};
use plimsoll_engine::late::InForce;
use plimsoll_engine::output::Fate;
use plimsoll_engine::plan::flow::{Flow, StagePlan};
use plimsoll_engine::row::{ColumnIx, ItemId, Schema};
use plimsoll_engine::time::EventTime;
use plimsoll_engine::watermark::member::MemberState;
use plimsoll_engine::window::assign::Assigner;

/// The stage that is asked about.
pub(super) struct Stage<'a> {
    pub(super) trace: &'a Trace,
    pub(super) flow: &'a Flow,
    pub(super) at: usize,
    pub(super) plan: &'a StagePlan,
    pub(super) seen: &'a Seen,
}

impl Stage<'_> {
    /// What was asked for, among all that the stage held.
    pub(super) fn asked(&self, asked: Asked<'_>) -> Result<Vec<Held>, ExplainError> {
        let start = match (self.plan, asked.at) {
            (StagePlan::Window(it), Some(at)) => Some(start_of(&Assigner::new(it.window), at)?),
            (StagePlan::Join(it), Some(at)) => match it.window {
                Some(spec) => Some(start_of(&Assigner::new(spec), at)?),
                None => None,
            },
            _ => None,
        };
        let mut held = cut(self.plan, self.trace.plan.output, self.seen, start);
        let all: Vec<String> = held.iter().map(|it| self.name(it)).collect();
        if let Some(at) = asked.at {
            held.retain(|it| match (it.kind, it.window) {
                (Kind::Window, window) => window.is_some_and(|it| it.start == at),
                (_, Some(window)) => window.contains(at),
                (_, None) => {
                    it.rows.iter().any(|part| self.time_of(&self.seen.rows[part.row]) == Some(at))
                }
            });
        }
        let before_key: Vec<String> = held.iter().filter_map(|it| self.key_of(it)).collect();
        if let Some(key) = asked.key {
            held.retain(|it| self.key_of(it).as_deref() == Some(key));
        }
        if held.is_empty() {
            return Err(match (asked.key, before_key.is_empty()) {
                (Some(key), false) => {
                    let mut keys = before_key;
                    keys.sort();
                    keys.dedup();
                    keys.truncate(10);
                    let stage = self.at + 1;
                    ExplainError::NoSuchKeyThere { stage, found: key.to_owned(), keys }
                }
                _ => ExplainError::NoSuchGroup {
                    stage: self.at + 1,
                    at: asked.at,
                    groups: all.into_iter().take(10).collect(),
                },
            });
        }
        // Fixed windows without a key are shown whole.
        let mut merged: Vec<Held> = Vec::new();
        for it in held {
            let same = |last: &&mut Held| {
                asked.key.is_none() && it.kind == Kind::Window && last.window == it.window
            };
            match merged.last_mut().filter(same) {
                Some(last) => {
                    last.key = None;
                    last.rows.extend(it.rows);
                    last.written.extend(it.written);
                    last.rows.sort_by_key(|it| it.row);
                    last.written.sort_unstable();
                }
                None => merged.push(it),
            }
        }
        Ok(merged)
    }

    /// The keys of the stage, by their columns there.
    fn keys(&self) -> Vec<ColumnIx> {
        match self.plan {
            StagePlan::Window(it) => it.keys.clone(),
            StagePlan::Session(it) => it.keys.clone(),
            StagePlan::Count(it) => it.keys.clone(),
            StagePlan::Global(it) => it.keys.clone(),
            StagePlan::Join(it) => it.on.iter().map(|it| it.0).collect(),
            _ => Vec::new(),
        }
    }

    /// The columns that the stage is handed, and those that it writes.
    pub(super) fn schemas(&self) -> [Schema; 2] {
        let mut all = self.flow.schemas(&self.trace.plan.schema).into_iter().skip(self.at);
        [all.next().unwrap_or_default(), all.next().unwrap_or_default()]
    }

    fn key_of(&self, held: &Held) -> Option<String> {
        let [schema, _] = self.schemas();
        let keys = self.keys();
        let parts = held.key.as_ref()?.iter().zip(&keys);
        let parts = parts.map(|(cell, key)| cell_of(self.trace, schema.column(*key).kind, *cell));
        Some(parts.collect::<Vec<_>>().join(","))
    }

    /// What is in a list of what there is.
    fn name(&self, held: &Held) -> String {
        let key = self.key_of(held).unwrap_or_default();
        match (held.kind, held.window) {
            (Kind::Group, Some(it)) => format!("{}/{key}", TimeText(it.start)),
            (_, Some(it)) => format!("{}/{key}", WindowText(it)),
            (_, None) => format!("-/{key}"),
        }
    }

    pub(super) fn time_column(&self, side: usize) -> Option<ColumnIx> {
        match self.plan {
            StagePlan::Count(it) => Some(it.time),
            it => it.times()[side],
        }
    }

    pub(super) fn time_of(&self, row: &Handed) -> Option<EventTime> {
        self.time_column(row.side).and_then(|it| row.cells[it.0]).map(EventTime)
    }

    /// The line that gave this watermark, by the end of a pass.
    pub(super) fn line_of(&self, pass: usize, it: &InForce) -> Option<&LineOf> {
        let item = self.seen.passes[pass].item;
        let gave = |line: &&LineOf| line.gave(it);
        let by_then = self.seen.history.lines.iter().rev().filter(|it| it.0 <= item);
        by_then.flat_map(|it| it.1.iter().filter(gave)).next()
    }

    /// Whether nothing before it keeps anything: then its rows are rows of the trace.
    pub(super) fn is_first(&self) -> bool {
        self.flow.stages[..self.at].iter().all(StagePlan::is_stateless)
    }

    pub(super) fn story(&self, held: &Held, asked: Asked<'_>) -> GroupStory {
        let figures = self.figures(held);
        let last = held.written.last().map(|it| self.seen.written[*it].pass);
        let mut rows: Vec<GroupRow> = Vec::new();
        for part in &held.rows {
            let mut row = self.row(held, part);
            row.refutes =
                row.fate == "lost" && last.is_some_and(|it| it < self.seen.rows[part.row].pass);
            rows.push(row);
        }
        rows.extend(self.not_handed(held, asked.key));
        rows.sort_by_key(|it| it.row.item);
        let (number, kind) = match held.kind {
            Kind::Window => (None, "window"),
            Kind::Session => (None, "session"),
            Kind::Count(number) => (Some(number), "count window"),
            Kind::Group => (None, "group"),
        };
        let counted = rows.iter().any(|it| it.fate == "counted");
        GroupStory {
            kind,
            number,
            window: held.window,
            key: self.key_of(held),
            lost_before: self.lost_before(held, asked.key),
            closing: closing(self, held)
                .filter(|_| counted || !figures.is_empty() || held.kind == Kind::Window),
            opening: if held.closed.is_none() && counted {
                Some(opening(self, held))
            } else {
                None
            },
            forgotten_by: held.forgotten.and_then(|it| Quoted::of(self.trace, it)),
            idle_excluded: self.idle_excluded(held),
            tried: lost::try_delays(self, held, &rows),
            rows,
            figures,
        }
    }

    fn row(&self, held: &Held, part: &cut::Part) -> GroupRow {
        let handed = &self.seen.rows[part.row];
        let wrote = (!self.is_first()).then(|| {
            let [schema, _] = self.schemas();
            let cell = |it: usize| handed.cells.get(it).copied().flatten();
            cells_of(self.trace, &schema, cell).trim_start().to_owned()
        });
        let item = if self.is_first() { handed.id } else { self.seen.passes[handed.pass].item };
        let how = match &part.how {
            How::Counted | How::Lost | How::Forgotten => String::new(),
            How::Began => "began it".to_owned(),
            How::Carried(window) => format!("it reached {} then", WindowText(*window)),
            How::Joined(parts) => {
                let parts = parts.iter().map(|it| WindowText(*it).to_string());
                format!("made one of {}", parts.collect::<Vec<_>>().join(" and "))
            }
        };
        let split = self.seen.splits.iter().find(|it| it.0 == handed.id && !handed.is_late());
        let how = match split {
            Some((_, it)) if how.is_empty() => {
                format!("over {}, which was written before", WindowText(*it))
            }
            Some((_, it)) => format!("{how}; over {}, which was written before", WindowText(*it)),
            None => how,
        };
        let is_lost = part.how == How::Lost;
        GroupRow {
            row: Quoted::of(self.trace, item).unwrap_or_default(),
            wrote,
            fate: match part.how {
                How::Lost => "lost",
                How::Forgotten => "forgotten",
                _ => "counted",
            },
            how,
            lost: if is_lost { lost::lost(self, held, handed) } else { None },
            refutes: false,
        }
    }

    fn figures(&self, held: &Held) -> Vec<Figure> {
        let [_, schema] = self.schemas();
        let figure = |at: &usize| {
            let written = &self.seen.written[*at];
            let cell = |it: usize| written.cells.get(it).copied().flatten();
            let text = cells_of(self.trace, &schema, cell);
            Figure {
                written_by: Quoted::of(self.trace, self.seen.passes[written.pass].item)
                    .unwrap_or_default(),
                kind: written.note.kind.word(),
                pane: written.note.pane,
                text: text.trim_start().to_owned(),
            }
        };
        let mut figures: Vec<(usize, Figure)> =
            held.written.iter().map(|it| (self.seen.written[*it].pass, figure(it))).collect();
        // What takes back stands before what replaces it already; keys are in order.
        figures.sort_by_key(|it| it.0);
        figures.into_iter().map(|it| it.1).collect()
    }

    /// Whether somebody was left out as idle before it closed.
    fn idle_excluded(&self, held: &Held) -> bool {
        let first = held.rows.first().map(|it| self.seen.passes[self.seen.rows[it.row].pass].item);
        let last = held.closed.map(|it| self.seen.passes[it.0].item);
        let turns = &self.seen.history.turns;
        turns.iter().any(|it| {
            it.2 == MemberState::Idle
                && last.is_none_or(|last| it.0 <= last)
                // One that was back before the first row has missed nothing.
                && !turns.iter().any(|back| {
                    back.1 == it.1
                        && back.2 == MemberState::Active
                        && it.0 < back.0
                        && first.is_some_and(|first| back.0 <= first)
                })
        })
    }

    /// Rows of the trace with a time of it that never reached the stage: filtered, guarded, waiting.
    fn not_handed(&self, held: &Held, key: Option<&str>) -> Vec<GroupRow> {
        if !self.is_first() {
            return Vec::new();
        }
        let row = |(item, id): (&Item, u64)| {
            let Item::Row(row) = item else { return None };
            let id = ItemId(id);
            if self.seen.handed.contains(&id) {
                return None;
            }
            let side = if self.flow.joins() { row.partition.input().min(1) } else { 0 };
            let cells = self.as_here(self.trace.cells(*row));
            let time = cells.get(self.time_column(side)?.0).copied().flatten().map(EventTime)?;
            if !held.window?.contains(time) {
                return None;
            }
            let [schema, _] = self.schemas();
            let parts = self.keys();
            let parts = parts
                .iter()
                .map(|it| cell_of(self.trace, schema.column(*it).kind, cells[it.0]))
                .collect::<Vec<_>>()
                .join(",");
            let own = self.key_of(held);
            if key.or(own.as_deref()).is_some_and(|it| it != parts) {
                return None;
            }
            Some(GroupRow {
                row: Quoted::of(self.trace, id)?,
                wrote: None,
                fate: lost::fate_word(self.seen.history.fates.get(&id).map(|it| &it.fate)),
                how: String::new(),
                lost: None,
                refutes: false,
            })
        };
        self.trace.items.iter().zip(1..).filter_map(row).collect()
    }

    /// The cells of a row of the trace as stages without state hand them on.
    fn as_here(&self, cells: &[Option<i64>]) -> Vec<Option<i64>> {
        let mut cells = cells.to_vec();
        for stage in &self.flow.stages[..self.at] {
            if let StagePlan::Project(kept) = stage {
                cells = kept.iter().map(|it| cells.get(it.0).copied().flatten()).collect();
            }
        }
        cells
    }

    /// Rows with a time of it that an earlier stage had lost.
    fn lost_before(&self, held: &Held, key: Option<&str>) -> Vec<Quoted> {
        let (false, Some(window)) = (self.is_first(), held.window) else { return Vec::new() };
        let own = self.key_of(held);
        let key = key.or(own.as_deref());
        let late = self.seen.history.fates.values().filter_map(|it| match &it.fate {
            Fate::Late(late) => Some(late),
            _ => None,
        });
        late.filter(|it| window.contains(it.time))
            .filter(|it| key.is_none_or(|key| self.may_be_of(it.id, key)))
            .filter_map(|it| Quoted::of(self.trace, it.id))
            .collect()
    }

    /// Whether a row of the trace may have this key here: as far as columns of the same name say.
    fn may_be_of(&self, id: ItemId, key: &str) -> bool {
        let [schema, _] = self.schemas();
        let input = &self.trace.plan.schema;
        let at = usize::try_from(id.0.saturating_sub(1)).unwrap_or(usize::MAX);
        let Some(Item::Row(row)) = self.trace.items.get(at) else { return false };
        let cells = self.trace.cells(*row);
        self.keys().iter().zip(key.split(',')).all(|(column, part)| {
            let Some(own) = input.position(&schema.column(*column).name) else { return true };
            cell_of(self.trace, input.column(own).kind, cells[own.0]) == part
        })
    }
}

/// A start of a grid.
fn start_of(grid: &Assigner, at: EventTime) -> Result<EventTime, ExplainError> {
    let legal = EventTime(at.0.clamp(-EventTime::LEGAL, EventTime::LEGAL));
    let before = grid.frame(legal);
    if before == at {
        return Ok(at);
    }
    let after = before + grid.slide();
    Err(ExplainError::NoSuchWindow { found: at, before, after })
}
