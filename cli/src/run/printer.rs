//! What `run` prints.
//!
//! Figures go out as they are written; late rows are listed behind them, the first of them one by one
//! and all of them as counts by cause. With `--json` each figure and each late row is a line of
//! its own, and the account is the last line.
//!
//! Invariant: a late row that is not listed is counted.

use super::Args;
use super::plan::Query;
use crate::console::Console;
use plimsoll_engine::late::LateCause;
use plimsoll_engine::output::{Fate, Output};
use plimsoll_engine::row::ItemId;
use plimsoll_sim::recording::report::{LateLine, Report};
use plimsoll_sim::recording::tally::Tally;
use plimsoll_sim::system::View;
use plimsoll_sim::trace::time_text::TimeText;
use plimsoll_sim::tune::text::{count_text, percent};
use serde_json::json;
use std::io::{self, Write};

/// Prints and counts.
pub(super) struct Printer {
    pub(super) tally: Tally,
    late: Vec<LateLine>,
    most: usize,
    /// Whether rows come out, not windows.
    flow: bool,
}

impl Printer {
    pub(super) fn new(args: &Args, query: &Query, tally: Tally) -> Self {
        let flow = query.checked.flow.is_some();
        Self { tally, late: Vec::new(), most: args.late_rows, flow }
    }

    /// Takes what came out of one or more calls.
    pub(super) fn observe(
        &mut self,
        report: &Report<'_>,
        out: &Output,
        line: impl Fn(ItemId) -> u64 + Copy,
        console: &mut Console,
    ) -> io::Result<()> {
        self.tally.observe(out);
        if !out.firings.is_empty() {
            for figure in report.figures(&out.firings) {
                if console.json {
                    console.json(&json!({ "figure": figure }))?;
                } else {
                    writeln!(console.out, "{}", figure.text())?;
                }
            }
        }
        for emission in report.emissions(&out.emissions) {
            if console.json {
                console.json(&json!({ "emission": emission }))?;
            } else {
                writeln!(console.out, "{}", emission.text())?;
            }
        }
        for record in &out.records {
            let Fate::Late(late) = &record.fate else { continue };
            if console.json {
                console.json(&json!({ "late": report.late(late, line) }))?;
            } else if self.late.len() < self.most {
                self.late.push(report.late(late, line));
            }
        }
        Ok(())
    }

    /// The account and the late rows. Whether the account adds up.
    pub(super) fn finish(&self, view: &View<'_>, console: &mut Console) -> io::Result<bool> {
        let (line, adds_up) = self.tally.conservation(view.arrivals_queued);
        let late = self.tally.late_rows();
        if console.json {
            let causes = LateCause::ALL.into_iter().zip(self.tally.late);
            let causes: serde_json::Map<_, _> =
                causes.map(|(cause, count)| (cause.name().to_owned(), json!(count))).collect();
            let watermark = view.watermark.is_finite().then_some(view.watermark.0);
            console.json(&json!({ "summary": {
                "rows": self.tally.rows,
                "parts": self.tally.parts(view.arrivals_queued).into_iter()
                    .map(|(name, count)| json!({ "rows": count, "what": name })).collect::<Vec<_>>(),
                "adds_up": adds_up,
                "late_by_cause": causes,
                "partly_late": self.tally.partly_late,
                "windows_written": self.tally.windows,
                "groups_written": self.tally.groups,
                "emitted": self.tally.emitted,
                "groups_held": view.groups,
                "steps": self.tally.steps,
                "watermark_ms": watermark,
            }}))?;
            return Ok(adds_up);
        }
        if 0 < self.tally.windows + self.tally.emitted {
            writeln!(console.out)?;
        }
        writeln!(console.out, "{line}")?;
        if late != 0 {
            let causes = LateCause::ALL.into_iter().zip(self.tally.late);
            let causes = causes.filter(|it| it.1 != 0);
            let causes: Vec<_> = causes
                .map(|(cause, count)| format!("{} {}", count_text(count), cause.name()))
                .collect();
            let share = percent(late, self.tally.rows);
            writeln!(console.out, "late: {share} of the rows ({})", causes.join(", "))?;
        }
        if self.tally.partly_late != 0 {
            let partly = count_text(self.tally.partly_late);
            writeln!(
                console.out,
                "partly late: {partly} rows were counted into their later windows only"
            )?;
        }
        let held = match view.groups {
            Some(0) | None => String::new(),
            Some(rows) if self.flow => format!(", {} state rows are held", count_text(rows)),
            Some(groups) => format!(", {} groups are held in open windows", count_text(groups)),
        };
        let written = if self.flow {
            format!("{} rows written", count_text(self.tally.emitted))
        } else {
            let windows = count_text(self.tally.windows);
            format!("{windows} windows with {} groups written", count_text(self.tally.groups))
        };
        writeln!(
            console.out,
            "{} steps, {written}, watermark {}{held}",
            count_text(self.tally.steps),
            TimeText(view.watermark)
        )?;
        self.table(late + self.tally.partly_late, console)?;
        Ok(adds_up)
    }

    fn table(&self, all: u64, console: &mut Console) -> io::Result<()> {
        if self.late.is_empty() {
            return Ok(());
        }
        let headings = LateLine::HEADINGS.map(str::to_owned);
        let rows = || self.late.iter().map(LateLine::cells);
        let mut widths = headings.each_ref().map(|it| it.chars().count());
        for row in rows() {
            for (width, cell) in widths.iter_mut().zip(&row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        writeln!(console.out, "\nlate rows")?;
        for row in std::iter::once(headings).chain(rows()) {
            let mut text = String::new();
            for (cell, width) in row.iter().zip(widths) {
                text.push_str(&format!("{cell:<width$}  "));
            }
            writeln!(console.out, "{}", text.trim_end())?;
        }
        let listed = self.late.len() as u64;
        if listed < all {
            let more = count_text(all - listed);
            writeln!(console.out, "and {more} more; --late-rows {all} lists them")?;
        }
        Ok(())
    }
}
