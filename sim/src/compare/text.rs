//! A comparison as text for a tired person: what differs first, in a page.
//!
//! Profiles that agree share a line. Where there is more than fits, the number of the rest is said.
//!
//! Invariant: what is left out is counted; what the engine cannot vouch for is always said.

use super::{Comparison, FigureDifference, RowDifference, Written};
use crate::trace::time_text::TimeText;
use plimsoll_engine::time::EventTime;
use std::fmt::{self, Write as _};

/// The lines of a page.
const PAGE: usize = 40;

/// A kind of difference: its title, and the lines of each one.
struct Section {
    title: String,
    blocks: Vec<String>,
}

impl Comparison {
    /// The text: a page, or all of it.
    pub fn text(&self, all: bool) -> String {
        let (mut head, mut tail) = (String::new(), String::new());
        self.head(&mut head).expect("a string takes all text");
        self.trust(&mut tail).expect("a string takes all text");
        let sections = self.sections();
        let taken = if all {
            sections.iter().map(|it| it.blocks.len()).collect()
        } else {
            // A title and a line for the rest belong to each section.
            let room = PAGE.saturating_sub(lines(&head) + lines(&tail) + 2 * sections.len());
            share(&sections, room)
        };
        let mut text = head;
        for (section, taken) in sections.iter().zip(taken) {
            text.push_str(&section.title);
            text.push('\n');
            section.blocks.iter().take(taken).for_each(|it| text.push_str(it));
            match section.blocks.len() - taken {
                0 => {}
                more => text.push_str(&format!("  .. and {more} more: --all shows them\n")),
            }
        }
        text + &tail
    }

    fn head(&self, f: &mut String) -> fmt::Result {
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
        Ok(())
    }

    fn sections(&self) -> Vec<Section> {
        let of = self.figures_written;
        let rows = (
            format!("Rows with different fates: {} of {}", self.rows.len(), self.rows_in),
            self.rows.iter().map(|it| self.row(it)).collect::<Vec<_>>(),
        );
        let figures = (
            format!("Figures that differ: {} of {of}", self.figures.len()),
            self.figures.iter().map(|it| self.figure(it)).collect(),
        );
        let times = (
            format!("The same figures at different items: {} of {of}", self.times.len()),
            self.times.iter().map(|it| self.time(it)).collect(),
        );
        let all = [rows, figures, times].map(|(title, blocks)| Section { title, blocks });
        all.into_iter().filter(|it| !it.blocks.is_empty()).collect()
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

    /// What is spoken of, then one line per thing said with the names of those that say it.
    fn block(&self, of: &str, said: &[String]) -> String {
        let mut text = format!("  {of}\n");
        for (at, it) in said.iter().enumerate() {
            if said[..at].contains(it) {
                continue;
            }
            let by = self.ran.iter().zip(said).filter(|by| by.1 == it);
            let by: Vec<&str> = by.map(|by| by.0.name.as_str()).collect();
            text.push_str(&format!("    {}: {it}\n", by.join(", ")));
        }
        text
    }

    fn row(&self, it: &RowDifference) -> String {
        let said: Vec<String> = it.fates.iter().map(ToString::to_string).collect();
        self.block(&it.row.to_string(), &said)
    }

    fn figure(&self, it: &FigureDifference) -> String {
        let said = it.written.iter().map(|it| match it {
            Some(it) => format!("{} at {}", it.values, items(&it.items)),
            None => "missing".to_owned(),
        });
        self.block(&it.figure, &said.collect::<Vec<_>>())
    }

    fn time(&self, it: &FigureDifference) -> String {
        let written: Vec<&Written> = it.written.iter().flatten().collect();
        let values = written.first().map_or("", |it| it.values.as_str());
        let said: Vec<String> = written.iter().map(|it| items(&it.items)).collect();
        self.block(&format!("{} {values}", it.figure), &said)
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

fn lines(text: &str) -> usize {
    text.lines().count()
}

/// How many blocks of each section fit: in turns, at least one of each.
fn share(sections: &[Section], mut room: usize) -> Vec<usize> {
    let mut taken = vec![0; sections.len()];
    loop {
        let before = taken.clone();
        for (section, taken) in sections.iter().zip(&mut taken) {
            let Some(block) = section.blocks.get(*taken) else { continue };
            if *taken == 0 || lines(block) <= room {
                room = room.saturating_sub(lines(block));
                *taken += 1;
            }
        }
        if before == taken {
            return taken;
        }
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
