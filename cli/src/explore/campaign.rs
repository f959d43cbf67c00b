//! A campaign: what many seeds have shown together.
//!
//! Everything is added up in the order of the seeds, so that it does not depend on how many ran at
//! the same time.
//!
//! Invariant: a campaign is a function of its seeds.

use plimsoll_engine::plan::OutputMode;
use plimsoll_engine::plan::flow::Flow;
use plimsoll_sim::invariant::Violation;
use plimsoll_sim::reach::Reach;
use plimsoll_sim::trace::Trace;
use plimsoll_sim::verdict::Verdict;
use std::collections::BTreeMap;

/// One seed.
#[derive(Debug)]
pub(crate) struct Judged {
    /// The seed.
    pub(crate) seed: u64,
    /// Name of its scenario.
    pub(crate) world: String,
    /// Whether its plan ever closes a window.
    pub(crate) closes: bool,
    /// What was found; `None` where the plan was refused.
    pub(crate) verdict: Option<Verdict>,
}

/// The sums.
#[derive(Debug, Default)]
pub(crate) struct Campaign {
    pub(crate) seeds: u64,
    pub(crate) refused: u64,
    pub(crate) items: u64,
    pub(crate) rows: u64,
    pub(crate) steps: u64,
    /// Seeds whose plan closes windows, and those of them in which at least five closed.
    pub(crate) closing: u64,
    pub(crate) closed_five: u64,
    pub(crate) had_late: u64,
    pub(crate) had_fault: u64,
    pub(crate) vacuous: u64,
    pub(crate) reach: Reach,
    /// Check -> (how many seeds skipped it, why the first one did).
    pub(crate) skipped: BTreeMap<&'static str, (u64, &'static str)>,
    pub(crate) digest: u64,
    /// Name -> (how many seeds, the first of them).
    pub(crate) failures: BTreeMap<&'static str, (u64, u64, Violation)>,
    pub(crate) worlds: BTreeMap<String, u64>,
}

/// Whether a plan ever closes a window, or lets other state go.
pub(crate) fn closes(trace: &Trace) -> bool {
    let plan = &trace.plan;
    let keeps = |it: &Flow| it.stages.iter().any(|it| !it.is_stateless());
    plan.watermark.is_some()
        && (plan.operator.is_some() || plan.flow.as_ref().is_some_and(keeps))
        && plan.output != OutputMode::Complete
}

impl Campaign {
    /// Adds a seed.
    pub(crate) fn add(&mut self, judged: Judged) {
        let Judged { seed, world, closes, verdict } = judged;
        self.seeds += 1;
        *self.worlds.entry(world).or_default() += 1;
        let Some(verdict) = verdict else {
            self.refused += 1;
            return;
        };
        self.items += verdict.items;
        self.rows += verdict.rows;
        self.steps += verdict.steps;
        self.closing += u64::from(closes);
        self.closed_five += u64::from(closes && 5 <= verdict.windows_closed);
        self.had_late += u64::from(0 < verdict.late_rows);
        self.had_fault += u64::from(0 < verdict.faults);
        self.vacuous += u64::from(verdict.is_vacuous());
        self.reach.merge(verdict.reach);
        for it in &verdict.skipped {
            self.skipped.entry(it.name).or_insert((0, it.missing)).0 += 1;
        }
        self.digest = (self.digest ^ verdict.digest).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        if let Some(violation) = verdict.violation {
            self.failures.entry(violation.name).or_insert((0, seed, violation)).0 += 1;
        }
    }

    /// How many seeds failed.
    pub(crate) fn failed(&self) -> u64 {
        self.failures.values().map(|it| it.0).sum()
    }

    /// Seeds that ran.
    pub(crate) const fn ran(&self) -> u64 {
        self.seeds - self.refused
    }
}

/// A share in per cent, with one digit, without floating point.
pub(crate) fn percent(part: u64, of: u64) -> String {
    let tenths = u128::from(part) * 1_000 / u128::from(of.max(1));
    format!("{}.{} %", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_exact_to_a_tenth() {
        assert_eq!(percent(1, 3), "33.3 %");
        assert_eq!(percent(0, 0), "0.0 %");
        assert_eq!(percent(7, 7), "100.0 %");
    }
}
