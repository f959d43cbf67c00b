//! What a restart forgets, as words: `lost=watermark+maxima`, or another engine's rules by the name of
//! its profile, `like=flink`. Without a word everything is kept.
//!
//! Invariant: words that were written read back as the same rules.

use super::nearest;
use super::words::shown;
use plimsoll_engine::plan::restore::{Memory, RestoreRules};
use plimsoll_engine::profile;

/// One thing that can be forgotten: its word, and its place in the rules.
type Part = (&'static str, fn(&mut RestoreRules) -> &mut Memory);

const PARTS: [Part; 5] = [
    ("watermark", |it| &mut it.watermark),
    ("maxima", |it| &mut it.maxima),
    ("idleness", |it| &mut it.idleness),
    ("windows", |it| &mut it.windows),
    ("ledger", |it| &mut it.ledger),
];

/// The words of what is lost.
pub(crate) fn lost(mut rules: RestoreRules) -> impl Iterator<Item = &'static str> {
    PARTS.into_iter().filter(move |it| *it.1(&mut rules) == Memory::Lost).map(|it| it.0)
}

/// The rules as a number, one bit for each part.
pub(crate) fn bits(mut rules: RestoreRules) -> i64 {
    let lost = PARTS.into_iter().map(|it| i64::from(*it.1(&mut rules) == Memory::Lost));
    lost.fold(0, |bits, it| bits << 1 | it)
}

/// The same rules with one part kept that was lost, each in turn.
pub(crate) fn kept_one_more(rules: RestoreRules) -> impl Iterator<Item = RestoreRules> {
    PARTS.into_iter().filter_map(move |it| {
        let mut kept = rules;
        let memory = std::mem::replace(it.1(&mut kept), Memory::Kept);
        (memory == Memory::Lost).then_some(kept)
    })
}

/// What stands behind `restart`, with the space before it.
pub(super) fn words(rules: RestoreRules) -> String {
    let lost = lost(rules).collect::<Vec<_>>();
    if lost.is_empty() { String::new() } else { format!(" lost={}", lost.join("+")) }
}

/// Reads what stands behind `restart`; else what was expected and what was found.
pub(super) fn parse(word: &str) -> Result<RestoreRules, (String, String)> {
    match word.split_once('=') {
        Some(("lost", parts)) => {
            let mut rules = RestoreRules::EXACT;
            for part in parts.split('+') {
                let Some(it) = PARTS.iter().find(|it| it.0 == part) else {
                    let names = PARTS.map(|it| it.0);
                    let expected = nearest::expected("something that a restart loses", part, names);
                    return Err((expected, shown(part)));
                };
                let memory = it.1(&mut rules);
                if *memory == Memory::Lost {
                    return Err(("each word once".to_owned(), shown(part)));
                }
                *memory = Memory::Lost;
            }
            Ok(rules)
        }
        Some(("like", name)) => match profile::named(name) {
            Some(it) => Ok(it.restore),
            None => {
                let names = profile::all().iter().map(|it| it.name);
                Err((nearest::expected("the name of a profile", name, names), shown(name)))
            }
        },
        _ => Err((
            "lost=.. (watermark, maxima, idleness, windows, ledger), like=PROFILE, or nothing"
                .to_owned(),
            shown(word),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(word: &str) -> RestoreRules {
        parse(word).expect("words of a restart")
    }

    #[test]
    fn all_rules_are_written_and_read_back() {
        for bits in 0..32_i64 {
            let mut rules = RestoreRules::EXACT;
            for (at, part) in PARTS.iter().rev().enumerate() {
                if bits >> at & 1 == 1 {
                    *part.1(&mut rules) = Memory::Lost;
                }
            }
            assert_eq!(super::bits(rules), bits);
            let text = words(rules);
            match text.strip_prefix(' ') {
                Some(word) => assert_eq!(parsed(word), rules),
                None => assert_eq!(rules, RestoreRules::EXACT),
            }
            assert_eq!(kept_one_more(rules).count(), lost(rules).count());
            assert!(kept_one_more(rules).all(|it| lost(it).count() + 1 == lost(rules).count()));
        }
    }

    #[test]
    fn an_engine_is_named_by_its_profile() {
        assert_eq!(parsed("like=flink"), RestoreRules::NO_WATERMARK);
        assert_eq!(parsed("like=spark-4"), RestoreRules::GLOBAL_ONLY);
        assert_eq!(words(parsed("like=spark-4")), " lost=maxima+idleness");
        assert_eq!(words(parsed("like=seed")), "");
    }

    #[test]
    fn what_is_no_such_word_is_an_error_with_what_was_found() {
        for word in ["lost", "lost=", "lost=watermark+", "lost=maxima+maxima", "like=", "like=x"] {
            assert!(parse(word).is_err(), "{word}");
        }
        let (expected, found) = parse("lost=watermarks").expect_err("a typo");
        assert!(expected.contains("watermark") && found.contains("watermarks"), "{expected}");
    }
}
