//! Words of a line, and the quotes around text that is more than one.
//!
//! A line is words between blanks. A value may stand in double quotes, then it may hold anything, with
//! `\"`, `\\`, `\n`, `\r`, `\t` and `\u{..}`; outside of quotes a backslash is just a backslash. A word
//! that begins with `#` begins a comment. A lone `-` is null, and the text `"-"` is quoted.
//!
//! Invariant: a quoted text is one word, on one line, and means the text that was quoted.

use std::borrow::Cow;
use std::fmt::Write as _;

/// A stretch of a line between blanks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Word<'a> {
    /// Where it begins, in bytes.
    pub(super) at: usize,
    /// As it stands there, quotes and all.
    pub(super) raw: &'a str,
}

/// What is wrong with a word: (place in bytes, expected, found).
pub(super) type WordError = (usize, &'static str, String);

/// A value without its quotes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Value<'a> {
    /// Where it begins, in bytes.
    pub(super) at: usize,
    /// What it says.
    pub(super) text: Cow<'a, str>,
    /// Whether it stood in quotes.
    pub(super) quoted: bool,
}

impl Value<'_> {
    pub(super) fn is_null(&self) -> bool {
        !self.quoted && self.text == "-"
    }
}

/// The words of a line, up to a comment.
pub(super) fn words(line: &str) -> Result<Vec<Word<'_>>, WordError> {
    let mut words = Vec::new();
    let mut at = 0;
    loop {
        let rest = &line[at..];
        let Some(begin) = rest.find(|it: char| !it.is_whitespace()) else { return Ok(words) };
        at += begin;
        let rest = &line[at..];
        if rest.starts_with('#') {
            return Ok(words);
        }
        let length = word_length(rest)
            .map_err(|(offset, expected)| (at + offset, expected, shown(&rest[offset..])))?;
        words.push(Word { at, raw: &rest[..length] });
        at += length;
    }
}

fn word_length(rest: &str) -> Result<usize, (usize, &'static str)> {
    let plain = rest.find(|it: char| it.is_whitespace() || it == '"').unwrap_or(rest.len());
    if !rest[plain..].starts_with('"') {
        return Ok(plain);
    }
    if 0 < plain && !rest[..plain].ends_with('=') {
        return Err((plain, "quotes around the whole value"));
    }
    let mut escaped = false;
    for (i, it) in rest[plain + 1..].char_indices() {
        let after = plain + 1 + i + it.len_utf8();
        match it {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' if rest[after..].starts_with(|it: char| !it.is_whitespace()) => {
                return Err((after, "a blank after the closing quote"));
            }
            '"' => return Ok(after),
            _ => {}
        }
    }
    Err((plain, "a closing quote on this line"))
}

impl<'a> Word<'a> {
    /// Takes `KEY=VALUE` apart.
    pub(super) fn pair(self) -> Option<(&'a str, Word<'a>)> {
        let (key, value) = self.raw.split_once('=')?;
        (!key.contains('"')).then(|| (key, Word { at: self.at + key.len() + 1, raw: value }))
    }

    /// What the word says, without its quotes.
    pub(super) fn value(self) -> Result<Value<'a>, WordError> {
        let Word { at, raw } = self;
        let inner = raw.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        let Some(inner) = inner else {
            return Ok(Value { at, text: Cow::Borrowed(raw), quoted: false });
        };
        if !inner.contains('\\') {
            return Ok(Value { at, text: Cow::Borrowed(inner), quoted: true });
        }
        let mut text = String::with_capacity(inner.len());
        let mut rest = inner;
        while let Some((before, escape)) = rest.split_once('\\') {
            text.push_str(before);
            let Some((meant, length)) = unescape(escape) else {
                let place = at + 1 + (inner.len() - escape.len() - 1);
                let expected = "one of `\\\"`, `\\\\`, `\\n`, `\\r`, `\\t` or `\\u{..}`";
                return Err((place, expected, shown(&inner[inner.len() - escape.len() - 1..])));
            };
            text.push(meant);
            rest = &escape[length..];
        }
        text.push_str(rest);
        Ok(Value { at, text: Cow::Owned(text), quoted: true })
    }
}

/// What stands behind a backslash: the character meant, and how many bytes say it.
fn unescape(text: &str) -> Option<(char, usize)> {
    let plain = match text.as_bytes().first()? {
        b'"' => '"',
        b'\\' => '\\',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let (digits, _) = text.strip_prefix("u{")?.split_once('}')?;
            let hex = digits.len() <= 6 && digits.bytes().all(|it| it.is_ascii_hexdigit());
            let code = if hex { u32::from_str_radix(digits, 16).ok()? } else { return None };
            return Some((char::from_u32(code)?, digits.len() + 3));
        }
        _ => return None,
    };
    Some((plain, 1))
}

/// A text as a word: in quotes where it needs them.
pub(crate) fn quoted(text: &str) -> Cow<'_, str> {
    let plain = |it: char| !it.is_whitespace() && !it.is_control() && it != '"';
    if !text.is_empty() && text != "-" && text.chars().all(plain) {
        return Cow::Borrowed(text);
    }
    let mut word = String::with_capacity(text.len() + 2);
    word.push('"');
    for it in text.chars() {
        match it {
            '"' => word.push_str("\\\""),
            '\\' => word.push_str("\\\\"),
            '\n' => word.push_str("\\n"),
            '\r' => word.push_str("\\r"),
            '\t' => word.push_str("\\t"),
            ' ' => word.push(' '),
            _ if it.is_control() || it.is_whitespace() => {
                write!(word, "\\u{{{:x}}}", u32::from(it)).expect("a string takes all text");
            }
            _ => word.push(it),
        }
    }
    word.push('"');
    Cow::Owned(word)
}

/// What an error shows of a text: its beginning, on one line.
pub(crate) fn shown(text: &str) -> String {
    let text = text.trim_end();
    if text.is_empty() {
        return "the end".to_owned();
    }
    let (cut, dots) = match text.char_indices().nth(40) {
        Some((cut, _)) => (cut, ".."),
        None => (text.len(), ""),
    };
    let printable = |it: char| if it.is_control() { '\u{fffd}' } else { it };
    format!("`{}{dots}`", text[..cut].chars().map(printable).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_words(line: &str, expected: &[&str]) {
        let words = words(line).expect(line);
        assert_eq!(words.iter().map(|it| it.raw).collect::<Vec<_>>(), expected);
        assert!(words.iter().all(|it| line[it.at..].starts_with(it.raw)));
    }

    fn check_error(line: &str, expected: (usize, &'static str, &str)) {
        let value = |it: &Word<'_>| it.pair().map_or(*it, |it| it.1).value().map(|_| ());
        let found = words(line).and_then(|it| value(it.last().expect("a word")));
        let (at, what, found) = found.expect_err(line);
        assert_eq!((at, what, found.as_str()), expected, "{line}");
    }

    #[test]
    fn blanks_part_words_and_a_hash_ends_them() {
        check_words("  row\tp0  k=a#1 # a comment", &["row", "p0", "k=a#1"]);
        check_words("k=\"a # b\" \"x\"", &["k=\"a # b\"", "\"x\""]);
        check_words("", &[]);
    }

    #[test]
    fn every_text_survives_its_quotes() {
        let texts =
            ["", "-", "a", "a b", "\"", "\\", "a\\n", "\u{85}\u{2028}\n\r\t", "#", "=", "ä\u{0}"];
        for text in texts {
            let line = format!("k={} next", quoted(text));
            let words = words(&line).expect(&line);
            let (key, value) = words[0].pair().expect(&line);
            let value = value.value().expect(&line);
            assert_eq!((key, value.text.as_ref(), value.is_null()), ("k", text, false), "{line}");
            assert_eq!(words.len(), 2, "{line}");
        }
    }

    #[test]
    fn a_dash_is_null_unless_it_is_quoted() {
        assert!(Word { at: 0, raw: "-" }.value().expect("a word").is_null());
        assert!(!Word { at: 0, raw: "\"-\"" }.value().expect("a word").is_null());
    }

    #[test]
    fn broken_quotes_say_where() {
        check_error("row k=\"a b", (6, "a closing quote on this line", "`\"a b`"));
        check_error("k=\"a\"b", (5, "a blank after the closing quote", "`b`"));
        check_error("k=a\"b\"", (3, "quotes around the whole value", "`\"b\"`"));
        let expected = "one of `\\\"`, `\\\\`, `\\n`, `\\r`, `\\t` or `\\u{..}`";
        check_error("k=\"a\\qb\"", (4, expected, "`\\qb`"));
    }

    #[test]
    fn an_error_shows_one_short_line() {
        assert_eq!(shown("a\nb "), "`a\u{fffd}b`");
        assert_eq!(shown(&"x".repeat(50)), format!("`{}..`", "x".repeat(40)));
        assert_eq!(shown("  "), "the end");
    }
}
