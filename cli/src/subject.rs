//! What a command works on: a trace from a file, a world from a seed, and the system that it runs
//! through, with a planted bug or without.
//!
//! Invariant: what cannot be read or would be refused is an error in the user's own words, with its
//! place, before anything runs.

use crate::console::Console;
use crate::diagnose::{Mistake, diagnose, trace_mistake};
use crate::source::{self, Source};
use anyhow::{Result, anyhow, bail};
use plimsoll_engine::plan::check::check;
use plimsoll_engine::plan::problem::{Dialect, Problem};
use plimsoll_sim::entropy::Entropy;
use plimsoll_sim::invariant::Violation;
use plimsoll_sim::report::Origin;
use plimsoll_sim::scenario::{Scenario, ScenarioError, World, sweep_scenario};
use plimsoll_sim::system::System;
use plimsoll_sim::system::engine::Engine;
use plimsoll_sim::trace::Trace;
use plimsoll_sim::trace::parse::{Broken, Parsed, parse_with};
use plimsoll_sim::verdict::{Options, Verdict, judge};
use plimsoll_sim::zoo::{self, Plant};
use std::path::{Path, PathBuf};

/// Reads a trace, and the plan file that it may name, which lies beside it.
pub(crate) fn read_trace(path: &Path, console: &Console) -> Result<(Source, Parsed)> {
    let source = source::read_text(path)?;
    match parse_beside(path, &source.text) {
        Ok(parsed) => Ok((source, parsed)),
        Err(broken) => Err(broken_trace(&source, &broken, console)),
    }
}

/// Reads a trace; where it is broken, also what stands before the break.
pub(crate) fn parse_beside(path: &Path, text: &str) -> Result<Parsed, Broken> {
    let beside = path.parent().unwrap_or_else(|| Path::new("."));
    parse_with(text, &mut |name| {
        let read = source::read_text(&beside.join(name));
        read.map(|it| it.text).map_err(|it| it.to_string())
    })
}

/// A broken trace as an error.
pub(crate) fn broken_trace(source: &Source, broken: &Broken, console: &Console) -> anyhow::Error {
    let mistakes: Vec<_> = broken.errors.iter().map(|it| trace_mistake(source, it)).collect();
    diagnose(source, &mistakes, console.err_colour).into()
}

/// Nothing, where the plan of a trace runs; else why not, also in the words of its profile.
pub(crate) fn runs(parsed: &Parsed) -> Result<()> {
    let problems = check(&parsed.trace.plan);
    if problems.iter().any(Problem::is_refusal) {
        return Err(refused(&problems, parsed.profile.dialect));
    }
    Ok(())
}

/// The engine for a trace.
pub(crate) fn engine(trace: &Trace) -> Result<Engine> {
    Engine::new(trace, 0).map_err(|it| refused(&it, Dialect::Own))
}

fn refused(problems: &[Problem], dialect: Dialect) -> anyhow::Error {
    let problems: Vec<String> = problems.iter().map(|it| it.told(dialect)).collect();
    anyhow!("this plan is refused:\n{}", problems.join("\n"))
}

/// The planted bug of this name.
pub(crate) fn plant(name: Option<&str>) -> Result<Option<&'static Plant>> {
    let Some(name) = name else { return Ok(None) };
    let Some(plant) = zoo::named(name) else {
        let names: Vec<&str> = zoo::all().map(|it| it.name).chain(["canary"]).collect();
        bail!("no bug is called {name}; there are: {}", names.join(", "));
    };
    Ok(Some(plant))
}

/// A system for a trace whose plan was accepted.
pub(crate) fn system(
    trace: &Trace,
    plant: Option<&Plant>,
    hash_seed: u64,
) -> Result<Box<dyn System>, Vec<Problem>> {
    match plant {
        Some(plant) => plant.system(trace, hash_seed),
        None => Ok(Box::new(Engine::new(trace, hash_seed)?)),
    }
}

/// Judges a trace. `None` where its plan is refused.
pub(crate) fn verdict(trace: &Trace, plant: Option<&Plant>, options: &Options) -> Option<Verdict> {
    if let Err(problems) = system(trace, plant, options.hash_seed) {
        debug_assert!(!problems.is_empty(), "a refusal has reasons");
        return None;
    }
    let make = |hash_seed| match system(trace, plant, hash_seed) {
        Ok(system) => system,
        Err(_) => unreachable!("the plan was accepted a moment ago"),
    };
    Some(judge(trace, &make, options))
}

/// How a trace fails; `None` where it does not.
pub(crate) fn fails(trace: &Trace, plant: Option<&Plant>, options: &Options) -> Option<Violation> {
    verdict(trace, plant, options)?.violation
}

/// Where worlds are drawn from.
#[derive(Debug)]
pub(crate) enum Worlds {
    /// The embedded ones; the seed chooses.
    Embedded,
    /// Files; seeds take turns.
    Files(Vec<(PathBuf, Scenario)>),
}

/// A world, and what it was drawn from.
#[derive(Debug)]
pub(crate) struct Drawn {
    /// The world.
    pub(crate) world: World,
    /// The scenario's file as it was given; `None` where it is an embedded one.
    pub(crate) file: Option<String>,
    /// Name of the scenario.
    pub(crate) name: String,
    /// Hash of the scenario.
    pub(crate) hash: u64,
}

impl Worlds {
    /// From the files that the user names, or else the embedded ones.
    pub(crate) fn read(files: &[PathBuf], console: &Console) -> Result<Self> {
        if files.is_empty() {
            return Ok(Self::Embedded);
        }
        let read = |path: &PathBuf| {
            let source = source::read_text(path)?;
            let scenario = Scenario::parse(&source.text);
            let scenario = scenario.map_err(|errors| {
                let mistakes: Vec<_> = errors.iter().map(scenario_mistake).collect();
                diagnose(&source, &mistakes, console.err_colour)
            })?;
            Ok((path.clone(), scenario))
        };
        files.iter().map(read).collect::<Result<_>>().map(Self::Files)
    }

    /// The world of a seed.
    pub(crate) fn draw(&self, seed: u64) -> Drawn {
        let (file, scenario, world) = match self {
            Self::Embedded => {
                let entropy = Entropy::from_seed(seed);
                let scenario = sweep_scenario(&entropy);
                (None, scenario, scenario.world_from(&entropy))
            }
            Self::Files(files) => {
                let (path, scenario) = &files[(seed % files.len() as u64) as usize];
                (Some(path.display().to_string()), scenario, scenario.world(seed))
            }
        };
        Drawn { world, file, name: scenario.name.clone(), hash: scenario.hash() }
    }
}

fn scenario_mistake(error: &ScenarioError) -> Mistake {
    let ScenarioError { span, expected, found } = error;
    let (title, label) =
        ("this world cannot be read".into(), crate::diagnose::label(expected, found));
    Mistake { span: span.clone(), title, label, help: None }
}

/// Which checks a seed gets beside those that run after every step: twins one seed in sixteen,
/// liveness one seed in four.
pub(crate) fn options(seed: u64, chaos_len: usize) -> Options {
    Options {
        hash_seed: 0,
        draw: seed,
        twins: seed.is_multiple_of(16),
        liveness: seed.is_multiple_of(4).then_some(chaos_len),
    }
}

/// Where a failure comes from, as far as this build knows.
pub(crate) fn origin(plant: Option<&Plant>) -> Origin {
    Origin {
        plant: plant.map(|it| it.name.to_owned()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: Some(env!("PLIMSOLL_COMMIT").to_owned()),
        ..Origin::default()
    }
}
