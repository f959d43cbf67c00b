//! The house's rules, as tests (design section 1, aesthetics section 4).
//!
//! What nobody checks does not hold after the tenth change. Each test collects every breach before
//! it fails, and names file and line.
//!
//! Who may know whom is read from `use` lines and paths. Inside the engine modules stand in an order
//! and nothing names what stands right of it: see [`layer`], which also says where the order is not
//! what it seems.

mod source;

pub(crate) use source::root;
use source::{Source, files, rust};
use std::collections::BTreeSet;
use std::fs;

const CRATES: [&str; 5] = ["engine", "sim", "cli", "tests", "fuzz"];

/// Fails with all breaches of a rule.
fn check(rule: &str, breaches: Vec<String>) {
    assert!(breaches.is_empty(), "{rule}:\n  {}", breaches.join("\n  "));
}

/// Every line of code for which `breach` holds.
fn lines(sources: &[Source], breach: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources {
        for (number, line) in (1..).zip(source.all_code().lines()) {
            if breach(line) {
                found.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    found
}

/// Every path for which `breach` holds.
fn named(sources: &[Source], breach: impl Fn(&Source, &str) -> bool) -> Vec<String> {
    let mut found = BTreeSet::new();
    for source in sources {
        for path in source.paths().iter().filter(|it| breach(source, it)) {
            found.insert(format!("{} names {path}", source.path));
        }
    }
    found.into_iter().collect()
}

/// Whether a path is this one or lies below it.
fn under(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent).is_some_and(|it| it.is_empty() || it.starts_with("::"))
}

#[test]
fn the_sources_are_found() {
    for folder in ["engine", "sim", "cli", "tests"] {
        assert!(!rust(&[folder]).is_empty(), "{folder} has no sources: the rules check nothing");
    }
}

#[test]
fn no_file_is_longer_than_five_hundred_lines() {
    let long = |it: &Source| {
        let count = it.text.lines().count();
        (500 < count).then(|| format!("{}: {count} lines", it.path))
    };
    check("a file is one idea", rust(&CRATES).iter().filter_map(long).collect());
}

/// The files in which a file's module may be named.
fn parents(source: &Source) -> [String; 3] {
    let folder = source.path.rsplit_once('/').expect("below the top").0;
    [format!("{folder}.rs"), format!("{folder}/lib.rs"), format!("{folder}/main.rs")]
}

/// Whether a file holds unit tests, or what only they use: the module above speaks for it.
fn only_for_tests(source: &Source, all: &[Source]) -> bool {
    if source.path.split_once("/src/").is_some_and(|it| it.1.contains("/tests/")) {
        return true;
    }
    let module = format!("mod {};", source.name().trim_end_matches(".rs"));
    let parents = parents(source);
    let gated = |it: &Source| {
        let code = it.all_code();
        let mut pairs = code.lines().zip(code.lines().skip(1));
        pairs.any(|(gate, line)| gate.trim() == "#[cfg(test)]" && line.ends_with(&module))
    };
    all.iter().filter(|it| parents.contains(&it.path)).any(gated)
}

#[test]
fn every_file_says_first_what_it_is_about() {
    let sources = rust(&CRATES);
    let silent = |it: &&Source| !it.text.starts_with("//! ") && !only_for_tests(it, &sources);
    let breaches = sources.iter().filter(silent).map(|it| it.path.clone()).collect();
    check("a file begins with `//! `", breaches);
}

/// Their documentation is a law in prose, or a map, and has no single invariant.
const WITHOUT_INVARIANT: [&str; 6] = [
    "engine/src/lib.rs",
    "sim/src/lib.rs",
    "sim/src/trace.rs",
    "sim/src/system.rs",
    "sim/src/invariant.rs",
    "cli/src/main.rs",
];

#[test]
fn every_module_names_its_invariant() {
    let sources = rust(&["engine/src", "sim/src", "cli/src"]);
    let exempt = |it: &Source| WITHOUT_INVARIANT.contains(&it.path.as_str());
    let silent = |it: &&Source| {
        let says = it.module_doc().iter().any(|line| line.starts_with("//! Invariant: "));
        it.has_code() && !only_for_tests(it, &sources) && !exempt(it) && !says
    };
    let breaches = sources.iter().filter(silent).map(|it| it.path.clone()).collect();
    check("a module's documentation has a line `//! Invariant: ..`", breaches);
}

#[test]
fn no_source_file_is_dead() {
    let sources = rust(&["engine/src", "sim/src", "cli/src", "tests"]);
    let text = |path: &str| sources.iter().find(|it| it.path == path).map(|it| it.all_code());
    let mut dead = Vec::new();
    for source in &sources {
        let name = source.name().trim_end_matches(".rs");
        if ["lib", "main", "build"].contains(&name) {
            continue;
        }
        let declares = |it: &String| {
            text(it)
                .is_some_and(|code| code.lines().any(|it| it.ends_with(&format!("mod {name};"))))
        };
        if !parents(source).iter().any(declares) {
            dead.push(source.path.clone());
        }
    }
    check("a file that no `mod` names is never compiled", dead);
}

#[test]
fn there_is_no_mod_rs() {
    let found = rust(&CRATES).into_iter().filter(|it| it.name() == "mod.rs").map(|it| it.path);
    check("foo.rs and foo/, not foo/mod.rs", found.collect());
}

#[test]
fn names_say_what_a_thing_is() {
    let banned = ["manager", "handler", "context", "util", "helper", "common"];
    let bad = |name: &str| {
        let name = name.to_lowercase();
        banned.iter().any(|it| name.contains(it))
    };
    let declares = |line: &str| {
        let words: Vec<&str> = line.split(|it: char| !it.is_alphanumeric() && it != '_').collect();
        let kinds = ["struct", "enum", "trait", "type", "mod"];
        words.windows(2).any(|it| kinds.contains(&it[0]) && bad(it[1]))
    };
    let sources = rust(&CRATES);
    let mut breaches = lines(&sources, declares);
    breaches.extend(sources.iter().filter(|it| bad(it.name())).map(|it| it.path.clone()));
    check(&format!("none of {banned:?} in a name"), breaches);
}

#[test]
fn nothing_is_left_for_later() {
    let later = [concat!("to", "do!("), concat!("unimple", "mented!("), concat!("#[ig", "nore")];
    let breaches = lines(&rust(&CRATES), |line| later.iter().any(|it| line.contains(it)));
    check("no placeholder and no test that is not run", breaches);
}

#[test]
fn engine_knows_no_other_crate_of_ours_and_sim_knows_engine_only() {
    let ours =
        ["plimsoll_engine", "plimsoll_sim", "plimsoll_cli", "plimsoll_tests", "plimsoll_fuzz"];
    let foreign = |path: &str, known: &[&str]| {
        let first = path.split("::").next().unwrap_or_default();
        ours.contains(&first) && !known.contains(&first)
    };
    let mut breaches = named(&rust(&["engine/src"]), |_, path| foreign(path, &[]));
    breaches.extend(named(&rust(&["sim/src"]), |_, path| foreign(path, &["plimsoll_engine"])));
    for (manifest, known) in [("engine", vec![]), ("sim", vec!["plimsoll-engine"])] {
        let path = format!("{manifest}/Cargo.toml");
        let text = fs::read_to_string(root().join(&path)).expect("a manifest");
        let depends = text.lines().filter(|it| it.starts_with("plimsoll-"));
        let foreign = depends.filter(|line| !known.iter().any(|it| line.starts_with(it)));
        breaches.extend(foreign.map(|it| format!("{path}: {it}")));
    }
    check("engine < sim < cli, tests, fuzz", breaches);
}

/// What the oracle may not use: it must not share a bug with the engine.
const ENGINE_LOGIC: &[&str] = &[
    "window::assign",
    "watermark::generator",
    "watermark::combine",
    "watermark::idle",
    "watermark::effective",
    "watermark::guard",
    "operator",
    "pipeline",
    "flow",
    "state::table",
    "state::slices",
    "job",
    "trigger",
    "late::windows_lost",
    "late::saving",
    "late::saving_until",
    "late::cause",
    "late::cause_if",
    "late::last_on_time",
    "late::grace",
];

#[test]
fn the_oracle_shares_no_logic_with_the_engine() {
    let mut sources = rust(&["sim/src"]);
    sources.retain(|it| it.module().first().is_some_and(|it| it == "oracle"));
    let breaches = named(&sources, |_, path| {
        let Some(path) = path.strip_prefix("plimsoll_engine::") else {
            return path == "plimsoll_engine";
        };
        // A whole module or a glob hides what is used of it.
        let hides = ["window", "watermark", "state", "late"].contains(&path) || path.ends_with('*');
        hides || ENGINE_LOGIC.iter().any(|it| under(path, it))
    });
    check("the oracle uses the engine's data types, never its logic", breaches);
}

/// How far right a module of the engine stands: `time < row < {window, watermark, late, output} <
/// {plan, profile, state} < operator < {pipeline, flow} < trigger < job < {progress, snapshot}`.
///
/// Two modules of data stand further left than their neighbours of the same name, because all others
/// speak in them: `plan` itself is the vocabulary of the rules and stands beside `row`
/// (`plan::check` and `plan::problem`, which judge it, stay where the order has `plan`), and
/// `state::layout` is what a firing carries and stands beside `output`. `progress` and `snapshot`
/// look at a job from the outside; the job knows neither, so they stand right of it.
fn layer(module: &[&str]) -> Option<u32> {
    Some(match module {
        ["time", ..] => 0,
        ["plan", "check" | "problem", ..] => 3,
        ["row", ..] | ["plan", ..] => 1,
        ["window" | "watermark" | "late" | "output", ..] | ["state", "layout", ..] => 2,
        ["profile" | "state", ..] => 3,
        ["operator", ..] => 4,
        ["pipeline" | "flow", ..] => 5,
        ["trigger", ..] => 6,
        ["job", ..] => 7,
        ["progress" | "snapshot", ..] => 8,
        _ => return None,
    })
}

#[test]
fn inside_the_engine_nothing_names_what_stands_right_of_it() {
    let mut sources = rust(&["engine/src"]);
    sources.retain(|it| !it.module().is_empty());
    let unplaced = sources.iter().filter(|it| {
        let module = it.module();
        layer(&module.iter().map(String::as_str).collect::<Vec<_>>()).is_none()
    });
    check("every module has a place", unplaced.map(|it| it.path.clone()).collect());
    let breaches = named(&sources, |source, path| {
        let own = source.module();
        let own = layer(&own.iter().map(String::as_str).collect::<Vec<_>>());
        let path: Vec<&str> = path.split("::").collect();
        path[0] == "crate" && own < layer(&path[1..])
    });
    check("left never names right", breaches);
}

#[test]
fn only_the_command_touches_the_world() {
    let world = ["fs", "env", "thread", "process", "net", "time::Instant", "time::SystemTime"];
    let streams =
        ["io::stdin", "io::stdout", "io::stderr", "io::Stdin", "io::Stdout", "io::Stderr"];
    let touches = |path: &str| {
        let std = path.strip_prefix("std::");
        std.is_some_and(|path| world.iter().chain(&streams).any(|it| under(path, it)))
    };
    let mut breaches = named(&rust(&["engine/src", "sim/src"]), |_, path| touches(path));
    breaches.extend(named(&rust(&["engine/src"]), |_, path| {
        under(path, "std::io") || under(path, "std::random")
    }));
    let prints = ["println!(", "print!(", "eprintln!(", "eprint!(", "dbg!("];
    let code: Vec<Source> = rust(&["engine/src", "sim/src"]);
    breaches.extend(lines(&code, |line| prints.iter().any(|it| line.contains(it))));
    check("files, clocks, environment, threads and streams are the command's", breaches);
}

#[test]
fn every_world_has_a_row_in_the_list_of_worlds() {
    let scenarios = files("scenarios");
    let list = scenarios.iter().find(|it| it.path == "scenarios/README.md");
    let list = list.map_or("", |it| it.text.as_str());
    let worlds = scenarios.iter().filter(|it| it.path.ends_with(".toml"));
    let unlisted = worlds.filter(|it| !list.contains(it.path.trim_start_matches("scenarios/")));
    check(
        "scenarios/README.md says what each world is for",
        unlisted.map(|it| it.path.clone()).collect(),
    );
}

#[test]
fn nothing_names_a_path_of_one_machine() {
    let paths = [
        concat!("/wo", "rk/"),
        concat!("/t", "mp/"),
        concat!("/sha", "red/"),
        concat!("/ho", "me/"),
    ];
    let mut breaches = Vec::new();
    for file in files("") {
        for (number, line) in (1..).zip(file.text.lines()) {
            if paths.iter().any(|it| line.contains(it)) {
                breaches.push(format!("{}:{number}", file.path));
            }
        }
    }
    check("what tests need is in the project", breaches);
}

#[test]
fn every_gate_is_run_and_every_gate_that_is_run_exists() {
    let run = fs::read_to_string(root().join(".ci/run")).expect(".ci/run");
    let gates = run.lines().find_map(|it| it.strip_prefix("gates=(")?.strip_suffix(')'));
    let gates: BTreeSet<&str> = gates.expect("a line gates=(..)").split(' ').collect();
    let scripts = files(".ci");
    let scripts: BTreeSet<&str> =
        scripts.iter().map(Source::name).filter(|it| *it != "run").collect();
    assert_eq!(gates, scripts);
}
