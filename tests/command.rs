//! What users see, word for word: help, one failure, and what goes wrong at three in the morning.
//!
//! The golden texts are in `snapshots/`; `INSTA_UPDATE=always cargo test -p plimsoll-tests` writes
//! them anew, and a person reads what changed. Version, commit and hashes are left out, since they
//! change with what they name and mean nothing here.
//!
//! Invariant: every ending has its exit code, its words on the right stream, and no panic.

use crate::binary::{folder, path, plimsoll};
use crate::tidy::root;
use insta::assert_snapshot;
use plimsoll_sim::zoo;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Arguments, exit code and both streams.
pub(crate) fn told(folder: &Path, arguments: &[&str]) -> String {
    let mut command = plimsoll(folder);
    let output = command.args(arguments).env("COLUMNS", "100").output().expect("it starts");
    let code = output.status.code().map_or("none".to_owned(), |it| it.to_string());
    let mut text = format!("$ plimsoll {}\nexit code {code}\n", arguments.join(" "));
    for (name, bytes) in [("output", output.stdout), ("errors", output.stderr)] {
        if !bytes.is_empty() {
            let bytes = String::from_utf8(bytes).expect("what is printed is text");
            text += &format!("-- {name}\n{bytes}");
        }
    }
    without_build(&text)
}

/// Without what differs between two builds of the same thing.
fn without_build(text: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let hex = |it: &str| it.bytes().all(|it| it.is_ascii_hexdigit());
    let word = |word: &str| {
        let bare = word.trim_matches(|it: char| !it.is_ascii_alphanumeric() && it != '.');
        match bare {
            it if it == version => word.replace(it, "VERSION"),
            it if it == "unknown" || it.len() == 40 && hex(it) => word.replace(it, "COMMIT"),
            it if it.len() == 16 && hex(it) => word.replace(it, "HASH"),
            _ => word.to_owned(),
        }
    };
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
    text.lines().map(|it| line(it) + "\n").collect()
}

/// A file in a folder, and what the command says about it.
fn told_of(name: &str, file: &str, text: &[u8], arguments: &[&str]) -> String {
    let folder = folder(name);
    fs::write(folder.join(file), text).expect("a file can be written");
    told(&folder, arguments)
}

#[test]
fn help_lists_commands_examples_and_exit_codes() {
    assert_snapshot!("help", told(&folder("help"), &["--help"]));
}

#[test]
fn a_failure_is_told_in_a_page_and_left_as_a_trace() {
    let folder = folder("failure");
    let told = told(&folder, &["explore", "--plant", "comb-max", "--seeds", "1..2"]);
    assert!(told.starts_with("$ plimsoll explore --plant comb-max --seeds 1..2\nexit code 1\n"));
    let report = &told[told.find("FAILED").expect("a report")..];
    assert!(report.lines().count() <= 25, "longer than a page:\n{report}");
    assert_snapshot!("failure", report);
    let traces = fs::read_dir(folder.join("artifacts")).expect("a folder of traces");
    let trace = traces.map(|it| it.expect("readable").path()).min().expect("a trace");
    let mut replay = plimsoll(&folder);
    let replayed = replay.args(["replay", "--plant", "comb-max"]).arg(&trace).assert().code(1);
    let output = String::from_utf8_lossy(&replayed.get_output().stdout).into_owned();
    assert!(output.contains("I7 candidate_within_minimum"), "{output}");
    plimsoll(&folder).arg("replay").arg(&trace).assert().code(0);
}

#[test]
fn a_plant_that_does_not_exist_is_answered_with_those_that_do() {
    let told = told(&folder("plant"), &["explore", "--plant", "comb-mix", "--seeds", "1"]);
    let (sentence, plants) = told.split_once("there are: ").expect("the plants");
    assert_snapshot!("unknown_plant", sentence);
    let plants: Vec<&str> = plants.trim_end().split(", ").collect();
    let all: Vec<&str> = zoo::all().chain([&zoo::CANARY]).map(|it| it.name).collect();
    assert_eq!(plants, all);
}

#[test]
fn a_missing_file_a_folder_and_an_empty_file_are_three_sentences() {
    let folder = folder("files");
    fs::create_dir(folder.join("inner")).expect("a folder can be made");
    fs::write(folder.join("empty.trace"), "").expect("a file can be written");
    let told = ["missing.trace", "inner", "empty.trace"].map(|it| told(&folder, &["replay", it]));
    assert_snapshot!("files", told.join("\n"));
}

#[test]
fn a_typo_in_a_plan_is_shown_with_a_caret() {
    let plan = "[plan]\nwindow = \"tumbling(10min)\"\ndelai = \"2min\"\n";
    assert_snapshot!("typo", told_of("typo", "plan.toml", plan.as_bytes(), &["lint", "plan.toml"]));
}

#[test]
fn a_typo_in_a_world_is_shown_with_a_caret() {
    let world = "name = \"w\"\nlook = \"x\"\n[world]\nitem = [5, 6]\n";
    let arguments = ["explore", "world.toml", "--seeds", "3"];
    assert_snapshot!("world", told_of("world", "world.toml", world.as_bytes(), &arguments));
}

#[test]
fn a_trace_of_a_later_version_says_which_is_read() {
    let trace = b"plimsoll-trace 2\nplan delay=2min\nrow p0 10:00:00 k=a v=1\n";
    assert_snapshot!(
        "later_version",
        told_of("later", "new.trace", trace, &["check", "new.trace"])
    );
}

const PLAN: &str = "\
[plan]
window = \"tumbling(10min)\"
delay = \"0s\"
effective = \"row\"
columns = [\"time:time\"]
";

/// The arguments of a run over `rows.csv`.
const RUN: [&str; 5] = ["run", "plan.toml", "rows.csv", "--unit", "s"];

fn run_of(name: &str, rows: &str) -> String {
    let folder = folder(name);
    fs::write(folder.join("plan.toml"), PLAN).expect("a file can be written");
    fs::write(folder.join("rows.csv"), rows).expect("a file can be written");
    told(&folder, &RUN)
}

#[test]
fn the_rows_before_a_broken_line_are_finished_and_the_line_is_named() {
    assert_snapshot!("broken_line", run_of("broken", "time\n0\n30\n1200\nnoon\n1300\n"));
}

#[test]
fn a_recording_without_rows_is_nothing_that_ran() {
    assert_snapshot!("no_rows", run_of("no_rows", "time\n"));
    assert_snapshot!("no_bytes", run_of("no_bytes", ""));
}

#[test]
fn where_nobody_reads_any_more_the_command_ends_quietly() {
    let mut command = Command::new(path());
    command.args(["run", "plan.toml", "rows.csv", "--unit", "s", "--late-rows", "100000"]);
    let folder = folder("pipe");
    fs::write(folder.join("plan.toml"), PLAN).expect("a file can be written");
    // A window for each row: more than any pipe holds.
    let rows: String = (0..20_000).map(|it| format!("{}\n", it * 600)).collect();
    fs::write(folder.join("rows.csv"), format!("time\n{rows}")).expect("a file can be written");
    command.current_dir(&folder).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    drop(child.stdout.take());
    let ended = child.wait_with_output().expect("it ends");
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert!(!errors.contains("pipe") && !errors.contains("bug"), "{errors}");
    assert_eq!(ended.status.code(), Some(0), "{errors}");
}

#[test]
fn a_comparison_names_rows_rules_and_numbers_and_is_no_failure() {
    let stories = root().join("scenarios/semantics");
    let one = |story: &str, profiles: &str| {
        let told = told(&stories, &["compare", &format!("{story}.trace"), "--profiles", profiles]);
        // What is verified is said by the recordings, not here.
        let lines = told.lines().filter(|it| !it.contains(" is unverified: "));
        lines.map(|it| format!("{it}\n")).collect::<String>()
    };
    let behind = one("spark_rows_behind_the_watermark_count", "seed,spark-4,flink");
    let twice = one("flink_restart_publishes_twice", "seed,flink");
    let inputs = one("spark_restart_forgets_inputs", "seed,spark-4");
    assert_snapshot!("compare", [behind, twice, inputs].join("\n"));
}

#[test]
fn a_comparison_that_cannot_be_made_says_why() {
    let stories = root().join("scenarios/semantics");
    let of = |arguments: &[&str]| {
        let story = ["compare", "s19_wall_clock_once_idle.trace", "--profiles"];
        told(&stories, &[&story[..], arguments].concat())
    };
    let told = [of(&["seed,spork-4"]), of(&["seed"]), of(&["seed,flink"])];
    assert_snapshot!("compare_not", told.join("\n"));
}

#[test]
fn a_comparison_as_json_has_all_of_it() {
    let stories = root().join("scenarios/semantics");
    let story = "spark_rows_behind_the_watermark_count.trace";
    let mut command = plimsoll(&stories);
    let done = command.args(["compare", story, "--profiles", "seed,spark-4", "--json"]).assert();
    let bytes = done.code(0).get_output().stdout.clone();
    let json: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
    assert_eq!(json["schema"], "plimsoll.comparison/1");
    let told = &json["comparison"];
    assert_eq!(told["rows"].as_array().map(Vec::len), Some(2));
    assert_eq!(told["rows"][0]["row"]["item"], 5);
    assert_eq!(told["rows"][0]["fates"][1]["fate"], "counted");
    assert_eq!(told["rows"][0]["fates"][1]["watermark"], 36_015_000);
    assert_eq!(told["figures"][0]["written"][0], serde_json::Value::Null);
    assert_eq!(told["figures"][0]["written"][1]["items"][0], 9);
    assert_eq!(told["ran"][1]["name"], "spark-4");
}

#[test]
fn the_stories_of_the_project_pass_its_own_check() {
    let stories = root().join("scenarios/semantics");
    let story = stories.join("s04_the_closing_instant.trace");
    plimsoll(&stories).arg("check").arg(story).assert().code(0);
}

/// A vector of the project, one text in it replaced.
fn vector(old: &str, new: &str) -> String {
    let path = root().join("tests/golden/spark/window_without_key.json");
    let text = fs::read_to_string(path).expect("a vector");
    assert!(text.contains(old), "{old} is in the vector");
    text.replacen(old, new, 1)
}

#[test]
fn a_vector_that_disagrees_is_shown_step_beside_step_with_the_rule() {
    let text =
        vector(r#""emitted": [{"window_start": 1000000"#, r#""emitted": [{"window_start": 0"#);
    let text = text.replacen(r#""count": 2, "sum": 3}]}"#, r#""count": 9, "sum": 3}]}"#, 1);
    assert_snapshot!("conform", told_of("conform", "v.json", text.as_bytes(), &["conform", "."]));
}

#[test]
fn a_broken_vector_is_named_with_its_place_and_the_good_ones_are_run() {
    let folder = folder("broken_vector");
    let good = vector("{", "{");
    fs::write(folder.join("good.json"), good).expect("a file can be written");
    let bad = vector(r#""ts": 1009000"#, r#""ts": "soon""#);
    fs::write(folder.join("bad.json"), bad).expect("a file can be written");
    let later = vector("4.3.0", "5.0.0");
    fs::write(folder.join("later.json"), later).expect("a file can be written");
    assert_snapshot!("broken_vector", told(&folder, &["conform", "."]));
}

#[test]
fn a_folder_without_vectors_is_nothing_that_ran() {
    assert_snapshot!("no_vectors", told(&folder("no_vectors"), &["conform", "."]));
}

#[test]
fn a_plan_under_the_rules_of_spark_is_refused_in_the_words_of_spark_too() {
    let plan = "[plan]\nprofile = \"spark-4\"\nwindow = \"tumbling(10min)\"\ndelay = \"-2min\"\n";
    let told = told_of("spark_words", "plan.toml", plan.as_bytes(), &["lint", "plan.toml"]);
    assert_snapshot!("spark_words", told);
    let trace = "plan profile=spark-4 window=tumbling(10min) delay=-2min\nrow p0 00:00:01\n";
    let told = told_of("spark_trace", "a.trace", trace.as_bytes(), &["replay", "a.trace"]);
    assert_snapshot!("spark_trace", told);
}

#[test]
fn the_plan_of_a_trace_can_be_linted_too() {
    let trace =
        "plan window=sliding(10min,0s) delay=2min output=update sink=append\nrow p0 00:00:01\n";
    let told = told_of("lint_trace", "a.trace", trace.as_bytes(), &["lint", "a.trace"]);
    assert_snapshot!("lint_trace", told);
}
