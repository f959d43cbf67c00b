//! `plimsoll lint`: what is wrong with a plan, before the first row. A file whose name ends in `.trace`
//! is a trace, of which the plan is looked at.
//!
//! Invariant: all problems of all files are reported at once; a file that cannot be read hides no
//! problem of another.

use crate::console::Console;
use crate::diagnose::{Diagnosis, diagnose, plan_mistake};
use crate::exit::Exit;
use crate::source::{self, Source};
use crate::subject::read_trace;
use anyhow::{Result, bail};
use plimsoll_engine::plan::check::check;
use plimsoll_engine::plan::problem::{Dialect, Problem, Severity};
use plimsoll_sim::plan_toml::plan_from_toml;
use serde_json::json;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Say everything that is wrong with a plan: what would be refused, and what may surprise
///
/// Refusals end with exit code 1, warnings alone with 0.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  plimsoll lint plan.toml
  plimsoll lint found.trace

where plan.toml is, for instance:
  [plan]
  window = \"tumbling(10min)\"
  delay = \"2min\"
  key = [\"k\"]")]
pub(crate) struct Args {
    /// Plans, or traces with theirs
    #[arg(value_name = "PLAN.toml|FILE.trace", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

/// Lints.
pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Exit> {
    let (mut refused, mut unread) = (false, 0);
    for path in &args.files {
        let read = read(path, console);
        match read {
            Ok((source, problems, dialect)) => {
                refused |= problems.iter().any(Problem::is_refusal);
                report(&source.name, &problems, dialect, console)?;
            }
            Err(error) if args.files.len() == 1 => return Err(error),
            Err(error) => {
                unread += 1;
                writeln!(console.err, "{}", crate::exit::sentence(&error))?;
            }
        }
    }
    match unread {
        0 if refused => Ok(Exit::Violation),
        0 => Ok(Exit::Held),
        1 => bail!("one plan could not be read"),
        _ => bail!("{unread} plans could not be read"),
    }
}

/// A file, all problems of its plan, and whose words they are told in beside ours.
fn read(path: &Path, console: &Console) -> Result<(Source, Vec<Problem>, Dialect)> {
    if path.extension().is_some_and(|it| it == "trace") {
        let (source, parsed) = read_trace(path, console)?;
        return Ok((source, check(&parsed.trace.plan), parsed.profile.dialect));
    }
    let source = source::read_text(path)?;
    let (problems, dialect) = problems(&source, console.err_colour)?;
    Ok((source, problems, dialect))
}

/// All problems of a plan file that can be read.
fn problems(source: &Source, colour: bool) -> Result<(Vec<Problem>, Dialect), Diagnosis> {
    match plan_from_toml(&source.text, &[]) {
        Ok(read) => Ok((check(&read.plan), read.profile.dialect)),
        Err(errors) => {
            let mistakes: Vec<_> = errors.iter().map(plan_mistake).collect();
            Err(diagnose(source, &mistakes, colour))
        }
    }
}

fn report(
    name: &str,
    problems: &[Problem],
    dialect: Dialect,
    console: &mut Console,
) -> io::Result<()> {
    if console.json {
        let problems = problems.iter().map(|it| {
            let refused = dialect.condition(it.code);
            json!({
                "code": it.code.number(),
                "name": it.code.name(),
                "severity": it.severity.name(),
                "cause": it.cause,
                "remedy": it.remedy,
                "spark": refused.map(|it| json!({
                    "when": it.moment.words(), "condition": it.name, "sqlstate": it.sqlstate,
                })),
            })
        });
        return console.json(&json!({ "file": name, "problems": problems.collect::<Vec<_>>() }));
    }
    for problem in problems {
        writeln!(console.out, "{name}: {}", problem.told(dialect))?;
    }
    let count = |severity| problems.iter().filter(|it| it.severity == severity).count();
    let (refusals, warnings) = (count(Severity::Refusal), count(Severity::Warning));
    match (refusals, warnings) {
        (0, 0) => writeln!(console.out, "{name}: nothing is wrong with this plan"),
        (0, _) => writeln!(console.out, "{name}: runs, with {}", counted(warnings, "warning")),
        _ => writeln!(
            console.out,
            "{name}: would be refused, for {} (and {})",
            counted(refusals, "reason"),
            counted(warnings, "warning")
        ),
    }
}

fn counted(count: usize, what: &str) -> String {
    match count {
        0 => format!("no {what}"),
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}
