//! The answer as text, for a person.
//!
//! Invariant: every figure is computed by integers, so that two machines print the same text.

use super::advice::advise;
use super::{Tuning, delays};
use crate::trace::time_text::SpanText;
use plimsoll_engine::time::Span;
use std::fmt::{self, Write};

/// `part` of `whole` in per cent: two decimals, four below a tenth of a per cent.
pub fn percent(part: u64, whole: u64) -> String {
    if part == 0 || whole == 0 {
        return "0 %".to_owned();
    }
    let (part, whole) = (u128::from(part), u128::from(whole));
    let per_million = (part * 1_000_000 + whole / 2) / whole;
    if per_million < 1_000 {
        return match per_million {
            0 => "<0.0001 %".to_owned(),
            it => format!("{}.{:04} %", it / 10_000, it % 10_000),
        };
    }
    let hundredths = (part * 10_000 + whole / 2) / whole;
    format!("{}.{:02} %", hundredths / 100, hundredths % 100)
}

/// The same without zeros at the end.
pub fn share_text(part: u64, whole: u64) -> String {
    let text = percent(part, whole);
    let number = text.trim_end_matches(" %");
    let short = match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    };
    format!("{short} %")
}

/// A number with commas between thousands.
pub fn count_text(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at != 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A measured span without digits that nobody reads: whole seconds from a minute on, whole minutes from a
/// day on.
pub fn short_span(span: Span) -> SpanText {
    let unit = match span.0.unsigned_abs() {
        0..60_000 => 1,
        60_000..86_400_000 => 1_000,
        _ => 60_000,
    };
    SpanText(Span(span.0.div_euclid(unit) * unit))
}

/// Writes the whole answer.
///
/// # Errors
/// Those of the writer.
pub fn write(tuning: &Tuning, to: &mut impl Write) -> fmt::Result {
    write_counts(tuning, to)?;
    write_lateness(tuning, to)?;
    writeln!(to)?;
    write_table(tuning, &delays::of_table(tuning), to)?;
    writeln!(to)?;
    let advice = advise(tuning);
    writeln!(to, "{}", advice.sentence)?;
    for more in &advice.more {
        writeln!(to, "{more}")?;
    }
    Ok(())
}

fn write_counts(tuning: &Tuning, to: &mut impl Write) -> fmt::Result {
    let counts = tuning.counts;
    match counts.rows {
        1 => write!(to, "1 row")?,
        many => write!(to, "{} rows", count_text(many))?,
    }
    match tuning.partitions {
        1 => write!(to, ", 1 partition")?,
        many => write!(to, ", {many} partitions")?,
    }
    for (count, what) in [
        (counts.no_time, "without an event time"),
        (counts.time_out_of_range, "with an event time out of range"),
        (counts.no_window, "in no window"),
        (tuning.clock.unknown, "without an arrival time"),
    ] {
        if count != 0 && !(what.ends_with("arrival time") && count == counts.rows) {
            write!(to, ", {} {what}", count_text(count))?;
        }
    }
    writeln!(to, ".")
}

fn write_lateness(tuning: &Tuning, to: &mut impl Write) -> fmt::Result {
    let lateness = &tuning.lateness;
    let Some(max) = lateness.max() else {
        return writeln!(to, "No arrival times: loss and state are exact, latency is unknown.");
    };
    write!(to, "Plain lateness (arrival minus event):")?;
    for (permille, name) in [(500, "p50"), (900, "p90"), (990, "p99"), (999, "p99.9")] {
        let value = lateness.quantile(permille).unwrap_or(max);
        write!(to, " {name} {},", short_span(Span(value)))?;
    }
    writeln!(to, " max {}.", short_span(Span(max)))?;
    if tuning.counts.from_the_future != 0 {
        let (part, whole) = (tuning.counts.from_the_future, lateness.len() as u64);
        let (rows, share) = (count_text(part), percent(part, whole));
        writeln!(to, "{rows} rows ({share}) arrive before their event time.")?;
    }
    Ok(())
}

/// A table of the given delays.
///
/// # Errors
/// Those of the writer.
pub fn write_table(tuning: &Tuning, delays: &[(Span, String)], to: &mut impl Write) -> fmt::Result {
    // With one partition the candidates are the same.
    let asked = tuning.options.behind;
    let behinds: Vec<_> =
        tuning.looked_at().filter(|it| 1 < tuning.partitions || *it == asked).collect();
    let mut lines = vec![Vec::new(), Vec::new()];
    lines[0].extend(["", "rows lost behind"].map(str::to_owned));
    lines[0].resize(1 + behinds.len(), String::new());
    let priced = format!("written after window end ({})", asked.name());
    lines[0].extend([priced, String::new(), String::new()]);
    lines[0].extend(["groups held", "", "rows held", ""].map(str::to_owned));
    lines[1].push("delay".to_owned());
    lines[1].extend(behinds.iter().map(|it| it.name().to_owned()));
    lines[1].extend(["p50", "p95", "max", "max", "mean", "max", ""].map(str::to_owned));
    for (delay, note) in delays {
        let mut line = vec![SpanText(*delay).to_string()];
        for behind in &behinds {
            let lost = tuning.curve(*behind).map_or(0, |it| it.lost(*delay));
            let share = percent(lost, tuning.counts.judged);
            line.push(format!("{} {share:>9}", count_text(lost)));
        }
        let cost = tuning.cost(*delay);
        match cost.latency {
            None => line.extend(["-", "-", "-"].map(str::to_owned)),
            Some(it) => line.extend([it.p50, it.p95, it.max].map(|it| short_span(it).to_string())),
        }
        let mean = cost.groups.mean_tenths;
        line.push(count_text(cost.groups.max));
        line.push(format!("{}.{}", count_text(mean / 10), mean % 10));
        line.push(count_text(cost.rows.max));
        line.push(note.clone());
        lines.push(line);
    }
    // The first line has headings over several columns: they do not widen the columns.
    let widths: Vec<_> = (0..lines[1].len())
        .map(|at| lines[1..].iter().map(|it| it[at].chars().count()).max().unwrap_or(0))
        .collect();
    write_headings(&lines[0], &widths, to)?;
    for line in &lines[1..] {
        let mut text = String::new();
        let last = line.len() - 1;
        for (cell, width) in line[..last].iter().zip(&widths) {
            write!(text, "{cell:>width$}  ")?;
        }
        write!(text, "{}", line[last])?;
        writeln!(to, "{}", text.trim_end())?;
    }
    Ok(())
}

/// Each heading begins where its first column begins.
fn write_headings(headings: &[String], widths: &[usize], to: &mut impl Write) -> fmt::Result {
    let (mut text, mut place) = (String::new(), 0);
    for (heading, width) in headings.iter().zip(widths) {
        if !heading.is_empty() {
            let room = text.chars().count();
            // Right-aligned over its first column where it is short, else from its left edge.
            let length = heading.chars().count();
            let from = if length < *width { place + width - length } else { place };
            text.extend(std::iter::repeat_n(' ', from.saturating_sub(room)));
            if !text.is_empty() && !text.ends_with(' ') {
                text.push_str("  ");
            }
            text.push_str(heading);
        }
        place += width + 2;
    }
    writeln!(to, "{}", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_rounded_and_small_ones_keep_their_digits() {
        assert_eq!(percent(1_626, 23_611), "6.89 %");
        assert_eq!(percent(7, 23_611), "0.0296 %");
        assert_eq!(percent(1, 100_000_000), "<0.0001 %");
        assert_eq!(percent(0, 5), "0 %");
        assert_eq!(share_text(100, 100_000), "0.1 %");
        assert_eq!(share_text(10_000, 100_000), "10 %");
        assert_eq!(percent(u64::MAX, u64::MAX), "100.00 %");
    }

    #[test]
    fn thousands_are_set_apart() {
        let texts = [0, 999, 1_000, 23_611, 1_000_000].map(count_text);
        assert_eq!(texts, ["0", "999", "1,000", "23,611", "1,000,000"]);
    }
}
