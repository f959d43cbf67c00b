//! A search: the smallest failing trace so far, and the tries to find a smaller one.
//!
//! Invariant: the best trace fails under the first name, and each one that replaces it is simpler.

use super::fingerprint::fingerprint;
use super::{Edits, Limits, PassReport, Progress, Shrunk, Simplicity};
use crate::invariant::Violation;
use crate::trace::Trace;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

pub(super) struct Search<'a> {
    best: Rc<Trace>,
    simplicity: Simplicity,
    violation: Violation,
    fails: &'a mut dyn FnMut(&Trace) -> Option<Violation>,
    limits: Limits,
    progress: &'a mut dyn FnMut(Progress),
    executions: u64,
    kept: u64,
    /// Fingerprints of what was tried: later rounds meet the same candidates again.
    tried: BTreeSet<u128>,
    slipped: BTreeMap<&'static str, u64>,
    passes: Vec<PassReport>,
    pass: usize,
}

impl<'a> Search<'a> {
    /// `None` where the trace does not fail.
    pub(super) fn begin(
        trace: &Trace,
        fails: &'a mut dyn FnMut(&Trace) -> Option<Violation>,
        limits: Limits,
        progress: &'a mut dyn FnMut(Progress),
    ) -> Option<Self> {
        let violation = fails(trace)?;
        let best = trace.compacted();
        Some(Self {
            simplicity: Simplicity::of(&best),
            tried: BTreeSet::from([fingerprint(&best)]),
            best: Rc::new(best),
            violation,
            fails,
            limits,
            progress,
            executions: 1,
            kept: 0,
            slipped: BTreeMap::new(),
            passes: Vec::new(),
            pass: 0,
        })
    }

    /// The tries that follow belong to this pass.
    pub(super) fn enter(&mut self, name: &'static str) {
        self.pass = self.passes.iter().position(|it| it.name == name).unwrap_or_else(|| {
            self.passes.push(PassReport { name, tried: 0, kept: 0 });
            self.passes.len() - 1
        });
    }

    pub(super) fn best(&self) -> Rc<Trace> {
        Rc::clone(&self.best)
    }

    /// How many items the best trace has.
    pub(super) fn len(&self) -> usize {
        self.best.items.len()
    }

    /// How many items of the best trace were needed to see the violation.
    pub(super) fn seen_at(&self) -> usize {
        usize::try_from(self.violation.at.0).unwrap_or(usize::MAX).min(self.len())
    }

    pub(super) fn kept(&self) -> u64 {
        self.kept
    }

    /// Whether the limit is reached.
    pub(super) fn spent(&self) -> bool {
        self.limits.executions <= self.executions
    }

    /// Tries a candidate. True where it is the best one now.
    pub(super) fn consider(&mut self, candidate: Trace) -> bool {
        if self.spent() {
            return false;
        }
        let simplicity = Simplicity::of(&candidate);
        if self.simplicity <= simplicity || !self.tried.insert(fingerprint(&candidate)) {
            return false;
        }
        self.executions += 1;
        self.passes[self.pass].tried += 1;
        let violation = (self.fails)(&candidate);
        let same = violation.filter(|it| {
            let same = it.name == self.violation.name;
            if !same {
                *self.slipped.entry(it.name).or_default() += 1;
            }
            same
        });
        let kept = same.is_some();
        if let Some(violation) = same {
            self.best = Rc::new(candidate);
            self.simplicity = simplicity;
            self.violation = violation;
            self.kept += 1;
            self.passes[self.pass].kept += 1;
        }
        let progress = Progress {
            executions: self.executions,
            limit: self.limits.executions,
            items: self.len(),
            pass: self.passes[self.pass].name,
        };
        (self.progress)(progress);
        kept
    }

    /// Goes once through the edits of the best trace. After a success it goes on, with the edits of
    /// the new best trace, where it stands: what was refused before will be met in the next round.
    pub(super) fn sweep(&mut self, edits: for<'t> fn(&'t Trace) -> Edits<'t>) {
        let mut from = 0;
        loop {
            let base = self.best();
            let mut found = None;
            for (at, edit) in edits(&base).enumerate().skip(from) {
                if self.spent() {
                    return;
                }
                if self.consider(edit()) {
                    found = Some(at);
                    break;
                }
            }
            match found {
                Some(at) => from = at,
                None => return,
            }
        }
    }

    pub(super) fn finish(self, minimal: bool) -> Shrunk {
        Shrunk {
            trace: self.best.compacted(),
            violation: self.violation,
            executions: self.executions,
            passes: self.passes,
            slipped: self.slipped.into_iter().collect(),
            minimal,
        }
    }
}
