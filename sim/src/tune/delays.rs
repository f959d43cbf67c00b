//! Which delays a table shows: round ones, and those that the rows themselves suggest.
//!
//! Invariant: ascending, without doubles, from 0 to a delay that loses nothing.

use super::Tuning;
use super::text::share_text;
use plimsoll_engine::time::Span;
use std::collections::BTreeMap;

/// Delays that people set.
const ROUND: [Span; 22] = [
    Span(100),
    Span::seconds(1),
    Span::seconds(5),
    Span::seconds(10),
    Span::seconds(30),
    Span::minutes(1),
    Span::minutes(2),
    Span::minutes(5),
    Span::minutes(10),
    Span::minutes(15),
    Span::minutes(30),
    Span::hours(1),
    Span::hours(2),
    Span::hours(4),
    Span::hours(6),
    Span::hours(12),
    Span::hours(24),
    Span::hours(48),
    Span::hours(24 * 7),
    Span::hours(24 * 30),
    Span::hours(24 * 90),
    Span::hours(24 * 365),
];

/// Round delays from a hundredth of `largest` up to it.
pub(super) fn round(largest: Span) -> impl Iterator<Item = Span> {
    ROUND.into_iter().filter(move |it| largest.0 / 100 <= it.0 && *it < largest)
}

/// The delays of a table, each with what it stands for; round ones stand for themselves.
pub fn of_table(tuning: &Tuning) -> Vec<(Span, String)> {
    let curve = tuning.asked();
    let nothing_lost = curve.smallest_delay(0);
    let mut delays = BTreeMap::<Span, Vec<String>>::new();
    for delay in std::iter::once(Span::ZERO).chain(round(nothing_lost)) {
        delays.entry(delay).or_default();
    }
    for share in [10_000, 1_000, tuning.options.loss] {
        let delay = curve.smallest_delay_for(share);
        let notes = delays.entry(delay).or_default();
        let note = format!("loses at most {}", share_text(share, 100_000));
        if !notes.contains(&note) && delay != Span::ZERO {
            notes.push(note);
        }
    }
    if nothing_lost != Span::ZERO {
        delays.entry(nothing_lost).or_default().push("loses nothing".to_owned());
    }
    for (permille, name) in [(900, "p90"), (990, "p99"), (999, "p99.9")] {
        if let Some(plain) = tuning.lateness.quantile(permille).filter(|it| 0 < *it) {
            let note = format!("plain lateness {name}");
            delays.entry(Span(plain)).or_default().push(note);
        }
    }
    delays.into_iter().map(|(delay, notes)| (delay, notes.join(", "))).collect()
}
