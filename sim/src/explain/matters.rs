//! What matters in a failing trace: each item is left out and each integer varied, and the failure
//! says how far that may go.
//!
//! The bounds are found by bisection between a value that fails and one that does not, so they hold
//! if the failure has one edge on each side, which is nearly always so. Where the number of runs is
//! used up, what was not looked at is said to be so.
//!
//! Invariant: a value that is called necessary was varied, and the failure was gone or had another name.

use crate::invariant::Violation;
use crate::shrink::Limits;
use crate::shrink::place::Place;
use crate::trace::Trace;
use serde::Serialize;
use std::fmt;

/// How much a value matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum Matter {
    /// Any other value and the failure is gone.
    Exactly,
    /// This or more.
    AtLeast(i64),
    /// This or less.
    AtMost(i64),
    /// From one to the other.
    Between(i64, i64),
    /// It may be anything that was tried.
    Irrelevant,
    /// The runs were used up before.
    Unknown,
}

/// One value, and how much it matters.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// What was varied.
    pub what: String,
    /// Its value, as text.
    pub value: String,
    /// How much it matters.
    pub matter: Matter,
    /// The same as a clause: `must be exactly 10s`.
    pub text: String,
}

/// What matters in a failing trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Matters {
    /// Items that can be left out, by number.
    pub removable: Vec<u64>,
    /// Neighbours that can be exchanged, by the number of the first.
    pub exchangeable: Vec<u64>,
    /// Integers, in the order of the plan and the items.
    pub findings: Vec<Finding>,
    /// Runs of the predicate.
    pub executions: u64,
}

/// More items than this are not left out one by one, and their values are not varied.
const MOST: usize = 200;
/// With more removable items than this the trace is to be shrunk first; its values say nothing yet.
const REMOVABLE: usize = 8;
/// How far from its place a time is tried at most: a million seconds.
const FAR_TIME: i64 = 1_000_000_000;
/// The same for other values.
const FAR_VALUE: i64 = 1_000_000;
/// How many times its size a window is tried at most.
const FAR_WINDOW: i64 = 60;

struct Varied<'a> {
    trace: &'a Trace,
    name: &'static str,
    fails: &'a mut dyn FnMut(&Trace) -> Option<Violation>,
    limit: u64,
    executions: u64,
}

impl Varied<'_> {
    /// Whether a trace fails in the same way; `None` where the runs are used up.
    fn fails(&mut self, trace: &Trace) -> Option<bool> {
        if self.limit <= self.executions {
            return None;
        }
        self.executions += 1;
        Some((self.fails)(trace).is_some_and(|it| it.name == self.name))
    }

    fn fails_with(&mut self, place: Place, value: i64) -> Option<bool> {
        let changed = place.with(self.trace, value);
        self.fails(&changed)
    }

    /// The last value from `value` towards `far` that fails; all of those between do, if the
    /// failure has one edge.
    fn edge(&mut self, place: Place, value: i64, far: i64) -> Option<i64> {
        if value == far || self.fails_with(place, far)? {
            return Some(far);
        }
        let (mut good, mut bad) = (value, far);
        let towards = (far - value).signum();
        // Steps that grow first: edges are near as a rule.
        let mut step = 1;
        while step < (bad - good).abs() {
            let next = good + towards * step;
            if self.fails_with(place, next)? {
                good = next;
                step *= 4;
            } else {
                bad = next;
            }
        }
        while 1 < (good - bad).abs() {
            let middle = good + (bad - good) / 2;
            if self.fails_with(place, middle)? {
                good = middle;
            } else {
                bad = middle;
            }
        }
        Some(good)
    }

    fn matter(&mut self, place: Place) -> Option<Matter> {
        let value = place.get(self.trace).unwrap_or(0);
        let far = match place {
            // A row is in size / slide windows: far out there is only work.
            Place::Size | Place::Slide => FAR_WINDOW.saturating_mul(value),
            _ if place.is_time(self.trace) => FAR_TIME,
            _ => FAR_VALUE,
        };
        let lowest = place.least().max(value.saturating_sub(far));
        let highest = value.saturating_add(far);
        let low = self.edge(place, value, lowest)?;
        let high = self.edge(place, value, highest)?;
        Some(match (low == lowest, high == highest) {
            (true, true) => Matter::Irrelevant,
            (true, false) => Matter::AtMost(high),
            (false, true) => Matter::AtLeast(low),
            (false, false) if low == high => Matter::Exactly,
            (false, false) => Matter::Between(low, high),
        })
    }
}

/// What matters in a trace that fails under this name.
pub fn matters(
    trace: &Trace,
    name: &'static str,
    fails: &mut dyn FnMut(&Trace) -> Option<Violation>,
    limits: Limits,
) -> Matters {
    let mut varied = Varied { trace, name, fails, limit: limits.executions, executions: 0 };
    let mut found = Matters {
        removable: Vec::new(),
        exchangeable: Vec::new(),
        findings: Vec::new(),
        executions: 0,
    };
    let items = trace.items.len().min(MOST);
    for at in 0..items {
        if varied.fails(&trace.without(at..at + 1)) == Some(true) {
            found.removable.push(at as u64 + 1);
        }
    }
    if REMOVABLE < found.removable.len() {
        found.executions = varied.executions;
        return found;
    }
    for at in 1..items {
        if trace.items[at - 1] == trace.items[at] {
            continue;
        }
        let mut changed = trace.clone();
        changed.items.swap(at - 1, at);
        if varied.fails(&changed) == Some(true) {
            found.exchangeable.push(at as u64);
        }
    }
    let places = Place::all(trace).filter(|it| !it.is_text(trace) && it.get(trace).is_some());
    for place in places.take(MOST) {
        let matter = varied.matter(place).unwrap_or(Matter::Unknown);
        let value = place.get(trace).unwrap_or(0);
        let text = |it| place.text(trace, it);
        found.findings.push(Finding {
            what: place.name(trace),
            value: text(value),
            matter,
            text: match matter {
                Matter::Exactly => format!("must be exactly {}", text(value)),
                Matter::AtLeast(it) => format!("must be at least {}", text(it)),
                Matter::AtMost(it) => format!("must be at most {}", text(it)),
                Matter::Between(a, b) => format!("must be from {} to {}", text(a), text(b)),
                Matter::Irrelevant => "does not matter".to_owned(),
                Matter::Unknown => "was not looked at".to_owned(),
            },
        });
    }
    found.executions = varied.executions;
    found
}

impl Matters {
    /// At most this many lines: what must be so first, then what need not.
    pub fn lines(&self, most: usize) -> Vec<String> {
        let tail = self.tail();
        let needed = |it: &&Finding| !matches!(it.matter, Matter::Irrelevant | Matter::Unknown);
        let needed = self.findings.iter().filter(needed);
        let mut lines: Vec<String> = needed.map(|it| format!("{} {}", it.what, it.text)).collect();
        let room = most.saturating_sub(tail.len());
        if room < lines.len() {
            let more = lines.len() + 1 - room.max(1);
            lines.truncate(room.saturating_sub(1));
            lines.push(format!(".. and {more} more values that matter"));
        }
        lines.extend(tail);
        lines.truncate(most);
        lines
    }

    fn tail(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let irrelevant = self.findings.iter().filter(|it| it.matter == Matter::Irrelevant);
        let irrelevant: Vec<&str> = irrelevant.map(|it| it.what.as_str()).collect();
        if !irrelevant.is_empty() {
            lines.push(format!("does not matter: {}", some(&irrelevant)));
        }
        match self.removable.len() {
            0 => {}
            many if REMOVABLE < many => {
                lines.push(format!("{many} single items can be left out: shrink it first"));
            }
            _ => lines.push(format!("can be left out: {}", items(&self.removable))),
        }
        if !self.exchangeable.is_empty() {
            let pairs = self.exchangeable.iter().map(|it| format!("{it} and {}", it + 1));
            let pairs: Vec<String> = pairs.collect();
            lines.push(format!("order does not matter between items {}", some(&pairs)));
        }
        let unknown = self.findings.iter().filter(|it| it.matter == Matter::Unknown).count();
        if 0 < unknown {
            lines.push(format!("{unknown} values were not looked at: the runs were used up"));
        }
        lines
    }
}

/// The first of a list, with commas.
fn some(names: &[impl AsRef<str>]) -> String {
    const MOST: usize = 8;
    let listed: Vec<&str> = names.iter().take(MOST).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(MOST) {
        0 => listed.join(", "),
        more => format!("{} and {more} more", listed.join(", ")),
    }
}

fn items(numbers: &[u64]) -> String {
    let numbers = numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    format!("items {numbers}")
}

impl fmt::Display for Matters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines(usize::MAX).iter().try_for_each(|it| writeln!(f, "{it}"))
    }
}
