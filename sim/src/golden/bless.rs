//! Golden lines held against what came out, and put right.
//!
//! Checking compares all lines of all items: where a file has lines for some items, an item without
//! any says that nothing comes out of it. Blessing accepts today's output. It writes only `=>` lines;
//! comments, blank lines, line ends and the way in which items are written stay as they are, and so
//! do the lines of an item that are right already.
//!
//! Invariant: `check` finds nothing in what `bless` has written, and blessing twice is blessing once.

use crate::trace::parse::{Line, Parsed};
use plimsoll_engine::row::ItemId;
use std::borrow::Cow;
use std::fmt;

/// An item out of which something else came than its lines say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// The item, from 1.
    pub item: ItemId,
    /// The line of the file at which the difference begins, from 1.
    pub line: usize,
    /// All golden lines of the item.
    pub expected: Vec<String>,
    /// What came out of it.
    pub found: Vec<String>,
}

impl fmt::Display for Mismatch {
    /// The lines that agree with a blank, those that were expected with `-`, those found with `+`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, item {}:", self.line, self.item.0)?;
        let same = agreeing(&self.expected, &self.found);
        for (mark, lines) in [
            (' ', &self.expected[..same]),
            ('-', &self.expected[same..]),
            ('+', &self.found[same..]),
        ] {
            for line in lines {
                write!(f, "\n{mark} => {line}")?;
            }
        }
        Ok(())
    }
}

fn agreeing(expected: &[String], found: &[String]) -> usize {
    expected.iter().zip(found).take_while(|(a, b)| a == b).count()
}

/// Holds the golden lines of a trace against what came out: `rendered[n - 1]` of item n.
pub fn check(parsed: &Parsed, rendered: &[Vec<String>]) -> Vec<Mismatch> {
    let mut golden = parsed.golden.iter().peekable();
    let mut mismatches = Vec::new();
    for (n, line) in (1..).zip(&parsed.lines) {
        let item = ItemId(n);
        let mut expected = Vec::new();
        let mut lines = Vec::new();
        while let Some(it) = golden.next_if(|it| it.item == item) {
            expected.push(it.text.clone());
            lines.push(it.line);
        }
        let found = rendered.get(n as usize - 1).cloned().unwrap_or_default();
        if expected != found {
            let same = agreeing(&expected, &found);
            let line = lines.get(same).or(lines.last()).copied().unwrap_or(*line);
            mismatches.push(Mismatch { item, line, expected, found });
        }
    }
    mismatches
}

/// The text with its golden lines replaced by what came out: `rendered[n - 1]` of item n.
pub fn bless(text: &str, rendered: &[Vec<String>]) -> String {
    let (mark, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    };
    let lines: Vec<(&str, &str)> = body.split_inclusive('\n').map(apart).collect();
    let blocks = blocks(&lines);
    let mut out: Vec<(Cow<'_, str>, &str)> = Vec::new();
    let mut item = 0;
    for (i, (line, end)) in lines.iter().enumerate() {
        let kind = Line::of(line);
        if kind == Line::Item {
            item += 1;
        }
        let block = &blocks[item];
        let new = item.checked_sub(1).and_then(|it| rendered.get(it)).map_or(&[][..], |it| it);
        let right = item == 0 || block.texts == new;
        if right || !matches!(kind, Line::Golden(_)) {
            out.push((Cow::Borrowed(line), end));
        }
        if block.place == i && !right {
            out.extend(new.iter().map(|it| (Cow::Owned(format!("=> {it}")), *end)));
        }
    }
    join(mark, &lines, &out)
}

/// A line and its end.
fn apart(line: &str) -> (&str, &str) {
    let content = line.strip_suffix('\n').unwrap_or(line);
    let content = content.strip_suffix('\r').unwrap_or(content);
    (content, &line[content.len()..])
}

/// The golden lines of one item.
struct Block<'a> {
    /// The line after which, or in whose place, they stand: the first of them, or the item's.
    place: usize,
    texts: Vec<&'a str>,
}

/// One block per item, from number 1; what stands above the first item is number 0.
fn blocks<'a>(lines: &[(&'a str, &str)]) -> Vec<Block<'a>> {
    let mut blocks = vec![Block { place: 0, texts: Vec::new() }];
    for (i, (line, _)) in lines.iter().enumerate() {
        match Line::of(line) {
            Line::Item => blocks.push(Block { place: i, texts: Vec::new() }),
            Line::Golden(text) => {
                let block = blocks.last_mut().expect("the first block stands there always");
                if block.texts.is_empty() {
                    block.place = i;
                }
                block.texts.push(text);
            }
            _ => {}
        }
    }
    blocks
}

/// The lines put together; only the last may be without an end, and only if it was before.
fn join(mark: &str, before: &[(&str, &str)], lines: &[(Cow<'_, str>, &str)]) -> String {
    let ended = before.last().is_none_or(|it| !it.1.is_empty());
    let usual = before.first().map_or("\n", |it| if it.1.is_empty() { "\n" } else { it.1 });
    let mut text = mark.to_owned();
    for (i, (line, end)) in lines.iter().enumerate() {
        text.push_str(line);
        let last = i + 1 == lines.len();
        if !last || ended {
            text.push_str(if end.is_empty() { usual } else { end });
        }
    }
    text
}
