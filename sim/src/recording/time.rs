//! How times are written in recordings.
//!
//! Numbers count from 1970 in seconds, milliseconds, microseconds or nanoseconds; text is RFC 3339
//! with an offset. Everything becomes milliseconds, rounded down. `auto` decides by the first value of
//! a column: text that is no number is RFC 3339; a number is seconds below 10^11 (the year 5138),
//! milliseconds below 10^14, microseconds below 10^17, else nanoseconds. A recording whose clock
//! starts near 0 in milliseconds must say so.
//!
//! Invariant: within one column all times are read in one unit.

use super::number::Decimal;

/// The unit of a time column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Decided by the first value.
    Auto,
    /// Seconds since 1970, decimals allowed.
    Seconds,
    /// Milliseconds since 1970.
    Milliseconds,
    /// Microseconds since 1970.
    Microseconds,
    /// Nanoseconds since 1970.
    Nanoseconds,
    /// Such as `2013-02-01T10:00:00Z`.
    Rfc3339,
}

impl Unit {
    /// All units, by the names that options use.
    pub const NAMES: [(&str, Self); 6] = [
        ("auto", Self::Auto),
        ("s", Self::Seconds),
        ("ms", Self::Milliseconds),
        ("us", Self::Microseconds),
        ("ns", Self::Nanoseconds),
        ("rfc3339", Self::Rfc3339),
    ];

    /// What a cell should hold, as errors and reports say it.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Auto => "a time (a number since 1970, or RFC 3339 such as 2013-02-01T10:00:00Z)",
            Self::Seconds => "a time in seconds since 1970",
            Self::Milliseconds => "a time in milliseconds since 1970",
            Self::Microseconds => "a time in microseconds since 1970",
            Self::Nanoseconds => "a time in nanoseconds since 1970",
            Self::Rfc3339 => "a time in RFC 3339 with an offset, such as 2013-02-01T10:00:00Z",
        }
    }

    /// Reads one time in milliseconds and fixes `Auto`. `None` where the text is no such time.
    pub fn parse(&mut self, text: &str) -> Option<i64> {
        if *self == Self::Rfc3339 {
            return rfc3339(text);
        }
        let Some(number) = Decimal::parse(text) else {
            let time = if *self == Self::Auto { rfc3339(text) } else { None };
            *self = if time.is_some() { Self::Rfc3339 } else { *self };
            return time;
        };
        if *self == Self::Auto {
            *self = match number.floor(0).unsigned_abs() {
                0..100_000_000_000 => Self::Seconds,
                100_000_000_000..100_000_000_000_000 => Self::Milliseconds,
                100_000_000_000_000..100_000_000_000_000_000 => Self::Microseconds,
                _ => Self::Nanoseconds,
            };
        }
        Some(number.floor(match self {
            Self::Seconds => 3,
            Self::Microseconds => -3,
            Self::Nanoseconds => -6,
            Self::Auto | Self::Milliseconds | Self::Rfc3339 => 0,
        }))
    }
}

fn rfc3339(text: &str) -> Option<i64> {
    let time: jiff::Timestamp = text.parse().ok()?;
    i64::try_from(time.as_nanosecond().div_euclid(1_000_000)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(unit: Unit, text: &str, time: Option<i64>, then: Unit) {
        let mut read = unit;
        assert_eq!((read.parse(text), read), (time, then), "{text}");
    }

    #[test]
    fn each_unit_becomes_milliseconds_rounded_down() {
        check(Unit::Seconds, "1359712800.1239", Some(1_359_712_800_123), Unit::Seconds);
        check(Unit::Seconds, "-0.0001", Some(-1), Unit::Seconds);
        check(Unit::Milliseconds, "17", Some(17), Unit::Milliseconds);
        check(Unit::Microseconds, "1999", Some(1), Unit::Microseconds);
        check(Unit::Rfc3339, "1970-01-01T01:00:00.5+01:00", Some(500), Unit::Rfc3339);
        check(Unit::Rfc3339, "1969-12-31T23:59:59.9999Z", Some(-1), Unit::Rfc3339);
    }

    #[test]
    fn the_first_value_decides_the_unit() {
        check(Unit::Auto, "1359712800", Some(1_359_712_800_000), Unit::Seconds);
        check(Unit::Auto, "1517365101235", Some(1_517_365_101_235), Unit::Milliseconds);
        check(Unit::Auto, "1517365101235000", Some(1_517_365_101_235), Unit::Microseconds);
        check(Unit::Auto, "1517365101235000000", Some(1_517_365_101_235), Unit::Nanoseconds);
        check(Unit::Auto, "2018-01-31T02:18:21.235Z", Some(1_517_365_101_235), Unit::Rfc3339);
        check(Unit::Auto, "soon", None, Unit::Auto);
    }

    #[test]
    fn a_date_without_an_offset_is_not_guessed() {
        check(Unit::Rfc3339, "2013-02-01T10:00:00", None, Unit::Rfc3339);
        check(Unit::Rfc3339, "2013-02-01", None, Unit::Rfc3339);
    }

    #[test]
    fn absurd_numbers_stay_finite() {
        let largest = Some(i64::MAX - 1);
        check(Unit::Seconds, "9999999999999999999", largest, Unit::Seconds);
    }
}
