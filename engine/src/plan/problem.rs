//! What is wrong with a plan, said so that a tired person can act on it.
//!
//! A problem is a user's mistake, so it is a value in a list and never a panic. It has a stable
//! [`Code`] that scripts and searches may rely on, the cause with the values that make it true, and
//! a remedy. *Refusals* are plans that would give wrong figures or none; *warnings* are plans that
//! run and do something their owner may not expect. A warning that is not always true of its plan
//! does not exist: whoever cries wolf is switched off.
//!
//! Invariant: the severity of a problem is the severity of its code.

mod code;
mod refusal;
pub mod spark;
mod warning;

pub use code::Code;

use crate::time::Span;
use std::fmt;

/// One thing that is wrong with a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Which rule it breaks; stable across versions.
    pub code: Code,
    /// Whether the plan can run at all.
    pub severity: Severity,
    /// What is wrong, with its values.
    pub cause: String,
    /// What to do about it.
    pub remedy: String,
}

/// Whether a plan with this problem may run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// It may not.
    Refusal,
    /// It may, and its owner should know.
    Warning,
}

impl Severity {
    /// The word that reports use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refusal => "refusal",
            Self::Warning => "warning",
        }
    }
}

/// Whose words a problem is told in, beside ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// Nobody's.
    Own,
    /// Spark's: when it refuses, and under which condition.
    Spark,
}

impl Dialect {
    /// What the engine says to a problem, where it refuses.
    pub const fn condition(self, code: Code) -> Option<spark::Condition> {
        match self {
            Self::Own => None,
            Self::Spark => spark::condition(code),
        }
    }
}

impl Problem {
    /// The problem as text, with what the engine of the dialect says to it.
    pub fn told(&self, dialect: Dialect) -> String {
        match dialect.condition(self.code) {
            Some(condition) => format!("{self}\n  {condition}"),
            None => self.to_string(),
        }
    }

    #[cold]
    fn new(code: Code, cause: impl Into<String>, remedy: impl Into<String>) -> Self {
        let (cause, remedy) = (cause.into(), remedy.into());
        Self { code, severity: code.severity(), cause, remedy }
    }

    /// Whether the plan may not run.
    pub fn is_refusal(&self) -> bool {
        self.severity == Severity::Refusal
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, severity, cause, remedy } = self;
        write!(f, "{} {code}: {cause}\n  remedy: {remedy}", severity.name())
    }
}

const UNITS: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)];

/// A span as people and plans write it: `2min5s`, `-30s`, `0s`.
pub(crate) struct Words(pub(crate) Span);

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.0;
        if millis == 0 {
            return f.write_str("0s");
        }
        if millis < 0 {
            f.write_str("-")?;
        }
        let mut rest = millis.unsigned_abs();
        for (unit, length) in UNITS {
            let count = rest / length;
            rest %= length;
            if count != 0 {
                write!(f, "{count}{unit}")?;
            }
        }
        Ok(())
    }
}

/// A number with its thousands set apart: `1,440`.
pub(crate) struct Thousands(pub(crate) i64);

impl fmt::Display for Thousands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.unsigned_abs().to_string();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        for (position, digit) in digits.chars().enumerate() {
            if position != 0 && (digits.len() - position).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_reads_as_cause_and_remedy() {
        let text = Problem::negative_delay(Span(-90_500)).to_string();
        assert_eq!(
            text,
            "refusal P001 negative-delay: the delay is -1min30s500ms; a watermark ahead of the data \
             would promise what nobody has seen\n  remedy: make it 0s or longer"
        );
    }

    #[test]
    fn spans_and_numbers_read_as_people_write_them() {
        let words = |span| Words(Span(span)).to_string();
        assert_eq!((words(0), words(125_000)), ("0s".into(), "2min5s".into()));
        assert_eq!(words(90_000_000), "1d1h");
        assert_eq!(words(i64::MIN), "-106751991167d7h12min55s808ms");
        assert_eq!(Thousands(1_440_000).to_string(), "1,440,000");
        assert_eq!(Thousands(-999).to_string(), "-999");
    }
}
