//! Texts with parentheses inside of parentheses.
//!
//! A stage is a call whose arguments may be calls, and a column that a stage writes is called
//! `sum(v)`: what parts a text counts only where no parenthesis is open.
//!
//! Invariant: every part lies within the text, without blanks at its ends, and its parentheses match.

/// The parts between `separator` outside of parentheses; an empty text has none. `None` where
/// parentheses do not match.
pub(super) fn parts(text: &str, separator: char) -> Option<Vec<&str>> {
    let (mut depth, mut from, mut parts) = (0_usize, 0, Vec::new());
    for (at, it) in text.char_indices() {
        match it {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            _ if it == separator && depth == 0 => {
                parts.push(text[from..at].trim());
                from = at + it.len_utf8();
            }
            _ => {}
        }
    }
    if depth != 0 {
        return None;
    }
    if !text.trim().is_empty() {
        parts.push(text[from..].trim());
    }
    Some(parts)
}

/// `word(inner)` or `word`, taken apart. `None` where it is neither.
pub(super) fn call(text: &str) -> Option<(&str, Option<&str>)> {
    let text = text.trim();
    let Some((word, rest)) = text.split_once('(') else {
        return (!text.contains(')')).then_some((text, None));
    };
    let inner = rest.strip_suffix(')')?.trim();
    parts(inner, ',').map(|_| (word.trim(), Some(inner)))
}

/// Where the first of these characters stands outside of parentheses.
pub(super) fn first(text: &str, of: &[char]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, it) in text.char_indices() {
        match it {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 && of.contains(&it) => return Some(at),
            _ => {}
        }
    }
    None
}

/// `name=value` at the first sign that no parenthesis holds.
pub(super) fn pair(text: &str) -> Option<(&str, &str)> {
    let at = first(text, &['='])?;
    Some((text[..at].trim(), text[at + 1..].trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_parentheses_parts_nothing() {
        assert_eq!(parts("a, b(c,d) ,e", ','), Some(vec!["a", "b(c,d)", "e"]));
        assert_eq!(parts("a||", '|'), Some(vec!["a", "", ""]));
        assert_eq!(parts("  ", ','), Some(vec![]));
        assert_eq!(parts("a(b", ','), None);
        assert_eq!(parts("a)(", ','), None);
        assert_eq!(pair("key=sum(v=1)"), Some(("key", "sum(v=1)")));
        assert_eq!(pair("sum(v=1)"), None);
    }

    #[test]
    fn a_call_has_one_pair_of_parentheses_around_the_rest() {
        assert_eq!(call("window( tumbling(1h),a )"), Some(("window", Some("tumbling(1h),a"))));
        assert_eq!(call("count"), Some(("count", None)));
        assert_eq!(call("a(b)(c)"), None);
        assert_eq!(call("a(b)c"), None);
        assert_eq!(call("a)"), None);
    }
}
