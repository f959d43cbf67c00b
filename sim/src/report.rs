//! The report of a failure: everything that somebody needs who was woken by it, in 25 lines.
//!
//! The trace is the durable artefact, the seed a hint of where it came from: a seed dies when the
//! generator changes, a trace does not. So the line to reproduce names the trace where there is one,
//! and version and commit stand beside the seed.
//!
//! Invariant: at most [`LINES`] lines, each command on one line that can be pasted into a shell.

use crate::explain::{FailureStory, clock_at};
use crate::invariant::Violation;
use crate::trace::Trace;
use crate::trace::time_text::TimeText;
use plimsoll_engine::time::EventTime;
use serde::Serialize;
use std::fmt;

/// The most lines of a report.
pub const LINES: usize = 25;
/// The most lines of what happened.
const HAPPENED: usize = 10;
/// The most characters of a line of free text.
const WIDTH: usize = 300;

/// Where a failing trace comes from.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Origin {
    /// The seed of the world.
    pub seed: Option<u64>,
    /// The scenario, as the command line names it; `None` is the embedded worlds.
    pub scenario: Option<String>,
    /// The hash of the scenario.
    pub scenario_hash: Option<u64>,
    /// The planted bug, where there is one.
    pub plant: Option<String>,
    /// The version of this program.
    pub version: String,
    /// The commit that it was built from.
    pub commit: Option<String>,
    /// Where the trace was written to.
    pub artefact: Option<String>,
    /// How many items it had before it was shrunk, where it was.
    pub items_before: Option<usize>,
    /// Where it was written to as it was before.
    pub whole: Option<String>,
}

/// A failure, for people as [`Display`](fmt::Display) and for programs as JSON.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FailureReport {
    /// Name and version of this shape.
    pub schema: &'static str,
    /// The invariant that broke.
    pub invariant: &'static str,
    /// What was expected and what was found.
    pub evidence: String,
    /// The item at which it showed, from 1.
    pub item: u64,
    /// How many items the trace has.
    pub items: usize,
    /// The clock at that item, in milliseconds.
    pub time_ms: i64,
    /// The same as text.
    pub time: String,
    /// Where the trace comes from.
    pub origin: Origin,
    /// One line that runs it again.
    pub reproduce: String,
    /// One line that shrinks it; `None` where nothing was written to shrink.
    pub shrink: Option<String>,
    /// What happened, where it was explained.
    pub story: Option<FailureStory>,
}

impl FailureReport {
    /// The report of a violation.
    pub fn new(
        trace: &Trace,
        violation: &Violation,
        origin: Origin,
        story: Option<FailureStory>,
    ) -> Self {
        let clock = clock_at(trace, violation.at).0;
        Self {
            schema: "plimsoll.failure/1",
            invariant: violation.name,
            evidence: violation.evidence.clone(),
            item: violation.at.0,
            items: trace.items.len(),
            time_ms: clock,
            time: TimeText(EventTime(clock)).to_string(),
            reproduce: origin.reproduce(),
            shrink: origin.shrink(),
            origin,
            story,
        }
    }

    /// The lines of the report.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            format!(
                "FAILED {} at item {} of {}{}",
                self.invariant,
                self.item,
                self.items,
                self.origin.shrunk_from()
            ),
            format!("  virtual time {}", self.time),
            format!("  {}", self.origin.world()),
            format!("  {}", self.origin.build()),
            format!("  {}", one_line(&self.evidence)),
        ];
        if let Some(story) = &self.story {
            let happened: Vec<String> =
                story.timeline.iter().flat_map(|it| lines_of(&it.to_string())).collect();
            lines.push("  what happened:".to_owned());
            if happened.len() <= HAPPENED {
                lines.extend(happened);
            } else {
                // The end of a story is where it broke.
                let skip = happened.len() + 1 - HAPPENED;
                lines.push(format!("    .. {skip} lines before"));
                lines.extend(happened.into_iter().skip(skip));
            }
            // Its own head, and the three lines at the end.
            let matters = story.matters.lines(LINES - 4 - lines.len());
            if !matters.is_empty() {
                lines.push("  what matters:".to_owned());
                lines.extend(matters.iter().map(|it| format!("    {}", one_line(it))));
            }
        }
        lines.push(format!("  reproduce: {}", self.reproduce));
        lines.extend(self.shrink.iter().map(|it| format!("  shrink:    {it}")));
        lines.extend(self.origin.artefact.iter().map(|it| format!("  artefact:  {it}")));
        lines
    }
}

impl fmt::Display for FailureReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines().iter().try_for_each(|it| writeln!(f, "{it}"))
    }
}

impl Origin {
    fn shrunk_from(&self) -> String {
        self.items_before.map_or(String::new(), |it| format!(" (shrunk from {it} items)"))
    }

    fn world(&self) -> String {
        let seed = self.seed.map_or("no seed".to_owned(), |it| format!("seed {it}"));
        let scenario = match (&self.scenario, self.seed) {
            (Some(it), _) => format!(" of {it}"),
            (None, Some(_)) => " of the embedded worlds".to_owned(),
            (None, None) => String::new(),
        };
        let hash = self.scenario_hash.map(|it| format!(", scenario hash {it:016x}"));
        let plant = self.plant.as_ref().map(|it| format!(", planted bug {it}"));
        format!("{seed}{scenario}{}{}", hash.unwrap_or_default(), plant.unwrap_or_default())
    }

    fn build(&self) -> String {
        let commit = self.commit.as_deref().unwrap_or("unknown");
        format!("plimsoll {}, commit {commit}", self.version)
    }

    fn reproduce(&self) -> String {
        let mut words = vec!["plimsoll".to_owned(), "replay".to_owned()];
        match (&self.artefact, self.seed) {
            (Some(it), _) => words.push(shell(it)),
            (None, seed) => {
                words.extend(seed.map(|it| format!("--seed {it}")));
                words.extend(self.scenario.as_deref().map(shell));
            }
        }
        words.extend(self.plant.as_deref().map(|it| format!("--plant {}", shell(it))));
        words.join(" ")
    }

    fn shrink(&self) -> Option<String> {
        let from = self.whole.as_deref().or(self.artefact.as_deref())?;
        let stem = from.strip_suffix(".trace").unwrap_or(from);
        let (from, to) = (shell(from), shell(&format!("{stem}.min.trace")));
        let plant = self.plant.as_deref().map(|it| format!(" --plant {}", shell(it)));
        Some(format!("plimsoll shrink {from} -o {to}{}", plant.unwrap_or_default()))
    }
}

/// A word that a shell takes as it stands.
fn shell(word: &str) -> String {
    let plain = |it: char| it.is_ascii_alphanumeric() || "_-./:=,@+".contains(it);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn lines_of(text: &str) -> Vec<String> {
    text.lines().map(|it| format!("  {}", one_line(it))).collect()
}

/// No line ends inside, and no more than fits.
fn one_line(text: &str) -> String {
    let flat: String = text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
    match flat.char_indices().nth(WIDTH) {
        Some((at, _)) => format!("{}..", &flat[..at]),
        None => flat,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::failure;
    use crate::run::Run;
    use crate::shrink::Limits;
    use crate::system::System;
    use crate::trace::parse::parse;
    use crate::zoo;
    use plimsoll_engine::row::ItemId;

    fn trace(rows: usize) -> Trace {
        let rows =
            (0..rows).map(|it| format!("row p0 00:{:02}:{:02} k=a\n", it / 60 % 60, it % 60));
        let text = format!(
            "plan window=tumbling(1s) delay=0s effective=row\n{}",
            rows.collect::<String>()
        );
        parse(&text).unwrap().trace
    }

    /// Breaks where a plant says something else than the engine; the items do the talking.
    fn fails(trace: &Trace) -> Option<Violation> {
        (1 < trace.items.len()).then(|| Violation {
            name: "I41 oracle_agrees",
            at: ItemId(trace.items.len() as u64),
            evidence: "expected one figure,\nfound none".to_owned(),
        })
    }

    fn system(trace: &Trace) -> Option<Box<dyn System>> {
        zoo::all().next()?.system(trace, 0).ok()
    }

    fn report(rows: usize, origin: Origin) -> FailureReport {
        let trace = trace(rows);
        let violation = fails(&trace).unwrap();
        let story =
            failure(&trace, &violation, &mut system, &mut fails, Limits { executions: 500 });
        assert!(story.is_some());
        FailureReport::new(&trace, &violation, origin, story)
    }

    fn origin() -> Origin {
        Origin {
            seed: Some(4711),
            scenario: Some("scenarios/steady.toml".to_owned()),
            scenario_hash: Some(0xABC),
            version: "0.1.0".to_owned(),
            commit: Some("0123abc".to_owned()),
            artefact: Some("artifacts/4711/failure.trace".to_owned()),
            ..Origin::default()
        }
    }

    #[test]
    fn a_report_has_all_that_is_needed_in_25_lines() {
        for rows in [2, 3, 10, 150] {
            let report = report(rows, origin());
            let text = report.to_string();
            let lines = text.lines().count();
            assert!(lines <= LINES, "{lines} lines\n{text}");
            for needed in [
                "I41 oracle_agrees",
                &format!("at item {rows} of {rows}"),
                "virtual time 00:00:00",
                "seed 4711 of scenarios/steady.toml, scenario hash 0000000000000abc",
                "plimsoll 0.1.0, commit 0123abc",
                "expected one figure, found none",
                "reproduce: plimsoll replay artifacts/4711/failure.trace",
                "plimsoll shrink artifacts/4711/failure.trace -o artifacts/4711/failure.min.trace",
                "artefact:  artifacts/4711/failure.trace",
                "what matters:",
            ] {
                assert!(text.contains(needed), "no `{needed}` in\n{text}");
            }
        }
    }

    #[test]
    fn without_a_file_the_seed_reproduces() {
        let origin = Origin { artefact: None, plant: Some("comb-max".to_owned()), ..origin() };
        let report = report(2, origin);
        let wanted = "plimsoll replay --seed 4711 scenarios/steady.toml --plant comb-max";
        assert_eq!(report.reproduce, wanted);
        assert_eq!(report.shrink, None);
    }

    #[test]
    fn a_path_with_blanks_and_quotes_is_one_word_of_a_shell() {
        assert_eq!(shell("it's here/a.trace"), r"'it'\''s here/a.trace'");
        assert_eq!(shell("a.trace"), "a.trace");
    }

    #[test]
    fn evidence_of_many_lines_and_great_length_is_one_line_that_fits() {
        let mut report = report(2, origin());
        report.evidence = "é\n".repeat(10_000);
        assert!(report.lines().iter().all(|it| it.chars().count() <= WIDTH + 10));
        assert!(report.lines().len() <= LINES);
    }

    #[test]
    fn the_clock_of_the_report_is_where_the_run_stood() {
        let text = "plan window=tumbling(1s) delay=0s effective=row\ntick +90s\nrow p0 00:00:01\n";
        let trace = parse(text).unwrap().trace;
        let mut engine = crate::system::engine::Engine::new(&trace, 0).unwrap();
        let mut run = Run::new(&trace, &mut engine, false);
        let mut now = 0;
        while let Some(Ok(seen)) = run.step() {
            now = seen.view.now.0;
        }
        let violation = fails(&trace).unwrap();
        let report = FailureReport::new(&trace, &violation, Origin::default(), None);
        assert_eq!((report.time_ms, report.time.as_str()), (now, "00:01:30"));
        assert_eq!(report.reproduce, "plimsoll replay");
    }
}
