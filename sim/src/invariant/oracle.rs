//! I41, I42, I43: the system agrees with the oracle, after every item.
//!
//! The oracle advances once per item. Of what disagrees the most telling is named: a wrong
//! candidate or watermark (I43) explains wrong verdicts (I42), and wrong verdicts explain wrong
//! figures (I41). What the definition leaves open is not compared. A flow has an oracle of its own.
//!
//! Invariant: one item yields at most one violation, and a run without one agreed in every step.

mod candidate;
mod figure;
mod flow;
mod text;
mod verdict;

use super::{Observation, Skipped, Violation};
use crate::oracle::Oracle;
use crate::oracle::flow::{FlowOracle, covers};
use crate::trace::Trace;
use plimsoll_engine::row::Schema;

/// Number and name of the three, the most telling first.
pub const NAMES: [&str; 3] = ["I43 candidate_agrees", "I42 verdict_agrees", "I41 oracle_agrees"];

/// The oracle beside a run.
#[derive(Debug)]
pub struct OracleAgreement {
    hand: Hand,
}

/// Which oracle knows the plan.
#[derive(Debug)]
enum Hand {
    /// One input, at most one window aggregation.
    Plain(Box<Oracle>, figure::Comparison),
    /// A flow, with the columns that come out of it.
    Flow(Box<FlowOracle>, Schema),
    /// Nobody.
    Nobody(&'static str),
}

impl OracleAgreement {
    /// Before the first item of a trace whose plan has passed its check.
    pub fn new(trace: &Trace) -> Self {
        let hand = match &trace.plan.flow {
            None => Hand::Plain(Box::new(Oracle::new(trace)), figure::Comparison::default()),
            Some(it) => match covers(trace) {
                Ok(()) => {
                    let columns = it.schemas(&trace.plan.schema).pop();
                    Hand::Flow(Box::new(FlowOracle::new(trace)), columns.unwrap_or_default())
                }
                Err(missing) => Hand::Nobody(missing),
            },
        };
        Self { hand }
    }

    /// What is not compared, because no oracle knows the plan.
    pub fn skipped(&self) -> impl Iterator<Item = Skipped> {
        let missing = match self.hand {
            Hand::Plain(..) | Hand::Flow(..) => None,
            Hand::Nobody(missing) => Some(missing),
        };
        NAMES.into_iter().filter_map(move |name| missing.map(|missing| Skipped { name, missing }))
    }

    /// Advances the oracle by one item and compares.
    ///
    /// # Errors
    /// The most telling disagreement.
    pub fn observe(&mut self, seen: &Observation<'_>) -> Result<(), Violation> {
        self.compare(seen, |_| true)
    }

    /// The same, but only what this one says is compared.
    ///
    /// # Errors
    /// The disagreement of this name.
    pub fn observe_only(&mut self, name: &str, seen: &Observation<'_>) -> Result<(), Violation> {
        self.compare(seen, |it| it == name)
    }

    fn compare(
        &mut self,
        seen: &Observation<'_>,
        asks: impl Fn(&str) -> bool,
    ) -> Result<(), Violation> {
        let [candidates, verdicts, outputs] = NAMES.map(asks);
        let broken = match &mut self.hand {
            Hand::Plain(oracle, figures) => {
                oracle.observe(seen.trace, seen.id, seen.item);
                let candidate = || candidate::disagreement(oracle, seen);
                let verdict = || verdict::disagreement(oracle, seen);
                None.or_else(|| candidates.then(candidate)?.map(|it| (NAMES[0], it)))
                    .or_else(|| verdicts.then(verdict)?.map(|it| (NAMES[1], it)))
                    .or_else(|| {
                        let figure = || figures.disagreement(oracle, seen);
                        outputs.then(figure)?.map(|it| (NAMES[2], it))
                    })
            }
            Hand::Flow(oracle, columns) => {
                oracle.observe(seen.trace, seen.id, seen.item);
                let candidate = || flow::candidate(oracle, seen);
                let verdict = || flow::verdict(oracle, seen);
                let emission = || flow::emissions(oracle, columns, seen);
                None.or_else(|| candidates.then(candidate)?.map(|it| (NAMES[0], it)))
                    .or_else(|| verdicts.then(verdict)?.map(|it| (NAMES[1], it)))
                    .or_else(|| outputs.then(emission)?.map(|it| (NAMES[2], it)))
            }
            Hand::Nobody(_) => None,
        };
        match broken {
            None => Ok(()),
            Some((name, evidence)) => Err(Violation { name, at: seen.id, evidence }),
        }
    }
}

#[cfg(test)]
mod tests;
