//! The story of a window, session or group in words.
//!
//! Invariant: the words say what the story has; nothing is worked out here.

use super::{Closing, Figure, GroupRow, GroupStory, GroupsStory, LineText, Lost, Opening};
use crate::explain::WindowText;
use crate::trace::time_text::{SpanText, TimeText};
use plimsoll_engine::time::EventTime;
use std::fmt;

/// More groups, rows or figures are counted, not listed.
const LISTED: usize = 24;

impl fmt::Display for GroupsStory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stage {}, `{}`", self.stage, self.does)?;
        let others = self.other_stages.iter().map(|it| format!("--stage {it}")).collect::<Vec<_>>();
        match others.as_slice() {
            [] => writeln!(f, ":")?,
            others => writeln!(f, " ({} looks at another one):", others.join(" or "))?,
        }
        for it in self.groups.iter().take(LISTED) {
            writeln!(f)?;
            write!(f, "{it}")?;
        }
        if LISTED < self.groups.len() {
            writeln!(f, "\n.. and {} more; START/KEY names one", self.groups.len() - LISTED)?;
        }
        Ok(())
    }
}

impl fmt::Display for GroupStory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.title(f)?;
        for it in self.rows.iter().take(LISTED) {
            writeln!(f, "  {it}")?;
        }
        if LISTED < self.rows.len() {
            writeln!(f, "  .. and {} more", self.rows.len() - LISTED)?;
        }
        let of = |fate: &str| self.rows.iter().filter(|it| it.fate == fate).count();
        let (counted, lost) = (of("counted"), of("lost"));
        writeln!(f, "{}: {counted} counted, {lost} lost.", rows(self.rows.len()))?;
        for it in &self.tried {
            writeln!(f, "Tried: {} keeps {} of the {} lost.", it.change, it.kept, it.of)?;
        }
        for it in self.lost_before.iter().take(LISTED) {
            writeln!(f, "An earlier stage had lost {it}; --row {} says why.", it.item)?;
        }
        if LISTED < self.lost_before.len() {
            writeln!(f, ".. and {} more", self.lost_before.len() - LISTED)?;
        }
        if let Some(it) = &self.forgotten_by {
            writeln!(f, "What it held was lost at {it}.")?;
        }
        match (&self.closing, &self.opening) {
            (None, None) if self.forgotten_by.is_some() => {}
            (Some(it), _) => write!(f, "{it}")?,
            (None, Some(it)) => write!(f, "{it}")?,
            (None, None) => writeln!(f, "There was no {} here: nothing was counted.", self.kind)?,
        }
        for it in self.figures.iter().take(LISTED) {
            writeln!(f, "{it}")?;
        }
        if LISTED < self.figures.len() {
            writeln!(f, ".. and {} more figures", self.figures.len() - LISTED)?;
        }
        self.trust_text(f)
    }
}

impl GroupStory {
    fn title(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut kind = self.kind.to_owned();
        kind[..1].make_ascii_uppercase();
        write!(f, "{kind}")?;
        if let Some(it) = self.number {
            write!(f, " {it}")?;
        }
        match (self.kind, self.window) {
            ("group", Some(it)) => write!(f, " of {}", TimeText(it.start))?,
            (_, Some(it)) => write!(f, " {}", WindowText(it))?,
            (_, None) => {}
        }
        match self.key.as_deref() {
            Some("") | None => writeln!(f, ":"),
            Some(it) => writeln!(f, ", key {it}:"),
        }
    }

    /// What is known of the figure.
    fn trust_text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.figures.is_empty() {
            return writeln!(f, "No figure of it has been written.");
        }
        let lost = self.rows.iter().filter(|it| it.fate == "lost");
        let (after, before): (Vec<&GroupRow>, _) = lost.partition(|it| it.refutes);
        if !before.is_empty() {
            writeln!(f, "It was short when it was written: {} had been lost.", items(&before))?;
        }
        if !self.lost_before.is_empty() {
            writeln!(f, "It lacks what an earlier stage had lost.")?;
        }
        if !after.is_empty() {
            return writeln!(f, "It is refuted: {} came after it was written.", items(&after));
        }
        if !before.is_empty() || !self.lost_before.is_empty() {
            return Ok(());
        }
        let Some(closing) = &self.closing else {
            return writeln!(f, "The figure is one of a {} that is still open.", self.kind);
        };
        if closing.reason == "it was full" {
            return Ok(());
        }
        if closing.watermark == EventTime::MAX && !self.idle_excluded {
            writeln!(f, "The figure is known: the input ended and no row was lost for it.")
        } else if self.idle_excluded {
            writeln!(
                f,
                "The figure is a guess: a partition was left out as idle while it was open."
            )
        } else {
            writeln!(f, "The figure is a guess that no row in this trace refutes.")
        }
    }
}

fn rows(count: usize) -> String {
    if count == 1 { "1 row".to_owned() } else { format!("{count} rows") }
}

/// `item 3`, or `items 3, 5`.
fn items(rows: &[&GroupRow]) -> String {
    let numbers = rows.iter().map(|it| it.row.item.to_string()).collect::<Vec<_>>().join(", ");
    format!("item{} {numbers}", if rows.len() == 1 { "" } else { "s" })
}

impl fmt::Display for GroupRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.wrote {
            None => write!(f, "{}: {}", self.row, self.fate)?,
            Some(it) => write!(f, "`{it}`, written at {}: {}", self.row, self.fate)?,
        }
        if !self.how.is_empty() {
            write!(f, ", {}", self.how)?;
        }
        self.lost.as_ref().map_or(Ok(()), |it| write!(f, "{it}"))
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ", {}", self.compared)?;
        if self.behind == EventTime::MAX {
            write!(f, " (the input had ended)")?;
        } else if let Some(it) = &self.set_by {
            let of = if self.of.is_empty() { String::new() } else { format!(" of {}", self.of) };
            write!(f, " (set by item {}{of})", it.item)?;
        }
        let Some(needs) = self.needs else { return Ok(()) };
        let on = if self.of.is_empty() || self.setting != "delay" {
            String::new()
        } else {
            format!(" on {}", self.of)
        };
        write!(f, "; a {} of {}{on} would have kept it", self.setting, SpanText(needs))
    }
}

impl fmt::Display for Closing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line.is_none() && self.watermark == EventTime::MAX {
            return writeln!(f, "It closed at {}: {}.", self.by, self.reason);
        }
        let by_watermark = self.reason.contains("watermark");
        if !by_watermark {
            return writeln!(f, "It closed at {}: {}.", self.by, self.reason);
        }
        let w = TimeText(self.watermark);
        writeln!(f, "It closed at {}, with the watermark at {w}: {}.", self.by, self.reason)?;
        if self.at != self.watermark {
            writeln!(f, "Of that {} reached this stage.", TimeText(self.at))?;
        }
        if let Some(it) = &self.line {
            self.line_text(it, f)?;
        }
        if let Some(it) = &self.computed_at {
            writeln!(f, "It was computed at {it}, and counts behind it.")?;
        }
        if let Some(it) = &self.gone_at {
            writeln!(f, "Late rows were taken until {it}, when its state left.")?;
        }
        Ok(())
    }
}

impl Closing {
    fn line_text(&self, it: &LineText, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let its = if it.name.is_empty() { "the" } else { "its" };
        let who = if it.name.is_empty() {
            "That watermark".to_owned()
        } else if self.others.iter().any(|other| it.watermark < other.watermark) {
            format!("{} had held it; its line", it.name)
        } else {
            format!("{} gave it; its line", it.name)
        };
        match (it.fallback, &it.set_by) {
            (Some(behind), _) => writeln!(f, "{who} is the wall clock less {}.", SpanText(behind))?,
            (None, Some(by)) => {
                let (c, d) = (TimeText(it.candidate), SpanText(it.delay));
                let by = if *by == self.by { format!("item {}", by.item) } else { by.to_string() };
                writeln!(f, "{who} is {c} of {by}, less {its} delay of {d}.")?;
            }
            (None, None) => {}
        }
        let others = self.others.iter().map(|it| {
            let at = match it.watermark {
                EventTime::MIN => "had said nothing".to_owned(),
                at => format!("was at {}", TimeText(at)),
            };
            format!("{} {at}", it.name)
        });
        let others = others.collect::<Vec<_>>().join(", ");
        if others.is_empty() { Ok(()) } else { writeln!(f, "At that time {others}.") }
    }
}

impl fmt::Display for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "It is open at the end of the trace.")?;
        if !self.because.is_empty() {
            return writeln!(f, "{}", self.because);
        }
        let Some(needs) = self.needs else { return Ok(()) };
        let needs = TimeText(needs);
        match self.has {
            EventTime::MIN => {
                writeln!(f, "It closes at a watermark of {needs}; there is none yet.")?
            }
            has => writeln!(f, "It closes at a watermark of {needs}; it is {}.", TimeText(has))?,
        }
        if !self.holder.is_empty() {
            writeln!(f, "{}", self.holder)?;
        }
        match &self.tried {
            Some(it) if it.contains(" and ") => writeln!(f, "Tried: {it} close it."),
            Some(it) => writeln!(f, "Tried: {it} closes it."),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            "row" | "on_time" => "emit".to_owned(),
            "update" => "update".to_owned(),
            "complete" => "total".to_owned(),
            other => format!("emit {other}"),
        };
        let pane = if self.pane == 0 { String::new() } else { format!(" pane={}", self.pane) };
        write!(f, "{kind}{pane} {} at {}", self.text, self.written_by)
    }
}
