//! I41, I42, I43: the system agrees with the oracle, after every item.
//!
//! The oracle advances once per item. Of what disagrees the most telling is named: a wrong
//! candidate or watermark (I43) explains wrong verdicts (I42), and wrong verdicts explain wrong
//! figures (I41). What the definition leaves open is not compared.
//!
//! Invariant: one item yields at most one violation, and a run without one agreed in every step.

mod candidate;
mod figure;
mod text;
mod verdict;

use super::{Observation, Violation};
use crate::oracle::{Expected, Oracle};
use crate::trace::Trace;

/// Number and name of the three, the most telling first.
pub const NAMES: [&str; 3] = ["I43 candidate_agrees", "I42 verdict_agrees", "I41 oracle_agrees"];

/// The oracle beside a run.
#[derive(Debug)]
pub struct OracleAgreement {
    oracle: Oracle,
    figures: figure::Comparison,
}

impl OracleAgreement {
    /// Before the first item of a trace whose plan has passed its check.
    pub fn new(trace: &Trace) -> Self {
        Self { oracle: Oracle::new(trace), figures: figure::Comparison::default() }
    }

    /// Advances the oracle by one item and compares.
    ///
    /// # Errors
    /// The most telling disagreement.
    pub fn observe(&mut self, seen: &Observation<'_>) -> Result<(), Violation> {
        self.oracle.observe(seen.trace, seen.id, seen.item);
        let oracle = &self.oracle;
        let broken = candidate::disagreement(oracle, seen)
            .map(|it| (NAMES[0], it))
            .or_else(|| verdict::disagreement(oracle, seen).map(|it| (NAMES[1], it)))
            .or_else(|| self.figures.disagreement(oracle, seen).map(|it| (NAMES[2], it)));
        match broken {
            None => Ok(()),
            Some((name, evidence)) => Err(Violation { name, at: seen.id, evidence }),
        }
    }

    /// What the last item had to cause.
    pub const fn expected(&self) -> &Expected {
        self.oracle.expected()
    }

    /// The oracle after the last item: partitions, open windows, totals per window.
    pub const fn oracle(&self) -> &Oracle {
        &self.oracle
    }
}

#[cfg(test)]
mod tests;
