//! Times and spans as text.
//!
//! People write times in three ways and all three are read: a clock `[-]HH:MM:SS[.mmm]` with as many
//! hours as it takes, the same after a date (`2018-02-08T20:23:00`, also with a blank; UTC, proleptic
//! Gregorian), and plain `@milliseconds`. `-inf` and `+inf` are the two reserved ends. Printed is the
//! clock up to 100 hours from zero, the date in this century, and milliseconds elsewhere.
//!
//! Spans are printed as `4d`, `1h30min`, `2min5s`, `250ms`, `0s`; read are also `10 minutes`,
//! `2 hours 5 minutes`, `1h30m`, `1.5h` and ISO 8601 such as `PT5M`.
//!
//! Invariant: what is printed is read back as the very same number, for every i64.

mod date;

use super::words::shown;
use plimsoll_engine::time::{EventTime, Span};
use std::fmt;

/// Milliseconds of one second, minute, hour, day.
const UNITS: [(i64, &str); 5] =
    [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms")];
const DAY: i64 = UNITS[0].0;
const HOUR: i64 = UNITS[1].0;
const MINUTE: i64 = UNITS[2].0;
const SECOND: i64 = UNITS[3].0;

/// Times that are printed as dates: from 2000-01-01 up to 2100-01-01.
const DATED: std::ops::Range<i64> = 946_684_800_000..4_102_444_800_000;

/// A text that is no time, or no span.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected {expected}, found {found}")]
pub struct TimeTextError {
    /// Where in the text, in bytes.
    pub at: usize,
    /// What should have stood there.
    pub expected: &'static str,
    /// What stands there.
    pub found: String,
}

/// Prints an event time; see the [module documentation](self).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeText(pub EventTime);

/// Prints a span; see the [module documentation](self).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpanText(pub Span);

impl fmt::Display for TimeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.0;
        match ms {
            i64::MIN => f.write_str("-inf"),
            i64::MAX => f.write_str("+inf"),
            _ if ms.unsigned_abs() <= 100 * HOUR as u64 => {
                let sign = if ms < 0 { "-" } else { "" };
                write!(f, "{sign}{}", Clock(ms.abs()))
            }
            _ if DATED.contains(&ms) => {
                let (year, month, day) = date::date(ms.div_euclid(DAY));
                write!(f, "{year:04}-{month:02}-{day:02}T{}", Clock(ms.rem_euclid(DAY)))
            }
            _ => write!(f, "@{ms}"),
        }
    }
}

/// HH:MM:SS[.mmm] of milliseconds that are not negative.
struct Clock(i64);

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hours, minutes) = (self.0 / HOUR, self.0 / MINUTE % 60);
        write!(f, "{hours:02}:{minutes:02}:{:02}", self.0 / SECOND % 60)?;
        match self.0 % SECOND {
            0 => Ok(()),
            ms => write!(f, ".{ms:03}"),
        }
    }
}

impl fmt::Display for SpanText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Span(ms) = self.0;
        if ms == 0 {
            return f.write_str("0s");
        }
        if ms < 0 {
            f.write_str("-")?;
        }
        let mut rest = ms.unsigned_abs();
        for (unit, name) in UNITS {
            let count = rest / unit as u64;
            rest %= unit as u64;
            if count != 0 {
                write!(f, "{count}{name}")?;
            }
        }
        Ok(())
    }
}

/// Reads an event time.
///
/// # Errors
/// Where the text is no time, with the place.
pub fn parse_time(text: &str) -> Result<EventTime, TimeTextError> {
    const TIME: &str = "a time such as 10:08:30, 2018-02-08T20:23:00 or @1000";
    match text {
        "-inf" => return Ok(EventTime::MIN),
        "+inf" => return Ok(EventTime::MAX),
        _ => {}
    }
    let mut scan = Scan { text, at: 0 };
    if scan.eat('@') {
        let negative = scan.eat('-');
        let ms = scan.number("a number of milliseconds")?;
        scan.end()?;
        return scan.fit(if negative { -ms } else { ms }).map(EventTime);
    }
    let negative = scan.eat('-');
    let first = scan.number(TIME)?;
    let ms = if !negative && scan.at == 4 && scan.eat('-') {
        let year = first as i64; // Four digits.
        let month = scan.pair(1..=12, "a month from 01 to 12")?;
        scan.want('-', "`-` and the day")?;
        let last = date::days_in_month(year, month);
        let day = scan.pair(1..=last, "a day that this month has")?;
        if !scan.eat('T') {
            scan.want(' ', "a time of day such as T20:23:00")?;
        }
        let hours = scan.pair(0..=23, "hours from 00 to 23")?;
        let clock = scan.clock(i128::from(hours))?;
        scan.eat('Z');
        i128::from(date::days(year, month, day) * DAY) + clock
    } else {
        let clock = scan.clock(first)?;
        if negative { -clock } else { clock }
    };
    scan.end()?;
    scan.fit(ms).map(EventTime)
}

/// Reads a span.
///
/// # Errors
/// Where the text is no span, with the place.
pub fn parse_span(text: &str) -> Result<Span, TimeTextError> {
    const SPAN: &str = "a span such as 10min, 2min5s or 250ms";
    let mut scan = Scan { text, at: 0 };
    let negative = scan.eat('-');
    if !negative {
        scan.eat('+');
    }
    let mut sum = 0i128;
    let iso = scan.eat('P');
    let mut in_day = false;
    let mut parts = 0;
    loop {
        if iso && !in_day && scan.eat('T') {
            in_day = true;
        } else if !iso {
            scan.blanks();
        }
        if 0 < parts && scan.rest().is_empty() {
            break;
        }
        let start = scan.at;
        let whole = scan.number(SPAN)?;
        let fraction = if scan.eat('.') { scan.digits("digits after the point")? } else { "" };
        if !iso && parts == 0 && whole == 0 && scan.rest().is_empty() {
            break; // A bare 0 needs no unit.
        }
        let unit = if iso { scan.iso_unit(in_day)? } else { scan.unit()? };
        let inexact = TimeTextError {
            at: start,
            expected: "a whole number of milliseconds",
            found: shown(&text[start..]),
        };
        if 9 < fraction.len() {
            return Err(inexact);
        }
        let numerator = fraction.parse::<i128>().unwrap_or(0) * i128::from(unit);
        let scale = 10i128.pow(fraction.len() as u32);
        if numerator % scale != 0 {
            return Err(inexact);
        }
        // Factors within 2^64 and 2^30, and every part costs text: no overflow before `fit`.
        sum = sum.saturating_add(whole * i128::from(unit) + numerator / scale);
        parts += 1;
    }
    scan.fit(if negative { -sum } else { sum }).map(Span)
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn fail<T>(&self, expected: &'static str) -> Result<T, TimeTextError> {
        Err(TimeTextError { at: self.at, expected, found: shown(self.rest()) })
    }

    fn eat(&mut self, wanted: char) -> bool {
        let there = self.rest().starts_with(wanted);
        if there {
            self.at += wanted.len_utf8();
        }
        there
    }

    fn want(&mut self, wanted: char, expected: &'static str) -> Result<(), TimeTextError> {
        if self.eat(wanted) { Ok(()) } else { self.fail(expected) }
    }

    fn blanks(&mut self) {
        while self.eat(' ') {}
    }

    fn end(&self) -> Result<(), TimeTextError> {
        if self.rest().is_empty() { Ok(()) } else { self.fail("nothing more") }
    }

    fn digits(&mut self, expected: &'static str) -> Result<&'a str, TimeTextError> {
        let rest = self.rest();
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        if length == 0 {
            return self.fail(expected);
        }
        self.at += length;
        Ok(&rest[..length])
    }

    fn number(&mut self, expected: &'static str) -> Result<i128, TimeTextError> {
        let start = self.at;
        let digits = self.digits(expected)?;
        match digits.parse::<u64>() {
            Ok(it) => Ok(i128::from(it)),
            Err(_) => {
                self.at = start;
                self.fail("a number that fits 64 bits")
            }
        }
    }

    fn pair(
        &mut self,
        range: std::ops::RangeInclusive<i64>,
        expected: &'static str,
    ) -> Result<i64, TimeTextError> {
        let rest = self.rest();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 2
            && let Ok(it) = rest[..2].parse()
            && range.contains(&it)
        {
            self.at += 2;
            return Ok(it);
        }
        self.fail(expected)
    }

    /// What follows the hours: `:MM:SS[.mmm]`.
    fn clock(&mut self, hours: i128) -> Result<i128, TimeTextError> {
        self.want(':', "`:` and the minutes")?;
        let minutes = self.pair(0..=59, "minutes from 00 to 59")?;
        self.want(':', "`:` and the seconds")?;
        let seconds = self.pair(0..=59, "seconds from 00 to 59")?;
        let mut ms = 0;
        if self.eat('.') {
            let start = self.at;
            let digits = self.digits("digits after the point")?;
            if 3 < digits.len() {
                self.at = start;
                return self.fail("at most three digits of a second");
            }
            ms = digits.parse().unwrap_or(0) * [100, 10, 1][digits.len() - 1];
        }
        Ok(hours * i128::from(HOUR) + i128::from(minutes * MINUTE + seconds * SECOND + ms))
    }

    fn unit(&mut self) -> Result<i64, TimeTextError> {
        self.blanks();
        let rest = self.rest();
        let length = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let unit = match rest[..length].to_ascii_lowercase().as_str() {
            "ms" | "millis" | "millisecond" | "milliseconds" => 1,
            "s" | "sec" | "secs" | "second" | "seconds" => SECOND,
            "m" | "min" | "mins" | "minute" | "minutes" => MINUTE,
            "h" | "hr" | "hrs" | "hour" | "hours" => HOUR,
            "d" | "day" | "days" => DAY,
            "w" | "week" | "weeks" => 7 * DAY,
            _ => return self.fail("a unit: d, h, min, s or ms"),
        };
        self.at += length;
        Ok(unit)
    }

    fn iso_unit(&mut self, in_day: bool) -> Result<i64, TimeTextError> {
        let units: &[(char, i64)] = if in_day {
            &[('H', HOUR), ('M', MINUTE), ('S', SECOND)]
        } else {
            &[('D', DAY), ('W', 7 * DAY)]
        };
        match units.iter().find(|it| self.eat(it.0)) {
            Some((_, unit)) => Ok(*unit),
            None if in_day => self.fail("H, M or S"),
            None => self.fail("D or W, or T before hours, minutes and seconds"),
        }
    }

    fn fit(&self, ms: i128) -> Result<i64, TimeTextError> {
        i64::try_from(ms).map_err(|_| TimeTextError {
            at: 0,
            expected: "milliseconds that fit 64 bits",
            found: shown(self.text),
        })
    }
}

#[cfg(test)]
mod tests;
