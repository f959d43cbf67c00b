//! One trace under several engines' rules: on which rows and figures they differ, and why.
//!
//! The query stays (windows, keys, aggregates, delay, inputs, columns, output mode); the rules are
//! each profile's ([`mod@dress`]). All of them run as flows, so that what comes out has one form. The
//! instants at which engines look at the watermark are the same for all ([`cut`]): where one ends a
//! batch, another is probed.
//!
//! The name `trace` stands for the rules that the trace itself says.
//!
//! ```
//! let trace = plimsoll_sim::trace::parse::parse(
//!     "plan window=tumbling(10min) delay=2min\n\
//!      row p0 10:17:00 k=a\n\
//!      batch\n\
//!      row p0 10:14:00 k=a\n\
//!      batch\n",
//! )?
//! .trace;
//! use plimsoll_sim::compare::{Cuts, compare};
//! let told = compare(&trace, &["seed", "spark-4"], Cuts::AsWritten)?;
//! let row = &told.rows[0];
//! assert_eq!(row.row.item, 3);
//! assert_eq!(row.fates[0].to_string(), "late, 10:14:00 < 10:15:00");
//! assert_eq!(row.fates[1].to_string(), "counted, window end 10:20:00 > 10:15:00");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Invariant: what is reported is a function of the trace, the names and the cuts.

mod cut;
mod differ;
mod dress;
mod figure;
mod text;
mod told;
mod why;

pub use cut::Cuts;
pub use dress::dress;
pub use why::RowFate;

use crate::explain::Quoted;
use crate::trace::Trace;
use plimsoll_engine::plan::restore::RestoreRules;
use plimsoll_engine::profile::{self, Profile};
use plimsoll_engine::time::EventTime;
use serde::Serialize;

/// The name of the rules that a trace itself says.
pub const AS_WRITTEN: &str = "trace";

/// A trace under several rules.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Comparison {
    /// How many items the trace has.
    pub items: usize,
    /// How many of them are rows.
    pub rows_in: usize,
    /// How many figures at least one of them wrote.
    pub figures_written: usize,
    /// What ended batches and what was a probe.
    pub cuts: String,
    /// Those that ran, in the order in which they were named.
    pub ran: Vec<Ran>,
    /// Those that cannot carry the query, with the reason.
    pub cannot: Vec<Cannot>,
    /// Rows with different fates, in order.
    pub rows: Vec<RowDifference>,
    /// Figures with different values, or missing somewhere.
    pub figures: Vec<FigureDifference>,
    /// Figures with the same values, written at different items.
    pub times: Vec<FigureDifference>,
}

/// What is known of one set of rules and what it did in all.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Ran {
    /// Its name.
    pub name: String,
    /// Where its values come from.
    pub about: String,
    /// Whether recordings of the original are reproduced with it.
    pub verified: bool,
    /// What the original does and no knob can say.
    pub missing: Vec<String>,
    /// What of the trace it could not take as it stands.
    pub notes: Vec<String>,
    /// Rows counted, wholly or partly.
    pub rows_counted: u64,
    /// Rows late for all of their windows.
    pub rows_late: u64,
    /// Rows with another fate.
    pub rows_other: u64,
    /// Figures written.
    pub figures: u64,
    /// The watermark at the end.
    pub watermark: EventTime,
    /// Groups, entries and stored rows held at the end.
    pub state_rows: u64,
}

/// A profile that cannot carry the query.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Cannot {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// A row with different fates.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RowDifference {
    /// The row.
    pub row: Quoted,
    /// What became of it, one per profile that ran.
    pub fates: Vec<RowFate>,
}

/// A figure, and what each made of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FigureDifference {
    /// Which: a window or session with its key, a key, or a whole row.
    pub figure: String,
    /// What was written, one per profile that ran; `None`: nothing.
    pub written: Vec<Option<Written>>,
}

/// What was written of a figure.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Written {
    /// The values, as the output mode has them: one after the other, or the last ones.
    pub values: String,
    /// The items at which they were written; of the last values, the item that brought them first.
    pub items: Vec<u64>,
}

/// What cannot be compared.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CompareError {
    /// There is no such profile.
    #[error("no profile is called {found}; there are: {}", .known.join(", "))]
    UnknownProfile {
        /// What was asked for.
        found: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// A name stands twice.
    #[error("{0} is named twice; a profile does not differ from itself")]
    Twice(String),
    /// There is nothing to compare with.
    #[error("at least two profiles make a comparison")]
    TooFew,
}

/// Names that [`compare`] knows: the trace's own rules, then the profiles.
pub fn names() -> Vec<&'static str> {
    std::iter::once(AS_WRITTEN).chain(profile::all().iter().map(|it| it.name)).collect()
}

/// A set of rules by its name.
enum Rules {
    AsWritten,
    Of(&'static Profile),
}

impl Rules {
    fn named(name: &str) -> Result<Self, CompareError> {
        if name == AS_WRITTEN {
            return Ok(Self::AsWritten);
        }
        let unknown = || CompareError::UnknownProfile { found: name.to_owned(), known: names() };
        profile::named(name).map(Self::Of).ok_or_else(unknown)
    }

    /// What a restart brings back; `None` where the trace says it.
    const fn restore(&self) -> Option<RestoreRules> {
        match self {
            Self::AsWritten => None,
            Self::Of(it) => Some(it.restore),
        }
    }

    fn ran(&self) -> Ran {
        let (name, about, verified, missing) = match self {
            Self::AsWritten => (AS_WRITTEN, "the plan of the trace as it stands", true, &[][..]),
            Self::Of(it) => (it.name, it.about, it.verified, it.missing),
        };
        Ran {
            name: name.to_owned(),
            about: about.to_owned(),
            verified,
            missing: missing.iter().map(|it| (*it).to_owned()).collect(),
            notes: Vec::new(),
            rows_counted: 0,
            rows_late: 0,
            rows_other: 0,
            figures: 0,
            watermark: EventTime::MIN,
            state_rows: 0,
        }
    }
}

/// Runs a trace under the rules of these names and compares what came out.
///
/// # Errors
/// Where a name is unknown or stands twice, or there are fewer than two.
pub fn compare(trace: &Trace, names: &[&str], cuts: Cuts) -> Result<Comparison, CompareError> {
    let rules = names.iter().map(|it| Rules::named(it)).collect::<Result<Vec<_>, _>>()?;
    if let Some(twice) = (1..names.len()).find(|it| names[..*it].contains(&names[*it])) {
        return Err(CompareError::Twice(names[twice].to_owned()));
    }
    if rules.len() < 2 {
        return Err(CompareError::TooFew);
    }
    let (mut ran, mut told, mut cannot) = (Vec::new(), Vec::new(), Vec::new());
    for rules in &rules {
        let mut it = rules.ran();
        let dressed = match rules {
            Rules::AsWritten => dress::as_written(&trace.plan),
            Rules::Of(profile) => dress(&trace.plan, profile),
        };
        let dressed = match dressed {
            Ok(dressed) => dressed,
            Err(reason) => {
                cannot.push(Cannot { name: it.name, reason });
                continue;
            }
        };
        if let Rules::Of(profile) = rules {
            it.notes = dress::notes(trace, &dressed, profile);
        }
        match told::Told::of(&cut::cut(trace, dressed, rules.restore(), cuts)) {
            Ok(this) => {
                this.sum_up(&mut it);
                ran.push(it);
                told.push(this);
            }
            Err(reason) => cannot.push(Cannot { name: it.name, reason }),
        }
    }
    let rows_in = told::rows_of(trace).count();
    let (figures, times) = differ::figures(&told);
    Ok(Comparison {
        items: trace.items.len(),
        rows_in,
        figures_written: differ::figures_written(&told),
        cuts: cut::sentence(trace, cuts),
        rows: differ::rows(trace, &told),
        figures,
        times,
        ran,
        cannot,
    })
}

impl Comparison {
    /// Whether all that ran did the same.
    pub const fn nothing_differs(&self) -> bool {
        self.rows.is_empty() && self.figures.is_empty() && self.times.is_empty()
    }
}

#[cfg(test)]
mod tests;
