//! What a pass writes of its sessions.
//!
//! Invariant: a session is written at most once in a pass, and writing removes nothing.

use super::{Place, Sessions, Touched};
use crate::operator::grouping::{Origin, window_cells};
use crate::operator::stage::{Pass, StageOutput};
use crate::output::{EmissionKind, EmissionNote};
use crate::plan::OutputMode;
use crate::time::{EventTime, Span};
use crate::window::Window;
use std::collections::{BTreeMap, BTreeSet};

impl Sessions {
    /// Writes, in the order of end, start and key.
    pub(super) fn write(
        &mut self,
        pass: &Pass<'_>,
        touched: &Touched,
        too_long: &BTreeSet<Place>,
        out: &mut StageOutput,
    ) {
        match pass.mode {
            OutputMode::Append => {
                let due = self.due(pass, touched, too_long);
                for (place, (kind, origin)) in &due {
                    let pane = self.emit(place, *kind, *origin, pass.step, out);
                    *pane = pane.saturating_add(1);
                }
            }
            OutputMode::Update => {
                for (place, origin) in self.rows_of(pass, touched, |_| true) {
                    self.emit(&place, EmissionKind::Update, origin, pass.step, out);
                }
            }
            OutputMode::Complete if pass.triggered => {
                let (kind, cause) = (EmissionKind::Complete, Origin::cause(pass));
                let all: BTreeSet<Place> = self.due.union(&self.kept).cloned().collect();
                for place in &all {
                    self.emit(place, kind, cause, pass.step, out);
                }
            }
            OutputMode::Complete => {}
        }
    }

    /// Append mode: what is written, and why; nothing of it is owed any more.
    fn due(
        &mut self,
        pass: &Pass<'_>,
        touched: &Touched,
        too_long: &BTreeSet<Place>,
    ) -> BTreeMap<Place, (EmissionKind, Origin)> {
        let (late, evict, cause) = (pass.late[0], pass.evict[0], Origin::cause(pass));
        let mut due = BTreeMap::new();
        if !too_long.is_empty() {
            for (place, origin) in self.rows_of(pass, touched, |_| true) {
                if too_long.contains(&place) {
                    due.insert(place, (EmissionKind::Span, origin));
                }
            }
        }
        while self.due.first().is_some_and(|it| it.0 <= evict) {
            let Some(place) = self.due.pop_first() else { break };
            let of_key = self.live.get_mut(&place.2).expect("it has a place");
            of_key.get_mut(&place.1).expect("it has a place").owes = false;
            self.kept.insert(place.clone());
            due.entry(place).or_insert((EmissionKind::OnTime, cause));
        }
        for (place, origin) in self.rows_of(pass, touched, |end| end <= late) {
            due.entry(place).or_insert((EmissionKind::Late, origin));
        }
        due
    }

    /// The sessions of such ends that the pass changed, each with its last row.
    fn rows_of(
        &self,
        pass: &Pass<'_>,
        touched: &Touched,
        wanted: impl Fn(EventTime) -> bool,
    ) -> BTreeMap<Place, Origin> {
        let mut rows = BTreeMap::new();
        let Some(batch) = pass.sides[0] else { return rows };
        for (key, touches) in touched {
            for (start, touch) in touches {
                let end = self.live[key][start].end;
                if wanted(end) {
                    rows.insert((end, *start, key.clone()), Origin::row(batch, touch.row));
                }
            }
        }
        rows
    }

    /// Writes one session; its number of panes.
    fn emit(
        &mut self,
        (end, start, key): &Place,
        kind: EmissionKind,
        origin: Origin,
        step: u64,
        out: &mut StageOutput,
    ) -> &mut u32 {
        let of_key = self.live.get_mut(key).expect("it has a place");
        let session = of_key.get_mut(start).expect("it has a place");
        let mut cells = window_cells(Window { start: *start, end: *end }, key);
        session.total.cells(&mut cells);
        let note = EmissionNote { step, kind, time: *end - Span(1), pane: session.panes };
        origin.emit(&cells, note, out);
        &mut session.panes
    }
}
