//! A value of an emitted row.
//!
//! Spark writes an average as the shortest decimal text that gives its double back; we hold a sum and a
//! count. The two agree when the text lies within one unit of the double's last place of the exact
//! quotient, which is decided in integers.
//!
//! Invariant: no number passes through floating point.

use super::super::{Errors, Node};
use serde_json::Value;
use std::fmt::{self, Display, Formatter};

/// A value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cell {
    /// Unknown.
    Null,
    /// An integer, or a time in milliseconds.
    Integer(i64),
    /// A text.
    Text(String),
    /// A number with a fraction, as it is written.
    Decimal(Decimal),
    /// An average that was computed here, exactly.
    Mean {
        /// The sum of the values.
        sum: i128,
        /// How many there are, at least one.
        count: u64,
    },
}

/// A decimal number: `digits` times ten to the power of minus `scale`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Decimal {
    digits: i128,
    scale: u32,
}

impl Decimal {
    /// Reads `-12.5`, `12.0`, `1.25E7`; at most 30 digits.
    pub fn parse(text: &str) -> Option<Self> {
        let (number, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
        let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
        if 30 < whole.len() + fraction.len() || 30 < scale {
            return None;
        }
        match u32::try_from(scale) {
            Ok(scale) => Some(Self { digits, scale }),
            Err(_) => {
                let factor = 10_i128.checked_pow(scale.unsigned_abs())?;
                Some(Self { digits: digits.checked_mul(factor)?, scale: 0 })
            }
        }
    }

    /// Whether it is the double nearest to `sum / count`, to one unit of its last place.
    fn is_quotient(self, sum: i128, count: u64) -> bool {
        let within = || {
            let scale = 10_i128.checked_pow(self.scale)?;
            let exact = sum.checked_mul(scale)?;
            let apart = self.digits.checked_mul(i128::from(count))?.checked_sub(exact)?;
            Some(match apart {
                0 => true,
                _ => apart.checked_abs()?.checked_mul(1 << 52)? <= exact.checked_abs()?,
            })
        };
        within().unwrap_or(false)
    }
}

impl Cell {
    /// Whether this, an expectation, is met by what was found.
    pub fn is_met_by(&self, found: &Self) -> bool {
        match (self, found) {
            (Self::Decimal(text), Self::Mean { sum, count }) => text.is_quotient(*sum, *count),
            _ => self == found,
        }
    }
}

impl Display for Cell {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("-"),
            Self::Integer(it) => it.fmt(f),
            Self::Text(it) => f.write_str(it),
            Self::Decimal(Decimal { digits, scale }) => write!(f, "{digits}e-{scale}"),
            Self::Mean { sum, count } => write!(f, "{sum}/{count}"),
        }
    }
}

/// Reads a value of an emitted row.
pub(super) fn read(node: &Node<'_>, errors: &mut Errors) -> Option<Cell> {
    let cell = match node.value() {
        Value::Null => Some(Cell::Null),
        Value::String(it) => Some(Cell::Text(it.clone())),
        Value::Number(it) => match it.as_str().parse() {
            Ok(it) => Some(Cell::Integer(it)),
            Err(_) => Decimal::parse(it.as_str()).map(Cell::Decimal),
        },
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    if cell.is_none() {
        errors.unexpected(node, "null, a text or a number of at most 30 digits");
    }
    cell
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, sum: i128, count: u64) -> bool {
        let decimal = Cell::Decimal(Decimal::parse(text).expect("a decimal"));
        decimal.is_met_by(&Cell::Mean { sum, count })
    }

    #[test]
    fn an_average_agrees_with_the_double_nearest_to_it() {
        assert!(check("3.5", 7, 2));
        assert!(check("0.3333333333333333", 1, 3));
        assert!(check("-6.666666666666667", -20, 3));
        assert!(check("5.0", 5, 1));
        assert!(check("0.0", 0, 4));
        assert!(check("1.25E7", 25_000_000, 2));
    }

    #[test]
    fn an_average_that_is_merely_near_does_not_agree() {
        assert!(!check("0.33333333333333", 1, 3));
        assert!(!check("0.3333333333333335", 1, 3));
        assert!(!check("3.5", 7, 3));
        assert!(!check("0.0", 1, 4));
    }
}
