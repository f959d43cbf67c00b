//! From the text of a trace to the trace.
//!
//! A trace is read by people at three in the morning, so a mistake in it is named with its line, its
//! column, what was expected and what was found, all mistakes of a file at once (up to
//! [`ERRORS_MAX`]), and what stands before the first of them is still there to be used.
//!
//! ```text
//! plimsoll-trace 1                  # the version; files that tools write have it
//! # a comment
//! plan window=tumbling(10min) delay=2min      # first and required; or: plan FILE.toml
//! row p0 10:08:30 k=a v=1           # PARTITION TIME COLUMN=VALUE..; a missing one is null, as is -
//! => watermark 10:06:30             # golden: what came out of the item above
//! heartbeat p1 10:09:00
//! tick +30s
//! probe
//! batch
//! add p2                            # or: without_watermark, at_group
//! move p2 with_watermark            # or: without_watermark, at_group
//! remove p2
//! finish p1
//! checkpoint
//! crash                             # or: crash stale
//! end
//! ```
//! A golden line is taken as it stands, to the end of the line. The TIME of a row goes into the
//! watermark's column; other columns are named, each at most once. How partitions are written is
//! said in [`partition`](super::partition).
//!
//! Invariant: no text makes this panic, and a trace that is read has a plan, cells for each row, and a
//! line for each item.

mod items;

use super::Trace;
use super::plan_text::{KEYS, PlanText, plan_from_pairs};
use super::words::{Word, WordError, shown, words};
use crate::plan_toml;
use plimsoll_engine::profile::Profile;
use plimsoll_engine::row::{Dictionary, ItemId};

/// The newest version of the format that this build reads.
pub const VERSION: u32 = 1;

/// So many mistakes are reported; who made more has the wrong file.
pub const ERRORS_MAX: usize = 20;

/// A trace and where its parts stand in the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parsed {
    /// The trace.
    pub trace: Trace,
    /// The comments above the plan, without `#` and one blank: origin and story.
    pub head: Vec<String>,
    /// The file that the plan was read from, where it is not in the trace itself.
    pub plan_file: Option<String>,
    /// The profile that the plan takes what it does not say from.
    pub profile: &'static Profile,
    /// The line of each item, from 1: `lines[n - 1]` for item n.
    pub lines: Vec<usize>,
    /// All golden lines, in order.
    pub golden: Vec<GoldenLine>,
}

/// One line of what should come out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GoldenLine {
    /// The item that it should come out of.
    pub item: ItemId,
    /// Its line, from 1.
    pub line: usize,
    /// What stands behind `=>`.
    pub text: String,
}

/// One mistake.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, column {column}: expected {expected}, found {found}")]
pub struct TraceError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// What should have stood there.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

/// A text that is not a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    /// All mistakes, at least one, in order of lines.
    pub errors: Vec<TraceError>,
    /// Everything before the first mistake, where the plan could be read.
    pub good: Option<Box<Parsed>>,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lines: Vec<String> = self.errors.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Broken {}

/// What a line is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Line<'a> {
    Blank,
    /// What stands behind `#`.
    Comment(&'a str),
    /// What stands behind `=>`.
    Golden(&'a str),
    Version,
    Plan,
    Item,
}

impl<'a> Line<'a> {
    pub(crate) fn of(line: &'a str) -> Self {
        let text = line.trim();
        if text.is_empty() {
            Self::Blank
        } else if let Some(comment) = text.strip_prefix('#') {
            Self::Comment(comment.strip_prefix(' ').unwrap_or(comment))
        } else if let Some(golden) = text.strip_prefix("=>") {
            Self::Golden(golden.trim())
        } else {
            match text.split_whitespace().next() {
                Some("plimsoll-trace") => Self::Version,
                Some("plan") => Self::Plan,
                _ => Self::Item,
            }
        }
    }
}

/// The lines of a text, without line ends and without a byte order mark.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.split('\n').map(|it| it.strip_suffix('\r').unwrap_or(it))
}

/// Reads a trace whose plan is in it.
///
/// # Errors
/// All mistakes, and what is good before the first.
pub fn parse(text: &str) -> Result<Parsed, Broken> {
    parse_with(text, &mut |_| Err("cannot be read here".to_owned()))
}

/// Reads a trace; `plan_file` gives the text of the file that a `plan FILE.toml` names, or says why
/// there is none.
///
/// # Errors
/// All mistakes, and what is good before the first.
pub fn parse_with(
    text: &str,
    plan_file: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<Parsed, Broken> {
    let mut reading = Reading::default();
    for (line, text) in (1..).zip(lines(text)) {
        reading.line = line;
        reading.text = text;
        match Line::of(text) {
            Line::Blank => {}
            Line::Comment(comment) if !reading.plan_seen => reading.head.push(comment.to_owned()),
            Line::Comment(_) => {}
            Line::Golden(text) => reading.golden(text),
            Line::Version => reading.version(),
            Line::Plan => reading.plan(plan_file),
            Line::Item => reading.item(),
        }
        if reading.stop || ERRORS_MAX <= reading.errors.len() {
            break;
        }
    }
    if !reading.plan_seen && !reading.stop {
        let expected = "`plan ..`, the first line of every trace";
        reading.error(0, expected, "the end of the file".to_owned());
    }
    reading.done()
}

/// Reads a trace from bytes that should be UTF-8.
///
/// # Errors
/// All mistakes, and what is good before the first.
pub fn parse_bytes(
    bytes: &[u8],
    plan_file: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<Parsed, Broken> {
    let broken = match std::str::from_utf8(bytes) {
        Ok(text) => return parse_with(text, plan_file),
        Err(it) => it.valid_up_to(),
    };
    let good = std::str::from_utf8(&bytes[..broken]).unwrap_or_default();
    let last = good.rfind('\n').map_or(0, |it| it + 1);
    let error = TraceError {
        line: good.matches('\n').count() + 1,
        column: good[last..].chars().count() + 1,
        expected: "text in UTF-8".to_owned(),
        found: format!("the byte 0x{:02x}", bytes[broken]),
    };
    let (mut errors, good) = match parse_with(&good[..last], plan_file) {
        Ok(it) => (Vec::new(), Some(Box::new(it))),
        Err(it) => (it.errors, it.good),
    };
    errors.retain(|it| it.line < error.line); // Not that the plan is missing in what was cut.
    errors.push(error);
    Err(Broken { errors, good })
}

/// A trace while it is read.
#[derive(Default)]
struct Reading<'a> {
    line: usize,
    text: &'a str,
    plan_seen: bool,
    version_seen: bool,
    stop: bool,
    head: Vec<String>,
    plan_file: Option<String>,
    profile: Option<&'static Profile>,
    trace: Option<Trace>,
    lines: Vec<usize>,
    golden: Vec<GoldenLine>,
    items_seen: usize,
    errors: Vec<TraceError>,
}

impl<'a> Reading<'a> {
    /// A mistake at a byte of this line.
    fn error(&mut self, at: usize, expected: impl Into<String>, found: String) {
        let column = self.text.get(..at).unwrap_or(self.text).chars().count() + 1;
        self.errors.push(TraceError { line: self.line, column, expected: expected.into(), found });
    }

    fn words(&mut self) -> Vec<Word<'a>> {
        words(self.text).unwrap_or_else(|(at, expected, found)| {
            self.error(at, expected, found);
            Vec::new()
        })
    }

    fn word_error(&mut self, (at, expected, found): WordError) {
        self.error(at, expected, found);
    }

    /// Whatever stands behind the words that have a meaning.
    fn nothing_more(&mut self, rest: &[Word<'_>]) {
        if let Some(it) = rest.first() {
            self.error(it.at, "nothing more", shown(it.raw));
        }
    }

    fn version(&mut self) {
        let words = self.words();
        let Some(first) = words.first() else { return };
        if self.plan_seen || self.version_seen {
            self.error(first.at, "the version once, above everything else", shown(first.raw));
            return;
        }
        self.version_seen = true;
        let at = words.get(1).map_or(self.text.trim_end().len(), |it| it.at);
        let found = words.get(1).map_or("", |it| it.raw);
        match found.parse::<u32>() {
            Ok(1..=VERSION) => self.nothing_more(&words[2..]),
            _ => {
                let expected = format!("version {VERSION}, the only one that this build reads");
                self.error(at, expected, shown(found));
                self.stop = true; // Nothing is known about what follows.
            }
        }
    }

    fn plan(&mut self, plan_file: &mut dyn FnMut(&str) -> Result<String, String>) {
        let words = self.words();
        if self.plan_seen {
            let expected = "an item: a trace has one plan";
            self.error(words.first().map_or(0, |it| it.at), expected, "`plan`".to_owned());
            return;
        }
        self.plan_seen = true;
        let Some((_, pairs)) = words.split_first() else { return };
        let read = match pairs {
            [file, rest @ ..] if file.pair().is_none() => {
                self.nothing_more(rest);
                self.plan_of_file(*file, plan_file)
            }
            _ => self.plan_of_pairs(pairs),
        };
        self.trace = read.map(|PlanText { plan, clock, profile }| {
            self.profile = Some(profile);
            let dictionary = Dictionary::default();
            Trace { plan, clock, dictionary, items: Vec::new(), cells: Vec::new() }
        });
    }

    fn plan_of_file(
        &mut self,
        word: Word<'_>,
        plan_file: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Option<PlanText> {
        let name = word.value().map_err(|it| self.word_error(it)).ok()?;
        if !name.text.ends_with(".toml") {
            let expected = "KEY=VALUE or the name of a .toml file";
            self.error(word.at, expected, shown(word.raw));
            return None;
        }
        let text = match plan_file(&name.text) {
            Ok(it) => it,
            Err(why) => {
                self.error(word.at, "a file with a plan", format!("{}: {why}", shown(word.raw)));
                return None;
            }
        };
        self.plan_file = Some(name.text.to_string());
        match plan_toml::plan_from_toml(&text, &[]) {
            Ok(it) => Some(it),
            Err(errors) => {
                for it in errors {
                    let line = text[..it.span.start].matches('\n').count() + 1;
                    let found = format!("{} in line {line} of {}", it.found, shown(word.raw));
                    self.error(word.at, it.expected, found);
                }
                None
            }
        }
    }

    fn plan_of_pairs(&mut self, words: &[Word<'a>]) -> Option<PlanText> {
        let before = self.errors.len();
        let mut pairs = Vec::new();
        for word in words {
            let Some((key, value)) = word.pair() else {
                self.error(word.at, "KEY=VALUE", shown(word.raw));
                continue;
            };
            match value.value() {
                Ok(value) => pairs.push((key, value.text, word.at)),
                Err(it) => self.word_error(it),
            }
        }
        match plan_from_pairs(pairs.iter().map(|it| (it.0, it.1.as_ref()))) {
            Ok(it) => (self.errors.len() == before).then_some(it),
            Err(errors) => {
                for it in errors {
                    let same = |pair: &&(&str, std::borrow::Cow<'_, str>, usize)| {
                        pair.0 == it.key && pair.1 == it.value
                    };
                    let word = pairs.iter().rev().find(same).map_or(0, |it| it.2);
                    let pair = shown(&format!("{}={}", it.key, it.value));
                    let about_key = it.found == pair || !KEYS.contains(&it.key.as_str());
                    let at = if about_key || it.value.is_empty() {
                        word
                    } else {
                        word + it.key.len() + 1
                    };
                    let found = if it.value.is_empty() { pair } else { it.found };
                    self.error(at, it.expected, found);
                }
                None
            }
        }
    }

    fn item(&mut self) {
        self.items_seen += 1;
        if !self.plan_seen {
            self.plan_seen = true;
            let at = self.text.len() - self.text.trim_start().len();
            let first = self.text.split_whitespace().next().unwrap_or_default();
            self.error(at, "`plan ..`, the first line of every trace", shown(first));
        }
        let before = self.errors.len();
        let item = items::read(self);
        debug_assert!(item.is_some() || before < self.errors.len() || self.trace.is_none());
        if self.errors.is_empty()
            && let (Some(item), Some(trace)) = (item, &mut self.trace)
        {
            match item {
                items::Read::Item(item) => trace.items.push(item),
                items::Read::Row(partition, cells) => trace.push_row(partition, &cells),
            }
            self.lines.push(self.line);
        }
    }

    fn golden(&mut self, text: &str) {
        let item = ItemId(self.lines.len() as u64);
        if self.items_seen == 0 {
            let at = self.text.len() - self.text.trim_start().len();
            self.error(at, "an item above what comes out of it", shown(self.text.trim_start()));
        } else if self.errors.is_empty() {
            self.golden.push(GoldenLine { item, line: self.line, text: text.to_owned() });
        }
    }

    fn done(self) -> Result<Parsed, Broken> {
        let Self { head, plan_file, profile, lines, golden, mut errors, trace, .. } = self;
        let good = trace.zip(profile).map(|(trace, profile)| Parsed {
            trace,
            head,
            plan_file,
            profile,
            lines,
            golden,
        });
        match good {
            Some(good) if errors.is_empty() => Ok(good),
            good => {
                errors.truncate(ERRORS_MAX);
                assert!(!errors.is_empty(), "a trace without a plan has a mistake that says so");
                Err(Broken { errors, good: good.map(Box::new) })
            }
        }
    }
}

#[cfg(test)]
mod tests;
