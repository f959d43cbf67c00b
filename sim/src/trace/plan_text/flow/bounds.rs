//! The bounds of a join, and the flags of its expiry.
//!
//! Invariant: reading what was printed gives the same ranges, each with the ends that it had.

use crate::trace::plan_text::keys::{Wrong, one_of, wrong};
use crate::trace::plan_text::{nested, values};
use crate::trace::time_text::SpanText;
use plimsoll_engine::plan::flow::{Edge, Expiry, Range};

/// The names of bounds: those of lower ones, then those of upper ones, the closed first.
pub(super) const BOUNDS: [&str; 4] = ["from", "after", "to", "before"];

/// Ranges from their bounds, in order.
pub(super) fn ranges(bounds: &[(&str, &str)]) -> Result<Vec<Range>, Wrong> {
    let mut ranges: Vec<Range> = Vec::new();
    let mut open = false;
    for (name, text) in bounds {
        let edge = match *text {
            "none" if ["from", "to"].contains(name) => None,
            text => {
                let at = values::span(text)?;
                Some(Edge { at, open: ["after", "before"].contains(name) })
            }
        };
        let lower = ["from", "after"].contains(name);
        if lower {
            ranges.push(Range { lower: edge, upper: None });
        } else if let Some(last) = ranges.last_mut().filter(|_| open) {
            last.upper = edge;
        } else {
            ranges.push(Range { lower: None, upper: edge });
        }
        open = lower;
    }
    Ok(ranges)
}

/// The bounds of ranges, in order.
pub(super) fn ranges_text(ranges: &[Range]) -> Vec<String> {
    let mut bounds = Vec::new();
    let bound = |edge: Edge, closed: &str, open: &str| {
        format!("{}={}", if edge.open { open } else { closed }, SpanText(edge.at))
    };
    let mut ranges = ranges.iter().peekable();
    while let Some(range) = ranges.next() {
        match range.lower {
            Some(it) => bounds.push(bound(it, "from", "after")),
            None if range.upper.is_none() => bounds.push("from=none".to_owned()),
            None => {}
        }
        // Without a word the upper bound of the next range would be taken for this one's.
        let next = ranges.peek().is_some_and(|it| it.lower.is_none() && it.upper.is_some());
        match range.upper {
            Some(it) => bounds.push(bound(it, "to", "before")),
            None if next => bounds.push("to=none".to_owned()),
            None => {}
        }
    }
    bounds
}

type Flag = (&'static str, fn(&mut Expiry) -> &mut bool);

const FLAGS: [Flag; 4] = [
    ("at_bound", |it| &mut it.at_bound),
    ("with_grace", |it| &mut it.with_grace),
    ("own_time", |it| &mut it.own_time),
    ("loosest", |it| &mut it.loosest),
];

const NO_FLAGS: Expiry =
    Expiry { at_bound: false, with_grace: false, own_time: false, loosest: false };

/// `exact`, `none`, or flags with `+` between them.
pub(super) fn expiry(text: &str) -> Result<Expiry, Wrong> {
    let mut read = NO_FLAGS;
    match text {
        "exact" => return Ok(Expiry::EXACT),
        "none" => return Ok(read),
        _ => {}
    }
    let parts = nested::parts(text, '+').filter(|it| !it.is_empty()).unwrap_or_else(|| vec![text]);
    for part in parts {
        let Some((_, flag)) = FLAGS.iter().find(|it| it.0 == part) else {
            let flags = one_of(FLAGS.iter().map(|it| it.0));
            let expected = format!("`exact`, `none`, or of {flags} some with `+` between them");
            return Err(wrong(expected, part));
        };
        *flag(&mut read) = true;
    }
    Ok(read)
}

pub(super) fn expiry_text(mut expiry: Expiry) -> String {
    if expiry == Expiry::EXACT {
        return "exact".to_owned();
    }
    if expiry == NO_FLAGS {
        return "none".to_owned();
    }
    let set: Vec<&str> = FLAGS.iter().filter(|it| *it.1(&mut expiry)).map(|it| it.0).collect();
    set.join("+")
}
