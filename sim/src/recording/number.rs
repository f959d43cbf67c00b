//! Decimal numbers in text, read exactly.
//!
//! Integers decide everything, so a decimal becomes an integer at a stated scale here, at the edge,
//! without passing through a floating-point number: 1.25 at scale 2 is 125.
//!
//! Invariant: a decimal is converted exactly or refused; only times may be rounded, and only down.

/// digits x 10^exponent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decimal {
    digits: i128,
    exponent: i32,
}

impl Decimal {
    /// Reads `[+-]digits[.digits][e[+-]digits]`, at most 30 digits; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (text, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
            None => (text, 0),
        };
        if 30 < exponent.unsigned_abs() {
            return None;
        }
        let (negative, text) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let fraction = fraction.trim_end_matches('0');
        let digits = || whole.bytes().chain(fraction.bytes());
        if whole.is_empty() && fraction.is_empty() || 30 < whole.len() + fraction.len() {
            return None;
        }
        let mut value = 0_i128;
        for digit in digits() {
            if !digit.is_ascii_digit() {
                return None;
            }
            value = value * 10 + i128::from(digit - b'0');
        }
        let places = i32::try_from(fraction.len()).ok()?;
        Some(Self { digits: if negative { -value } else { value }, exponent: exponent - places })
    }

    /// The value times 10^`scale`, where that is a whole number that fits.
    pub fn exact(self, scale: u32) -> Option<i64> {
        let (value, rest) = self.scaled(i32::try_from(scale).ok()?)?;
        if rest { None } else { i64::try_from(value).ok() }
    }

    /// The value times 10^`scale`, rounded down; kept within i64 without its two ends.
    pub fn floor(self, scale: i32) -> i64 {
        let largest = i128::from(i64::MAX - 1);
        let (value, _) =
            self.scaled(scale).unwrap_or((self.digits.signum() * i128::from(i64::MAX), false));
        value.clamp(-largest, largest) as i64
    }

    /// How many decimals are needed to write it.
    pub const fn decimals(self) -> u32 {
        if self.exponent < 0 { self.exponent.unsigned_abs() } else { 0 }
    }

    /// Rounded down, and whether anything was cut off; `None` where it is too large.
    fn scaled(self, scale: i32) -> Option<(i128, bool)> {
        let shift = self.exponent + scale;
        let Some(factor) = 10_i128.checked_pow(shift.unsigned_abs()) else {
            // There are at most 30 digits, so that far down only the sign of a fraction is left.
            return (shift < 0).then(|| (self.digits.signum().min(0), self.digits != 0));
        };
        if 0 <= shift {
            Some((self.digits.checked_mul(factor)?, false))
        } else {
            Some((self.digits.div_euclid(factor), self.digits.rem_euclid(factor) != 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_kept_exactly_or_refused() {
        let exact = |text, scale| Decimal::parse(text).and_then(|it| it.exact(scale));
        assert_eq!(exact("1.25", 2), Some(125));
        assert_eq!(exact("1.25", 1), None);
        assert_eq!(exact("-0.50", 1), Some(-5));
        assert_eq!(exact("2e3", 0), Some(2_000));
        assert_eq!(exact("9223372036854775807", 0), Some(i64::MAX));
        assert_eq!(exact("9223372036854775808", 0), None);
        assert_eq!(exact("1e30", 30), None);
    }

    #[test]
    fn rounding_down_goes_to_the_past_also_below_zero() {
        let floor = |text, scale| Decimal::parse(text).map(|it| it.floor(scale));
        assert_eq!(floor("-0.0005", 3), Some(-1));
        assert_eq!(floor("1.9999", 3), Some(1_999));
        assert_eq!(floor("999999999999999999999999999999", 3), Some(i64::MAX - 1));
        assert_eq!(floor("-1e30", 3), Some(-i64::MAX + 1));
        assert_eq!(floor(".00000000000000000000000000001e-30", 3), Some(0));
        assert_eq!(floor("-.00000000000000000000000000001e-30", 3), Some(-1));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", "-", ".", "1.2.3", "0x10", "1e", "1e99", "--1", "1_000", "nan", "é"] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }
}
