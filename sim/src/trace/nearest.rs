//! The nearest known word, for errors: who writes `dealy` meant `delay`.
//!
//! Near is a small number of single letters added, left out or replaced, the same measure for
//! everything that has a name here.
//!
//! Invariant: the answer is one of the words offered, and the first of those equally near.

/// The word nearest to `word`, where there is any and `word` is no longer than names are.
pub(crate) fn nearest<'a>(word: &str, among: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if 64 < word.len() {
        return None;
    }
    among.into_iter().min_by_key(|it| distance(word, it))
}

/// A sentence for an error: `what`, and the nearest of the words.
pub(crate) fn expected<'a>(
    what: &str,
    word: &str,
    among: impl IntoIterator<Item = &'a str>,
) -> String {
    match nearest(word, among) {
        Some(it) => format!("{what}; the nearest is `{it}`"),
        None => what.to_owned(),
    }
}

/// Levenshtein distance, in bytes.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.bytes().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_finds_its_word() {
        let words = ["window", "delay", "late", "late_policy"];
        assert_eq!(nearest("dealy", words), Some("delay"));
        assert_eq!(nearest("windows", words), Some("window"));
        assert_eq!(nearest("late_polic", words), Some("late_policy"));
        assert_eq!(nearest("", words), Some("late"));
        assert_eq!(nearest("x", []), None);
        assert_eq!(nearest(&"x".repeat(65), words), None);
    }

    #[test]
    fn the_distance_counts_single_letters() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
    }
}
