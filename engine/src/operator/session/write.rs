//! What a pass writes of its sessions.
//!
//! Invariant: a session is written at most once in a pass, and writing removes nothing.

use super::{Name, Sessions};
use crate::operator::grouping::{Origin, cells_of};
use crate::operator::stage::{Handed, Pass, StageOutput};
use crate::output::{EmissionKind, EmissionNote};
use crate::plan::OutputMode;
use crate::time::{EventTime, Span};

/// A session that is to be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    end: EventTime,
    start: EventTime,
    slot: u32,
    kind: EmissionKind,
    origin: Origin,
}

impl Sessions {
    /// Writes, in the order of end, start and key.
    pub(super) fn write(&mut self, pass: &Pass<'_>, too_long: &[Name], out: &mut StageOutput) {
        let mut due = std::mem::take(&mut self.due);
        match pass.mode {
            OutputMode::Append => {
                // Of several reasons to write a session, the first one counts.
                due.extend(too_long.iter().map(|it| self.of_row(pass, *it, EmissionKind::Span)));
                if !self.woken.due.is_empty() {
                    let cause = Origin::cause(pass);
                    let woken = self.woken.due.iter();
                    due.extend(woken.map(|it| self.due(*it, EmissionKind::OnTime, cause)));
                    self.woken.due.clear();
                }
                let late = self.touched.iter().map(|it| self.of_row(pass, *it, EmissionKind::Late));
                due.extend(late.filter(|it| it.end <= pass.late[0]));
            }
            OutputMode::Update => {
                let touched = self.touched.iter();
                due.extend(touched.map(|it| self.of_row(pass, *it, EmissionKind::Update)));
            }
            OutputMode::Complete if pass.triggered => {
                let (kind, cause) = (EmissionKind::Complete, Origin::cause(pass));
                let all = self.names().map(|it| self.due(it, kind, cause));
                due.extend(all);
            }
            OutputMode::Complete => {}
        }
        if due.len() > 1 {
            let place = |it: &Due| (it.end, it.start, self.live.key(it.slot));
            due.sort_by(|a, b| place(a).cmp(&place(b)));
            due.dedup_by_key(|it| (it.slot, it.start));
        }
        for it in due.drain(..) {
            self.emit(&it, pass, out);
        }
        self.due = due;
    }

    fn due(&self, (slot, start): Name, kind: EmissionKind, origin: Origin) -> Due {
        Due { end: self.session(slot, start).end, start, slot, kind, origin }
    }

    /// One that the pass has changed, by its last row.
    fn of_row(&self, pass: &Pass<'_>, (slot, start): Name, kind: EmissionKind) -> Due {
        let touch = self.session(slot, start).touch;
        let row = |it: Handed<'_>| touch.map(|touch| Origin::row(it.batch, touch.row));
        let origin = pass.sides[0].and_then(row);
        self.due((slot, start), kind, origin.expect("a row has changed it"))
    }

    /// Writes one session. In append mode that was a pane of it.
    fn emit(&mut self, due: &Due, pass: &Pass<'_>, out: &mut StageOutput) {
        let Due { end, start, slot, kind, origin } = *due;
        let times = [start, end, end - Span(1)].map(|it| Some(it.0));
        out.cells.clear();
        out.cells.extend(times);
        out.cells.extend_from_slice(cells_of(self.live.key(slot)));
        let session = self.live.of_mut(slot).get_mut(start).expect("it is live");
        session.total.cells(&mut out.cells);
        let note = EmissionNote { step: pass.step, kind, time: end - Span(1), pane: session.panes };
        if pass.mode == OutputMode::Append {
            session.panes = session.panes.saturating_add(1);
        }
        origin.emit_cells(note, out);
    }
}
