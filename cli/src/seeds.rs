//! Seeds on the command line.
//!
//! A seed is a number, or a commit hash of 40 hexadecimal digits, of which the first 16 count: so
//! that continuous integration tries other worlds with each commit and anybody can repeat them.
//! Several seeds are `N` (the first N, from 0 on) or `A..B` (from A on, without B); a commit alone
//! is that one seed.
//!
//! A budget of time is written as every span is.
//!
//! Invariant: a range is printed as it is read.

use plimsoll_sim::trace::time_text::parse_span;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

/// Reads one seed.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    let digits = |it: u8| it.is_ascii_hexdigit();
    if text.len() == 40 && text.bytes().all(digits) {
        return u64::from_str_radix(&text[..16], 16).map_err(|it| it.to_string());
    }
    text.parse().map_err(|_| {
        "expected a number from 0 to 18446744073709551615, or a commit hash of 40 hexadecimal digits"
            .to_owned()
    })
}

/// Some seeds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Seeds(pub(crate) Range<u64>);

/// Reads a range of seeds.
pub(crate) fn seeds(text: &str) -> Result<Seeds, String> {
    let Some((from, to)) = text.split_once("..") else {
        // A commit is one seed, not a number of seeds.
        let is_commit = text.len() == 40;
        return seed(text)
            .map(|it| Seeds(if is_commit { it..it.saturating_add(1) } else { 0..it }));
    };
    let (from, to) = (seed(from)?, seed(to)?);
    if to < from {
        return Err(format!("expected the smaller seed first, such as {to}..{from}"));
    }
    Ok(Seeds(from..to))
}

/// Reads how long something may take.
pub(crate) fn budget(text: &str) -> Result<Duration, String> {
    let span = parse_span(text).map_err(|it| it.to_string())?;
    u64::try_from(span.0)
        .map(Duration::from_millis)
        .map_err(|_| "expected a span that is not negative, such as 60s".to_owned())
}

impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.0.start, self.0.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_number_or_a_commit() {
        assert_eq!(seed("17"), Ok(17));
        assert_eq!(seed("00000000000000ff000000000000000000000000"), Ok(255));
        assert!(seed("-1").is_err());
        assert!(seed("00ff").is_err(), "a short hash is no seed");
    }

    #[test]
    fn seeds_are_the_first_n_or_from_a_to_b() {
        assert_eq!(seeds("100"), Ok(Seeds(0..100)));
        assert_eq!(seeds("5..9"), Ok(Seeds(5..9)));
        assert_eq!(seeds("5..9").map(|it| it.to_string()), Ok("5..9".to_owned()));
        assert!(seeds("9..5").is_err_and(|it| it.contains("5..9")));
        assert!(seeds("a..b").is_err());
    }

    #[test]
    fn a_budget_is_a_span() {
        assert_eq!(budget("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(budget("2min"), Ok(Duration::from_secs(120)));
        assert!(budget("-1s").is_err());
        assert!(budget("soon").is_err());
    }
}
