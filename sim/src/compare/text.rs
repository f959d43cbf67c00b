//! A comparison as text for a tired person: what differs first, in a page.
//!
//! Profiles that agree share a line. Where there is more than fits, the number of the rest is said.
//!
//! Invariant: what is left out is counted; what the engine cannot vouch for is always said.

use super::{Comparison, FigureDifference, RowDifference, Written};
use crate::trace::time_text::TimeText;
use plimsoll_engine::time::EventTime;
use std::fmt::{self, Write as _};

/// How many differences of each kind fit on a page: rows, figures, times.
const PAGE: [usize; 3] = [4, 4, 3];

impl Comparison {
    /// The text: a page, or all of it.
    pub fn text(&self, all: bool) -> String {
        let mut text = String::new();
        let most = if all { [usize::MAX; 3] } else { PAGE };
        self.write(&mut text, most).expect("a string takes all text");
        text
    }

    fn write(&self, f: &mut String, most: [usize; 3]) -> fmt::Result {
        writeln!(f, "{}", self.cuts)?;
        self.table(f)?;
        if self.nothing_differs() && 1 < self.ran.len() {
            let (rows, figures) = (self.rows_in, self.figures_written);
            writeln!(
                f,
                "Nothing differs under {} profiles: {rows} rows with the same fate, {figures} \
                 figures with the same values at the same items.",
                self.ran.len()
            )?;
        }
        let title = format!("Rows with different fates: {} of {}", self.rows.len(), self.rows_in);
        section(f, &title, &self.rows, most[0], |f, it| self.row(f, it))?;
        let of = self.figures_written;
        let title = format!("Figures that differ: {} of {of}", self.figures.len());
        section(f, &title, &self.figures, most[1], |f, it| self.figure(f, it))?;
        let title = format!("The same figures at different items: {} of {of}", self.times.len());
        section(f, &title, &self.times, most[2], |f, it| self.time(f, it))?;
        self.trust(f)
    }

    fn width(&self) -> usize {
        self.ran.iter().map(|it| it.name.len()).max().unwrap_or(0).max(7)
    }

    fn table(&self, f: &mut String) -> fmt::Result {
        if self.ran.is_empty() {
            return Ok(());
        }
        let width = self.width();
        writeln!(
            f,
            "  {:<width$} {:>8} {:>8} {:>8} {:>8} {:>6}  watermark at the end",
            "profile", "counted", "late", "other", "figures", "held"
        )?;
        for it in &self.ran {
            let w = match it.watermark {
                EventTime::MIN => "none".to_owned(),
                w => TimeText(w).to_string(),
            };
            writeln!(
                f,
                "  {:<width$} {:>8} {:>8} {:>8} {:>8} {:>6}  {w}",
                it.name, it.rows_counted, it.rows_late, it.rows_other, it.figures, it.state_rows
            )?;
        }
        Ok(())
    }

    /// One line per thing said, with the names of those that say it.
    fn sayings(&self, f: &mut String, said: &[String]) -> fmt::Result {
        let mut done: Vec<&String> = Vec::new();
        for it in said {
            if done.contains(&it) {
                continue;
            }
            done.push(it);
            let by = self.ran.iter().zip(said).filter(|by| by.1 == it);
            let by: Vec<&str> = by.map(|by| by.0.name.as_str()).collect();
            writeln!(f, "    {}: {it}", by.join(", "))?;
        }
        Ok(())
    }

    fn row(&self, f: &mut String, it: &RowDifference) -> fmt::Result {
        writeln!(f, "  {}", it.row)?;
        let said: Vec<String> = it.fates.iter().map(ToString::to_string).collect();
        self.sayings(f, &said)
    }

    fn figure(&self, f: &mut String, it: &FigureDifference) -> fmt::Result {
        writeln!(f, "  {}", it.figure)?;
        let said = it.written.iter().map(|it| match it {
            Some(it) => format!("{} at {}", it.values, items(&it.items)),
            None => "missing".to_owned(),
        });
        self.sayings(f, &said.collect::<Vec<_>>())
    }

    fn time(&self, f: &mut String, it: &FigureDifference) -> fmt::Result {
        let written: Vec<&Written> = it.written.iter().flatten().collect();
        let values = written.first().map_or("", |it| it.values.as_str());
        writeln!(f, "  {} {values}", it.figure)?;
        let said = written.iter().map(|it| items(&it.items));
        self.sayings(f, &said.collect::<Vec<_>>())
    }

    /// What is not to be taken for the original.
    fn trust(&self, f: &mut String) -> fmt::Result {
        for it in &self.cannot {
            writeln!(f, "{} cannot carry the query: {}.", it.name, it.reason)?;
        }
        for it in &self.ran {
            if !it.notes.is_empty() {
                writeln!(f, "{}: {}.", it.name, it.notes.join("; "))?;
            }
        }
        for it in self.ran.iter().filter(|it| !it.verified) {
            let missing = it.missing.join("; ");
            writeln!(f, "{} is unverified: {missing}.", it.name)?;
        }
        Ok(())
    }
}

fn section<T>(
    f: &mut String,
    title: &str,
    all: &[T],
    most: usize,
    mut one: impl FnMut(&mut String, &T) -> fmt::Result,
) -> fmt::Result {
    if all.is_empty() {
        return Ok(());
    }
    writeln!(f, "{title}")?;
    for it in all.iter().take(most) {
        one(f, it)?;
    }
    match all.len().saturating_sub(most) {
        0 => Ok(()),
        more => writeln!(f, "  .. and {more} more: --all shows them"),
    }
}

/// `item 3`, `items 3, 5 and 2 more`.
fn items(numbers: &[u64]) -> String {
    const MOST: usize = 5;
    let text = |it: &u64| it.to_string();
    let shown = numbers.iter().take(MOST).map(text).collect::<Vec<_>>().join(", ");
    match numbers {
        [one] => format!("item {one}"),
        _ if MOST < numbers.len() => format!("items {shown} and {} more", numbers.len() - MOST),
        _ => format!("items {shown}"),
    }
}
