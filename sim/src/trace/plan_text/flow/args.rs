//! The arguments of a stage: some by their place, most by name.
//!
//! Invariant: every argument is taken once or refused, and all mistakes of a stage are found.

use crate::trace::nearest;
use crate::trace::plan_text::keys::{Wrong, wrong};
use crate::trace::plan_text::nested;

/// The arguments of one stage that were not taken yet.
pub(super) struct Args<'a> {
    word: &'a str,
    placed: std::collections::VecDeque<&'a str>,
    named: Vec<(&'a str, &'a str)>,
    /// What is wrong so far.
    pub(super) wrongs: Vec<Wrong>,
}

impl<'a> Args<'a> {
    /// Of `word(inner)`, whose parentheses match.
    pub(super) fn new(word: &'a str, inner: &'a str) -> Self {
        let parts = nested::parts(inner, ',').unwrap_or_default();
        let mut args = Self { word, placed: [].into(), named: Vec::new(), wrongs: Vec::new() };
        for part in parts {
            match nested::pair(part) {
                Some(it) => args.named.push(it),
                None => args.placed.push_back(part),
            }
        }
        args
    }

    /// Notes a mistake; the value is missing then.
    pub(super) fn ok<T>(&mut self, read: Result<T, Wrong>) -> Option<T> {
        read.map_err(|it| self.wrongs.push(it)).ok()
    }

    /// The next argument by place.
    pub(super) fn next(&mut self) -> Option<&'a str> {
        self.placed.pop_front()
    }

    /// The next argument by place where it is this word.
    pub(super) fn next_is(&mut self, word: &str) -> bool {
        let is = self.placed.front() == Some(&word);
        if is {
            self.placed.pop_front();
        }
        is
    }

    /// The next argument by place, which must be there.
    pub(super) fn must<T>(
        &mut self,
        expected: &str,
        read: impl FnOnce(&str) -> Result<T, Wrong>,
    ) -> Option<T> {
        let read = match self.next() {
            Some(text) => read(text),
            None => Err(wrong(expected, self.word)),
        };
        self.ok(read)
    }

    /// What an argument says; `None` where it says nothing or cannot be read.
    pub(super) fn maybe<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, Wrong>,
    ) -> Option<T> {
        let at = self.named.iter().position(|it| it.0 == name)?;
        let (_, text) = self.named.remove(at);
        self.ok(read(text))
    }

    /// What an argument says, or what it is where it says nothing.
    pub(super) fn or<T>(
        &mut self,
        name: &str,
        default: T,
        read: impl FnOnce(&str) -> Result<T, Wrong>,
    ) -> T {
        self.maybe(name, read).unwrap_or(default)
    }

    /// The arguments of these names, in the order in which they stand.
    pub(super) fn all(&mut self, names: &[&str]) -> Vec<(&'a str, &'a str)> {
        let (taken, left) = self.named.iter().partition(|it| names.contains(&it.0));
        self.named = left;
        taken
    }

    /// What is left is wrong; `names` are all that the stage knows.
    pub(super) fn done(mut self, names: &[&str]) -> Vec<Wrong> {
        for it in std::mem::take(&mut self.placed) {
            let what = format!("nothing more by place in `{}`", self.word);
            self.wrongs.push(wrong(what, it));
        }
        for (name, value) in std::mem::take(&mut self.named) {
            let again = names.contains(&name);
            let what = format!("an argument of `{}`", self.word);
            self.wrongs.push(if again {
                wrong("each argument once", &format!("{name}={value}"))
            } else {
                wrong(nearest::expected(&what, name, names.iter().copied()), name)
            });
        }
        self.wrongs
    }
}
