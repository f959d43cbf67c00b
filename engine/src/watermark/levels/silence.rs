//! The silence of one member, measured on a clock that can stand still.
//!
//! Whoever is kept from reading (paused by alignment, blocked downstream) has not fallen silent, so
//! that time is not counted (semantics 14). Silence is judged at probes, strictly, counted from the
//! last row or from the first probe that found nothing new; in the second case idleness comes
//! between the timeout and the timeout plus three probes after the last row (flink-rules 3).
//!
//! Invariant: counted from the first quiet probe, a member that was heard since the last probe is not idle at
//! this one; counted from the last row it may be, where probes are further apart than the timeout.

use crate::plan::levels::IdleAnchor;
use crate::time::{ProcTime, Span};
use serde::{Deserialize, Serialize};

/// How much silence is too much.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// Idle is who has been silent for strictly longer.
    pub timeout: Span,
    /// Since when silence is counted.
    pub anchor: IdleAnchor,
}

/// The silence of one member.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Silence {
    /// For how long the clock has stood still.
    stood: Span,
    /// Whether something came since the last probe.
    heard: bool,
    /// When something came last (or the member itself), on the clock that can stand still.
    last: ProcTime,
    /// The first probe since then that found nothing new, on the same clock.
    quiet: Option<ProcTime>,
}

impl Silence {
    /// A member that has just come.
    pub const fn new(now: ProcTime) -> Self {
        Self { stood: Span::ZERO, heard: false, last: now, quiet: None }
    }

    /// Something came.
    pub fn hear(&mut self, now: ProcTime) {
        self.heard = true;
        self.last = self.clock(now);
    }

    /// The clock stood still for a while.
    pub fn stand(&mut self, span: Span) {
        self.stood = self.stood + span;
    }

    fn clock(&self, now: ProcTime) -> ProcTime {
        now - self.stood
    }

    fn since(&self, anchor: IdleAnchor) -> Option<ProcTime> {
        match anchor {
            IdleAnchor::LastActivity => Some(self.last),
            IdleAnchor::FirstQuietProbe => self.quiet,
        }
    }

    /// Whether the member is idle at this probe.
    pub fn probe(&mut self, now: ProcTime, patience: Patience) -> bool {
        let clock = self.clock(now);
        if std::mem::take(&mut self.heard) {
            self.quiet = None;
        } else if self.quiet.is_none() {
            self.quiet = Some(clock);
        }
        self.since(patience.anchor).is_some_and(|it| patience.timeout < clock.since(it))
    }

    /// For how long from now a probe will not find it idle if its clock goes on and nothing comes; zero
    /// where the next one will. `None` where a probe has to begin to count first.
    pub fn left(&self, now: ProcTime, patience: Patience) -> Option<Span> {
        let silent = self.clock(now).since(self.since(patience.anchor)?);
        Some(Span(patience.timeout.0.saturating_sub(silent.0).max(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn since(anchor: IdleAnchor) -> Patience {
        Patience { timeout: Span(30), anchor }
    }

    #[test]
    fn silence_counts_from_the_last_row_or_from_the_first_quiet_probe() {
        let mut silence = Silence::new(ProcTime(0));
        silence.hear(ProcTime(10));
        assert!(!silence.probe(ProcTime(40), since(IdleAnchor::LastActivity)));
        assert!(silence.probe(ProcTime(41), since(IdleAnchor::LastActivity)));

        let mut silence = Silence::new(ProcTime(0));
        silence.hear(ProcTime(10));
        let quiet = since(IdleAnchor::FirstQuietProbe);
        let found = [50, 60, 90, 91].map(|at| silence.probe(ProcTime(at), quiet));
        assert_eq!(found, [false, false, false, true]);
    }

    #[test]
    fn while_the_clock_stands_nobody_falls_silent() {
        let mut silence = Silence::new(ProcTime(0));
        silence.stand(Span(100));
        let last = since(IdleAnchor::LastActivity);
        assert!(!silence.probe(ProcTime(130), last));
        assert_eq!(silence.left(ProcTime(120), last), Some(Span(10)));
        assert!(silence.probe(ProcTime(131), last));
        assert_eq!(silence.left(ProcTime(131), last), Some(Span::ZERO));
    }
}
