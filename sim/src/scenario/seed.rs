//! A seed as text: a number, or a commit.
//!
//! A commit hash as the seed gives every commit a new world that anybody can run again (as
//! TigerBeetle's simulator does).
//!
//! Invariant: every number up to 2^64 - 1 is its own seed.

/// A text that is no seed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "expected a seed, a number below 2^64 or a commit of 40 hexadecimal digits, found `{found}`"
)]
pub struct SeedError {
    /// What stands there.
    pub found: String,
}

/// Reads a seed: a decimal number, or 40 hexadecimal digits, which are folded.
///
/// # Errors
/// Where the text is neither.
pub fn parse_seed(text: &str) -> Result<u64, SeedError> {
    let wrong = || SeedError { found: text.chars().take(60).collect() };
    if text.len() == 40 && text.bytes().all(|it| it.is_ascii_hexdigit()) {
        let part = |it: std::ops::Range<usize>| u64::from_str_radix(&text[it], 16);
        let parts = [part(0..16), part(16..32), part(32..40)];
        return parts.into_iter().try_fold(0, |sum, it| Ok(sum ^ it.map_err(|_| wrong())?));
    }
    if text.starts_with('+') {
        return Err(wrong());
    }
    text.parse().map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_its_own_seed() {
        assert_eq!(parse_seed("0"), Ok(0));
        assert_eq!(parse_seed("18446744073709551615"), Ok(u64::MAX));
    }

    #[test]
    fn a_commit_is_folded() {
        let commit = "00000000000000010000000000000002000000f0";
        assert_eq!(parse_seed(commit), Ok(0xf3));
        let upper = "ABCDEF0123456789ABCDEF0123456789ABCDEF01";
        assert_eq!(parse_seed(upper), parse_seed(&upper.to_lowercase()));
    }

    #[test]
    fn anything_else_is_refused_with_what_was_found() {
        for text in ["", "-1", "+1", "0x10", "18446744073709551616", "abcdef", &"g".repeat(40)] {
            assert!(parse_seed(text).is_err(), "{text}");
        }
        assert!(parse_seed("seven").unwrap_err().to_string().contains("`seven`"));
        assert!(parse_seed(&"ä".repeat(20)).is_err(), "40 bytes that are no digits");
    }
}
